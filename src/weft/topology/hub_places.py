"""Places of vertices by how many arcs name them as targets: hubs have the lowest ones.

Values that are stored by place lie together for the vertices that are read most often. Rows and
slots keep their order, so weights, edge ids and positions in rows are as before: only what
the targets of a direction are numbered by is different.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from numpy.typing import NDArray

from weft.topology.topology import Direction, Topology

Array: TypeAlias = NDArray[Any]

_TARGETS: Final = "placed targets"


def hub_places(topology: Topology, direction: Direction) -> Array:
    """Return the place of each vertex among the targets of a direction, the most frequent first.

    Examples
    --------
    >>> import weft
    >>> from weft.topology.hub_places import hub_places
    >>> g = weft.Graph.from_edges([0, 1, 2, 2], [3, 3, 3, 1])
    >>> hub_places(g.topology, "out").tolist(), hub_places(g.topology, "in").tolist()
    ([2, 1, 3, 0], [1, 2, 0, 3])
    """

    def find(_: Any) -> Array:
        xp, named = topology.xp, _named(topology, direction)
        order = xp.argsort(-named, kind="stable")
        places = xp.empty(order.size, topology.index_dtype)
        places[order] = xp.arange(order.size, dtype=topology.index_dtype)
        return places

    return topology.found("hub places", direction, find)


def _named(topology: Topology, direction: Direction) -> Array:
    """Return how many arcs of a direction name each vertex as their target."""
    return topology.in_degree if direction == "out" else topology.out_degree


def share_of_hubs(topology: Topology, direction: Direction, count: int) -> float:
    """Return the share of the arcs of a direction whose targets have one of the first places.

    Examples
    --------
    >>> import weft
    >>> from weft.topology.hub_places import share_of_hubs
    >>> g = weft.Graph.from_edges([0, 1, 2, 2], [3, 3, 3, 1])
    >>> [share_of_hubs(g.topology, "out", count) for count in (0, 1, 2)]
    [0.0, 0.75, 1.0]
    """
    if not topology.num_arcs:
        return 0.0
    named = _named(topology, direction)
    return float(named[hub_places(topology, direction) < count].sum()) / topology.num_arcs


def placed_targets(topology: Topology, direction: Direction) -> Array:
    """Return the place of the target of each slot of a direction; see `hub_places`."""
    places = hub_places(topology, direction)
    return topology.found(_TARGETS, direction, lambda rows: places[rows.targets])


def has_places(topology: Topology, direction: Direction) -> bool:
    """Return whether the targets of a direction have been numbered by place."""
    return (_TARGETS, direction if topology.directed else "out") in topology._found
