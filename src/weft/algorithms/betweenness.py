"""Betweenness centrality.

Method: for each source s, a breadth-first search finds the levels; a sweep over them from first to
last counts the shortest paths σ(v) from s to every v, and one from last to first sums each vertex's
share of the paths beyond it:

    σ(v) = Σ σ(u) over edges u -> v from the level before,
    share(v) = 1 / σ(v) + Σ share(w) over edges v -> w to the next level,
    betweenness(v) += σ(v) · share(v) - 1    for v other than s.

Counts and shares of odd levels are stored negated: the sign at a neighbour then shows whether it is
on a level next to that of v, on the same level (whose values are changing), or not yet reached by
the sweep (0).

Path counts grow exponentially with the depth of the search. If degrees and depth allow more than
`MOST_PATHS`, `scaled_paths` counts them, with separate exponents.

If weights are lengths, the order is that of `shortest_dags`. O(n m) for all sources
without weights, O(n m log n) with them.

U. Brandes: A faster algorithm for betweenness centrality (J. Mathematical Sociology 25, 2001).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

import weft
from weft.algorithms.registry import BOTH, Fields, Needs, algorithm
from weft.algorithms.support.scaled_paths import (
    ScaledSweeps,
    beside,
    keeps_at_once,
    sign,
    store,
)
from weft.algorithms.support.shortest_dags import Sweeps
from weft.algorithms.support.simple import simple
from weft.algorithms.support.sources import check_sources
from weft.arrays.device import device_of, module_of, move

Array = np.ndarray[Any, Any]

MOST_PATHS = 1000  # as a power of two: more may overflow further on, and 1 / σ underflow
SHORT_ROWS = 32  # if all vertices are sources, a count that may overflow is not tried


@weft.edge(into="level", reduce=weft.any, accept=lambda v: v.level < 0)
def reach(u: Any, v: Any, e: Any) -> Any:
    """Put v on the next level."""
    return u.level + 1


@functools.cache
def sweeps(at_once: bool) -> tuple[Any, Any]:
    """Return the functions that count paths and pass shares back."""

    @weft.vertex(order_free=True)
    def count(v: Any) -> None:
        """Count the shortest paths to v from the previous level."""
        paths = v.gather(lambda u, e: beside(v, u.paths), weft.sum)
        store(v, "paths", sign(v) * paths, at_once)

    @weft.vertex(order_free=True)
    def owe(v: Any) -> None:
        """Gather the shares of the next level."""
        beyond = v.gather(lambda u, e: beside(v, u.share), weft.sum, direction="out")
        paths = abs(v.paths)
        store(v, "share", sign(v) * (1 / paths + beyond), at_once)
        v.total = v.total + weft.where(v.level > 0, paths * beyond, 0)

    return count, owe


@algorithm(
    group="centrality",
    summary="the share of shortest paths that pass through each vertex",
    weights="optional",
    reference="U. Brandes: A faster algorithm for betweenness centrality (2001)",
    needs=Needs(
        BOTH,
        Fields(lambda i, w: 28, lambda i, w: 12, lambda i, w: 32 + i, own=24),
        simple=True,
        trail=True,
        weighted=True,
    ),
)
def betweenness(
    g: weft.Graph,
    sources: Any = None,
    normalized: bool = True,
    *,
    weighted: bool = False,
    seed: int = 0,
    config: weft.Config | None = None,
) -> Array:
    """Return the number of shortest paths between other vertices through each vertex.

    Parameters
    ----------
    g
        A graph; a directed one is searched along its edges. Self-loops are ignored, parallel edges
        count once.
    sources
        The vertices that paths start from: all by default, a random sample for a number, or an
        array of vertices (labels, if the graph has them). The result is then scaled up to estimate
        that of all sources.
    normalized
        Whether to divide by the number of pairs of other vertices, so that the maximum is 1.
    weighted
        Whether weights are the lengths of edges; they must be finite and above 0.
    seed
        Chooses the sample.
    config
        How to run it.

    Returns
    -------
    ndarray of float64
        One value per vertex; ends of a path do not count. NaN at the only source of a sample, since
        no counted path can lead through it.

    Raises
    ------
    GraphError
        If a source does not exist, the sample is larger than the graph, or weights are to be used
        and some are not above 0, or not finite.

    Examples
    --------
    >>> import weft
    >>> weft.betweenness(weft.generators.path(4), normalized=False).tolist()
    [0.0, 2.0, 2.0, 0.0]
    """
    chosen = check_sources(g, sources, seed)
    if weighted and g.weighted and g.num_edges:
        sweeps = Sweeps(g, weighted, config)
        for source in chosen.tolist():
            sweeps.add_owed(source)
        return _scaled(sweeps.state.total, chosen, normalized, g.directed)
    total = _dependencies(simple(g, directed=True, both=True), chosen, config)
    return _scaled(total, chosen, normalized, g.directed)


def _dependencies(g: weft.Graph, sources: Array, config: weft.Config | None) -> Array:
    """Return the sums over the sources on a simple graph that stores both directions."""
    zeros = weft.full(0.0)
    state = g.state(level=weft.full(-1, np.int32), paths=zeros, share=zeros, total=zeros)
    scaled = None
    for source in sources.tolist():
        trail = search(g, state, source, config)
        tried = _bound(g, trail) <= MOST_PATHS or _most_steps(g) > SHORT_ROWS
        if tried and count_paths(g, state, source, trail, config):
            state.share = zeros
            g.replay(sweeps(keeps_at_once(g))[1], state, trail, config=config)
        else:
            scaled = scaled or ScaledSweeps(g, config)
            scaled.add_owed(source, state.level, trail)
    return state.total if scaled is None else state.total + scaled.state.total


def search(
    g: weft.Graph, state: weft.State, source: int, config: weft.Config | None = None
) -> Sequence[Array]:
    """Find the levels around a source; return them one after another."""
    state.level = weft.full(-1).but(source, 0)
    return g.iterate(reach, state, [source], trail=True, config=config).trail


def count_paths(
    g: weft.Graph,
    state: weft.State,
    source: int,
    trail: Sequence[Array],
    config: weft.Config | None = None,
) -> bool:
    """Count the shortest paths from a source, with their signs; return whether float64 suffices."""
    state.paths = weft.full(0.0).but(source, 1.0)
    g.replay(sweeps(keeps_at_once(g))[0], state, trail[:0:-1], config=config)
    return _bound(g, trail) <= MOST_PATHS or float(abs(state.paths).max()) <= 2.0**MOST_PATHS


def _most_steps(g: weft.Graph) -> int:
    """Return the maximum number of continuations that a path has at a vertex."""
    return min(int(g.out_degree.max()), int(g.in_degree.max()))


def _bound(g: weft.Graph, trail: Sequence[Array]) -> float:
    """Return an upper bound of all path counts, as a power of two."""
    return float((len(trail) - 1) * np.log2(max(_most_steps(g), 1)))


def _scaled(total: Array, sources: Array, normalized: bool, directed: bool) -> Array:
    """Scale sums over some sources to estimates over all, without the ends themselves."""
    n = total.size
    others = module_of(total).full(n, sources.size)  # sources other than the vertex itself
    others[move(sources, device_of(total))] -= 1
    if n <= 2:
        return total
    with np.errstate(invalid="ignore"):
        mean = total / others
    return mean / (n - 2) if normalized else mean * (n - 1) / (1 if directed else 2)
