"""Compiled: what NetworkX defines by a sequence, for one thread of the host.

Rows are searched in the order in which neighbours were added, so that trees, orders and the choice
among equal paths are NetworkX's own.
"""

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

    A path that would be negative begins anew; `before` is then the vertex itself.
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
    """Give each vertex in turn the least colour that no neighbour has; `color` comes as -1."""
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
    """Take vertices as they come, unless a neighbour was taken."""
    for u in order:
        if not blocked[u]:
            taken[u], blocked[u] = True, True
            for slot in range(offsets[u], offsets[u + 1]):
                blocked[targets[slot]] = True


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
