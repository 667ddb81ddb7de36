"""Every exception that weft raises, and the one wording they share.

A message says what is wrong, what was got, what was expected and what to do about it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class WeftError(Exception):
    """Base of all errors raised by weft."""


class GraphError(WeftError, ValueError):
    """A graph was described with unusable input."""


class FileFormatError(GraphError):
    """A file does not hold what its format promises; the message says where and what.

    Attributes
    ----------
    path : str
        The file.
    line, byte : int or None
        Where in it: the line (from 1) of a text file, the byte (from 0) of a binary one.
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
    """An option has a value that is not possible, or not possible here."""


class TraceError(WeftError, TypeError):
    """A user's function does something that cannot be traced."""


class FieldError(WeftError, AttributeError):
    """A field, column or scalar that does not exist was named."""

    missing: str | None = None  # the field of the state that a traced function named


class FaultError(WeftError, RuntimeError):
    """A compiled program met a condition that it must not go on from."""


class ConvergenceError(WeftError, RuntimeError):
    """An iterative method did not reach its tolerance."""


class DeviceError(WeftError, RuntimeError):
    """A device is missing, cannot do what was asked, or gave up what it was doing."""


class DeviceMemoryError(WeftError, MemoryError):
    """The memory of a device does not suffice; the message says what needs less.

    Attributes
    ----------
    needed_bytes, free_bytes : int or None
        What was asked for and what was there, where that is known.
    """

    def __init__(
        self, message: str, *, needed_bytes: int | None = None, free_bytes: int | None = None
    ) -> None:
        super().__init__(message)
        self.needed_bytes = needed_bytes
        self.free_bytes = free_bytes


class TimeLimitError(WeftError, TimeoutError):
    """A run was stopped because it took longer than it may."""


class VerifyError(WeftError, AssertionError):
    """The IR broke one of its own rules: a defect of weft, not of the user's program."""


def _unpickled(
    kind: type[FileFormatError], text: str, path: str, line: int | None, byte: int | None
) -> FileFormatError:
    """Return the error as it was before it was pickled."""
    error = kind.__new__(kind, text)
    error.path, error.line, error.byte = path, line, byte
    return error


def listed(names: Iterable[object]) -> str:
    """Return the names quoted and separated by commas."""
    return ", ".join(repr(name) for name in names)


def expected(names: Iterable[object]) -> str:
    """Return "Expected one of 'a', 'b'", or that there is none.

    Examples
    --------
    >>> expected(["a", "b"]), expected([])
    ("Expected one of 'a', 'b'", 'There is none yet')
    """
    text = listed(names)
    return f"Expected one of {text}" if text else "There is none yet"


def nearest(name: str, known: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" for the known name closest to `name`, or nothing."""
    match = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean {match[0]!r}?" if match else ""


def unknown(what: str, got: object, known: Iterable[object]) -> str:
    """Return the standard sentence about a value that is not in a list of possible ones."""
    choices = list(known)
    hint = nearest(got, [c for c in choices if isinstance(c, str)]) if isinstance(got, str) else ""
    return f"{what}={shortened(got)} is not known. Expected one of {listed(choices)}.{hint}"


def shortened(value: object, most: int = 60) -> str:
    """Return the repr of a value, cut in the middle where it is longer than `most` characters.

    Examples
    --------
    >>> shortened(10**400, 20)
    '10000000...000000000'
    """
    try:
        text = repr(value)
    except ValueError:  # Python refuses to write very large integers
        text = f"an integer of {value.bit_length()} bits" if isinstance(value, int) else "a value"
    if len(text) <= most:
        return text
    head = (most - 3) // 2
    return f"{text[:head]}...{text[len(text) - (most - 3 - head) :]}"
