"""Tracebacks that end at the user's lines: frames of weft between them are left out."""

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
    """Let errors of a method that runs programs show the user's frames alone.

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
    """Return an error with the user's frames alone, unless all are asked for."""
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
