"""The unit inside the cycle model: when each decode is answered, and with which ids.

The same machine as `weft.weaver.unit`, followed from one decode to the next instead of cycle by
cycle; a test compares the cycles of both. Requests at the memory port that come at the same time
are not modelled here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

from weft.backends.cpu.host.lean_numba import inner
from weft.weaver.machine import Machine

_jit = inner(error_model="numpy")
_called = numba.njit(cache=True, error_model="numpy")  # by Python as well
# Numbers of a unit's state.
(STATE, CLOCK, OPEN, EXPECTED, ENDED, VID, LOC, DEG, NEXT_ROW, ROW, POSITION, READY, AT_WARPS,
 NEXT_SKIP, SKIPPED, FIELDS) = range(16)  # fmt: skip
IDLE, WAITING, OVER = 0, 6, 8  # S0, S6 and S8
NOWHERE = np.int64(1) << 60


class Units(NamedTuple):
    """The units of all cores."""

    vid: Any  # core, entry
    loc: Any
    deg: Any
    written: Any  # core, row: whether it was registered in this round
    state: Any  # core, field
    out_vid: Any  # core, lane
    out_eid: Any
    dense: Any  # core, warp, lane
    held: Any  # core, warp
    skipped: Any  # core, number


def empty_units(m: Machine) -> Units:
    """Return units before anything was registered."""
    tables = [np.zeros((m.cores, m.entries), np.int64) for _ in range(3)]
    outputs = [np.zeros((m.cores, m.threads), np.int64) for _ in range(2)]
    state = np.zeros((m.cores, FIELDS), np.int64)
    return Units(  # type: ignore[call-arg]
        *tables, np.zeros((m.cores, m.entries // m.threads), np.int8), state, *outputs,
        np.zeros((m.cores, m.warps, m.threads), np.int64), np.zeros((m.cores, m.warps), np.int8),
        np.full((m.cores, m.skips), -1, np.int64),
    )  # fmt: skip


@_called
def pass_barrier(u: Any, core: Any, now: Any, warps: Any, latency: Any) -> None:
    """Open the round: the first row of the table is asked for."""
    s = u.state[core]
    s[STATE], s[OPEN], s[EXPECTED], s[ENDED], s[CLOCK] = IDLE, 1, warps, 0, now
    s[DEG], s[ROW], s[POSITION] = 0, -1, 0
    s[NEXT_ROW] = next_row(u, core, 0)
    s[READY] = now + 5 + latency


@_jit
def next_row(u: Any, core: Any, row: Any) -> Any:
    """Return the first row from `row` on that was registered, or -1."""
    for r in range(row, u.written.shape[1]):
        if u.written[core, r]:
            return r
    return -1


@_jit
def next_entry(u: Any, core: Any, lanes: Any) -> Any:
    """Return the next entry of the current row with a degree, or -1."""
    s = u.state[core]
    if s[ROW] < 0:
        return -1
    for lane in range(s[POSITION], lanes):
        if u.deg[core, s[ROW] * lanes + lane] > 0:
            return lane
    return -1


@_jit
def fetch(u: Any, core: Any, now: Any, lanes: Any, latency: Any, ahead: Any) -> Any:
    """S1, S3 from cycle `now`: return the cycle of the next state, and whether an entry was found.

    The cycle is that in which S1 or S3 sees the entry, or sees that there is none.
    """
    s = u.state[core]
    while True:
        lane = next_entry(u, core, lanes)
        if lane >= 0:
            s[POSITION] = lane + 1
            entry = s[ROW] * lanes + lane
            s[VID], s[LOC], s[DEG] = u.vid[core, entry], u.loc[core, entry], u.deg[core, entry]
            for k in range(u.skipped.shape[1]):
                if u.skipped[core, k] == s[VID]:
                    s[DEG] = 0
            return now, True
        if s[NEXT_ROW] < 0:
            return now, False
        if not ahead:
            s[READY] = now + 4 + latency
        now = max(now, s[READY])
        s[ROW], s[POSITION] = s[NEXT_ROW], 0
        s[NEXT_ROW] = next_row(u, core, s[ROW] + 1)
        s[READY] = now + 5 + latency  # asked for as soon as the bank is free
        now += 1


@_called
def serve(u: Any, core: Any, warp: Any, asked: Any, lanes: Any, latency: Any, ahead: Any) -> Any:
    """Serve a decode that came in cycle `asked`: return the cycle of the answer and its lanes."""
    s = u.state[core]
    now = max(s[CLOCK], asked + 1)
    fill = 0
    state = s[STATE]
    exhausted = next_entry(u, core, lanes) < 0 and s[NEXT_ROW] < 0
    if state == IDLE:
        now, some = fetch(u, core, now + 1, lanes, latency, ahead)
        now += 1
        state = 2 if some else 7
    elif state == WAITING:
        state = 7 if s[DEG] == 0 and exhausted else 2
        now += 1
    while state == 2:
        count = min(s[DEG], lanes - fill)
        for k in range(count):
            u.out_vid[core, fill + k] = s[VID]
            u.out_eid[core, fill + k] = s[LOC] + k
        fill += count
        s[LOC] += count
        s[DEG] -= count
        now += 1
        if fill == lanes:
            state = 5
        elif next_entry(u, core, lanes) < 0 and s[NEXT_ROW] < 0:
            state = 7
        else:
            now, some = fetch(u, core, now, lanes, latency, ahead)
            now += 2 if some else 1
            state = 2 if some else 7
    if state == 7 and fill == 0:
        now += 1
        state = OVER
    if state == OVER:
        u.held[core, warp] = 0
        s[ENDED] += 1
        s[CLOCK] = now + 1
        s[STATE] = OVER
        if s[ENDED] == s[EXPECTED]:
            s[STATE], s[OPEN] = IDLE, 0
            for r in range(u.written.shape[1]):
                u.written[core, r] = 0
            for k in range(u.skipped.shape[1]):
                u.skipped[core, k] = -1
            s[NEXT_SKIP] = 0
        return now, 0
    for k in range(lanes):
        u.dense[core, warp, k] = u.out_eid[core, k] if k < fill else 0
    u.held[core, warp] = 1
    s[CLOCK] = now + 1
    s[STATE] = WAITING if state == 5 else OVER
    return now, fill


@_called
def skip(u: Any, core: Any, vid: Any) -> None:
    """Drop what is left of a vertex."""
    s = u.state[core]
    if s[OPEN] == 0:
        return
    if s[VID] == vid:
        s[DEG] = 0
    for k in range(u.skipped.shape[1]):
        if u.skipped[core, k] == vid:
            return
    u.skipped[core, s[NEXT_SKIP]] = vid
    s[NEXT_SKIP] = (s[NEXT_SKIP] + 1) % u.skipped.shape[1]
