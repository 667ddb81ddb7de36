"""Compiled: components and layers that NetworkX finds by a sequence."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.storage.compiled import njit


@njit(cache=True, nogil=True)
def strong_components(offsets: Any, targets: Any, label: Any) -> int:
    """Number strongly connected components, sinks first; return how many there are.

    `label` comes as -1 everywhere. Tarjan's search with an explicit stack.
    """
    n = offsets.size - 1
    found, clock, kept, deep = 0, 0, 0, 0
    index = np.full(n, -1, np.int64)
    low = np.empty(n, np.int64)
    stack, calls, slots = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    for start in range(n):
        if index[start] >= 0:
            continue
        calls[0], slots[0], deep = start, offsets[start], 1
        index[start] = low[start] = clock
        clock += 1
        stack[kept] = start
        kept += 1
        while deep > 0:
            u = calls[deep - 1]
            slot = slots[deep - 1]
            if slot < offsets[u + 1]:
                slots[deep - 1] = slot + 1
                v = targets[slot]
                if index[v] < 0:
                    index[v] = low[v] = clock
                    clock += 1
                    stack[kept] = v
                    kept += 1
                    calls[deep], slots[deep] = v, offsets[v]
                    deep += 1
                elif label[v] < 0:
                    low[u] = min(low[u], index[v])
                continue
            deep -= 1
            if deep > 0:
                low[calls[deep - 1]] = min(low[calls[deep - 1]], low[u])
            if low[u] == index[u]:
                while True:
                    kept -= 1
                    v = stack[kept]
                    label[v] = found
                    if v == u:
                        break
                found += 1
    return found


@njit(cache=True, nogil=True)
def biconnected(offsets: Any, targets: Any, tails: Any, heads: Any, ends: Any, cuts: Any) -> Any:
    """Split the edges into biconnected components by a depth-first search.

    `tails` and `heads` receive the edges of one component after another, `ends` where each ends,
    and `cuts` the vertices that separate components, as they are found. Returns the numbers of
    edges, components and separations.
    """
    n = offsets.size - 1
    seen = np.full(n, -1, np.int64)
    low, slots, index = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    path, up = np.empty(n + 1, np.int64), np.full(n, -1, np.int64)
    kept_tail, kept_head = np.empty(targets.size, np.int64), np.empty(targets.size, np.int64)
    edges, found, apart = 0, 0, 0
    for start in range(n):
        if seen[start] >= 0:
            continue
        clock, deep, kept, children = 1, 1, 0, 0
        seen[start] = low[start] = 0
        path[0], slots[start], up[start] = start, offsets[start], start
        while deep > 0:
            u = path[deep - 1]
            if slots[u] < offsets[u + 1]:
                v = targets[slots[u]]
                slots[u] += 1
                if v == up[u]:
                    continue
                if seen[v] >= 0:
                    if seen[v] <= seen[u]:
                        low[u] = min(low[u], seen[v])
                        kept_tail[kept], kept_head[kept] = u, v
                        kept += 1
                else:
                    seen[v] = low[v] = clock
                    clock += 1
                    path[deep], slots[v], up[v] = v, offsets[v], u
                    deep += 1
                    index[v] = kept
                    kept_tail[kept], kept_head[kept] = u, v
                    kept += 1
                continue
            deep -= 1
            if deep == 0:
                break
            above = path[deep - 1]
            if deep == 1:
                children += 1
            elif low[u] >= seen[above]:
                cuts[apart] = above
                apart += 1
            if deep == 1 or low[u] >= seen[above]:
                for k in range(index[u], kept):
                    tails[edges], heads[edges] = kept_tail[k], kept_head[k]
                    edges += 1
                kept = index[u]
                ends[found] = edges
                found += 1
            low[above] = min(low[u], low[above])
        if children > 1:
            cuts[apart] = start
            apart += 1
    return edges, found, apart


@njit(cache=True, nogil=True)
def generations(offsets: Any, targets: Any, order: Any, starts: Any) -> int:
    """Order an acyclic graph by generations; return how many there are.

    `order` receives the vertices, `starts` (n + 1 places) where each generation begins; a graph
    with a cycle leaves vertices out.
    """
    n = offsets.size - 1
    missing = np.zeros(n, np.int64)
    for v in targets:
        missing[v] += 1
    count = 0
    for v in range(n):
        if missing[v] == 0:
            order[count] = v
            count += 1
    found, begin = 0, 0
    starts[0] = 0
    while begin < count:
        end = count
        for k in range(begin, end):
            u = order[k]
            for slot in range(offsets[u], offsets[u + 1]):
                v = targets[slot]
                missing[v] -= 1
                if missing[v] == 0:
                    order[count] = v
                    count += 1
        found += 1
        starts[found] = end
        begin = end
    return found


@njit(cache=True, nogil=True)
def longest_paths(
    in_offsets: Any, in_sources: Any, weights: Any, order: Any, length: Any, before: Any
) -> None:
    """Fill in the longest path to every vertex of an acyclic graph, by its order.

    A path that would be negative starts again; `before` is then the vertex itself.
    """
    for v in order:
        best, via = 0.0, v
        for slot in range(in_offsets[v], in_offsets[v + 1]):
            longer = length[in_sources[slot]] + weights[slot]
            if slot == in_offsets[v] or longer > best:
                best, via = longer, in_sources[slot]
        if best < 0:
            best, via = 0.0, v
        length[v], before[v] = best, via


@njit(cache=True, nogil=True)
def peel(offsets: Any, targets: Any, layer: Any, order: Any) -> None:
    """Number the layers of an undirected graph, outermost first; `layer` comes as 0.

    Vertices without edges are a layer of their own. A layer has all whose degree is at most that of
    the present core.
    """
    n = offsets.size - 1
    degree = offsets[1:] - offsets[:-1]
    count, number, core = 0, 1, 1
    for v in range(n):
        if degree[v] == 0:
            layer[v] = number
            order[count] = v
            count += 1
    if count:
        number = 2
    while count < n:
        least = n
        for v in range(n):
            if layer[v] == 0:
                least = min(least, degree[v])
        core = max(core, least)
        begin = count
        for d in range(core + 1):
            for v in range(n):
                if layer[v] == 0 and degree[v] == d:
                    layer[v] = -1
                    order[count] = v
                    count += 1
        for k in range(begin, count):
            v = order[k]
            layer[v] = number
            for slot in range(offsets[v], offsets[v + 1]):
                degree[targets[slot]] -= 1
        number += 1


@njit(cache=True, nogil=True)
def drop_open_edges(
    offsets: Any, targets: Any, rows: Any, partner: Any, alive: Any, least: int
) -> None:
    """Drop edges of sorted rows that close fewer triangles, until none is left that does."""
    dropping = True
    doomed = np.zeros(targets.size, np.bool_)
    while dropping:
        dropping = False
        for slot in range(targets.size):
            u, v = rows[slot], targets[slot]
            if not alive[slot] or u > v:
                continue
            a, b, found = offsets[u], offsets[v], 0
            while a < offsets[u + 1] and b < offsets[v + 1]:
                x, y = targets[a], targets[b]
                found += x == y and alive[a] and alive[b]
                a += x <= y
                b += y <= x
            if found < least:
                doomed[slot] = True
                dropping = True
        if dropping:
            for slot in range(targets.size):
                if doomed[slot]:
                    doomed[slot] = alive[slot] = alive[partner[slot]] = False
