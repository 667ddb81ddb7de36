"""Kernels of a semiring on a device."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from weft.backends.device_functions import (
    Kernels,
    c_type,
    function_text,
    literal,
    load,
    stored_type,
)
from weft.errors import TraceError
from weft.graphblas.compiled.functions import combination, multiplication
from weft.graphblas.gpu.headers import text_of

Array = Any


def operators_text(op: Any, left: np.dtype, right: np.dtype) -> str:
    """Return the types and functions of a typed semiring, for factors of two types."""
    multiply, add = multiplication(op.binaryop), combination(op.monoid)
    if multiply is None or add is None:
        raise TraceError(f"{op!r} has operators that weft cannot trace.")
    sums, name = op.monoid.type.np_type, op.monoid.parent.name
    if name == "any":
        # A new value takes the place of the one there is, also of that from which sums start.
        add = _second
    types = {"Left": left, "Right": right, "Sum": sums}
    lines = ["namespace weft {"]
    for each, dtype in types.items():
        lines.append(f"using {each} = {c_type(dtype)};")
        lines.append(f"using {each}Stored = {stored_type(dtype)};")
    atomic = name == "plus" and sums.kind in "iuf" and sums.itemsize >= 4
    lines += [
        function_text("product_of", multiply, (left, right), sums),
        function_text("sum_of", add, (sums, sums), sums),
        f"WEFT_DEVICE Sum start() {{ return {literal(_start(op.monoid), sums)}; }}",
        f"constexpr bool adds = {'true' if atomic else 'false'};",
        f"constexpr bool wins = {'true' if name == 'any' else 'false'};",
        "}  // namespace weft",
    ]
    return "\n".join(lines)


def _second(x: Any, y: Any) -> Any:
    return y


def _start(monoid: Any) -> Any:
    """Return what sums start with: a sum with it is the other value."""
    sums = monoid.type.np_type
    if monoid.parent.name == "any":
        return sums.type(0)
    if monoid.parent.name in {"min", "max"} and sums.kind == "f":
        return sums.type(np.nan)  # which loses against every value; infinity would beat NaN
    return sums.type(monoid.identity)


@functools.cache
def kernels_of(
    device: str, op: Any, types: tuple[np.dtype, np.dtype], header: str, extra: str,
    names: tuple[str, ...],
) -> Kernels:  # fmt: skip
    """Return the kernels of a semiring in a header; `extra` is text in front of it."""
    parts = f"{extra}{operators_text(op, *types)}", f'#include "{header}"\n'
    source = "\n".join(('#include "sweep.cuh"', '#include "numbers.cuh"', *parts))
    return load(device, source, names, text_of(header))
