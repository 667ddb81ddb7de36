"""Buffers that runs on one topology share: taken for a run, given back, grown when needed."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.backends.cpu.runtime.control import aligned, control
from weft.backends.cpu.runtime.loops import CELLS
from weft.topology.topology import Topology

Array = np.ndarray[Any, Any]
MOST_STEADY = 64  # programs whose arguments a workspace keeps


class Workspace:
    """Named buffers of one run at a time."""

    def __init__(self) -> None:
        self._arrays: dict[Any, Array] = {}
        self._steady: dict[Any, tuple[Any, list[Any]]] = {}
        self.ctl = control(CELLS)
        self.epoch = 0

    def get(self, name: Any, size: int, dtype: Any) -> Array:
        """Return a buffer of at least this size, cut to it; it starts as zeros."""
        kind = np.dtype(dtype)
        held = self._arrays.get((name, kind))
        if held is None or held.size < size:
            self._steady.clear()  # it may hold the buffer that was
            held = aligned(size, kind)
            self._arrays[name, kind] = held
        return held[:size]

    def steady(self, owner: Any, nt: int, make: Callable[[], list[Any]]) -> list[Any]:
        """Return arguments that stay the same run after run, made again once buffers moved."""
        found = self._steady.get((id(owner), nt))
        if found is None:
            arguments = make()  # may take memory itself
            if len(self._steady) >= MOST_STEADY:
                self._steady.clear()
            found = self._steady[id(owner), nt] = owner, arguments  # the owner is kept alive
        return found[1]

    def stamps(self, n: int, steps: int, number: int = 0) -> Array:
        """Return one of the arrays of stamps of vertices; all are older than the next epoch."""
        stamp = self.get(("stamp", number), n, np.int32)
        if self.epoch > 2**31 - 1 - steps:
            for (name, _), array in self._arrays.items():
                if name[0] == "stamp":
                    array[:] = 0
            self.epoch = 0
        return stamp

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(array.nbytes for array in self._arrays.values()) + self.ctl.nbytes


_lock = threading.Lock()
_idle: weakref.WeakKeyDictionary[Topology, list[Workspace]] = weakref.WeakKeyDictionary()


def take(topology: Topology) -> Workspace:
    """Return a workspace for a run on a topology."""
    with _lock:
        idle = _idle.setdefault(topology, [])
        return idle.pop() if idle else Workspace()


def give_back(topology: Topology, workspace: Workspace) -> None:
    """Keep a workspace for the next run."""
    with _lock:
        _idle.setdefault(topology, []).append(workspace)


def held_bytes(topology: Topology) -> int:
    """Return the bytes of the idle workspaces of a topology."""
    with _lock:
        return sum(workspace.nbytes for workspace in _idle.get(topology, []))
