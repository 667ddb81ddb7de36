"""Strongly connected components, and what a directed graph is made of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

from weft.networkx import kernels
from weft.networkx.components import component_labels, groups
from weft.networkx.network import Network
from weft.networkx.searches import levels

Array = np.ndarray[Any, Any]


def strong_labels(G: Network) -> tuple[Array, int]:
    """Return the number of each row's strong component, sinks first, and how many there are."""
    structure = G.structure
    label = np.full(G.size, -1, np.int64)
    return label, kernels.strong_components(structure.offsets, structure.targets, label)


def strongly_connected_components(G: Network) -> Iterator[set[Any]]:
    """Sets of nodes that reach one another, each before those that lead to it."""
    yield from groups(G, *strong_labels(G))


def kosaraju_strongly_connected_components(G: Network, source: Any = None) -> Iterator[set[Any]]:
    """Sets of nodes that reach one another."""
    if source is not None:
        raise NotImplementedError("source= chooses the order of NetworkX's own search")
    return strongly_connected_components(G)


def number_strongly_connected_components(G: Network) -> int:
    """Return the number of strongly connected components."""
    return strong_labels(G)[1]


def is_strongly_connected(G: Network) -> bool:
    """Whether every node reaches every other."""
    if not G.size:
        raise nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
    return all(levels(G, 0, incoming=way)[0].size == G.size for way in (False, True))


def condensation(G: Network, scc: Any = None) -> nx.DiGraph:
    """The acyclic graph of the components."""
    if scc is None:
        members = list(strongly_connected_components(G))
    else:
        members = list(scc)
    graph = nx.DiGraph()
    mapping = {node: number for number, group in enumerate(members) for node in group}
    graph.graph["mapping"] = mapping
    if not G.size:
        return graph
    graph.add_nodes_from(range(len(members)))
    label = np.fromiter((mapping[node] for node in G.nodes), np.int64, G.size)
    ends = label[G.structure.sources], label[G.structure.targets]
    apart = ends[0] != ends[1]
    graph.add_edges_from(zip(ends[0][apart].tolist(), ends[1][apart].tolist(), strict=True))
    nx.set_node_attributes(graph, dict(enumerate(members)), "members")
    return graph


def _without_exit(G: Network) -> tuple[Array, Array, int]:
    label, count = strong_labels(G)
    ends = label[G.structure.sources], label[G.structure.targets]
    closed = np.ones(count, np.bool_)
    closed[ends[0][ends[0] != ends[1]]] = False
    return closed, label, count


def attracting_components(G: Network) -> Iterator[set[Any]]:
    """Strong components that no edge leaves."""
    closed, label, count = _without_exit(G)
    for keep, group in zip(closed.tolist(), groups(G, label, count), strict=True):
        if keep:
            yield group


def number_attracting_components(G: Network) -> int:
    """Return the number of components that no edge leaves."""
    return int(np.count_nonzero(_without_exit(G)[0]))


def is_attracting_component(G: Network) -> bool:
    """Whether the graph is one strong component."""
    return strong_labels(G)[1] == 1


def is_semiconnected(G: Network) -> bool:
    """Whether of any two nodes one reaches the other."""
    if not G.size:
        raise nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
    if component_labels(G)[1] != 1:
        return False
    label, count = strong_labels(G)
    # Numbers rise against the edges: each component must lead to the one numbered before it.
    ends = label[G.structure.sources], label[G.structure.targets]
    linked = np.zeros(count, np.bool_)
    linked[ends[0][ends[0] == ends[1] + 1]] = True
    return bool(linked[1:].all())


def flow_hierarchy(G: Network, weight: Any = None) -> float:
    """The weight of the edges that lie on no cycle, as a share."""
    if not G.number_of_edges():
        raise nx.NetworkXError("flow_hierarchy not applicable to empty graphs")
    if not G.is_directed():
        raise nx.NetworkXError("G must be a digraph in flow_hierarchy")
    label, _ = strong_labels(G)
    weights = G.entry_weights(weight)
    if weights is None:
        weights = np.ones(G.structure.targets.size)
    inside = label[G.structure.sources] == label[G.structure.targets]
    return 1 - weights[inside].sum().item() / float(weights.sum())
