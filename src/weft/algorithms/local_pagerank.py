"""Personalised PageRank by local pushes, and communities by sweep cuts.

Method: every vertex has an estimate p and a residual r, which begins as the distribution of the
seeds. All vertices with r(v) >= ε d(v) push at once:

    p(v) += 2α / (1 + α) · r(v),    r(v) = 0,    r(u) += (1 - α) / (1 + α) · r(v) / d(v)

for each neighbour u, where d is the degree or the total weight. When no vertex is due, p lies below
the personalised PageRank by less than ε d(v) at every vertex v (Andersen's lazy walk, whose α is
the probability to jump home). O(1 / (α ε)) work, however large the graph is.

A *sweep* orders the vertices by p(v) / d(v) and takes the beginning of this order whose conductance
is least: the number of edges that leave it over the number of edges at it or at the rest, whichever
is smaller.

R. Andersen, F. Chung, K. Lang: Local graph partitioning using PageRank vectors (FOCS 2006).
J. Shun et al.: Parallel local graph clustering (VLDB 2016).
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

import weft
from weft.algorithms.registry import BOTH, Fields, Needs, algorithm
from weft.algorithms.support.communities import sums_of
from weft.algorithms.support.sources import check_start
from weft.algorithms.support.weights import check_weights
from weft.arrays.checks import real_of
from weft.arrays.device import as_array, move
from weft.arrays.reduce import all_true
from weft.errors import ConfigError, GraphError, shortened

Array = np.ndarray[Any, Any]

REFERENCE = "R. Andersen, F. Chung, K. Lang: Local graph partitioning using PageRank vectors (2006)"
NEEDS = Needs(
    BOTH, Fields(lambda i, w: 32, lambda i, w: 8, lambda i, w: 16 + i, own=64), weighted=True
)


class Cut(NamedTuple):
    """The vertices of a set, in the order of the sweep, and its conductance."""

    vertices: Array
    conductance: float


@functools.cache
def pushing(weighted: bool) -> list[Any]:
    """Return the steps of a push."""

    @weft.vertex
    def release(v: Any, keep: Any) -> bool:
        v.rank = v.rank + keep * v.residual
        v.passed = v.residual / v.strength
        v.residual = 0.0
        return True

    def is_due(v: Any, old: Any, least: Any) -> Any:
        return (v.strength > 0) & (v.residual >= least * v.strength)

    @weft.edge(into="residual", reduce=weft.sum, active=is_due)
    def pass_on(u: Any, v: Any, e: Any, spread: Any) -> Any:
        part = spread * u.passed
        return part * weft.cast(e.weight, np.float64) if weighted else part

    return [release, pass_on]


@algorithm(
    group="centrality",
    summary="personalised PageRank around some vertices, by local push",
    weights="optional",
    directed="ignored",
    column="rank",
    reference=REFERENCE,
    needs=NEEDS,
)
def local_pagerank(
    g: weft.Graph,
    seeds: Any,
    alpha: float = 0.15,
    epsilon: float = 1e-6,
    *,
    weighted: bool = False,
    config: weft.Config | None = None,
) -> Array:
    """Return approximate personalised PageRanks, which are 0 far from the seeds.

    The time depends on `alpha` and `epsilon`, not on the size of the graph, except for allocating
    arrays.

    Parameters
    ----------
    g
        An undirected graph.
    seeds
        The vertices where the walk starts and jumps to: one, or a list or an array of them, by
        labels if the graph has labels.
    alpha
        The probability of jumping home in a step of the lazy walk, above 0 and below 1.
    epsilon
        The maximum error of a rank per edge at its vertex; ranks are never too large.
    weighted
        Whether to follow edges in proportion to their weights, which must be finite and not
        negative.
    config
        How to run it.

    Returns
    -------
    ndarray of float64
        One rank per vertex, adding up to at most 1.

    Raises
    ------
    ConfigError
        If `alpha` or `epsilon` is out of range.
    GraphError
        If the graph is directed, a seed does not exist, or weights are negative or not finite.

    Examples
    --------
    >>> import weft
    >>> weft.local_pagerank(weft.generators.path(5), 0, 0.5, 0.01).round(2).tolist()
    [0.7, 0.24, 0.04, 0.0, 0.0]
    """
    for name, value, most in (("alpha", alpha, 1.0), ("epsilon", epsilon, np.inf)):
        if not 0 < real_of(value) < most:
            limit = " and below 1" if most == 1 else ""
            raise ConfigError(
                f"{name}={shortened(value)} is not possible. Expected a number above 0{limit}."
            )
    places = _seeds(g, seeds)
    weighted = check_weights(g, weighted, "PageRank")
    strength = _strengths(g, weighted)
    state = g.state(
        rank=weft.full(0.0), residual=weft.full(0.0), passed=weft.full(0.0), strength=strength,
        keep=weft.scalar(2 * alpha / (1 + alpha)), spread=weft.scalar((1 - alpha) / (1 + alpha)),
        least=weft.scalar(float(epsilon)),
    )  # fmt: skip
    share = 1 / places.size
    state.residual[places] = share
    alone = strength[places] == 0  # nothing ever leaves them
    state.rank[places[alone]] = share
    state.residual[places[alone]] = 0.0
    due = places[~alone & (share >= epsilon * strength[places])]
    g.iterate(pushing(weighted), state, due, config=config)
    return state.rank


def _seeds(g: weft.Graph, seeds: Any) -> Array:
    if g.directed:
        raise GraphError(
            "the graph is directed. Expected an undirected one; use g.to_undirected(), or "
            "pagerank with personalization=."
        )
    return move(np.atleast_1d(np.asarray(check_start(g, seeds))), g.topology.device)


def _strengths(g: weft.Graph, weighted: bool) -> Array:
    """Return the total weight of the arcs at each vertex; a self-loop is one arc."""
    if not weighted:
        return g.out_degree.astype(np.float64)
    rows = g.topology.out
    weight = g.edge.in_slots("weight", "out").astype(np.float64)
    return sums_of(rows.rows(), weight, g.num_vertices)


@algorithm(
    group="communities",
    summary="the best set of vertices at the beginning of an order",
    weights="optional",
    directed="ignored",
    per="result",
    reference=REFERENCE,
    needs=NEEDS,
)
def sweep_cut(
    g: weft.Graph, scores: Any, *, weighted: bool = False, config: weft.Config | None = None
) -> Cut:
    """Return the set of highest-scoring vertices with the smallest conductance.

    Parameters
    ----------
    g
        An undirected graph.
    scores
        One number from 0 on for each vertex, such as PageRanks; vertices are ordered by their
        scores over their degrees, by number among equals. Vertices with score 0 are omitted.
    weighted
        Whether to count weights, which must be finite and not negative, rather than edges.
    config
        Accepted for uniformity; nothing is compiled.

    Returns
    -------
    Cut
        ``vertices``, and ``conductance``: the weight that leaves the set over the weight at its
        vertices or at all others, whichever is less. 1 and no vertices if no score is above 0 or
        every set contains all edges.

    Raises
    ------
    GraphError
        If the graph is directed, or scores or weights are negative or not finite.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1, 2, 3], [1, 2, 2, 3, 4], directed=False)
    >>> weft.sweep_cut(g, [1, 1, 1, 0.1, 0])
    Cut(vertices=array([0, 1, 2]), conductance=0.3333333333333333)
    """
    xp, n = g.topology.xp, g.num_vertices
    score = move(as_array(scores), g.topology.device)
    usable = score.shape == (n,) and score.dtype.kind in "iufb"
    if g.directed or not (usable and all_true((score >= 0) & (score < np.inf))):
        what = "the graph is directed" if g.directed else f"scores have the shape {score.shape}"
        raise GraphError(
            f"{what}. Expected an undirected graph and {n} finite scores from 0 on, one for each "
            "vertex."
        )
    weighted = check_weights(g, weighted, "a sweep")
    src, dst = g.topology.edge_endpoints()
    weight = g.edge.storage("weight").astype(np.float64) if weighted else xp.ones(src.size)
    strength = sums_of(src, weight, n) + sums_of(dst, weight, n)
    member = xp.flatnonzero((score > 0) & (strength > 0))
    order = member[xp.argsort(-(score[member] / strength[member]), kind="stable")]
    volume = xp.cumsum(strength[order])
    leaving = _leaving(g, order, weight)
    least = xp.minimum(volume, float(strength.sum()) - volume)
    found = xp.where(least > 0, leaving / xp.where(least > 0, least, 1), 1.0)
    if not found.size or float(found.min()) >= 1:
        return Cut(order[:0], 1.0)
    best = int(found.argmin())
    return Cut(order[: best + 1], float(found[best]))


def _leaving(g: weft.Graph, order: Array, weight: Array) -> Array:
    """Return the weight of the edges that leave each prefix of an order."""
    xp, n = g.topology.xp, g.num_vertices
    place = xp.full(n, order.size, np.int64)
    place[order] = xp.arange(order.size)
    src, dst = g.topology.edge_endpoints()
    a, b = place[src], place[dst]
    first, last = xp.minimum(a, b), xp.maximum(a, b)
    touched = first < last
    enters = sums_of(first[touched], weight[touched], order.size + 1)
    leaves = sums_of(last[touched], weight[touched], order.size + 1)
    return xp.cumsum(enters - leaves)[:-1]


@algorithm(
    group="communities",
    summary="the community around some vertices, found without looking at the rest",
    weights="optional",
    directed="ignored",
    per="result",
    reference=REFERENCE,
    needs=NEEDS,
)
def local_community(
    g: weft.Graph,
    seeds: Any,
    alpha: float = 0.15,
    epsilon: float = 1e-6,
    *,
    weighted: bool = False,
    config: weft.Config | None = None,
) -> Cut:
    """Return the community around some vertices: the best cut of a sweep over PageRanks.

    Parameters
    ----------
    g
        An undirected graph.
    seeds
        One vertex, or a list or an array of them, by labels if the graph has labels.
    alpha, epsilon
        As in `local_pagerank`: smaller values find larger communities.
    weighted
        Whether to use the weights, which must be finite and not negative.
    config
        How to run it.

    Returns
    -------
    Cut
        As from `sweep_cut`.

    Raises
    ------
    ConfigError
        If `alpha` or `epsilon` is out of range.
    GraphError
        If the graph is directed, a seed does not exist, or weights are negative or not finite.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1, 2, 3, 3, 4], [1, 2, 2, 3, 4, 5, 5], directed=False)
    >>> sorted(weft.local_community(g, 4).vertices.tolist())
    [3, 4, 5]
    """
    rank = local_pagerank(g, seeds, alpha, epsilon, weighted=weighted, config=config)
    return sweep_cut(g, rank, weighted=weighted, config=config)
