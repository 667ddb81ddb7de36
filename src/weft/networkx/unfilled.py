"""NetworkX graphs that remain arrays until their dictionaries are accessed.

A function of this backend that returns a graph returns one of these. To functions that weft serves
it is a converted graph already. The first look at its rows fills dictionaries from the arrays and
makes it an ordinary `nx.Graph` or `nx.DiGraph` for good.
"""

from __future__ import annotations

from typing import Any

import networkx as nx

from weft.graph.interop.networkx import collector_paused, fill_rows
from weft.networkx.network import Network

_become = object.__dict__["__class__"].__set__


def fill(graph: Any) -> None:
    """Fill the dictionaries of a graph, which then is an ordinary one."""
    held = graph.__dict__
    network = held.pop("_network")
    _become(graph, nx.DiGraph if network.is_directed() else nx.Graph)
    structure, nodes = network.structure, network.nodes
    data = network.node_data
    graph._node = dict(zip(nodes, ({} for _ in nodes) if data is None else data, strict=True))
    graph._adj = {node: {} for node in nodes}
    with collector_paused():
        sides = [(graph._adj, structure.offsets, structure.targets, structure.edge_of_entry)]
        if network.is_directed():
            graph._pred = {node: {} for node in nodes}
            offsets, sources, entries = structure.turned
            sides.append((graph._pred, offsets, sources, entries))
        fill_rows(nodes, network.edge_data(), sides)


def _filled(name: str) -> property:
    def get(graph: Any) -> Any:
        fill(graph)
        return getattr(graph, name)

    def put(graph: Any, value: Any) -> None:
        fill(graph)
        setattr(graph, name, value)

    return property(get, put)


def _length(graph: Any) -> int:
    return graph.__dict__["_network"].size


def _nodes(graph: Any) -> Any:
    return iter(graph.__dict__["_network"])


def _reduced(graph: Any, protocol: Any) -> Any:
    fill(graph)
    return graph.__reduce_ex__(protocol)


def _unfilled(kind: type[Any], *names: str) -> type[Any]:
    """Return the class of graphs of a kind whose rows are not filled yet."""
    members: dict[str, Any] = {name: _filled(name) for name in ("_node", "_adj", *names)}
    members |= {
        "__class__": property(lambda graph: kind),  # what `graph.__class__()` makes
        "__len__": _length,
        "__iter__": _nodes,
        "__reduce_ex__": _reduced,
        "__doc__": f"An `nx.{kind.__name__}` whose rows are not filled yet.",
    }
    return type(f"Unfilled{kind.__name__}", (kind,), members)


UnfilledGraph = _unfilled(nx.Graph)
UnfilledDiGraph = _unfilled(nx.DiGraph, "_succ", "_pred")


def network_of(graph: Any) -> Network | None:
    """Return the source arrays of a graph whose rows are not filled yet."""
    found: Network | None = graph.__dict__.get("_network") if type(graph) in _KINDS else None
    return found


_KINDS = frozenset((UnfilledGraph, UnfilledDiGraph))


def unfilled(network: Network, attributes: dict[Any, Any] | None = None) -> Any:
    """Return a network as a NetworkX graph; its attributes are those of the graph as a whole."""
    graph: Any = object.__new__(UnfilledDiGraph if network.is_directed() else UnfilledGraph)
    graph.__dict__.update(graph={**(attributes or {})}, __networkx_cache__={}, _network=network)
    network.belong_to(graph)
    return graph
