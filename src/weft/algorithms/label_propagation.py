"""Community detection by label propagation (CDLP).

Method: every vertex starts with its own id as its label. In each iteration all vertices at once
take the label that is most frequent among their neighbours, the smallest of several. In a directed
graph both ends of an edge are neighbours of each other, and a pair with edges both ways counts
twice. This is the deterministic, synchronous form that the LDBC Graphalytics benchmark specifies.

U. Raghavan, R. Albert, S. Kumara: Near linear time algorithm to detect community structures in
large-scale networks (Physical Review E 76, 2007).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.algorithms.registry import BOTH, Fields, Needs, algorithm
from weft.arrays.checks import check_steps
from weft.config import Config
from weft.engine.state import full
from weft.graph import Graph
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.ir.types import vertex_id
from weft.program import vertex

Array = np.ndarray[Any, Any]


def adopt(direction: str) -> Any:
    """Return the vertex function that takes the most frequent label of the neighbours."""

    @vertex
    def follow(v: Any) -> None:
        frequent = v.gather(lambda u, e: u.label, monoids.mode, direction=direction)
        v.label = fn.where(v.in_degree + v.out_degree > 0, frequent, v.label)

    return follow


@algorithm(
    group="communities",
    summary="the community of every vertex by label propagation",
    directed="ignored",
    column="label",
    reference=(
        "U. N. Raghavan, R. Albert, S. Kumara: Near linear time algorithm to "
        "detect community structures (2007)"
    ),
    needs=Needs(
        BOTH,
        Fields(lambda i, w: i, lambda i, w: i, lambda i, w: i),
        degrees=BOTH,
        keys=True,
    ),
)
def label_propagation(g: Graph, iterations: int = 10, *, config: Config | None = None) -> Array:
    """Return a community label for every vertex.

    Parameters
    ----------
    g
        A graph. Weights are ignored, parallel edges count each.
    iterations
        How often labels are passed on.
    config
        How to run it.

    Returns
    -------
    ndarray
        One label per vertex: the id of some vertex, equal within a community. Vertices without
        neighbours keep their own.

    Raises
    ------
    ConfigError
        If `iterations` is not a count.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1, 3, 3, 4], [1, 2, 2, 4, 5, 5], directed=False)
    >>> weft.label_propagation(g).tolist()
    [0, 0, 0, 3, 3, 3]
    """
    most = check_steps("iterations", iterations)
    state = g.state(label=full(lambda v: v.id, vertex_id))
    step = adopt("both" if g.directed else "in")
    g.iterate(step, state, max_iter=most, config=config)
    return state.label
