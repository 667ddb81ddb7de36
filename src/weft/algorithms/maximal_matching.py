"""A maximal matching, and the vertex cover that it gives.

Method: edges have a fixed order: heaviest first if weights count, then random. Every free vertex
points to its first edge to another free vertex; edges that both ends point to are matched. Only
vertices whose choice was matched with another look for their next one. The result is that of a
sequential pass over the edges in this order, in any order of execution. O(log m) rounds with high
probability for a random order, O(m) work in the first and far less in the others.

The place of an edge is its weight, if it has 32 bits, above a number drawn for the edge that no
other edge has; else edges are sorted once.

Heaviest first, the matching has at least half of the largest possible weight. The ends of the
matched edges cover every edge, with at most twice as many vertices as needed.

G. Blelloch, J. Fineman, J. Shun: Greedy sequential maximal independent set and matching are
parallel on average (SPAA 2012).
R. Preis: Linear time 1/2-approximation algorithm for maximum weighted matching in general graphs
(STACS 1999).
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import weft
from weft.algorithms.registry import BOTH, Fields, Needs, algorithm
from weft.algorithms.support.order import SHUFFLED, shuffled, turn_of
from weft.algorithms.support.weights import check_weights
from weft.arrays.checks import check_integer
from weft.arrays.reduce import all_true

Array = np.ndarray[Any, Any]

NEEDS = Needs(
    BOTH, Fields(lambda i, w: 2 * i + 8, lambda i, w: 2 * i + 8, lambda i, w: 2 * i + 8, own=8),
    weighted=True,
)  # fmt: skip


@functools.cache
def pointing(direction: str, kind: str) -> Any:
    """Return the vertex function that points to the first edge to a free vertex."""

    @weft.vertex
    def point(v: Any, turn: Any) -> Any:
        def offer(u: Any, e: Any) -> Any:
            place = _place(u, v, e, kind, turn)
            return weft.send((place, u.id), when=(u.mate < 0) & (u.id != v.id))

        _, other = v.gather(offer, weft.argmax, direction=direction)
        v.choice = weft.cast(other, weft.vertex_id)
        return other >= 0

    return point


def _place(u: Any, v: Any, e: Any, kind: str, turn: Any) -> Any:
    """Return the place of an edge in a traced function, the largest for the first one."""
    if kind == "sorted":
        return e.precedence
    number = shuffled(weft.cast(e.id, np.int64), turn)
    if kind == "number":
        return number
    if kind == "degrees":
        heavy = (1 << 32) - weft.cast(u.in_degree, np.int64) - weft.cast(v.in_degree, np.int64)
    elif kind == "float":  # floats from 0 on are ordered as their bits
        heavy = weft.bitcast(weft.cast(e.weight, np.float32) + np.float32(0), np.int32)
    else:
        heavy = e.weight
    return (weft.cast(heavy, np.int64) << SHUFFLED) | number


@weft.vertex(order_free=True)
def marry(v: Any) -> bool:
    """Match v with the vertex that it points to, if that points back, whether it looked now."""
    mutual = v.choice.at(v.choice).load() == weft.cast(v.id, weft.vertex_id)

    def join(_: Any) -> None:
        v.mate.at(v.id).set(v.choice)
        v.mate.at(v.choice).set(weft.cast(v.id, weft.vertex_id))

    weft.for_range(0, weft.where(mutual, 1, 0), join)
    return True


@weft.vertex(on="all")
def looks_on(v: Any) -> Any:
    """Whether v is free and points to a vertex that was matched with another."""
    points = (v.mate < 0) & (v.choice >= 0)
    return points & (v.mate.at(weft.where(points, v.choice, v.id)).load() >= 0)


@algorithm(
    group="matching",
    summary="the vertex that each vertex is matched with",
    weights="optional",
    directed="ignored",
    column="mate",
    reference=(
        "G. Blelloch, J. Fineman, J. Shun: Greedy sequential maximal independent set and matching "
        "are parallel on average (SPAA 2012)"
    ),
    needs=NEEDS,
)
def maximal_matching(
    g: weft.Graph, *, weighted: bool = False, seed: int = 0, config: weft.Config | None = None
) -> Array:
    """Return pairs of adjacent vertices to which no pair of free vertices can be added.

    Parameters
    ----------
    g
        A graph; self-loops are ignored, and directed edges are taken to run both ways.
    weighted
        Whether heavier edges come first; weights must be finite and not negative.
    seed
        Chooses the order among edges of equal weight; the matching is determined by it.
    config
        How to run it.

    Returns
    -------
    ndarray
        The vertex that each one is matched with, -1 for those that are free.

    Raises
    ------
    GraphError
        If weights are to be used and some are negative or not finite.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 1, 2], [1, 2, 3], weight=[1, 5, 1], directed=False)
    >>> weft.maximal_matching(g, weighted=True).tolist()
    [-1, 2, 1, -1]
    """
    seed = check_integer("seed", seed, 0)
    kind = _kind_of(g, check_weights(g, weighted, "a matching"))
    return matched(_sorted(g, weighted, seed) if kind == "sorted" else g, kind, seed, config)


def matched(g: weft.Graph, kind: str, seed: int, config: weft.Config | None) -> Array:
    """Return the matching of a pass over edges whose places are found in a way.

    "degrees": in an undirected graph, those whose ends have fewest
    neighbours in all come first, which leaves few vertices free.
    """
    free = weft.full(-1, weft.vertex_id)
    state = g.state(mate=free, choice=free, turn=weft.scalar(turn_of(seed)))
    point = pointing("both" if g.directed else "in", kind)
    g.iterate([point, marry, looks_on], state, config=config)
    return state.mate


def _kind_of(g: weft.Graph, weighted: bool) -> str:
    """Return how edges find their places: by "number", "int" or "float" weights, or "sorted"."""
    if g.num_edges > 1 << SHUFFLED:
        return "sorted"
    if not weighted or not g.num_edges:
        return "number"
    weight = g.edge.storage("weight")
    if weight.dtype.kind in "iub":
        return "int" if g.edge.extent("weight")[1] < 1 << SHUFFLED else "sorted"
    with np.errstate(over="ignore"):
        narrow = weight.dtype.itemsize <= 4 or all_true(weight.astype(np.float32) == weight)
    return "float" if narrow else "sorted"


def _sorted(g: weft.Graph, weighted: bool, seed: int) -> weft.Graph:
    """Return the graph with the ranks of its edges by weight, then by drawn number."""
    xp, count = g.topology.xp, g.num_edges
    drawn = shuffled(xp.arange(count), turn_of(seed)).astype(np.float64)
    weight = g.edge.storage("weight").astype(np.float64) if weighted else xp.zeros(count)
    precedence = xp.empty(count, np.int64)
    precedence[xp.lexsort(xp.stack((drawn, weight)))] = xp.arange(count)
    return weft.Graph(g.topology, edge={"precedence": precedence}, order=g.order)


@algorithm(
    group="matching",
    summary="a set of vertices that covers all edges, at most twice as large as needed",
    directed="ignored",
    column="cover",
    reference="F. Gavril, in M. Garey, D. Johnson: Computers and intractability (1979)",
    needs=NEEDS,
)
def vertex_cover(g: weft.Graph, *, seed: int = 0, config: weft.Config | None = None) -> Array:
    """Return vertices such that every edge has an end among them.

    Parameters
    ----------
    g
        A graph.
    seed
        Chooses the order of the edges; the cover is determined by it.
    config
        How to run it.

    Returns
    -------
    ndarray of bool
        Whether each vertex belongs to the cover: the ends of a maximal matching, at most twice as
        many as the smallest cover has, and vertices with self-loops.

    Examples
    --------
    >>> import weft
    >>> weft.vertex_cover(weft.generators.star(3)).sum()
    np.int64(2)
    """
    cover = maximal_matching(g, seed=seed, config=config) >= 0
    src, dst = g.topology.edge_endpoints()
    cover[src[src == dst]] = True
    return cover
