"""Breadth-first search.

Method: level-synchronous, direction-optimising. A vertex takes its level and parent from whichever
edge reaches it first; `accept` makes both write-once, so that a pull may stop at the first hit.
If edges were added to a graph that was searched before, levels can only decrease: the search
continues from the ends of the new edges and keeps the smallest level, as for shortest paths.

S. Beamer, K. Asanovic, D. Patterson: Direction-optimizing breadth-first search (SC 2012).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

import weft
from weft.algorithms.registry import BOTH, Fields, Needs, algorithm
from weft.algorithms.support.sources import check_source, check_start
from weft.algorithms.support.warm import continued_tree, insertions, refuse_limits
from weft.arrays.checks import check_steps
from weft.arrays.device import move
from weft.ir.ops import INT64
from weft.report.html import result_html

Array = np.ndarray[Any, Any]
NO_LEVEL, NO_PARENT = weft.full(-1, np.int32), weft.full(-1, weft.vertex_id)


class BFS(NamedTuple):
    """Levels and parents of a breadth-first search; -1 at unreached vertices."""

    level: Array
    parent: Array

    def _repr_html_(self) -> str:
        return result_html(self)


@weft.edge(into=("level", "parent"), reduce=weft.any, accept=lambda v: v.level < 0)
def discover(u: Any, v: Any, e: Any) -> Any:
    """Reach v from u."""
    return u.level + 1, u.id


@weft.edge(into="level", reduce=weft.any, accept=lambda v: v.level < 0)
def discover_level(u: Any, v: Any, e: Any) -> Any:
    """Reach v from u, for searches that need no parents."""
    return u.level + 1


@weft.vertex
def watch(v: Any, target: Any) -> bool:
    """Record whether the target is among the vertices just reached; all stay active."""
    weft.reduce("found", weft.cast(weft.cast(v.id, INT64) == target, INT64), weft.max)
    return True


@weft.edge(into=("level", "parent"), reduce=weft.argmin, priority=lambda v: v.level)
def improve(u: Any, v: Any, e: Any) -> Any:
    """Reach v through u if that takes fewer edges."""
    return u.level + 1, u.id


@algorithm(
    group="traversal",
    summary="levels and parents of a breadth-first search",
    reference=(
        "S. Beamer, K. Asanovic, D. Patterson: Direction-optimizing breadth-first search (SC 2012)"
    ),
    needs=Needs(BOTH, Fields(lambda i, w: 4 + i)),
)
def bfs(
    g: weft.Graph,
    source: Hashable,
    *,
    target: Hashable = None,
    cutoff: int | None = None,
    warm_start: BFS | None = None,
    since: weft.Graph | int | None = None,
    config: weft.Config | None = None,
) -> BFS:
    """Return the level and the parent of every vertex in a breadth-first search from `source`.

    Parameters
    ----------
    g
        A graph; a directed one is searched along its edges.
    source
        The vertex to start from, by its label if the graph has labels; or a list or array of
        vertices, to search from all at once.
    target
        A vertex that ends the search: levels above its own are not assigned.
    cutoff
        The largest level to assign.
    warm_start
        The result of the same search before edges were added; only what these edges change is
        searched.
    since
        The graph of that earlier result, or the value of ``g.version`` at the time.
    config
        How to run it.

    Returns
    -------
    BFS
        ``level``: number of edges of a shortest path, ``parent``: the previous vertex on one such
        path (the source is its own parent); -1 in both for vertices that cannot be reached.

    Raises
    ------
    GraphError
        If the source does not exist, or the graph of `warm_start` has changed other than by added
        edges.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1, 3], [1, 2, 3, 2], num_vertices=5)
    >>> weft.bfs(g, 0).level.tolist()
    [0, 1, 1, 2, -1]
    >>> weft.bfs(g, 0).parent.tolist()
    [0, 0, 0, 1, -1]
    >>> weft.bfs(g, [1, 2]).level.tolist()
    [-1, 0, 0, 1, -1]

    After a change, continue from the earlier result:

    >>> more = g.add_edges([2], [4])
    >>> weft.bfs(more, 0, warm_start=weft.bfs(g, 0), since=g).level.tolist()
    [0, 1, 1, 2, 2]
    """
    came = insertions(g, warm_start, since)
    if came is not None:
        refuse_limits(target=target, cutoff=cutoff)
        source = check_source(g, source)
        level, parent, frontier = continued_tree(g, source, warm_start, came, 1)
        level[parent < 0] = np.iinfo(np.int32).max
        state = g.state(level=level.astype(np.int32), parent=NO_PARENT)
        state.parent = parent
        g.iterate(improve, state, frontier, config=config)
        state.level[state.parent < 0] = -1
        return BFS(state.level, state.parent)
    start = check_start(g, source)
    most = None if cutoff is None else check_steps("cutoff", cutoff)
    if isinstance(start, int):
        state = g.state(level=NO_LEVEL.but(start, 0), parent=NO_PARENT.but(start, start))
        places: Any = [start]
    else:
        state, places = _started(g, start)
    if target is None:
        g.iterate(discover, state, places, max_iter=most, config=config)
    else:
        _search_for(g, state, places, check_source(g, target, "target"), most, config)
    return BFS(state.level, state.parent)


def _started(g: weft.Graph, start: Array) -> tuple[weft.State, Array]:
    """Return the state of a search from several vertices, and these on the graph's device."""
    state = g.state(level=NO_LEVEL, parent=NO_PARENT)
    places = move(start, g.topology.device)
    state.level[places] = 0
    state.parent[places] = places
    return state, places


def _search_for(
    g: weft.Graph,
    state: weft.State,
    places: Any,
    target: int,
    most: int | None,
    config: weft.Config | None,
) -> None:
    """Search until the target is reached."""
    if int(state.level[target]) == 0:
        return
    held = g.state(
        level=state.level, parent=state.parent, target=weft.scalar(target), found=weft.scalar(0)
    )
    g.iterate([discover, watch], held, places, until=_has_found, max_iter=most, config=config)
    state.level, state.parent = held.level, held.parent


def _has_found(found: Any) -> Any:
    return found > 0
