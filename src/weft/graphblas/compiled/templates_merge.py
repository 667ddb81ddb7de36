"""Kernels that merge two matrices row by row, as text for Numba; see `templates`.

`multiply` combines two values, `alone` and `other_alone` convert a value that stands alone. A
vector is a matrix of one row.
"""

from __future__ import annotations

from weft.graphblas.compiled.placeholders import alone, compiled, multiply, other_alone

# --- templates


@compiled
def unite(
    indptr, cols, values, step, right_indptr, right_cols, right_values, right_step,
    out_indptr, out_cols, out_values,
):  # fmt: skip
    """Write the union of two matrices; return how many values it has."""
    used = 0
    for i in range(len(indptr) - 1):
        a, a_end = indptr[i], indptr[i + 1]
        b, b_end = right_indptr[i], right_indptr[i + 1]
        while a < a_end and b < b_end:
            k, m = cols[a], right_cols[b]
            if k == m:
                out_cols[used] = k
                out_values[used] = multiply(values[a * step], right_values[b * right_step])
                a += 1
                b += 1
            elif k < m:
                out_cols[used] = k
                out_values[used] = alone(values[a * step])
                a += 1
            else:
                out_cols[used] = m
                out_values[used] = other_alone(right_values[b * right_step])
                b += 1
            used += 1
        for slot in range(a, a_end):
            out_cols[used] = cols[slot]
            out_values[used] = alone(values[slot * step])
            used += 1
        for slot in range(b, b_end):
            out_cols[used] = right_cols[slot]
            out_values[used] = other_alone(right_values[slot * right_step])
            used += 1
        out_indptr[i + 1] = used
    return used


@compiled
def intersect(
    indptr, cols, values, step, right_indptr, right_cols, right_values, right_step,
    out_indptr, out_cols, out_values,
):  # fmt: skip
    """Write the intersection of two matrices; return how many values it has."""
    used = 0
    for i in range(len(indptr) - 1):
        a, a_end = indptr[i], indptr[i + 1]
        b, b_end = right_indptr[i], right_indptr[i + 1]
        while a < a_end and b < b_end:
            k, m = cols[a], right_cols[b]
            if k == m:
                out_cols[used] = k
                out_values[used] = multiply(values[a * step], right_values[b * right_step])
                used += 1
            # Without branches: which side is smaller cannot be predicted.
            a += k <= m
            b += m <= k
        out_indptr[i + 1] = used
    return used


@compiled
def intersect_marked(
    indptr, cols, values, step, right_indptr, right_cols, right_values, right_step,
    out_indptr, out_cols, out_values, marks,
):  # fmt: skip
    """Write the intersection of two matrices; return how many values it has.

    `marks` holds for each column where the right matrix had it last, or -1: lookups do not wait for
    each other as the steps of a merge do.
    """
    used = 0
    for i in range(len(indptr) - 1):
        begin, end = indptr[i], indptr[i + 1]
        b, b_end = right_indptr[i], right_indptr[i + 1]
        if begin < end and b < b_end:
            for slot in range(b, b_end):
                marks[right_cols[slot]] = slot
            for slot in range(begin, end):
                j = cols[slot]
                other = marks[j]
                if other >= b:
                    out_cols[used] = j
                    out_values[used] = multiply(
                        values[slot * step], right_values[other * right_step]
                    )
                    used += 1
        out_indptr[i + 1] = used
    return used


@compiled
def unite_maps(x, x_there, y, y_there, out, there):
    """Write the union of two arrays with maps of what is present; nothing depends on a branch."""
    for i in range(len(x)):
        mine, theirs = x_there[i], y_there[i]
        both = multiply(x[i], y[i])
        lone = alone(x[i]) if mine else other_alone(y[i])
        out[i] = both if mine & theirs else lone
        there[i] = mine | theirs
