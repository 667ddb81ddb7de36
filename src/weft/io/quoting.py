"""Bytes of a file as they appear in messages."""

from __future__ import annotations

from typing import Final

_SHOWN: Final = 60


def plain(text: bytes) -> str:
    """Return bytes for a message, what is not text among them escaped."""
    return text.decode("utf-8", "backslashreplace")


def shown(text: bytes) -> str:
    """Return bytes quoted, cut if they are long."""
    short = text.strip(b" \t\r\n")
    if len(short) <= _SHOWN:
        return repr(plain(short))
    return f"{plain(short[:_SHOWN])!r}... ({len(short)} bytes)"
