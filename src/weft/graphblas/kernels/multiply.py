"""Products over semirings: matrix by vector and matrix by matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.graphblas.kernels.masks import MaskView
from weft.graphblas.kernels.merge import intersect, locate
from weft.graphblas.kernels.sums import adds_numbers, summed_product
from weft.graphblas.storage.cast import cast, take
from weft.graphblas.storage.matrix import MatrixStore, empty_matrix
from weft.graphblas.storage.vector import VectorStore, empty_vector

Array = Any

# Products that are expanded at a time.
CHUNK = 1 << 22
# So few products are all made, whatever a mask names.
FEW = 256
# Products from which SciPy's multiplication is worth its two passes.
WORTH_SCIPY = 1 << 14


def spans(starts: Array, lengths: Array) -> Array:
    """Return the positions of runs, one after another."""
    total = int(lengths.sum())
    if total == 0:
        return np.empty(0, np.int64)
    return np.arange(total) + (starts - lengths.cumsum() + lengths).repeat(lengths)


def run_starts(keys: Array) -> Array:
    """Return where runs of equal elements begin; there is at least one element."""
    is_first = np.empty(len(keys), np.bool_)
    is_first[0] = True
    np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
    return is_first.nonzero()[0]


def products(op: Any, a: Array, b: Array, flip: bool) -> Array:
    """Multiply values of the matrix with the vector's, exchanged with `flip`."""
    multiply = op.binaryop
    x, y = (b, a) if flip else (a, b)
    out = multiply.evaluate(cast(x, multiply.type.np_type), cast(y, multiply.type2.np_type))
    return cast(out, op.monoid.type.np_type)


def sorted_sums(keys: Array, values: Array, op: Any) -> tuple[Array, Array]:
    """Add up values of equal keys; keys may come in any order."""
    order = keys.argsort(kind="stable")
    keys, values = keys[order], take(values, order)
    starts = run_starts(keys)
    return keys[starts], op.monoid.segments(values, starts)


def pushed(
    twin: MatrixStore,
    vector: VectorStore,
    op: Any,
    flip: bool,
    mask: MaskView | None,
    bounds: tuple[Array, Array] | None = None,
) -> VectorStore:
    """Return the product: every value of the vector is spread along its column of the matrix.

    `twin` is the transposed matrix; `flip` exchanges the factors. `bounds` says where the columns
    of the vector's places begin, and how many values each has, if that is known.
    """
    nrows = twin.ncols
    starts, lengths = bounds or twin.row_bounds(vector.indices)
    at = spans(starts, lengths)
    rows = twin.cols[at].astype(np.int64, copy=False)
    b = take(vector.values, np.arange(vector.nvals).repeat(lengths))
    if mask is not None and len(rows):
        admitted = mask.admits(rows)
        if not admitted.all():
            at, rows, b = at[admitted], rows[admitted], take(b, admitted)
    if len(at) == 0:
        return empty_vector(nrows, op.return_type.np_type)
    out = products(op, take(twin.values, at), b, flip)
    made = VectorStore(nrows, *sorted_sums(rows, out, op))
    made.masked_by = mask
    return made


def pulled(
    matrix: MatrixStore, vector: VectorStore, op: Any, flip: bool, rows: Array | None
) -> VectorStore:
    """Return the product, summed up along rows: all of them, or those given."""
    if rows is None:
        row_of, cols, values = matrix.rows, matrix.cols, matrix.values
    else:
        starts, lengths = matrix.row_bounds(rows)
        at = spans(starts, lengths)
        row_of, cols, values = np.repeat(rows, lengths), matrix.cols[at], take(matrix.values, at)
    if not vector.is_full:
        there = vector.there()[cols]
        if not there.all():
            row_of, cols, values = row_of[there], cols[there], take(values, there)
    if len(cols) == 0:
        return empty_vector(matrix.nrows, op.return_type.np_type)
    out = products(op, values, take(vector.dense, cols), flip)
    starts = run_starts(row_of)
    return VectorStore(matrix.nrows, row_of[starts], op.monoid.segments(out, starts))


def inner(left: VectorStore, right: VectorStore, op: Any) -> Any:
    """Return the sum of the products of two vectors; None where they share no place."""
    both, at1, at2 = intersect(left.indices, right.indices)
    if len(both) == 0:
        return None
    out = products(op, take(left.values, at1), take(right.values, at2), False)
    return op.monoid.segments(out, np.zeros(1, np.int64))[0]


def outer(left: VectorStore, right: VectorStore, op: Any) -> MatrixStore:
    """Return the matrix of all products of two vectors' values."""
    count1, count2 = left.nvals, right.nvals
    at1 = np.repeat(np.arange(count1), count2)
    at2 = np.tile(np.arange(count2), count1)
    x = cast(take(left.values, at1), op.type.np_type)
    y = cast(take(right.values, at2), op.type2.np_type)
    return MatrixStore(
        (left.size, right.size),
        right.indices[at2],
        op.evaluate(x, y),
        rows=left.indices[at1],
    )


def matrix_matrix(
    left: MatrixStore,
    right: MatrixStore,
    op: Any,
    mask: MaskView | None,
    bounds: tuple[Array, Array, int] | None = None,
) -> MatrixStore:
    """Return the product of two matrices; places outside the mask may be left out.

    `bounds` says where the rows begin that the left values meet, how long they are, and how many
    products there are.
    """
    shape = left.nrows, right.ncols
    if left.nvals == 0 or right.nvals == 0:
        return empty_matrix(shape, op.return_type.np_type)
    if shape[0] * shape[1] >= 1 << 63:
        return _huge(left, right, op)
    if bounds is None:
        starts, lengths = right.row_bounds(np.asarray(left.cols))
        bounds = starts, lengths, int(lengths.sum())
    count = bounds[2]
    if mask is not None and not mask.complement:
        if count > FEW:
            entries = mask.entries()
            _, per_row = left.row_bounds(entries.rows)
            if int(per_row.sum()) * 2 < count:
                made = _dot(left, right, op, entries)
                made.masked_by = mask
                return made
    elif (count > WORTH_SCIPY and adds_numbers(op)) and not left.is_hyper and not right.is_hyper:
        return summed_product(left, right, op)
    made = _expand(left, right, op, mask, bounds)
    made.masked_by = mask
    return made


def _expand(
    left: MatrixStore,
    right: MatrixStore,
    op: Any,
    mask: MaskView | None,
    bounds: tuple[Array, Array, int],
) -> MatrixStore:
    """Multiply row by row: all products of a stretch of rows are made, sorted and added up."""
    starts, lengths, count = bounds
    shape = left.nrows, right.ncols
    rows = left.rows
    total = lengths.cumsum() if count > CHUNK else None
    found: list[tuple[Array, Array]] = []
    begin = 0
    while begin < left.nvals:
        if total is None:
            start, end = 0, left.nvals
            at = spans(starts, lengths)
            of = np.arange(end).repeat(lengths)
        else:
            start, end = begin, _row_end(rows, total, begin)
            at = spans(starts[start:end], lengths[start:end])
            of = np.arange(start, end).repeat(lengths[start:end])
        begin = end
        if len(at) == 0:
            continue
        keys = rows[of] * np.int64(shape[1]) + right.cols[at]
        if mask is not None:
            admitted = mask.admits(keys)
            keys, at, of = keys[admitted], at[admitted], of[admitted]
            if len(keys) == 0:
                continue
        out = products(op, take(left.values, of), take(right.values, at), False)
        found.append(sorted_sums(keys, out, op))
    if not found:
        return empty_matrix(shape, op.return_type.np_type)
    if len(found) == 1:
        return MatrixStore.from_keys(shape, *found[0])
    return MatrixStore.from_keys(
        shape, np.concatenate([k for k, _ in found]), np.concatenate([v for _, v in found])
    )


def _row_end(rows: Array, total: Array, begin: int) -> int:
    """Return the end of a range of whole rows whose products fit one chunk."""
    used = int(total[begin - 1]) if begin else 0
    end = int(total.searchsorted(used + CHUNK, side="right"))
    if end >= len(rows):
        return len(rows)
    whole = int(np.searchsorted(rows, rows[end]))
    return whole if whole > begin else int(np.searchsorted(rows, rows[end], side="right"))


def _dot(left: MatrixStore, right: MatrixStore, op: Any, entries: MatrixStore) -> MatrixStore:
    """Compute the masked places alone: row of the left by column of the right."""
    rows, cols = entries.rows, np.asarray(entries.cols).astype(np.int64, copy=False)
    starts, lengths = left.row_bounds(rows)
    at = spans(starts, lengths)
    of = np.arange(len(rows)).repeat(lengths)
    keys = left.cols[at] * np.int64(right.ncols) + cols[of]
    place, found = locate(right.keys, keys)
    at, of, place = at[found], of[found], place[found]
    shape = left.nrows, right.ncols
    if len(at) == 0:
        return empty_matrix(shape, op.return_type.np_type)
    out = products(op, take(left.values, at), take(right.values, place), False)
    begins = run_starts(of)
    which = of[begins]
    return MatrixStore(shape, cols[which], op.monoid.segments(out, begins), rows=rows[which])


def _huge(left: MatrixStore, right: MatrixStore, op: Any) -> MatrixStore:
    """Multiply matrices of huge dimensions with the rows and columns that have values."""
    rows, row_at = np.unique(left.rows, return_inverse=True)
    middle = np.unique(np.concatenate([left.cols, right.rows]))
    cols, col_at = np.unique(np.asarray(right.cols), return_inverse=True)
    small = matrix_matrix(
        MatrixStore(
            (len(rows), len(middle)),
            np.searchsorted(middle, left.cols),
            left.values,
            rows=row_at,
        ),
        MatrixStore(
            (len(middle), len(cols)),
            col_at,
            right.values,
            rows=np.searchsorted(middle, right.rows),
        ),
        op,
        None,
    )
    return MatrixStore(
        (left.nrows, right.ncols), cols[small.cols], small.values, rows=rows[small.rows]
    )


def kronecker(left: MatrixStore, right: MatrixStore, op: Any) -> MatrixStore:
    """Return the Kronecker product."""
    shape = left.nrows * right.nrows, left.ncols * right.ncols
    count1, count2 = left.nvals, right.nvals
    at1 = np.repeat(np.arange(count1), count2)
    at2 = np.tile(np.arange(count2), count1)
    rows = left.rows[at1] * np.int64(right.nrows) + right.rows[at2]
    cols = left.cols[at1] * np.int64(right.ncols) + right.cols[at2]
    x = cast(take(left.values, at1), op.type.np_type)
    y = cast(take(right.values, at2), op.type2.np_type)
    values = op.evaluate(x, y)
    order = np.lexsort((cols, rows))
    return MatrixStore(shape, cols[order], take(values, order), rows=rows[order])
