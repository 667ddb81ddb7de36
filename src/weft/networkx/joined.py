"""Graphs joined into one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, repeat
from typing import Any

import networkx as nx
import numpy as np

from weft.networkx.derived import attributes_of, check_plain, listed, made, node_data_of
from weft.networkx.insertion import add_edges
from weft.networkx.network import Network

Array = np.ndarray[Any, Any]


def _check_kinds(graphs: Sequence[Network]) -> None:
    for graph in graphs:
        check_plain(graph.origin)
        if graph.is_directed() != graphs[0].is_directed():
            raise nx.NetworkXError("All graphs must be directed or undirected.")
        if graph.is_multigraph() != graphs[0].is_multigraph():
            raise nx.NetworkXError("All graphs must be graphs or multigraphs.")


def _joined(graphs: Sequence[Network], names: Sequence[list[Any]]) -> Any:
    """Return one graph with the nodes (by new names) and edges of all; later attributes count."""
    held: dict[Any, Any] = {}
    for graph in graphs:
        held.update(graph.origin.graph)
    data: dict[Any, dict[Any, Any]] = {}
    for graph, labels in zip(graphs, names, strict=True):
        for node, own in zip(labels, node_data_of(graph, dict) or repeat({}), strict=False):
            data.setdefault(node, {}).update(own)
    columns = _columns(graphs)
    if columns is None:
        return _one_by_one(graphs, names, data, held)
    place = {node: row for row, node in enumerate(data)}
    us, vs = [], []
    for graph, labels in zip(graphs, names, strict=True):
        row = np.fromiter((place[node] for node in labels), np.int64, len(labels))
        tails, heads = listed(graph)
        us.append(row[tails])
        vs.append(row[heads])
    added = add_edges(np.concatenate(us), np.concatenate(vs), len(data), graphs[0].is_directed())
    return made(added, list(data), columns, list(data.values()), held)


def _columns(graphs: Sequence[Network]) -> dict[Any, Array] | None:
    """Return the edge attributes of all graphs one after another; None if they are no columns."""
    if graphs[0].is_multigraph():
        return None
    found = [attributes_of(graph) for graph in graphs if graph.structure.num_edges]
    first = found[0] if found else {}
    if first is None:
        return None
    for other in found[1:]:
        if other is None or other.keys() != first.keys():
            return None
        if any(other[name].dtype != first[name].dtype for name in first):
            return None
    return {name: np.concatenate([part[name] for part in found if part]) for name in first}


def _one_by_one(
    graphs: Sequence[Network], names: Sequence[list[Any]], data: Any, held: dict[Any, Any]
) -> Any:
    graph = graphs[0].origin.__class__()
    graph.graph.update(held)
    graph.add_nodes_from(data.items())
    for part, labels in zip(graphs, names, strict=True):
        name = dict(zip(part.nodes, labels, strict=True))
        keys = {"keys": True} if part.is_multigraph() else {}
        edges = part.origin.edges(data=True, **keys)
        graph.add_edges_from((name[u], name[v], *rest) for u, v, *rest in edges)
    return graph


def compose_all(graphs: Iterable[Network]) -> Any:
    """All nodes and edges of some graphs."""
    parts = list(graphs)
    if not parts:
        raise ValueError("cannot apply compose_all to an empty list")
    _check_kinds(parts)
    return _joined(parts, [part.nodes for part in parts])


def compose(G: Network, H: Network) -> Any:
    """All nodes and edges of two graphs."""
    return compose_all([G, H])


def union_all(graphs: Iterable[Network], rename: Iterable[str | None] = ()) -> Any:
    """The nodes and edges of graphs that have no node in common."""
    parts = list(graphs)
    if not parts:
        raise ValueError("cannot apply union_all to an empty list")
    _check_kinds(parts)
    names = []
    for part, prefix in zip(parts, chain(rename, repeat(None)), strict=False):
        names.append(part.nodes if prefix is None else [f"{prefix}{n}" for n in part.nodes])
    met: set[Any] = set()
    for labels in names:
        if not met.isdisjoint(labels):
            raise nx.NetworkXError(
                "The node sets of the graphs are not disjoint.\n"
                "Use `rename` to specify prefixes for the graphs or use\n"
                "disjoint_union(G1, G2, ..., GN)."
            )
        if len(set(labels)) < len(labels):
            raise NotImplementedError("nodes that become one")
        met.update(labels)
    return _joined(parts, names)


def union(G: Network, H: Network, rename: Any = ()) -> Any:
    """The nodes and edges of two graphs that have no node in common."""
    return union_all([G, H], rename)


def disjoint_union_all(graphs: Iterable[Network]) -> Any:
    """The nodes, as integers, and edges of some graphs."""
    parts = list(graphs)
    if not parts:
        raise ValueError("cannot apply union_all to an empty list")
    _check_kinds(parts)
    ends = np.cumsum([0, *(part.size for part in parts)]).tolist()
    names = [
        list(range(begin, begin + part.size)) for begin, part in zip(ends, parts, strict=False)
    ]
    return _joined(parts, names)


def disjoint_union(G: Network, H: Network) -> Any:
    """The nodes, as integers, and edges of two graphs."""
    return disjoint_union_all([G, H])
