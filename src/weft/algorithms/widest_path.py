"""Widest paths.

Method: the width of a path is its smallest weight; each vertex holds the largest width of all paths
from the source. This is relaxation in the max-min semiring, which ends because widths only grow:

    width(v) = max(width(v), min(width(u), w(u, v))).

M. Pollack: The maximum capacity through a network (Operations Research 8, 1960).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

import weft
from weft.algorithms.registry import BOTH, Fields, Needs, algorithm
from weft.algorithms.support.sources import check_start
from weft.arrays.device import move
from weft.errors import GraphError

Array = np.ndarray[Any, Any]


@weft.edge(into="width", reduce=weft.max)
def widen(u: Any, v: Any, e: Any) -> Any:
    """Offer v the width of the path through u."""
    return weft.minimum(u.width, weft.cast(e.weight, np.float64))


@algorithm(
    group="traversal",
    summary="the largest width of all paths from a vertex",
    weights="used",
    column="width",
    reference="M. Pollack: The maximum capacity through a network (1960)",
    needs=Needs(BOTH, Fields(lambda i, w: 8, lambda i, w: 8, lambda i, w: 8), weighted=True),
)
def widest_path(g: weft.Graph, source: Hashable, *, config: weft.Config | None = None) -> Array:
    """Return the width of the widest path to every vertex.

    Parameters
    ----------
    g
        A graph. Without weights every edge counts 1.
    source
        The vertex to start from, by its label if the graph has labels; or a list or array of
        vertices, for the widest path from any of them.
    config
        How to run it.

    Returns
    -------
    ndarray of float64
        The smallest weight on the widest path: inf at the source, -inf where there is no path.

    Raises
    ------
    GraphError
        If the source does not exist, or a weight is NaN.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges(
    ...     [0, 0, 1], [1, 2, 2], weight=[3.0, 1.0, 2.0], num_vertices=4
    ... )
    >>> weft.widest_path(g, 0).tolist()
    [inf, 3.0, 2.0, -inf]
    """
    if g.weighted and g.num_edges:
        low, _ = g.edge.extent("weight")
        if low != low:
            raise GraphError(
                "some weights are NaN. Expected numbers: remove those edges or give them a weight."
            )
    start = np.atleast_1d(check_start(g, source))
    state = g.state(width=weft.full(-np.inf))
    places = move(start, g.topology.device)
    state.width[places] = np.inf
    g.iterate(widen, state, places, config=config)
    return state.width
