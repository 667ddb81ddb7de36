"""Products row by row in compiled kernels: sparse vectors, matrices by matrices, masked places."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from weft.arrays.threads import num_threads
from weft.backends.host_functions import is_loaded, load
from weft.errors import WeftError
from weft.graphblas.compiled import arena
from weft.graphblas.compiled.shares import even_stretches, on_threads, stretches
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
# The places of a product are read from a map of bits, not sorted, if one in so many is reached.
DENSE = 256
# The map of what a mask admits, where there is none.
NO_MASK = np.zeros(1, np.bool_)

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


def has_kernels(op: Any, left: np.dtype, right: np.dtype, flip: bool) -> bool:
    """Return whether the kernels of a semiring are compiled already, for values of two types."""
    return current["kernel"] != "numpy" and (op, left, right, flip) in _modules


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


def signed(array: Array) -> Array:
    """Return row or column numbers of a kernel as signed integers."""
    return array.view(np.int32 if array.dtype.itemsize == 4 else np.int64)


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
    if cols.dtype.itemsize == 8 and store.ncols <= 1 << 31:
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
    bits = arena.borrow("bits", -(-size // 64), np.uint64)
    how, admitted = 0, NO_MASK
    if mask is not None:
        how, admitted = (2 if mask.complement else 1), mask.named()
    places, values = np.empty(most + 1, np.int64), np.empty(most, np_type)
    try:
        count = module.push(
            *matrix_arrays(twin), vector.indices, *value_array(vector), found[:size],
            bits[: -(-size // 64)], admitted, how, DENSE, places, values,
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
    indptr, *entries = matrix_arrays(matrix)

    def part(begin: int, end: int) -> None:
        module.pull(indptr[begin : end + 1], *entries, given, found[begin:end])

    on_threads(part, stretches(indptr[1:]))
    return VectorStore.from_map(cast(found, op.return_type.np_type), matrix.filled()).settled()


def product(
    module: ModuleType,
    left: MatrixStore,
    right: MatrixStore,
    op: Any,
    mask: MaskView | None,
) -> MatrixStore:
    """Return the product of two matrices, row by row with an accumulator as long as a row."""
    if mask is not None and not mask.complement:
        return _inside(module, left, right, op, mask)
    shape, np_type = (left.nrows, right.ncols), op.monoid.type.np_type
    mine, theirs = matrix_arrays(left), matrix_arrays(right)
    ends = _bounds(module, left, right)
    mask_indptr, mask_cols = mine[:2]
    if mask is not None:
        mask_indptr, mask_cols = matrix_arrays(mask.entries())[:2]
    counts = np.empty(left.nrows, np.int64)
    place = np.uint32 if right.ncols <= 1 << 31 else np.uint64

    def part(begin: int, end: int) -> tuple[Array, Array]:
        room = int(ends[end - 1]) - (int(ends[begin - 1]) if begin else 0)
        out_cols, out_values = rooms.take(room, place, np_type)
        # Marks that earlier rows left differ from those of later ones.
        found = arena.borrow("row", right.ncols, np_type)
        marks = arena.borrow("marks", right.ncols, np.int64)
        stamps = arena.borrow("stamp", 1, np.int64)
        stamp = stamps[0]
        stamps[0] += 2 * (end - begin)
        used = module.multiply_rows(
            begin, end, *mine, *theirs, mask_indptr, mask_cols, mask is not None,
            marks, stamp, found[: right.ncols], out_cols, out_values, counts,
        )  # fmt: skip
        rooms.keep(used)
        return out_cols[:used], out_values[:used]

    with arena.Rooms() as rooms:
        parts = on_threads(part, stretches(ends, CHUNK))
        made = _joined(shape, parts, counts, op.return_type.np_type)
    made.masked_by = mask
    return made


def _bounds(module: ModuleType, left: MatrixStore, right: MatrixStore) -> Array:
    """Return how many values all rows of a product up to the end of each have at most."""
    limits = np.empty(left.nrows, np.int64)
    mine, theirs = matrix_arrays(left), matrix_arrays(right)
    module.bounds(mine[0], mine[1], theirs[0], right.ncols, limits)
    return limits.cumsum()


def _inside(
    module: ModuleType, left: MatrixStore, right: MatrixStore, op: Any, mask: MaskView
) -> MatrixStore:
    """Return the product at the places of a mask, whose rows are the accumulators."""
    np_type, entries = op.monoid.type.np_type, mask.entries()
    mine, theirs = matrix_arrays(left), matrix_arrays(right)
    named = matrix_arrays(entries)[:2]
    found, there = np.zeros(entries.nvals, np_type), np.zeros(entries.nvals, np.bool_)

    def part(begin: int, end: int) -> None:
        marks = arena.borrow("places", right.ncols, np.int32)
        module.multiply_inside(begin, end, *mine, *theirs, *named, marks, found, there)

    one = num_threads() == 1
    on_threads(part, [(0, left.nrows)] if one else stretches(_bounds(module, left, right)))
    return _at_places(entries, found, there, op, mask)


def _at_places(
    entries: MatrixStore, found: Array, there: Array, op: Any, mask: MaskView | None = None
) -> MatrixStore:
    """Return the matrix of the places of a mask where a product has a value."""
    made = entries.with_values(cast(found, op.return_type.np_type))
    if not there.all():
        made = made.picked(there)
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
    cols, values = pieces(parts, borrowed=True)
    if len(cols) == 0:
        return empty_matrix(shape, np_type)
    indptr = np.concatenate(([0], np.cumsum(counts)))
    return MatrixStore(shape, signed(cols), cast(values, np_type), indptr=indptr)


def pieces(parts: list[tuple[Array, Array]], borrowed: bool = False) -> tuple[Array, Array]:
    """Return columns and values of several stretches of rows as one; none holds much room.

    `borrowed` says that they stand in room that the next operation takes, too.
    """
    if len(parts) > 1:
        return np.concatenate([each for each, _ in parts]), np.concatenate([v for _, v in parts])
    cols, values = parts[0]
    if borrowed or (cols.base is not None and 2 * len(cols) < len(cols.base)):
        return cols.copy(), values.copy()
    return cols, values


def row_arrays(store: Any) -> tuple[Any, ...]:
    """Return row pointer, columns, values and their step; a vector is one row."""
    if isinstance(store, MatrixStore):
        return matrix_arrays(store)
    whole = np.array([0, store.nvals], np.int64)
    return (whole, unsigned(store.indices), *value_array(store))


def rows_of_parts(
    like: Any, bounds: list[tuple[int, int]], parts: list[tuple[Array, Array]], indptr: Array,
    borrowed: bool = False,
) -> Any:  # fmt: skip
    """Return a store of stretches of rows, each of which has its own row pointer in `indptr`."""
    done = 0
    for (begin, end), (cols, _) in zip(bounds, parts, strict=True):
        if done:
            indptr[begin + 1 : end + 1] += done
        done += len(cols)
    cols, values = pieces(parts, borrowed)
    cols = signed(cols)
    if isinstance(like, VectorStore):
        return VectorStore(like.size, cols, values)
    return MatrixStore(like.shape, cols, values, indptr=indptr)


def masked_dot(
    module: ModuleType, left: MatrixStore, right: MatrixStore, op: Any, entries: MatrixStore
) -> MatrixStore:
    """Return the product at the places of a mask: row of the left by row of the right's twin."""
    np_type = op.monoid.type.np_type
    found, there = np.zeros(entries.nvals, np_type), np.zeros(entries.nvals, np.bool_)
    mine, theirs = matrix_arrays(left), matrix_arrays(right.twin)
    rows, cols = entries.rows, matrix_arrays(entries)[1]

    def part(begin: int, end: int) -> None:
        at = slice(begin, end)
        module.dot(rows[at], cols[at], *mine, *theirs, found[at], there[at])

    steps = int(left.row_bounds(rows)[1].sum()) if num_threads() > 1 else 0
    mean = max(1, steps // max(1, entries.nvals))
    on_threads(part, even_stretches(entries.nvals, mean))
    return _at_places(entries, found, there, op)
