"""Lowest common ancestors in acyclic graphs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations_with_replacement
from typing import Any

import networkx as nx

from weft.networkx.acyclic import is_directed_acyclic_graph
from weft.networkx.network import Network
from weft.networkx.searches import hops

Pair = tuple[Any, Any]


def all_pairs_lowest_common_ancestor(G: Network, pairs: Any = None) -> Iterator[tuple[Pair, Any]]:
    """Each pair with a common ancestor that leads to no other."""
    if not is_directed_acyclic_graph(G):
        raise nx.NetworkXError("LCA only defined on directed acyclic graphs.")
    if not G.size:
        raise nx.NetworkXPointlessConcept("LCA meaningless on null graphs.")
    if pairs is None:
        return _lowest(G, combinations_with_replacement(G.nodes, 2))
    wanted, nodes = dict.fromkeys(pairs), set(G.nodes)
    for pair in wanted:
        if missing := set(pair) - nodes:
            raise nx.NodeNotFound(f"Node(s) {missing} from pair {pair} not in G.")
    return _lowest(G, wanted)


def _lowest(G: Network, pairs: Iterable[Pair]) -> Iterator[tuple[Pair, Any]]:
    known: dict[Any, set[Any]] = {}
    for v, w in pairs:
        for node in (v, w):
            if node not in known:
                known[node] = _line(G, node)
        common = known[v] & known[w]
        if common:
            yield (v, w), _descend(G, next(iter(common)), common)


def _line(G: Network, node: Any) -> set[Any]:
    """Return a node and its ancestors, put together in the order in which NetworkX does."""
    line = set(G.at(hops(G, [G.structure.place[node]], incoming=True).order[1:]))
    line.add(node)
    return line


def _descend(G: Network, node: Any, common: set[Any]) -> Any:
    """Follow edges within a set until none stays in it."""
    structure, nodes = G.structure, G.nodes
    while True:
        row = structure.place[node]
        begin, end = structure.offsets[row], structure.offsets[row + 1]
        ahead = (nodes[v] for v in structure.targets[begin:end].tolist())
        below = next((v for v in ahead if v in common), None)
        if below is None:
            return node
        node = below


def lowest_common_ancestor(G: Network, node1: Any, node2: Any, default: Any = None) -> Any:
    """A common ancestor of two nodes that leads to no other."""
    for _, found in all_pairs_lowest_common_ancestor(G, [(node1, node2)]):
        return found
    return default
