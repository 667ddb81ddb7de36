"""Minimum spanning forest.

Method: Borůvka's. In each round every component takes its lightest edge to another one, and
components joined by a chosen edge become one. Edges are ranked by (weight, number), so that ranks
are distinct and the forest is unique; of a pair of components that choose the same edge, the one
with the smaller name stays a root. Components at least halve in number: O(m log n) work in all.
Rounds go over vertices and their rows where rows are long, over a list of edges elsewhere.

Where weights have 32 bits, the rank is the weight above the number of the edge; else weights are
sorted once.

O. Borůvka: O jistém problému minimálním (1926).
A. Fallin, A. Gonzalez, J. Seo, M. Burtscher: A high-performance MST implementation for GPUs (SC
2023).
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

import weft
from weft.algorithms.registry import BOTH, Fields, Needs, algorithm
from weft.algorithms.support.edge_ranks import rank_edges
from weft.algorithms.support.forest_by_edges import forest_by_edges
from weft.algorithms.support.forest_by_rows import forest_by_rows

Array = np.ndarray[Any, Any]

MANY: Final = 6  # edges per vertex from which on rows are long


class Forest(NamedTuple):
    """The edges of a spanning forest, by their numbers, and their total weight."""

    edge: Array
    weight: float | int


@algorithm(
    group="structure",
    summary="the edges of a spanning forest of least weight",
    weights="used",
    directed="ignored",
    per="result",
    reference=(
        "O. Borůvka: O jistém problému minimálním (1926); A. Fallin et al.: A high-performance MST "
        "implementation for GPUs (SC 2023)"
    ),
    needs=Needs(
        BOTH,
        Fields(lambda i, w: 3 * i + 17, lambda i, w: i, lambda i, w: 2 * i, per_edge=56),
        weighted=True,
    ),
)
def minimum_spanning_forest(g: weft.Graph, *, config: weft.Config | None = None) -> Forest:
    """Return the edges of a spanning forest of least total weight.

    Parameters
    ----------
    g
        A graph. Without weights every edge counts 1. Directed edges are taken to run both ways.
        Among edges of equal weight, those with smaller numbers are preferred.
    config
        How to run it.

    Returns
    -------
    Forest
        ``edge``: the numbers of the edges in `Graph.to_edges`, rising: one fewer than vertices in
        every component. ``weight``: their total weight.

    Raises
    ------
    GraphError
        If a weight is NaN.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges(
    ...     [0, 0, 1, 2], [1, 2, 2, 3], weight=[1.0, 3.0, 2.0, 0.5], directed=False
    ... )
    >>> weft.minimum_spanning_forest(g)
    Forest(edge=array([0, 2, 3]), weight=3.5)
    """
    ranks = rank_edges(g)
    by = forest_by_rows if g.num_edges > MANY * g.num_vertices else forest_by_edges
    edge = by(g, ranks, config)
    if not g.weighted:
        return Forest(edge, int(edge.size))
    weight = g.edge.storage("weight")[edge]
    wide = np.int64 if weight.dtype.kind in "iu" else np.float64
    return Forest(edge, weight.astype(wide).sum().item())
