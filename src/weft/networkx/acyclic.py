"""Directed acyclic graphs: generations, orders, longest paths."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np

from weft.networkx import kernels
from weft.networkx.network import Network
from weft.networkx.searches import hops
from weft.networkx.strong import is_strongly_connected

Array = np.ndarray[Any, Any]


def _generations(G: Network) -> tuple[Array, Array]:
    """Return the rows by generation, and where each generation begins and the last one ends."""
    structure = G.structure
    order, starts = np.empty(G.size, np.int64), np.empty(G.size + 1, np.int64)
    count = kernels.generations(structure.offsets, structure.targets, order, starts)
    return order[: starts[count]], starts[: count + 1]


def _check_directed(G: Network) -> None:
    if not G.is_directed():
        raise nx.NetworkXError("Topological sort not defined on undirected graphs.")


def topological_generations(G: Network) -> Iterator[list[Any]]:
    """Lists of nodes, each before all that it leads to."""
    _check_directed(G)
    order, starts = _generations(G)
    nodes = G.at(order)
    begins = starts.tolist()
    for begin, end in pairwise(begins):
        yield nodes[begin:end]
    if order.size < G.size:
        raise nx.NetworkXUnfeasible("Graph contains a cycle or graph changed during iteration")


def topological_sort(G: Network) -> Iterator[Any]:
    """Nodes, each before all that it leads to."""
    for generation in topological_generations(G):
        yield from generation


def has_cycle(G: Network) -> bool:
    """Whether a path leads back to its start."""
    _check_directed(G)
    return _generations(G)[0].size < G.size


def is_directed_acyclic_graph(G: Network) -> bool:
    """Whether it is directed and has no cycle."""
    return G.is_directed() and not has_cycle(G)


def dag_longest_path(
    G: Network, weight: Any = "weight", default_weight: Any = 1, topo_order: Any = None
) -> list[Any]:
    """The path of the largest weight."""
    if topo_order is not None:
        raise NotImplementedError("topo_order= chooses among equal paths")
    return G.at(_longest(G, weight, default_weight)[0]) if G.size else []


def dag_longest_path_length(G: Network, weight: Any = "weight", default_weight: Any = 1) -> Any:
    """The weight of that path."""
    return _longest(G, weight, default_weight)[1] if G.size else 0


def _longest(G: Network, weight: Any, default: Any) -> tuple[Array, Any]:
    """Return the rows of the longest path, and its weight."""
    order, _ = _generations(G)
    if order.size < G.size:
        raise nx.NetworkXUnfeasible("Graph contains a cycle or graph changed during iteration")
    weights = G.entry_weights(weight, default)
    if weights is None:
        weights = np.ones(G.structure.targets.size, np.int64)
    offsets, sources, entries = G.structure.turned
    length, before = np.zeros(G.size), np.arange(G.size)
    kernels.longest_paths(
        offsets, sources, weights[entries].astype(np.float64), order, length, before
    )
    row = int(order[np.argmax(length[order])])
    total = length[row].item()
    path = [row]
    while before[row] != row:
        row = int(before[row])
        path.append(row)
    return np.array(path[::-1]), total if weights.dtype.kind == "f" else int(total)


def is_aperiodic(G: Network) -> bool:
    """Whether no number but 1 divides the lengths of all cycles."""
    if not G.is_directed():
        raise nx.NetworkXError("is_aperiodic not defined for undirected graphs")
    if not G.size:
        raise nx.NetworkXPointlessConcept("Graph has no nodes.")
    if not is_strongly_connected(G):
        raise nx.NetworkXError("Graph is not strongly connected.")
    level = hops(G, [0]).distance
    gaps = level[G.structure.sources] + 1 - level[G.structure.targets]
    return bool(np.gcd.reduce(gaps) == 1) if gaps.size else False
