"""Memory that runs on one topology share: taken for a run, given back, grown when needed."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.arrays.fill import fill
from weft.backends.cuda.host.control import Control, bytes_ahead, control_sizes
from weft.backends.cuda.host.last_frontier import Lying
from weft.topology.topology import Topology

MOST_REMEMBERED = 256


class Workspace:
    """Named buffers of one run at a time, on one device."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver
        self._arrays: dict[Any, Any] = {}
        self._shared: dict[str, tuple[Any, Any]] = {}
        self._remembered: dict[Any, Any] = {}
        self.epoch = 0
        self.lying = Lying()  # frontiers of finished runs

    def remembered(self, key: Any, make: Callable[..., Any], *arguments: Any) -> Any:
        """Return what was made under a key, or make it; it is made again once buffers moved.

        Arguments are passed on, not bound by a closure, which would outlive an error.
        """
        if key in self._remembered:
            return self._remembered[key]
        value = make(*arguments)  # may take memory itself
        if len(self._remembered) >= MOST_REMEMBERED:
            self._remembered.clear()
        self._remembered[key] = value
        return value

    def get(self, name: Any, size: int, dtype: Any) -> Any:
        """Return a buffer of at least this size; what it holds is what the last run left."""
        kind = np.dtype(dtype)
        held = self._arrays.get((name, kind))
        if held is None or held.size < size:
            self._arrays.pop((name, kind), None)
            self._remembered.clear()  # it may hold the buffer that was
            held = self.driver.xp.zeros(max(size, 1), kind)
            self._arrays[name, kind] = held
        return held

    def filled(self, name: Any, size: int, dtype: Any, value: Any) -> Any:
        """Return a buffer that holds one value, if runs leave it as they find it.

        A workspace whose run failed is not used again.
        """
        key = (*name, repr(value)) if type(name) is tuple else (name, repr(value))
        held = self._arrays.get((key, np.dtype(dtype)))
        fresh = held is None or held.size < size
        buffer = self.get(key, size, dtype)
        if fresh:
            fill(buffer, value)
        return buffer

    def shared(self, name: str, size: int, dtype: Any) -> tuple[Any, Any]:
        """Return memory that host and device see: as a NumPy array, and as an argument."""
        held = self._shared.get(name)
        if held is None or held[0].size < size:
            self._remembered.clear()
            held = self.driver.shared_array(size, dtype)
            self._shared[name] = held
        return held

    def control(self, scalars: int, accumulators: int, places: int, dtype: Any) -> Control:
        """Return the steering memory for a program of this shape, and in it the first queue."""
        sizes = control_sizes(scalars, accumulators)
        ahead = bytes_ahead(sizes) // np.dtype(dtype).itemsize
        memory = self.get(("queue", 0), ahead + places, dtype)
        return Control(self.driver, sizes, memory)

    def renew_stamps(self) -> None:
        """Make all stamps old, before their numbers run out."""
        for (name, _), array in self._arrays.items():
            if name == "stamps" or name[0] == "stamp":
                array.fill(0)
        self.epoch = 0

    @property
    def nbytes(self) -> int:
        """Bytes held on the device."""
        return sum(int(array.nbytes) for array in self._arrays.values())


_lock = threading.Lock()
_idle: dict[int, list[Workspace]] = {}  # by the identity of a living topology


def take(topology: Topology, driver: Any) -> tuple[Workspace, list[Workspace]]:
    """Return a workspace for a run on a topology, and the list that it is put on afterwards."""
    with _lock:
        idle = _idle.get(id(topology))
        if idle is None:
            idle = _idle[id(topology)] = []
            weakref.finalize(topology, _idle.pop, id(topology), None).atexit = False
        for position in range(len(idle) - 1, -1, -1):  # the last one may hold the first frontier
            if idle[position].driver is driver:
                return idle.pop(position), idle
    return Workspace(driver), idle


def held_bytes(topology: Topology) -> int:
    """Return the bytes of the idle workspaces of a topology."""
    with _lock:
        return sum(workspace.nbytes for workspace in _idle.get(id(topology), []))
