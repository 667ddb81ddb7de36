"""Products row by row in compiled kernels: sparse vectors, matrices by matrices, masked places."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from weft.backends.host_functions import is_loaded, load
from weft.errors import WeftError
from weft.graphblas.compiled import arena
from weft.graphblas.compiled.source import module_source
from weft.graphblas.kernels.masks import MaskView
from weft.graphblas.options import current, is_compiled
from weft.graphblas.storage.cast import cast, is_iso
from weft.graphblas.storage.matrix import MatrixStore, empty_matrix
from weft.graphblas.storage.vector import VectorStore

Array = Any

LABEL = "graphblas"
# Products after which compiling has cost less than doing without; fewer if the disk cache has it.
WORTH_COMPILING, WORTH_LOADING = 20_000_000, 200_000
# Values of a product that are made at a time.
CHUNK = 1 << 22
# Marks are read in order of places, not sorted, if one place in so many is touched.
DENSE = 8

_modules: dict[Any, Any] = {}
_texts: dict[Any, str | None] = {}
_spent: dict[Any, int] = {}
# Whether the disk cache had a module when its work first reached WORTH_LOADING.
_on_disk: dict[Any, bool] = {}


def loaded() -> int:
    """Return how many semirings have compiled kernels."""
    return len(_modules)


def kernels(op: Any, left: Any, right: Any, flip: bool, products: int) -> ModuleType | None:
    """Return the kernels of a semiring for values of two arrays; None where NumPy is better."""
    return module_of(module_source, (op, left.dtype, right.dtype, flip), products)


def module_of(source: Any, key: tuple[Any, ...], work: int) -> ModuleType | None:
    """Return the compiled module of ``source(*key)``; None where NumPy is better.

    Nothing is compiled before the work for a key has taken as long in NumPy as that would. The
    option ``kernel`` forces either way.
    """
    module = _modules.get(key)
    if module is not None and current["kernel"] != "numpy":
        return module
    if current["kernel"] == "numpy" or current["device"] != "cpu":
        return None
    if not is_compiled():
        spent = _spent[key] = _spent.get(key, 0) + work
        if spent < WORTH_LOADING:
            return None
    text = _text(source, key)
    if text is None:
        return None
    if not is_compiled() and spent < WORTH_COMPILING:
        if key not in _on_disk:
            _on_disk[key] = is_loaded(text, LABEL)
        if not _on_disk[key]:
            return None
    module = _modules[key] = load(text, LABEL)
    return module


def _text(source: Any, key: tuple[Any, ...]) -> str | None:
    """Return the text of a module; None where an operator cannot be traced."""
    if key not in _texts:
        try:
            _texts[key] = source(*key)
        except WeftError:
            _texts[key] = None
    return _texts[key]


def unsigned(array: Array) -> Array:
    """Return row or column numbers as unsigned integers."""
    array = np.ascontiguousarray(array)
    return array.view(np.uint32 if array.dtype.itemsize == 4 else np.uint64)


def value_array(store: Any) -> tuple[Array, int]:
    """Return values, and the step from one to the next: 0 where all are the same."""
    values = store.values
    if is_iso(values) and len(values):
        return np.ascontiguousarray(values[:1]), 0
    return np.ascontiguousarray(values), 1


def matrix_arrays(store: MatrixStore) -> tuple[Any, ...]:
    """Return row pointer, columns, values and their step."""
    if store._arrays is None:
        store._arrays = _arrays_of(store)
    return store._arrays


def _arrays_of(store: MatrixStore) -> tuple[Any, ...]:
    cols = np.asarray(store.cols)
    if cols.dtype.itemsize == 8 and store.ncols <= 1 << 32:
        cols = cols.astype(np.uint32)  # half of what a kernel reads of a row are columns
    return (np.asarray(store.indptr, np.int64), unsigned(cols), *value_array(store))


def push(
    module: ModuleType,
    twin: MatrixStore,
    vector: VectorStore,
    op: Any,
    mask: MaskView | None,
    products: int,
) -> VectorStore:
    """Return the product, every value of the vector spread along its column of the matrix.

    `twin` is the transposed matrix, `products` how many products there are at most.
    """
    size, np_type = twin.ncols, op.monoid.type.np_type
    most = min(size, products)
    found = arena.borrow("found", size, np_type)
    there = arena.borrow("there", size, np.bool_)
    how, admitted = 0, there
    if mask is not None:
        how, admitted = (2 if mask.complement else 1), mask.named()
    places, values = np.empty(most, np.int64), np.empty(most, np_type)
    try:
        count = module.push(
            *matrix_arrays(twin), vector.indices, *value_array(vector), found, there[:size],
            admitted, how, DENSE, places, values,
        )  # fmt: skip
    except BaseException:
        arena.drop()
        raise
    places, values = places[:count], values[:count]
    if 4 * count < most:
        places, values = places.copy(), values.copy()
    return VectorStore(size, places, cast(values, op.return_type.np_type))


def pull(module: ModuleType, matrix: MatrixStore, vector: VectorStore, op: Any) -> VectorStore:
    """Return the product with a vector that has all values, summed up along rows."""
    found = np.empty(matrix.nrows, op.monoid.type.np_type)
    given = np.ascontiguousarray(vector.dense)
    module.pull(*matrix_arrays(matrix), given, found)
    return VectorStore.from_map(cast(found, op.return_type.np_type), matrix.filled()).settled()


def product(
    module: ModuleType,
    left: MatrixStore,
    right: MatrixStore,
    op: Any,
    mask: MaskView | None,
) -> MatrixStore:
    """Return the product of two matrices, row by row with an accumulator as long as a row."""
    shape, np_type = (left.nrows, right.ncols), op.monoid.type.np_type
    mine, theirs = matrix_arrays(left), matrix_arrays(right)
    limits = np.empty(left.nrows, np.int64)
    module.bounds(mine[0], mine[1], theirs[0], right.ncols, limits)
    how, mask_indptr, mask_cols = 0, mine[0], mine[1]
    if mask is not None:
        entries = mask.entries()
        mask_indptr, mask_cols = matrix_arrays(entries)[:2]
        how = 2 if mask.complement else 1
        if how == 1:
            np.minimum(limits, np.diff(mask_indptr), out=limits)
    found = arena.borrow("row", right.ncols, np_type)
    marks = arena.borrow("marks", right.ncols, np.int64)
    marks[: right.ncols] = 0
    counts = np.empty(left.nrows, np.int64)
    ends = np.cumsum(limits)
    parts: list[tuple[Array, Array]] = []
    begin = stamp = 0
    while begin < left.nrows:
        done = int(ends[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, done + CHUNK, side="right")))
        # With a mask a row may touch as many places as the mask names before it is cut to them.
        room = int(ends[end - 1]) - done
        out_cols, out_values = np.empty(room, np.int64), np.empty(room, np_type)
        used = module.multiply_rows(
            begin, end, *mine, *theirs, mask_indptr, mask_cols, how,
            marks, stamp, found[: right.ncols], out_cols, out_values, counts,
        )  # fmt: skip
        stamp += 2 * (end - begin)
        parts.append((out_cols[:used], out_values[:used]))
        begin = end
    made = _joined(shape, parts, counts, op.return_type.np_type)
    made.masked_by = mask
    return made


def product_with_full(
    module: ModuleType, left: MatrixStore, right: MatrixStore, op: Any
) -> MatrixStore:
    """Return the product with a matrix that has all values: every row that has any is full."""
    shape, np_type = (left.nrows, right.ncols), op.monoid.type.np_type
    out = np.empty(shape, np_type)
    module.multiply_full(*matrix_arrays(left), *value_array(right), right.ncols, out)
    rows = np.flatnonzero(np.diff(left.indptr))
    if len(rows) < left.nrows:
        out = out[rows]
    indptr = np.zeros(left.nrows + 1, np.int64)
    np.cumsum(np.where(np.diff(left.indptr) > 0, right.ncols, 0), out=indptr[1:])
    cols = np.tile(np.arange(right.ncols), len(rows))
    return MatrixStore(shape, cols, cast(out.reshape(-1), op.return_type.np_type), indptr=indptr)


def _joined(
    shape: tuple[int, int], parts: list[tuple[Array, Array]], counts: Array, np_type: np.dtype
) -> MatrixStore:
    """Return the matrix of several stretches of rows."""
    total = sum(len(cols) for cols, _ in parts)
    if total == 0:
        return empty_matrix(shape, np_type)
    if len(parts) == 1:
        cols, values = parts[0]
        if 2 * total < len(cols.base if cols.base is not None else cols):
            cols, values = cols.copy(), values.copy()
    else:
        cols = np.concatenate([each for each, _ in parts])
        values = np.concatenate([each for _, each in parts])
    indptr = np.concatenate(([0], np.cumsum(counts)))
    return MatrixStore(shape, cols, cast(values, np_type), indptr=indptr)


def masked_dot(
    module: ModuleType, left: MatrixStore, right: MatrixStore, op: Any, entries: MatrixStore
) -> MatrixStore:
    """Return the product at the places of a mask: row of the left by row of the right's twin."""
    np_type = op.monoid.type.np_type
    found, there = np.zeros(entries.nvals, np_type), np.zeros(entries.nvals, np.bool_)
    module.dot(
        entries.rows,
        matrix_arrays(entries)[1],
        *matrix_arrays(left),
        *matrix_arrays(right.twin),
        found,
        there,
    )
    made = entries.with_values(cast(found, op.return_type.np_type))
    return made if there.all() else made.picked(there)
