"""Compiled: rows turned round, sorted and paired."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.storage.compiled import njit


@njit(cache=True, nogil=True)
def turned_rows(offsets: Any, targets: Any) -> Any:
    """Return the rows of incoming entries: offsets, sources, and the entry of each."""
    n = offsets.size - 1
    starts = np.zeros(n + 1, np.int64)
    for v in targets:
        starts[v + 1] += 1
    for v in range(n):
        starts[v + 1] += starts[v]
    place = starts[:-1].copy()
    sources = np.empty(targets.size, np.int32)
    entries = np.empty(targets.size, np.int32)
    for u in range(n):
        for slot in range(offsets[u], offsets[u + 1]):
            at = place[targets[slot]]
            place[targets[slot]] = at + 1
            sources[at] = u
            entries[at] = slot
    return starts, sources, entries


@njit(cache=True, nogil=True)
def sorted_rows(offsets: Any, targets: Any) -> Any:
    """Return the targets sorted within each row, and the entry that each came from."""
    starts, _, entries = turned_rows(offsets, targets)
    n = offsets.size - 1
    place = offsets[:-1].copy()
    row = np.empty(targets.size, np.int32)
    for u in range(n):
        for slot in range(offsets[u], offsets[u + 1]):
            row[slot] = u
    ordered = np.empty(targets.size, np.int32)
    origin = np.empty(targets.size, np.int32)
    for v in range(n):
        for k in range(starts[v], starts[v + 1]):
            u = row[entries[k]]
            ordered[place[u]] = v
            origin[place[u]] = entries[k]
            place[u] += 1
    return ordered, origin


@njit(cache=True, nogil=True)
def partners(offsets: Any, targets: Any) -> Any:
    """Return the opposite of each entry of an undirected graph."""
    _, _, opposite = turned_rows(offsets, targets)
    _, own = sorted_rows(offsets, targets)
    found = np.empty(targets.size, np.int32)
    for slot in range(targets.size):
        found[own[slot]] = opposite[slot]
    return found
