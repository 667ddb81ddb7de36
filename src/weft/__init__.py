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
    from weft import (
        datasets,
        errors,
        generators,
        graphblas,
        group,
        learning,
        maps,
        operators,
        spark,
        sql,
    )
    from weft.algorithms.all_pairs_shortest_path import all_pairs_shortest_path
    from weft.algorithms.auction_matching import auction_matching
    from weft.algorithms.betweenness import betweenness
    from weft.algorithms.bfs import bfs
    from weft.algorithms.biconnected_components import (
        articulation_points,
        biconnected_components,
        bridges,
    )
    from weft.algorithms.bipartite_matching import bipartite_matching
    from weft.algorithms.bipartite_sets import bipartite_sets, is_bipartite
    from weft.algorithms.closeness import closeness, harmonic
    from weft.algorithms.clustering import clustering
    from weft.algorithms.color import color
    from weft.algorithms.connected_components import connected_components
    from weft.algorithms.core_number import core_number
    from weft.algorithms.degree_centrality import degree_centrality
    from weft.algorithms.eccentricity import diameter, eccentricity
    from weft.algorithms.edge_betweenness import edge_betweenness
    from weft.algorithms.eigenvector import eigenvector
    from weft.algorithms.forest_fire import forest_fire
    from weft.algorithms.hits import hits
    from weft.algorithms.k_core import k_core, onion_layers
    from weft.algorithms.k_hop import ego_graph, k_hop
    from weft.algorithms.k_shortest_paths import k_shortest_paths
    from weft.algorithms.katz import katz
    from weft.algorithms.label_propagation import label_propagation
    from weft.algorithms.load_centrality import load_centrality, percolation
    from weft.algorithms.local_pagerank import local_community, local_pagerank, sweep_cut
    from weft.algorithms.louvain import leiden, louvain
    from weft.algorithms.markov_clustering import markov_clustering
    from weft.algorithms.maximal_independent_set import maximal_independent_set
    from weft.algorithms.maximal_matching import maximal_matching, vertex_cover
    from weft.algorithms.maximum_flow import maximum_flow
    from weft.algorithms.minimum_spanning_forest import minimum_spanning_forest
    from weft.algorithms.mixing import degree_assortativity, reciprocity, rich_club
    from weft.algorithms.modularity import conductance, modularity
    from weft.algorithms.multi_source_bfs import multi_source_bfs
    from weft.algorithms.pagerank import pagerank
    from weft.algorithms.path import path
    from weft.algorithms.random_walks import node2vec_walks, random_walks
    from weft.algorithms.sample_neighbors import sample_neighbors
    from weft.algorithms.seeded_matching import seeded_graph_matching
    from weft.algorithms.shortest_path import astar, shortest_path
    from weft.algorithms.similar_pairs import bipartite_projection, similar_pairs
    from weft.algorithms.similarity import (
        adamic_adar,
        common_neighbors,
        cosine,
        jaccard,
        overlap,
        resource_allocation,
    )
    from weft.algorithms.simrank import simrank
    from weft.algorithms.spectral_embedding import spectral_embedding
    from weft.algorithms.square_clustering import square_clustering
    from weft.algorithms.sssp import sssp
    from weft.algorithms.strongly_connected_components import (
        condensation,
        strongly_connected_components,
    )
    from weft.algorithms.topological_sort import topological_generations, topological_sort
    from weft.algorithms.triangle_count import triangle_count
    from weft.algorithms.triangle_list import edge_triangles, list_triangles
    from weft.algorithms.triangles import transitivity, triangles
    from weft.algorithms.truss import k_truss, truss_number
    from weft.algorithms.widest_path import widest_path
    from weft.blocks.exchange import HostExchange
    from weft.blocks.nccl import NcclExchange
    from weft.config import Config
    from weft.engine.frontier import Frontier, Pairs
    from weft.engine.profile import profile
    from weft.engine.run import Run
    from weft.engine.state import State, full, parameter, scalar
    from weft.errors import WeftError
    from weft.graph import Graph
    from weft.graph.merging.merge import intersect, unite
    from weft.group import collaborative, scratch
    from weft.inspect.explain import explain
    from weft.inspect.memory import estimate_memory
    from weft.io import read, write
    from weft.io.partitioned import open, partition
    from weft.ir.trace.by_key import Keyed
    from weft.ir.trace.control import cond, for_range, while_loop
    from weft.ir.trace.edge_at import edge_at
    from weft.ir.trace.emits import emit
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
        hadamard_inverse,
        has_edge,
        hypot,
        inverse,
        isfinite,
        isinf,
        isnan,
        local,
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
    )  # fmt: skip
    from weft.ir.trace.looks import settled
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
    from weft.ir.trace.proxies import send
    from weft.ir.types import vertex_id
    from weft.operators.capture import capture
    from weft.program import edge, fold, over, vertex
    from weft.storage.memory import clear_caches
    from weft.tuning import TuningReport, tune
    from weft.weaver.weave import weave


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
        from weft.errors import nearest

        other = {"bool": "bool_", "int": "int64", "float": "float64", "str": "labels"}.get(name)
        hint = f" Use weft.{other}." if other in table else nearest(name, table)
        raise AttributeError(f"module 'weft' has no attribute {name!r}.{hint}")
    module, own = table[name]
    found = import_module(f"weft.{own}" if module == "weft" else module)
    value = found if module == "weft" else getattr(found, own)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__getattr__("__all__"))
