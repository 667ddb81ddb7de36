"""Initial values of a field given as a function of v, computed on the GPU where possible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.ir.ops import Block, Value

# Ops with an elementwise function of the same meaning in NumPy and CuPy.
_PLAIN = {
    "add": "add", "sub": "subtract", "mul": "multiply", "minimum": "fmin", "maximum": "fmax",
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal",
    "ne": "not_equal", "bit_and": "bitwise_and", "bit_or": "bitwise_or", "bit_xor": "bitwise_xor",
    "neg": "negative", "abs": "absolute", "sqrt": "sqrt", "select": "where",
}  # fmt: skip


def evaluate_on_device(block: Block, load: Callable[[Any], Any], xp: Any) -> Any:
    """Evaluate a block for all vertices with array functions of `xp`, like `evaluate_arrays`.

    Returns
    -------
    array or None
        None if the block has an unsupported op; the host then computes it.
    """
    if any(value.shape or not _known(value) for value in block.body):
        return None
    values: dict[Value, Any] = {}
    for value in block.body:
        args = [values[operand] for operand in value.args]
        if value.op == "const":
            result = xp.full(1, value.attr, value.dtype)
        elif value.op == "load":
            result = load(value.attr)
        elif value.op == "div":
            result = args[0] / args[1]
        elif value.op == "cast":
            result = args[0] != 0 if value.dtype.kind == "b" else args[0]
        else:
            result = getattr(xp, _PLAIN[value.op])(*args)
        values[value] = result.astype(value.dtype, copy=False)
    return values[block.results[0]]


def _known(value: Value) -> bool:
    if value.op == "div":
        return bool(value.dtype.kind == "f")
    if value.op == "cast":  # floats saturate when cast to integers, which astype does not do
        return bool(value.args[0].dtype.kind != "f" or value.dtype.kind in "fb")
    return value.op in ("const", "load") or value.op in _PLAIN
