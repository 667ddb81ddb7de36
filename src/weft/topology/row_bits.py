"""The dense beginnings of rows as bits, for the intersection of rows word by word.

Where the vertices of high degree come first, the first targets of a long row lie close together. A
bit for each vertex from the first target on then takes less memory than a list, and 512 of them are
compared with another row's bits at once. The *head* of a row is the part of it that is worth that:
the slots for which the number of targets most exceeds the cost of the blocks that they span.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from weft.arrays.device import module_of
from weft.topology.adjacency import Adjacency, count_keys

Array: TypeAlias = NDArray[Any]

BLOCK_BITS: Final = 9
"""Bits of a block, as a power of two."""
BLOCK_WORDS: Final = (1 << BLOCK_BITS) // 64
FIELDS: Final = 4
"""Numbers kept for a row: where its bits lie, its first block, its blocks, the slots covered."""
BLOCK_COST: Final = 4  # looks at targets that take as long as a block
LEAST_GAIN: Final = 8  # looks that a head must save
AT_ONCE: Final = 1 << 22  # slots that are looked at together, which bounds the memory
LEAST_SHARE: Final = 0.25  # of all looks that heads must save


@dataclass(frozen=True, slots=True, eq=False)
class RowBits:
    """The heads of some rows as bits.

    Parameters
    ----------
    rows : ndarray of int64, shape (FIELDS * num_vertices,)
        For each row the block of `words` that its bits begin at, the first block of vertices that
        they stand for, the number of blocks, and the number of slots that they cover.
    words : ndarray of uint64
        Blocks of `BLOCK_WORDS` words.
    """

    rows: Array
    words: Array

    @property
    def nbytes(self) -> int:
        """Bytes held by both arrays."""
        return int(self.rows.nbytes + self.words.nbytes)


def row_bits(adjacency: Adjacency) -> RowBits | None:
    """Return the heads of rows as bits; None where they would save too little.

    What they save is estimated for one intersection per arc, by a walk along the row of its target.
    """
    offsets, targets = adjacency.offsets, adjacency.targets
    xp, n = module_of(targets), int(offsets.size) - 1
    degree = xp.diff(offsets)
    if not n or int(degree.max()) < LEAST_GAIN + BLOCK_COST:
        return None
    row = adjacency.rows()
    first = (targets[xp.minimum(offsets[:-1], targets.size - 1)] >> BLOCK_BITS).astype(np.int64)
    best = xp.zeros(n, np.uint64)
    for begin in range(0, targets.size, AT_ONCE):
        part = slice(begin, begin + AT_ONCE)
        place = xp.arange(begin, min(begin + AT_ONCE, targets.size), dtype=np.int64)
        place -= offsets[row[part]]
        gain = first[row[part]]
        gain -= targets[part] >> BLOCK_BITS
        gain *= BLOCK_COST
        gain += place
        gain += 1 - BLOCK_COST
        worth = xp.flatnonzero((gain >= LEAST_GAIN) & (place < 2**31))
        key = (gain[worth] << 32) | (place[worth] + 1)
        xp.maximum.at(best, row[part][worth], key.astype(np.uint64))
    saved = (best >> np.uint64(32)).astype(np.float64)
    visits = count_keys(targets, n)
    # In floating point, since the sums may exceed 64 bits.
    if float((visits * saved).sum()) < LEAST_SHARE * float(
        (visits * degree.astype(np.float64)).sum()
    ):
        return None
    covered = (best & np.uint64(2**32 - 1)).astype(np.int64)
    last = xp.maximum(offsets[:-1] + covered - 1, 0)
    blocks = xp.where(covered > 0, (targets[last] >> BLOCK_BITS) - first + 1, 0).astype(np.int64)
    start = xp.cumsum(blocks) - blocks
    words = xp.zeros(int(blocks.sum()) * BLOCK_WORDS, np.uint64)
    for begin in range(0, targets.size, AT_ONCE):
        slots = xp.arange(begin, min(begin + AT_ONCE, targets.size), dtype=np.int64)
        slots = slots[slots - offsets[row[slots]] < covered[row[slots]]]
        # Parallel arcs stand side by side: the first sets the bit.
        again = (slots > offsets[row[slots]]) & (
            targets[slots] == targets[xp.maximum(slots, 1) - 1]
        )
        slots = slots[~again]
        target = targets[slots].astype(np.int64)
        word = (start[row[slots]] - first[row[slots]]) * BLOCK_WORDS + (target >> 6)
        xp.add.at(words, word, np.uint64(1) << (target & 63).astype(np.uint64))
    return RowBits(xp.stack([start, first, blocks, covered], axis=1).reshape(-1), words)
