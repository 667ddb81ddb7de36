"""The operations of `adjacency` for arrays on a GPU: sorts of packed keys, not counting sorts.

An arc (row, column) becomes one 64-bit key, `row << bits | column`, so that one radix sort orders
all arcs and a binary search finds the start of each row. Functions use the array module of their
arguments, restricted to what NumPy and CuPy share. At most five arrays of 8 bytes per arc exist at
a time, including the workspace of the sort.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.arrays.device import module_of
from weft.arrays.reduce import all_true

Array = Any

# With more vertices, two ids do not fit into one signed 64-bit key.
_PACKED_VERTICES = 1 << 31
# Keys counted per call: some releases of CuPy use 32-bit indices there.
_COUNTED_KEYS = 1 << 30


def sort_arcs(
    row: Array, column: Array, num_vertices: int, payload: Array | None = None
) -> tuple[Array, Array, Array | None]:
    """Sort arcs by (row, column), keeping equal arcs in input order; see `adjacency.sort_arcs`."""
    xp = module_of(row)
    if num_vertices > _PACKED_VERTICES:
        order = xp.argsort(column, kind="stable")
        order = order[xp.argsort(row[order], kind="stable")]
    else:
        keys = _pack(row, column, num_vertices)
        if all_true(keys[1:] >= keys[:-1]):
            return _row_starts(keys, num_vertices), column.copy(), _copied(payload)
        if payload is None:
            keys.sort()
            return _row_starts(keys, num_vertices), _low(keys, num_vertices, column.dtype), None
        # Sorted keys tell rows and columns: counting the rows takes as long as the sort where most
        # arcs leave a few vertices, since their counters are then updated one after another.
        order = xp.argsort(keys, kind="stable")
        keys = keys[order]
        carried = payload[order]
        del order
        return _row_starts(keys, num_vertices), _low(keys, num_vertices, column.dtype), carried
    carried = None if payload is None else payload[order]
    return offsets_of(count_keys(row, num_vertices)), column[order], carried


def transpose(
    offsets: Array, targets: Array, payload: Array | None
) -> tuple[Array, Array, Array | None]:
    """Return the offsets, targets and payload of the other direction; see `adjacency.transpose`."""
    xp, n = module_of(targets), int(offsets.size) - 1
    rows = row_of_slots(offsets, targets.size, targets.dtype)
    if payload is None and n <= _PACKED_VERTICES:
        keys = _pack(targets, rows, n)
        del rows
        keys.sort()
        return _row_starts(keys, n), _low(keys, n, targets.dtype), None
    order = xp.argsort(targets, kind="stable")
    carried = None if payload is None else payload[order]
    return offsets_of(count_keys(targets, n)), rows[order], carried


def mirror(offsets: Array, targets: Array) -> tuple[Array, Array]:
    """Add the opposite arc of every edge except self-loops; see `adjacency.mirror`."""
    xp, n = module_of(targets), int(offsets.size) - 1
    edges = int(targets.size)
    rows = row_of_slots(offsets, edges, targets.dtype)
    proper = xp.flatnonzero(rows != targets)
    lower, upper = rows[proper], targets[proper]
    del proper
    if n > _PACKED_VERTICES:
        both = sort_arcs(xp.concatenate((rows, upper)), xp.concatenate((targets, lower)), n)
        return both[:2]
    keys = xp.empty(edges + int(lower.size), np.int64)
    keys[:edges] = _pack(rows, targets, n)
    del rows
    keys[edges:] = _pack(upper, lower, n)
    del lower, upper
    keys.sort()
    return _row_starts(keys, n), _low(keys, n, targets.dtype)


def spread_over_mirrored(offsets: Array, targets: Array, values: Array) -> Array:
    """Return the value of its edge for each arc; see `adjacency.spread_over_mirrored`."""
    xp = module_of(targets)
    rows = row_of_slots(offsets, targets.size, targets.dtype)
    slots = xp.empty(targets.size, values.dtype)
    slots[xp.flatnonzero(targets >= rows)] = values
    # Lower arcs are in the order of the transposed upper ones.
    strict = xp.flatnonzero(targets > rows)
    order = strict[xp.argsort(targets[strict], kind="stable")]
    del strict
    slots[xp.flatnonzero(targets < rows)] = slots[order]
    return slots


def row_of_slots(offsets: Array, count: int, dtype: Any) -> Array:
    """Return the row of each of `count` slots, as a prefix sum of jumps at row starts."""
    xp = module_of(offsets)
    filled = xp.flatnonzero(offsets[1:] > offsets[:-1])
    jumps = filled.astype(dtype)
    jumps[1:] -= filled[:-1].astype(dtype)
    steps = xp.zeros(int(count), dtype)
    steps[offsets[filled]] = jumps
    return xp.cumsum(steps, dtype=dtype)


def count_keys(keys: Array, num_keys: int) -> Array:
    """Count the occurrences of each key, as int64.

    Uses atomic additions: CuPy's `bincount` allocates one histogram per resident block, hundreds of
    times the size of the result.
    """
    xp = module_of(keys)
    counts = xp.zeros(num_keys, np.int64)
    unsigned = counts.view(np.uint64)  # CuPy's add.at does not support int64
    for begin in range(0, keys.size, _COUNTED_KEYS):
        xp.add.at(unsigned, keys[begin : begin + _COUNTED_KEYS], 1)
    return counts


def sums_of_keys(keys: Array, values: Array, num_keys: int) -> Array:
    """Return the sum of the values of each key, as float64.

    CuPy's `bincount` first checks the keys with a reduction that takes seconds to compile.
    """
    xp = module_of(keys)
    if xp is np:
        return np.bincount(keys, weights=values, minlength=num_keys)
    sums = xp.zeros(num_keys, np.float64)
    for begin in range(0, keys.size, _COUNTED_KEYS):
        part = slice(begin, begin + _COUNTED_KEYS)
        xp.add.at(sums, keys[part], values[part])
    return sums


def greatest_of_keys(keys: Array, values: Array, num_keys: int) -> Array:
    """Return the largest value of each key, as uint64; 0 for a key without values."""
    xp = module_of(keys)
    most = xp.zeros(num_keys, np.uint64)
    for begin in range(0, keys.size, _COUNTED_KEYS):
        part = slice(begin, begin + _COUNTED_KEYS)
        xp.maximum.at(most, keys[part], values[part])
    return most


def offsets_of(counts: Array) -> Array:
    """Return the row offsets, given the row lengths."""
    xp = module_of(counts)
    offsets = xp.zeros(counts.size + 1, np.int64)
    offsets[1:] = xp.cumsum(counts, dtype=np.int64)
    return offsets


def reduce_runs(values: Array, starts: Array, combine: Callable[[Array, Array], Array]) -> Array:
    """Reduce each run that begins at `starts` by combining neighbours pairwise.

    Takes log2 of the longest run rounds, each over the runs that are not yet one value; the order
    of combination is fixed.
    """
    xp = module_of(values)
    result = values[starts]
    ends = xp.concatenate((starts[1:], xp.asarray([values.size], starts.dtype)))
    open_runs = xp.flatnonzero(ends - starts > 1)
    begin, end = starts[open_runs], ends[open_runs]
    while open_runs.size:
        halved = offsets_of((end - begin + 1) // 2)
        count = int(halved[-1])
        run = row_of_slots(halved, count, np.int64)
        left = begin[run] + 2 * (xp.arange(count, dtype=np.int64) - halved[run])
        pairs = xp.flatnonzero(left + 1 < end[run])
        del run
        folded = values[left]
        folded[pairs] = combine(folded[pairs], values[left[pairs] + 1])
        values, begin, end = folded, halved[:-1], halved[1:]
        done = end - begin == 1
        result[open_runs[done]] = values[begin[done]]
        open_runs, begin, end = (part[~done] for part in (open_runs, begin, end))
    return result


def _pack(row: Array, column: Array, num_vertices: int) -> Array:
    keys = row.astype(np.int64)
    keys <<= _bits(num_vertices)
    keys |= column
    return keys


def _low(keys: Array, num_vertices: int, dtype: Any) -> Array:
    """Return the columns of packed keys; overwrites the keys."""
    keys &= (1 << _bits(num_vertices)) - 1
    return keys.astype(dtype)


def _row_starts(keys: Array, num_vertices: int) -> Array:
    xp = module_of(keys)
    firsts = xp.arange(num_vertices + 1, dtype=np.int64)
    firsts <<= _bits(num_vertices)
    return xp.searchsorted(keys, firsts).astype(np.int64, copy=False)


def _bits(num_vertices: int) -> int:
    return max(num_vertices - 1, 1).bit_length()


def _copied(payload: Array | None) -> Array | None:
    return None if payload is None else payload.copy()
