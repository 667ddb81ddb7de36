"""Distances between all pairs as a matrix, cells of centres, and sides of a bipartite graph."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from weft.networkx.matrices import to_numpy_array
from weft.networkx.network import Network
from weft.networkx.searches import levels, shortest
from weft.networkx.weighted_paths import multi_source_dijkstra_path_length

Array = np.ndarray[Any, Any]


def floyd_warshall_numpy(G: Network, nodelist: Any = None, weight: Any = "weight") -> Array:
    """The matrix of distances."""
    if nodelist is not None and not len(nodelist) == G.size == len(set(nodelist)):
        raise nx.NetworkXError(
            "nodelist must contain every node in G with no repeats."
            "If you wanted a subgraph of G use G.subgraph(nodelist)"
        )
    found = to_numpy_array(G, nodelist, multigraph_weight=min, weight=weight, nonedge=np.inf)
    np.fill_diagonal(found, 0)
    for i in range(G.size):
        np.minimum(found, found[:, i, np.newaxis] + found[np.newaxis, i], out=found)
    return found


def voronoi_cells(G: Network, center_nodes: Any, weight: Any = "weight") -> dict[Any, set[Any]]:
    """The nodes nearest to each centre."""
    if not center_nodes:
        raise ValueError("sources must not be empty")
    for node in center_nodes:
        if node not in G:
            raise nx.NodeNotFound(f"Node {node} not found in graph")
    rows = list(dict.fromkeys(G.structure.place[node] for node in center_nodes))
    tree = shortest(G, rows, weight)
    owner = np.full(G.size, -1, np.int64)
    parent = tree.parent.tolist()
    for row in tree.order.tolist():
        owner[row] = row if parent[row] == row else owner[parent[row]]
    cells: dict[Any, set[Any]] = {}
    for node, center in zip(G.at(tree.order), owner[tree.order].tolist(), strict=True):
        cells.setdefault(G.nodes[center], set()).add(node)
    if tree.order.size < G.size:
        cells["unreachable"] = set(G.at(np.flatnonzero(owner < 0)))
    return cells


def group_closeness_centrality(G: Network, S: Any, weight: Any = None) -> float:
    """The inverse of the mean distance to a set."""
    members = set(S)
    others = set(G.nodes) - members
    if G.is_directed():
        raise NotImplementedError("distances to a set in a directed graph are NetworkX's own")
    found = multi_source_dijkstra_path_length(G, members, weight=weight)
    total = sum(found.get(node, 0) for node in others)
    return len(others) / total if total else 0


def bipartite_degree_centrality(G: Network, nodes: Any) -> dict[Any, float]:
    """Degrees by the number of nodes on the other side."""
    from weft.networkx.degrees import degrees

    top = set(nodes)
    bottom = set(G) - top
    degree, place = degrees(G).tolist(), G.structure.place
    found = {}
    for side, other in ((top, bottom), (bottom, top)):
        scale = 1.0 / len(other)
        found.update({node: degree[place[node]] * scale for node in side if node in place})
    return found


def bipartite_closeness_centrality(
    G: Network, nodes: Any, normalized: bool = True
) -> dict[Any, float]:
    """Closeness by the least distances that two sides allow."""
    top = set(nodes)
    bottom = set(G) - top
    found = {}
    for side, other in ((top, bottom), (bottom, top)):
        least = len(other) + 2 * (len(side) - 1)
        for node in side:
            if node not in G:
                raise nx.NodeNotFound(f"Source {node} is not in G")
            _, level = levels(G, G.structure.place[node])
            total = int(level.sum())
            value = 0.0
            if total > 0 and G.size > 1:
                value = least / total
                if normalized:
                    value *= (level.size - 1) / (G.size - 1)
            found[node] = value
    return found
