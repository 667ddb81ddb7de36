"""Frontiers: sets of vertices, or of arcs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from weft.errors import GraphError

Array = np.ndarray[Any, Any]


class Frontier:
    """A set of vertices or arcs of a graph: sorted, each once.

    Examples
    --------
    >>> import weft
    >>> g = weft.generators.path(4)
    >>> f = g.frontier([2, 0, 2])
    >>> len(f), f.tolist()
    (2, [0, 2])
    >>> g.frontier()
    Frontier(all 4 vertices)
    """

    def __init__(self, items: Array | None, length: int, *, arcs: bool = False) -> None:
        self._items = items  # None stands for all
        self.length = length
        self.arcs = arcs

    @property
    def is_all(self) -> bool:
        """Whether every vertex (arc) is in it."""
        return self._items is None

    @property
    def items(self) -> Array:
        """The sorted vertices (arcs)."""
        if self._items is None:
            return np.arange(self.length, dtype=np.int64)
        return self._items

    def mask(self) -> Array:
        """Return a truth value for each vertex (arc) of the graph."""
        result = np.zeros(self.length, bool)
        result[self.items] = True
        return result

    def tolist(self) -> list[int]:
        """Return the members as a list."""
        return [int(x) for x in self.items]

    def __len__(self) -> int:
        return self.length if self._items is None else len(self._items)

    def __bool__(self) -> bool:
        return len(self) > 0

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def __contains__(self, item: int) -> bool:
        if self._items is None:
            return 0 <= item < self.length
        place = int(np.searchsorted(self._items, item))
        return place < len(self._items) and int(self._items[place]) == item

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return np.array(self.items, dtype=dtype)

    def __repr__(self) -> str:
        what = "arcs" if self.arcs else "vertices"
        if self._items is None:
            return f"Frontier(all {self.length} {what})"
        return f"Frontier({len(self)} of {self.length} {what})"


def make_frontier(members: Any, length: int, dtype: Any, *, arcs: bool) -> Frontier:
    """Check members given by a user and return them as a frontier."""
    what = "arc" if arcs else "vertex"
    if members is None:
        return Frontier(None, length, arcs=arcs)
    if isinstance(members, Frontier):
        if members.length != length or members.arcs != arcs:
            raise GraphError(
                f"{members!r} does not fit this graph, which has {length} of its kind."
            )
        return members
    array = np.asarray(members)
    if array.dtype == bool:
        if array.shape != (length,):
            raise GraphError(
                f"a mask must have {length} truth values, but got shape {array.shape}."
            )
        return Frontier(np.flatnonzero(array).astype(dtype), length, arcs=arcs)
    array = np.atleast_1d(array)
    if array.size == 0:
        return Frontier(np.zeros(0, dtype), length, arcs=arcs)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise GraphError(
            f"a frontier takes integers, a mask or nothing (all), but got {array.dtype} of shape "
            f"{array.shape}."
        )
    low, high = int(array.min()), int(array.max())
    if low < 0 or high >= length:
        bad = low if low < 0 else high
        raise GraphError(
            f"{what} {bad} does not exist. Expected numbers from 0 to {length - 1}."
            if length
            else f"{what} {bad} does not exist: the graph has none."
        )
    if array.size == 1:
        return Frontier(array.astype(dtype), length, arcs=arcs)
    return Frontier(np.unique(array).astype(dtype), length, arcs=arcs)
