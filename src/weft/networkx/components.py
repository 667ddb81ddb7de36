"""Connected components, trees and two-colourings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

from weft.algorithms.connected_components import connected_components as engine_components
from weft.arrays.device import to_host
from weft.networkx import kernels
from weft.networkx.network import Network
from weft.networkx.searches import hops, levels

Array = np.ndarray[Any, Any]
NO_ROWS = np.empty(0, np.int64), np.empty(0, np.int32)


def component_labels(G: Network) -> tuple[Array, int]:
    """Return the number of each row's weak component, by their first rows, and how many."""
    structure = G.structure
    if structure.in_engine:
        label = to_host(engine_components(G.graph()))
        _, first, inverse = np.unique(label, return_index=True, return_inverse=True)
        rank = np.empty(first.size, np.int64)
        rank[np.argsort(first)] = np.arange(first.size)
        return rank[inverse], first.size
    label = np.full(G.size, -1, np.int64)
    incoming = structure.turned[:2] if structure.directed else NO_ROWS
    return label, kernels.components(structure.offsets, structure.targets, *incoming, label)


def groups(G: Network, label: Array, count: int) -> Iterator[set[Any]]:
    """Yield the nodes of each label."""
    order = np.argsort(label, kind="stable")
    ends = np.cumsum(np.bincount(label, minlength=count)).tolist()
    nodes = G.at(order)
    begin = 0
    for end in ends:
        yield set(nodes[begin:end])
        begin = end


def connected_components(G: Network) -> Iterator[set[Any]]:
    """Sets of nodes."""
    yield from groups(G, *component_labels(G))


weakly_connected_components = connected_components


def number_connected_components(G: Network) -> int:
    """Return the number of connected components."""
    return component_labels(G)[1]


number_weakly_connected_components = number_connected_components


def is_connected(G: Network) -> bool:
    """Whether there is one component."""
    if not G.size:
        raise nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
    return _in_one_piece(G)


is_weakly_connected = is_connected


def _in_one_piece(G: Network) -> bool:
    structure = G.structure
    if structure.num_edges < G.size - 1:
        return False
    if structure.directed or structure.in_engine:
        return component_labels(G)[1] == 1
    return hops(G, [0]).order.size == G.size


def node_connected_component(G: Network, n: Any) -> set[Any]:
    """The nodes that are connected with one."""
    order, _ = levels(G, G.structure.place[n])
    return set(G.at(order))


def is_tree(G: Network) -> bool:
    """Whether it is connected by as few edges as possible."""
    if not G.size:
        raise nx.NetworkXPointlessConcept("G has no nodes.")
    return G.size - 1 == G.number_of_edges() and _in_one_piece(G)


def is_forest(G: Network) -> bool:
    """Whether every component is a tree."""
    if not G.size:
        raise nx.NetworkXPointlessConcept("G has no nodes.")
    return G.size - component_labels(G)[1] == G.number_of_edges()


def is_arborescence(G: Network) -> bool:
    """Whether it is a tree with at most one edge into each node."""
    return is_tree(G) and _most_incoming(G) <= 1


def is_branching(G: Network) -> bool:
    """Whether it is a forest with at most one edge into each node."""
    return is_forest(G) and _most_incoming(G) <= 1


def _most_incoming(G: Network) -> int:
    return int(np.bincount(G.structure.targets, minlength=1).max())


def is_bipartite(G: Network) -> bool:
    """Whether two colours are enough."""
    structure = G.structure
    incoming = structure.turned[:2] if structure.directed else NO_ROWS
    color = np.full(G.size, -1, np.int64)
    return bool(kernels.two_colors(structure.offsets, structure.targets, *incoming, color))
