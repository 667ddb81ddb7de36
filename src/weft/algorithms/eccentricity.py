"""Eccentricity of every vertex, and the diameter.

Method: in an undirected graph each search from a vertex s bounds the eccentricity ε of every vertex
v that it reaches, at distance d:

    max(d, ε(s) - d) <= ε(v) <= ε(s) + d.

Searches start alternately from the vertex with the largest upper and the one with the smallest
lower bound, until all bounds meet (for the diameter: until no upper bound exceeds the largest lower
one). Ten to a hundred searches suffice on most graphs, O(m) each. In a directed graph, 64 searches
at a time against the edges find for each vertex the last superstep in which one of them arrived.

F. Takes, W. Kosters: Determining the diameter of small world networks (CIKM 2011).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import weft
from weft.algorithms.bfs import NO_LEVEL, discover_level
from weft.algorithms.registry import BOTH, Fields, Needs, algorithm
from weft.algorithms.support.bit_sweeps import blocks, newcomers, sweep, sweep_state
from weft.arrays.checks import check_integer
from weft.arrays.reduce import any_true

Array = np.ndarray[Any, Any]

NEEDS = Needs(BOTH, Fields(lambda i, w: 32, lambda i, w: 8, lambda i, w: 8, own=48))


@weft.vertex
def note_last(v: Any) -> None:
    """Record the last superstep of any sweep in which a source reached v."""
    newcomers(v)
    v.last = weft.maximum(v.last, weft.cast(weft.superstep(), np.int32) + 1)


class _Bounds:
    """Bounds on the eccentricities of an undirected graph."""

    def __init__(self, g: weft.Graph, config: weft.Config | None) -> None:
        self.g, self.config, self.xp = g, config, g.topology.xp
        self.low = self.xp.zeros(g.num_vertices, np.int32)
        self.high = self.xp.full(g.num_vertices, g.num_vertices, np.int32)
        self.high[g.out_degree == 0] = 0
        self.degree = g.out_degree

    def open(self) -> Array:
        """Return the vertices whose bounds differ."""
        return self.xp.flatnonzero(self.low < self.high)

    def search(self, source: int) -> None:
        """Tighten the bounds by a search from one vertex."""
        xp, state = self.xp, self.g.state(level=NO_LEVEL.but(source, 0))
        self.g.iterate(discover_level, state, [source], config=self.config)
        level = state.level
        most = int(level.max())
        inside = level >= 0
        low = xp.maximum(self.low, xp.maximum(level, most - level))
        high = xp.minimum(self.high, level + most)
        self.low, self.high = xp.where(inside, low, self.low), xp.where(inside, high, self.high)
        self.low[source] = self.high[source] = most

    def extremes(self, candidates: Array) -> Iterator[int]:
        """Yield the candidate with the largest upper bound, then that with the smallest lower one.

        Among equals, the one with most edges comes first.
        """
        wide = self.degree[candidates].astype(np.float64) / (self.g.num_vertices + 1)
        yield int(candidates[int((self.high[candidates] + wide).argmax())])
        yield int(candidates[int((wide - self.low[candidates]).argmax())])


@algorithm(
    group="traversal",
    summary="the distance from each vertex to the farthest that it reaches",
    reference="F. Takes, W. Kosters: Determining the diameter of small world networks (CIKM 2011)",
    needs=NEEDS,
)
def eccentricity(g: weft.Graph, *, config: weft.Config | None = None) -> Array:
    """Return the largest number of edges on shortest paths from every vertex.

    Parameters
    ----------
    g
        A graph; in a directed one paths follow the edges. Weights are ignored.
    config
        How to run it.

    Returns
    -------
    ndarray of int32
        The distance to the farthest vertex among those that can be reached; 0 if there is none.

    Examples
    --------
    >>> import weft
    >>> weft.eccentricity(weft.generators.path(5)).tolist()
    [4, 3, 2, 3, 4]
    """
    if g.directed:
        state = sweep_state(g, last=weft.full(0, np.int32))
        back = g.reverse()
        for block in blocks(np.arange(g.num_vertices)):
            sweep(back, state, note_last, block, config)
        return state.last
    bounds = _Bounds(g, config)
    while (rest := bounds.open()).size:
        for source in bounds.extremes(rest):
            bounds.search(source)
    return bounds.low


@algorithm(
    group="traversal",
    summary="the largest distance between two connected vertices",
    reference="F. Takes, W. Kosters: Determining the diameter of small world networks (CIKM 2011)",
    needs=NEEDS,
)
def diameter(
    g: weft.Graph, searches: int | None = None, *, config: weft.Config | None = None
) -> int:
    """Return the largest number of edges on a shortest path between two vertices.

    Parameters
    ----------
    g
        A graph; in a directed one paths follow the edges. Pairs without a path do not count, so the
        result is the largest diameter of a component. Weights are ignored.
    searches
        The maximum number of breadth-first searches; the result is then a lower bound, often exact
        after a few. By default as many as needed.
    config
        How to run it.

    Returns
    -------
    int
        0 in a graph without edges.

    Raises
    ------
    ConfigError
        If `searches` is not a count from 1 on.

    Examples
    --------
    >>> import weft
    >>> weft.diameter(weft.generators.grid(3, 4))
    5
    >>> weft.diameter(weft.generators.grid(30, 40), searches=2)
    66
    """
    left = -1 if searches is None else check_integer("searches", searches, 1)
    if g.num_vertices == 0:
        return 0
    if g.directed:
        if left >= 0:
            return _by_sweeps(g, left, config)
        return int(eccentricity(g, config=config).max())
    bounds = _Bounds(g, config)
    while any_true(bounds.high > bounds.low.max()):
        candidates = bounds.xp.flatnonzero(bounds.high > bounds.low.max())
        for source in bounds.extremes(candidates):
            bounds.search(source)
            left -= 1
            if left == 0:
                return int(bounds.low.max())
    return int(bounds.low.max())


def _by_sweeps(g: weft.Graph, searches: int, config: weft.Config | None) -> int:
    """Return the largest distance found by alternating forward and backward searches.

    Each starts where the previous one ended.
    """
    ways, found = (g, g.reverse()), 0
    source = int(g.out_degree.argmax())
    for turn in range(searches):
        state = g.state(level=NO_LEVEL.but(source, 0))
        ways[turn % 2].iterate(discover_level, state, [source], config=config)
        source = int(state.level.argmax())
        found = max(found, int(state.level[source]))
    return found
