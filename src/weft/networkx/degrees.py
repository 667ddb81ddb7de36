"""Degrees, and what follows from them or from one look at every edge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

from weft.networkx.arguments import bunch
from weft.networkx.network import Network

Array = np.ndarray[Any, Any]


def out_degrees(G: Network, weight: Any = None) -> Array:
    """Return the (weighted) number of edges that leave each row; undirected loops count twice."""
    structure = G.structure
    return _counted(G, structure.sources, weight)


def in_degrees(G: Network, weight: Any = None) -> Array:
    """Return the (weighted) number of edges that enter each row."""
    return _counted(G, G.structure.targets, weight)


def _counted(G: Network, ends: Array, weight: Any) -> Array:
    structure = G.structure
    weights = G.entry_weights(weight)
    if structure.directed and weights is None:
        return np.bincount(ends, minlength=G.size)
    if weights is None:
        weights = np.ones(ends.size, np.int64)
    if not structure.directed:
        weights = np.where(structure.sources == structure.targets, 2 * weights, weights)
    if weights.dtype.kind == "f":
        return np.bincount(ends, weights, minlength=G.size)
    total = np.zeros(G.size, np.int64)
    np.add.at(total, ends, weights)
    return total


def degrees(G: Network, weight: Any = None) -> Array:
    """Return the (weighted) degree of each row; a self-loop counts twice."""
    if G.structure.directed:
        return out_degrees(G, weight) + in_degrees(G, weight)
    return out_degrees(G, weight)


def _centrality(G: Network, values: Array) -> dict[Any, float]:
    if G.size <= 1:
        return dict.fromkeys(G.nodes, 1)
    return G.named(values * (1.0 / (G.size - 1.0)))


def degree_centrality(G: Network) -> dict[Any, float]:
    """Degrees by the number of other nodes."""
    return _centrality(G, degrees(G))


def in_degree_centrality(G: Network) -> dict[Any, float]:
    """Incoming degrees by the number of other nodes."""
    return _centrality(G, in_degrees(G))


def out_degree_centrality(G: Network) -> dict[Any, float]:
    """Outgoing degrees by the number of other nodes."""
    return _centrality(G, out_degrees(G))


def _alone(G: Network) -> Array:
    structure = G.structure
    empty = structure.lengths == 0
    if structure.directed:
        empty &= np.bincount(structure.targets, minlength=G.size) == 0
    return np.flatnonzero(empty)


def isolates(G: Network) -> Iterator[Any]:
    """Nodes without edges."""
    return iter(G.at(_alone(G)))


def number_of_isolates(G: Network) -> int:
    """Return the number of nodes without edges."""
    return int(_alone(G).size)


def is_isolate(G: Network, n: Any) -> bool:
    """Whether a node has no edges."""
    if n not in G:
        raise nx.NetworkXError(f"Node {n} is not in the graph.")
    structure = G.structure
    row = structure.place[n]
    if structure.offsets[row] != structure.offsets[row + 1]:
        return False
    return not structure.directed or not bool((structure.targets == row).any())


def number_of_selfloops(G: Network) -> int:
    """Return the number of self-loops."""
    return G.structure.num_loops


def is_negatively_weighted(G: Network, edge: Any = None, weight: Any = "weight") -> bool:
    """Whether a weight is below zero."""
    if edge is not None:
        raise NotImplementedError("one edge is looked up by NetworkX")
    values = G.weights(weight)
    return values is not None and bool(values.min() < 0)


def both_ways(G: Network) -> Array:
    """Return whether the opposite of each entry of a simple directed graph exists too."""
    structure, size = G.structure, G.size
    ahead = structure.sources.astype(np.int64) * size + structure.targets
    back = structure.targets.astype(np.int64) * size + structure.sources
    return np.isin(ahead, back)


def overall_reciprocity(G: Network) -> float:
    """The share of edges that have an opposite."""
    edges = G.number_of_edges()
    if edges == 0:
        raise nx.NetworkXError("Not defined for empty graphs")
    if not G.is_directed() or G.is_multigraph():
        raise NotImplementedError("opposite edges of undirected graphs and of multigraphs")
    # A pair of opposite edges leaves one edge of two; a self-loop stays.
    mutual = int(np.count_nonzero(both_ways(G))) - G.structure.num_loops
    return mutual / edges


def reciprocity(G: Network, nodes: Any = None) -> Any:
    """The share of each node's neighbours that are joined with it both ways."""
    if nodes is None:
        return overall_reciprocity(G)
    if not G.is_directed() or G.is_multigraph():
        raise NotImplementedError("opposite edges of undirected graphs and of multigraphs")
    structure = G.structure
    shared = np.bincount(structure.sources, both_ways(G), minlength=G.size).astype(np.int64)
    total = degrees(G)
    place = structure.place
    found = {}
    for node in bunch(G, nodes):
        row = place[node]
        found[node] = 2 * int(shared[row]) / int(total[row]) if total[row] else None
    if nodes in G:
        if found[nodes] is None:
            raise nx.NetworkXError("Not defined for isolated nodes.")
        return found[nodes]
    return found
