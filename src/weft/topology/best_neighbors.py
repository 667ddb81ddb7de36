"""The neighbor of highest degree of every vertex.

In a graph of uneven degrees, a search reaches the vertices of high degree first. A vertex that
waits for any neighbor to be reached therefore finds one with its first look if that is at its
neighbor of highest degree: one access in place of the offsets of its row and a walk along it.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from weft.arrays.device import module_of
from weft.topology.adjacency import Adjacency

Array: TypeAlias = NDArray[Any]

NONE: Final = -1
"""What stands for the neighbor of a vertex that has none."""
MOST_VERTICES: Final = (1 << 32) - 1  # a length and an id share a word
LOWEST: Final = MOST_VERTICES
LONGEST: Final = (1 << 31) - 2
AT_ONCE: Final = 1 << 24  # slots that are looked at together, which bounds the memory


def best_neighbors(adjacency: Adjacency) -> Array:
    """Return the target with the longest row for each row; the smallest id among equals.

    Rows without targets have `NONE`. There must be at most `MOST_VERTICES` rows. A
    self-loop counts only where there is nothing else.

    Examples
    --------
    >>> import weft
    >>> from weft.topology.best_neighbors import best_neighbors
    >>> star = weft.Graph.from_edges([0, 0, 1], [1, 2, 2], num_vertices=5, directed=False)
    >>> more = star.add_edges([0], [3])
    >>> best_neighbors(more.topology.out).tolist()
    [1, 0, 0, 0, -1]
    """
    offsets, targets = adjacency.offsets, adjacency.targets
    xp, n = module_of(targets), int(offsets.size) - 1
    found = xp.full(n, NONE, targets.dtype)
    if not targets.size:
        return found
    lengths, rows = xp.diff(offsets), adjacency.rows()
    best = xp.zeros(n, np.uint64)  # length, and by how much the id is below the largest one
    for begin in range(0, int(targets.size), AT_ONCE):
        part, row = targets[begin : begin + AT_ONCE], rows[begin : begin + AT_ONCE]
        key = xp.minimum(lengths[part], LONGEST) + 1
        key *= part != row  # a vertex's look at itself is worth least
        key <<= 32
        key += LOWEST
        key -= part
        xp.maximum.at(best, row, key.astype(np.uint64))
    held = xp.flatnonzero(lengths)
    below = best[held] & np.uint64(LOWEST)
    found[held] = (np.uint64(LOWEST) - below).astype(targets.dtype)
    return found
