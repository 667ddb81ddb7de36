"""Kernels that reduce stretches of values, as text for Numba; see `templates`.

`add` is that of a monoid, whose values may be combined in any order: several sums are made at once,
since each addition waits for the one before. In a fold of all values the compiler sees to that.
"""

from __future__ import annotations

import numpy as np

from weft.graphblas.compiled.placeholders import add, compiled, in_any_order

# --- templates


@in_any_order
def fold(values):
    """Reduce values, of which there is one at least."""
    total = values[0]
    for at in range(1, len(values)):
        total = add(total, values[at])
    return total


@compiled
def fold_rows(indptr, values, out_rows, out_values):
    """Reduce every row that has values; return how many there are."""
    used = 0
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    for i in range(len(indptr) - 1):
        at, end = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        if at == end:
            continue
        a = values[at]
        at += one
        if at + four <= end:
            b, c, d = values[at], values[at + one], values[at + two]
            at += three
            while at + four <= end:
                a, b = add(a, values[at]), add(b, values[at + one])
                c, d = add(c, values[at + two]), add(d, values[at + three])
                at += four
            a = add(add(a, b), add(c, d))
        while at < end:
            a = add(a, values[at])
            at += one
        out_rows[used] = i
        out_values[used] = a
        used += 1
    return used
