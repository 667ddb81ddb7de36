"""Shortest paths by weight: Dijkstra's and the Bellman-Ford family."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx

from weft.networkx.arguments import row_of
from weft.networkx.network import Network
from weft.networkx.searches import all_paths, by_node, path_to, relaxed, shortest

Paths = dict[Any, list[Any]]


def _rows(G: Network, sources: Any) -> list[int]:
    if not sources:
        raise ValueError("sources must not be empty")
    found = (row_of(G, s, f"Node {s} not found in graph", nx.NodeNotFound) for s in sources)
    return list(dict.fromkeys(found))


def multi_source_dijkstra(
    G: Network, sources: Any, target: Any = None, cutoff: Any = None, weight: Any = "weight"
) -> Any:
    """Search by distance from the nearest source."""
    rows = _rows(G, sources)
    if target in sources:
        return 0, [target]
    end = -1
    if target is not None:
        end = row_of(G, target, f"No path to {target}.", nx.NetworkXNoPath)
    tree = shortest(G, rows, weight, cutoff, end)
    if target is None:
        return by_node(G, tree), all_paths(G, tree)
    if tree.parent[end] < 0:
        raise nx.NetworkXNoPath(f"No path to {target}.")
    return tree.distance[end].item(), path_to(G, tree, end)


def multi_source_dijkstra_path(
    G: Network, sources: Any, cutoff: Any = None, weight: Any = "weight"
) -> Paths:
    """Paths from the nearest source."""
    return multi_source_dijkstra(G, sources, cutoff=cutoff, weight=weight)[1]


def multi_source_dijkstra_path_length(
    G: Network, sources: Any, cutoff: Any = None, weight: Any = "weight"
) -> dict[Any, Any]:
    """Distances from the nearest source."""
    return by_node(G, shortest(G, _rows(G, sources), weight, cutoff))


def single_source_dijkstra(
    G: Network, source: Any, target: Any = None, cutoff: Any = None, weight: Any = "weight"
) -> Any:
    """Distances and paths from a node."""
    return multi_source_dijkstra(G, {source}, target, cutoff, weight)


def single_source_dijkstra_path(
    G: Network, source: Any, cutoff: Any = None, weight: Any = "weight"
) -> Paths:
    """Paths from a node."""
    return multi_source_dijkstra(G, {source}, None, cutoff, weight)[1]


def single_source_dijkstra_path_length(
    G: Network, source: Any, cutoff: Any = None, weight: Any = "weight"
) -> dict[Any, Any]:
    """Distances from a node."""
    return multi_source_dijkstra_path_length(G, {source}, cutoff, weight)


def dijkstra_path(G: Network, source: Any, target: Any, weight: Any = "weight") -> list[Any]:
    """The path between two nodes."""
    return single_source_dijkstra(G, source, target, weight=weight)[1]


def dijkstra_path_length(G: Network, source: Any, target: Any, weight: Any = "weight") -> Any:
    """The distance between two nodes."""
    row_of(G, source, f"Node {source} not found in graph", nx.NodeNotFound)
    if source == target:
        return 0
    try:
        return single_source_dijkstra(G, source, target, weight=weight)[0]
    except nx.NetworkXNoPath as error:
        message = f"Node {target} not reachable from {source}"
        raise nx.NetworkXNoPath(message) from error


def bidirectional_dijkstra(
    G: Network, source: Any, target: Any, weight: Any = "weight"
) -> tuple[Any, list[Any]]:
    """The distance and the path between two nodes, searched from the first."""
    row_of(G, source, f"Source {source} is not in G", nx.NodeNotFound)
    row_of(G, target, f"Target {target} is not in G", nx.NodeNotFound)
    try:
        return single_source_dijkstra(G, source, target, weight=weight)
    except nx.NetworkXNoPath:
        raise nx.NetworkXNoPath(f"No path between {source} and {target}.") from None


def all_pairs_dijkstra(G: Network, cutoff: Any = None, weight: Any = "weight") -> Iterator[Any]:
    """Distances and paths from every node."""
    for node in G:
        yield node, single_source_dijkstra(G, node, cutoff=cutoff, weight=weight)


def all_pairs_dijkstra_path(
    G: Network, cutoff: Any = None, weight: Any = "weight"
) -> Iterator[Any]:
    """Paths from every node."""
    for node in G:
        yield node, single_source_dijkstra_path(G, node, cutoff, weight)


def all_pairs_dijkstra_path_length(
    G: Network, cutoff: Any = None, weight: Any = "weight"
) -> Iterator[Any]:
    """Distances from every node."""
    for node in G:
        yield node, single_source_dijkstra_path_length(G, node, cutoff, weight)


def single_source_bellman_ford(
    G: Network, source: Any, target: Any = None, weight: Any = "weight"
) -> Any:
    """Distances and paths from a node, whatever the signs of the weights."""
    if source == target:
        row_of(G, source, f"Node {source} is not found in the graph", nx.NodeNotFound)
        return 0, [source]
    row = row_of(G, source, f"Source {source} not in G", nx.NodeNotFound)
    tree = relaxed(G, row, weight)
    if target is None:
        return by_node(G, tree), all_paths(G, tree)
    if target not in G or tree.parent[end := G.structure.place[target]] < 0:
        raise nx.NetworkXNoPath(f"Node {target} not reachable from {source}")
    return tree.distance[end].item(), path_to(G, tree, end)


def single_source_bellman_ford_path(G: Network, source: Any, weight: Any = "weight") -> Paths:
    """Paths from a node."""
    return single_source_bellman_ford(G, source, weight=weight)[1]


def single_source_bellman_ford_path_length(
    G: Network, source: Any, weight: Any = "weight"
) -> dict[Any, Any]:
    """Distances from a node."""
    row = row_of(G, source, f"Source {source} not in G", nx.NodeNotFound)
    return by_node(G, relaxed(G, row, weight))


def bellman_ford_path(G: Network, source: Any, target: Any, weight: Any = "weight") -> list[Any]:
    """The path between two nodes."""
    return single_source_bellman_ford(G, source, target, weight)[1]


def bellman_ford_path_length(G: Network, source: Any, target: Any, weight: Any = "weight") -> Any:
    """The distance between two nodes."""
    if source == target:
        row_of(G, source, f"Node {source} not found in graph", nx.NodeNotFound)
        return 0
    try:
        return single_source_bellman_ford(G, source, target, weight)[0]
    except nx.NetworkXNoPath as error:
        message = f"node {target} not reachable from {source}"
        raise nx.NetworkXNoPath(message) from error


def all_pairs_bellman_ford_path(G: Network, weight: Any = "weight") -> Iterator[Any]:
    """Paths from every node."""
    for node in G:
        yield node, single_source_bellman_ford_path(G, node, weight)


def all_pairs_bellman_ford_path_length(G: Network, weight: Any = "weight") -> Iterator[Any]:
    """Distances from every node."""
    for node in G:
        yield node, single_source_bellman_ford_path_length(G, node, weight)


def paths_to(G: Network, target: Any, weight: Any, signed: bool) -> Paths:
    """Return the path from every node to one."""
    row = row_of(G, target, _missing(target, signed), nx.NodeNotFound)
    _check_sign(G, weight, signed)
    return all_paths(G, shortest(G, [row], weight, incoming=True), backwards=True)


def lengths_to(G: Network, target: Any, weight: Any, signed: bool) -> dict[Any, Any]:
    """Return the distance from every node to one."""
    row = row_of(G, target, _missing(target, signed), nx.NodeNotFound)
    _check_sign(G, weight, signed)
    return by_node(G, shortest(G, [row], weight, incoming=True))


def _missing(node: Any, signed: bool) -> str:
    return f"Source {node} not in G" if signed else f"Node {node} not found in graph"


def _check_sign(G: Network, weight: Any, signed: bool) -> None:
    values = G.weights(weight)
    if signed and values is not None and values.min() < 0:
        raise NotImplementedError("paths to one node along negative weights are NetworkX's own")
