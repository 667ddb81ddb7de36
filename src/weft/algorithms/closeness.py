"""Closeness and harmonic centrality.

Method: breadth-first searches from 64 sources at a time, one bit each; a vertex adds up the
distances from the sources that reach it. For all sources that is O(n · m / 64) if searches overlap;
a sample of the sources gives an estimate.

A. Bavelas: Communication patterns in task-oriented groups (J. Acoustical Society of America 22,
1950). M. Marchiori, V. Latora: Harmony in the small-world (Physica A 285, 2000).
"""

from __future__ import annotations

from typing import Any

import numpy as np

import weft
from weft.algorithms.registry import BOTH, Fields, Needs, algorithm
from weft.algorithms.support.bit_sweeps import blocks, newcomers, sweep, sweep_state
from weft.algorithms.support.sources import check_sources
from weft.arrays.device import move
from weft.ir.ops import INT64

Array = np.ndarray[Any, Any]

NEEDS = Needs(BOTH, Fields(lambda i, w: 40, lambda i, w: 8, lambda i, w: 8, own=16))


@weft.vertex
def add_distances(v: Any) -> None:
    """Add the distances from the sources that have just reached v."""
    count = weft.cast(weft.popcount(newcomers(v)), INT64)
    v.reached = v.reached + count
    v.distance = v.distance + count * (weft.superstep() + 1)


@weft.vertex
def add_reciprocals(v: Any) -> None:
    """Add the reciprocals of the distances from the sources that have just reached v."""
    count = weft.cast(weft.popcount(newcomers(v)), np.float64)
    v.harmonic = v.harmonic + count / weft.cast(weft.superstep() + 1, np.float64)


@algorithm(
    group="centrality",
    summary="how near all other vertices are to each vertex",
    reference="A. Bavelas: Communication patterns in task-oriented groups (1950)",
    needs=NEEDS,
)
def closeness(
    g: weft.Graph,
    sources: Any = None,
    normalized: bool = True,
    *,
    seed: int = 0,
    config: weft.Config | None = None,
) -> Array:
    """Return the reciprocal of the mean distance to every vertex from those that reach it.

    Parameters
    ----------
    g
        A graph; in a directed one, distances are along paths to a vertex. For paths from it, pass
        ``g.reverse()``. Weights are ignored.
    sources
        The vertices that paths start from: all by default, a random sample for a number, or an
        array of vertices (labels, if the graph has them). The result is then an estimate.
    normalized
        Whether to multiply by the fraction of the other vertices that reach the vertex, so that
        vertices of small components do not rank first.
    seed
        Chooses the sample.
    config
        How to run it.

    Returns
    -------
    ndarray of float64
        0 where no other vertex reaches it.

    Raises
    ------
    GraphError
        If a source does not exist or the sample is larger than the graph.

    Examples
    --------
    >>> import weft
    >>> weft.closeness(weft.generators.path(3)).round(3).tolist()
    [0.667, 1.0, 0.667]
    """
    chosen = check_sources(g, sources, seed)
    state = sweep_state(g, reached=weft.full(0), distance=weft.full(0))
    for block in blocks(chosen):
        sweep(g, state, add_distances, block, config)
    found = state.reached / g.topology.xp.maximum(state.distance, 1)
    return found * (state.reached / _others(g, chosen)) if normalized else found


@algorithm(
    group="centrality",
    summary="the sum of reciprocal distances to each vertex",
    reference="M. Marchiori, V. Latora: Harmony in the small-world (2000)",
    needs=NEEDS,
)
def harmonic(
    g: weft.Graph, sources: Any = None, *, seed: int = 0, config: weft.Config | None = None
) -> Array:
    """Return the sum of the reciprocals of the distances to every vertex.

    Parameters
    ----------
    g
        A graph; in a directed one, distances are along paths to a vertex. Weights are ignored.
    sources
        The vertices that paths start from: all by default, a random sample for a number, or an
        array of vertices (labels, if the graph has them). The result is then scaled up to estimate
        that of all sources.
    seed
        Chooses the sample.
    config
        How to run it.

    Returns
    -------
    ndarray of float64
        A vertex that cannot be reached counts 0.

    Raises
    ------
    GraphError
        If a source does not exist or the sample is larger than the graph.

    Examples
    --------
    >>> import weft
    >>> weft.harmonic(weft.generators.path(3)).tolist()
    [1.5, 2.0, 1.5]
    """
    chosen = check_sources(g, sources, seed)
    state = sweep_state(g, harmonic=weft.full(0.0))
    for block in blocks(chosen):
        sweep(g, state, add_reciprocals, block, config)
    return state.harmonic * ((g.num_vertices - 1) / _others(g, chosen))


def _others(g: weft.Graph, sources: Array) -> Array:
    """Return the number of sources other than each vertex, at least 1."""
    others = g.topology.xp.full(g.num_vertices, float(sources.size))
    others[move(sources, g.topology.device)] -= 1
    return g.topology.xp.maximum(others, 1.0)
