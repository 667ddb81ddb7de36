"""Sums and extremes over searches from many nodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import networkx as nx
import numpy as np

from weft.networkx.arguments import bunch
from weft.networkx.bounds import LARGEST, SMALLEST, extreme, tree_center
from weft.networkx.components import is_tree
from weft.networkx.network import Network
from weft.networkx.paths import shortest_path_length
from weft.networkx.searches import levels, relaxed, shortest
from weft.networkx.strong import is_strongly_connected

Array = np.ndarray[Any, Any]


def distances(
    G: Network, row: int, weight: Any = None, incoming: bool = False, signed: bool = False
) -> tuple[Array, Array]:
    """Return the rows that a search from a row reaches, and their distances."""
    if weight is None:
        return levels(G, row, incoming=incoming)
    tree = relaxed(G, row, weight) if signed else shortest(G, [row], weight, incoming=incoming)
    return tree.order, tree.distance[tree.order]


def connected(G: Network) -> bool:
    """Whether every node reaches every other."""
    if G.is_directed():
        return is_strongly_connected(G)
    if not G.size:
        raise nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
    return levels(G, 0)[0].size == G.size


def average_shortest_path_length(G: Network, weight: Any = None, method: Any = None) -> float:
    """The mean over all ordered pairs."""
    known = ["unweighted", "dijkstra", "bellman-ford", "floyd-warshall", "floyd-warshall-numpy"]
    if method is None:
        method = "unweighted" if weight is None else "dijkstra"
    if method not in known:
        raise ValueError(f"method not supported: {method}")
    if not G.size:
        raise nx.NetworkXPointlessConcept(
            "the null graph has no paths, thus there is no average shortest path length"
        )
    if G.size == 1:
        return 0
    if not connected(G):
        kind = "strongly connected" if G.is_directed() else "connected"
        raise nx.NetworkXError(f"Graph is not {kind}.")
    plain, signed = method == "unweighted", method not in ("unweighted", "dijkstra")
    total = 0
    for row in range(G.size):
        _, found = distances(G, row, None if plain else weight, signed=signed)
        total += found.sum().item()
    return total / (G.size * (G.size - 1))


def eccentricity(G: Network, v: Any = None, sp: Any = None, weight: Any = None) -> Any:
    """The distance to the furthest node."""
    if sp is not None:
        raise NotImplementedError("distances that are given are looked up by NetworkX")
    place, found = G.structure.place, {}
    for node in bunch(G, v):
        order, distance = distances(G, place[node], weight)
        if order.size != G.size:
            raise nx.NetworkXError(
                "Found infinite path length because the digraph is not strongly connected"
                if G.is_directed()
                else "Found infinite path length because the graph is not connected"
            )
        found[node] = distance.max().item()
    return found[v] if v in G else found


def _eccentricities(G: Network, e: Any, weight: Any) -> Any:
    return eccentricity(G, weight=weight) if e is None else e


def diameter(G: Network, e: Any = None, usebounds: bool = False, weight: Any = None) -> Any:
    """The largest eccentricity."""
    if _bounded(G, e, usebounds, weight):
        return extreme(G, LARGEST, False, weight)[0]
    return max(_eccentricities(G, e, weight).values())


def radius(G: Network, e: Any = None, usebounds: bool = False, weight: Any = None) -> Any:
    """The smallest eccentricity."""
    if _bounded(G, e, usebounds, weight):
        return extreme(G, SMALLEST, False, weight)[0]
    return min(_eccentricities(G, e, weight).values())


def periphery(G: Network, e: Any = None, usebounds: bool = False, weight: Any = None) -> list[Any]:
    """The nodes of the largest eccentricity."""
    if _bounded(G, e, usebounds, weight):
        return extreme(G, LARGEST, True, weight)[1]
    found = _eccentricities(G, e, weight)
    most = max(found.values())
    return [node for node in found if found[node] == most]


def center(G: Network, e: Any = None, usebounds: bool = False, weight: Any = None) -> list[Any]:
    """The nodes of the smallest eccentricity."""
    if _bounded(G, e, usebounds, weight):
        return extreme(G, SMALLEST, True, weight)[1]
    if e is None and weight is None and not G.is_directed() and not usebounds and is_tree(G):
        return tree_center(G)
    found = _eccentricities(G, e, weight)
    least = min(found.values())
    return [node for node in found if found[node] == least]


def _bounded(G: Network, e: Any, usebounds: bool, weight: Any) -> bool:
    """Whether bounds are to be used; by weights that are no integers they are NetworkX's own."""
    if not usebounds or e is not None or G.is_directed() or not G.size:
        return False
    values = G.weights(weight)
    if values is not None and values.dtype.kind == "f":
        raise NotImplementedError("bounds on distances that are no integers are NetworkX's own")
    return True


def barycenter(G: Network, weight: Any = None, attr: Any = None, sp: Any = None) -> list[Any]:
    """The nodes with the smallest sum of distances."""
    if sp is not None or attr is not None:
        raise NotImplementedError("distances that are given, or kept in the graph")
    if weight is None and not G.is_directed() and is_tree(G):
        raise NotImplementedError("the centroid of a tree takes one pass in NetworkX")
    smallest, found = math.inf, []
    for row, node in enumerate(G.nodes):
        order, distance = distances(G, row, weight)
        if order.size < G.size:
            raise nx.NetworkXNoPath(
                f"Input graph {G.origin} is disconnected, so every induced subgraph "
                "has infinite barycentricity."
            )
        total = distance.sum().item()
        if total < smallest:
            smallest, found = total, [node]
        elif total == smallest:
            found.append(node)
    return found


def closeness_centrality(
    G: Network, u: Any = None, distance: Any = None, wf_improved: bool = True
) -> Any:
    """The inverse of the mean distance to a node."""
    if u is not None and u not in G:
        shortest_path_length(G, u, weight=distance)  # raises
    others = G.size - 1
    found = {}
    for node in G.nodes if u is None else [u]:
        row = G.structure.place[node]
        order, distance_to = distances(G, row, distance, incoming=True)
        total, reached = distance_to.sum().item(), order.size - 1.0
        value = 0.0
        if total > 0.0 and others > 0:
            value = reached / total
            if wf_improved:
                value *= reached / others
        found[node] = value
    return found if u is None else found[u]


def harmonic_centrality(
    G: Network, nbunch: Any = None, distance: Any = None, sources: Any = None
) -> dict[Any, float]:
    """The sum of inverse distances from the sources."""
    wanted = set(bunch(G, nbunch))
    starts = set(bunch(G, sources))
    place = G.structure.place
    against = len(wanted) < len(starts)
    roots, ends = (wanted, starts) if against else (starts, wanted)
    mask = np.zeros(G.size, np.bool_)
    mask[[place[node] for node in ends]] = True
    total = np.zeros(G.size)
    for node in roots:
        order, found = distances(G, place[node], distance, incoming=against)
        counted = mask[order] & (found != 0)
        inverse = 1 / found[counted]
        if against:
            total[place[node]] = sum(inverse.tolist())
        else:
            total[order[counted]] += inverse
    return {node: total[place[node]].item() or 0 for node in wanted}


def efficiency(G: Network, u: Any, v: Any) -> float:
    """The inverse distance of two nodes."""
    try:
        return 1 / shortest_path_length(G, u, v)
    except nx.NetworkXNoPath:
        return 0


def global_efficiency(G: Network) -> float:
    """The mean inverse distance."""
    pairs = G.size * (G.size - 1)
    if not pairs:
        return 0
    total = 0.0
    for row in range(G.size):
        _, level = levels(G, row)
        for depth, count in enumerate(np.bincount(level).tolist()):
            if depth:
                total += count / depth
    return total / pairs


def wiener_index(G: Network, weight: Any = None) -> Any:
    """The sum of the distances of all pairs."""
    if not connected(G):
        return math.inf
    total = sum(found.sum().item() for _, found in _from_all(G, weight))
    return total if G.is_directed() else total / 2


def _from_all(G: Network, weight: Any) -> Iterator[tuple[Array, Array]]:
    for row in range(G.size):
        yield distances(G, row, weight)


def _index(G: Network, weight: Any, term: Callable[[int, Array, Array], Array]) -> float:
    """Return half the sum of a term over ordered pairs; infinite if not connected."""
    if not connected(G):
        return math.inf
    total = 0
    for row, (order, found) in enumerate(_from_all(G, weight)):
        total += term(row, order, found).sum().item()
    return total / 2


def schultz_index(G: Network, weight: Any = None) -> float:
    """Distances times the sum of degrees."""
    degree = _degrees(G)
    return _index(G, weight, lambda row, order, d: d * (degree[row] + degree[order]))


def gutman_index(G: Network, weight: Any = None) -> float:
    """Distances times the product of degrees."""
    degree = _degrees(G)
    return _index(G, weight, lambda row, order, d: d * degree[row] * degree[order])


def hyper_wiener_index(G: Network, weight: Any = None) -> float:
    """Distances and their squares."""
    return _index(G, weight, lambda row, order, d: d + d * d)


def _degrees(G: Network) -> Array:
    from weft.networkx.degrees import degrees

    return degrees(G)


def harmonic_diameter(G: Network, sp: Any = None, *, weight: Any = None) -> float:
    """The number of pairs by the sum of inverse distances."""
    if sp is not None:
        raise NotImplementedError("distances that are given are looked up by NetworkX")
    total = 0.0
    for _, found in _from_all(G, weight):
        away = found[found != 0]
        total += (1 / away).sum().item()
    if total != 0:
        return G.size * (G.size - 1) / total
    return math.inf if G.size > 1 else math.nan


def local_efficiency(G: Network) -> float:
    """The mean efficiency of the neighbourhoods."""
    return _local_efficiency(G) / G.size


def _local_efficiency(G: Network) -> float:
    from weft.networkx.conversion import induced

    total = 0.0
    structure = G.structure
    for row in range(G.size):
        begin, end = structure.offsets[row], structure.offsets[row + 1]
        total += global_efficiency(induced(G, np.unique(structure.targets[begin:end])))
    return total
