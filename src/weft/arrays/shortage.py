"""Errors of primitives that do not fit in memory: which one, what it needed, and a remedy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from weft.arrays.device import Device, bytes_text, free_bytes
from weft.errors import DeviceMemoryError


@contextmanager
def explained(device: Device, what: str, needed: int, remedy: str) -> Iterator[None]:
    """Convert running out of memory into an error that names a primitive.

    Parameters
    ----------
    device
        Where it runs.
    what, remedy
        The primitive with what it needs memory for, and a sentence that says what needs less.
    needed
        The bytes that it needs at most.
    """
    try:
        yield
    except MemoryError:
        raise DeviceMemoryError(
            f"Out of memory on {str(device)!r}: {what} needed up to {bytes_text(needed)}. {remedy}",
            needed_bytes=needed,
            free_bytes=free_bytes(device),
        ) from None
