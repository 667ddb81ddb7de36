"""Gorder: vertices that share neighbours are stored close together.

(H. Wei, J. X. Yu, C. Lu, X. Lin, Speedup graph processing by graph ordering, SIGMOD 2016.) The next
vertex is the one with the highest score against the last few: a point for an edge to each of them
and one for each neighbour in common. Scores change by one, so a list per score holds all vertices.
Directions are ignored.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from weft.storage.compiled import njit
from weft.topology.orders.neighbors import neighbors_of

Array = np.ndarray[Any, Any]

WINDOW: Final = 5  # of the last vertices, as in the paper


def gorder(offsets: Array, targets: Array, directed: bool) -> Array:
    """Return a permutation of the vertices that places those with common neighbours together.

    Parameters
    ----------
    offsets, targets : ndarray
        The adjacency, in host memory.
    directed : bool
        Whether opposite arcs must be added.
    """
    rows, ends = neighbors_of(offsets, targets, directed)
    degree = np.diff(rows)
    n = degree.size
    if n == 0:
        return np.zeros(0, np.int64)
    # As in the paper, neighbours shared with many other vertices carry no information.
    hub = max(1, int(np.sqrt(n)))
    first = np.argsort(-degree, kind="stable")
    return _placed(rows, ends, first, hub, WINDOW * (int(degree.max()) + 2) + 1)


@njit(cache=True, nogil=True)
def _placed(rows, ends, first, hub, scores):  # type: ignore[no-untyped-def]
    """Return the order. Vertices of one score are a doubly linked list, used as a stack."""
    n = rows.size - 1
    score = np.zeros(n, np.int64)
    before, after = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    head = np.full(scores, -1, np.int64)
    stacks = (score, head, before, after)
    for place in range(n - 1, -1, -1):  # the vertex of the highest degree is on top
        _push(stacks, first[place])
    order = np.empty(n, np.int64)
    top = 0
    for place in range(n):
        while head[top] < 0:
            top -= 1
        v = head[top]
        _drop(stacks, v)
        score[v] = -1  # placed
        order[place] = v
        if place >= WINDOW:
            _change(rows, ends, hub, order[place - WINDOW], -1, stacks)
        top = max(top, _change(rows, ends, hub, v, 1, stacks))
    return order


@njit(cache=True, nogil=True)
def _change(rows, ends, hub, v, by, stacks):  # type: ignore[no-untyped-def]
    """Change the scores of what is close to v by one; return the highest that came of it."""
    score = stacks[0]
    most = 0
    for slot in range(rows[v], rows[v + 1]):
        u = ends[slot]
        if score[u] >= 0:
            most = max(most, _move(stacks, u, by))
        if rows[u + 1] - rows[u] <= hub:
            for other in range(rows[u], rows[u + 1]):
                w = ends[other]
                if score[w] >= 0:
                    most = max(most, _move(stacks, w, by))
    return most


@njit(cache=True, nogil=True)
def _move(stacks, v, by):  # type: ignore[no-untyped-def]
    score = stacks[0]
    _drop(stacks, v)
    score[v] += by
    _push(stacks, v)
    return score[v]


@njit(cache=True, nogil=True)
def _push(stacks, v):  # type: ignore[no-untyped-def]
    score, head, before, after = stacks
    old = head[score[v]]
    before[v], after[v] = -1, old
    if old >= 0:
        before[old] = v
    head[score[v]] = v


@njit(cache=True, nogil=True)
def _drop(stacks, v):  # type: ignore[no-untyped-def]
    score, head, before, after = stacks
    if before[v] >= 0:
        after[before[v]] = after[v]
    else:
        head[score[v]] = after[v]
    if after[v] >= 0:
        before[after[v]] = before[v]
