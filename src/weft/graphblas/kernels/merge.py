"""Sorted keys against sorted keys: look up, intersect, unite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.graphblas.storage.cast import cast, is_iso, take
from weft.graphblas.storage.matrix import MatrixStore
from weft.graphblas.storage.vector import VectorStore

Array = Any
Combine = Callable[[Array, Array], Array]


def locate(keys: Array, query: Array) -> tuple[Array, Array]:
    """Return the position of each element of `query` in ascending `keys`, and its presence."""
    if len(keys) == 0:
        return np.zeros(len(query), np.int64), np.zeros(len(query), np.bool_)
    at = keys.searchsorted(query)
    np.minimum(at, len(keys) - 1, out=at)
    return at, keys[at] == query


def same_keys(left: Array, right: Array) -> bool:
    """Return whether two ascending arrays of keys are equal."""
    return left is right or (
        len(left) == len(right)
        and (
            len(left) == 0
            or (left[0] == right[0] and left[-1] == right[-1] and bool((left == right).all()))
        )
    )


def intersect(left: Array, right: Array) -> tuple[Array, Array, Array]:
    """Return the common keys, and where they stand in `left` and in `right`."""
    if len(left) <= len(right):
        at, found = locate(right, left)
        mine = np.flatnonzero(found)
        return left[mine], mine, at[mine]
    at, found = locate(left, right)
    mine = np.flatnonzero(found)
    return right[mine], at[mine], mine


def unite(
    left: tuple[Array, Array],
    right: tuple[Array, Array],
    combine: Callable[[Array, Array], Array],
    np_type: np.dtype,
) -> tuple[Array, Array]:
    """Return the union of two lists of (ascending keys, values).

    Values under the same key are combined, the others are cast to `np_type`.
    """
    (keys1, values1), (keys2, values2) = left, right
    if same_keys(keys1, keys2):
        return keys1, combine(values1, values2)
    if len(keys2) == 0:
        return keys1, cast(values1, np_type)
    if len(keys1) == 0:
        return keys2, cast(values2, np_type)
    rank = keys1.searchsorted(keys2)
    at = np.minimum(rank, len(keys1) - 1)
    found = keys1[at] == keys2
    out1 = cast(values1, np_type)
    both = at[found]
    if len(both):
        combined = combine(take(values1, both), take(values2, found))
        out1 = out1.copy()
        out1[both] = combined
    alone = ~found
    extra = keys2[alone]
    if len(extra) == 0:
        return keys1, out1
    return weave(keys1, out1, extra, take(cast(values2, np_type), alone), rank[alone])


def weave(
    keys1: Array, values1: Array, keys2: Array, values2: Array, rank: Array | None = None
) -> tuple[Array, Array]:
    """Merge two lists without common keys; `rank` is where keys2 belong in keys1."""
    if len(keys2) == 0:
        return keys1, values1
    if len(keys1) == 0:
        return keys2, values2
    if rank is None:
        rank = keys1.searchsorted(keys2)
    total = len(keys1) + len(keys2)
    place = rank + np.arange(len(keys2))
    first = np.ones(total, np.bool_)
    first[place] = False
    keys = np.empty(total, np.int64)
    keys[place] = keys2
    keys[first] = keys1
    if is_iso(values1) and is_iso(values2) and values1[0] == values2[0]:
        return keys, np.broadcast_to(values1[:1], (total,))
    values = np.empty(total, values1.dtype)
    values[place] = values2
    values[first] = values1
    return keys, values


def comparable(stores: list[Any]) -> list[Array]:
    """Return keys for stores of one shape, such that equal places have equal keys.

    They are the stores' own ones, except for matrices so large that row and column do not fit 63
    bits together: their rows and columns are numbered among those that occur.
    """
    first = stores[0]
    if isinstance(first, VectorStore):
        return [each.indices for each in stores]
    if first.has_keys:
        return [each.keys for each in stores]
    return compressed_keys([(each.rows, each.cols) for each in stores])


def compressed_keys(places: list[tuple[Array, Array]]) -> list[Array]:
    """Return keys of (row, column) pairs whose numbers are too large to be multiplied."""
    rows = np.unique(np.concatenate([each[0] for each in places]))
    cols = np.unique(np.concatenate([each[1] for each in places]))
    return [
        np.searchsorted(rows, row) * np.int64(len(cols)) + np.searchsorted(cols, col)
        for row, col in places
    ]


def rebuilt(like: Any, stores: list[Any], keys: list[Array], out: tuple[Array, Array]) -> Any:
    """Return a store of the shape of `like` from merged keys of `comparable(stores)`."""
    out_keys, values = out
    if isinstance(like, VectorStore):
        return VectorStore(like.size, out_keys, values)
    if like.has_keys:
        return MatrixStore.from_keys(like.shape, out_keys, values)
    rows = np.empty(len(out_keys), np.int64)
    cols = np.empty(len(out_keys), np.int64)
    for store, its_keys in zip(stores, keys, strict=True):
        at, found = locate(its_keys, out_keys)
        rows[found], cols[found] = store.rows[at[found]], store.cols[at[found]]
    return MatrixStore(like.shape, cols, values, rows=rows)
