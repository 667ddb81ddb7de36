"""Insert arcs into sorted rows and remove them, in time linear in the vertices and arcs.

Only the batch is sorted: a binary search in its row finds the position of each new arc, and one
copy builds the new array. Functions accept NumPy and CuPy arrays and never modify their arguments.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

import numpy as np

from weft.arrays.device import is_device_array, module_of
from weft.topology import adjacency_gpu as device_adjacency
from weft.topology.adjacency import Adjacency, Array, count_keys, sort_arcs

Side: TypeAlias = Literal["left", "right"]

# From this size, a compiled search is worth importing Numba.
_COMPILED_SEARCH_PAIRS: Final = 1 << 15
_MOST_STRETCHES: Final = 1 << 13  # unchanged stretches to copy one by one, on the host


def insert_arcs(adjacency: Adjacency, rows: Array, targets: Array) -> Adjacency:
    """Return an adjacency with additional arcs, given in any order.

    Examples
    --------
    >>> one = Adjacency(np.array([0, 2, 2]), np.array([0, 1], np.int32))
    >>> insert_arcs(one, np.array([1, 0]), np.array([0, 1]))
    Adjacency(offsets=array([0, 3, 4]), targets=array([0, 1, 1, 0], dtype=int32))
    """
    if not rows.size:
        return adjacency
    rows, targets, _ = sorted_pairs(rows, targets, adjacency)
    at = slots_of(adjacency, rows, targets, "right")
    merged = insert_values(adjacency.targets, at, targets)
    return Adjacency(adjacency.offsets + _before(rows, adjacency.offsets), merged)


def remove_arcs(adjacency: Adjacency, rows: Array, targets: Array) -> Adjacency:
    """Return an adjacency without some arcs, given in any order; all of them must exist.

    A pair given twice stands for two parallel arcs.
    """
    if not rows.size:
        return adjacency
    xp = module_of(rows)
    rows, targets, _ = sorted_pairs(rows, targets, adjacency)
    first = slots_of(adjacency, rows, targets, "left")
    # Equal pairs found the same slot; they remove it, the next one, and so on.
    begins = xp.ones(first.size, np.bool_)
    begins[1:] = first[1:] != first[:-1]
    place = xp.arange(first.size, dtype=np.int64)
    run = xp.flatnonzero(begins)[xp.cumsum(begins) - 1]
    left = remove_values(adjacency.targets, first + place - run)
    return Adjacency(adjacency.offsets - _before(rows, adjacency.offsets), left)


def grown(adjacency: Adjacency, num_vertices: int, dtype: Any) -> Adjacency:
    """Return an adjacency with empty rows appended, and targets of another dtype."""
    offsets = adjacency.offsets
    xp, more = module_of(offsets), num_vertices + 1 - int(offsets.size)
    if more:
        offsets = xp.concatenate((offsets, xp.full(more, int(offsets[-1]), np.int64)))
    return Adjacency(offsets, adjacency.targets.astype(dtype, copy=False))


def sorted_pairs(rows: Array, targets: Array, adjacency: Adjacency) -> tuple[Array, Array, Array]:
    """Return pairs in slot order and in the dtype of an adjacency, with their input positions.

    The sort is stable, and takes time linear in the vertices and pairs.
    """
    dtype = adjacency.targets.dtype
    order = module_of(rows).arange(rows.size, dtype=np.int64)
    _, _, order = sort_arcs(rows, targets, int(adjacency.offsets.size) - 1, order)
    assert order is not None
    rows, targets = rows[order], targets[order]
    return rows.astype(dtype, copy=False), targets.astype(dtype, copy=False), order


def slots_of(adjacency: Adjacency, rows: Array, wanted: Array, side: Side) -> Array:
    """Return the first slot of each pair's row with target >= wanted, or > wanted.

    Parameters
    ----------
    adjacency : Adjacency
    rows, wanted : ndarray of int
        The sorted pairs; rows must exist.
    side : {"left", "right"}
        "left" finds the first slot of the pair, "right" the slot after its last one.
    """
    xp, targets = module_of(rows), adjacency.targets
    if rows.size >= _COMPILED_SEARCH_PAIRS and not is_device_array(rows):
        from weft.topology.row_search import search_rows

        return search_rows(adjacency.offsets, targets, rows, wanted, side == "right")
    low, high = adjacency.offsets[rows], adjacency.offsets[rows + 1]
    longest = int((high - low).max()) if rows.size else 0
    for _ in range(longest.bit_length()):
        open_ = low < high
        middle = (low + high) >> 1
        found = targets[xp.minimum(middle, targets.size - 1)]
        below = (found < wanted) if side == "left" else (found <= wanted)
        low = xp.where(open_ & below, middle + 1, low)
        high = xp.where(open_ & ~below, middle, high)
    return low


def insert_values(values: Array, at: Array, new: Array) -> Array:
    """Return an array with new entries inserted before the ascending positions `at`.

    Examples
    --------
    >>> insert_values(np.array([5, 6]), np.array([0, 1, 1]), np.array([1, 2, 3]))
    array([1, 5, 2, 3, 6])
    """
    xp = module_of(values)
    place = at + xp.arange(at.size, dtype=np.int64)
    merged = xp.empty((len(values) + len(new), *values.shape[1:]), values.dtype)
    is_old = xp.ones(len(merged), np.bool_)
    is_old[place] = False
    # CuPy cannot assign an array through a boolean mask.
    merged[xp.flatnonzero(is_old) if is_device_array(values) else is_old] = values
    merged[place] = new
    return merged


def remove_values(values: Array, at: Array) -> Array:
    """Return an array without the entries at some positions."""
    kept = module_of(values).ones(len(values), np.bool_)
    kept[at] = False
    return values[kept]


def replace_values(values: Array, gone: Array, at: Array, new: Array) -> Array:
    """Return an array with the entries `gone` removed and new ones inserted before `at`.

    Both are ascending positions; `at` refers to the remaining entries.

    Examples
    --------
    >>> replace_values(np.array([5, 6, 7, 8]), np.array([1, 2]), np.array([0, 1]), np.array([1, 2]))
    array([1, 5, 2, 8])
    """
    if is_device_array(values) or gone.size + at.size > _MOST_STRETCHES:
        return insert_values(remove_values(values, gone), at, new)
    # With few changes, copying the stretches between them is faster than using a mask.
    places = gone - np.arange(gone.size)  # positions of removals among the remaining entries
    cuts = np.unique(np.concatenate((places, at)))
    skipped, taken = (np.searchsorted(a, cuts, side="right").tolist() for a in (places, at))
    parts, begin, done = [], 0, 0
    for k, cut in enumerate(cuts.tolist()):
        parts += [values[begin : cut + (skipped[k - 1] if k else 0)], new[done : taken[k]]]
        begin, done = cut + skipped[k], taken[k]
    return np.concatenate([*parts, values[begin:]])


def spread_ranges(first: Array, last: Array) -> tuple[Array, Array]:
    """Return all positions of the ranges [first, last), and the range of each position."""
    xp = module_of(first)
    offsets = device_adjacency.offsets_of(last - first)
    count = int(offsets[-1])
    item = device_adjacency.row_of_slots(offsets, count, np.int64)
    return first[item] + xp.arange(count, dtype=np.int64) - offsets[item], item


def _before(rows: Array, offsets: Array) -> Array:
    """Return the number of the given rows before each row offset."""
    return device_adjacency.offsets_of(count_keys(rows, int(offsets.size) - 1))
