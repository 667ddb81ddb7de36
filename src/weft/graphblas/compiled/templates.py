"""Kernels of sparse products, as text for Numba: `multiply` and `add` are those of a semiring.

The functions are ordinary Python. `weft.graphblas.compiled.rows` puts the traced operators and
Numba's decorator in front of them. Values of an array with a step of 0 are all the same. Numbers of
rows and columns come as unsigned integers, which Numba indexes with faster.
"""

from __future__ import annotations

import numpy as np

from weft.graphblas.compiled.placeholders import add, compiled, ctz, multiply

# --- templates


@compiled
def push(
    indptr, cols, values, step, where, given, given_step, found, bits, admitted, how, dense,
    places, out,
):  # fmt: skip
    """Spread values along rows; return how many places they reach, which come sorted.

    `how` says which columns count: 0 all, 1 those with `admitted`, 2 those without. `found` is as
    long as a row; `bits` has a bit for each of its places, none set, and none again at the end. All
    of them are looked through where more than one place in `dense` was reached. There is room for
    one place more than can be reached: whether one is new is no branch, as it cannot be predicted.
    """
    count = 0
    six, low, one = np.uint64(6), np.uint64(63), np.uint64(1)
    for k in range(len(where)):
        i = where[k]
        x = given[k * given_step]
        for slot in range(indptr[i], indptr[i + 1]):
            j = np.uint64(cols[slot])
            if how != 0 and admitted[j] != (how == 1):
                continue
            made = multiply(values[slot * step], x)
            word = bits[j >> six]
            seen = (word >> (j & low)) & one
            bits[j >> six] = word | (one << (j & low))
            both = add(found[j], made)
            found[j] = both if seen else made
            places[count] = j
            count += int(seen ^ one)
    if count * dense > len(found):
        count = 0
        for w in range(len(bits)):
            word = bits[w]
            bits[w] = 0
            while word:
                j = (np.uint64(w) << six) + np.uint64(ctz(word))
                word &= word - one
                places[count] = j
                out[count] = found[j]
                count += 1
        return count
    places[:count].sort()
    for k in range(count):
        j = np.uint64(places[k])
        out[k] = found[j]
        bits[j >> six] = 0
    return count


@compiled
def pull(indptr, cols, values, step, given, out):
    """Sum up rows with a value for every column, several sums at once: see `templates_reduce`."""
    by = np.uint64(step)
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    for i in range(len(indptr) - 1):
        at, end = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        if at == end:
            continue
        a = multiply(values[at * by], given[cols[at]])
        at += one
        if at + four <= end:
            b = multiply(values[at * by], given[cols[at]])
            c = multiply(values[(at + one) * by], given[cols[at + one]])
            d = multiply(values[(at + two) * by], given[cols[at + two]])
            at += three
            while at + four <= end:
                a = add(a, multiply(values[at * by], given[cols[at]]))
                b = add(b, multiply(values[(at + one) * by], given[cols[at + one]]))
                c = add(c, multiply(values[(at + two) * by], given[cols[at + two]]))
                d = add(d, multiply(values[(at + three) * by], given[cols[at + three]]))
                at += four
            a = add(add(a, b), add(c, d))
        while at < end:
            a = add(a, multiply(values[at * by], given[cols[at]]))
            at += one
        out[i] = a


@compiled
def bounds(indptr, cols, right_indptr, right_cols_count, limits):
    """Write for each row how many products it has at most, and how many values."""
    total = 0
    for i in range(len(indptr) - 1):
        products = 0
        for slot in range(indptr[i], indptr[i + 1]):
            k = cols[slot]
            products += right_indptr[k + 1] - right_indptr[k]
        total += products
        limits[i] = min(products, right_cols_count)
    return total


@compiled
def mark(cols, begin, end, marks, stamp):
    """Mark the columns of a row."""
    for slot in range(begin, end):
        marks[cols[slot]] = stamp


@compiled
def multiply_rows(
    begin, end, indptr, cols, values, step, right_indptr, right_cols, right_values, right_step,
    mask_indptr, mask_cols, outside, marks, stamp, found, out_cols, out_values, counts,
):  # fmt: skip
    """Multiply a stretch of rows; return how many values were made.

    `marks` holds the stamp of the row that last looked at a column, or one more where the column
    has a sum. With `outside`, places of the mask get none.
    """
    used = 0
    for i in range(begin, end):
        stamp += 2
        first = used
        low, high = np.int64(len(found)), np.int64(0)
        if outside:
            mark(mask_cols, mask_indptr[i], mask_indptr[i + 1], marks, stamp)
        for slot in range(indptr[i], indptr[i + 1]):
            k = cols[slot]
            x = values[slot * step]
            for other in range(right_indptr[k], right_indptr[k + 1]):
                j = right_cols[other]
                seen = marks[j]
                if seen == stamp + 1:
                    found[j] = add(found[j], multiply(x, right_values[other * right_step]))
                elif seen != stamp:
                    marks[j] = stamp + 1
                    found[j] = multiply(x, right_values[other * right_step])
                    out_cols[used] = j
                    low, high = min(low, np.int64(j)), max(high, np.int64(j))
                    used += 1
        if (used - first) * 24 > high - low:
            used = first
            for j in range(low, high + 1):
                if marks[j] == stamp + 1:
                    out_cols[used] = j
                    used += 1
        else:
            out_cols[first:used].sort()
        for place in range(first, used):
            out_values[place] = found[out_cols[place]]
        counts[i] = used - first
    return used


@compiled
def multiply_inside(
    begin, end, indptr, cols, values, step, right_indptr, right_cols, right_values, right_step,
    mask_indptr, mask_cols, marks, found, there,
):  # fmt: skip
    """Multiply a stretch of rows at the places of a mask; `found` and `there` are as long as it.

    `marks` holds for each column where the row of the mask has it, from 1 on; it is 0 everywhere,
    and is again at the end.
    """
    for i in range(begin, end):
        first, last = mask_indptr[i], mask_indptr[i + 1]
        if first == last or indptr[i] == indptr[i + 1]:
            continue
        for place in range(first, last):
            marks[mask_cols[place]] = place - first + 1
        for slot in range(indptr[i], indptr[i + 1]):
            k = cols[slot]
            x = values[slot * step]
            for other in range(right_indptr[k], right_indptr[k + 1]):
                at = marks[right_cols[other]]
                if at != 0:
                    place = first + at - 1
                    made = multiply(x, right_values[other * right_step])
                    found[place] = add(found[place], made) if there[place] else made
                    there[place] = True
        for place in range(first, last):
            marks[mask_cols[place]] = 0


@compiled
def dot(
    rows, mask_cols, indptr, cols, values, step, right_indptr, right_cols, right_values, right_step,
    found, there,
):  # fmt: skip
    """Multiply rows of the left with columns of the right at the places of a mask."""
    for place in range(len(rows)):
        i, j = rows[place], mask_cols[place]
        a, a_end = indptr[i], indptr[i + 1]
        b, b_end = right_indptr[j], right_indptr[j + 1]
        some = False
        total = found[place]
        while a < a_end and b < b_end:
            k, m = cols[a], right_cols[b]
            if k == m:
                made = multiply(values[a * step], right_values[b * right_step])
                total = add(total, made) if some else made
                some = True
            a += k <= m
            b += m <= k
        found[place] = total
        there[place] = some


@compiled
def multiply_full(indptr, cols, values, step, right_values, right_step, width, out):
    """Multiply with a matrix that has all values, `width` in a row, into rows of `out`."""
    for i in range(len(indptr) - 1):
        for slot in range(indptr[i], indptr[i + 1]):
            x = values[slot * step]
            begin = np.int64(cols[slot]) * width
            if slot == indptr[i]:
                for j in range(width):
                    out[i, j] = multiply(x, right_values[(begin + j) * right_step])
            else:
                for j in range(width):
                    out[i, j] = add(out[i, j], multiply(x, right_values[(begin + j) * right_step]))
