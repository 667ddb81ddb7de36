"""Rows of regular degrees that follow a change of the arcs.

Only vertices with other arcs than before have other rows: these are taken out of all pieces, cut
anew from the arcs that are there now, and put where they belong, so that the result is what cutting
all arcs would give. That moves an arc between pieces as a carry does when one is added to the
degree as a binary number. All other rows are copied as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.device_adjacency import offsets_of
from weft.formats.regular.rows import Piece, cut
from weft.merging import insert_values, remove_values, spread_ranges


def recut(
    pieces: Sequence[Piece], offsets: Any, targets: Any, vertices: Any, bits: int, xp: Any
) -> list[Piece]:
    """Return the pieces of an adjacency, given those from before some vertices' arcs changed.

    Parameters
    ----------
    pieces
        What `cut` gave before.
    offsets, targets
        The adjacency as it is now; there may be more vertices than before.
    vertices
        Those whose arcs are others now, each at least once.
    bits
        A cluster has 2**bits vertices.
    xp
        The module of all arrays.
    """
    changed = xp.zeros(int(offsets.size) - 1, np.bool_)
    changed[vertices] = True
    lengths = xp.where(changed, offsets[1:] - offsets[:-1], 0)
    rows = xp.flatnonzero(changed)
    slots, _ = spread_ranges(offsets[rows], offsets[rows + 1])
    fresh, _ = cut(offsets_of(lengths), targets[slots], bits, xp)
    return [_replaced(old, new, changed, xp) for old, new in zip(pieces, fresh, strict=True)]


def _replaced(old: Piece, new: Piece, changed: Any, xp: Any) -> Piece:
    """Return a piece with the rows of some vertices replaced; vertices keep rising."""
    gone = xp.flatnonzero(changed[old.vertices])
    if not gone.size and not new.rows:
        return old
    if gone.size == old.rows:
        return new
    vertices = remove_values(old.vertices, gone)
    targets = remove_values(old.targets.reshape(-1, 1 << old.code), gone)
    at = xp.searchsorted(vertices, new.vertices)
    vertices = insert_values(vertices, at, new.vertices)
    targets = insert_values(targets, at, new.targets.reshape(-1, 1 << old.code))
    return Piece(old.inside, old.code, vertices, targets.reshape(-1))
