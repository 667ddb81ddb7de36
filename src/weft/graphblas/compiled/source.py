"""Traced operators as text that Numba compiles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from weft.backends.host_functions import function_text, head
from weft.errors import TraceError
from weft.graphblas.compiled.functions import cast_traced, combination, multiplication, selection


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
        head(),
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
        head(),
        function_text("multiply", product, (left, right), result),
        function_text("add", add, (result, result), result),
        templates("templates"),
    )
    return "\n".join(parts)


def reduce_source(op: Any) -> str:
    """Return the text of the kernels that reduce values over a typed monoid."""
    add, np_type = combination(op), op.type.np_type
    if add is None:
        raise TraceError(f"{op!r} cannot be traced.")
    parts = (
        head(),
        function_text("add", add, (np_type, np_type), np_type),
        templates("templates_reduce"),
    )
    return "\n".join(parts)


def select_source(op: Any, values: np.dtype, is_vector: bool) -> str:
    """Return the text of the kernels that select values of a type with a typed operator.

    A vector is one row for the kernels, and one column for the operator.
    """
    keep, place = selection(op), np.dtype(np.int64)
    if keep is None:
        raise TraceError(f"{op!r} cannot be traced.")

    def of_vector(x: Any, i: Any, j: Any, k: Any) -> Any:
        return keep(x, j, i, k)

    function = of_vector if is_vector else keep
    types = (values, place, place, op.type2.np_type)
    parts = (
        head(),
        function_text("keep", function, types, np.dtype(np.bool_)),
        templates("templates_select"),
    )
    return "\n".join(parts)
