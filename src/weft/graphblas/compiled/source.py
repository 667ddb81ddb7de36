"""Traced operators as text that Numba compiles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from weft.backends.cpu.codegen.blocks import BlockRenderer, Scope, Scratch
from weft.backends.cpu.codegen.kernel import IMPORTS
from weft.backends.cpu.codegen.text import Arguments, Emitter
from weft.errors import TraceError
from weft.graphblas.compiled.functions import cast_traced, combination, multiplication
from weft.ir.ops import Block, Signature, Value
from weft.ir.trace.builder import Builder
from weft.ir.trace.expr import Expr, node

NOTHING = Signature((), (), (), (), np.dtype(np.int64))
HEAD = """
compiled = njit(cache=True, nogil=True, error_model="numpy")
inlined = njit(nogil=True, inline="always", error_model="numpy")
"""


def templates(name: str) -> str:
    """Return the functions of a file of templates as text."""
    text = (Path(__file__).parent / f"{name}.py").read_text(encoding="utf-8")
    return text.partition("# --- templates\n")[2]


def merge_source(op: Any, left: np.dtype, right: np.dtype, flip: bool = False) -> str:
    """Return the text of the kernels that combine two matrices with a typed binary operator."""
    multiply, result = multiplication(op), op.return_type.np_type
    if multiply is None:
        raise TraceError(f"{op!r} cannot be traced.")
    parts = (
        IMPORTS,
        HEAD,
        function_text("multiply", multiply, (left, right), result),
        function_text("alone", lambda x: cast_traced(x, result), (left,), result),
        function_text("other_alone", lambda x: cast_traced(x, result), (right,), result),
        templates("templates_merge"),
    )
    return "\n".join(parts)


def module_source(op: Any, left: np.dtype, right: np.dtype, flip: bool) -> str:
    """Return the text of the kernels of a semiring.

    Parameters
    ----------
    op
        The typed semiring.
    left, right
        The types of the factors' values, as the kernels get them.
    flip
        Whether the multiplication takes the second factor first.

    Raises
    ------
    TraceError
        An operator cannot be traced.
    """
    multiply, add = multiplication(op.binaryop), combination(op.monoid)
    if multiply is None or add is None:
        raise TraceError(f"{op!r} has operators that weft cannot trace.")
    result = op.monoid.type.np_type

    def product(x: Any, y: Any) -> Any:
        return multiply(y, x) if flip else multiply(x, y)

    parts = (
        IMPORTS,
        HEAD,
        function_text("multiply", product, (left, right), result),
        function_text("add", add, (result, result), result),
        templates("templates"),
    )
    return "\n".join(parts)


def function_text(name: str, function: Any, types: tuple[Any, ...], result: np.dtype) -> str:
    """Return a traced function of numbers as the text of a function for Numba."""
    with Builder(NOTHING, name) as builder:
        builder.effects = False
        params = tuple(Value("param", (), i, dtype) for i, dtype in enumerate(types))
        value = node(function(*(Expr(each) for each in params)))
        value = builder.cast(value, result)
        block = Block(params, builder.blocks[0].body, (value,))
    out, args = Emitter(), Arguments()
    renderer = BlockRenderer(out, args, Scratch(args), Scope(_no_load))
    names = [f"x{i}" for i in range(len(params))]
    with out.block(f"@inlined\ndef {name}({', '.join(names)}):"):
        for each, text in zip(params, names, strict=True):
            renderer.known[id(each)] = text
        (found,) = renderer.block(block)
        out.line(f"return {found}")
    if args.bindings:
        raise TraceError(f"{name} needs {sorted(args.bindings)}, which numbers do not have.")
    return out.text()


def _no_load(value: Value) -> Any:
    raise TraceError(f"{value!r} reads a graph; an operator sees two numbers alone.")
