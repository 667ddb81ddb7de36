"""Tracebacks that end at the user's lines and omit frames of weft."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from weft.errors import WeftError

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
F = TypeVar("F", bound=Callable[..., Any])


def hides_frames(method: F) -> F:
    """Make errors of a method that runs programs show only the user's frames.

    The environment variable ``WEFT_TRACEBACK=full`` keeps all frames.
    """

    @functools.wraps(method)
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return method(*arguments, **options)
        except WeftError as error:
            shown = as_shown(error)
        raise shown

    return call  # type: ignore[return-value]


def as_shown(error: WeftError) -> WeftError:
    """Return an error with only the user's frames, unless all are requested."""
    if os.environ.get("WEFT_TRACEBACK") == "full":
        return error
    return error.with_traceback(_users_frames(error.__traceback__))


def _users_frames(traceback: TracebackType | None) -> TracebackType | None:
    if traceback is None:
        return None
    rest = _users_frames(traceback.tb_next)
    if traceback.tb_frame.f_code.co_filename.startswith(_PACKAGE):
        return rest
    return TracebackType(rest, traceback.tb_frame, traceback.tb_lasti, traceback.tb_lineno)
