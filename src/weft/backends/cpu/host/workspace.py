"""Buffers shared by runs on one topology: borrowed for a run, returned, and grown on demand."""

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


RECORDS = 1 << 13  # supersteps that a profile remembers
MOST_BLOCKS = 8

_blocks: list[tuple[Array, Array]] = []  # control blocks and rings of records, for new workspaces


def _new_ring() -> Array:
    return aligned(RECORDS * 6, np.dtype(np.int64))


class Workspace:
    """Named buffers of one run at a time."""

    def __init__(self, shared: bool) -> None:
        self._aligned = shared  # threads that write to neighbouring lines slow each other down
        self._arrays: dict[Any, Array] = {}
        self._steady: dict[Any, tuple[Any, Any]] = {}
        self.ctl: Array
        self.ring: Array
        self.ctl, self.ring = _blocks.pop() if _blocks else (control(CELLS), _new_ring())
        self.epoch = 0
        self.degrees: Array | None = None  # of the topology, once a run needed them

    def get(self, name: Any, size: int, dtype: Any) -> Array:
        """Return a buffer of this size; initially zeros."""
        kind = np.dtype(dtype)
        held = self._arrays.get((name, kind))
        if held is None or held.size < size:
            self._steady.clear()  # it may reference the old buffer
            pairs = type(name) is tuple and name[0] == "pair"  # exchanged as a whole
            held = aligned(size, kind) if self._aligned or pairs else np.zeros(size, kind)
            self._arrays[name, kind] = held
        return held[:size]

    def filled(self, name: Any, size: int, dtype: Any, value: Any) -> Array:
        """Return a buffer that holds one value, if runs leave it as they find it.

        A workspace whose run failed is not used again.
        """
        key = (*name, repr(value)) if type(name) is tuple else (name, repr(value))
        held = self._arrays.get((key, np.dtype(dtype)))
        fresh = held is None or held.size < size
        buffer = self.get(key, size, dtype)
        if fresh:
            self._arrays[key, np.dtype(dtype)][:] = value
        return buffer

    def steady(self, owner: Any, nt: int, make: Callable[[], Any]) -> Any:
        """Return the constant arguments of an owner, rebuilt after buffers moved."""
        found = self._steady.get((id(owner), nt))
        if found is None:
            made = make()  # may take memory itself
            if len(self._steady) >= MOST_STEADY:
                self._steady.clear()
            found = self._steady[id(owner), nt] = owner, made  # the owner is kept alive
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
        return (
            sum(array.nbytes for array in self._arrays.values())
            + self.ctl.nbytes
            + self.ring.nbytes
        )


_lock = threading.Lock()
_idle: dict[int, list[Workspace]] = {}  # by the identity of a living topology


def take(topology: Topology, shared: bool = True) -> Workspace:
    """Return a workspace for a run on a topology, by one thread or by several that share it."""
    with _lock:
        idle = _idle.get(id(topology))
        if idle is None:
            _idle[id(topology)] = idle = []
            weakref.finalize(topology, _drop, id(topology)).atexit = False
        return idle.pop() if idle else Workspace(shared)


def _drop(identity: int) -> None:
    """Drop the workspaces of a topology, but reuse some blocks of common size."""
    for workspace in _idle.pop(identity, []):
        if len(_blocks) < MOST_BLOCKS:
            _blocks.append((workspace.ctl, workspace.ring))


def give_back(topology: Topology, workspace: Workspace) -> None:
    """Return a workspace for the next run."""
    with _lock:
        _idle[id(topology)].append(workspace)


def held_bytes(topology: Topology) -> int:
    """Return the bytes of the idle workspaces of a topology."""
    with _lock:
        return sum(workspace.nbytes for workspace in _idle.get(id(topology), []))
