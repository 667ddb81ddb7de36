"""Shortest paths by the number of edges, and the functions that take any kind of length."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

from weft.networkx import kernels, weighted_paths
from weft.networkx.arguments import row_of, whole
from weft.networkx.network import Network
from weft.networkx.searches import all_paths, hops, levels, rows_along


def single_source_shortest_path_length(
    G: Network, source: Any, cutoff: Any = None
) -> dict[Any, int]:
    """Levels of a breadth-first search."""
    return _lengths(G, source, f"Source {source} is not in G", cutoff, False)


def single_target_shortest_path_length(
    G: Network, target: Any, cutoff: Any = None
) -> dict[Any, int]:
    """Levels of a breadth-first search against the edges."""
    return _lengths(G, target, f"Target {target} is not in G", cutoff, True)


def _lengths(G: Network, node: Any, message: str, cutoff: Any, incoming: bool) -> dict[Any, int]:
    row = row_of(G, node, message, nx.NodeNotFound)
    order, level = levels(G, row, whole(cutoff), incoming)
    return dict(zip(G.at(order), level.tolist(), strict=True))


def all_pairs_shortest_path_length(G: Network, cutoff: Any = None) -> Iterator[Any]:
    """Levels from every node."""
    for node in G:
        yield node, single_source_shortest_path_length(G, node, cutoff)


def single_source_shortest_path(
    G: Network, source: Any, cutoff: Any = None
) -> dict[Any, list[Any]]:
    """The tree of a breadth-first search, as paths."""
    row = row_of(G, source, f"Source {source} not in G", nx.NodeNotFound)
    return all_paths(G, hops(G, [row], whole(cutoff)))


def single_target_shortest_path(
    G: Network, target: Any, cutoff: Any = None
) -> dict[Any, list[Any]]:
    """The tree of a breadth-first search against the edges, as paths to its root."""
    row = row_of(G, target, f"Target {target} not in G", nx.NodeNotFound)
    return all_paths(G, hops(G, [row], whole(cutoff), incoming=True), backwards=True)


def all_pairs_shortest_path(G: Network, cutoff: Any = None) -> Iterator[Any]:
    """Paths from every node."""
    for node in G:
        yield node, single_source_shortest_path(G, node, cutoff)


def bidirectional_shortest_path(G: Network, source: Any, target: Any) -> list[Any]:
    """Search from both ends, the narrower side first."""
    start = row_of(G, source, f"Source {source} is not in G", nx.NodeNotFound)
    end = row_of(G, target, f"Target {target} is not in G", nx.NodeNotFound)
    rows = kernels.between(*rows_along(G, False), *rows_along(G, True), start, end)
    if rows.size == 0:
        raise nx.NetworkXNoPath(f"No path between {source} and {target}.")
    return G.at(rows)


def has_path(G: Network, source: Any, target: Any) -> bool:
    """Search from both ends."""
    try:
        bidirectional_shortest_path(G, source, target)
    except nx.NetworkXNoPath:
        return False
    return True


def predecessor(
    G: Network, source: Any, target: Any = None, cutoff: Any = None, return_seen: Any = None
) -> Any:
    """All neighbours one level up, from the levels of a breadth-first search."""
    row = row_of(G, source, f"Source {source} not in G", nx.NodeNotFound)
    tree = hops(G, [row], whole(cutoff) if cutoff else whole(None))
    order, level, nodes = tree.order.tolist(), tree.distance, G.nodes
    before: dict[Any, list[Any]] = {nodes[r]: [] for r in order}
    sources, targets = _tight(G, tree.order, level)
    for u, v in zip(sources, targets, strict=True):
        before[nodes[v]].append(nodes[u])
    if target is not None:
        known = target in before
        if return_seen:
            return (before[target], int(level[G.structure.place[target]])) if known else ([], -1)
        return before[target] if known else []
    seen = dict(zip(before, level[tree.order].tolist(), strict=True))
    return (before, seen) if return_seen else before


def _tight(G: Network, order: Any, level: Any) -> tuple[list[int], list[int]]:
    """Return the entries that lead one level down, in the order of discovery, once per pair."""
    structure = G.structure
    lengths = structure.lengths[order]
    sources = np.repeat(order, lengths)
    begin = np.repeat(structure.offsets[order] - (np.cumsum(lengths) - lengths), lengths)
    targets = structure.targets[begin + np.arange(begin.size)]
    down = (level[targets] == level[sources] + 1) & (level[targets] >= 0)
    sources, targets = sources[down], targets[down]
    if structure.multigraph and sources.size:
        fresh = np.ones(sources.size, np.bool_)
        fresh[1:] = (sources[1:] != sources[:-1]) | (targets[1:] != targets[:-1])
        sources, targets = sources[fresh], targets[fresh]
    return sources.tolist(), targets.tolist()


def shortest_path(
    G: Network,
    source: Any = None,
    target: Any = None,
    weight: Any = None,
    method: str = "dijkstra",
) -> Any:
    """Paths between two nodes, from one, to one, or between all."""
    if method not in ("dijkstra", "bellman-ford"):
        raise ValueError(f"method not supported: {method}")
    plain, ford = weight is None, method == "bellman-ford"
    if source is None and target is None:
        if plain:
            return all_pairs_shortest_path(G)
        if ford:
            return weighted_paths.all_pairs_bellman_ford_path(G, weight)
        return weighted_paths.all_pairs_dijkstra_path(G, weight=weight)
    if source is None:
        if plain:
            return single_target_shortest_path(G, target)
        return weighted_paths.paths_to(G, target, weight, ford)
    if target is None:
        if plain:
            return single_source_shortest_path(G, source)
        if ford:
            return weighted_paths.single_source_bellman_ford_path(G, source, weight)
        return weighted_paths.single_source_dijkstra_path(G, source, weight=weight)
    if plain:
        return bidirectional_shortest_path(G, source, target)
    if ford:
        return weighted_paths.bellman_ford_path(G, source, target, weight)
    return weighted_paths.bidirectional_dijkstra(G, source, target, weight)[1]


def shortest_path_length(
    G: Network,
    source: Any = None,
    target: Any = None,
    weight: Any = None,
    method: str = "dijkstra",
) -> Any:
    """Lengths between two nodes, from one, to one, or between all."""
    if method not in ("dijkstra", "bellman-ford"):
        raise ValueError(f"method not supported: {method}")
    plain, ford = weight is None, method == "bellman-ford"
    if source is None and target is None:
        if plain:
            return all_pairs_shortest_path_length(G)
        if ford:
            return weighted_paths.all_pairs_bellman_ford_path_length(G, weight)
        return weighted_paths.all_pairs_dijkstra_path_length(G, weight=weight)
    if source is None:
        if plain:
            return _lengths(G, target, f"Source {target} is not in G", None, True)
        return weighted_paths.lengths_to(G, target, weight, ford)
    if target is None:
        if plain:
            return single_source_shortest_path_length(G, source)
        if ford:
            return weighted_paths.single_source_bellman_ford_path_length(G, source, weight)
        return weighted_paths.single_source_dijkstra_path_length(G, source, weight=weight)
    if plain:
        return len(bidirectional_shortest_path(G, source, target)) - 1
    if ford:
        return weighted_paths.bellman_ford_path_length(G, source, target, weight)
    return weighted_paths.dijkstra_path_length(G, source, target, weight)
