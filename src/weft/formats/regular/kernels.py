"""Compiled: the cutting of rows on the host, by threads that take shares of the rows."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from weft.formats.regular.rows import CODES, WIDEST, Piece, local_dtype
from weft.storage.compiled import njit

Array = np.ndarray[Any, Any]


def cut_compiled(offsets: Array, targets: Array, bits: int) -> list[Piece]:
    """Compute `rows.cut` in compiled code."""
    pieces = []
    for inside in (True, False):
        dtype = local_dtype(bits) if inside else targets.dtype
        vertices, ends = _filled(offsets, targets, bits, inside, dtype, as_slots=False)
        for code in range(CODES):
            pieces.append(Piece(inside, code, vertices[code], ends[code]))
    return pieces


def places_compiled(offsets: Array, targets: Array, bits: int) -> Array:
    """Return the slot of the adjacency at each slot of the pieces."""
    dtype = np.dtype(np.int64)
    sides = [_filled(offsets, targets, bits, side, dtype, as_slots=True) for side in (True, False)]
    return np.concatenate([part for _, parts in sides for part in parts])


def _filled(
    offsets: Array, targets: Array, bits: int, inside: bool, dtype: Any, *, as_slots: bool
) -> tuple[list[Array], list[Array]]:
    """Return vertices and slots (or far ends) of the rows of every code, of one side."""
    n = offsets.size - 1
    degree = np.empty(n, np.int64)
    _in_shares(offsets, lambda a, b: _count(offsets, targets, bits, inside, a, b, degree))
    firsts = np.empty((CODES, n), np.int64)  # the first row of each vertex, by code
    vertices, ends = [], []
    for code in range(CODES):
        rows = degree >> code if code == WIDEST else (degree >> code) & 1
        np.cumsum(rows, out=firsts[code])
        count = int(firsts[code, -1]) if n else 0
        firsts[code] -= rows
        vertices.append(np.empty(count, targets.dtype))
        ends.append(np.empty(count << code, dtype))
    mask = targets.dtype.type((1 << bits) - 1 if inside else -1)

    def fill(a: int, b: int) -> None:
        _fill(
            offsets, targets, bits, inside, mask, as_slots, a, b, degree, firsts,
            tuple(vertices), tuple(ends),
        )  # fmt: skip

    _in_shares(offsets, fill)
    return vertices, ends


def _in_shares(offsets: Array, work: Callable[[int, int], None]) -> None:
    """Run threads on shares of rows with equally many arcs."""
    workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    n = offsets.size - 1
    shares = np.arange(1, workers) * int(offsets[-1]) // workers
    bounds = [0, *np.searchsorted(offsets[:n], shares).tolist(), n]
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(lambda k: work(bounds[k], bounds[k + 1]), range(workers)))


@njit(cache=True, nogil=True)
def _count(offsets, targets, bits, inside, a, b, degree):
    """Count the arcs of one side."""
    for row in range(a, b):
        count = 0
        for slot in range(offsets[row], offsets[row + 1]):
            if ((row >> bits) == (targets[slot] >> bits)) == inside:
                count += 1
        degree[row] = count


@njit(cache=True, nogil=True)
def _fill(offsets, targets, bits, inside, mask, as_slots, a, b, degree, firsts, vertices, ends):
    """Write the rows of some vertices; a row takes arcs in their order, the widest row first."""
    for row in range(a, b):
        left = degree[row]
        code, room, at = CODES, 0, 0
        used = 0  # rows of the widest code
        for slot in range(offsets[row], offsets[row + 1]):
            if ((row >> bits) == (targets[slot] >> bits)) != inside:
                continue
            if room == 0:  # the next row
                if left >= 1 << WIDEST:
                    code = WIDEST
                else:
                    code = 0
                    while (left >> (code + 1)) != 0:
                        code += 1
                place = firsts[code, row]
                if code == WIDEST:
                    place += used
                    used += 1
                vertices[code][place] = row
                at = place << code
                room = 1 << code
                left -= room
            ends[code][at] = slot if as_slots else targets[slot] & mask
            at += 1
            room -= 1
