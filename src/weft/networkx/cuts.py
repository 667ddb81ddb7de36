"""Edges and nodes between sets of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import networkx as nx
import numpy as np

from weft.networkx.degrees import out_degrees
from weft.networkx.network import Network

Array = np.ndarray[Any, Any]


def _mask(G: Network, nodes: Iterable[Any]) -> Array:
    """Return which rows belong to a set of nodes; unknown ones are left out."""
    place = G.structure.place
    mask = np.zeros(G.size, np.bool_)
    mask[[place[node] for node in nodes if node in place]] = True
    return mask


def _crossing(G: Network, inside: Array, outside: Array | None) -> Array:
    """Return the entries that `G.edges(inside)` gives and that lead to the other side."""
    structure = G.structure
    tail: Any = inside[structure.sources]
    head: Any = inside[structure.targets]
    if outside is None:
        return tail & ~head
    far: Any = outside[structure.targets]
    near: Any = outside[structure.sources]
    if structure.directed:
        return tail & (far | (head & near))
    # An edge with both ends in the first set is given once.
    return (tail & ~head & far) | (tail & head & structure.first & (far | near))


def _cut(G: Network, S: Any, T: Any, weight: Any) -> Any:
    inside = _mask(G, S)
    outside = None if T is None else _mask(G, T)
    crossing = _crossing(G, inside, outside)
    if G.is_directed():
        if outside is None:
            raise TypeError("'NoneType' object is not iterable")
        back = _crossing(G, outside, inside)
        return _sum(G, crossing, weight) + _sum(G, back, weight)
    return _sum(G, crossing, weight)


def _sum(G: Network, entries: Array, weight: Any) -> Any:
    weights = G.entry_weights(weight)
    if weights is None:
        return int(np.count_nonzero(entries))
    return weights[entries].sum().item()


def cut_size(G: Network, S: Any, T: Any = None, weight: Any = None) -> Any:
    """The weight of the edges between two sets."""
    return _cut(G, S, T, weight)


def volume(G: Network, S: Any, weight: Any = None) -> Any:
    """The sum of the degrees of a set."""
    degree = out_degrees(G, weight)
    place = G.structure.place
    rows = [place[S]] if S in G else [place[node] for node in S if node in place]
    return degree[rows].sum().item() if rows else 0


def _rest(G: Network, S: Any, T: Any) -> Any:
    return set(G) - set(S) if T is None else T


def normalized_cut_size(G: Network, S: Any, T: Any = None, weight: Any = None) -> float:
    """The cut, by the volume of both sides."""
    T = _rest(G, S, T)
    cut = _cut(G, S, T, weight)
    return cut * ((1 / volume(G, S, weight)) + (1 / volume(G, T, weight)))


def conductance(G: Network, S: Any, T: Any = None, weight: Any = None) -> float:
    """The cut, by the smaller volume."""
    T = _rest(G, S, T)
    return _cut(G, S, T, weight) / min(volume(G, S, weight), volume(G, T, weight))


def edge_expansion(G: Network, S: Any, T: Any = None, weight: Any = None) -> float:
    """The cut, by the smaller number of nodes."""
    T = _rest(G, S, T)
    return _cut(G, S, T, weight) / min(len(S), len(T))


def mixing_expansion(G: Network, S: Any, T: Any = None, weight: Any = None) -> float:
    """The cut, by twice the number of edges."""
    return _cut(G, S, T, weight) / (2 * G.number_of_edges())


def _around(G: Network, nodes: Iterable[Any]) -> Array:
    """Return the rows that an edge leads to from a set of nodes."""
    structure = G.structure
    found = np.zeros(G.size, np.bool_)
    found[structure.targets[_mask(G, nodes)[structure.sources]]] = True
    return found


def node_boundary(G: Network, nbunch1: Any, nbunch2: Any = None) -> set[Any]:
    """Nodes outside a set that an edge leads to."""
    inside = list(nbunch1)
    found = set(G.at(np.flatnonzero(_around(G, inside) & ~_mask(G, inside))))
    return found if nbunch2 is None else found & set(nbunch2)


def node_expansion(G: Network, S: Any) -> float:
    """The nodes that an edge leads to, by those of the set."""
    return int(np.count_nonzero(_around(G, S))) / len(S)


def boundary_expansion(G: Network, S: Any) -> float:
    """The boundary, by the nodes of the set."""
    return len(node_boundary(G, S)) / len(S)


def edge_boundary(
    G: Network,
    nbunch1: Any,
    nbunch2: Any = None,
    data: Any = False,
    keys: bool = False,
    default: Any = None,
) -> Iterator[tuple[Any, Any]]:
    """Edges from one set to another."""
    if data is not False or keys or G.is_multigraph():
        raise NotImplementedError("attributes and keys of edges are NetworkX's own")
    inside = _mask(G, nbunch1)
    entries = _crossing(G, inside, None if nbunch2 is None else _mask(G, nbunch2))
    us, vs = G.structure.sources[entries], G.structure.targets[entries]
    return zip(G.at(us), G.at(vs), strict=True)


def is_dominating_set(G: Network, nbunch: Any) -> bool:
    """Whether every other node is a neighbour of the set."""
    nodes = list(nbunch)
    return bool((_around(G, nodes) | _mask(G, nodes)).all())


def _check_members(G: Network, S: Any) -> None:
    for node in S:
        if node not in G:
            raise nx.NetworkXError(f"The node {node} is not in the graph.")


def group_degree_centrality(G: Network, S: Any) -> float:
    """The share of the other nodes that an edge leads to."""
    _check_members(G, S)
    return len(node_boundary(G, S)) / (G.size - len(S))


group_out_degree_centrality = group_degree_centrality


def group_in_degree_centrality(G: Network, S: Any) -> float:
    """The share of the other nodes that an edge comes from."""
    _check_members(G, S)
    structure, inside = G.structure, _mask(G, S)
    found = np.zeros(G.size, np.bool_)
    found[structure.sources[inside[structure.targets]]] = True
    return int(np.count_nonzero(found & ~inside)) / (G.size - len(S))
