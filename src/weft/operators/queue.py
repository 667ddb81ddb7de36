"""Inputs of operators: queues, which may repeat vertices, and the checks that all inputs pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.arrays.device import as_array, device_of, module_of, move, to_host
from weft.engine.frontier import Frontier, Pairs
from weft.errors import GraphError, TraceError, shortened
from weft.graph import execution

Array = np.ndarray[Any, Any]


class Queue(Frontier):
    """A list of vertices that keeps order and repetitions.

    Operators visit each of its vertices once; `filter` decides how many copies of a vertex it
    keeps, and `uniquify` keeps one.

    Parameters
    ----------
    g
        The graph.
    items
        Vertex numbers, or a frontier of arcs: the queue then holds the far end of each.

    Examples
    --------
    >>> import weft
    >>> from weft.operators import Queue, uniquify
    >>> g = weft.generators.path(4)
    >>> queue = Queue(g, [2, 0, 2])
    >>> len(queue), queue.tolist(), uniquify(g, queue).tolist()
    (3, [2, 0, 2], [0, 2])
    """

    def __init__(self, g: Any, items: Any) -> None:
        topology = g.topology
        with topology.device.current():
            if isinstance(items, Frontier) and items.arcs:
                arcs = checked(g, items, "a queue", arcs=True)
                repeats = topology.endpoints()[1][arcs.items]
            elif isinstance(items, Queue):
                repeats = move(items.repeats, topology.device)
            elif isinstance(items, Frontier):
                repeats = execution.vertex_frontier(g, items).items
            else:
                repeats = move(as_array(items), topology.device)
                if not repeats.size:
                    repeats = repeats.astype(topology.index_dtype)
            members = execution.vertex_frontier(g, repeats)
        super().__init__(members.items, members.length, device=topology.device)
        self.repeats: Array = repeats
        self.version = g._history.version

    def __len__(self) -> int:
        return int(self.repeats.size)

    def tolist(self) -> list[int]:
        """Return the vertices in order, with repetitions."""
        host: list[int] = to_host(self.repeats).tolist()
        return host

    def __repr__(self) -> str:
        return f"Queue({len(self)} items, {len(self.members)} vertices)"


def checked(g: Any, frontier: Any, who: str, *, arcs: bool = False) -> Frontier:
    """Return an input as a frontier of a graph; raise if it belongs to another one.

    Parameters
    ----------
    g
        The graph.
    frontier
        A frontier, vertices or a mask; None for all vertices.
    who
        The operator.
    arcs
        Whether it takes arcs too.
    """
    if (
        type(frontier) is Frontier
        and frontier.version is g._history.version
        and frontier.device is g._topology.device
        and (arcs or not frontier.arcs)
    ):
        return frontier  # as operators return them: the quick test
    if isinstance(frontier, Pairs):
        raise TraceError(f"{who} got {frontier!r}. Expected a frontier; pairs go to intersect.")
    if not isinstance(frontier, Frontier):
        made = execution.vertex_frontier(g, frontier)
    else:
        _check_owner(g, frontier, who)
        made = execution.first_of(g, frontier)
    if made.arcs and not arcs:
        raise TraceError(
            f"{who} takes vertices, but got {made!r}. Expected a frontier of vertices, such as "
            f"Queue(g, arcs), which holds the far ends of arcs."
        )
    return made


def _check_owner(g: Any, frontier: Frontier, who: str) -> None:
    """Raise unless a frontier belongs to this graph or to one that it was derived from."""
    made_for, history = frontier.version, g._history
    if frontier.arcs and made_for is not None and not made_for.current:
        return  # renumbering of arcs by g.update is reported where they are used
    expected = g.topology.num_arcs if frontier.arcs else g.num_vertices
    what = "arcs" if frontier.arcs else "vertices"
    if frontier.length != expected:
        raise GraphError(
            f"{who} got {frontier!r}, which belongs to another graph: this one has {expected} "
            f"{what}. Expected a frontier of the graph that is passed."
        )
    if made_for is None or made_for is history.version or not made_for.current:
        return  # g.update keeps the numbers of vertices
    if not any(past.version is made_for for past in history.past):
        raise GraphError(
            f"{who} got {frontier!r}, which was made for another graph. Expected a frontier of "
            f"the graph that is passed, or of one that it was derived from."
        )


def vertices_in_order(g: Any, items: Any, who: str) -> Array:
    """Return vertices as a list in order, with repetitions, on the graph's device."""
    if isinstance(items, Frontier):
        items = checked(g, items, who)
        return items.repeats if isinstance(items, Queue) else items.items
    array = as_array(items)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise GraphError(
            f"{who} takes lists of vertices, but got {shortened(items)}. Expected integers in one "
            f"dimension."
        )
    return Queue(g, array).repeats


def repeated_in(kept: Frontier, queue: Queue) -> Array:
    """Return the items of a queue whose vertices are in a frontier, in order."""
    with device_of(queue.repeats).current():
        if kept.is_all:
            return queue.repeats
        mask = module_of(queue.repeats).zeros(kept.length, bool)
        mask[kept.members] = True
        return queue.repeats[mask[queue.repeats]]
