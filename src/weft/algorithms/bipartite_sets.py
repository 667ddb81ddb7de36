"""The two sides of a bipartite graph.

Method: a breadth-first search from the smallest vertex of every component. The sides are the even
and the odd levels, and the graph is bipartite if no edge stays on one side. O(m).

D. Kőnig: Theorie der endlichen und unendlichen Graphen (1936).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.algorithms.bfs import NO_LEVEL, discover_level
from weft.algorithms.connected_components import connected_components
from weft.algorithms.registry import Fields, Needs, algorithm
from weft.algorithms.support.simple import has_loops, simple
from weft.arrays.reduce import any_true
from weft.config import Config
from weft.errors import GraphError
from weft.graph import Graph

Array = np.ndarray[Any, Any]

NEEDS = Needs(("out",), Fields(lambda i, w: 4 + i, own=40), simple=True)
REFERENCE = "D. Kőnig: Theorie der endlichen und unendlichen Graphen (1936)"


@algorithm(
    group="structure",
    summary="the side of every vertex of a bipartite graph",
    directed="ignored",
    column="side",
    reference=REFERENCE,
    needs=NEEDS,
)
def bipartite_sets(g: Graph, *, config: Config | None = None) -> Array:
    """Return the side of every vertex, such that all edges join both sides.

    Parameters
    ----------
    g
        A bipartite graph; directed edges are taken to run both ways.
    config
        How to run it.

    Returns
    -------
    ndarray of int8
        0 or 1; the smallest vertex of every component is on side 0.

    Raises
    ------
    GraphError
        If the graph has a cycle of odd length.

    Examples
    --------
    >>> import weft
    >>> weft.bipartite_sets(weft.generators.cycle(4)).tolist()
    [0, 1, 0, 1]
    """
    side, wrong = _sides(g, config)
    if wrong:
        raise GraphError(
            "the graph is not bipartite: it has a cycle of odd length. weft.is_bipartite tells "
            "this beforehand."
        )
    return side


@algorithm(
    group="structure",
    summary="whether the vertices have two sides that all edges join",
    directed="ignored",
    per="result",
    reference=REFERENCE,
    needs=NEEDS,
)
def is_bipartite(g: Graph, *, config: Config | None = None) -> bool:
    """Return whether the vertices can be split so that no edge joins two of the same side.

    Parameters
    ----------
    g
        A graph; directed edges are taken to run both ways.
    config
        How to run it.

    Returns
    -------
    bool

    Examples
    --------
    >>> import weft
    >>> weft.is_bipartite(weft.generators.cycle(4)), weft.is_bipartite(weft.generators.cycle(5))
    (True, False)
    """
    return not _sides(g, config)[1]


def _sides(g: Graph, config: Config | None) -> tuple[Array, bool]:
    """Return a side for every vertex, and whether some edge joins two of the same."""
    both, xp = simple(g), g.topology.xp
    label = connected_components(both, config=config)
    state = both.state(level=NO_LEVEL)
    roots = xp.flatnonzero(label == xp.arange(label.size, dtype=label.dtype))
    state.level[roots] = 0
    both.iterate(discover_level, state, roots, config=config)
    side = (state.level & 1).astype(np.int8)
    src, dst = both.topology.edge_endpoints()
    return side, has_loops(g.topology) or any_true(side[src] == side[dst])
