"""Calls of Python functions on the threads of a gang, for front ends with kernels of their own."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

Array = Any


def on_threads(compute: Callable[[int], Any], count: int, threads: int) -> list[Any]:
    """Return ``compute(k)`` for every k below `count`, in their order.

    Threads take the next k when they are done with one, so `compute` should spend its time in
    kernels that release the GIL. A signal stops the rest, and the first error is raised.
    """
    if min(threads, count) <= 1:
        return [compute(k) for k in range(count)]
    from weft.backends.cpu.host.gang import run
    from weft.backends.cpu.runtime.control import STOP, control

    found: list[Any] = [None] * count
    turn = itertools.count()

    def work(tid: int, nt: int, ctl: Array) -> None:
        while (k := next(turn)) < count and not ctl[STOP]:
            found[k] = compute(k)

    run(work, min(threads, count), control())
    return found
