"""The cycle model: executes instruction streams warp by warp, and counts their cycles.

Streams are actually executed: registers and memory hold values, branches follow them, and caches
see the addresses. Each core issues one instruction of one warp per cycle, in the order of cycles
over all cores; what an instruction needs is known by the scoreboard of its registers.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from weft.weaver import alu
from weft.weaver.faults import Fault
from weft.weaver.lanes import bank_conflicts, combined, elementwise, latency_of
from weft.weaver.machine import CAUSES, COUNTS, place
from weft.weaver.stream import ALU, ATOMIC, OP, TYPE
from weft.weaver.traffic import eghw_batch, touch
from weft.weaver.unit_timing import OPEN, pass_barrier, serve, skip

OUT_OF_RANGE, STUCK = 100, 101  # fault codes of the machine, beside those of the unit
(EXIT, JUMP, IF, ELSE, ENDIF, LOOP, PRED, ALL, LI, MOV, SPECIAL, LD, ST, ATOM, CAS, SMIN, SMAX, LDS,
 STS, UP, SHFL, BAR, WREG, WDEC, WLOC, WSKIP, EREG, EWAIT, EREAD,
) = range(29)  # fmt: skip
BITCAST = OP["bitcast"]
A_ANY = ATOMIC["any"]
F32 = TYPE["float32"]
C = {name: k for k, name in enumerate(COUNTS)}
(N_INSTR, N_LANES, N_ATOM, N_SREAD, N_SWRITE, N_SHFL, N_BAR, N_REG, N_DEC, N_SKIP, N_EGHW,
 N_ITER) = (C[n] for n in (
    "instructions", "lane_instructions", "atomics", "shared_reads", "shared_writes",
    "shuffles", "barriers", "registrations", "decodes", "skips", "eghw_batches", "iterations",
))  # fmt: skip
W_NONE, W_ALU, W_MEM, W_SHARED, W_LSU, W_PORT, W_BAR, W_WEAVER, W_DONE = range(len(CAUSES))
(P_SHL, P_QUEUE, P_BARL, P_SHUF, P_BRANCH, P_ENT, P_TAB, P_AHEAD, P_WL, P_EOUT) = (
    place(n) for n in (
        "shared_latency", "lsu_queue", "barrier_latency", "shuffle_latency", "branch_latency",
        "entries", "table_latency", "read_ahead", "weaver_latency", "eghw_outstanding",
    )
)  # fmt: skip
DEPTH = 24  # splits and loops inside each other
NEVER = np.int64(1) << 60


@numba.njit(cache=True, error_model="numpy", nogil=True)
def run(  # noqa: C901, PLR0915 -- one loop: a call for each instruction costs more than it
    code: Any, consts: Any, cfg: Any, shape: Any, bufs: Any, data: Any, fdata: Any, regs: Any,
    fregs: Any, shared: Any, u: Any, caches: Any, layout: Any, counts: Any, phases: Any,
    stalls: Any, idle: Any, reads: Any, trace: Any, found: Any,
) -> Any:  # fmt: skip
    """Run a kernel on all warps of all cores; return the cycle in which the last one ended."""
    cores, warps, lanes = shape
    total = cores * warps
    full = (np.uint64(1) << np.uint64(lanes)) - np.uint64(1) if lanes < 64 else ~np.uint64(0)
    n_regs = regs.shape[1]
    ready = np.zeros((total, n_regs), np.int64)
    why = np.zeros((total, n_regs), np.int8)
    pc = np.zeros(total, np.int64)
    mask_of = np.full(total, full, np.uint64)
    stack = np.zeros((total, DEPTH, 2), np.uint64)
    depth = np.zeros(total, np.int64)
    due = np.zeros(total, np.int64)  # when the next instruction of a warp may be issued
    cause = np.zeros(total, np.int8)
    since = np.zeros(total, np.int64)
    clock = np.zeros(cores, np.int64)
    last = np.zeros(cores, np.int64)
    lsu = np.zeros(cores, np.int64)
    port = np.zeros(cores, np.int64)
    live = np.full(cores, warps, np.int64)
    at_bar = np.zeros(cores, np.int64)
    np.zeros(cores, np.int64)
    eg = np.zeros((cores, 8), np.int64)
    eg_lines = np.zeros((cores, max(1, cfg[P_EOUT])), np.int64)
    place_ = np.zeros(lanes, np.int64)
    lines = np.zeros(lanes, np.int64)
    traced, done = 0, 0
    while True:
        core = -1
        for k in range(cores):
            if live[k] > 0 and (core < 0 or clock[k] < clock[core]):
                core = k
        if core < 0:
            break
        # The warp after the one before among those that may issue; else the one that is due first.
        w, soonest = -1, NEVER
        first = core * warps
        for k in range(1, warps + 1):
            at = first + (last[core] + k) % warps
            if due[at] <= clock[core]:
                w = at
                break
            if due[at] < soonest:
                soonest, w = due[at], at
        now = max(clock[core], due[w])
        if now >= NEVER:
            found[0], found[1] = STUCK, w
            return -1
        op, d, a, b, c, imm, kind, phase = code[pc[w]]
        memory = LD <= op <= SMAX
        later = now
        if memory and lsu[core] > now + cfg[P_QUEUE]:  # the queue is full: try again
            later, busy_with = lsu[core] - cfg[P_QUEUE], W_LSU
        elif (op in (WREG, EREG)) and u.state[core, OPEN] == 1:
            later, busy_with = now + 4, W_WEAVER  # the unit is still in the round before
        if later > now:
            due[w] = since[w] = later
            stalls[phase, busy_with] += later - now
            cause[w] = busy_with
            if now > clock[core]:
                phases[phase] += now - clock[core]
                idle[busy_with] += now - clock[core]
                clock[core] = now
            continue
        gap = now - clock[core]
        if gap > 0:
            idle[cause[w]] += gap
        phases[phase] += gap + 1
        if due[w] > since[w]:
            stalls[phase, cause[w]] += due[w] - since[w]
        clock[core] = now + 1
        last[core] = w - first
        mask = mask_of[w]
        r, f = regs[w], fregs[w]
        counts[N_INSTR] += 1
        n_on = 0
        m = mask
        while m:
            m &= m - np.uint64(1)
            n_on += 1
        counts[N_LANES] += n_on
        bits = np.int64(mask)
        if traced < trace.shape[0]:
            trace[traced, 0], trace[traced, 1] = core, w - first
            trace[traced, 2], trace[traced, 3], trace[traced, 4] = now, now + 1, phase
            trace[traced, 5] = op
            traced += 1
        went = pc[w] + 1
        next_due = now + 1
        blocked = W_NONE
        came, came_why = now + 1, W_ALU
        if op >= ALU:
            if op == BITCAST:
                for k in range(lanes):
                    if bits >> k & 1:
                        if kind == F32:
                            f[d, k] = np.float64(np.array(np.int32(r[a, k])).view(np.float32)[()])
                        elif imm == F32:
                            x = np.array(np.float32(f[a, k])).view(np.int32)[()]
                            r[d, k] = alu.wrapped(np.int64(x), kind)
                        else:
                            r[d, k] = r[a, k] if kind >= F32 else alu.wrapped(r[a, k], kind)
            else:
                elementwise(op, kind, imm, (d, a, b, c), bits, r, f, lanes)
            came = now + latency_of(op, kind, cfg)
        elif op == LD:
            start, base, size, length = bufs[imm]
            for k in range(lanes):
                if bits >> k & 1:
                    index = r[a, k]
                    if index < 0 or index >= length:
                        found[0], found[1], found[2] = OUT_OF_RANGE, w, imm
                        return -1
                    r[d, k] = data[start + index]
                    place_[k] = base + index * size
            reads[imm] += n_on
            issue = max(now, lsu[core])
            came, count = touch(caches, cfg, core, issue, place_, bits, 0, lanes, lines, counts)
            lsu[core] = issue + count
            came_why = W_MEM
        elif op in (ST, ATOM, CAS, SMIN, SMAX):
            which = imm & 0xFFFF
            start, base, size, length = bufs[which]
            how = imm >> 16 & 0xFF
            for k in range(lanes):
                if bits >> k & 1:
                    index = r[a, k]
                    if index < 0 or index >= length:
                        found[0], found[1], found[2] = OUT_OF_RANGE, w, which
                        return -1
                    at = start + index
                    place_[k] = base + index * size
                    if op == ST:
                        data[at] = r[b, k]
                    elif op == ATOM:
                        old = data[at]
                        x, y = combined(how, kind, old, r[b, k], fdata[at], f[b, k])
                        if kind >= F32 and how != A_ANY:
                            fdata[at] = y
                        else:
                            data[at] = x
                        if d >= 0:
                            r[d, k] = old
                    elif op == CAS:
                        old = data[at]
                        if old == r[b, k]:
                            data[at] = r[c, k]
                        r[d, k] = old
                    else:  # the key decides about the payload, as one operation
                        if kind >= F32:
                            better = f[b, k] < fdata[at] if op == SMIN else f[b, k] > fdata[at]
                        elif op == SMIN:
                            better = alu.below(r[b, k], data[at], kind)
                        else:
                            better = alu.below(data[at], r[b, k], kind)
                        if better:
                            data[at] = r[b, k]
                            other = bufs[imm >> 24]
                            data[other[0] + index] = r[c, k]
            issue = max(now, lsu[core])
            how = 1 if op == ST else 2
            if how == 2:
                counts[N_ATOM] += n_on
            came, count = touch(caches, cfg, core, issue, place_, bits, how, lanes, lines, counts)
            lsu[core] = issue + count
            came_why = W_MEM
        elif op == IF:
            taken = np.uint64(0)
            for k in range(lanes):
                if bits >> k & 1 and r[a, k] != 0:
                    taken |= np.uint64(1) << np.uint64(k)
            stack[w, depth[w], 0], stack[w, depth[w], 1] = mask, taken
            depth[w] += 1
            if taken == 0:
                went = imm
            mask_of[w] = taken if taken else mask
            next_due = now + cfg[P_BRANCH]
        elif op == ELSE:
            top = depth[w] - 1
            rest = stack[w, top, 0] & ~stack[w, top, 1]
            if rest == 0:
                went = imm
            else:
                mask_of[w] = rest
            next_due = now + cfg[P_BRANCH]
        elif op == ENDIF:
            depth[w] -= 1
            mask_of[w] = stack[w, depth[w], 0]
        elif op == LOOP:
            stack[w, depth[w], 0] = mask
            depth[w] += 1
        elif op == PRED:
            taken = np.uint64(0)
            for k in range(lanes):
                if bits >> k & 1 and r[a, k] != 0:
                    taken |= np.uint64(1) << np.uint64(k)
            if taken == 0:
                depth[w] -= 1
                mask_of[w] = stack[w, depth[w], 0]
                went = imm
            else:
                mask_of[w] = taken
                if phase == 3 or phase == 4:
                    counts[N_ITER] += 1
            next_due = now + cfg[P_BRANCH]
        elif op == JUMP:
            went = imm
            next_due = now + cfg[P_BRANCH]
        elif op == ALL:
            mask_of[w] = full
        elif op == LI:
            for k in range(lanes):
                r[d, k] = consts[imm]
        elif op == MOV:
            for k in range(lanes):
                if bits >> k & 1:
                    r[d, k] = r[a, k]
        elif op == SPECIAL:
            for k in range(lanes):
                values = (k, w - first, core, lanes, warps, cores)
                r[d, k] = values[imm]
        elif op in (LDS, STS):
            for k in range(lanes):
                if bits >> k & 1:
                    place_[k] = r[a, k] + imm
                    if place_[k] < 0 or place_[k] >= shared.shape[1]:
                        found[0], found[1], found[2] = OUT_OF_RANGE, w, -1
                        return -1
                    if op == LDS:
                        r[d, k] = shared[core, place_[k]]
                    else:
                        shared[core, place_[k]] = r[b, k]
            counts[N_SREAD if op == LDS else N_SWRITE] += n_on
            took = bank_conflicts(place_, bits, lanes)
            begin = max(now, port[core])
            port[core] = begin + took
            came, came_why = begin + took + cfg[P_SHL], W_SHARED
        elif op in (UP, SHFL):
            for k in range(lanes):
                place_[k] = r[a, k]
            for k in range(lanes):
                if bits >> k & 1:
                    source = k - imm if op == UP else r[b, k]
                    r[d, k] = place_[source] if 0 <= source < lanes else r[a, k]
            counts[N_SHFL] += 1
            came, came_why = now + cfg[P_SHUF], W_SHARED
        elif op == BAR:
            at_bar[core] += 1
            counts[N_BAR] += 1
            next_due, blocked = NEVER, W_BAR
        elif op in (WREG, EREG):
            slot = (w - first) * lanes
            bad = Fault.NONE.value
            if slot >= cfg[P_ENT]:
                bad = Fault.TABLE_OVERFLOW.value
            elif u.written[core, w - first]:
                bad = Fault.SECOND_REGISTRATION.value
            else:
                for k in range(lanes):
                    on = bits >> k & 1
                    if on and r[c, k] < 0:
                        bad = Fault.NEGATIVE_DEGREE.value
                    elif on and (r[a, k] < 0 or r[b, k] < 0 or r[a, k] >> 32 or r[b, k] >> 32):
                        bad = Fault.ID_TOO_WIDE.value
                    u.vid[core, slot + k] = r[a, k] if on else 0
                    u.loc[core, slot + k] = r[b, k] if on else 0
                    u.deg[core, slot + k] = r[c, k] if on else 0
                u.written[core, w - first] = 1
            if bad != 0:
                found[0], found[1] = bad, w - first
                return -1
            counts[N_REG] += n_on
            words = 3 if op == WREG else 1
            counts[N_SWRITE] += words * n_on
            port[core] = max(now, port[core]) + words
            next_due = max(next_due, port[core])
            came_why = W_PORT
            blocked = W_PORT
        elif op == WDEC:
            if u.state[core, OPEN] == 0:
                found[0], found[1] = Fault.DECODE_BEFORE_BARRIER.value, w - first
                return -1
            came, fill = serve(u, core, w - first, now, lanes, cfg[P_TAB], cfg[P_AHEAD])
            if fill > 0:
                port[core] = max(port[core], now) + 1  # a cycle of it, when the ids are there
                counts[N_SWRITE] += fill
            for k in range(lanes):
                r[d, k] = u.out_vid[core, k] if k < fill else -1
            counts[N_DEC] += 1
            came += cfg[P_WL]
            came_why = W_WEAVER
        elif op == WLOC:
            if u.held[core, w - first] == 0:
                found[0], found[1] = Fault.LOC_WITHOUT_ID.value, w - first
                return -1
            for k in range(lanes):
                if bits >> k & 1:
                    r[d, k] = u.dense[core, w - first, k]
            counts[N_SREAD] += n_on
            begin = max(now, port[core])
            port[core] = begin + 1
            came, came_why = begin + 1 + cfg[P_TAB] + cfg[P_WL], W_WEAVER
        elif op == WSKIP:
            for k in range(lanes):
                if bits >> k & 1:
                    skip(u, core, r[a, k])
            counts[N_SKIP] += n_on
        elif op == EWAIT:
            came, fill = eghw_batch(
                u, eg, eg_lines, caches, cfg, core, now, lanes, layout, data, counts
            )
            for k in range(lanes):
                r[d, k] = u.out_vid[core, k] if k < fill else -1
                u.dense[core, w - first, k] = u.out_eid[core, k]
            counts[N_EGHW] += 1
            counts[N_SREAD] += fill
            came_why = W_WEAVER
            if fill == 0:
                u.state[core, 4] += 1
                if u.state[core, 4] == u.state[core, 3]:
                    u.state[core, OPEN] = 0
                    for k in range(u.written.shape[1]):
                        u.written[core, k] = 0
                    eg[core, 1] = 0
                    eg[core, 2] = 0
                    eg[core, 3] = 0
        elif op == EREAD:
            for k in range(lanes):
                if bits >> k & 1:
                    slot = u.dense[core, w - first, k]
                    r[d, k] = slot if imm == 0 else data[layout[imm, 0] + slot]
            counts[N_SREAD] += n_on
            begin = max(now, port[core])
            port[core] = begin + 1
            came, came_why = begin + 1 + cfg[P_SHL], W_SHARED
        elif op == EXIT:
            live[core] -= 1
            next_due = NEVER
            done = max(done, now + 1)
        if d >= 0:
            ready[w, d] = came
            why[w, d] = came_why
        if op in (BAR, EXIT):
            due[w], since[w], cause[w] = NEVER, now + 1, W_BAR if op == BAR else W_DONE
            if op == BAR:
                pc[w] = went
            if at_bar[core] > 0 and at_bar[core] == live[core]:
                free = now + cfg[P_BARL]
                at_bar[core] = 0
                pass_barrier(u, core, free, live[core], cfg[P_TAB])
                eg[core, 0] = free
                for k in range(first, first + warps):
                    if cause[k] == W_BAR and due[k] == NEVER:
                        due[k] = free
            continue
        pc[w] = went
        # When the next instruction of the warp may go, and what it waits for.
        row = code[went]
        for j in range(1, 5):
            x = row[j]
            if x >= 0 and ready[w, x] > next_due:
                next_due, blocked = ready[w, x], why[w, x]
        due[w], since[w], cause[w] = next_due, now + 1, blocked
    for k in range(cores):
        idle[W_DONE] += done - clock[k]
    found[3] = traced
    return done
