"""Single-source shortest paths.

Method: relaxation ``dist[v] = min(dist[v], dist[u] + w(u, v))``. With non-negative weights, the
priority requests ordered processing, which gives delta-stepping; with negative ones, the same
relaxation without a priority is Bellman-Ford, stopped after n rounds in case of a negative cycle.
Distance and parent are updated as a pair: only a strictly shorter distance is written, so parents
form a tree even over edges of weight zero. If edges were added, earlier distances are upper bounds,
and the relaxation continues from the ends of the new edges.

U. Meyer, P. Sanders: Delta-stepping: a parallelizable shortest path algorithm (J. Algorithms 2003).
"""

from __future__ import annotations

import functools
from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

import weft
from weft.algorithms.registry import BOTH, Fields, Needs, algorithm
from weft.algorithms.support.limited_paths import check_limits, refuse_negative, search_within
from weft.algorithms.support.sources import check_source, check_start
from weft.algorithms.support.warm import continued_tree, insertions, refuse_limits
from weft.arrays.device import move
from weft.arrays.reduce import count_true
from weft.engine.state import Full
from weft.errors import GraphError
from weft.report.html import result_html

Array = np.ndarray[Any, Any]
NO_PARENT = weft.full(-1, weft.vertex_id)


class SSSP(NamedTuple):
    """Distances and parents of shortest paths; inf (or -1) and -1 at unreached vertices."""

    dist: Array
    parent: Array

    def _repr_html_(self) -> str:
        return result_html(self)


@weft.edge(into=("dist", "parent"), reduce=weft.argmin, priority=lambda v: v.dist)
def relax(u: Any, v: Any, e: Any) -> Any:
    """Reach v through u if that is shorter."""
    return u.dist + e.weight, u.id


@weft.edge(into=("dist", "parent"), reduce=weft.argmin)
def relax_unordered(u: Any, v: Any, e: Any) -> Any:
    """Reach v through u if that is shorter, in any order."""
    return u.dist + e.weight, u.id


@algorithm(
    group="traversal",
    summary="distances and parents of shortest paths from a vertex",
    weights="used",
    reference=(
        "U. Meyer, P. Sanders: Delta-stepping: a parallelizable shortest path algorithm (2003)"
    ),
    needs=Needs(
        BOTH,
        Fields(lambda i, w: w + i, lambda i, w: 2 * w, lambda i, w: w + 2 * i + 12, own=16),
        weighted=True,
        ordered=True,
    ),
)
def sssp(
    g: weft.Graph,
    source: Hashable,
    *,
    target: Hashable = None,
    cutoff: float | None = None,
    warm_start: SSSP | None = None,
    since: weft.Graph | int | None = None,
    config: weft.Config | None = None,
) -> SSSP:
    """Return the distance and the parent of every vertex on shortest paths from `source`.

    Parameters
    ----------
    g
        A graph. Without weights every edge counts 1. Integer weights give integer distances
        (int64), floating-point weights distances of their own dtype.
    source
        The vertex to start from, by its label if the graph has labels; or a list or array of
        vertices, for the distance from the nearest of them.
    target
        A vertex that ends the search: distances larger than its own are not assigned. Weights must
        not be negative.
    cutoff
        The largest distance to assign. Weights must not be negative.
    warm_start
        The result of the same search before edges were added; only what these edges change is
        computed. The weights of the other edges must be unchanged.
    since
        The graph of that earlier result, or the value of ``g.version`` at the time.
    config
        How to run it.

    Returns
    -------
    SSSP
        ``dist``, and ``parent``: the previous vertex on a shortest path (the source is its own
        parent). Vertices without a path have parent -1 and distance inf (-1 if distances are
        integers).

    Raises
    ------
    GraphError
        If the source does not exist, a weight is NaN, a negative cycle can be reached, or
        the graph of `warm_start` has changed other than by added edges.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1], [1, 2, 2], weight=[1.0, 5.0, 2.0], num_vertices=4)
    >>> weft.sssp(g, 0).dist.tolist()
    [0.0, 1.0, 3.0, inf]
    >>> weft.sssp(g, 0).parent.tolist()
    [0, 0, 1, -1]

    After a change, continue from the earlier result:

    >>> more = g.add_edges([1], [3], weight=0.5)
    >>> weft.sssp(more, 0, warm_start=weft.sssp(g, 0), since=g).dist.tolist()
    [0.0, 1.0, 3.0, 1.5]
    """
    weight = g.edge.storage("weight") if g.weighted else None
    low, high = _weight_range(g)
    dtype = _distance_dtype(g, weight, low, high)
    came = insertions(g, warm_start, since)
    if came is not None:
        refuse_limits(target=target, cutoff=cutoff)
    start = check_start(g, source) if came is None else check_source(g, source)
    state, places = _started(g, start, dtype)
    if came is None and low >= 0:
        limits = check_limits(g, target, cutoff)
        if limits is None:
            g.iterate(_typed(relax, weight, dtype), state, places, config=config)
        else:
            search_within(g, state, places, limits, config)
    else:
        if came is not None:
            assert isinstance(start, int)
            dist, parent, places = continued_tree(g, start, warm_start, came, low)
            state.dist = g.topology.xp.where(parent >= 0, dist.astype(dtype), state.dist)
            state.parent = parent
        else:
            refuse_negative(low, target, cutoff)
        _relax_all(g, state, places, start, low < 0, config)
    if dtype.kind == "f":
        return SSSP(state.dist, state.parent)
    dist = g.topology.xp.where(state.parent < 0, np.int64(-1), state.dist)
    return SSSP(dist, state.parent)


def _started(g: weft.Graph, start: int | Array, dtype: np.dtype[Any]) -> tuple[weft.State, Any]:
    """Return the state of a search from one vertex or several, and its first frontier."""
    if isinstance(start, int):
        fields = _unreached(dtype).but(start, 0), NO_PARENT.but(start, start)
        return g.state(dist=fields[0], parent=fields[1]), [start]
    state = g.state(dist=_unreached(dtype), parent=NO_PARENT)
    places = move(start, g.topology.device)
    state.dist[places] = 0
    state.parent[places] = places
    return state, places


def _relax_all(
    g: weft.Graph,
    state: Any,
    frontier: Any,
    source: Any,
    negative: bool,
    config: weft.Config | None,
) -> None:
    """Relax until no distance falls, with negative weights for as many rounds as may be needed."""
    weight = g.edge.storage("weight") if g.weighted else None
    if not negative:
        g.iterate(_typed(relax, weight, state.dist.dtype), state, frontier, config=config)
        return
    run = g.iterate(
        _typed(relax_unordered, weight, state.dist.dtype), state, frontier,
        max_iter=g.num_vertices, config=config,
    )  # fmt: skip
    if not run.converged:
        raise GraphError(
            f"a cycle of negative weight can be reached from source={source}, so that "
            f"shortest paths do not exist. Remove the cycle, or start elsewhere."
        )


@functools.cache
def _unreached(dtype: np.dtype[Any]) -> Full:
    return weft.full(np.inf if dtype.kind == "f" else int(np.iinfo(dtype).max), dtype)


def _weight_range(g: weft.Graph) -> tuple[float, float]:
    """Return the smallest and the largest weight; raise if one is NaN."""
    if not g.weighted or g.num_edges == 0:
        return (1, 1)
    low, high = g.edge.extent("weight")
    if low != low:
        weight = g.edge.storage("weight")
        count = count_true(weight != weight)
        raise GraphError(
            f"{count} weight(s) are NaN. Shortest paths need numbers: remove those edges or give "
            f"them a weight."
        )
    return (low, high)


def _distance_dtype(g: weft.Graph, weight: Array | None, low: float, high: float) -> np.dtype[Any]:
    """Return a dtype that no path can overflow."""
    if weight is not None and weight.dtype.kind == "f":
        return weight.dtype
    longest = max(abs(int(low)), abs(int(high))) * max(1, g.num_vertices)
    if longest < 2**31 - 1 and low >= 0:
        return np.dtype(np.int32)
    if longest >= 2**62:
        raise GraphError(
            f"weights up to {max(abs(int(low)), abs(int(high)))} could overflow 64-bit distances "
            f"on {g.num_vertices} vertices. Use floating-point weights."
        )
    return np.dtype(np.int64)


def _typed(function: Any, weight: Array | None, dtype: np.dtype[Any]) -> Any:
    """Return the function with weights read in the dtype of distances."""
    return function if weight is None or weight.dtype == dtype else _casting(function, dtype)


@functools.lru_cache(maxsize=16)
def _casting(function: Any, dtype: np.dtype[Any]) -> Any:
    def message(u: Any, v: Any, e: Any) -> Any:
        return u.dist + weft.cast(e.weight, dtype), u.id

    message.__name__ = function.__name__
    return weft.edge(
        message, into=function.into, reduce=function.reduce, priority=function.priority
    )
