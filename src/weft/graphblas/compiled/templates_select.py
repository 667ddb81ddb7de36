"""Kernels that select entries, as text for Numba; see `templates`.

`keep` says of a value, its row, its column and a parameter whether it stays.
"""

from __future__ import annotations

import numpy as np

from weft.graphblas.compiled.placeholders import compiled, keep

# --- templates


@compiled
def select(begin, end, indptr, cols, values, step, thunk, out_indptr, out_cols, out_values):
    """Write the entries of a stretch of rows that stay; return how many there are.

    There is room for one more: which ones stay cannot be predicted, so all are written.
    """
    used = 0
    for i in range(begin, end):
        for slot in range(indptr[i], indptr[i + 1]):
            x, j = values[slot * step], cols[slot]
            out_cols[used] = j
            out_values[used] = x
            used += keep(x, i, np.int64(j), thunk)
        out_indptr[i + 1] = used
    return used
