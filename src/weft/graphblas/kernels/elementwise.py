"""Apply, select, element-wise union and intersection, and reductions."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.graphblas.gpu.entries import row_counts, selected
from weft.graphblas.kernels import positions as places
from weft.graphblas.kernels.merge import comparable, intersect, rebuilt, same_keys, unite
from weft.graphblas.options import current, is_compiled
from weft.graphblas.storage.cast import cast, iso, take
from weft.graphblas.storage.matrix import MatrixStore
from weft.graphblas.storage.vector import MOST_DENSE, VectorStore

Array = Any
# Values of both operands from which a merge is compiled.
WORTH_MERGING = 4096


def gpu() -> Any:
    """Return the operations on vectors that a device has."""
    from weft.graphblas.gpu import places as found

    return found


def _is_away(*stores: Any) -> bool:
    """Return whether vectors are combined on a device."""
    return (
        current["device"] != "cpu"
        and isinstance(stores[0], VectorStore)
        and bool(gpu().is_away(*stores))
    )


def _on_device(left: Any, right: Any, op: Any, *how: Any) -> Any:
    """Return two stores combined on a device; None where that is no place for it."""
    if current["device"] == "cpu":
        return None
    if _is_away(left, right):
        return gpu().attempt(gpu().combine, left, right, op, *how)
    from weft.graphblas.gpu import merging

    if merging.is_away(left, right):
        return gpu().attempt(merging.combine, left, right, op, *how)
    return None


def with_values(store: Any, values: Array) -> Any:
    """Return other values at the places of a store, in the order of its values."""
    if isinstance(store, VectorStore):
        if store.is_dense and store.is_full:
            return VectorStore.from_map(values, None)
        return VectorStore(store.size, store.indices, values)
    return store.with_values(values)


def apply_unary(store: Any, op: Any) -> Any:
    """Apply a unary operator to every value."""
    if op.parent.position is not None:
        return places.positions(store, op)
    if _is_away(store):
        found = gpu().attempt(gpu().apply, store, op)
        if found is not None:
            return found
    return with_values(store, op.evaluate(cast(store.values, op.type.np_type)))


def apply_bound(store: Any, op: Any, scalar: Any, scalar_is_left: bool) -> Any:
    """Apply a binary operator with one operand bound to a scalar."""
    if op.parent.position is not None:
        return places.positions(store, op)
    left, right = op.type.np_type, op.type2.np_type
    if _is_away(store):
        one = cast(np.asarray(scalar).reshape(1), left if scalar_is_left else right)
        found = gpu().attempt(gpu().apply_bound, store, op, one, scalar_is_left)
        if found is not None:
            return found
    if scalar_is_left:
        x, y = iso(scalar, store.nvals, left), cast(store.values, right)
    else:
        x, y = cast(store.values, left), iso(scalar, store.nvals, right)
    return with_values(store, op.evaluate(x, y))


def index_values(store: Any, op: Any, thunk: Any) -> Array:
    """Return an index-unary operator's results, in the order of the store's values."""
    values = store.values
    if op.parent.orig_func is None and not op.parent.is_positional:
        k = cast(np.asarray(thunk).reshape(1), op.type2.np_type)[0]
        with np.errstate(all="ignore"):
            found = op._raw(cast(values, op.type.np_type), None, None, k)
        return cast(found, op.return_type.np_type)
    if op.parent.is_positional:
        k = np.int64(thunk)
    else:
        k = iso(thunk, len(values), op.type2.np_type)
        values = cast(values, op.type.np_type)
    if isinstance(store, VectorStore):
        row = store.indices
        column = np.broadcast_to(np.zeros(1, np.int64), row.shape)
    else:
        row, column = store.rows, np.asarray(store.cols).astype(np.int64, copy=False)
    with np.errstate(all="ignore"):
        result = np.asarray(op._raw(values, row, column, k))
    return cast(np.broadcast_to(result, (len(values),)), op.return_type.np_type)


def apply_index(store: Any, op: Any, thunk: Any) -> Any:
    """Apply an index-unary operator to every value and its place."""
    if op.parent.name in {"index", "rowindex"} and _is_away(store):
        return gpu().positions(store, int(thunk), op.return_type.np_type)
    return with_values(store, index_values(store, op, thunk))


def chosen(store: Any, where: Array) -> Any:
    """Return the entries where a mask over the values holds."""
    if where.all():
        return store
    if isinstance(store, VectorStore):
        return VectorStore(store.size, store.indices[where], take(store.values, where))
    return store.picked(where)


def select_index(store: Any, op: Any, thunk: Any) -> Any:
    """Keep the entries for which an operator returns true."""
    if isinstance(store, MatrixStore) and store.is_away and op.parent.orig_func is None:
        found = selected(store, op.parent.name, thunk)
        if found is not None:
            return found
    if store.nvals >= WORTH_MERGING or is_compiled():
        from weft.graphblas.compiled.select import selected as from_kernel

        found = from_kernel(store, op, thunk)
        if found is not None:
            return found
    return chosen(store, index_values(store, op, thunk))


def ewise_mult(left: Any, right: Any, op: Any) -> Any:
    """Combine the values that both have."""
    if op.parent.position is not None:
        return places.combine(ewise_mult, left, right, op)
    found = _on_device(left, right, op, False)
    if found is not None:
        return found
    x_type, y_type = op.type.np_type, op.type2.np_type
    if isinstance(left, VectorStore) and left.is_full and right.is_full:
        values = op.evaluate(cast(left.dense, x_type), cast(right.dense, y_type))
        return VectorStore.from_map(values, None)
    if isinstance(left, VectorStore) and _maps(left, right):
        there = left.there() & right.there()
        x, y = cast(left.dense, x_type), cast(right.dense, y_type)
        return VectorStore.from_map(op.evaluate(x, y), there)
    if _many(left, right):
        found = merge_compiled(left, right, op, union=False)
        if found is not None:
            return found
    stores = [left, right]
    keys = comparable(stores)
    if same_keys(*keys):
        values = op.evaluate(cast(left.values, x_type), cast(right.values, y_type))
        return with_values(left, values)
    common, at1, at2 = intersect(*keys)
    x, y = take(left.values, at1), take(right.values, at2)
    values = op.evaluate(cast(x, x_type), cast(y, y_type))
    return rebuilt(left, stores, keys, (common, values))


def _many(left: Any, right: Any) -> bool:
    """Return whether two stores with different places are worth a compiled kernel."""
    if is_compiled():
        return True
    if left.nvals + right.nvals < WORTH_MERGING or left is right:
        return False
    return isinstance(left, VectorStore) or left.cols is not right.cols


def merge_compiled(left: Any, right: Any, op: Any, *, union: bool) -> Any:
    """Return the union or intersection from a compiled kernel; None where there is none."""
    from weft.graphblas.compiled.merge import merged

    return merged(left, right, op, union=union)


def _united_maps(left: VectorStore, right: VectorStore, op: Any) -> Any:
    """Return the union of two vectors from a compiled kernel; None where there is none."""
    if left.size < WORTH_MERGING and not is_compiled():
        return None
    from weft.graphblas.compiled.merge import united_maps

    return united_maps(left, right, op)


def _maps(left: VectorStore, right: VectorStore) -> bool:
    """Return whether two vectors are better combined place by place."""
    return 256 <= left.size <= MOST_DENSE and min(left.nvals, right.nvals) * 8 > left.size


def ewise_add(left: Any, right: Any, op: Any) -> Any:
    """Combine the values that both have; a lone value passes unchanged."""
    if op.parent.position is not None:
        return places.combine(ewise_add, left, right, op)
    found = _on_device(left, right, op, True)
    if found is not None:
        return found
    x_type, y_type, np_type = op.type.np_type, op.type2.np_type, op.return_type.np_type

    def combine(x: Array, y: Array) -> Array:
        return op.evaluate(cast(x, x_type), cast(y, y_type))

    if isinstance(left, VectorStore) and left.is_full and right.is_full:
        return VectorStore.from_map(combine(left.dense, right.dense), None)
    if isinstance(left, VectorStore) and _maps(left, right):
        united = _united_maps(left, right, op)
        if united is not None:
            return united
        mine, theirs = left.there(), right.there()
        both = np.flatnonzero(mine & theirs)
        dense: Array = np.where(mine, cast(left.dense, np_type), cast(right.dense, np_type))
        dense[both] = combine(take(left.dense, both), take(right.dense, both))
        return VectorStore.from_map(dense, mine | theirs)
    if _many(left, right):
        found = merge_compiled(left, right, op, union=True)
        if found is not None:
            return found
    stores = [left, right]
    keys = comparable(stores)
    out = unite((keys[0], left.values), (keys[1], right.values), combine, np_type)
    if out[0] is keys[0]:
        return with_values(left, out[1])
    return rebuilt(left, stores, keys, out)


def ewise_union(left: Any, right: Any, op: Any, defaults: tuple[Any, Any]) -> Any:
    """Combine the values of either; a default stands for the one that is missing."""
    if op.parent.position is not None:
        return places.combine(ewise_union, left, right, op, defaults)
    found = _on_device(left, right, op, True, defaults)
    if found is not None:
        return found
    stores = [left, right]
    keys = comparable(stores)
    positions1, positions2 = np.arange(len(keys[0])), np.arange(len(keys[1]))
    both: list[tuple[Array, Array]] = []

    def pair(x: Array, y: Array) -> Array:
        both.append((x, y))
        return x

    # The union of positions: the sign distinguishes those of the right from the left's.
    out_keys, where = unite((keys[0], positions1), (keys[1], ~positions2), pair, np.dtype(np.int64))
    x_type, y_type = op.type.np_type, op.type2.np_type
    x = np.full(len(out_keys), cast(np.asarray(defaults[0]).reshape(1), x_type)[0])
    y = np.full(len(out_keys), cast(np.asarray(defaults[1]).reshape(1), y_type)[0])
    mine = where >= 0
    x[mine] = cast(left.values, x_type)[where[mine]]
    y[~mine] = cast(right.values, y_type)[~where[~mine]]
    if both:
        at = np.searchsorted(out_keys, keys[0][both[0][0]])
        y[at] = cast(right.values, y_type)[~both[0][1]]
    return rebuilt(left, stores, keys, (out_keys, op.evaluate(x, y)))


def reduce_all(store: Any, op: Any) -> Any:
    """Reduce all values to one; None where there is none."""
    if store.nvals == 0:
        return None
    if _is_away(store) and store.np_type == op.type.np_type:
        values = gpu().attempt(gpu().reduce, store, op)
        if values is not None:
            return op.segments(values, np.zeros(1, np.int64))[0]
    if _reduces(store, op):
        from weft.graphblas.compiled.reduce import total

        found = total(store, op)
        if found is not None:
            return found
    values = cast(store.values, op.type.np_type)
    return op.segments(values, np.zeros(1, np.int64))[0]


def _reduces(store: Any, op: Any) -> bool:
    """Return whether a reduction is worth a compiled kernel."""
    return store.nvals >= WORTH_MERGING and op.parent.name in {"plus", "times"}


def row_starts(store: MatrixStore) -> tuple[Array, Array]:
    """Return the rows that have values, and where each begins."""
    if store._indptr is not None:
        begins = np.asarray(store._indptr)
        filled = np.flatnonzero(begins[1:] != begins[:-1])
        return filled, begins[filled]
    rows = store.rows
    if len(rows) == 0:
        return rows, np.empty(0, np.int64)
    starts = np.concatenate(([0], np.flatnonzero(rows[1:] != rows[:-1]) + 1))
    return rows[starts], starts


def reduce_rows(store: MatrixStore, op: Any) -> VectorStore:
    """Reduce every row to one value."""
    if _reduces(store, op):
        from weft.graphblas.compiled import reduce

        found = reduce.rows(store, op)
        if found is not None:
            return found
    rows, starts = row_starts(store)
    if len(starts) == 0:
        return VectorStore(store.nrows, rows, np.empty(0, op.return_type.np_type))
    return VectorStore(store.nrows, rows, op.segments(cast(store.values, op.type.np_type), starts))


def aggregate_rows(store: MatrixStore, aggregator: Any) -> VectorStore:
    """Aggregate every row to one value."""
    if aggregator.name == "count" and store.is_away:
        return row_counts(store)
    rows, starts = row_starts(store)
    found = aggregator.segments(store.values, starts, np.asarray(store.cols))
    return VectorStore(store.nrows, rows, found)


def aggregate_all(store: Any, aggregator: Any) -> Any:
    """Aggregate all values to one; None where there is none."""
    if store.nvals == 0:
        return None
    places_of = store.indices if isinstance(store, VectorStore) else None
    return aggregator.segments(store.values, np.zeros(1, np.int64), places_of)[0]
