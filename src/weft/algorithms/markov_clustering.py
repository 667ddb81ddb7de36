"""Markov clustering.

Method: a matrix of probabilities, the columns of A + I divided by their sums, is *expanded*, by
powers, and *inflated*, by powers of each entry followed by dividing the columns by their sums,
until it no longer changes. Entries below a threshold are dropped. Flow within clusters grows and
that between them dies out. At the end the rows that hold entries are attractors; vertices with a
common attractor, and attractors that share vertices, are one cluster. The products are sparse ones
of SciPy or CuPy.

S. van Dongen: Graph clustering via a discrete uncoupling process (SIAM J. Matrix Analysis and
Applications 30, 2008).
"""

from __future__ import annotations

from typing import Any

import numpy as np

import weft
from weft.algorithms.connected_components import connected_components
from weft.algorithms.registry import Fields, Needs, algorithm
from weft.algorithms.support.sparse import adjacency_matrix, sparse_module
from weft.arrays.checks import check_integer, check_steps, real_of
from weft.errors import ConfigError, ConvergenceError, shortened

Array = np.ndarray[Any, Any]


@algorithm(
    group="communities",
    summary="clusters in which random walks stay",
    weights="optional",
    directed="ignored",
    column="label",
    reference="S. van Dongen: Graph clustering via a discrete uncoupling process (2008)",
    needs=Needs((), Fields(own=800), frontier=False, weighted=True),
)
def markov_clustering(
    g: weft.Graph,
    expansion: int = 2,
    inflation: float = 2.0,
    *,
    weighted: bool = True,
    threshold: float = 1e-4,
    max_iter: int = 100,
    config: weft.Config | None = None,
) -> Array:
    """Return clusters found by simulating random flow.

    Parameters
    ----------
    g
        A graph. Directed edges are taken to run both ways, and parallel ones are added up;
        self-loops are replaced by ones of each vertex's heaviest edge.
    expansion
        The power of the matrix, from 2 on.
    inflation
        The power of its entries, above 1; larger values give smaller clusters.
    weighted
        Whether to use the weights, which must be finite and not negative.
    threshold
        Entries below this are dropped.
    max_iter
        The maximum number of iterations.
    config
        How to run it.

    Returns
    -------
    ndarray
        One label per vertex: the smallest vertex of its cluster.

    Raises
    ------
    ConfigError
        If expansion, inflation or threshold is out of range.
    ConvergenceError
        If the matrix still changes after the last iteration.
    GraphError
        If weights are negative or not finite.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1, 3, 3, 4, 2], [1, 2, 2, 4, 5, 5, 3], directed=False)
    >>> weft.markov_clustering(g).tolist()
    [0, 0, 0, 3, 3, 3]
    """
    power = check_integer("expansion", expansion, 2)
    if not 1 < real_of(inflation) < np.inf:
        raise ConfigError(
            f"inflation={shortened(inflation)} is not possible. Expected a number above 1."
        )
    if not 0 <= real_of(threshold) < 1:
        raise ConfigError(
            f"threshold={shortened(threshold)} is not possible. Expected 0 to below 1."
        )
    most = check_steps("max_iter", max_iter)
    sparse, n = sparse_module(g), g.num_vertices
    flow = adjacency_matrix(g, weighted, loops=False)
    if not n:
        return g.topology.xp.zeros(0, g.topology.index_dtype)
    heaviest = _column_maxima(g, flow)
    flow = _stochastic(sparse, (flow + sparse.diags(heaviest)).tocsc())
    for _ in range(most):
        before = flow
        for _ in range(power - 1):
            flow = flow @ before
        flow = _inflated(g, flow.tocsc(), float(inflation), float(threshold))
        change = abs(flow - before)
        if not change.nnz or float(change.max()) < 1e-9:
            return _clusters(g, flow, config)
    raise ConvergenceError(
        f"the flow still changed after {most} iterations. Expected it to settle; raise max_iter, "
        "or the inflation."
    )


def _column_maxima(g: weft.Graph, matrix: Any) -> Array:
    """Return the largest entry of each column of a symmetric matrix; 1 for empty ones."""
    xp = g.topology.xp
    largest = matrix.max(axis=0)
    largest = xp.asarray(largest.toarray() if hasattr(largest, "toarray") else largest).ravel()
    return xp.where(largest > 0, largest, 1.0)


def _stochastic(sparse: Any, matrix: Any) -> Any:
    """Return a matrix whose columns, none of which is empty, are divided by their sums."""
    total = matrix.sum(axis=0).ravel()
    total = np.asarray(total).ravel() if isinstance(total, np.matrix) else total
    return (matrix @ sparse.diags(1 / total)).tocsc()


def _inflated(g: weft.Graph, matrix: Any, inflation: float, threshold: float) -> Any:
    """Return the columns with their entries raised to a power and small ones dropped."""
    sparse, xp = sparse_module(g), g.topology.xp
    raised = _stochastic(sparse, matrix.power(inflation))
    rows, columns = raised.indices, xp.repeat(xp.arange(g.num_vertices), xp.diff(raised.indptr))
    largest = xp.zeros(g.num_vertices)
    xp.maximum.at(largest, columns, raised.data)
    kept = (raised.data >= threshold) | (raised.data == largest[columns])
    pruned = sparse.csc_matrix((raised.data[kept], (rows[kept], columns[kept])), shape=raised.shape)
    return _stochastic(sparse, pruned)


def _clusters(g: weft.Graph, flow: Any, config: weft.Config | None) -> Array:
    """Return the components of vertices and the attractors that their flow ends in."""
    entries = flow.tocoo()
    joined = weft.Graph.from_edges(
        entries.row, entries.col, num_vertices=g.num_vertices, directed=False,
        index_dtype=g.topology.index_dtype, device=g.topology.device,
    )  # fmt: skip
    return connected_components(joined, config=config)
