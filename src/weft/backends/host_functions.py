"""Traced functions of numbers as text, and compiled modules of such text, for host kernels.

A front end that needs a loop which messages along arcs cannot express writes it as plain Python,
and puts the user's functions in front as text made here.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from weft.errors import TraceError
from weft.ir.ops import Block, Signature, Value
from weft.ir.trace.builder import Builder
from weft.ir.trace.expr import Expr, node

_NOTHING = Signature((), (), (), (), np.dtype(np.int64))
_HEAD = """
compiled = njit(cache=True, nogil=True, error_model="numpy")
in_any_order = njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc"})
inlined = njit(nogil=True, inline="always", error_model="numpy")
"""


def head() -> str:
    """Return the beginning of a module: its imports, and the decorators of kernels.

    They are ``compiled`` and, for sums that may be made in any order, ``in_any_order``.
    """
    from weft.backends.cpu.codegen.kernel import IMPORTS

    return IMPORTS + _HEAD


def function_text(
    name: str, function: Callable[..., Any], types: tuple[np.dtype[Any], ...], result: np.dtype[Any]
) -> str:
    """Return a function of numbers, traced for types, as text that is inlined where it is called.

    Parameters
    ----------
    name
        Its name in the text.
    function
        A Python function of as many numbers as there are types.
    types, result
        The types of the numbers and of what is returned.

    Raises
    ------
    TraceError
        The function cannot be traced, or reads more than its numbers.
    """
    from weft.backends.cpu.codegen.blocks import BlockRenderer, Scope, Scratch
    from weft.backends.cpu.codegen.text import Arguments, Emitter

    block = function_block(name, function, types, result)
    out, args = Emitter(), Arguments()
    renderer = BlockRenderer(out, args, Scratch(args), Scope(_no_load))
    names = [f"x{i}" for i in range(len(types))]
    with out.block(f"@inlined\ndef {name}({', '.join(names)}):"):
        for each, text in zip(block.params, names, strict=True):
            renderer.known[id(each)] = text
        (found,) = renderer.block(block)
        out.line(f"return {found}")
    if args.bindings:
        raise TraceError(f"{name} needs {sorted(args.bindings)}, which numbers do not have.")
    return out.text()


def function_block(
    name: str, function: Callable[..., Any], types: tuple[np.dtype[Any], ...], result: np.dtype[Any]
) -> Block:
    """Return a function of numbers, traced for types; its parameters are the block's."""
    with Builder(_NOTHING, name) as builder:
        builder.effects = False
        params = tuple(Value("param", (), i, dtype) for i, dtype in enumerate(types))
        value = node(function(*(Expr(each) for each in params)))
        value = builder.cast(value, result)
        return Block(params, builder.blocks[0].body, (value,))


def result_type(
    name: str, function: Callable[..., Any], types: tuple[np.dtype[Any], ...]
) -> np.dtype[Any]:
    """Return the type of what a function of numbers returns, traced for types."""
    with Builder(_NOTHING, name) as builder:
        builder.effects = False
        params = (Value("param", (), i, dtype) for i, dtype in enumerate(types))
        return builder.strong(node(function(*(Expr(each) for each in params)))).dtype


def _no_load(value: Value) -> Any:
    raise TraceError(f"{value!r} reads a graph; a function of numbers sees those alone.")


def load(text: str, label: str) -> ModuleType:
    """Return the module with a text; its functions are compiled when called, and kept on disk."""
    from weft.backends.cpu.host.cache import load_module

    return load_module(text, label)


def is_loaded(text: str, label: str) -> bool:
    """Return whether a module is loaded, or was compiled before."""
    from weft.backends.cpu.host.cache import is_cached

    return is_cached(text, label)
