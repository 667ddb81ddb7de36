"""The two sides of a bipartite graph.

Method: a breadth-first search from the smallest vertex of every component. The sides are the even
and the odd levels, and the graph is bipartite if no edge stays on one side. O(m).

D. Kőnig: Theorie der endlichen und unendlichen Graphen (1936).
"""

from __future__ import annotations

from typing import Any

import numpy as np

import weft
from weft.algorithms.bfs import NO_LEVEL, discover_level
from weft.algorithms.connected_components import connected_components
from weft.algorithms.registry import Fields, Needs, algorithm
from weft.algorithms.support.simple import has_loops, simple
from weft.errors import GraphError

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
def bipartite_sets(g: weft.Graph, *, config: weft.Config | None = None) -> Array:
    """Return the side of every vertex, so that every edge joins both sides.

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
def is_bipartite(g: weft.Graph, *, config: weft.Config | None = None) -> bool:
    """Return whether the vertices can be split so that no edge joins two of one side.

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


@weft.edge
def clash(u: Any, v: Any, e: Any) -> bool:
    """Count edges between vertices of one side."""
    weft.reduce("clashes", weft.cast((u.level ^ v.level) & 1 == 0, np.int64), weft.sum)
    return False


def _sides(g: weft.Graph, config: weft.Config | None) -> tuple[Array, bool]:
    """Return a side for every vertex, and whether some edge joins two of one side."""
    both, xp = simple(g), g.topology.xp
    label = connected_components(both, config=config)
    first = label == xp.arange(label.size, dtype=label.dtype)
    state = both.state(level=NO_LEVEL, clashes=weft.scalar(0))
    state.level[first] = 0
    both.iterate(discover_level, state, first, config=config)
    both.run(clash, state, config=config)
    return (state.level & 1).astype(np.int8), int(state.clashes) > 0 or has_loops(g.topology)
