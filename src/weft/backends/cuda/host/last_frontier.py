"""The last frontier of a run, left in place until it is needed elsewhere.

A loop of operators passes the output of one run to the next, which starts from the memory that it
lies in: nothing is copied or listed, and the host knows how many vertices there are. A run that
would write over a frontier that is still held has it copied first.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from weft.backends.cuda.host.control import CLASSED, FAR_SIZE, MAP, MAPPED, QUEUE, QUEUED
from weft.ir.request import Deferred
from weft.plan.sweeps import claim_field

_lock = threading.Lock()  # the run that writes where a frontier lies may be another thread's


class Place(NamedTuple):
    """Where a frontier lies, for a run that starts from it."""

    address: int  # of the whole queue or map
    kind: str  # "queue", or the kind of the map
    number: int  # of the queue, or of the map


class Left(Deferred):
    """A frontier in the memory of a workspace.

    Parameters
    ----------
    copy
        Returns a copy of what lies there.
    listed
        Returns the vertices, rising and each once, given that copy.
    size
        How many there are; None if some are listed twice, perhaps.
    place
        Where a run can start from it; None if no run can.
    plain
        Whether the copy has each of the vertices once.
    """

    def __init__(
        self,
        copy: Callable[[], Any],
        listed: Callable[[Any], Any],
        size: int | None,
        place: Place | None,
        plain: bool = False,
    ) -> None:
        super().__init__(copy, size)
        self.place, self._listed, self._plain = place, listed, plain

    def get(self) -> Any:
        """Return the vertices, rising."""
        return self._listed(self._copied())

    def members(self) -> Any:
        """Return the vertices in any order, each once."""
        held = self._copied()
        return held if self._plain else self._listed(held)

    def __deepcopy__(self, memo: Any) -> Left:
        return self  # which the next run knows

    def take_away(self) -> None:
        """Copy what lies there, since a run is about to write to that memory."""
        self._copied()
        self.place = None

    def _copied(self) -> Any:
        with _lock:
            held = self._make()
            self._make = lambda: held  # which, unlike a method, makes no cycle
        return held


class Lying:
    """The frontiers that lie in the memory of one workspace."""

    def __init__(self) -> None:
        self._known: list[weakref.ref[Left]] = []

    def add(self, left: Left) -> Left:
        """Note a frontier that a run has left, and return it."""
        self._known.append(weakref.ref(left))
        return left

    def clear(self, but: Left | None = None) -> None:
        """Copy all frontiers that are still referenced out of the way, except one."""
        known, self._known = self._known, []
        for reference in known:
            left = reference()
            if left is None:
                continue
            if left is but:
                self._known.append(reference)
            else:
                left.take_away()


def left_by(run: Any, size: int) -> Any:
    """Return the frontier of so many vertices that a run has left."""
    seen, xp, plan, options = run.control.seen, run.xp, run.plan, run.compiled.options
    waiting = seen[FAR_SIZE]  # of an ordered run that ended early
    if size + waiting == 0:
        return _nothing(run.driver, run.request.topology.index_dtype)
    # An ordered run lists a vertex once more when it comes nearer.
    exact = options.dedup == "exact" and not options.ordered
    known = size if exact else None
    copy: Callable[[], Any]
    place = None
    if seen[QUEUED] or seen[CLASSED]:
        number = seen[QUEUE] & 1
        queue = run.queues[number]
        if seen[CLASSED] or waiting:
            pieces = _pieces_by_class(run, queue) if seen[CLASSED] else [(queue, 0, size)]
            if waiting:
                pieces.append((run.binder.bind("far", run.saved("far") & 1), 0, waiting))
            copy = functools.partial(_joined, xp, pieces)
        else:
            copy = functools.partial(_first, queue, size)
            place = plan.queue_places[number]
        made = Left(copy, xp.sort if exact else xp.unique, known, place, exact)
    elif seen[MAPPED]:
        number = seen[MAP] % 3
        make = functools.partial(
            _members, xp, options.map_kind, run.n, run.request.topology.index_dtype
        )
        made = Left(plan.maps[number].copy, make, known, plan.map_places[number])
    else:
        return _told_by_state(run)
    return run.workspace.lying.add(made)


def _pieces_by_class(run: Any, queue: Any) -> list[tuple[Any, int, int]]:
    """Return where the last frontier lies in a queue by degree class."""
    firsts = [0, *(run.launching.knobs[f"class_{k}"] for k in (1, 2, 3))]
    return [(queue, at, at + run.saved(f"class_{k}")) for k, at in enumerate(firsts)]


def _joined(xp: Any, pieces: list[tuple[Any, int, int]]) -> Any:
    return xp.concatenate([array[first:end] for array, first, end in pieces])


def _first(array: Any, count: int) -> Any:
    return array[:count].copy()


def _members(xp: Any, kind: str, n: int, dtype: Any, words: Any) -> Any:
    """Return the vertices that a map holds, rising."""
    if kind == "bytemap":
        mask = words.view(np.uint8)[:n] != 0
    else:
        mask = xp.unpackbits(words.view(np.uint8), bitorder="little")[:n].view(np.bool_)
    return xp.flatnonzero(mask).astype(dtype)


def _told_by_state(run: Any) -> Any:
    """Return the last frontier where a field tells who is in it."""
    sweep, request = run.compiled.sweeps[0], run.request
    held = run.saved("origin") + sweep.rises * run.saved("step")
    field = request.data.fields[claim_field(sweep.steps[0])]
    return run.xp.flatnonzero(field == held).astype(request.topology.index_dtype)


@functools.cache
def _nothing(driver: Any, dtype: Any) -> Any:
    """Return an array without elements."""
    return driver.xp.zeros(0, dtype)
