"""The recording that is open in this thread or task, if there is one."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

stack: ContextVar[tuple[Any, ...]] = ContextVar("weft_open_recordings", default=())


def current() -> Any:
    """Return the innermost open recording; None if there is none."""
    held = stack.get()
    return held[-1] if held else None
