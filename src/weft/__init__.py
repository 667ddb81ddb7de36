"""A programmable graph-processing framework for Python.

The imports below `TYPE_CHECKING` are the one table of public names: type checkers follow them, and
`__getattr__` reads them to import a module when a name of it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from numpy import bool_ as bool_
    from numpy import float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64

    from weft import acc as acc
    from weft import datasets, errors, generators, graphblas, group, learning, maps
    from weft.algorithms.betweenness import betweenness
    from weft.algorithms.bfs import bfs
    from weft.algorithms.clustering import clustering
    from weft.algorithms.connected_components import connected_components
    from weft.algorithms.core_number import core_number
    from weft.algorithms.label_propagation import label_propagation
    from weft.algorithms.pagerank import pagerank
    from weft.algorithms.sssp import sssp
    from weft.algorithms.triangle_count import triangle_count
    from weft.config import Config
    from weft.engine.frontier import Frontier
    from weft.engine.profile import profile
    from weft.engine.run import Run
    from weft.engine.state import State, full, parameter, scalar
    from weft.errors import WeftError
    from weft.graph import Graph
    from weft.group import collaborative, scratch
    from weft.inspect.explain import explain
    from weft.inspect.memory import estimate_memory
    from weft.io import read, write
    from weft.ir.trace.functions import (
        acos,
        any_changed,
        asin,
        atan,
        atan2,
        bitcast,
        cast,
        cbrt,
        ceil,
        clz,
        cos,
        cosh,
        degree,
        dot,
        exp,
        exp2,
        expm1,
        eye,
        find_edge,
        floor,
        for_range,
        hadamard_inverse,
        has_edge,
        hypot,
        inverse,
        isfinite,
        isinf,
        isnan,
        log,
        log1p,
        log2,
        log10,
        logsumexp,
        matmul,
        matvec,
        maximum,
        minimum,
        neighbor,
        neighbor_edge,
        normalize,
        num_vertices,
        outer,
        popcount,
        random,
        random_bits,
        reduce,
        round,
        sign,
        sin,
        sinh,
        solve,
        sqrt,
        stack,
        superstep,
        tan,
        tanh,
        transpose,
        trunc,
        where,
        while_loop,
    )  # fmt: skip
    from weft.ir.trace.monoids import (
        and_,
        any,
        argmax,
        argmin,
        max,
        min,
        mode,
        monoid,
        or_,
        prod,
        sum,
    )  # fmt: skip
    from weft.ir.trace.neighbors import common
    from weft.ir.trace.proxies import edge_at, send
    from weft.ir.types import vertex_id
    from weft.program import edge, fold, vertex
    from weft.storage.memory import clear_caches
    from weft.tuning import TuningReport, tune


def _table() -> dict[str, tuple[str, str]]:
    """Return the module and the name there of every public name, as imported above."""
    import ast
    from pathlib import Path

    homes: dict[str, tuple[str, str]] = {}
    for block in ast.parse(Path(__file__).read_text(encoding="utf-8")).body:
        if isinstance(block, ast.If):
            for line in block.body:
                if isinstance(line, ast.ImportFrom):
                    for name in line.names:
                        homes[name.asname or name.name] = str(line.module), name.name
    return homes


def __getattr__(name: str) -> Any:
    from importlib import import_module

    from weft.algorithms import algorithm_homes

    table = globals().get("_homes") or globals().setdefault("_homes", _table())
    if name == "__all__":
        return ["__version__", *table]
    if name not in table and name in algorithm_homes():  # one that no type checker knows yet
        table[name] = algorithm_homes()[name], name
    if name not in table:
        raise AttributeError(f"module 'weft' has no attribute {name!r}")
    module, own = table[name]
    found = import_module(f"weft.{own}" if module == "weft" else module)
    value = found if module == "weft" else getattr(found, own)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__getattr__("__all__"))
