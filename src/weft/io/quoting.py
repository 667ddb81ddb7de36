"""Quotes bytes of a file in messages."""

from __future__ import annotations

from typing import Final

_SHOWN: Final = 60


def plain(text: bytes) -> str:
    """Return bytes for a message, with non-text bytes escaped."""
    return text.decode("utf-8", "backslashreplace")


def shown(text: bytes) -> str:
    """Return bytes quoted, and shortened if long."""
    short = text.strip(b" \t\r\n")
    if len(short) <= _SHOWN:
        return repr(plain(short))
    return f"{plain(short[:_SHOWN])!r}... ({len(short)} bytes)"
