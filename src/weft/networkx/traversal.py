"""Breadth-first traversal in NetworkX's order, and what it reaches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

from weft.networkx.arguments import row_of, whole
from weft.networkx.network import Network
from weft.networkx.searches import Tree, hops, levels


def _tree(G: Network, source: Any, reverse: bool, depth_limit: Any) -> Tree:
    row = row_of(G, source, f"The node {source} is not in the graph.", nx.NetworkXError)
    return hops(G, [row], whole(depth_limit), incoming=reverse)


def _edges(G: Network, source: Any, reverse: bool, depth_limit: Any) -> Iterator[Any]:
    yield from _pairs(G, _tree(G, source, reverse, depth_limit))


def _pairs(G: Network, tree: Tree) -> Iterator[tuple[Any, Any]]:
    found = tree.order[1:]
    return zip(G.at(tree.parent[found]), G.at(found), strict=True)


def bfs_edges(
    G: Network,
    source: Any,
    reverse: bool = False,
    depth_limit: Any = None,
    sort_neighbors: Any = None,
) -> Iterator[tuple[Any, Any]]:
    """Edges of the tree in the order in which they are found."""
    _unsorted(sort_neighbors)
    return _edges(G, source, reverse, depth_limit)


def generic_bfs_edges(
    G: Network, source: Any, neighbors: Any = None, depth_limit: Any = None
) -> Iterator[tuple[Any, Any]]:
    """Edges of the tree in the order in which they are found."""
    if neighbors is not None:
        raise NotImplementedError("neighbors= is a function")
    return _edges(G, source, False, depth_limit)


def bfs_tree(
    G: Network,
    source: Any,
    reverse: bool = False,
    depth_limit: Any = None,
    sort_neighbors: Any = None,
) -> nx.DiGraph:
    """The tree as a graph."""
    _unsorted(sort_neighbors)
    tree = nx.DiGraph()
    tree.add_node(source)
    tree.add_edges_from(_pairs(G, _tree(G, source, reverse, depth_limit)))
    return tree


def bfs_predecessors(
    G: Network, source: Any, depth_limit: Any = None, sort_neighbors: Any = None
) -> Iterator[tuple[Any, Any]]:
    """Each node with the one that found it."""
    edges = bfs_edges(G, source, False, depth_limit, sort_neighbors)
    return ((child, parent) for parent, child in edges)


def bfs_successors(
    G: Network, source: Any, depth_limit: Any = None, sort_neighbors: Any = None
) -> Iterator[tuple[Any, list[Any]]]:
    """Each node with those that it found."""
    return _grouped(source, bfs_edges(G, source, False, depth_limit, sort_neighbors))


def _grouped(source: Any, edges: Iterator[tuple[Any, Any]]) -> Iterator[tuple[Any, list[Any]]]:
    parent: Any = source
    children: list[Any] = []
    for before, child in edges:
        if before != parent:
            yield parent, children
            parent, children = before, []
        children.append(child)
    yield parent, children


def _unsorted(sort_neighbors: Any) -> None:
    if sort_neighbors is not None:
        raise NotImplementedError("sort_neighbors= is a function")


def bfs_layers(G: Network, sources: Any) -> Iterator[list[Any]]:
    """Lists of the nodes at each distance from the sources."""
    given = [sources] if sources in G else list(set(sources))
    rows = [
        row_of(G, node, f"The node {node} is not in the graph.", nx.NetworkXError) for node in given
    ]
    if not rows:
        return
    tree = hops(G, rows)
    level = tree.distance[tree.order]
    nodes = G.at(tree.order)
    ends = np.flatnonzero(np.diff(level, append=-1)) + 1
    begin = 0
    for end in ends.tolist():
        yield nodes[begin:end]
        begin = end


def descendants_at_distance(G: Network, source: Any, distance: Any) -> set[Any]:
    """Nodes of one level."""
    row = row_of(G, source, f"The node {source} is not in the graph.", nx.NetworkXError)
    if not isinstance(distance, int) or distance < 0:
        return set()
    order, level = levels(G, row, distance)
    return set(G.at(order[level == distance]))


def descendants(G: Network, source: Any) -> set[Any]:
    """Nodes that can be reached."""
    return _reached(G, source, False)


def ancestors(G: Network, source: Any) -> set[Any]:
    """Nodes that it can be reached from."""
    return _reached(G, source, True)


def _reached(G: Network, source: Any, incoming: bool) -> set[Any]:
    row = row_of(G, source, f"The node {source} is not in the graph.", nx.NetworkXError)
    order, _ = levels(G, row, incoming=incoming)
    return set(G.at(order)) - {source}
