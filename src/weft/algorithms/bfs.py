"""Breadth-first search.

Method: level-synchronous, direction-optimising. A vertex takes its level and parent from whichever
edge reaches it first; `accept` makes both write-once, so that a pull may stop at the first hit.
Where edges were added to a graph that was searched before, levels can only fall: the search goes on
from the ends of the new edges and keeps the least level, as for shortest paths.

S. Beamer, K. Asanovic, D. Patterson: Direction-optimizing breadth-first search (SC 2012).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

import weft.ir.trace.monoids as monoids
from weft.algorithms.registry import BOTH, Fields, Needs, algorithm
from weft.algorithms.support.sources import check_source, check_start
from weft.algorithms.support.warm import continued_tree, insertions, refuse_limits
from weft.arrays.checks import check_steps
from weft.arrays.device import move
from weft.config import Config
from weft.engine.state import State, full, scalar
from weft.graph import Graph
from weft.ir.ops import INT64
from weft.ir.trace import functions as fn
from weft.ir.types import vertex_id
from weft.program import edge, vertex
from weft.report.html import result_html

Array = np.ndarray[Any, Any]
NO_LEVEL, NO_PARENT = full(-1, np.int32), full(-1, vertex_id)


class BFS(NamedTuple):
    """Levels and parents of a breadth-first search; -1 where it did not reach."""

    level: Array
    parent: Array

    def _repr_html_(self) -> str:
        return result_html(self)


@edge(into=("level", "parent"), reduce=monoids.any, accept=lambda v: v.level < 0)
def discover(u: Any, v: Any, e: Any) -> Any:
    """Reach v from u."""
    return u.level + 1, u.id


@edge(into="level", reduce=monoids.any, accept=lambda v: v.level < 0)
def discover_level(u: Any, v: Any, e: Any) -> Any:
    """Reach v from u, for searches that need no parents."""
    return u.level + 1


@vertex
def watch(v: Any, target: Any) -> bool:
    """Note whether the target is among the vertices just reached; all go on."""
    fn.reduce("found", fn.cast(fn.cast(v.id, INT64) == target, INT64), monoids.max)
    return True


@edge(into=("level", "parent"), reduce=monoids.argmin, priority=lambda v: v.level)
def improve(u: Any, v: Any, e: Any) -> Any:
    """Reach v over u if that is fewer edges."""
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
    g: Graph,
    source: Hashable,
    *,
    target: Hashable = None,
    cutoff: int | None = None,
    warm_start: BFS | None = None,
    since: Graph | int | None = None,
    config: Config | None = None,
) -> BFS:
    """Return the level and the parent of every vertex in a breadth-first search from `source`.

    Parameters
    ----------
    g
        A graph; a directed one is searched along its edges.
    source
        The vertex to start from, by its label if the graph has labels; or a list or array of
        vertices, to search from all of them at once.
    target
        A vertex that ends the search: levels above its own are not assigned.
    cutoff
        The largest level to assign.
    warm_start
        The result of the same search before edges were added: only what these change is
        searched.
    since
        The graph that `warm_start` is a result of, or the number that ``g.version`` was then.
    config
        How to run it.

    Returns
    -------
    BFS
        ``level``: number of edges of a shortest path, ``parent``: the vertex before on one such
        path (the source is its own parent); -1 in both for vertices that cannot be reached.

    Raises
    ------
    GraphError
        If the source does not exist, or `warm_start` is not of a graph that edges were only added
        to.

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

    After a change, go on from the earlier result:

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


def _started(g: Graph, start: Array) -> tuple[State, Array]:
    """Return the state of a search from several vertices, and these on the graph's device."""
    state = g.state(level=NO_LEVEL, parent=NO_PARENT)
    places = move(start, g.topology.device)
    state.level[places] = 0
    state.parent[places] = places
    return state, places


def _search_for(
    g: Graph, state: State, places: Any, target: int, most: int | None, config: Config | None
) -> None:
    """Search until the target is reached."""
    if int(state.level[target]) == 0:
        return
    held = g.state(level=state.level, parent=state.parent, target=scalar(target), found=scalar(0))
    g.iterate([discover, watch], held, places, until=_has_found, max_iter=most, config=config)
    state.level, state.parent = held.level, held.parent


def _has_found(found: Any) -> Any:
    return found > 0
