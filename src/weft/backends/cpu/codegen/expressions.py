"""Elementwise ops as Numba source: every op casts its result to its dtype (rule 32)."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.ir.elementwise import OPS

_INFIX = {"add": "+", "sub": "-", "mul": "*", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
          "eq": "==", "ne": "!=", "bit_and": "&", "bit_or": "|", "bit_xor": "^"}  # fmt: skip
_WRAPPING = {"add": "plus", "sub": "minus", "mul": "times"}  # of int64: `+` is not told to wrap
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
    narrow = target.kind in "iu" and target.itemsize < 8
    if op == "cast":
        return cast(args[0], source, target)
    if op == "broadcast":
        return args[0]
    if op == "bitcast":
        return _bitcast(args[0], source, target)
    if op == "select":
        return f"({args[1]} if {args[0]} else {args[2]})"
    if op in _WRAPPING and target.name == "int64":
        return f"{_WRAPPING[op]}({args[0]}, {args[1]})"
    if op in _INFIX:
        text = f"({args[0]} {_INFIX[op]} {args[1]})"
        return (
            f"to_{target.name}{text}"
            if narrow and op in ("add", "sub", "mul")
            else (f"to_{target.name}{text}" if narrow and op.startswith("bit") else text)
        )
    if op == "div":
        return f"({args[0]} / {args[1]})"
    if op in _CALLS:
        return f"{_CALLS[op]}({args[0]}, {args[1]})"
    if op in ("minimum", "maximum"):
        name = op[:3]
        return f"{'f' if target.kind == 'f' else ''}{name}({args[0]}, {args[1]})"
    if op == "neg":
        zero = literal(0, target)
        if target.name == "int64":
            return f"minus({zero}, {args[0]})"
        text = f"(-{args[0]})" if target.kind == "f" else f"({zero} - {args[0]})"
        return f"to_{target.name}{text}" if narrow else text
    if op == "abs":
        if target.kind == "u":
            return args[0]
        if target.kind == "f":
            return f"abs({args[0]})"
        return f"to_{target.name}(magnitude({args[0]}))" if narrow else f"magnitude({args[0]})"
    if op == "invert":
        if target.kind == "b":
            return f"(not {args[0]})"
        return f"to_{target.name}(~{args[0]})" if narrow else f"(~{args[0]})"
    if op == "sign":
        if target.kind == "f":
            return f"(np.{target.name}(np.sign({args[0]})) + {literal(0.0, target)})"
        zero = literal(0, target)
        return f"to_{target.name}(({args[0]} > {zero}) - ({args[0]} < {zero}))"
    if op in ("popcount", "clz"):
        return f"to_int32({op}({args[0]}))"
    call = f"{OPS[op].numba}({', '.join(args)})"
    return call if target.kind == "b" else f"np.{target.name}({call})"


def _bitcast(text: str, source: np.dtype[Any], target: np.dtype[Any]) -> str:
    if source.itemsize >= 4:
        return f"as_{target.name}({text})"
    return f"to_{target.name}({text})"


def combine(name: str, a: str, b: str, dtype: np.dtype[Any]) -> str:
    """Return the combination of two values under a built-in monoid that is not selecting."""
    op = {"sum": "add", "prod": "mul", "min": "minimum", "max": "maximum", "or": "bit_or",
          "and": "bit_and"}[name]  # fmt: skip
    return elementwise(op, [a, b], dtype, dtype)
