"""Earlier results as starting points, if only edges were added to the graph since."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import weft
from weft.arrays.device import as_array, move
from weft.arrays.reduce import any_true
from weft.errors import ConfigError, GraphError
from weft.graph.mutation import added_since

Array = np.ndarray[Any, Any]


class Insertions(NamedTuple):
    """The ends of the edges added to a graph, and the number of vertices it had before."""

    src: Array
    dst: Array
    num_vertices: int


def insertions(g: weft.Graph, warm_start: Any, since: weft.Graph | int | None) -> Insertions | None:
    """Return the edges added since the version of `warm_start`; None without a warm start.

    Raises
    ------
    ConfigError
        If only one of the two was given.
    GraphError
        If edges were removed since, or the version is unknown.
    """
    if warm_start is None and since is None:
        return None
    if warm_start is None or since is None:
        given, lacking = ("since", "warm_start") if warm_start is None else ("warm_start", "since")
        raise ConfigError(
            f"{given}= was given without {lacking}=. Expected an earlier result as warm_start, and "
            "as since the graph that it is of, or the number that g.version was then."
        )
    return Insertions(*added_since(g, since))


def refuse_limits(**limits: Any) -> None:
    """Raise if a continued search has a limit: results beyond it would be stale."""
    for name, value in limits.items():
        if value is not None:
            raise ConfigError(
                f"{name}= cannot be combined with warm_start=, which continues a whole search. "
                "Expected one of them."
            )


def continued(
    g: weft.Graph, values: Any, came: Insertions, fill: Any, *, integral: bool = False
) -> Array:
    """Return one array of an earlier result on the graph's device, `fill` for new vertices."""
    array, xp = as_array(values), g.topology.xp
    if array.shape != (came.num_vertices,) or array.dtype.kind not in ("iu" if integral else "iuf"):
        raise GraphError(
            f"warm_start has an array of {array.dtype} of the shape {array.shape}. Expected "
            f"{'integers' if integral else 'numbers'}, one for each of the {came.num_vertices} "
            "vertices that the graph had then."
        )
    longer = xp.full(g.num_vertices, fill, array.dtype)
    longer[: array.size] = move(array, g.topology.device)
    return longer


def continued_labels(g: weft.Graph, values: Any, came: Insertions) -> Array:
    """Return the components of an earlier result, after checking them.

    The labels are used as parents of trees, in which a cycle would cause an endless loop.
    """
    label = continued(g, values, came, 0, integral=True)[: came.num_vertices]
    check_within(label, 0, came.num_vertices, "label")
    xp = g.topology.xp
    wrong = (label[label] != label) | (label > xp.arange(label.size, dtype=label.dtype))
    if any_true(wrong):
        v = int(wrong.argmax())
        raise GraphError(
            f"warm_start puts vertex {v} into component {int(label[v])}, which is not named after "
            "its smallest vertex. Expected an earlier result of connected_components; to compute "
            "afresh, leave warm_start out."
        )
    return label


def check_within(array: Array, least: int, end: int, what: str) -> None:
    """Raise unless all integers of an earlier result lie in [least, end)."""
    if array.size and not least <= int(array.min()) <= int(array.max()) < end:
        bad = int(array.min()) if int(array.min()) < least else int(array.max())
        raise GraphError(
            f"warm_start has the {what} {bad}, which does not exist. Expected {least} to {end - 1}."
        )


def _check_tree(dist: Array, parent: Array, least: float) -> None:
    """Raise unless distances are numbers, and do not fall from a parent to its children."""
    reached = parent >= 0
    above = parent[parent]  # for vertices without a parent, the last one's; not used
    wrong = reached & ((dist != dist) | (above < 0))
    if least >= 0:
        wrong |= reached & (dist < dist[parent])
    if any_true(wrong):
        v = int(wrong.argmax())
        raise GraphError(
            f"warm_start has the parent {int(parent[v])} and the distance {dist[v]} at vertex {v}, "
            "which do not belong to a search. Expected an earlier result; to compute afresh, leave "
            "warm_start out."
        )


def continued_tree(
    g: weft.Graph, source: int, warm_start: Any, came: Insertions, least: float
) -> tuple[Array, Array, Array]:
    """Return distances and parents of an earlier search, and the vertices to continue from.

    These are the ends of new edges that may bring the other end nearer, since no edge is shorter
    than `least`. All other edges were relaxed before, or will be when their source improves.
    """
    if not isinstance(warm_start, tuple | list) or len(warm_start) != 2:
        raise GraphError(
            f"warm_start is a {type(warm_start).__name__}. Expected the result of an earlier call: "
            "two arrays with one value per vertex."
        )
    dist = continued(g, warm_start[0], came, -1)
    parent = continued(g, warm_start[1], came, -1, integral=True)
    check_within(parent, -1, came.num_vertices, "parent")
    if source >= came.num_vertices or int(parent[source]) != source or float(dist[source]) != 0:
        raise GraphError(
            f"warm_start is not a search from source={source}. Expected a result with the same "
            "source; compute afresh: leave warm_start out."
        )
    _check_tree(dist, parent, least)
    near, far = came.src, came.dst
    if not g.directed:
        xp = g.topology.xp
        near, far = xp.concatenate((near, far)), xp.concatenate((far, near))
    may_improve = (parent[far] < 0) | (dist[near] + least < dist[far])
    return dist, parent, near[(parent[near] >= 0) & may_improve]
