"""Frontiers: sets of vertices, or of arcs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.arrays.device import (
    CPU,
    Device,
    as_array,
    device_of,
    is_device_array,
    module_of,
    move,
    to_host,
)
from weft.arrays.distinct import distinct
from weft.arrays.reduce import any_true
from weft.engine.state import State, make_state
from weft.errors import GraphError
from weft.ir.request import Deferred

if TYPE_CHECKING:
    from weft.topology.topology import Topology

Array = np.ndarray[Any, Any]


class Frontier:
    """A set of vertices or arcs of a graph.

    Members passed by the user stay in host memory until a GPU needs them; those produced by a run
    stay on its device, and are sorted on demand.

    Parameters
    ----------
    items : array, Deferred or None
        The distinct members; None stands for all.
    length : int
        Number of vertices (arcs) in the graph.
    arcs : bool
        Whether the members are arcs.
    is_sorted : bool
        Whether `items` is in ascending order, or in an order that a run on a CPU must keep.
    device : Device, optional
        Device of `items` and `mask()`; by default that of the array passed.

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

    iteration = 0  # number of operators of `weft.operators` that led to it

    def __init__(
        self,
        items: Array | Deferred | None,
        length: int,
        *,
        arcs: bool = False,
        is_sorted: bool = True,
        device: Device | None = None,
    ) -> None:
        self._given = items
        self._sorted = is_sorted
        self.length = length
        self.arcs = arcs
        self.device = device or (CPU if items is None else device_of(items))
        self.pairs: tuple[Array, Array] | None = None  # of `Pairs`
        # The graph version that it was made for, where known. An update renumbers arcs.
        self.version: Any = None
        # How far the ordered run that produced this frontier had come, for a run that continues
        # it: the priority, and the width of the window processed at a time.
        self.window: tuple[Any, float] = (None, 0.0)

    @property
    def _items(self) -> Array | None:
        if isinstance(self._given, Deferred):
            with self.device.current():
                self._given = self._given.get()
        return self._given

    @property
    def is_all(self) -> bool:
        """Whether it contains every vertex (arc)."""
        return self._given is None

    @property
    def items(self) -> Array:
        """The vertices (arcs) in ascending order, on the graph's device."""
        if self._items is not None and not self._sorted:
            with self.device.current():
                self._given = module_of(self._items).sort(self._items)
            self._sorted = True
        return self.members

    @property
    def members(self) -> Array:
        """The vertices (arcs) in any order, on the graph's device."""
        if self._items is None:
            with self.device.current():
                return self.device.xp.arange(self.length, dtype=np.int64)
        self._given = held = move(self._items, self.device)
        return held

    @property
    def held(self) -> Array | None:
        """The vertices (arcs) in any order, on whichever device holds them; None for all."""
        return self._items

    def first(self, in_order: bool, resumes: bool) -> Array | Deferred | None:
        """Return the members as a run begins with them; None for all.

        Parameters
        ----------
        in_order
            Whether the run needs them in order.
        resumes
            Whether it takes what another run has left as it is.
        """
        held = self._given
        if held is None or (self._sorted and type(held) is np.ndarray and self.device.on_host):
            return held
        if resumes and isinstance(held, Deferred):
            return held
        return self.items if in_order else self._items

    def mask(self) -> Array:
        """Return a boolean mask over all vertices (arcs) of the graph."""
        with self.device.current():
            if self._items is None:
                return self.device.xp.ones(self.length, bool)
            result = self.device.xp.zeros(self.length, bool)
            result[self.members] = True
            return result

    def tolist(self) -> list[int]:
        """Return the members as a sorted list."""
        if self._items is None:
            return list(range(self.length))
        host: list[int] = to_host(self._items).tolist()
        return host if self._sorted else sorted(host)

    def __len__(self) -> int:
        held = self._given
        if isinstance(held, Deferred) and held.size is not None:
            return held.size
        return self.length if self._items is None else len(self._items)

    def __bool__(self) -> bool:
        return len(self) > 0

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def __contains__(self, item: int) -> bool:
        if self._items is None:
            return 0 <= item < self.length
        if is_device_array(self._items) or not self._sorted:
            return any_true(self._items == item)
        place = int(np.searchsorted(self._items, item))
        return place < len(self._items) and int(self._items[place]) == item

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return np.array(to_host(self.items), dtype=dtype)

    def __repr__(self) -> str:
        what = "arcs" if self.arcs else "vertices"
        if self._items is None:
            return f"Frontier(all {self.length} {what})"
        return f"Frontier({len(self)} of {self.length} {what})"


class Pairs(Frontier):
    """A list of vertex pairs that an edge function runs over as if they were arcs.

    Parameters
    ----------
    ends : tuple of arrays
        The vertices u and v of each pair, on the graph's device.
    topology
        The structure of the graph.
    version
        The version of the graph.

    Examples
    --------
    >>> import weft
    >>> g = weft.generators.complete(4)
    >>> g.pairs([0, 1], [2, 3])
    Pairs(2)
    """

    def __init__(self, ends: tuple[Array, Array], topology: Topology, version: Any) -> None:
        xp, count = topology.xp, int(ends[0].size)
        items = xp.arange(count, dtype=np.int64)
        super().__init__(items, count, arcs=True, device=topology.device)
        self.pairs, self.version, self._topology = ends, version, topology

    def state(self, **fields: Any) -> State:
        """Create state with one value for every pair, which edge functions read and assign as e.

        Examples
        --------
        >>> import weft
        >>> weft.generators.complete(4).pairs([0, 1], [2, 3]).state(shared=weft.full(0)).shared
        array([0, 0])
        """
        return make_state(self._topology, fields, {}, self.version, arcs=self.length)

    def __repr__(self) -> str:
        return f"Pairs({self.length})"


def make_frontier(
    members: Any, length: int, dtype: Any, *, arcs: bool, device: Device = CPU
) -> Frontier:
    """Check the members passed by a user and return them as a frontier."""
    if members is None:
        return Frontier(None, length, arcs=arcs, device=device)
    if type(members) is list and len(members) == 1 and type(members[0]) is int:
        if not 0 <= members[0] < length:
            _check_range(members[0], members[0], length, "arc" if arcs else "vertex")
        return Frontier(np.array(members, dtype), length, arcs=arcs, device=device)
    if isinstance(members, Frontier):
        if members.length != length or members.arcs != arcs:
            raise GraphError(
                f"{members!r} does not fit this graph, which has {length} "
                f"{'arcs' if arcs else 'vertices'}."
            )
        if members.device is device or members.device == device:
            return members
        return Frontier(members.held, length, arcs=arcs, is_sorted=members._sorted, device=device)
    what = "arc" if arcs else "vertex"
    if is_device_array(members):
        array = move(members, device)
        with device_of(array).current():
            items = _checked_items(array, length, dtype, what)
    else:
        listed = list(members) if isinstance(members, set | frozenset) else members
        items = _checked_items(as_array(listed), length, dtype, what)
    return Frontier(items, length, arcs=arcs, device=device)


def _checked_items(array: Array, length: int, dtype: Any, what: str) -> Array:
    """Return the distinct members given by ids or a mask, sorted, on the same device."""
    xp = module_of(array)
    if array.dtype == bool:
        if array.shape != (length,):
            raise GraphError(f"a mask must have {length} booleans, but got shape {array.shape}.")
        return xp.flatnonzero(array).astype(dtype)
    if array.ndim == 0:
        array = xp.atleast_1d(array)
    if array.size == 0:
        return xp.zeros(0, dtype)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise GraphError(
            f"a frontier takes integers, a mask or nothing (all), but got {array.dtype} of shape "
            f"{array.shape}. For labels, pass g.vertex_of(labels)."
        )
    single = array.size == 1
    low, high = (int(array[0]),) * 2 if single else (int(array.min()), int(array.max()))
    _check_range(low, high, length, what)
    return array.astype(dtype) if single else distinct(array).astype(dtype, copy=False)


def _check_range(low: int, high: int, length: int, what: str) -> None:
    """Raise unless the smallest and the largest member exist."""
    if low >= 0 and high < length:
        return
    bad = low if low < 0 else high
    raise GraphError(
        f"{what} {bad} does not exist. Expected numbers from 0 to {length - 1}."
        if length
        else f"{what} {bad} does not exist: the graph has none."
    )
