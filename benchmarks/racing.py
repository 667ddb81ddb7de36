"""Compile candidates in parallel and time each one as soon as it is ready."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

Candidate = TypeVar("Candidate")
NAP_S = 0.001


@contextmanager
def compilers(device: Any) -> Iterator[Any]:
    """Yield the background compiler of a device, or None if it compiles nothing."""
    if device.kind == "cpu":
        yield None
        return
    from weft.backends.cuda.host.compile_ahead import Ahead

    ahead = Ahead(device.kind, device.index)
    try:
        yield ahead
    finally:
        ahead.close()


def as_ready(
    left: list[Candidate], is_ready: Callable[[Candidate], bool], deadline: float
) -> Iterator[Candidate]:
    """Pop the first ready item of a list repeatedly until the deadline."""
    while left and time.perf_counter() < deadline:
        ready = next((candidate for candidate in left if is_ready(candidate)), None)
        if ready is None:
            time.sleep(NAP_S)
            continue
        left.remove(ready)
        yield ready
