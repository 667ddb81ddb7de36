"""The recording that is open in this thread or task, and the frontiers that it hands out."""

from __future__ import annotations

import sys
import weakref
from contextvars import ContextVar
from typing import Any

from weft.engine.frontier import Frontier
from weft.errors import GraphError

stack: ContextVar[tuple[Any, ...]] = ContextVar("weft_open_recordings", default=())


def current() -> Any:
    """Return the innermost open recording; None if there is none."""
    held = stack.get()
    return held[-1] if held else None


def next_mark(name: str) -> str:
    """Return the hidden field of the next operator: another one for each of a recording."""
    recorder = current()
    if recorder is None:
        return name
    return f"{name}{sum(bool(entry.call.marks) for entry in recorder.pending)}"


_UNSET: Any = object()


class Node:
    """The output of a recorded operator; it is set once that has run."""

    __slots__ = ("__weakref__", "handle", "iteration", "takers", "value")

    def __init__(self, iteration: int) -> None:
        self.iteration = iteration
        self.value: Frontier | None = None
        self.takers: list[Any] = []  # recorded calls that take it, until it is set
        self.handle: Any = None  # a weak reference to the frontier that the user may hold

    @property
    def held(self) -> bool:
        """Whether the user still holds the frontier."""
        return self.handle is not None and self.handle() is not None

    def settle(self, found: Frontier, iteration: int | None = None) -> None:
        """Set the members from a frontier."""
        self.value = found
        self.takers = []
        self.iteration = self.iteration if iteration is None else iteration
        handle = None if self.handle is None else self.handle()
        if handle is not None:
            handle.iteration = self.iteration


class Recorded(Frontier):
    """The frontier of a recorded operator, which runs when the frontier is read."""

    def __init__(self, recorder: Any, source: Frontier, who: str, further: int) -> None:
        super().__init__(None, source.length, device=source.device)
        self._recorder, self._who, self._own = recorder, who, _UNSET
        self.iteration = source.iteration + further
        self.node = Node(self.iteration)
        self.node.handle = weakref.ref(self)

    @property
    def pending(self) -> bool:
        """Whether its operator has not run yet."""
        return self.node.value is None

    @property
    def _given(self) -> Any:
        if self._own is _UNSET:
            self._take()
        return self._own

    @_given.setter
    def _given(self, items: Any) -> None:
        self._own = items

    def _take(self) -> None:
        """Read the members from the node, once they are known."""
        if self.pending:
            self._recorder.flush(f"the frontier that {self._who} returned is read")
        found = self.node.value
        if found is None:
            raise GraphError(
                f"the frontier that {self._who} returned was inside a captured loop, which keeps "
                f"the last one only. Use the frontier that the loop tests."
            )
        self._own = found._given
        self._sorted, self.device = found._sorted, found.device

    def __bool__(self) -> bool:
        caller = sys._getframe(1)
        place = (caller.f_code, caller.f_lineno)
        if not self.pending:
            self._recorder.note(place)
            return len(self) > 0
        answer: bool = self._recorder.test(self.node, place)
        return answer
