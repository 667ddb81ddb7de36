"""Depth-first traversal in NetworkX's order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import networkx as nx
import numpy as np

from weft.networkx import kernels
from weft.networkx.network import Network

Array = np.ndarray[Any, Any]

FORWARD, BACK = 0, 2
_NAMES: Final = ("forward", "nontree", "reverse", "reverse-depth_limit")


def _steps(G: Network, source: Any, depth_limit: Any, sort_neighbors: Any) -> Iterator[Array]:
    """Return both ends of each step and its kind, when the first one is asked for."""
    if sort_neighbors is not None:
        raise NotImplementedError("sort_neighbors= is a function")
    return _search(G, source, depth_limit)


def _search(G: Network, source: Any, depth_limit: Any) -> Iterator[Array]:
    if source is None:
        starts = np.arange(G.size)
    elif source in G:
        starts = np.array([G.structure.place[source]])
    else:
        what = "digraph" if G.is_directed() else "graph"
        raise nx.NetworkXError(f"The node {source} is not in the {what}.")
    offsets, targets = G.structure.neighbors
    room = 3 * G.size + 2 * targets.size
    us, vs, kind = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int8)
    limit = G.size if depth_limit is None else depth_limit
    count = kernels.depth_first(offsets, targets, starts, int(limit), us, vs, kind)
    yield from (us[:count], vs[:count], kind[:count])


def _tree(steps: Iterator[Array], G: Network) -> Iterator[tuple[Any, Any]]:
    us, vs, kind = steps
    found = (kind == FORWARD) & (us != vs)
    yield from zip(G.at(us[found]), G.at(vs[found]), strict=True)


def dfs_edges(
    G: Network, source: Any = None, depth_limit: Any = None, *, sort_neighbors: Any = None
) -> Iterator[tuple[Any, Any]]:
    """Edges of the tree in the order in which they are found."""
    return _tree(_steps(G, source, depth_limit, sort_neighbors), G)


def dfs_tree(
    G: Network, source: Any = None, depth_limit: Any = None, *, sort_neighbors: Any = None
) -> nx.DiGraph:
    """The tree as a graph."""
    tree = nx.DiGraph()
    tree.add_nodes_from(G.nodes if source is None else [source])
    tree.add_edges_from(dfs_edges(G, source, depth_limit, sort_neighbors=sort_neighbors))
    return tree


def dfs_predecessors(
    G: Network, source: Any = None, depth_limit: Any = None, *, sort_neighbors: Any = None
) -> dict[Any, Any]:
    """The node that found each."""
    return {v: u for u, v in dfs_edges(G, source, depth_limit, sort_neighbors=sort_neighbors)}


def dfs_successors(
    G: Network, source: Any = None, depth_limit: Any = None, *, sort_neighbors: Any = None
) -> dict[Any, list[Any]]:
    """The nodes that each found."""
    found: dict[Any, list[Any]] = {}
    for u, v in dfs_edges(G, source, depth_limit, sort_neighbors=sort_neighbors):
        found.setdefault(u, []).append(v)
    return found


def _nodes(steps: Iterator[Array], G: Network, wanted: int) -> Iterator[Any]:
    _, vs, kind = steps
    yield from G.at(vs[kind == wanted])


def dfs_postorder_nodes(
    G: Network, source: Any = None, depth_limit: Any = None, *, sort_neighbors: Any = None
) -> Iterator[Any]:
    """Nodes as the search leaves them."""
    return _nodes(_steps(G, source, depth_limit, sort_neighbors), G, BACK)


def dfs_preorder_nodes(
    G: Network, source: Any = None, depth_limit: Any = None, *, sort_neighbors: Any = None
) -> Iterator[Any]:
    """Nodes as the search comes to them."""
    return _nodes(_steps(G, source, depth_limit, sort_neighbors), G, FORWARD)


def _labeled(steps: Iterator[Array], G: Network) -> Iterator[tuple[Any, Any, str]]:
    us, vs, kind = steps
    names = (_NAMES[k] for k in kind.tolist())
    yield from zip(G.at(us), G.at(vs), names, strict=True)


def dfs_labeled_edges(
    G: Network, source: Any = None, depth_limit: Any = None, *, sort_neighbors: Any = None
) -> Iterator[tuple[Any, Any, str]]:
    """Steps of the search with what they are."""
    return _labeled(_steps(G, source, depth_limit, sort_neighbors), G)
