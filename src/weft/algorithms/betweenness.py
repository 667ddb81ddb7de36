"""Betweenness centrality.

Method: for each source s, a breadth-first sweep counts the shortest paths σ(v) from s to every v;
a sweep back over its levels, last to first, sums what every vertex owes to the paths beyond it:

    share(v) = 1 / σ(v) + Σ share(w) over edges v -> w to the next level,
    betweenness(v) += σ(v) · share(v) - 1    for v other than s.

Path counts grow exponentially with the depth of the search. Where one exceeds `MOST_PATHS`, its
share is set to infinity, which reaches every vertex before it; a sum that is not finite then sends
all sources through `scaled_paths`, where counts have exponents of their own.

Where weights are the lengths of edges, the order is that of `shortest_dags`. O(n m) for all sources
without weights, O(n m log n) with them.

U. Brandes: A faster algorithm for betweenness centrality (J. Mathematical Sociology 25, 2001).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.algorithms.registry import BOTH, Fields, Needs, algorithm
from weft.algorithms.support.scaled_paths import scaled_dependencies
from weft.algorithms.support.shortest_dags import Sweeps
from weft.algorithms.support.simple import simple
from weft.algorithms.support.sources import check_sources
from weft.arrays.device import device_of, module_of, move
from weft.config import Config
from weft.engine.state import full
from weft.graph import Graph
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.ir.trace.proxies import send
from weft.program import edge, vertex

Array = np.ndarray[Any, Any]

MOST_PATHS = 2.0**1000  # a larger count may overflow further on, and its reciprocal underflow


@edge(into=("level", "paths"), reduce=(monoids.max, monoids.sum), accept=lambda v: v.level < 0)
def reach(u: Any, v: Any, e: Any) -> Any:
    """Put v on the next level and add up the shortest paths that lead to it."""
    return u.level + 1, u.paths


@vertex
def owe(v: Any) -> None:
    """Gather the shares of the next level."""
    beyond = v.gather(
        lambda u, e: send(u.share, when=u.level == v.level + 1), monoids.sum, direction="out"
    )
    v.share = fn.where(v.paths <= MOST_PATHS, 1 / v.paths, np.inf) + beyond
    v.total = v.total + fn.where(v.level > 0, v.paths * beyond, 0)


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
    g: Graph,
    sources: Any = None,
    normalized: bool = True,
    *,
    weighted: bool = False,
    seed: int = 0,
    config: Config | None = None,
) -> Array:
    """Return how many shortest paths between other vertices lead through each vertex.

    Parameters
    ----------
    g
        A graph; a directed one is searched along its edges. Self-loops are ignored, parallel edges
        count once.
    sources
        The vertices that paths start from: all by default; a number takes a sample of that size,
        an array of vertices (labels, if the graph has them) these. The result is then scaled up to
        estimate that of all.
    normalized
        Whether to divide by the number of pairs of other vertices, so that 1 is the most.
    weighted
        Whether weights are the lengths of edges; they must be finite and above 0.
    seed
        Chooses the sample.
    config
        How to run it.

    Returns
    -------
    ndarray of float64
        One value per vertex; ends of a path do not count. NaN at the source if it is the only one
        of a sample, since no path that could lead through it was looked at.

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
    total = _dependencies(_searched(g, chosen), chosen, config)
    if total is None:
        both = simple(g, directed=True, both=True)
        total = scaled_dependencies(both, chosen, config)
    return _scaled(total, chosen, normalized, g.directed)


def _searched(g: Graph, sources: Array) -> Graph:
    """Return a simple graph whose out-edges are stored, as both sweeps need them.

    Betweenness over all sources is the same with every edge reversed, which makes out-edges of
    stored in-edges. Paths from some sources are not the paths to them.
    """
    if g.topology.keep != "in":
        return simple(g, directed=True)
    if sources.size == g.num_vertices:
        return simple(g.reverse(), directed=True)
    return simple(g, directed=True, both=True)


def _dependencies(g: Graph, sources: Array, config: Config | None) -> Array | None:
    """Return the sums over the sources; None if there are too many paths to count in float64."""
    zeros = full(0.0)
    state = g.state(level=full(-1, np.int32), paths=zeros, share=zeros, total=zeros)
    for done, source in enumerate(sources.tolist(), 1):
        state.level, state.paths = full(-1).but(source, 0), full(0.0).but(source, 1.0)
        run = g.iterate(reach, state, [source], trail=True, config=config)
        g.replay(owe, state, run.trail, config=config)
        last = done == sources.size
        if (last or done & (done - 1) == 0) and not np.isfinite(float(state.total.sum())):
            return None
    return state.total


def _scaled(total: Array, sources: Array, normalized: bool, directed: bool) -> Array:
    """Return sums over some sources as estimates of those over all, without the ends themselves."""
    n = total.size
    others = module_of(total).full(n, sources.size)  # sources other than the vertex itself
    others[move(sources, device_of(total))] -= 1
    if n <= 2:
        return total
    with np.errstate(invalid="ignore"):
        mean = total / others
    return mean / (n - 2) if normalized else mean * (n - 1) / (1 if directed else 2)
