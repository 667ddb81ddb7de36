"""Arguments of NetworkX's functions: nodes, bunches of nodes, cut-offs."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from weft.networkx.network import Network

Array = np.ndarray[Any, Any]

UNLIMITED = np.iinfo(np.int64).max


def refuse(network: Network, *, directed: bool = False, multigraph: bool = False) -> None:
    """Raise NetworkX's error for a kind of graph, where its own checks come too late."""
    if directed and network.is_directed():
        raise nx.NetworkXNotImplemented("not implemented for directed type")
    if multigraph and network.is_multigraph():
        raise nx.NetworkXNotImplemented("not implemented for multigraph type")


def row_of(network: Network, node: Any, message: str, error: type[Exception]) -> int:
    """Return the row of a node, or raise NetworkX's error for one that is not there."""
    if node not in network:
        raise error(message)
    return network.structure.place[node]


def bunch(network: Network, nodes: Any) -> list[Any]:
    """Return the nodes of a bunch as `nx.Graph.nbunch_iter` understands it."""
    if nodes is None:
        return network.nodes
    if nodes in network:
        return [nodes]
    place = network.structure.place
    found = []
    try:
        for node in nodes:
            if node in place:
                found.append(node)
    except TypeError as error:
        text = error.args[0]
        if "iter" in text:
            raise nx.NetworkXError("nbunch is not a node or a sequence of nodes.") from None
        if "hashable" in text:
            raise nx.NetworkXError(f"Node {node} in sequence nbunch is not a valid node.") from None
        raise
    return found


def rows_at(network: Network, nodes: list[Any]) -> Array:
    """Return the rows of nodes that exist."""
    place = network.structure.place
    return np.fromiter((place[node] for node in nodes), np.int64, len(nodes))


def whole(limit: Any) -> int:
    """Return the number of levels that a limit on hops allows."""
    if limit is None or limit >= UNLIMITED:
        return UNLIMITED
    return max(0, int(np.ceil(limit)))
