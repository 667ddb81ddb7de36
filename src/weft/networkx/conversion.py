"""Conversion between NetworkX's graphs and `Network`."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.arrays.device import open_device, to_host
from weft.graph import Graph
from weft.graph.interop.rows import Rows, is_plain, read_rows
from weft.networkx.network import Network, Structure, read_weights
from weft.networkx.unfilled import network_of, unfilled

Array = np.ndarray[Any, Any]


def convert_from_nx(  # noqa: PLR0913
    graph: Any,
    edge_attrs: dict[Any, Any] | None = None,
    node_attrs: Any = None,
    preserve_edge_attrs: Any = False,
    preserve_node_attrs: Any = False,
    preserve_graph_attrs: Any = False,
    name: str | None = None,
    graph_name: str | None = None,
) -> Any:
    """Return a NetworkX graph as a `Network`.

    Edge attributes that are named are read now; all others when a function asks for them.

    Raises
    ------
    NotImplementedError
        If the graph is of a class with rows of its own, or an attribute is no number.
    """
    if isinstance(graph, Network):
        return graph
    if (network := network_of(graph)) is not None:
        return network
    structure = _known(graph)
    if structure is None:
        if not is_plain(type(graph)):
            raise NotImplementedError(f"a {type(graph).__name__} computes its rows itself")
        structure = Structure(read_rows(graph))
    columns = {}
    if edge_attrs and structure.targets.size:
        for attribute, default in edge_attrs.items():
            columns[attribute, default] = read_weights(graph, structure.rows, attribute, default)
    return Network(structure, graph, columns)


def _known(graph: Any) -> Structure | None:
    """Return the structure of an earlier conversion that NetworkX still holds valid."""
    cache = getattr(graph, "__networkx_cache__", None)
    held = cache.get("backends", {}).get("weft") if cache else None
    for found in (held or {}).values():
        if isinstance(found, Network):
            return found.structure
    return None


def convert_to_nx(result: Any, *, name: str | None = None) -> Any:
    """Return a `Network` as a NetworkX graph, and anything else unchanged."""
    return result.origin if isinstance(result, Network) else result


def as_networkx(network: Network) -> Any:
    """Return a new NetworkX graph with the structure and the edge attributes of a network."""
    if not network.is_multigraph():
        return unfilled(network)
    import networkx as nx

    graph = nx.MultiDiGraph() if network.is_directed() else nx.MultiGraph()
    graph.add_nodes_from(network.nodes)
    structure = network.structure
    first = slice(None) if structure.first is None else structure.first
    ends = [network.at(side[first]) for side in (structure.sources, structure.targets)]
    graph.add_edges_from(zip(*ends, network.edge_data(), strict=True))
    return graph


def from_weft(g: Graph) -> Network:
    """Return a `weft.Graph` as a graph that NetworkX's functions take.

    Labels are its nodes, and the edge column "weight" is the attribute of that name. Functions that
    weft does not have convert it to a NetworkX graph once.

    Examples
    --------
    >>> import weft
    >>> from weft.networkx.conversion import from_weft
    >>> from_weft(weft.generators.path(3))
    Network(Graph, 3 nodes, 2 edges)
    """
    arcs = g.topology.to(open_device("cpu")).out
    nodes = list(range(g.num_vertices)) if g.labels is None else g.labels.tolist()
    same = arcs.targets[1:] == arcs.targets[:-1]
    starts = arcs.offsets[(arcs.offsets > 0) & (arcs.offsets < arcs.targets.size)]
    same[starts - 1] = False
    rows = Rows(nodes, arcs.offsets, arcs.targets, None, g.directed, bool(same.any()))
    attributes = {"weight": to_host(g.edge["weight"])} if g.weighted else {}
    network = Network(Structure(rows), attributes=attributes)
    network._graphs[("weight" if g.weighted else None), g.device] = g
    return network


def induced(network: Network, rows: Array) -> Network:
    """Return the subgraph of some rows, without attributes."""
    structure = network.structure
    number = np.full(structure.size, -1, np.int32)
    number[rows] = np.arange(rows.size, dtype=np.int32)
    kept = (number[structure.sources] >= 0) & (number[structure.targets] >= 0)
    sources, targets = number[structure.sources[kept]], number[structure.targets[kept]]
    order = np.argsort(sources, kind="stable")
    offsets = np.zeros(rows.size + 1, np.int64)
    np.cumsum(np.bincount(sources, minlength=rows.size), out=offsets[1:])
    return Network(
        Structure(
            Rows(
                network.at(rows),
                offsets,
                targets[order],
                None,
                structure.directed,
                structure.multigraph,
            )
        )
    )
