"""Elementwise ops as C++ expressions: every op gives a value of its own dtype (rule 32).

C++ computes narrow integers as `int` and leaves signed overflow undefined, so that what could
overflow or widen is a call of runtime/numbers.cuh; the rest is plain C++.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.backends.cuda.codegen.text import c_type
from weft.ir.elementwise import OPS

_INFIX = {"add": "+", "sub": "-", "mul": "*", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
          "eq": "==", "ne": "!=", "bit_and": "&", "bit_or": "|", "bit_xor": "^"}  # fmt: skip
_LOGIC = {"bit_and": "&&", "bit_or": "||", "bit_xor": "!="}
_CALLS = {
    "add": "add", "sub": "sub", "mul": "mul", "floordiv": "floordiv", "mod": "mod", "pow": "power",
    "shl": "shl", "shr": "shr", "minimum": "minimum", "maximum": "maximum", "abs": "absolute",
    "sign": "sign", "popcount": "ones", "clz": "leading_zeros",
}  # fmt: skip


def literal(value: Any, dtype: np.dtype[Any]) -> str:
    """Return a constant of a dtype."""
    if dtype.kind == "b":
        return "true" if value else "false"
    if dtype.kind == "f":
        return _real(dtype.type(value), c_type(dtype))
    number, suffix = int(value), {"int64": "ll", "uint32": "u", "uint64": "ull"}.get(dtype.name, "")
    if dtype.itemsize < 4:
        return f"{c_type(dtype)}({number})"
    if dtype.kind == "i" and number == np.iinfo(dtype).min:
        return f"least<{c_type(dtype)}>"
    return f"({number}{suffix})" if number < 0 else f"{number}{suffix}"


def _real(value: Any, kind: str) -> str:
    if np.isnan(value):
        return f"not_a_number<{kind}>()"
    if np.isinf(value):
        return f"(-infinity<{kind}>())" if value < 0 else f"infinity<{kind}>()"
    text = np.format_float_scientific(value, unique=True, trim="0")
    if 1e-4 <= abs(value) < 1e16 or value == 0:
        text = np.format_float_positional(value, unique=True, trim="0")
    text += "f" if kind == "float" else ""
    return f"({text})" if text.startswith("-") else text


def cast(text: str, source: np.dtype[Any], target: np.dtype[Any]) -> str:
    """Return a value cast from one dtype to another."""
    if source == target:
        return text
    if target.kind == "b":
        return f"({text} != 0)"
    if source.kind == "f" and target.kind != "f":
        return f"to<{c_type(target)}>({text})"
    return f"{c_type(target)}({text})"


def elementwise(op: str, args: list[str], source: np.dtype[Any], target: np.dtype[Any]) -> str:
    """Return one op as an expression; `source` is the dtype of its (first) operand."""
    narrow = target.kind in "iu" and target.itemsize < 4
    if op == "cast":
        return cast(args[0], source, target)
    if op == "broadcast":
        return args[0]
    if op == "bitcast":
        return _bitcast(args[0], source, target)
    if op == "select":
        return f"({args[0]} ? {args[1]} : {args[2]})"
    if op == "div":
        return f"({args[0]} / {args[1]})"
    if op == "neg":
        return f"(-{args[0]})" if target.kind == "f" else f"negative({args[0]})"
    if op == "invert":
        if target.kind == "b":
            return f"!{args[0]}"
        return f"{c_type(target)}(~{args[0]})" if narrow else f"(~{args[0]})"
    if op in _LOGIC and target.kind == "b" and source.kind == "b":
        return f"({args[0]} {_LOGIC[op]} {args[1]})"
    # Unsigned words and floats do in C++ what they should; the bits of any integer too.
    plain = target.kind == "f" or (target.kind == "u" and not narrow)
    if op in _INFIX and (op not in ("add", "sub", "mul") or plain):
        text = f"({args[0]} {_INFIX[op]} {args[1]})"
        return f"{c_type(target)}{text}" if narrow and op.startswith("bit") else text
    if op in _CALLS:
        return f"{_CALLS[op]}({', '.join(args)})"
    return f"{_library_function(OPS[op].cuda, source)}({', '.join(args)})"


def _library_function(name: str, dtype: np.dtype[Any]) -> str:
    """Return how a function is called: one of numbers.cuh, or of the C library in its type."""
    if name.startswith("weft::"):
        return name
    return f"WEFT_LIBM({name}{'f' if dtype.itemsize == 4 else ''})"


def _bitcast(text: str, source: np.dtype[Any], target: np.dtype[Any]) -> str:
    if source.kind != "f" and target.kind != "f":
        return cast(text, source, target)
    return f"same_bits<{c_type(target)}>({text})"


def bare(text: str) -> str:
    """Return an expression without the parentheses around the whole of it."""
    if not text.startswith("(") or not text.endswith(")"):
        return text
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and position < len(text) - 1:
            return text
    return text[1:-1]


def combine(name: str, a: str, b: str, dtype: np.dtype[Any]) -> str:
    """Return the combination of two values under a built-in monoid that is not selecting."""
    if dtype.kind == "b":
        name = {"sum": "or", "max": "or", "prod": "and", "min": "and"}.get(name, name)
    op = {"sum": "add", "prod": "mul", "min": "minimum", "max": "maximum", "or": "bit_or",
          "and": "bit_and"}[name]  # fmt: skip
    return elementwise(op, [a, b], dtype, dtype)
