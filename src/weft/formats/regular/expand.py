"""The expand list: which rows of regular degree a vertex has.

Of every vertex it holds one entry per row, rising: whether the row is between clusters, the code of
its degree and its number in its piece, packed into 32 bits (or 64 where a number needs more than
28).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from weft.errors import ConfigError
from weft.formats.regular.rows import Piece
from weft.topology.adjacency import count_keys
from weft.topology.adjacency_gpu import offsets_of

NUMBER_BITS: Final = 28  # of a row's number, in an entry of 32 bits
WIDE_BITS: Final = 60  # the same in one of 64 bits
_BETWEEN: Final = 8  # in a key: the arcs of the row lead to other clusters


def key_of(inside: bool, code: int) -> int:
    """Return the leading four bits of an entry."""
    return code if inside else _BETWEEN + code


def entry_dtype(rows: int) -> np.dtype[Any]:
    """Return the dtype of entries for pieces of at most so many rows."""
    return np.dtype(np.uint32 if rows <= 1 << NUMBER_BITS else np.uint64)


def number_bits(dtype: np.dtype[Any]) -> int:
    """Return how many bits of an entry are the number of the row."""
    return NUMBER_BITS if dtype.itemsize == 4 else WIDE_BITS


def expand_list(
    pieces: Sequence[Piece],
    n: int,
    xp: Any,
    *,
    dtype: np.dtype[Any] | None = None,
    firsts: Sequence[int] | None = None,
) -> tuple[Any, Any]:
    """Return the entries of all vertices, one after another, and where each vertex begins.

    Rows are numbered within their piece, from `firsts` on if these are given.

    Raises
    ------
    ConfigError
        If there are more rows than the vertices' dtype can count.
    """
    index = pieces[0].vertices.dtype
    total = sum(piece.rows for piece in pieces)
    if total > np.iinfo(index).max:
        raise ConfigError(
            f"the expand list would have {total} entries, more than {index} counts. Build the "
            "graph with index_dtype='int64', or choose the format 'cr2_bare'."
        )
    dtype = dtype or entry_dtype(max(piece.rows for piece in pieces))
    vertices = xp.concatenate([piece.vertices for piece in pieces])
    entries = xp.empty(total, dtype)
    at = 0
    for piece, number in zip(pieces, firsts or [0] * len(pieces), strict=True):
        first = (key_of(piece.inside, piece.code) << number_bits(dtype)) + number
        entries[at : at + piece.rows] = xp.arange(first, first + piece.rows, dtype=dtype)
        at += piece.rows
    # Keys rise from piece to piece, so that a stable sort leaves the entries of a vertex in order.
    order = xp.argsort(vertices, kind="stable")
    begins = offsets_of(count_keys(vertices, n)).astype(index)
    return entries[order], begins
