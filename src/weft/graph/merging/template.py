"""The merge of one share of two lists of rows, as text for Numba.

`both`, `one` and `other` stand for traced functions: of two matching values, and of one without a
counterpart.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def compiled(function: Any) -> Any:
    """Return a function as it is."""
    return function


def both(x: Any, y: Any) -> Any:
    """Return the result of two matching values."""
    return x + y


def one(x: Any) -> Any:
    """Return the result of an unmatched value of the left rows."""
    return x


def other(y: Any) -> Any:
    """Return the result of an unmatched value of the right rows."""
    return y


# --- templates


@compiled
def merge_share(
    left: Any, right: Any, begin: int, end: int, union: bool, ends: Any, out: Any
) -> tuple[Any, int, int]:
    """Merge the entries between two places of the merge path; return the number written.

    Also return the first finished row and the one after the last. `ends` gets their ends,
    counted from the first entry of the share.
    """
    left_offsets, left_cols, left_values = left
    right_offsets, right_cols, right_values = right
    out_cols, out_values = out
    rows = len(left_offsets) - 1
    low, high = 0, rows  # the first row that ends behind `begin`
    while low < high:
        middle = (low + high) >> 1
        if left_offsets[middle + 1] + right_offsets[middle + 1] <= begin:
            low = middle + 1
        else:
            high = middle
    row = first_row = low
    if row == rows:
        return 0, first_row, row
    # How many entries of the left row lie before the place; left ones come first among equals.
    a0, b0 = left_offsets[row], right_offsets[row]
    a_end, b_end = left_offsets[row + 1], right_offsets[row + 1]
    steps = begin - a0 - b0
    low, high = max(0, steps - (b_end - b0)), min(steps, a_end - a0)
    while low < high:
        middle = (low + high) >> 1
        if left_cols[a0 + middle] <= right_cols[b0 + steps - middle - 1]:
            low = middle + 1
        else:
            high = middle
    a, b = np.uint64(a0 + low), np.uint64(b0 + steps - low)
    if low > 0 and b < b_end and left_cols[a - np.uint64(1)] == right_cols[b]:
        b += np.uint64(1)  # its equal belongs to the share before
    used, step = np.uint64(0), np.uint64(1)
    while row < rows:
        row_end = left_offsets[row + 1] + right_offsets[row + 1]
        a_end, b_end = np.uint64(left_offsets[row + 1]), np.uint64(right_offsets[row + 1])
        stop = np.uint64(min(row_end, end))
        while a < a_end and b < b_end and a + b < stop:
            k, m = left_cols[a], right_cols[b]
            x, y = left_values[a], right_values[b]
            # Without branches: which side is smaller cannot be predicted.
            out_cols[used] = min(k, m)
            out_values[used] = both(x, y) if k == m else (one(x) if k < m else other(y))
            used += np.uint64((k == m) | union)
            a += np.uint64(k <= m)
            b += np.uint64(m <= k)
        if union:  # the rest of one side
            while a < a_end and a + b < stop:
                out_cols[used], out_values[used] = left_cols[a], one(left_values[a])
                a, used = a + step, used + step
            while b < b_end and a + b < stop:
                out_cols[used], out_values[used] = right_cols[b], other(right_values[b])
                b, used = b + step, used + step
        if row_end > end:
            break
        ends[row] = used
        a, b, row = a_end, b_end, row + 1
    return np.int64(used), first_row, row
