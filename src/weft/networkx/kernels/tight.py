"""Compiled: all shortest paths by weight, as what each vertex was reached from."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from weft.networkx.kernels.searches import _sift_down, _sift_up
from weft.storage.compiled import njit

EVERYWHERE: Final = 0
BUT_SOURCE: Final = 1
EVEN: Final = 2


@njit(cache=True, nogil=True)
def tight_search(
    offsets: Any,
    targets: Any,
    weights: Any,
    source: int,
    cutoff: float,
    order: Any,
    found: Any,
    dist: Any,
    head: Any,
    link: Any,
    paths: Any,
) -> int:
    """Search by weight and keep every entry that a shortest path may end with.

    `head[v]` is the first such entry of v, `link` the next one after each, -1 if there is none.
    Vertices are in `order` as they are settled and in `found` as they are seen. `paths` counts
    shortest paths. `dist` comes as infinity, `head` as -1, `paths` as zeros. Returns how many
    vertices were settled, -1 if a negative weight contradicts an earlier distance.
    """
    n = offsets.size - 1
    room = targets.size + 1
    keys, ages, items = np.empty(room), np.empty(room, np.int64), np.empty(room, np.int64)
    settled, last = np.zeros(n, np.bool_), np.full(n, -1, np.int64)
    through = np.zeros(n)
    keys[0], ages[0], items[0] = 0.0, 0, source
    dist[source], found[0] = 0.0, source
    paths[source] = 1.0
    waiting, age, count, seen = 1, 1, 0, 1
    while waiting > 0:
        d, v = keys[0], items[0]
        waiting -= 1
        keys[0], ages[0], items[0] = keys[waiting], ages[waiting], items[waiting]
        _sift_down(keys, ages, items, waiting)
        if settled[v]:
            continue
        settled[v] = True
        paths[v] += through[v]
        order[count] = v
        count += 1
        for slot in range(offsets[v], offsets[v + 1]):
            w, longer = targets[slot], d + weights[slot]
            if longer > cutoff:
                continue
            if settled[w] and longer < dist[w]:
                return -1
            link[slot] = -1
            if not settled[w] and longer < dist[w]:
                if head[w] < 0 and w != source:
                    found[seen] = w
                    seen += 1
                dist[w] = longer
                head[w], last[w] = slot, slot
                paths[w], through[w] = 0.0, paths[v]
                keys[waiting], ages[waiting], items[waiting] = longer, age, w
                _sift_up(keys, ages, items, waiting)
                waiting += 1
                age += 1
            elif longer == dist[w]:
                paths[w] += paths[v]
                if head[w] < 0:
                    head[w] = slot
                else:
                    link[last[w]] = slot
                last[w] = slot
    return count


@njit(cache=True, nogil=True)
def path_flows(
    offsets: Any,
    targets: Any,
    rows: Any,
    weights: Any,
    sources: Any,
    mark: Any,
    ends: int,
    endpoints: bool,
    through: Any,
    along: Any,
) -> bool:
    """Add up the shares of shortest paths from sources to marked vertices.

    `ends` is `EVERYWHERE`, `BUT_SOURCE` if no path ends where it begins, or `EVEN` if a vertex that
    is not marked hands on its flow evenly, as NetworkX does for edges. `through` receives the
    shares that lead through each vertex, `along` those along each entry. Returns whether all
    weights were consistent.
    """
    n = offsets.size - 1
    order, found = np.empty(n, np.int64), np.empty(n, np.int64)
    dist, head, link = np.empty(n), np.empty(n, np.int64), np.empty(targets.size, np.int64)
    paths, owed = np.empty(n), np.empty(n)
    for s in sources:
        dist[:], head[:], paths[:], owed[:] = np.inf, -1, 0.0, 0.0
        count = tight_search(
            offsets, targets, weights, s, np.inf, order, found, dist, head, link, paths
        )
        if count < 0:
            return False
        if endpoints:
            through[s] += count - 1
        for i in range(count - 1, -1, -1):
            w = order[i]
            own = 0.0 if ends == BUT_SOURCE and w == s else mark[w]
            share = (own + owed[w]) / paths[w]
            even = ends == EVEN and own == 0.0
            slot, ways = head[w], 0
            while slot >= 0 and even:
                ways += 1
                slot = link[slot]
            slot = head[w]
            while slot >= 0:
                part = owed[w] / ways if even else paths[rows[slot]] * share
                along[slot] += part
                owed[rows[slot]] += part
                slot = link[slot]
            if w != s:
                through[w] += owed[w] + (1.0 if endpoints else 0.0)
    return True


@njit(cache=True, nogil=True)
def all_distances(dist: Any, before: Any) -> None:
    """Shorten distances by one vertex after another (Floyd and Warshall), with predecessors."""
    n = dist.shape[0]
    for w in range(n):
        for u in range(n):
            for v in range(n):
                d = dist[u, w] + dist[w, v]
                if dist[u, v] > d:
                    dist[u, v] = d
                    before[u, v] = before[w, v]


@njit(cache=True, nogil=True)
def has_negative_cycle(tails: Any, heads: Any, weights: Any, n: int) -> bool:
    """Whether some cycle has a negative weight (Bellman and Ford, from all vertices at once)."""
    dist = np.zeros(n)
    for _ in range(n + 1):
        changed = False
        for e in range(tails.size):
            longer = dist[tails[e]] + weights[e]
            if longer < dist[heads[e]]:
                dist[heads[e]] = longer
                changed = True
        if not changed:
            return False
    return True
