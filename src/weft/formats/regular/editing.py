"""Rows of regular degrees that follow a change of the arcs.

Only vertices with changed arcs have changed rows: these are removed from all pieces, cut again from
the current arcs, and inserted, so that the result equals cutting all arcs. That moves an arc
between pieces as a carry does when one is added to the degree as a binary number. All other rows
are copied as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.formats.regular.rows import Piece, cut
from weft.topology.adjacency_gpu import offsets_of
from weft.topology.merge import replace_values, spread_ranges


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
    rows = xp.unique(vertices).astype(pieces[0].vertices.dtype, copy=False)
    begins, ends = offsets[rows], offsets[rows + 1]
    slots, _ = spread_ranges(begins, ends)
    fresh, _ = cut(offsets_of(ends - begins), targets[slots], bits, xp, rows)
    return [_replaced(old, new, rows, xp) for old, new in zip(pieces, fresh, strict=True)]


def _replaced(old: Piece, new: Piece, changed: Any, xp: Any) -> Piece:
    """Return a piece with the rows of some vertices replaced; vertices keep rising."""
    gone, _ = spread_ranges(
        *(xp.searchsorted(old.vertices, changed, side=side) for side in ("left", "right"))
    )
    if not gone.size and not new.rows:
        return old
    if gone.size == old.rows:
        return new
    # Vertices that changed have no row left: where theirs were is where they belong.
    at = xp.searchsorted(old.vertices, new.vertices)
    at -= xp.searchsorted(gone, at)
    vertices = replace_values(old.vertices, gone, at, new.vertices)
    width = 1 << old.code
    targets = replace_values(
        old.targets.reshape(-1, width), gone, at, new.targets.reshape(-1, width)
    )
    return Piece(old.inside, old.code, vertices, targets.reshape(-1))
