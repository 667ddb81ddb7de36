"""Small dense linear systems for nopython code, in place in the memory of a thread.

Matrices lie row by row in one-dimensional arrays from a base on; all positions are uint64. A
matrix without an inverse raises the fault flag and gives zeros.
"""

from __future__ import annotations

import numpy as np

from weft.backends.cpu.host.lean_numba import inner
from weft.backends.cpu.runtime.barrier import fault
from weft.backends.cpu.runtime.loops import NOT_POSITIVE, ONE, SINGULAR


@inner(error_model="numpy")
def pivot_row(a, base, k, column):
    """Return the row of the largest element from the diagonal down; k if it is 0 or NaN."""
    row = column
    best = abs(a[base + column * k + column])
    for i in range(column + ONE, k):
        element = abs(a[base + i * k + column])
        if element > best or element != element:
            best = element
            row = i
    return row if best > 0 else k


@inner(error_model="numpy")
def swap_rows(a, base, width, first, second):
    """Exchange two rows of a matrix."""
    for j in range(width):
        i, k = base + first * width + j, base + second * width + j
        a[i], a[k] = a[k], a[i]


@inner(error_model="numpy")
def solve(a, base, x, start, k, ctl, function, vertex):
    """Replace the right side x by the solution of a x = b; `a` is destroyed.

    Gaussian elimination with partial pivoting, then substitution from the last row up.
    """
    for column in range(k):
        row = pivot_row(a, base, k, column)
        if row == k:
            fault(ctl, SINGULAR, function, vertex)
            for i in range(k):
                x[start + i] = 0
            return
        if row != column:
            swap_rows(a, base, k, row, column)
            swap_rows(x, start, ONE, row, column)
        top = base + column * k
        for i in range(column + ONE, k):
            factor = a[base + i * k + column] / a[top + column]
            for j in range(column + ONE, k):
                a[base + i * k + j] -= factor * a[top + j]
            x[start + i] -= factor * x[start + column]
    for step in range(k):
        i = k - ONE - step
        total = x[start + i]
        for j in range(i + ONE, k):
            total -= a[base + i * k + j] * x[start + j]
        x[start + i] = total / a[base + i * k + i]


@inner(error_model="numpy")
def solve_spd(a, base, x, start, k, ctl, function, vertex):
    """Solve with a symmetric positive definite matrix, of which the lower half is read.

    Cholesky's factor row by row: both operands of its inner products lie along memory.
    """
    for i in range(k):
        row = base + i * k
        for j in range(i + ONE):
            other = base + j * k
            total = a[row + j]
            for m in range(j):
                total -= a[row + m] * a[other + m]
            if j < i:
                a[row + j] = total / a[other + j]
            elif total > 0:
                a[row + i] = np.sqrt(total)
            else:
                fault(ctl, NOT_POSITIVE, function, vertex)
                for m in range(k):
                    x[start + m] = 0
                return
        total = x[start + i]
        for m in range(i):
            total -= a[row + m] * x[start + m]
        x[start + i] = total / a[row + i]
    for step in range(k):
        i = k - ONE - step
        row = base + i * k
        x[start + i] /= a[row + i]
        for m in range(i):
            x[start + m] -= a[row + m] * x[start + i]


@inner(error_model="numpy")
def invert(a, base, x, start, k, ctl, function, vertex):
    """Write the inverse of `a` to x; `a` is destroyed. Gauss-Jordan with partial pivoting."""
    for i in range(k):
        for j in range(k):
            x[start + i * k + j] = 1 if i == j else 0
    for column in range(k):
        row = pivot_row(a, base, k, column)
        if row == k:
            fault(ctl, SINGULAR, function, vertex)
            for i in range(k * k):
                x[start + i] = 0
            return
        if row != column:
            swap_rows(a, base, k, row, column)
            swap_rows(x, start, k, row, column)
        diagonal = a[base + column * k + column]
        for j in range(k):
            a[base + column * k + j] /= diagonal
            x[start + column * k + j] /= diagonal
        for i in range(k):
            if i != column:
                factor = a[base + i * k + column]
                for j in range(k):
                    a[base + i * k + j] -= factor * a[base + column * k + j]
                    x[start + i * k + j] -= factor * x[start + column * k + j]
