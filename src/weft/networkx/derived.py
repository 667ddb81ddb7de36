"""Graphs made of another one: relabelled, reversed, complements, neighbourhoods.

Simple graphs are made as arrays (see `unfilled`), in the order in which NetworkX adds their edges.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import networkx as nx
import numpy as np

from weft.graph.interop.rows import EdgeValues, NodeValues, names_of, read_column
from weft.networkx.degrees import degrees
from weft.networkx.insertion import Added, add_edges
from weft.networkx.network import Network, Structure
from weft.networkx.paths import single_source_shortest_path_length
from weft.networkx.unfilled import unfilled
from weft.networkx.weighted_paths import single_source_dijkstra

Array = np.ndarray[Any, Any]

_PLAIN = (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph)


def check_plain(origin: Any) -> None:
    """Refuse a graph of the user's own class."""
    if origin.__class__ not in _PLAIN:
        raise NotImplementedError(f"a {type(origin).__name__} makes graphs of its own class")


def listed(G: Network) -> tuple[Array, Array]:
    """Return both ends of the edges in the order in which NetworkX lists them."""
    structure = G.structure
    first = slice(None) if structure.first is None else structure.first
    return structure.sources[first], structure.targets[first]


def attributes_of(G: Network) -> dict[Any, Array] | None:
    """Return the edge attributes as columns; None if an edge lacks one, or it is no number."""
    if G.attributes is not None:
        return G.attributes
    values = EdgeValues(G.origin, G.structure.rows)
    found = {}
    for name in names_of(values):
        column, present = read_column(values, name, lambda _: None, exact=True)
        if column is None or present is not None:
            return None
        if column.dtype.kind == "f" and np.isnan(column).any():
            return None  # of two NaN, only the same object is equal to itself in a dictionary
        found[name] = column
    return found


def node_data_of(G: Network, copied: Any) -> list[dict[Any, Any]] | None:
    """Return copies of the attributes of each node; None if there are none."""
    if G.attributes is not None:
        held = G.node_data
    else:
        held = NodeValues(G.origin).dictionaries
    return None if held is None or not any(held) else [copied(data) for data in held]


def made(
    added: Added, nodes: list[Any], attributes: dict[Any, Array], node_data: Any, held: Any
) -> Any:
    """Return the graph of edges that were added, with the attributes that each was given."""
    columns = {name: added.last(values) for name, values in attributes.items()}
    structure = Structure(added.rows(nodes))
    network = Network(structure, attributes=columns, node_data=node_data)
    return unfilled(network, held)


def relabel_nodes(G: Network, mapping: Any, copy: bool = True) -> Any:
    """The same graph with other nodes."""
    if not copy:
        raise NotImplementedError("copy=False changes the graph")
    if callable(mapping):
        names = [mapping(node) for node in G.nodes]
    elif isinstance(mapping, Mapping):
        names = [mapping.get(node, node) for node in G.nodes]
    else:
        raise NotImplementedError("a mapping that is neither a dictionary nor a function")
    return _relabelled(G, names)


def _relabelled(G: Network, names: list[Any]) -> Any:
    origin = G.origin
    check_plain(origin)
    if len(set(names)) < len(names):
        raise NotImplementedError("nodes that become one")
    attributes = None if G.is_multigraph() else attributes_of(G)
    node_data = node_data_of(G, dict)
    if attributes is None:
        return _copied(origin, dict(zip(G.nodes, names, strict=True)), node_data)
    added = add_edges(*listed(G), G.size, G.is_directed())
    return made(added, names, attributes, node_data, origin.graph)


def _copied(origin: Any, names: dict[Any, Any], node_data: Any) -> Any:
    """Return a graph with other nodes whose attributes are no columns."""
    graph = origin.__class__()
    if node_data is None:
        graph.add_nodes_from(names.values())
    else:
        graph.add_nodes_from(zip(names.values(), node_data, strict=True))
    if origin.is_multigraph():
        edges = origin.edges(keys=True, data=True)
        graph.add_edges_from((names[u], names[v], k, d.copy()) for u, v, k, d in edges)
    else:
        edges = origin.edges(data=True)
        graph.add_edges_from((names[u], names[v], d.copy()) for u, v, d in edges)
    graph.graph.update(origin.graph)
    return graph


def convert_node_labels_to_integers(
    G: Network, first_label: int = 0, ordering: str = "default", label_attribute: Any = None
) -> Any:
    """The same graph with integers as nodes."""
    order = np.arange(G.size)
    if ordering == "sorted":
        nodes = G.nodes
        order = np.array(sorted(range(G.size), key=nodes.__getitem__), np.int64)
    elif ordering in ("increasing degree", "decreasing degree"):
        pairs = list(zip(degrees(G).tolist(), G.nodes, range(G.size), strict=True))
        pairs.sort()
        order = np.array([row for *_, row in pairs], np.int64)
        if ordering == "decreasing degree":
            order = order[::-1]
    elif ordering != "default":
        raise nx.NetworkXError(f"Unknown node ordering: {ordering}")
    number = np.empty(G.size, np.int64)
    number[order] = np.arange(first_label, first_label + G.size)
    names = number.tolist()
    graph = _relabelled(G, names)
    if label_attribute is not None:
        labels = dict(zip(names, G.nodes, strict=True))
        nx.set_node_attributes(graph, labels, label_attribute)
    return graph


def reverse(G: Network, copy: bool = True) -> Any:
    """The graph with all edges turned round."""
    if not G.is_directed():
        raise nx.NetworkXError("Cannot reverse an undirected graph.")
    origin = G.origin
    check_plain(origin)
    attributes = attributes_of(G)
    if not copy or G.is_multigraph() or attributes is None:
        raise NotImplementedError("views, keys of parallel edges, attributes that are no numbers")
    us, vs = listed(G)
    added = add_edges(vs, us, G.size, True)
    return made(added, G.nodes, attributes, node_data_of(G, deepcopy), deepcopy(origin.graph))


def complement(G: Network) -> Any:
    """The graph of the edges that are missing."""
    check_plain(G.origin)
    if G.is_multigraph():
        raise NotImplementedError("the complement of a multigraph")
    offsets, targets = G.structure.offsets, G.structure.targets
    heads = []
    for row in range(G.size):
        apart = np.ones(G.size, np.bool_)
        apart[targets[offsets[row] : offsets[row + 1]]] = False
        apart[row] = False
        heads.append(np.flatnonzero(apart))
    tails = np.repeat(np.arange(G.size), np.array([part.size for part in heads], np.int64))
    ends = np.concatenate(heads) if heads else np.empty(0, np.int64)
    return made(add_edges(tails, ends, G.size, G.is_directed()), G.nodes, {}, None, None)


def ego_graph(
    G: Network,
    n: Any,
    radius: Any = 1,
    center: bool = True,
    undirected: bool = False,
    distance: Any = None,
) -> Any:
    """The subgraph of the nodes near one."""
    if undirected and G.is_directed():
        raise NotImplementedError("undirected=True of a directed graph copies it")
    if distance is not None:
        near, _ = single_source_dijkstra(G, n, cutoff=radius, weight=distance)
    else:
        near = single_source_shortest_path_length(G, n, cutoff=radius)
    graph = G.origin.subgraph(near).copy()
    if not center:
        graph.remove_node(n)
    return graph
