"""A maximal matching, and the vertex cover that it gives.

Method: edges have a fixed order: heaviest first if weights count, then by random bits and number.
Every free vertex points to its first edge to another free vertex; edges that both ends point to are
matched. The result is that of a sequential pass over the edges in this order, in any order of
execution. O(m) work per round, O(log m) rounds with high probability for a random order.

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

from weft.algorithms.registry import BOTH, Fields, Needs, algorithm
from weft.algorithms.support.order import drawn_bits
from weft.algorithms.support.weights import check_weights
from weft.arrays.checks import check_integer
from weft.config import Config
from weft.engine.state import full
from weft.graph import Graph
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.ir.trace.proxies import send
from weft.ir.types import vertex_id
from weft.program import vertex

Array = np.ndarray[Any, Any]

NEEDS = Needs(
    BOTH, Fields(lambda i, w: 2 * i + 8, lambda i, w: 2 * i + 8, lambda i, w: 2 * i + 8, own=8),
    weighted=True,
)  # fmt: skip


@functools.cache
def pointing(direction: str) -> Any:
    """Return the vertex function that points to the first edge to a free vertex."""

    @vertex
    def point(v: Any) -> Any:
        _, other = v.gather(
            lambda u, e: send((e.precedence, u.id), when=(u.mate < 0) & (u.id != v.id)),
            monoids.argmax,
            direction=direction,
        )
        v.choice = fn.cast(other, vertex_id)
        return other >= 0

    return point


@vertex
def marry(v: Any) -> Any:
    """Match v with the vertex that it points to, if that points back; the others go on."""
    mutual = v.choice.at(v.choice).load() == fn.cast(v.id, vertex_id)
    v.mate = fn.where(mutual, v.choice, v.mate)
    return ~mutual


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
    g: Graph, *, weighted: bool = False, seed: int = 0, config: Config | None = None
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
    held = _with_precedence(g, weighted, check_integer("seed", seed, 0))
    free = full(-1, vertex_id)
    state = held.state(mate=free, choice=free)
    point = pointing("both" if g.directed else "in")
    held.iterate([point, marry], state, config=config)
    return state.mate


def _with_precedence(g: Graph, weighted: bool, seed: int) -> Graph:
    """Return the graph with a column of distinct integers, the largest for the first edge."""
    xp, count = g.topology.xp, g.num_edges
    drawn = drawn_bits(xp, count, seed)
    if check_weights(g, weighted, "a matching"):
        precedence = _by_weight(xp, g.edge.storage("weight"), drawn)
    elif count < 2**31:
        precedence = (drawn << 32) | xp.arange(count)
    else:
        precedence = xp.empty(count, np.int64)
        precedence[xp.argsort(drawn, kind="stable")] = xp.arange(count)
    return Graph(g.topology, edge={"precedence": precedence}, order=g.order)


def _by_weight(xp: Any, weight: Array, drawn: Array) -> Array:
    """Return the ranks of the edges by weight, then by the drawn bits, then by number."""
    order = _sorted(weight, drawn) if xp is np else _sorted_stably(xp, weight, drawn)
    ranks = xp.empty(weight.size, np.int64)
    ranks[order] = xp.arange(weight.size)
    return ranks


def _sorted_stably(xp: Any, weight: Array, drawn: Array) -> Array:
    return xp.lexsort(xp.stack((drawn.astype(np.float64), weight.astype(np.float64))))


def _sorted(weight: Array, drawn: Array) -> Array:
    """Sort by one key of 64 bits, a tenth of the work, and then what is equal there."""
    with np.errstate(over="ignore"):
        narrow = weight.astype(np.float32) + np.float32(0)  # which makes -0.0 0.0
    keys = weight
    if (narrow == weight).all():  # floats from 0 on are ordered as their bits
        keys = (narrow.view(np.int32).astype(np.int64) << 31) | drawn
    order = np.argsort(keys)
    ordered = keys[order]
    same = np.zeros(keys.size + 1, bool)
    np.equal(ordered[1:], ordered[:-1], out=same[1:-1])
    unsure = np.flatnonzero(same[1:] | same[:-1])
    if unsure.size:
        edges = np.sort(order[unsure])
        order[unsure] = edges[_sorted_stably(np, weight[edges], drawn[edges])]
    return order


@algorithm(
    group="matching",
    summary="a set of vertices that covers all edges, at most twice as large as needed",
    directed="ignored",
    column="cover",
    reference="F. Gavril, in M. Garey, D. Johnson: Computers and intractability (1979)",
    needs=NEEDS,
)
def vertex_cover(g: Graph, *, seed: int = 0, config: Config | None = None) -> Array:
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
