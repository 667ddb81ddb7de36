"""The memory system of the modelled GPU: caches, MSHRs, DRAM channels. Compiled by Numba.

A request is followed to its end when it is issued: each bank, MSHR and channel keeps the cycle
from which it is free, so the answer is known at once. Requests come in the order of their cycles.
Banks and channels count what they have taken from the cycle in which a core issued a request, not
from the one in which it arrives: one that waits for an MSHR does not hold up others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from weft.backends.cpu.host.lean_numba import inner
from weft.weaver.machine import COUNTS, Machine, place

_jit = inner(error_model="numpy")
L1H, L1M, L2H, L2M, L3H, L3M, DRAM = (
    COUNTS.index(n)
    for n in ("l1_hits", "l1_misses", "l2_hits", "l2_misses", "l3_hits", "l3_misses", "dram_lines")
)
(P_LINE, P_L1W, P_L2W, P_BANKS, P_L3W, P_L1T, P_L2T, P_L3T, P_DT, P_CH, P_BPC, P_RATIO, P_CPS,
 P_L3B) = (place(n) for n in (
    "line_bytes", "l1_ways", "l2_ways", "l2_banks", "l3_ways", "l1_latency", "l2_latency",
    "l3_latency", "dram_latency", "dram_channels", "dram_bytes_per_cycle", "clock_ratio",
    "cores_per_socket", "l3_bytes"))  # fmt: skip


class Level(NamedTuple):
    """The lines of one level: their tags, the cycle in which each arrives, and its last use."""

    tag: Any
    fill: Any
    used: Any


class Caches(NamedTuple):
    """The state of the memory system."""

    l1: Level  # by core, set, way
    l2: Level  # by set, way
    dirty2: Any
    l3: Level
    mshr1: Any  # by core and number: the cycle from which it is free
    mshr2: Any
    bank: Any  # of L2: the cycle from which it is free
    channel: Any


def sets_of(size: int, line: int, ways: int) -> int:
    """Return the sets of a cache; one that has no bytes has one set, which is never hit."""
    return max(1, size // (line * ways))


def empty_caches(m: Machine) -> Caches:
    """Return the memory system before anything was read."""
    one = (m.cores, sets_of(m.l1_bytes, m.line_bytes, m.l1_ways), m.l1_ways)
    two = (sets_of(m.l2_bytes, m.line_bytes, m.l2_ways), m.l2_ways)
    three = (sets_of(m.l3_bytes, m.line_bytes, m.l3_ways), m.l3_ways)

    def level(shape: tuple[int, ...]) -> Level:
        empty = np.full(shape, -1, np.int64)
        return Level(empty, np.zeros(shape, np.int64), np.zeros(shape, np.int64))

    return Caches(
        level(one), level(two), np.zeros(two, np.int8), level(three),
        np.zeros((m.cores, m.mshrs), np.int64), np.zeros(m.l2_mshrs, np.int64),
        np.zeros(m.l2_banks, np.int64), np.zeros(m.dram_channels, np.int64),
    )  # fmt: skip


@_jit
def victim(tags: Any, used: Any) -> Any:
    """Return the way that a new line takes: the one that was not used for longest."""
    best = 0
    for way in range(tags.shape[0]):
        if tags[way] < 0:
            return way
        if used[way] < used[best]:
            best = way
    return best


@_jit
def found(tags: Any, line: Any) -> Any:
    """Return the way that holds a line, or -1."""
    for way in range(tags.shape[0]):
        if tags[way] == line:
            return way
    return -1


@_jit
def free_slot(slots: Any) -> Any:
    """Return the MSHR that is free first."""
    best = 0
    for k in range(slots.shape[0]):
        if slots[k] < slots[best]:
            best = k
    return best


@_jit
def dram(c: Any, cfg: Any, line: Any, issued: Any, now: Any, counts: Any) -> Any:
    """Return the cycle in which a line of the DRAM has come."""
    counts[DRAM] += 1
    channel = line % cfg[P_CH]
    free = max(issued, c.channel[channel])
    c.channel[channel] = free + max(1, cfg[P_LINE] * cfg[P_RATIO] // (1000 * cfg[P_BPC]))
    begin = max(now, free)
    return begin + cfg[P_DT] * cfg[P_RATIO] // 1000


@_jit
def beyond_l2(c: Any, cfg: Any, line: Any, issued: Any, now: Any, counts: Any) -> Any:
    """Return the cycle in which a line that L2 lacks has come from L3 or the DRAM."""
    if cfg[P_L3B] == 0:
        return dram(c, cfg, line, issued, now, counts)
    s = line % c.l3.tag.shape[0]
    way = found(c.l3.tag[s], line)
    if way >= 0:
        counts[L3H] += 1
        c.l3.used[s, way] = now
        return max(now + cfg[P_L3T], c.l3.fill[s, way])
    counts[L3M] += 1
    done = dram(c, cfg, line, issued, now + cfg[P_L3T], counts)
    way = victim(c.l3.tag[s], c.l3.used[s])
    c.l3.tag[s, way], c.l3.fill[s, way], c.l3.used[s, way] = line, done, now
    return done


@_jit
def at_l2(
    c: Any, cfg: Any, line: Any, issued: Any, now: Any, busy: Any, write: Any, counts: Any
) -> Any:
    """Return the cycle in which L2 has served a line; its bank is busy for `busy` cycles."""
    bank = line % cfg[P_BANKS]
    free = max(issued, c.bank[bank])
    c.bank[bank] = free + busy
    begin = max(now, free)
    if c.l2.tag.shape[0] == 1:  # there is no L2
        return beyond_l2(c, cfg, line, issued, begin, counts)
    s = line % c.l2.tag.shape[0]
    way = found(c.l2.tag[s], line)
    if way >= 0:
        counts[L2H] += 1
        c.l2.used[s, way] = begin
        if write:
            c.dirty2[s, way] = 1
        return max(begin + cfg[P_L2T], c.l2.fill[s, way])
    counts[L2M] += 1
    slot = free_slot(c.mshr2)
    begin = max(begin + cfg[P_L2T], c.mshr2[slot])
    done = beyond_l2(c, cfg, line, issued, begin, counts)
    c.mshr2[slot] = done
    way = victim(c.l2.tag[s], c.l2.used[s])
    if c.dirty2[s, way] and c.l2.tag[s, way] >= 0:  # written back: delays no request
        dram(c, cfg, c.l2.tag[s, way], issued, begin, counts)
    c.l2.tag[s, way], c.l2.fill[s, way], c.l2.used[s, way] = line, done, begin
    c.dirty2[s, way] = write
    return done


@_jit
def load_line(c: Any, cfg: Any, core: Any, line: Any, now: Any, counts: Any) -> Any:
    """Return the cycle in which a line that a core loads has come."""
    s = line % c.l1.tag.shape[1]
    way = found(c.l1.tag[core, s], line)
    if way >= 0:
        counts[L1H] += 1
        c.l1.used[core, s, way] = now
        return max(now + cfg[P_L1T], c.l1.fill[core, s, way])
    counts[L1M] += 1
    slot = free_slot(c.mshr1[core])
    begin = max(now + cfg[P_L1T], c.mshr1[core, slot])
    done = at_l2(c, cfg, line, now, begin, 1, 0, counts)
    c.mshr1[core, slot] = done
    way = victim(c.l1.tag[core, s], c.l1.used[core, s])
    c.l1.tag[core, s, way], c.l1.fill[core, s, way], c.l1.used[core, s, way] = line, done, now
    return done


@_jit
def store_line(c: Any, cfg: Any, core: Any, line: Any, now: Any, busy: Any, counts: Any) -> Any:
    """Write a line through to L2, or let L2 combine it; return the cycle of the answer."""
    s = line % c.l1.tag.shape[1]
    way = found(c.l1.tag[core, s], line)
    if way >= 0:
        c.l1.tag[core, s, way] = -1  # read again after the write
    return at_l2(c, cfg, line, now, now + cfg[P_L1T], busy, 1, counts)
