"""Breadth-first searches from many sources.

Method: 64 searches share one sweep, one bit each; a vertex writes the level of the searches that
have just reached it. A sweep reads an edge once for all searches that cross it in the same
superstep: between O(m · k / 64) for k sources if searches overlap and O(m · k) if they never do.

M. Then et al.: The more the merrier: efficient multi-source graph traversal (VLDB 2014).
"""

from __future__ import annotations

from typing import Any

import numpy as np

import weft
from weft.algorithms.registry import BOTH, Fields, Needs, algorithm
from weft.algorithms.support.bit_sweeps import WIDTH, blocks, newcomers, sweep, sweep_state
from weft.algorithms.support.sources import check_each
from weft.arrays.device import move
from weft.ir.ops import UINT64

Array = np.ndarray[Any, Any]


@weft.vertex
def note_levels(v: Any, lane: Any) -> None:
    """Write the level of every search that has just reached v."""
    reached = (newcomers(v) >> lane) & weft.cast(1, UINT64)
    v.level = weft.where(reached != 0, weft.cast(weft.superstep(), np.int32) + 1, v.level)


@algorithm(
    group="traversal",
    summary="levels of breadth-first searches from many vertices",
    reference=(
        "M. Then et al.: The more the merrier: efficient multi-source graph traversal (VLDB 2014)"
    ),
    needs=Needs(BOTH, Fields(lambda i, w: 24 + 4 * WIDTH, lambda i, w: 8, lambda i, w: 8)),
)
def multi_source_bfs(g: weft.Graph, sources: Any, *, config: weft.Config | None = None) -> Array:
    """Return the level of every vertex in a breadth-first search from each source.

    Parameters
    ----------
    g
        A graph; a directed one is searched along its edges.
    sources
        The vertices to start from, by their labels if the graph has labels.
    config
        How to run it.

    Returns
    -------
    ndarray of int32
        A row per vertex and a column per source: the number of edges of a shortest path, -1 if
        there is none.

    Raises
    ------
    GraphError
        If a source does not exist.

    Examples
    --------
    >>> import weft
    >>> weft.multi_source_bfs(weft.generators.path(4), [0, 2]).tolist()
    [[0, 2], [1, 1], [2, 0], [3, 1]]
    """
    chosen, column = np.unique(check_each(g, sources), return_inverse=True)
    parts, xp = [], g.topology.xp
    lane = weft.parameter(np.arange(WIDTH, dtype=np.uint64))
    state = sweep_state(g, level=weft.full(-1, np.int32, WIDTH), lane=lane)
    for block in blocks(chosen):
        state.level = -1
        places = move(block, g.topology.device)
        state.level[places, xp.arange(block.size)] = 0
        sweep(g, state, note_levels, block, config)
        whole = block.size == chosen.size == WIDTH  # then no other block writes there
        parts.append(state.level if whole else state.level[:, : block.size].copy())
    levels = xp.concatenate(parts, axis=1) if len(parts) > 1 else parts[0]
    if np.array_equal(column.ravel(), np.arange(chosen.size)):
        return levels
    return levels[:, move(column.ravel(), g.topology.device)]
