"""Exceptions raised by weft, and helpers that give their messages one wording.

A message says what is wrong, what was received, what was expected and what to do about it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class WeftError(Exception):
    """Base of all errors raised by weft."""


class GraphError(WeftError, ValueError):
    """The input for a graph cannot be used."""


class FileFormatError(GraphError):
    """A file violates its format; the message says where and how.

    Attributes
    ----------
    path : str
        The file.
    line, byte : int or None
        Position of the error: the line (from 1) of a text file, the byte (from 0) of a binary one.
    """

    def __init__(
        self, path: object, message: str, *, line: int | None = None, byte: int | None = None
    ) -> None:
        spots = (("line", line), ("byte", byte))
        place = "".join(f", {name} {at}" for name, at in spots if at is not None)
        super().__init__(f"{path}{place}: {message}")
        self.path, self.line, self.byte = str(path), line, byte

    def __reduce__(self) -> tuple[object, ...]:
        return _unpickled, (type(self), str(self), self.path, self.line, self.byte)


class ConfigError(WeftError, ValueError):
    """An option has a value that is invalid, or not supported in this context."""


class TraceError(WeftError, TypeError):
    """A user's function does something that cannot be traced."""


class FieldError(WeftError, AttributeError):
    """A program or a caller named a field, column or scalar that does not exist."""

    missing: str | None = None  # the missing state field named by a traced function


class FaultError(WeftError, RuntimeError):
    """A compiled program stopped because of a condition that it cannot recover from."""


class ConvergenceError(WeftError, RuntimeError):
    """An iterative method did not reach its tolerance."""


class DeviceError(WeftError, RuntimeError):
    """A device is missing, lacks a capability, or aborted an operation."""


class DeviceMemoryError(WeftError, MemoryError):
    """A device ran out of memory; the message lists options that need less.

    Attributes
    ----------
    needed_bytes, free_bytes : int or None
        Bytes requested and bytes available, where known.
    """

    def __init__(
        self, message: str, *, needed_bytes: int | None = None, free_bytes: int | None = None
    ) -> None:
        super().__init__(message)
        self.needed_bytes = needed_bytes
        self.free_bytes = free_bytes


class TimeLimitError(WeftError, TimeoutError):
    """A run was stopped because it exceeded its time limit."""


class VerifyError(WeftError, AssertionError):
    """The IR violates one of its invariants: a bug in weft, not in the user's program."""


def _unpickled(
    kind: type[FileFormatError], text: str, path: str, line: int | None, byte: int | None
) -> FileFormatError:
    """Restore a pickled error."""
    error = kind.__new__(kind, text)
    error.path, error.line, error.byte = path, line, byte
    return error


def listed(names: Iterable[object]) -> str:
    """Return the names quoted and separated by commas."""
    return ", ".join(repr(name) for name in names)


def expected(names: Iterable[object]) -> str:
    """Return "Expected one of 'a', 'b'", or "There is none yet" for an empty list.

    Examples
    --------
    >>> expected(["a", "b"]), expected([])
    ("Expected one of 'a', 'b'", 'There is none yet')
    """
    text = listed(names)
    return f"Expected one of {text}" if text else "There is none yet"


def nearest(name: str, known: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" for the known name closest to `name`, or an empty string."""
    match = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean {match[0]!r}?" if match else ""


def unknown(what: str, got: object, known: Iterable[object]) -> str:
    """Return the standard message for a value that is not one of the allowed ones."""
    choices = list(known)
    hint = nearest(got, [c for c in choices if isinstance(c, str)]) if isinstance(got, str) else ""
    return f"{what}={shortened(got)} is not known. Expected one of {listed(choices)}.{hint}"


def shortened(value: object, most: int = 60) -> str:
    """Return the repr of a value, shortened in the middle to at most `most` characters.

    Examples
    --------
    >>> shortened(10**400, 20)
    '10000000...000000000'
    """
    try:
        text = repr(value)
    except ValueError:  # Python refuses to convert very large integers to text
        text = f"an integer of {value.bit_length()} bits" if isinstance(value, int) else "a value"
    if len(text) <= most:
        return text
    head = (most - 3) // 2
    return f"{text[:head]}...{text[len(text) - (most - 3 - head) :]}"
