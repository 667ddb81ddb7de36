"""Elementwise ops as Numba source: every op casts its result to its dtype (rule 32)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.ir.elementwise import OPS

_INFIX = {"add": "+", "sub": "-", "mul": "*", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
          "eq": "==", "ne": "!=", "bit_and": "&", "bit_or": "|", "bit_xor": "^"}  # fmt: skip
_WRAPPING = {"add": "plus", "sub": "minus", "mul": "times"}  # of int64: `+` is not declared to wrap
_CALLS = {"floordiv": "floordiv", "mod": "mod", "pow": "power", "shl": "shl", "shr": "shr"}


def literal(value: Any, dtype: np.dtype[Any]) -> str:
    """Return a constant of a dtype."""
    if dtype.kind == "b":
        return "True" if value else "False"
    if dtype.kind == "f":
        if np.isnan(value):
            return f"np.{dtype.name}(np.nan)"
        if np.isinf(value):
            return f"np.{dtype.name}({'-' if value < 0 else ''}np.inf)"
        return repr(float(value)) if dtype.name == "float64" else f"np.float32({float(value)!r})"
    if dtype.name == "int64":
        return f"({int(value)})" if value < 0 else str(int(value))
    return f"np.{dtype.name}({int(value)})"


def cast(text: str, source: np.dtype[Any], target: np.dtype[Any]) -> str:
    """Return a value cast from one dtype to another."""
    if source == target:
        return text
    if target.kind == "b":
        return f"({text} != 0)"
    if target.kind == "f":
        return f"np.{target.name}({text})"
    return f"to_{target.name}({text})"


def elementwise(op: str, args: list[str], source: np.dtype[Any], target: np.dtype[Any]) -> str:
    """Return the source of one op; `source` is the dtype of its (first) operand."""
    if op in _SPECIAL:
        return _SPECIAL[op](args, source, target)
    narrow = _narrow(target)
    if op in _WRAPPING and target.name == "int64":
        return f"{_WRAPPING[op]}({args[0]}, {args[1]})"
    if op in _INFIX:
        text = f"({args[0]} {_INFIX[op]} {args[1]})"
        wraps = narrow and (op in ("add", "sub", "mul") or op.startswith("bit"))
        return f"to_{target.name}{text}" if wraps else text
    if op in _CALLS:
        return f"{_CALLS[op]}({args[0]}, {args[1]})"
    call = f"{OPS[op].numba}({', '.join(args)})"
    return call if target.kind == "b" else f"np.{target.name}({call})"


def _narrow(target: np.dtype[Any]) -> bool:
    """Whether a result is an integer that Numba would widen."""
    return target.kind in "iu" and target.itemsize < 8


def _extreme(name: str) -> Callable[[list[str], Any, Any], str]:
    def text(args: list[str], source: np.dtype[Any], target: np.dtype[Any]) -> str:
        return f"{'f' if target.kind == 'f' else ''}{name}({args[0]}, {args[1]})"

    return text


def _negated(args: list[str], source: np.dtype[Any], target: np.dtype[Any]) -> str:
    zero = literal(0, target)
    if target.name == "int64":
        return f"minus({zero}, {args[0]})"
    text = f"(-{args[0]})" if target.kind == "f" else f"({zero} - {args[0]})"
    return f"to_{target.name}{text}" if _narrow(target) else text


def _absolute(args: list[str], source: np.dtype[Any], target: np.dtype[Any]) -> str:
    if target.kind == "u":
        return args[0]
    if target.kind == "f":
        return f"abs({args[0]})"
    text = f"magnitude({args[0]})"
    return f"to_{target.name}({text})" if _narrow(target) else text


def _inverted(args: list[str], source: np.dtype[Any], target: np.dtype[Any]) -> str:
    if target.kind == "b":
        return f"(not {args[0]})"
    return f"to_{target.name}(~{args[0]})" if _narrow(target) else f"(~{args[0]})"


def _sign(args: list[str], source: np.dtype[Any], target: np.dtype[Any]) -> str:
    if target.kind == "f":
        return f"(np.{target.name}(np.sign({args[0]})) + {literal(0.0, target)})"
    zero = literal(0, target)
    return f"to_{target.name}(({args[0]} > {zero}) - ({args[0]} < {zero}))"


def _bitcast(text: str, source: np.dtype[Any], target: np.dtype[Any]) -> str:
    if source.itemsize >= 4:
        return f"as_{target.name}({text})"
    return f"to_{target.name}({text})"


# Ops whose text depends on the dtype, or that are not calls.
_SPECIAL: dict[str, Callable[[list[str], np.dtype[Any], np.dtype[Any]], str]] = {
    "cast": lambda args, source, target: cast(args[0], source, target),
    "broadcast": lambda args, source, target: args[0],
    "bitcast": lambda args, source, target: _bitcast(args[0], source, target),
    "select": lambda args, source, target: f"({args[1]} if {args[0]} else {args[2]})",
    "div": lambda args, source, target: f"({args[0]} / {args[1]})",
    "minimum": _extreme("min"),
    "maximum": _extreme("max"),
    "neg": _negated,
    "abs": _absolute,
    "invert": _inverted,
    "sign": _sign,
    "popcount": lambda args, source, target: f"to_int32(popcount({args[0]}))",
    "clz": lambda args, source, target: f"to_int32(clz({args[0]}))",
}


def combine(name: str, a: str, b: str, dtype: np.dtype[Any]) -> str:
    """Return the combination of two values under a built-in monoid that is not selecting."""
    op = {"sum": "add", "prod": "mul", "min": "minimum", "max": "maximum", "or": "bit_or",
          "and": "bit_and"}[name]  # fmt: skip
    return elementwise(op, [a, b], dtype, dtype)
