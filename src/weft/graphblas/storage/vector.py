"""The values of a vector: a sorted list, or an array with a map of what is present."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.arrays.device import to_host
from weft.graphblas.storage.cast import cast, is_iso, take

Array = Any

# A vector becomes dense when it grows past 1/16 of its size and sparse below 1/32.
GROW, SHRINK = 16, 32
# Nothing larger is ever stored densely.
MOST_DENSE = 1 << 31


class VectorStore:
    """The entries of a vector, never changed after construction.

    Built in one of two forms; the other one is made when it is first asked for.

    Attributes
    ----------
    size : int
        The number of places.
    nvals : int
        The number of values that are present.
    is_dense : bool
        Whether it was built as an array with a map.
    converted : int
        The number of values at the last change of form that `followed` made.
    resident : DeviceVector or None
        The entries in the memory of a device.
    masked_by : MaskView or None
        A mask that admits every place that has a value.
    """

    __slots__ = (
        "_dense",
        "_indices",
        "_nvals",
        "_present",
        "_values",
        "converted",
        "is_dense",
        "masked_by",
        "resident",
        "size",
    )

    def __init__(self, size: int, indices: Array, values: Array) -> None:
        self.size = size
        self._indices = indices
        self._values = values
        self._dense: Array = None
        self._present: Array = None
        self.resident: Any = None
        self.masked_by: Any = None
        self._nvals: int | None = len(indices)
        self.is_dense = False
        self.converted = 0

    @classmethod
    def from_map(cls, dense: Array, present: Array | None) -> VectorStore:
        """Return a vector of the values where `present` holds; None means everywhere."""
        self = cls.__new__(cls)
        self.size = len(dense)
        self._indices = self._values = None
        self._dense, self._present = dense, present
        self.resident = self.masked_by = None
        self._nvals = self.size if present is None else int(np.count_nonzero(present))
        if self._nvals == self.size:
            self._present = None
        self.is_dense = True
        self.converted = 0
        return self

    @classmethod
    def on_device(cls, entries: Any, mask: Any = None) -> VectorStore:
        """Return a vector whose entries are in the memory of a device, and which a mask admits."""
        self = cls.__new__(cls)
        self.size, self.resident, self.masked_by = entries.size, entries, mask
        self._indices = self._values = self._dense = self._present = self._nvals = None
        self.is_dense, self.converted = True, 0
        return self

    @property
    def is_away(self) -> bool:
        """Whether a device alone has the entries."""
        return self._dense is None and self._indices is None

    @property
    def nvals(self) -> int:
        """The number of values that are present."""
        count = self._nvals
        if count is None:
            count = self._nvals = int(self.resident.known_count())
        return count

    def _fetch(self) -> None:
        """Copy the entries from the device that has them."""
        dense = to_host(self.resident.dense)
        if self.nvals != self.size:
            self._present = to_host(self.resident.there)
        self._dense = dense

    @property
    def np_type(self) -> np.dtype:
        """The type of the values."""
        if self.is_away:
            return np.dtype(self.resident.dense.dtype)
        return (self._dense if self._dense is not None else self._values).dtype

    @property
    def is_full(self) -> bool:
        """Whether every place has a value."""
        return self.nvals == self.size

    @property
    def indices(self) -> Array:
        """The places that have a value, ascending, as int64."""
        if self._indices is None:
            if self._dense is None:
                self._fetch()
            if self._present is None:
                self._indices = np.arange(self.size, dtype=np.int64)
            else:
                self._indices = np.flatnonzero(self._present)
        return self._indices

    @property
    def values(self) -> Array:
        """The values, in the order of `indices`."""
        if self._values is None:
            if self._dense is None:
                self._fetch()
            if self._present is None:
                self._values = self._dense
            else:
                self._values = take(self._dense, self._present)
        return self._values

    keys = indices

    @property
    def dense(self) -> Array:
        """The values by place; what stands where none is present has no meaning."""
        if self._dense is None:
            if self._indices is None:
                self._fetch()
            elif is_iso(self._values) and self.nvals:
                self._dense = np.broadcast_to(self._values[:1], (self.size,))
            elif self.nvals == self.size:
                self._dense = self._values
            else:
                self._dense = np.zeros(self.size, self._values.dtype)
                self._dense[self._indices] = self._values
        return self._dense

    @property
    def present(self) -> Array | None:
        """A mask of the places that have a value, or None where all have one."""
        if self._present is None and self.nvals != self.size:
            if self.is_away:
                self._fetch()
                return self._present
            self._present = np.zeros(self.size, np.bool_)
            self._present[self._indices] = True
        return self._present

    def there(self) -> Array:
        """Return a mask of the places that have a value."""
        found = self.present
        return np.ones(self.size, np.bool_) if found is None else found

    def cast(self, np_type: np.dtype) -> VectorStore:
        """Return the same vector with values of another type."""
        if self.is_away:
            if self.np_type == np_type:
                return self
            from weft.graphblas.gpu.places import converted

            return VectorStore.on_device(converted(self.resident, np_type), self.masked_by)
        if self.is_dense:
            if self._dense.dtype == np_type:
                return self
            other = VectorStore.__new__(VectorStore)
            other.size, other._nvals, other.is_dense = self.size, self.nvals, True
            other.converted, other.resident, other.masked_by = self.converted, None, None
            other._indices, other._present = self._indices, self._present
            other._values, other._dense = None, cast(self._dense, np_type)
            return other
        if self._values.dtype == np_type:
            return self
        return VectorStore(self.size, self._indices, cast(self._values, np_type))

    def settled(self) -> VectorStore:
        """Return the same vector in the form that its number of values suggests."""
        if self.is_away:
            return self
        if self.is_dense:
            if self.nvals * SHRINK < self.size:
                return VectorStore(self.size, self.indices, self.values)
        elif self.nvals * GROW > self.size > 1024:
            return VectorStore.from_map(self.dense, self.present)
        return self

    def followed(self, old: VectorStore, switch: float) -> VectorStore:
        """Return this vector in the form that it takes as the successor of another one.

        It becomes dense while it grows past `switch` times its size, and sparse while it shrinks
        below; growing and shrinking are seen from the last change of form.
        """
        share = switch * self.size
        grows, shrinks = self.nvals > old.converted, self.nvals < old.converted
        dense = (
            not (shrinks and self.nvals <= share)
            if old.is_dense
            else (grows and self.nvals > share)
        )
        if dense:
            made = VectorStore.from_map(self.dense, self.present)
        else:
            made = VectorStore(self.size, self.indices, self.values)
        made.converted = old.converted if dense == old.is_dense else self.nvals
        return made

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays take, derived forms included."""
        arrays = (self._indices, self._values, self._dense, self._present)
        return sum(stored_bytes(each) for each in arrays if each is not None)


def stored_bytes(array: Array) -> int:
    """Return the bytes that an array takes, one value for all counting once."""
    return array.itemsize if is_iso(array) else array.nbytes


def empty_vector(size: int, np_type: np.dtype) -> VectorStore:
    """Return a vector without values."""
    return VectorStore(size, np.empty(0, np.int64), np.empty(0, np_type))
