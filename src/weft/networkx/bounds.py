"""Extreme eccentricities from few searches.

Method: a search from v bounds the eccentricity of every other vertex w from both sides,
max(d, ecc(v) - d) <= ecc(w) <= ecc(v) + d with d the distance of v and w. Searches start in turn
where the upper bound is largest and where the lower one is smallest, until the answer is settled.

F. Takes, W. Kosters: Determining the diameter of small world networks (CIKM 2011).
"""

from __future__ import annotations

from typing import Any, Final

import networkx as nx
import numpy as np

from weft.networkx.network import Network
from weft.networkx.searches import hops, levels, shortest

Array = np.ndarray[Any, Any]

LARGEST: Final = "largest"
SMALLEST: Final = "smallest"


def _search(G: Network, row: int, weight: Any) -> tuple[Array, Array]:
    if weight is None:
        return levels(G, row)
    tree = shortest(G, [row], weight)
    return tree.order, tree.distance[tree.order]


def extreme(G: Network, which: str, members: bool, weight: Any = None) -> tuple[int, list[Any]]:
    """Return the largest or smallest eccentricity, and which nodes have it if asked for.

    Distances are whole numbers.
    """
    lower, upper = np.zeros(G.size, np.int64), np.full(G.size, np.iinfo(np.int64).max)
    turn = True
    while True:
        found = int(lower.max() if which == LARGEST else upper.min())
        beyond = upper > found if which == LARGEST else lower < found
        if not beyond.any() and members:
            beyond = (lower <= found) & (found <= upper) & (lower < upper)
        if not beyond.any():
            return found, G.at(np.flatnonzero((lower == found) & (upper == found)))
        rows = np.flatnonzero(beyond)
        row = rows[np.argmax(upper[rows])] if turn else rows[np.argmin(lower[rows])]
        turn = not turn
        order, level = _search(G, int(row), weight)
        if order.size < G.size:
            raise nx.NetworkXError("Cannot compute metric because graph is not connected.")
        most = int(level.max())
        lower[order] = np.maximum(lower[order], np.maximum(level, most - level))
        upper[order] = np.minimum(upper[order], most + level)
        lower[row] = upper[row] = most


def tree_center(G: Network) -> list[Any]:
    """Return the middle of a longest path of a tree."""
    end = int(hops(G, [0]).order[-1])
    tree = hops(G, [end])
    row = int(tree.order[-1])
    length = int(tree.distance[row])
    for _ in range(length // 2):
        row = int(tree.parent[row])
    middle = {row} if length % 2 == 0 else {row, int(tree.parent[row])}
    return G.at(np.array(sorted(middle)))
