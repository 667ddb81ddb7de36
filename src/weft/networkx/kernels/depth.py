"""Compiled: depth-first search as the sequence of its steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.storage.compiled import njit


@njit(cache=True, nogil=True)
def depth_first(
    offsets: Any, targets: Any, starts: Any, limit: int, us: Any, vs: Any, kind: Any
) -> int:
    """Search depth first from each start in turn; return how many steps there were.

    Kinds of steps: 0 forward, 1 to a vertex known already, 2 back, 3 back because of the limit.
    """
    n = offsets.size - 1
    known, place = np.zeros(n, np.bool_), np.empty(n, np.int64)
    stack = np.empty(n + 1, np.int64)
    count = 0
    for s in starts:
        if known[s]:
            continue
        known[s] = True
        us[count], vs[count], kind[count] = s, s, 0
        count += 1
        stack[0], place[s] = s, offsets[s]
        depth, now = 1, 1
        while depth > 0:
            u = stack[depth - 1]
            if place[u] == offsets[u + 1]:
                depth -= 1
                now -= 1
                if depth > 0:
                    us[count], vs[count], kind[count] = stack[depth - 1], u, 2
                    count += 1
                continue
            v = targets[place[u]]
            place[u] += 1
            us[count], vs[count], kind[count] = u, v, 1 if known[v] else 0
            count += 1
            if known[v]:
                continue
            known[v] = True
            if now < limit:
                stack[depth], place[v] = v, offsets[v]
                depth += 1
                now += 1
            else:
                us[count], vs[count], kind[count] = u, v, 3
                count += 1
        us[count], vs[count], kind[count] = s, s, 2
        count += 1
    return count
