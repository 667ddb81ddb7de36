"""Compiled: what is chosen item by item, in NetworkX's order."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.storage.compiled import njit


@njit(cache=True, nogil=True)
def grow_forest(us: Any, vs: Any, order: Any, n: int, chosen: Any) -> int:
    """Choose edges in a given order wherever they join two trees; return how many."""
    root = np.arange(n)
    count = 0
    for e in order:
        u, v = us[e], vs[e]
        while root[u] != u:
            root[u] = root[root[u]]
            u = root[u]
        while root[v] != v:
            root[v] = root[root[v]]
            v = root[v]
        if u != v:
            root[max(u, v)] = min(u, v)
            chosen[count] = e
            count += 1
    return count


@njit(cache=True, nogil=True)
def first_fit(offsets: Any, targets: Any, order: Any, color: Any) -> None:
    """Assign each vertex in turn the smallest colour that no neighbour has; all start at -1."""
    taken = np.full(offsets.size, -1, np.int64)
    for u in order:
        for slot in range(offsets[u], offsets[u + 1]):
            c = color[targets[slot]]
            if c >= 0:
                taken[c] = u
        c = 0
        while taken[c] == u:
            c += 1
        color[u] = c


@njit(cache=True, nogil=True)
def match_edges(us: Any, vs: Any, n: int) -> Any:
    """Return which edges are matched when each is taken as it comes, if both ends are free."""
    free = np.ones(n, np.bool_)
    taken = np.zeros(us.size, np.bool_)
    for e in range(us.size):
        u, v = us[e], vs[e]
        if u != v and free[u] and free[v]:
            free[u], free[v], taken[e] = False, False, True
    return taken


@njit(cache=True, nogil=True)
def take_apart(offsets: Any, targets: Any, order: Any, taken: Any, blocked: Any) -> None:
    """Select vertices in order, unless a neighbour was selected."""
    for u in order:
        if not blocked[u]:
            taken[u], blocked[u] = True, True
            for slot in range(offsets[u], offsets[u + 1]):
                blocked[targets[slot]] = True
