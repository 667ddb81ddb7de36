"""Searches over a converted graph: levels and distances, and the trees that lead to them.

Where NetworkX promises an order (of discovery, of neighbours, among equal paths), one thread of the
host searches in that order. Levels and distances alone are computed by the engine, in parallel or
on a GPU, once the graph is large enough.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import networkx as nx
import numpy as np

from weft.algorithms.bfs import bfs
from weft.algorithms.sssp import sssp
from weft.arrays.device import to_host
from weft.errors import GraphError
from weft.graph import Graph
from weft.networkx import kernels
from weft.networkx.arguments import UNLIMITED
from weft.networkx.network import Network

Array = np.ndarray[Any, Any]


class Tree(NamedTuple):
    """The result of a search: rows in order, and the predecessor and the distance of each row.

    Sources are their own parents; what was not found has the parent -1.
    """

    order: Array
    parent: Array
    distance: Array


def rows_along(network: Network, incoming: bool) -> tuple[Array, Array]:
    """Return the offsets and targets to search along."""
    structure = network.structure
    if incoming and structure.directed:
        offsets, sources, _ = structure.turned
        return offsets, sources
    return structure.offsets, structure.targets


def hops(network: Network, sources: Any, limit: int = UNLIMITED, incoming: bool = False) -> Tree:
    """Search breadth first in NetworkX's order."""
    offsets, targets = rows_along(network, incoming)
    size = network.size
    order, parent = np.empty(size, np.int64), np.full(size, -1, np.int64)
    level = np.full(size, -1, np.int64)
    starts = np.asarray(sources, np.int64)
    count = kernels.search(offsets, targets, starts, limit, order, parent, level)
    return Tree(order[:count], parent, level)


def levels(
    network: Network, source: int, limit: int = UNLIMITED, incoming: bool = False
) -> tuple[Array, Array]:
    """Return the rows within a number of hops, nearest first, and their levels."""
    if not network.structure.in_engine:
        found = hops(network, [source], limit, incoming)
        return found.order, found.distance[found.order]
    level = to_host(bfs(engine_graph(network, None, incoming), source).level)
    reached = np.flatnonzero((level >= 0) & (level <= limit))
    reached = reached[np.argsort(level[reached], kind="stable")]
    return reached, level[reached]


def engine_graph(network: Network, weight: Any, incoming: bool) -> Graph:
    """Return the weft graph, reversed for a search against the edges."""
    g = network.graph(weight)
    if not incoming or not g.directed:
        return g
    key = "reversed", weight, g.device
    if key not in network._graphs:
        network._graphs[key] = g.reverse()
    return network._graphs[key]


def shortest(
    network: Network,
    sources: list[int],
    weight: Any,
    cutoff: Any = None,
    target: int = -1,
    incoming: bool = False,
) -> Tree:
    """Search by non-negative weights, in NetworkX's order unless the engine does it.

    Raises
    ------
    ValueError
        If weights are negative, in NetworkX's words.
    """
    values = network.weights(weight)
    if values is None and cutoff is None:
        return hops(network, sources, incoming=incoming)
    if values is not None and values.size and values.min() < 0:
        raise NotImplementedError("Dijkstra's search along negative weights is NetworkX's own")
    if network.structure.in_engine and len(sources) == 1 and target < 0:
        return _by_engine(network, sources[0], weight, cutoff, incoming)
    return _in_order(network, sources, weight, cutoff, target, incoming)


def _in_order(
    network: Network, sources: list[int], weight: Any, cutoff: Any, target: int, incoming: bool
) -> Tree:
    structure, size = network.structure, network.size
    offsets, targets = rows_along(network, incoming)
    weights = network.entry_weights(weight)
    if weights is None:
        weights = np.ones(targets.size)
    if weights.dtype.kind != "f" and weights.size and int(weights.max()) * size >= 2**53:
        raise NotImplementedError("integer weights too large for exact sums in float64")
    if incoming and structure.directed:
        weights = weights[structure.turned[2]]
    order, parent = np.empty(size, np.int64), np.full(size, -1, np.int64)
    dist = np.full(size, np.inf)
    limit = np.inf if cutoff is None else float(cutoff)
    count = kernels.dijkstra(
        offsets, targets, weights.astype(np.float64, copy=False), np.asarray(sources, np.int64),
        target, limit, order, parent, dist,
    )  # fmt: skip
    if count < 0:
        raise ValueError("Contradictory paths found:", "negative weights?")
    return Tree(order[:count], parent, _in_kind(dist, network, weight))


def _in_kind(dist: Array, network: Network, weight: Any) -> Array:
    """Return distances as integers if all weights are; unreached ones are not looked at."""
    values = network.weights(weight)
    if values is not None and values.dtype.kind == "f":
        return dist
    return np.where(np.isfinite(dist), dist, -1).astype(np.int64)


def _by_engine(network: Network, source: int, weight: Any, cutoff: Any, incoming: bool) -> Tree:
    try:
        found = sssp(engine_graph(network, weight, incoming), source)
    except GraphError as error:
        if "negative" in str(error):
            raise nx.NetworkXUnbounded("Negative cycle detected.") from None
        raise NotImplementedError(str(error)) from error
    dist, parent = to_host(found.dist), to_host(found.parent)
    reached = parent >= 0
    if cutoff is not None:
        reached &= dist <= cutoff
    order = np.flatnonzero(reached)
    order = order[np.argsort(dist[order], kind="stable")]
    return Tree(order, np.where(reached, parent, -1), dist)


def relaxed(network: Network, source: int, weight: Any) -> Tree:
    """Search by weights of any sign."""
    values = network.weights(weight)
    if values is None or values.min() >= 0:
        return shortest(network, [source], weight)
    return _by_engine(network, source, weight, None, False)


def path_to(network: Network, tree: Tree, row: int) -> list[Any]:
    """Return the nodes from a source of a search to a row."""
    nodes, parent = network.nodes, tree.parent
    path = [nodes[row]]
    while (before := int(parent[row])) != row:
        row = before
        path.append(nodes[row])
    path.reverse()
    return path


def all_paths(network: Network, tree: Tree, backwards: bool = False) -> dict[Any, list[Any]]:
    """Return the path to every row that was found, from its source or, backwards, to it."""
    nodes, parent = network.nodes, tree.parent.tolist()
    paths: dict[Any, list[Any]] = {}
    for row in tree.order.tolist():
        node, before = nodes[row], nodes[parent[row]]
        if parent[row] == row:
            paths[node] = [node]
        elif before not in paths:  # zero weights: found in the same moment
            path = path_to(network, tree, row)
            paths[node] = path[::-1] if backwards else path
        else:
            paths[node] = [node, *paths[before]] if backwards else [*paths[before], node]
    return paths


def by_node(network: Network, tree: Tree) -> dict[Any, Any]:
    """Return the distances that were found, in order; those of sources are the integer 0."""
    order = tree.order
    values = tree.distance[order].tolist()
    for root in np.flatnonzero(tree.parent[order] == order).tolist():
        values[root] = 0
    return dict(zip(network.at(order), values, strict=True))
