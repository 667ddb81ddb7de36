"""Rows of one width per slice: those of 32 consecutive vertices, say, lie column by column.

(SELL-C: M. Kreutzer, G. Hager, G. Wellein, H. Fehske, A. R. Bishop, A unified sparse matrix data
format for efficient general sparse matrix-vector multiplication on processors with wide SIMD units,
2014. Sorting the vertices by degree, its sigma, is `reorder="degree"` here.)
"""

from __future__ import annotations

from typing import Any

from weft.errors import ConfigError
from weft.formats.base import Array, Kind, Part
from weft.topology.adjacency_gpu import row_of_slots

WIDEST = 254  # a byte counts one more, which says that there is a rest
FIRST = "np.uint64({offsets}[{r} >> {bits}])"
WIDTH = f"((np.uint64({{offsets}}[({{r}} >> {{bits}}) + ONE]) - {FIRST}) >> {{bits}})"
INSIDE = "({r} & ((ONE << {bits}) - ONE))"
BEGIN = f"{FIRST} + {INSIDE} * {WIDTH}"
SLICED = Kind(
    "SlicedEll",
    (Array("targets"), Array("lengths", "uint8"), Array("offsets", "int64"), Array("slices")),
    ("bits",),
    wholes=True,
    loops=(
        ("begin", BEGIN),
        ("end", f"{BEGIN} + min(np.uint64({{lengths}}[{{r}}]), {WIDTH})"),
        ("place", f"{FIRST} + (({{s}} - ({BEGIN})) << {{bits}}) + {INSIDE}"),
        ("target", "{targets}[{p}]"),
    ),
)


def widths_of(degrees: Any, rows: int, most: int, row_words: int, xp: Any) -> Any:
    """Return the width of each slice at which its rows and their rest cost least.

    Parameters
    ----------
    degrees
        The arcs of each vertex.
    rows
        Rows of a slice.
    most
        The largest width; 0 leaves the choice to the costs, and others take the longest row where
        it is not longer.
    row_words
        What a row of the rest costs beside its arcs.
    xp
        The module of `degrees`.

    Examples
    --------
    >>> import numpy as np
    >>> widths_of(np.array([3, 1, 2, 3, 9, 0, 1, 1, 0]), 4, 0, 4, np).tolist()
    [3, 1, 0]
    >>> widths_of(np.array([3, 1, 2, 3, 9, 0, 1, 1, 0]), 4, 2, 4, np).tolist()
    [2, 2, 0]
    """
    slices = -(-int(degrees.size) // rows)
    padded = xp.zeros(slices * rows, xp.int64)
    padded[: degrees.size] = degrees
    falling = -xp.sort(-padded.reshape(slices, rows), axis=1)
    if most:
        return xp.minimum(falling[:, 0], most)
    sums = xp.cumsum(falling, axis=1)
    best = xp.zeros(slices, xp.int64)  # of width 0: everything is in the rest
    words = sums[:, -1] + row_words * xp.count_nonzero(falling, axis=1)
    for k in range(rows):
        width = xp.minimum(falling[:, k], WIDEST)
        longer = xp.count_nonzero(falling > width[:, None], axis=1)
        over = xp.where(longer > 0, sums[xp.arange(slices), xp.maximum(longer - 1, 0)], 0)
        cost = rows * width + over + longer * (row_words - width)
        better = cost <= words
        best, words = xp.where(better, width, best), xp.where(better, cost, words)
    return best


def sliced_part(
    degrees: Any, rows: int, widths: Any, xp: Any, dtype: Any
) -> tuple[Part, Any, Any, int]:
    """Return a part without its arcs, and how they are laid out.

    Returns
    -------
    part
        The part.
    first, width
        Of each row its first place, the next being `rows` places on, and how many it has.
    total
        The number of places.
    """
    n = int(degrees.size)
    bits = rows.bit_length() - 1
    offsets = xp.zeros(widths.size + 1, xp.int64)
    offsets[1:] = xp.cumsum(widths * rows)
    total = int(offsets[-1])
    row = xp.arange(n, dtype=xp.int64)
    width = widths[row >> bits] if n else xp.zeros(0, xp.int64)
    first = offsets[row >> bits] + (row & (rows - 1)) if n else width
    lengths = xp.minimum(degrees, width + 1).astype(xp.uint8)
    # The last slice may have places for rows that are not there; they come last, as slots too.
    missing = (widths.size * rows - n) * int(widths[-1]) if n else 0
    slices = row_of_slots(offsets >> bits, total >> bits, dtype)
    arrays = {"lengths": lengths, "offsets": offsets, "slices": slices}
    return Part(n, total - missing, arrays, {"bits": bits}), first, width, total


def check_rows(rows: int) -> None:
    """Raise unless a slice has a power of two of rows.

    Raises
    ------
    ConfigError
        With the nearest one.
    """
    if rows & (rows - 1):
        near = 1 << (rows.bit_length() - 1)
        raise ConfigError(
            f"format='ell(slice={rows})' is not possible: a slice has a power of two of rows. Use "
            f"slice={near}, or slice=32 for a warp's."
        )
