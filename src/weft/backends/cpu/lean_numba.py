"""Numba without SciPy's linear algebra, which it imports only to see whether it is there.

Numba's `arraymath` asks for BLAS when it is loaded, before the first program runs, and that takes a
third of the time from the start of a process to a first result. weft needs SciPy, so the answer is
known. Code of others that does use BLAS asks again when it is compiled.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

ASKING = "numba.np.arraymath"


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
