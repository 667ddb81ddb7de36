"""The cycle model: executes instruction streams warp by warp, and tells what they took.

Streams are really executed: registers and memory hold values, branches follow them, and caches see
the addresses. Each core issues one instruction of one warp per cycle, in the order of cycles over
all cores; what an instruction needs is known by the scoreboard of its registers.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from typing import Any

import numba
import numpy as np

from weft.backends.cpu.host.lean_numba import compiling, inner
from weft.errors import FaultError
from weft.weaver import alu
from weft.weaver.caches import Caches, empty_caches, load_line, store_line
from weft.weaver.faults import Fault, WeaverError
from weft.weaver.machine import CAUSES, COUNTS, Counters, Machine, place
from weft.weaver.stream import ALU, ATOMIC, OP, TYPE, Kernel, Phase
from weft.weaver.unit_timing import OPEN, Units, empty_units, pass_barrier, serve, skip

_jit = inner(error_model="numpy")
OUT_OF_RANGE, STUCK = 100, 101  # fault codes of the machine, beside those of the unit
(EXIT, JUMP, IF, ELSE, ENDIF, LOOP, PRED, ALL, LI, MOV, SPECIAL, LD, ST, ATOM, CAS, SMIN, SMAX, LDS,
 STS, UP, SHFL, BAR, WREG, WDEC, WLOC, WSKIP, EREG, EWAIT, EREAD,
) = range(29)  # fmt: skip
SELECT, CAST, BITCAST = OP["select"], OP["cast"], OP["bitcast"]
A_SUM, A_MIN, A_MAX, A_ANY, A_OR, A_AND, A_PROD = ATOMIC.values()
F32, F64 = TYPE["float32"], TYPE["float64"]
C = {name: k for k, name in enumerate(COUNTS)}
(N_INSTR, N_LANES, N_LINES, N_ATOM, N_SREAD, N_SWRITE, N_SHFL, N_BAR, N_REG, N_DEC, N_SKIP, N_EGHW,
 N_ITER) = (C[n] for n in (
    "instructions", "lane_instructions", "lines", "atomics", "shared_reads", "shared_writes",
    "shuffles", "barriers", "registrations", "decodes", "skips", "eghw_batches", "iterations",
))  # fmt: skip
W_NONE, W_ALU, W_MEM, W_SHARED, W_LSU, W_PORT, W_BAR, W_WEAVER, W_DONE = range(len(CAUSES))
(P_CPS, P_LINE, P_SHL, P_QUEUE, P_ALU, P_MUL, P_FPU, P_DIV, P_FUN, P_BARL, P_SHUF, P_BRANCH, P_ENT,
 P_TAB, P_AHEAD, P_WL, P_EOUT, P_ECPE) = (place(n) for n in (
    "cores_per_socket", "line_bytes", "shared_latency", "lsu_queue", "alu_latency", "mul_latency",
    "fpu_latency", "divide_latency", "function_latency", "barrier_latency", "shuffle_latency",
    "branch_latency", "entries", "table_latency", "read_ahead", "weaver_latency",
    "eghw_outstanding", "eghw_cycles_per_edge"))  # fmt: skip
DEPTH = 24  # splits and loops inside each other
NEVER = np.int64(1) << 60
SLOW = np.zeros(128, np.int8)  # by op: 1 division, 2 function, 3 multiplication
for _name in ("div", "floordiv", "mod"):
    SLOW[OP[_name]] = 1
for _op in range(alu.SQRT, alu.TANH + 1):
    SLOW[_op] = 2
for _name in ("pow", "hypot", "atan2"):
    SLOW[OP[_name]] = 2
SLOW[OP["mul"]] = 3


@_jit
def latency_of(op: Any, kind: Any, cfg: Any) -> Any:
    """Return the cycles from the issue of an elementwise op to its result."""
    slow = SLOW[op]
    if slow == 1:
        return cfg[P_DIV]
    if slow == 2:
        return cfg[P_FUN]
    if kind >= F32:
        return cfg[P_FPU]
    return cfg[P_MUL] if slow == 3 else cfg[P_ALU]


@_jit
def elementwise(
    op: Any, kind: Any, imm: Any, row: Any, mask: Any, r: Any, f: Any, lanes: Any
) -> None:
    """Execute an elementwise op on the registers of a warp."""
    d, a, b, c = row
    b2 = b if b >= 0 else a
    for k in range(lanes):
        if not mask >> k & 1:
            continue
        if op == SELECT:
            r[d, k] = r[b, k] if r[a, k] != 0 else r[c, k]
        elif op == CAST:
            if kind >= F32:
                x = f[a, k] if imm >= F32 else alu.int_to_float(r[a, k], imm)
                f[d, k] = np.float64(np.float32(x)) if kind == F32 else x
            elif imm >= F32:
                r[d, k] = alu.float_to_int(f[a, k], kind)
            else:
                r[d, k] = alu.wrapped(r[a, k], kind)
        elif kind >= F32:
            if alu.LT <= op <= alu.NE or op >= alu.ISNAN:
                r[d, k] = np.int64(alu.float_test(op, f[a, k], f[b2, k]))
            else:
                x = alu.float_op(op, f[a, k], f[b2, k])
                f[d, k] = np.float64(np.float32(x)) if kind == F32 else x
        else:
            x = alu.integer_op(op, r[a, k], r[b2, k], kind)
            tests = alu.LT <= op <= alu.NE
            r[d, k] = x if tests else alu.wrapped(x, kind)


@_jit
def combined(how: Any, kind: Any, old: Any, new: Any, fold: Any, fnew: Any) -> Any:
    """Return the bits that an atomic leaves, and the same as a float."""
    if how == A_ANY:
        return new, fnew
    if kind >= F32:
        if how == A_SUM:
            x = fold + fnew
        elif how == A_PROD:
            x = fold * fnew
        else:
            x = alu.float_op(alu.MINIMUM if how == A_MIN else alu.MAXIMUM, fold, fnew)
        if kind == F32:
            x = np.float64(np.float32(x))
        return np.int64(0), x
    op = alu.ADD
    if how == A_MIN:
        op = alu.MINIMUM
    elif how == A_MAX:
        op = alu.MAXIMUM
    elif how == A_OR:
        op = alu.OR
    elif how == A_AND:
        op = alu.AND
    elif how == A_PROD:
        op = alu.MUL
    return alu.wrapped(alu.integer_op(op, old, new, kind), kind), 0.0


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
def bank_conflicts(words: Any, mask: Any, lanes: Any) -> Any:
    """Return the cycles that a shared access takes: lanes that want different words of a bank."""
    most = 1
    for k in range(lanes):
        if mask >> k & 1:
            same = 1
            for j in range(k):
                if mask >> j & 1 and words[j] != words[k] and (words[j] - words[k]) % lanes == 0:
                    same += 1
            most = max(most, same)
    return most


@_jit
def eghw_batch(
    u: Any, eg: Any, eg_lines: Any, caches: Any, cfg: Any, core: Any, now: Any, lanes: Any,
    layout: Any, data: Any, counts: Any,
) -> Any:  # fmt: skip
    """Let the edge-gathering hardware make its next batch: return its cycle and its lanes.

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


@numba.njit(cache=True, error_model="numpy", nogil=True)
def run(
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
                port[core] = max(port[core], came) + 1
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


class Simulator:
    """A modelled GPU with its memory system; kernels run one after another.

    Parameters
    ----------
    machine
        Its parameters.
    traced
        How many instructions of each kernel are kept in `Counters.trace`.
    """

    def __init__(self, machine: Machine | None = None, traced: int = 0) -> None:
        self.machine = machine or Machine()
        self.traced = traced
        self.caches: Caches = empty_caches(self.machine)
        self.units: Units = empty_units(self.machine)

    def launch(
        self, kernel: Kernel, memory: Memory, eghw: Mapping[int, str] | None = None
    ) -> Counters:
        """Run a kernel on all warps of all cores and return what it took.

        Raises
        ------
        WeaverError
            If the unit met a fault.
        FaultError
            If an index was out of range, or no warp could go on.
        """
        m = self.machine
        bufs = memory.table(kernel.buffers)
        names = [] if eghw is None else [eghw[k] for k in sorted(eghw)]
        layout = np.array([memory.table([n])[0][:3] for n in names] or [[0, 0, 0]], np.int64)
        fresh = empty_caches(m)  # times begin again with each launch, contents stay
        self.caches = fresh._replace(
            tag1=self.caches.tag1, tag2=self.caches.tag2, tag3=self.caches.tag3,
            dirty2=self.caches.dirty2,
        )  # fmt: skip
        self.units = empty_units(m)
        total = m.cores * m.warps
        regs = np.zeros((total, kernel.registers, m.threads), np.int64)
        shared = np.zeros((m.cores, max(m.shared_words, kernel.shared_words)), np.int64)
        result = Counters()
        reads = np.zeros(max(1, len(kernel.buffers)), np.int64)
        trace = np.zeros((self.traced, 6), np.int64)
        fault = np.zeros(4, np.int64)
        began = time.process_time()
        with contextlib.nullcontext() if run.signatures else compiling():
            cycles = run(
                kernel.code, kernel.constants, m.vector(), (m.cores, m.warps, m.threads), bufs,
                memory.words, memory.words.view(np.float64), regs, regs.view(np.float64), shared,
                self.units, self.caches, layout, result.counts, result.phases, result.stalls,
                result.idle, reads, trace, fault,
            )  # fmt: skip
        result.seconds = time.process_time() - began
        if cycles < 0:
            raise _fault(kernel, fault)
        result.cycles = int(cycles) + m.launch_cycles
        result.phases[Phase.INIT] += m.launch_cycles * m.cores
        result.kernels = 1
        result.reads = {name: int(n) for name, n in zip(kernel.buffers, reads, strict=False)}
        if self.traced:
            result.trace = [trace[: int(fault[3])]]
        return result


def _fault(kernel: Kernel, found: Any) -> FaultError:
    code, warp, buffer = int(found[0]), int(found[1]), int(found[2])
    if code == OUT_OF_RANGE:
        name = kernel.buffers[buffer] if buffer >= 0 else "shared memory"
        return FaultError(
            f"index out of range: {name} in {kernel.name}, warp {warp}. Expected every index of a "
            "program to be valid wherever it runs; guard the value that is not."
        )
    if code == STUCK:
        return FaultError(f"no warp of {kernel.name} can go on: a barrier was not reached by all.")
    return WeaverError(Fault(code), warp)


class Memory:
    """The global memory of a run: named buffers of one word per element.

    `words` holds the elements of all buffers; addresses, which the caches see, follow from the
    widths that the elements would have.
    """

    ALIGNMENT = 256

    def __init__(self) -> None:
        self.words: Any = np.zeros(0, np.int64)
        self._where: dict[str, tuple[int, int, int, int, np.dtype[Any]]] = {}
        self._parts: list[Any] = []
        self._next_word = self._next_byte = 0

    def add(self, name: str, array: Any, nbytes: int | None = None) -> None:
        """Lay out an array under a name; `nbytes` is the width of an element, if not its own."""
        flat = np.ascontiguousarray(array).reshape(-1)
        size = nbytes or flat.dtype.itemsize
        self._where[name] = (self._next_word, self._next_byte, size, flat.size, flat.dtype)
        self._parts.append(as_words(flat))
        self._next_word += flat.size
        step = -(-flat.size * size // self.ALIGNMENT) + 1
        self._next_byte += step * self.ALIGNMENT

    def seal(self) -> None:
        """Make the memory of what was added."""
        self.words = np.concatenate([self.words, *self._parts]) if self._parts else self.words
        self._parts = []

    def __contains__(self, name: str) -> bool:
        return name in self._where

    def get(self, name: str) -> Any:
        """Return the elements of a buffer in their own dtype."""
        start, _, _, count, dtype = self._where[name]
        words = self.words[start : start + count]
        if dtype.kind == "f":
            return words.view(np.float64).astype(dtype)
        return words.view(np.uint64).astype(dtype) if dtype == np.uint64 else words.astype(dtype)

    def set(self, name: str, array: Any) -> None:
        """Replace the elements of a buffer."""
        start, _, _, count, dtype = self._where[name]
        self.words[start : start + count] = as_words(np.asarray(array, dtype).reshape(-1))

    def table(self, names: list[str]) -> Any:
        """Return first word, address, width and length of buffers, in the order of their names."""
        rows = [self._where[name][:4] for name in names]
        return np.array(rows or [(0, 0, 1, 0)], np.int64)


def as_words(flat: Any) -> Any:
    """Return elements as the words that registers hold."""
    if flat.dtype.kind == "f":
        return flat.astype(np.float64).view(np.int64)
    if flat.dtype == np.uint64:
        return flat.view(np.int64)
    return flat.astype(np.int64)
