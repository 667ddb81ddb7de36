"""Adjacency in CSR form, with linear-time sorting, transposing, counting and mirroring.

CuPy arrays are passed on to `adjacency_gpu`; results are on the device of the arguments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from weft.arrays.device import is_device_array, module_of
from weft.arrays.reduce import equal_arrays
from weft.errors import GraphError
from weft.topology import adjacency_gpu as device_adjacency

Array: TypeAlias = NDArray[Any]

# From this size, a linear counting sort is worth importing scipy.sparse (0.1 s).
_COUNTING_SORT_ARCS: Final = 1 << 18
_INT32_LIMIT: Final = 1 << 31
_BLOCK: Final = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Adjacency:
    """The arcs of one direction, row by row.

    Parameters
    ----------
    offsets : ndarray of int64, shape (num_vertices + 1,)
        Row `r` owns the slots `offsets[r]` to `offsets[r + 1]`.
    targets : ndarray of int32 or int64, shape (num_arcs,)
        The vertex at the far end of each slot, ascending within a row.
    """

    offsets: Array
    targets: Array

    @property
    def nbytes(self) -> int:
        """Bytes held by both arrays."""
        return int(self.offsets.nbytes + self.targets.nbytes)

    def rows(self) -> Array:
        """Return the row that owns each slot, in the dtype of the targets."""
        if is_device_array(self.targets):
            return device_adjacency.row_of_slots(
                self.offsets, self.targets.size, self.targets.dtype
            )
        return self.spread(np.arange(self.offsets.size - 1, dtype=self.targets.dtype))

    def spread(self, values: Array) -> Array:
        """Return the value of the owning row for each slot."""
        if is_device_array(values):
            return values[self.rows()]
        return np.repeat(values, np.diff(self.offsets))


def paths_of_two(rows: Adjacency) -> Array:
    """Return how many paths of two arcs begin at each row."""
    xp, degrees = module_of(rows.targets), rows.offsets[1:] - rows.offsets[:-1]
    sums = xp.zeros(rows.targets.size + 1, np.int64)
    xp.cumsum(degrees[rows.targets], out=sums[1:])
    return sums[rows.offsets[1:]] - sums[rows.offsets[:-1]]


def index_dtype_for(num_vertices: int, requested: DTypeLike | None = None) -> np.dtype[Any]:
    """Return the dtype of vertex ids: int32 below 2**31 vertices, else int64.

    Parameters
    ----------
    num_vertices : int
        Number of vertices.
    requested : dtype, optional
        int32 or int64, to override the default.

    Raises
    ------
    GraphError
        If `requested` is another dtype, or too narrow.
    """
    if requested is None:
        return np.dtype(np.int32 if num_vertices < _INT32_LIMIT else np.int64)
    try:
        dtype = np.dtype(requested)
    except TypeError:
        dtype = np.dtype(object)
    if dtype not in (np.dtype(np.int32), np.dtype(np.int64)):
        raise GraphError(
            f"index_dtype={requested!r} cannot hold vertex ids. Expected int32 or int64; "
            "omit it to use the narrower one that fits."
        )
    if dtype.itemsize == 4 and num_vertices >= _INT32_LIMIT:
        raise GraphError(
            f"index_dtype=int32 is too narrow for {num_vertices} vertices. "
            "Expected fewer than 2**31; use int64 or omit it."
        )
    return dtype


def sort_arcs(
    row: Array, column: Array, num_vertices: int, payload: Array | None = None
) -> tuple[Array, Array, Array | None]:
    """Sort arcs by (row, column) in linear time, keeping equal arcs in input order.

    Parameters
    ----------
    row, column : ndarray of int
        The two ends of each arc, all in 0..num_vertices-1.
    num_vertices : int
        The number of rows.
    payload : ndarray, optional
        One number per arc, to be permuted with it.

    Returns
    -------
    offsets : ndarray of int64
        Start of each row, and the end of the last one.
    column, payload : ndarray
        The columns and the payload in sorted order, always as new arrays.
    """
    if is_device_array(row):
        return device_adjacency.sort_arcs(row, column, num_vertices, payload)
    if _in_order(row, column):
        carried = None if payload is None else payload.copy()
        return _offsets(count_keys(row, num_vertices)), column.copy(), carried
    if row.size < _COUNTING_SORT_ARCS:
        if num_vertices < _INT32_LIMIT:
            order = np.argsort(row.astype(np.int64) * num_vertices + column, kind="stable")
        else:
            order = np.lexsort((column, row))
        carried = None if payload is None else payload[order]
        return _offsets(count_keys(row, num_vertices)), column[order], carried

    # LSD radix sort: two stable groupings, by column and then by row.
    from scipy.sparse import coo_array

    data = np.zeros(row.size, np.int8) if payload is None else payload
    arcs = coo_array((data, (column, row)), shape=(num_vertices, num_vertices))
    arcs.has_canonical_format = True  # otherwise SciPy would sum parallel arcs
    by_row = arcs.tocsr().tocsc()
    carried = None if payload is None else by_row.data
    columns = by_row.indices.astype(column.dtype, copy=False)
    return by_row.indptr.astype(np.int64, copy=False), columns, carried


def transpose(adjacency: Adjacency, payload: Array | None) -> tuple[Adjacency, Array | None]:
    """Return the adjacency of the other direction, in linear time.

    Slots of the result are ordered by (old target, old row, old slot); `payload` (one number per
    slot) is permuted with them.
    """
    n = adjacency.offsets.size - 1
    targets = adjacency.targets
    if is_device_array(targets):
        turned_offsets, turned_targets, carried = device_adjacency.transpose(
            adjacency.offsets, targets, payload
        )
        return Adjacency(turned_offsets, turned_targets), carried
    if targets.size < _COUNTING_SORT_ARCS:
        order = np.argsort(targets, kind="stable")
        turned = Adjacency(_offsets(count_keys(targets, n)), adjacency.rows()[order])
        return turned, None if payload is None else payload[order]
    from scipy.sparse import csr_array

    data = np.zeros(targets.size, np.int8) if payload is None else payload
    matrix = csr_array((data, targets, adjacency.offsets), shape=(n, n)).tocsc()
    turned = Adjacency(
        matrix.indptr.astype(np.int64, copy=False),
        matrix.indices.astype(targets.dtype, copy=False),
    )
    return turned, None if payload is None else matrix.data


def fitting_dtype(count: int) -> np.dtype[Any]:
    """Return the narrower of int32 and int64 that can index `count` items."""
    return np.dtype(np.int32 if count < _INT32_LIMIT else np.int64)


def _in_order(row: Array, column: Array) -> bool:
    """Whether arcs are sorted by (row, column); stops at the first unsorted block."""
    for begin in range(0, row.size - 1, _BLOCK):
        here, there = slice(begin, begin + _BLOCK), slice(begin + 1, begin + _BLOCK + 1)
        r1 = row[there]
        r0, c1, c0 = row[here][: r1.size], column[there], column[here][: r1.size]
        if not np.all((r0 < r1) | ((r0 == r1) & (c0 <= c1))):
            return False
    return True


def count_keys(keys: Array, num_keys: int) -> Array:
    """Count the occurrences of each key, without an int64 copy of all keys."""
    if is_device_array(keys):
        return device_adjacency.count_keys(keys, num_keys)
    block = max(_BLOCK, num_keys)
    if keys.size <= block:
        return np.bincount(keys, minlength=num_keys)
    counts = np.zeros(num_keys, np.int64)
    for begin in range(0, keys.size, block):
        counts += np.bincount(keys[begin : begin + block], minlength=num_keys)
    return counts


def _offsets(counts: Array) -> Array:
    """Return the row offsets, given the row lengths."""
    offsets = np.zeros(counts.size + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def mirror(upper: Adjacency) -> Adjacency:
    """Add the opposite arc of every edge except self-loops.

    `upper` has each edge in the row of its lower end. A full row consists of the arcs to lower
    vertices followed by those to higher ones, so both parts are copied in order.
    """
    if is_device_array(upper.targets):
        return Adjacency(*device_adjacency.mirror(upper.offsets, upper.targets))
    strict = _strictly_upper(upper, upper.rows())
    lower, _ = transpose(strict, None)
    lengths = np.stack((np.diff(lower.offsets), np.diff(upper.offsets)), axis=1).ravel()
    is_upper = np.repeat(np.arange(lengths.size) % 2 == 1, lengths)
    targets = np.empty(is_upper.size, upper.targets.dtype)
    targets[is_upper] = upper.targets
    np.logical_not(is_upper, out=is_upper)
    targets[is_upper] = lower.targets
    return Adjacency(upper.offsets + lower.offsets, targets)


def spread_over_mirrored(mirrored: Adjacency, values: Array) -> Array:
    """Return the value of its edge for each arc; `values` are in the order of `mirror`'s input."""
    if is_device_array(values):
        return device_adjacency.spread_over_mirrored(mirrored.offsets, mirrored.targets, values)
    rows = mirrored.rows()
    is_lower = mirrored.targets < rows
    strict = _strictly_upper(mirrored, rows)
    slots = np.empty(mirrored.targets.size, values.dtype)
    slots[~is_lower] = values
    # Lower arcs are in the order of the transposed upper ones.
    is_strict = mirrored.targets > rows
    del rows
    _, carried = transpose(strict, slots[is_strict])
    assert carried is not None
    slots[is_lower] = carried
    return slots


def _strictly_upper(adjacency: Adjacency, rows: Array) -> Adjacency:
    """Return the arcs with target > row; `adjacency` itself if all are such arcs."""
    above = adjacency.targets > rows
    if above.all():
        return adjacency
    counts = count_keys(rows[above], adjacency.offsets.size - 1)
    return Adjacency(_offsets(counts), adjacency.targets[above])


def first_unpaired(left: Adjacency, right: Adjacency | None = None) -> tuple[int, int] | None:
    """Return a pair (row, target) that `left` contains more often than (target, row), or None.

    `right` is `left` transposed, if that exists already.
    """
    xp = module_of(left.targets)
    right = right or transpose(left, None)[0]
    if equal_arrays(left.offsets, right.offsets) and equal_arrays(left.targets, right.targets):
        return None
    rows, other_rows = left.rows(), right.rows()
    differs = (rows != other_rows) | (left.targets != right.targets)
    slot = int(xp.argmax(differs))
    pair = (int(rows[slot]), int(left.targets[slot]))
    other = (int(other_rows[slot]), int(right.targets[slot]))
    # Both lists are sorted, so the smaller pair is missing in the other list.
    return pair if pair < other else other[::-1]
