"""Memory accesses of warps: coalescing, and the edge-gathering hardware. Compiled by Numba."""

from __future__ import annotations

from typing import Any

from weft.backends.cpu.host.lean_numba import inner
from weft.weaver.caches import load_line, store_line
from weft.weaver.machine import COUNTS, place

_jit = inner(error_model="numpy")
N_LINES = COUNTS.index("lines")
P_LINE, P_ECPE = place("line_bytes"), place("eghw_cycles_per_edge")


@_jit
def touch(
    caches: Any, cfg: Any, core: Any, now: Any, place_: Any, mask: Any, how: Any, lanes: Any,
    lines: Any, counts: Any,
) -> Any:  # fmt: skip
    """Coalesce the addresses of a warp into lines and send them; `how`: 0 load, 1 store, 2 atomic.

    Returns the cycle in which the last one has come, and the number of lines. Lanes that change
    one word of a line atomically follow each other; different words of it change at once.
    """
    size, count, done = cfg[P_LINE], 0, now
    for k in range(lanes):
        if mask >> k & 1:
            line = place_[k] // size
            known = False
            for j in range(count):
                if lines[j] == line:
                    known = True
                    break
            if not known:
                lines[count] = line
                count += 1
    for j in range(count):
        line = lines[j]
        if how == 0:
            came = load_line(caches, cfg, core, line, now + j, counts)
        else:
            busy = 1
            if how == 2:
                for k in range(lanes):
                    if mask >> k & 1 and place_[k] // size == line:
                        same = 0
                        for i in range(k, lanes):
                            if mask >> i & 1 and place_[i] == place_[k]:
                                same += 1
                        busy = max(busy, same)
            came = store_line(caches, cfg, core, line, now + j, busy, counts)
        done = max(done, came)
    counts[N_LINES] += count
    return done, count


@_jit
def eghw_batch(
    u: Any, eg: Any, eg_lines: Any, caches: Any, cfg: Any, core: Any, now: Any, lanes: Any,
    layout: Any, data: Any, counts: Any,
) -> Any:  # fmt: skip
    """Form the next batch of the edge-gathering hardware: return its cycle and its lanes.

    `eg` holds: the cycle, the entry, the slot, the end of the row, whether the offsets are read.
    Reads have `eghw_outstanding` places in flight; a row's edges wait for its offsets.
    """
    clock, entry, slot, end = eg[core, 0], eg[core, 1], eg[core, 2], eg[core, 3]
    clock = max(clock, now)
    fill, done = 0, clock
    line_bytes = cfg[P_LINE]
    window = eg_lines.shape[1]
    while fill < lanes:
        if slot >= end:
            while entry < u.deg.shape[1] and not (
                u.written[core, entry // lanes] and u.deg[core, entry] > 0
            ):
                entry += 1
            if entry == u.deg.shape[1]:
                break
            row = u.loc[core, entry]
            base = layout[0, 1] + row * layout[0, 2]
            k = eg[core, 4] % window
            clock = max(clock, eg_lines[core, k])
            came = load_line(caches, cfg, core, base // line_bytes, clock, counts)
            eg_lines[core, k] = came
            eg[core, 4] += 1
            clock = max(clock + 1, came)
            slot, end = data[layout[0, 0] + row], data[layout[0, 0] + row + 1]
            eg[core, 5] = u.vid[core, entry]
            entry += 1
            continue
        for which in range(1, layout.shape[0]):  # targets, and data of the edges
            address = layout[which, 1] + slot * layout[which, 2]
            if fill == 0 or address % line_bytes < layout[which, 2] or slot == eg[core, 6]:
                k = eg[core, 4] % window
                clock = max(clock, eg_lines[core, k])
                came = load_line(caches, cfg, core, address // line_bytes, clock, counts)
                eg_lines[core, k] = came
                eg[core, 4] += 1
                done = max(done, came)
        u.out_vid[core, fill] = eg[core, 5]
        u.out_eid[core, fill] = slot
        slot += 1
        fill += 1
        clock += cfg[P_ECPE]
    eg[core, 0], eg[core, 1], eg[core, 2], eg[core, 3] = clock, entry, slot, end
    return max(clock, done) + 3, fill  # ids, edges and data go back to the buffer row by row
