"""Computes the lanes of a warp, and counts the cycles. Compiled by Numba."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.backends.cpu.host.lean_numba import inner
from weft.weaver import alu
from weft.weaver.machine import place
from weft.weaver.stream import ATOMIC, OP, TYPE

_jit = inner(error_model="numpy")
SELECT, CAST = OP["select"], OP["cast"]
A_SUM, A_MIN, A_MAX, A_ANY, A_OR, A_AND, A_PROD = ATOMIC.values()
F32 = TYPE["float32"]
P_ALU, P_MUL, P_FPU, P_DIV, P_FUN = (
    place(f"{unit}_latency") for unit in ("alu", "mul", "fpu", "divide", "function")
)
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
