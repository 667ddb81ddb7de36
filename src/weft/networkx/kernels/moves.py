"""Compiled: vertices that move between communities one after another, in NetworkX's order."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.storage.compiled import njit


@njit(cache=True, nogil=True)
def move_all(
    offsets: Any,
    targets: Any,
    weights: Any,
    degrees: Any,
    size: float,
    resolution: float,
    order: Any,
    community: Any,
) -> bool:
    """Move each vertex where it adds most to the modularity until none moves; return if any did.

    `degrees` has one row for an undirected graph, else the outgoing and the incoming ones. The
    gains are those of NetworkX, term by term, so that ties fall as they do there.
    """
    n = offsets.size - 1
    both = degrees.shape[0] == 2
    total = np.zeros(degrees.shape)
    for v in range(n):
        for side in range(degrees.shape[0]):
            total[side, community[v]] += degrees[side, v]
    toward = np.zeros(n)
    near = np.empty(n, np.int64)
    met = np.full(n, -1, np.int64)
    stamp, moved, improved = 0, 1, False
    while moved > 0:
        moved = 0
        for u in order:
            own = community[u]
            count = 0
            for slot in range(offsets[u], offsets[u + 1]):
                c = community[targets[slot]]
                if met[c] != stamp:
                    met[c], toward[c], near[count] = stamp, 0.0, c
                    count += 1
                toward[c] += weights[slot]
            if met[own] != stamp:
                met[own], toward[own], near[count] = stamp, 0.0, own
                count += 1
            stamp += 1
            for side in range(degrees.shape[0]):
                total[side, own] -= degrees[side, u]
            best, most, leave = own, 0.0, 0.0
            for k in range(-1, count):  # first what leaving costs, then what each place is worth
                c = own if k < 0 else near[k]
                if both:
                    crowd = degrees[0, u] * total[1, c] + degrees[1, u] * total[0, c]
                    crowd = resolution * crowd / (size * size)
                else:
                    crowd = resolution * (total[0, c] * degrees[0, u]) / (2 * (size * size))
                if k < 0:
                    leave = -toward[c] / size + crowd
                elif leave + toward[c] / size - crowd > most:
                    most = leave + toward[c] / size - crowd
                    best = c
            for side in range(degrees.shape[0]):
                total[side, best] += degrees[side, u]
            if best != own:
                community[u] = best
                moved += 1
                improved = True
    return improved


@njit(cache=True, nogil=True)
def _heaviest(
    offsets: Any, targets: Any, weights: Any, u: int, label: Any, toward: Any, near: Any
) -> int:
    """Collect the most frequent labels around a vertex in `near`; return how many there are.

    `toward` comes and is left as zeros.
    """
    count, most = 0, 0.0
    for slot in range(offsets[u], offsets[u + 1]):
        c = label[targets[slot]]
        if toward[c] == 0:
            near[count] = c
            count += 1
        toward[c] += weights[slot]
        most = max(most, toward[c])
    best = 0
    for k in range(count):
        c = near[k]
        if toward[c] == most:
            near[best] = c
            best += 1
        toward[c] = 0
    return best


@njit(cache=True, nogil=True)
def spread_in_turn(
    offsets: Any, targets: Any, weights: Any, order: Any, number: int, label: Any
) -> bool:
    """Move each vertex to a most frequent label around it; return whether any label changed.

    Of several it keeps its own, or takes the largest if `number` is negative, else a random one.
    """
    n = offsets.size - 1
    toward, near = np.zeros(n), np.empty(n, np.int64)
    if number >= 0:
        np.random.seed(number)  # noqa: NPY002  Numba's own generator
    changed = False
    for u in order:
        best = _heaviest(offsets, targets, weights, u, label, toward, near)
        kept = best == 0
        for k in range(best):
            kept |= near[k] == label[u]
        if kept:
            continue
        changed = True
        if number >= 0:
            label[u] = near[np.random.randint(best)]  # noqa: NPY002
        else:
            label[u] = near[:best].max()
    return changed


@njit(cache=True, nogil=True)
def spread_by_queue(
    offsets: Any, targets: Any, weights: Any, order: Any, number: int, label: Any
) -> None:
    """Move vertices to a random most frequent label around them while any changes."""
    n = offsets.size - 1
    np.random.seed(number)  # noqa: NPY002  Numba's own generator
    toward, near = np.zeros(n), np.empty(n, np.int64)
    queue, waiting = order.copy(), np.ones(n, np.bool_)
    begin, length = 0, n
    while length > 0:
        u = queue[begin]
        begin = (begin + 1) % n
        length -= 1
        waiting[u] = False
        best = _heaviest(offsets, targets, weights, u, label, toward, near)
        if best == 0:
            continue
        chosen = near[np.random.randint(best)]  # noqa: NPY002
        if chosen == label[u]:
            continue
        label[u] = chosen
        for slot in range(offsets[u], offsets[u + 1]):
            v = targets[slot]
            if label[v] != chosen and not waiting[v]:
                queue[(begin + length) % n] = v
                length += 1
                waiting[v] = True
