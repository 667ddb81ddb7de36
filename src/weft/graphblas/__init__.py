"""GraphBLAS on CPU and GPU, with the conventions of python-graphblas.

``import weft.graphblas as gb`` in place of ``import graphblas as gb`` runs the same programs.
"""

from __future__ import annotations

import importlib
from typing import Any

from weft.graphblas import dtypes, exceptions, io, left_out, viz
from weft.graphblas.building import MAX_SIZE
from weft.graphblas.explain import Explanation, explain
from weft.graphblas.matrix import Matrix
from weft.graphblas.operators import calls, lookup, positional  # noqa: F401
from weft.graphblas.operators.agg import agg
from weft.graphblas.operators.binary import binary
from weft.graphblas.operators.indexunary import indexunary
from weft.graphblas.operators.monoid import monoid
from weft.graphblas.operators.names import op
from weft.graphblas.operators.select import select
from weft.graphblas.operators.semiring import semiring
from weft.graphblas.operators.unary import unary
from weft.graphblas.options import memory, options
from weft.graphblas.recorder import Recorder
from weft.graphblas.scalar import Scalar
from weft.graphblas.settings import config, init
from weft.graphblas.updates import replace
from weft.graphblas.vector import Vector

backend = "weft"
agg.from_string = lookup.aggregator_from_string
calls.install()

__all__ = [
    "MAX_SIZE",
    "Explanation",
    "Matrix",
    "Recorder",
    "Scalar",
    "Vector",
    "agg",
    "backend",
    "binary",
    "config",
    "dtypes",
    "exceptions",
    "explain",
    "indexunary",
    "init",
    "io",
    "memory",
    "monoid",
    "op",
    "options",
    "replace",
    "select",
    "semiring",
    "unary",
    "viz",
]


def __getattr__(name: str) -> Any:
    if name == "algorithms":  # they import this module
        return importlib.import_module("weft.graphblas.algorithms")
    left_out.refuse("weft.graphblas", name)
