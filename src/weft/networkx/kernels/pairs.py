"""Compiled: neighbours that vertices share, in sorted rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.storage.compiled import njit


@njit(cache=True, nogil=True)
def shared_sums(offsets: Any, targets: Any, us: Any, vs: Any, value: Any, group: Any) -> Any:
    """Return the sum of a value over the common neighbours of pairs, in sorted rows.

    If there are groups, a neighbour counts only in the group of both; the pair itself never does.
    """
    found = np.zeros(us.size)
    for i in range(us.size):
        u, v = us[i], vs[i]
        if group.size and group[u] != group[v]:
            continue
        a, b = offsets[u], offsets[v]
        while a < offsets[u + 1] and b < offsets[v + 1]:
            x, y = targets[a], targets[b]
            if x == y and x != u and x != v and (group.size == 0 or group[x] == group[u]):
                found[i] += value[x]
            a += x <= y
            b += y <= x
    return found


@njit(cache=True, nogil=True)
def adjacent(offsets: Any, targets: Any, us: Any, vs: Any) -> Any:
    """Whether the second vertex of each pair is in the sorted row of the first."""
    found = np.zeros(us.size, np.bool_)
    for i in range(us.size):
        row = targets[offsets[us[i]] : offsets[us[i] + 1]]
        at = np.searchsorted(row, vs[i])
        found[i] = at < row.size and row[at] == vs[i]
    return found


@njit(cache=True, nogil=True)
def squares(offsets: Any, targets: Any, rows: Any) -> Any:
    """Return the squares at some vertices, and how many there could be, as NetworkX counts them."""
    n = offsets.size - 1
    count = np.zeros(n, np.int64)
    near = np.zeros(n, np.bool_)
    met = np.empty(n, np.int64)
    found = np.zeros((rows.size, 2), np.int64)
    for i in range(rows.size):
        v = rows[i]
        others = offsets[v + 1] - offsets[v] - 1
        if others <= 0:
            continue
        for a in range(offsets[v], offsets[v + 1]):
            near[targets[a]] = True
        size, reach, triangles, total = 0, 0, 0, 0
        for a in range(offsets[v], offsets[v + 1]):
            u = targets[a]
            reach += offsets[u + 1] - offsets[u]
            for b in range(offsets[u], offsets[u + 1]):
                x = targets[b]
                if x != v:
                    if count[x] == 0:
                        met[size] = x
                        size += 1
                    count[x] += 1
        for k in range(size):
            x = met[k]
            total += count[x] * (count[x] - 1)
            triangles += count[x] if near[x] else 0
            count[x] = 0
        for a in range(offsets[v], offsets[v + 1]):
            near[targets[a]] = False
        total //= 2
        found[i, 0] = total
        found[i, 1] = reach * others - (others + 1) * others - triangles - total
    return found


@njit(cache=True, nogil=True)
def weighted_triangles(offsets: Any, targets: Any, ahead: Any, back: Any) -> Any:
    """Return the sum over the triangles at each vertex of the cube root of their weights' product.

    Rows are sorted and hold every neighbour once. `ahead` has the weight of the edge to it, `back`
    that of the edge from it, NaN where there is none. Every choice of edges counts, and each
    triangle twice.
    """
    n = offsets.size - 1
    found = np.zeros(n)
    for i in range(n):
        for p in range(offsets[i], offsets[i + 1]):
            j = targets[p]
            a, b = offsets[i], offsets[j]
            while a < offsets[i + 1] and b < offsets[j + 1]:
                x, y = targets[a], targets[b]
                if x == y:
                    for first in (ahead[p], back[p]):
                        for second in (ahead[b], back[b]):
                            for third in (ahead[a], back[a]):
                                product = first * second * third
                                if not np.isnan(product):
                                    found[i] += np.cbrt(product)
                a += x <= y
                b += y <= x
    return found
