"""Load and percolation centrality: variants of betweenness.

Method: the sweeps of `shortest_dags` from every source. For the load, every vertex sends one unit
to the source; each vertex divides what arrives equally among the next vertices on shortest paths,
regardless of the number of paths through each. For percolation, paths are weighted by the states x
of their sources:

    percolation(v) = 1 / (n - 2) · Σ σ(s, t | v) / σ(s, t) · x(s) / (Σ x - x(v))    over s, t.

O(n m) for all sources without weights, O(n m log n) with them.

M. Newman: Scientific collaboration networks II (Physical Review E 64, 2001).
M. Piraveenan, M. Prokopenko, L. Hossain: Percolation centrality: quantifying graph-theoretic impact
of nodes during percolation in networks (PLoS ONE 8, 2013).
"""

from __future__ import annotations

from typing import Any

import numpy as np

import weft
from weft.algorithms.registry import BOTH, Fields, Needs, algorithm
from weft.algorithms.support.shortest_dags import Sweeps
from weft.arrays.device import as_array, move
from weft.arrays.reduce import all_true
from weft.errors import GraphError

Array = np.ndarray[Any, Any]

NEEDS = Needs(
    BOTH, Fields(lambda i, w: 48, lambda i, w: 20, lambda i, w: 52 + i, own=40), simple=True,
    trail=True, weighted=True,
)  # fmt: skip


@algorithm(
    group="centrality",
    summary="what passes each vertex if all send one unit to all others",
    weights="optional",
    column="load",
    reference="M. Newman: Scientific collaboration networks II (2001)",
    needs=NEEDS,
)
def load_centrality(
    g: weft.Graph,
    normalized: bool = True,
    *,
    weighted: bool = False,
    config: weft.Config | None = None,
) -> Array:
    """Return the load of each vertex if every vertex sends one unit to each other vertex.

    A unit follows shortest paths, divided equally wherever there are several next vertices.

    Parameters
    ----------
    g
        A graph; a directed one is searched along its edges. Self-loops are ignored, parallel edges
        count once.
    normalized
        Whether to divide by the number of pairs of other vertices.
    weighted
        Whether weights are the lengths of edges; they must be finite and above 0.
    config
        How to run it.

    Returns
    -------
    ndarray of float64
        One value per vertex; units that a vertex itself sends or receives do not count.

    Raises
    ------
    GraphError
        If weights are to be used and some are not above 0, or not finite.

    Examples
    --------
    >>> import weft
    >>> weft.load_centrality(weft.generators.path(4), normalized=False).tolist()
    [0.0, 4.0, 4.0, 0.0]
    """
    sweeps, n = Sweeps(g, weighted, config), g.num_vertices
    for source in range(n):
        sweeps.add_loads(source)
    total = sweeps.state.total
    return total / ((n - 1) * (n - 2)) if normalized and n > 2 else total


@algorithm(
    group="centrality",
    summary="the share of shortest paths from percolated vertices through each vertex",
    weights="optional",
    reference="M. Piraveenan, M. Prokopenko, L. Hossain: Percolation centrality (2013)",
    needs=NEEDS,
)
def percolation(
    g: weft.Graph, states: Any = None, *, weighted: bool = False, config: weft.Config | None = None
) -> Array:
    """Return the percolation centrality of every vertex.

    Parameters
    ----------
    g
        A graph; a directed one is searched along its edges. Self-loops are ignored, parallel edges
        count once.
    states
        The percolation state of each vertex: a finite number from 0 on, by default 0.1.
    weighted
        Whether weights are the lengths of edges; they must be finite and above 0.
    config
        How to run it.

    Returns
    -------
    ndarray of float64
        One value per vertex; 0 where no other vertex is percolated.

    Raises
    ------
    GraphError
        If a state is negative or not finite, or weights are to be used and some are not above 0, or
        not finite.

    Examples
    --------
    >>> import weft
    >>> weft.percolation(weft.generators.path(3), [1.0, 0.0, 0.0]).tolist()
    [0.0, 1.0, 0.0]
    """
    n, xp = g.num_vertices, g.topology.xp
    if states is None:
        state = xp.full(n, 0.1)
    else:
        state = move(as_array(states), g.topology.device)
    usable = state.shape == (n,) and state.dtype.kind in "iufb"
    if not (usable and all_true((state >= 0) & (state < np.inf))):
        raise GraphError(
            f"states have {state.dtype} of the shape {state.shape}. Expected one finite number "
            f"from 0 on for each of the {n} vertices."
        )
    state = state.astype(np.float64)
    sweeps = Sweeps(g, weighted, config)
    for source in xp.flatnonzero(state).tolist():
        sweeps.add_owed(source, float(state[source]))
    others = state.sum() - state
    found = sweeps.state.total / xp.where(others > 0, others, 1.0)
    return found / (n - 2) if n > 2 else found
