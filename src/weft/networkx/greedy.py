"""Colouring, matching and independent sets by taking one after another, and spanning trees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

from weft.networkx import kernels
from weft.networkx.arguments import refuse
from weft.networkx.components import connected_components
from weft.networkx.degrees import degrees
from weft.networkx.network import Network
from weft.networkx.searches import hops

Array = np.ndarray[Any, Any]


def greedy_color(
    G: Network, strategy: Any = "largest_first", interchange: bool = False
) -> dict[Any, int]:
    """The least colour that is free, node by node."""
    if not G.size:
        return {}
    if strategy == "largest_first" and not interchange:
        order = np.argsort(-degrees(G), kind="stable")
    elif strategy in ("connected_sequential", "connected_sequential_bfs") and not interchange:
        starts = (next(iter(group)) for group in connected_components(G))
        place = G.structure.place
        order = np.concatenate([hops(G, [place[node]]).order for node in starts])
    else:
        raise NotImplementedError("this strategy is NetworkX's own")
    if G.structure.num_loops:
        raise NotImplementedError("a node beside itself")
    color = np.full(G.size, -1, np.int64)
    kernels.first_fit(*_out_rows(G), order, color)
    return dict(zip(G.at(order), color[order].tolist(), strict=True))


def _out_rows(G: Network) -> tuple[Array, Array]:
    return G.structure.offsets, G.structure.targets


def _edges(G: Network) -> tuple[Array, Array]:
    """Return the rows of both ends of each edge, in NetworkX's order."""
    structure = G.structure
    first = slice(None) if structure.first is None else structure.first
    return structure.sources[first], structure.targets[first]


def maximal_matching(G: Network) -> set[tuple[Any, Any]]:
    """Edges whose ends are free when their turn comes."""
    refuse(G, directed=True, multigraph=True)
    us, vs = _edges(G)
    taken = kernels.match_edges(us, vs, G.size)
    return set(zip(G.at(us[taken]), G.at(vs[taken]), strict=True))


min_maximal_matching = maximal_matching


def maximal_independent_set(G: Network, nodes: Any = None, seed: Any = None) -> list[Any]:
    """Some nodes, and others in random order that are not adjacent to them."""
    if not nodes:
        nodes = {seed.choice(list(G))}
    else:
        nodes = set(nodes)
    if not nodes.issubset(G):
        raise nx.NetworkXUnfeasible(f"{nodes} is not a subset of the nodes of G")
    place = G.structure.place
    rows = np.array([place[node] for node in nodes])
    taken, blocked = np.zeros(G.size, np.bool_), np.zeros(G.size, np.bool_)
    offsets, targets = _out_rows(G)
    for row in rows.tolist():
        if np.isin(targets[offsets[row] : offsets[row + 1]], rows).any():
            raise nx.NetworkXUnfeasible(f"{nodes} is not an independent set of G")
    kernels.take_apart(offsets, targets, rows, taken, blocked)
    rest = np.flatnonzero(~blocked)
    places = list(range(rest.size))
    seed.shuffle(places)
    order = rest[places]
    kernels.take_apart(offsets, targets, order, taken, blocked)
    return [*nodes, *G.at(order[taken[order]])]


def _forest(G: Network, weight: Any, minimum: bool) -> Array:
    """Return the edges of a spanning forest in the order in which Kruskal's algorithm adds them."""
    us, vs = _edges(G)
    values = G.weights(weight)
    if values is None:
        order = np.arange(us.size)
    else:
        order = np.argsort(values if minimum else -values, kind="stable")
    chosen = np.empty(G.size, np.int64)
    return chosen[: kernels.grow_forest(us, vs, order, G.size, chosen)]


def _spanning_edges(
    G: Network,
    minimum: bool,
    algorithm: str,
    weight: Any,
    keys: bool,
    data: bool,
) -> Iterator[tuple[Any, ...]]:
    refuse(G, directed=True)
    if algorithm not in ("kruskal", "prim", "boruvka", "borůvka"):
        raise ValueError(f"{algorithm} is not a valid choice for an algorithm.")
    if algorithm != "kruskal":
        raise NotImplementedError("another algorithm finds the edges in another order")
    if G.is_multigraph():
        raise NotImplementedError("the keys of parallel edges are NetworkX's own")
    chosen = _forest(G, weight, minimum)
    us, vs = (G.at(side[chosen]) for side in _edges(G))
    if not data:
        return zip(us, vs, strict=True)
    rows = G.origin._adj
    return ((u, v, rows[u][v]) for u, v in zip(us, vs, strict=True))


def minimum_spanning_edges(
    G: Network,
    algorithm: str = "kruskal",
    weight: Any = "weight",
    keys: bool = True,
    data: bool = True,
    ignore_nan: bool = False,
) -> Iterator[tuple[Any, ...]]:
    """Edges of the smallest weight that connect what can be connected."""
    return _spanning_edges(G, True, algorithm, weight, keys, data)


def maximum_spanning_edges(
    G: Network,
    algorithm: str = "kruskal",
    weight: Any = "weight",
    keys: bool = True,
    data: bool = True,
    ignore_nan: bool = False,
) -> Iterator[tuple[Any, ...]]:
    """Edges of the largest weight that connect what can be connected."""
    return _spanning_edges(G, False, algorithm, weight, keys, data)


def _tree(G: Network, edges: Iterator[tuple[Any, ...]]) -> Any:
    origin = G.origin
    tree = origin.__class__()
    tree.graph.update(origin.graph)
    tree.add_nodes_from(origin.nodes.items())
    tree.add_edges_from(edges)
    return tree


def minimum_spanning_tree(
    G: Network, weight: Any = "weight", algorithm: str = "kruskal", ignore_nan: bool = False
) -> Any:
    """The graph of those edges."""
    return _tree(G, minimum_spanning_edges(G, algorithm, weight, ignore_nan=ignore_nan))


def maximum_spanning_tree(
    G: Network, weight: Any = "weight", algorithm: str = "kruskal", ignore_nan: bool = False
) -> Any:
    """The graph of those edges."""
    return _tree(G, maximum_spanning_edges(G, algorithm, weight, ignore_nan=ignore_nan))
