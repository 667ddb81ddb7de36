"""Trails: the frontiers of a run, one after another in one array.

A run of thousands of supersteps leaves as many frontiers. They stay where the run wrote them, in
any order each, until one is read; a replay takes them as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

import numpy as np

from weft.arrays.device import module_of

Array = np.ndarray[Any, Any]


class Trail(Sequence[Array]):
    """Sets of vertices of a graph, each a stretch of one array; read as sorted arrays.

    Slices are trails, too: ``trail[::-1]`` is replayed first to last.

    Parameters
    ----------
    flat
        The members of all sets, on the device of the run.
    begins, ends
        Where each set lies, in host memory.
    length
        The number of vertices of the graph.

    Examples
    --------
    >>> trail = Trail.of_parts([np.array([0]), np.array([1, 2])], 3, np)
    >>> len(trail), trail[-1].tolist(), [part.tolist() for part in trail[::-1]]
    (2, [1, 2], [[1, 2], [0]])
    """

    def __init__(self, flat: Array, begins: Array, ends: Array, length: int) -> None:
        self.flat, self.begins, self.ends, self.length = flat, begins, ends, length

    @classmethod
    def of_ends(cls, flat: Array, ends: Array, length: int) -> Trail:
        """Return the sets that follow each other up to the ends given, the first of which is 0."""
        return cls(flat, ends[:-1], ends[1:], length)

    @classmethod
    def of_parts(cls, parts: Sequence[Array], length: int, xp: Any) -> Trail:
        """Return sets that lie in arrays of their own; a trail as it is."""
        if isinstance(parts, Trail):
            return parts
        ends = np.cumsum([0, *(len(part) for part in parts)], dtype=np.int64)
        held = [xp.asarray(part, dtype=np.int64) for part in parts]
        return cls.of_ends(xp.concatenate([*held, xp.zeros(0, np.int64)]), ends, length)

    def with_members(self, renamed: Callable[[Array], Array]) -> Trail:
        """Return the same sets under other names."""
        return Trail(renamed(self.flat), self.begins, self.ends, self.length)

    def in_order(self) -> Trail:
        """Return the same sets, each of them sorted where it lies."""
        xp = module_of(self.flat)
        return Trail.of_parts(list(self), self.length, xp)

    def __len__(self) -> int:
        return self.begins.size

    @overload
    def __getitem__(self, at: int) -> Array: ...
    @overload
    def __getitem__(self, at: slice) -> Trail: ...
    def __getitem__(self, at: int | slice) -> Array | Trail:
        if isinstance(at, slice):
            return Trail(self.flat, self.begins[at], self.ends[at], self.length)
        sorted_: Array = module_of(self.flat).sort(self.flat[self.begins[at] : self.ends[at]])
        return sorted_

    def __iter__(self) -> Iterator[Array]:
        return (self[at] for at in range(len(self)))

    def __repr__(self) -> str:
        return f"Trail({len(self)} sets of {self.length} vertices)"
