"""Speeds up Numba by skipping redundant imports and repeated type resolution.

Numba's `arraymath` asks for BLAS when it is loaded, before the first program runs, and that takes a
third of the time from the start of a process to a first result. weft needs SciPy, so the answer is
known. Code of others that does use BLAS asks again when it is compiled.

To compile, Numba finds the types of a function in rounds. In every round it resolves each operation
again to the variant that fits the types of the operands, and builds an error message for each that
does not. A generated kernel has hundreds of additions of the same two types.
"""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from numba import njit
from numba.core import types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.types.functions import BaseFunction

ASKING = "numba.np.arraymath"
PLAIN = (types.Number, types.Boolean, types.CPointer)
"""Types of operands that alone decide what an operation gives."""


def load() -> None:
    """Import what Numba runs programs with, without the question."""
    if ASKING in sys.modules:
        return
    linalg: Any = import_module("numba.np.linalg")
    ask = getattr(linalg, "ensure_blas", None)
    if ask is None:  # another version of Numba, which may do it otherwise
        return
    linalg.ensure_blas = lambda: None
    try:
        asking: Any = import_module(ASKING)
    finally:
        linalg.ensure_blas = ask
    if hasattr(asking, "ensure_blas"):
        asking.ensure_blas = ask


def inner(**options: Any) -> Any:
    """Compile a function that kernels alone call: nothing that Python could call it by is made."""
    return njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)


@contextlib.contextmanager
def compiling() -> Iterator[None]:
    """Answer each question about types once, and look for garbage afterwards only.

    That saves a third of the time of a compilation. Code of others that is compiled meanwhile
    waits for Numba's lock.
    """
    with global_compiler_lock, _remembered_types(), _collected_later():
        yield


@contextlib.contextmanager
def _remembered_types() -> Iterator[None]:
    find = BaseFunction.get_call_type
    known: dict[tuple[Any, ...], Any] = {}

    def recall(function, context, args, kws):
        if kws or not all(isinstance(arg, PLAIN) for arg in args):
            return find(function, context, args, kws)
        key = function, context, *args
        signature = known.get(key)
        if signature is None:
            signature = known[key] = find(function, context, args, kws)
        return signature

    BaseFunction.get_call_type = recall
    try:
        yield
    finally:
        BaseFunction.get_call_type = find


@contextlib.contextmanager
def _collected_later() -> Iterator[None]:
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
