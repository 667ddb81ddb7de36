"""A programmable graph-processing framework for Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from numpy import bool_ as bool_
    from numpy import float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64

    from weft import acc as acc
    from weft import datasets, errors, generators, group, learning, maps
    from weft.algorithms.betweenness import betweenness
    from weft.algorithms.bfs import bfs
    from weft.algorithms.clustering import clustering
    from weft.algorithms.connected_components import connected_components
    from weft.algorithms.core_number import core_number
    from weft.algorithms.label_propagation import label_propagation
    from weft.algorithms.pagerank import pagerank
    from weft.algorithms.sssp import sssp
    from weft.algorithms.triangles import triangle_count
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
        floor,
        for_range,
        hadamard_inverse,
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
    from weft.ir.trace.proxies import common, send
    from weft.ir.types import vertex_id
    from weft.program import edge, fold, vertex
    from weft.tuning import TuningReport, tune

# Where each public name lives; modules are imported when a name of theirs is first used.
_HOMES = {
    "weft.ir.trace.functions": (
        "acos any_changed asin atan atan2 bitcast cast cbrt ceil clz cos cosh degree dot exp "
        "exp2 expm1 eye floor for_range hadamard_inverse hypot inverse isfinite isinf isnan log "
        "log10 log1p log2 logsumexp matmul matvec maximum minimum neighbor neighbor_edge "
        "normalize num_vertices outer popcount random random_bits reduce round sign sin sinh "
        "solve sqrt stack superstep tan tanh transpose trunc where while_loop"
    ),
    "weft.ir.trace.monoids": "and_ any argmax argmin max min mode monoid or_ prod sum",
    "weft.ir.trace.proxies": "common send",
    "weft.ir.types": "vertex_id",
    "weft.program": "edge fold vertex",
    "weft.group": "collaborative scratch",
    "weft.graph": "Graph",
    "weft.io": "read write",
    "weft.config": "Config",
    "weft.engine.state": "State full parameter scalar",
    "weft.engine.frontier": "Frontier",
    "weft.engine.run": "Run",
    "weft.engine.profile": "profile",
    "weft.inspect.memory": "estimate_memory",
    "weft.inspect.explain": "explain",
    "weft.tuning": "TuningReport tune",
    "weft.errors": "WeftError",
    "weft.algorithms.bfs": "bfs",
    "weft.algorithms.sssp": "sssp",
    "weft.algorithms.pagerank": "pagerank",
    "weft.algorithms.connected_components": "connected_components",
    "weft.algorithms.core_number": "core_number",
    "weft.algorithms.triangles": "triangle_count",
    "weft.algorithms.clustering": "clustering",
    "weft.algorithms.betweenness": "betweenness",
    "weft.algorithms.label_propagation": "label_propagation",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}
_MODULES = ("acc", "datasets", "errors", "generators", "group", "learning", "maps")
_DTYPES = (
    "bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32",
    "float64",
)  # fmt: skip

__all__ = ["__version__", *_HOME, *_MODULES, *_DTYPES]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in _MODULES:
        value = import_module(f"weft.{name}")
    elif name in _DTYPES:
        value = getattr(import_module("numpy"), name)
    else:
        raise AttributeError(f"module 'weft' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
