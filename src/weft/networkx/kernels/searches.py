"""Compiled: searches in the order in which neighbours were added.

Trees, orders and the choice among equal paths are NetworkX's own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.storage.compiled import njit


@njit(cache=True, nogil=True)
def search(
    offsets: Any, targets: Any, sources: Any, limit: int, order: Any, parent: Any, level: Any
) -> int:
    """Search breadth first from the sources; return how many vertices were found.

    `level` comes as -1 everywhere. `order` receives the vertices as they are found, `parent` the
    vertex that found each (sources have themselves).
    """
    count = 0
    for s in sources:
        if level[s] < 0:
            level[s], parent[s], order[count] = 0, s, s
            count += 1
    done = 0
    while done < count:
        u = order[done]
        done += 1
        if level[u] >= limit:
            break
        for slot in range(offsets[u], offsets[u + 1]):
            v = targets[slot]
            if level[v] < 0:
                level[v], parent[v], order[count] = level[u] + 1, u, v
                count += 1
    return count


@njit(cache=True, nogil=True)
def _sift_up(keys: Any, ages: Any, items: Any, at: int) -> None:
    while at > 0:
        up = (at - 1) >> 1
        if keys[up] < keys[at] or (keys[up] == keys[at] and ages[up] < ages[at]):
            return
        keys[up], keys[at] = keys[at], keys[up]
        ages[up], ages[at] = ages[at], ages[up]
        items[up], items[at] = items[at], items[up]
        at = up


@njit(cache=True, nogil=True)
def _sift_down(keys: Any, ages: Any, items: Any, count: int) -> None:
    at = 0
    while True:
        low = 2 * at + 1
        if low >= count:
            return
        other = low + 1
        if other < count and (
            keys[other] < keys[low] or (keys[other] == keys[low] and ages[other] < ages[low])
        ):
            low = other
        if keys[at] < keys[low] or (keys[at] == keys[low] and ages[at] < ages[low]):
            return
        keys[low], keys[at] = keys[at], keys[low]
        ages[low], ages[at] = ages[at], ages[low]
        items[low], items[at] = items[at], items[low]
        at = low


@njit(cache=True, nogil=True)
def dijkstra(
    offsets: Any,
    targets: Any,
    weights: Any,
    sources: Any,
    target: int,
    cutoff: float,
    order: Any,
    parent: Any,
    dist: Any,
) -> int:
    """Search in the order of distance; return how many vertices were settled, -1 if it cannot.

    Of equal distances the one found first counts, as in NetworkX's heap. `parent` comes as -1 and
    `dist` as infinity everywhere; only settled vertices keep their distance. It ends at `target`.
    """
    n = offsets.size - 1
    room = targets.size + sources.size + 1
    keys, ages, items = np.empty(room), np.empty(room, np.int64), np.empty(room, np.int64)
    settled = np.zeros(n, np.bool_)
    seen = np.full(n, np.inf)
    waiting, age, count = 0, 0, 0
    for s in sources:
        seen[s] = 0.0
        parent[s] = s
        keys[waiting], ages[waiting], items[waiting] = 0.0, age, s
        _sift_up(keys, ages, items, waiting)
        waiting += 1
        age += 1
    while waiting > 0:
        d, u = keys[0], items[0]
        waiting -= 1
        keys[0], ages[0], items[0] = keys[waiting], ages[waiting], items[waiting]
        _sift_down(keys, ages, items, waiting)
        if settled[u]:
            continue
        settled[u] = True
        dist[u] = d
        order[count] = u
        count += 1
        if u == target:
            break
        for slot in range(offsets[u], offsets[u + 1]):
            v, longer = targets[slot], d + weights[slot]
            if longer > cutoff:
                continue
            if settled[v]:
                if longer < dist[v]:
                    return -1  # a negative weight contradicts an earlier distance
            elif longer < seen[v]:
                seen[v] = longer
                parent[v] = u
                keys[waiting], ages[waiting], items[waiting] = longer, age, v
                _sift_up(keys, ages, items, waiting)
                waiting += 1
                age += 1
    for v in range(n):
        if not settled[v]:
            parent[v] = -1
    return count


@njit(cache=True, nogil=True)
def between(
    offsets: Any, targets: Any, in_offsets: Any, in_sources: Any, source: int, target: int
) -> Any:
    """Return the rows of a shortest path, searched from both ends; none if there is no path.

    The side with the narrower frontier goes on, as in NetworkX's search.
    """
    n = offsets.size - 1
    if source == target:
        return np.full(1, source, np.int64)
    before, after = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    before[source], after[target] = source, target
    forward, backward = np.full(1, source, np.int64), np.full(1, target, np.int64)
    room = np.empty(n, np.int64)
    meet = -1
    while forward.size and backward.size and meet < 0:
        ahead = forward.size <= backward.size
        front = forward if ahead else backward
        starts, ends = (offsets, targets) if ahead else (in_offsets, in_sources)
        mine, other = (before, after) if ahead else (after, before)
        count = 0
        for u in front:
            for slot in range(starts[u], starts[u + 1]):
                v = ends[slot]
                if mine[v] < 0:
                    mine[v] = u
                    room[count] = v
                    count += 1
                if other[v] >= 0:
                    meet = v
                    break
            if meet >= 0:
                break
        if ahead:
            forward = room[:count].copy()
        else:
            backward = room[:count].copy()
    if meet < 0:
        return np.empty(0, np.int64)
    count = 1
    at = meet
    while at != source:
        at = before[at]
        count += 1
    head = count
    at = meet
    while at != target:
        at = after[at]
        count += 1
    path = np.empty(count, np.int64)
    at = meet
    for k in range(head - 1, -1, -1):
        path[k] = at
        at = before[at]
    at = meet
    for k in range(head, count):
        at = after[at]
        path[k] = at
    return path


@njit(cache=True, nogil=True)
def components(offsets: Any, targets: Any, in_offsets: Any, in_sources: Any, label: Any) -> int:
    """Number weakly connected components by their first rows; return how many there are.

    `label` comes as -1 everywhere. The incoming rows may be empty for an undirected graph.
    """
    n = offsets.size - 1
    queue = np.empty(n, np.int64)
    both = in_offsets.size == offsets.size
    found = 0
    for start in range(n):
        if label[start] >= 0:
            continue
        label[start] = found
        queue[0] = start
        done, count = 0, 1
        while done < count:
            u = queue[done]
            done += 1
            for slot in range(offsets[u], offsets[u + 1]):
                v = targets[slot]
                if label[v] < 0:
                    label[v] = found
                    queue[count] = v
                    count += 1
            if both:
                for slot in range(in_offsets[u], in_offsets[u + 1]):
                    v = in_sources[slot]
                    if label[v] < 0:
                        label[v] = found
                        queue[count] = v
                        count += 1
        found += 1
    return found


@njit(cache=True, nogil=True)
def two_colors(offsets: Any, targets: Any, in_offsets: Any, in_sources: Any, color: Any) -> bool:
    """Colour neighbours differently with 0 and 1; False if that is impossible.

    `color` comes as -1 everywhere; the first of a component gets 1.
    """
    n = offsets.size - 1
    both = in_offsets.size == offsets.size
    stack = np.empty(n, np.int64)
    for start in range(n):
        if color[start] >= 0:
            continue
        color[start] = 1
        stack[0] = start
        count = 1
        while count > 0:
            count -= 1
            u = stack[count]
            for side in range(2 if both else 1):
                starts, ends = (offsets, targets) if side == 0 else (in_offsets, in_sources)
                for slot in range(starts[u], starts[u + 1]):
                    v = ends[slot]
                    if color[v] < 0:
                        color[v] = 1 - color[u]
                        stack[count] = v
                        count += 1
                    elif color[v] == color[u]:
                        return False
    return True
