"""Stretches of rows on the threads of a gang."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.arrays.threads import num_threads
from weft.backends import host_threads
from weft.graphblas.compiled import arena

Array = Any
# Work, in values that are read, below which threads are not worth waking.
LEAST = 50_000
# Stretches per thread, so that early finishers take another one.
EACH = 4


def stretches(work: Array, most: int | None = None) -> list[tuple[int, int]]:
    """Return stretches of rows with about equal work, one for all where that is little.

    Parameters
    ----------
    work
        The work of all rows up to the end of each.
    most
        The most work that a stretch may have, unless it is a single row.
    """
    count = len(work)
    total = int(work[-1]) if count else 0
    threads = num_threads()
    if threads == 1 or total < 2 * LEAST:
        share = total
    else:
        share = max(LEAST, total // (EACH * threads))
    if most is not None:
        share = min(share, most)
    if share >= total:
        return [(0, count)]
    found, begin = [], 0
    while begin < count:
        done = int(work[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(work, done + share, side="right")))
        found.append((begin, end))
        begin = end
    return found


def even_stretches(count: int, each: int = 1) -> list[tuple[int, int]]:
    """Return stretches of items that have the same work each."""
    threads = num_threads()
    if threads == 1 or count * each < 2 * LEAST:
        return [(0, count)]
    size = max(LEAST // each + 1, count // (EACH * threads))
    return [(begin, min(begin + size, count)) for begin in range(0, count, size)]


def on_threads(compute: Callable[..., Any], parts: list[tuple[int, int]]) -> list[Any]:
    """Return ``compute(*part)`` for every part, in their order, from as many threads as allowed."""

    def one(k: int) -> Any:
        try:
            return compute(*parts[k])
        except BaseException:
            arena.drop()
            raise

    return host_threads.on_threads(one, len(parts), num_threads())
