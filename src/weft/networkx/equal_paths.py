"""All shortest paths, and distances of all pairs with predecessors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import networkx as nx
import numpy as np

from weft.arrays.distinct import distinct
from weft.networkx import kernels, weighted_paths
from weft.networkx.arguments import row_of
from weft.networkx.network import Network
from weft.networkx.paths import predecessor

Array = np.ndarray[Any, Any]
Before = dict[Any, list[Any]]


class Rows(NamedTuple):
    """Rows with one entry for each neighbour, and its weight."""

    offsets: Array
    targets: Array
    sources: Array
    weights: Array


def weighted_rows(G: Network, weight: Any) -> Rows:
    """Return the rows with weights; of parallel edges the lightest."""
    structure = G.structure
    weights = G.entry_weights(weight)
    if weights is None:
        weights = np.ones(structure.targets.size)
    values = weights.astype(np.float64)
    if not structure.multigraph:
        return Rows(structure.offsets, structure.targets, structure.sources, values)
    offsets, targets = structure.neighbors
    sources = np.repeat(np.arange(G.size, dtype=np.int32), np.diff(offsets))
    ahead = structure.sources.astype(np.int64) * G.size + structure.targets
    key = distinct(ahead)
    least = np.full(key.size, np.inf)
    np.minimum.at(least, np.searchsorted(key, ahead), values)
    at = np.searchsorted(key, sources.astype(np.int64) * G.size + targets)
    return Rows(offsets, targets, sources, least[at])


def _whole(G: Network, weight: Any) -> bool:
    """Whether distances are integers."""
    values = G.weights(weight)
    return values is None or values.dtype.kind != "f"


def _in_kind(values: Array, whole: bool) -> list[Any]:
    return values.astype(np.int64).tolist() if whole else values.tolist()


def dijkstra_predecessor_and_distance(
    G: Network, source: Any, cutoff: Any = None, weight: Any = "weight"
) -> tuple[Before, dict[Any, Any]]:
    """All nodes that are last before each on a shortest path, and the distances."""
    row = row_of(G, source, f"Node {source} is not found in the graph", nx.NodeNotFound)
    rows, n = weighted_rows(G, weight), G.size
    order, found = np.empty(n, np.int64), np.empty(n, np.int64)
    dist, head, link = np.full(n, np.inf), np.full(n, -1), np.empty(rows.targets.size, np.int64)
    limit = np.inf if cutoff is None else float(cutoff)
    count = kernels.tight_search(
        rows.offsets, rows.targets, rows.weights, row, limit, order, found, dist, head, link,
        np.zeros(n),
    )  # fmt: skip
    if count < 0:
        raise ValueError("Contradictory paths found:", "negative weights?")
    before: Before = {}
    nodes = G.nodes
    for v in found[:count].tolist():
        slot, entries = int(head[v]), []
        while slot >= 0:
            entries.append(nodes[rows.sources[slot]])
            slot = int(link[slot])
        before[nodes[v]] = entries
    order = order[:count]
    lengths = _in_kind(dist[order], _whole(G, weight))
    lengths[0] = 0
    return before, dict(zip(G.at(order), lengths, strict=True))


def _before(G: Network, source: Any, weight: Any, method: str) -> Before:
    if weight is None:
        found: Before = predecessor(G, source)
        return found
    if method not in ("dijkstra", "bellman-ford"):
        raise ValueError(f"method not supported: {method}")
    if method == "bellman-ford":
        raise NotImplementedError("equal paths are in the order of NetworkX's own search")
    return dijkstra_predecessor_and_distance(G, source, weight=weight)[0]


def _paths(before: Before, source: Any, target: Any) -> Iterator[list[Any]]:
    """Yield all paths to a target that lead back to the source."""
    if target not in before:
        raise nx.NetworkXNoPath(f"Target {target} cannot be reached from given sources")
    path, ahead, met = [target], [iter(before[target])], {target}
    if target == source:
        yield [target]
    while path:
        step = next((node for node in ahead[-1] if node not in met), None)
        if step is None:
            met.discard(path.pop())
            ahead.pop()
            continue
        path.append(step)
        met.add(step)
        ahead.append(iter(before[step]))
        if step == source:
            yield path[::-1]


def all_shortest_paths(
    G: Network, source: Any, target: Any, weight: Any = None, method: str = "dijkstra"
) -> Iterator[list[Any]]:
    """All shortest paths between two nodes."""
    return _paths(_before(G, source, weight, method), source, target)


def _from_source(before: Before, source: Any) -> Iterator[tuple[Any, list[list[Any]]]]:
    for node in before:
        yield node, list(_paths(before, source, node))


def single_source_all_shortest_paths(
    G: Network, source: Any, weight: Any = None, method: str = "dijkstra"
) -> Iterator[tuple[Any, list[list[Any]]]]:
    """All shortest paths from a node."""
    yield from _from_source(_before(G, source, weight, method), source)


def all_pairs_all_shortest_paths(
    G: Network, weight: Any = None, method: str = "dijkstra"
) -> Iterator[tuple[Any, dict[Any, list[list[Any]]]]]:
    """All shortest paths of all pairs."""
    for node in G.nodes:
        yield node, dict(_from_source(_before(G, node, weight, method), node))


def negative_edge_cycle(G: Network, weight: Any = "weight", heuristic: bool = True) -> bool:
    """Whether some cycle has a negative weight."""
    values = G.weights(weight)
    if values is None or not values.size or values.min() >= 0:
        return False
    rows = weighted_rows(G, weight)
    return bool(kernels.has_negative_cycle(rows.sources, rows.targets, rows.weights, G.size))


def johnson(G: Network, weight: Any = "weight") -> dict[Any, dict[Any, list[Any]]]:
    """Shortest paths of all pairs."""
    values = G.weights(weight)
    if values is not None and values.size and values.min() < 0:
        raise NotImplementedError("negative weights are NetworkX's own")
    return dict(weighted_paths.all_pairs_dijkstra_path(G, weight=weight))


def floyd_warshall_predecessor_and_distance(
    G: Network, weight: Any = "weight"
) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """Distances of all pairs, and the node before the last one of each shortest path."""
    rows, n = weighted_rows(G, weight), G.size
    dist, before = np.full((n, n), np.inf), np.full((n, n), -1, np.int32)
    np.fill_diagonal(dist, 0)
    shorter = rows.weights < dist[rows.sources, rows.targets]
    before[rows.sources, rows.targets] = rows.sources
    dist[rows.sources[shorter], rows.targets[shorter]] = rows.weights[shorter]
    kernels.all_distances(dist, before)
    values, nodes = G.weights(weight), G.nodes
    whole = values is not None and values.dtype.kind != "f"  # a missing weight is 1.0
    lengths, last = {}, {}
    for row, node in enumerate(nodes):
        found = np.flatnonzero(np.isfinite(dist[row]))
        line = dict.fromkeys(nodes, np.inf)
        line.update(zip(G.at(found), _in_kind(dist[row, found], whole), strict=True))
        if dist[row, row] == 0:
            line[node] = 0
        lengths[node] = defaultdict(_infinite, line)
        led = np.flatnonzero(before[row] >= 0)
        if led.size:
            last[node] = dict(zip(G.at(led), G.at(before[row, led]), strict=True))
    return last, lengths


def _infinite() -> float:
    return float("inf")


def floyd_warshall(G: Network, weight: Any = "weight") -> dict[Any, Any]:
    """Distances of all pairs."""
    return floyd_warshall_predecessor_and_distance(G, weight)[1]
