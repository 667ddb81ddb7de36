"""Subgraphs of cores and trusses, and the layers of an onion."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from weft.networkx import kernels
from weft.networkx.clusters import core_numbers
from weft.networkx.network import Network

Array = np.ndarray[Any, Any]


def _numbers(G: Network, given: Any) -> Array:
    if given is None:
        return core_numbers(G)
    if len(given) != G.size:
        raise NotImplementedError("core numbers of some nodes alone")
    return np.array([given[node] for node in G.nodes], np.int64)


def _subgraph(G: Network, kept: Array) -> Any:
    return G.origin.subgraph(G.at(np.flatnonzero(kept))).copy()


def _most(G: Network, core: Array) -> int:
    if not G.size:
        raise ValueError("max() arg is an empty sequence")
    return int(core.max())


def k_core(G: Network, k: Any = None, core_number: Any = None) -> Any:
    """The subgraph of the nodes whose core number is k at least."""
    core = _numbers(G, core_number)
    return _subgraph(G, core >= (_most(G, core) if k is None else k))


def k_shell(G: Network, k: Any = None, core_number: Any = None) -> Any:
    """The subgraph of the nodes whose core number is k."""
    core = _numbers(G, core_number)
    return _subgraph(G, core == (_most(G, core) if k is None else k))


def k_crust(G: Network, k: Any = None, core_number: Any = None) -> Any:
    """The subgraph of the nodes whose core number is k at most."""
    core = _numbers(G, core_number)
    return _subgraph(G, core <= (_most(G, core) - 1 if k is None else k))


def k_corona(G: Network, k: Any, core_number: Any = None) -> Any:
    """The subgraph of the k-shell's nodes with exactly k neighbours in the k-core."""
    core = _numbers(G, core_number)
    structure = G.structure
    inside = np.bincount(structure.sources, core[structure.targets] >= k, minlength=G.size)
    return _subgraph(G, (core == k) & (inside == k))


def _refuse_loops(G: Network, verb: str) -> None:
    if G.structure.num_loops:
        raise nx.NetworkXNotImplemented(
            f"Input graph {verb} self loops which is not permitted; "
            "Consider using G.remove_edges_from(nx.selfloop_edges(G))."
        )


def onion_layers(G: Network) -> dict[Any, int]:
    """The step in which each node is peeled off."""
    _refuse_loops(G, "contains")
    structure = G.structure
    layer, order = np.zeros(G.size, np.int64), np.empty(G.size, np.int64)
    kernels.peel(structure.offsets, structure.targets, layer, order)
    return dict(zip(G.at(order), layer[order].tolist(), strict=True))


def k_truss(G: Network, k: Any) -> Any:
    """The subgraph of the edges that close k - 2 triangles at least."""
    _refuse_loops(G, "has")
    structure = G.structure
    offsets, targets = structure.sorted_neighbors
    rows = np.repeat(np.arange(G.size), np.diff(offsets))
    partner = kernels.partners(offsets, targets)
    alive = np.ones(targets.size, np.bool_)
    kernels.drop_open_edges(offsets, targets, rows, partner, alive, int(np.ceil(k)) - 2)
    graph = G.origin.copy()
    upper = ~alive & (rows < targets)
    graph.remove_edges_from(zip(G.at(rows[upper]), G.at(targets[upper]), strict=True))
    graph.remove_nodes_from(list(nx.isolates(graph)))
    return graph
