"""SimRank similarity of all pairs of vertices.

Method: two vertices are similar if similar vertices lead to them. With P the matrix whose column v
is the uniform distribution over the predecessors of v, iterate from the identity

    S' = max(c · Pᵀ S P, I),

where I only fixes the diagonal at 1. Each iteration is two products of P with a dense matrix, by
SciPy or CuPy. O(n m) per iteration, 8 n² bytes for each of three matrices: for graphs of some
thousand vertices.

G. Jeh, J. Widom: SimRank: a measure of structural-context similarity (KDD 2002).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

import weft
from weft.algorithms.registry import Fields, Needs, algorithm
from weft.algorithms.support.sources import check_source
from weft.algorithms.support.sparse import sparse_module
from weft.arrays.checks import check_steps, check_tolerance, real_of
from weft.errors import ConfigError, ConvergenceError, shortened

Array = np.ndarray[Any, Any]


@algorithm(
    group="similarity",
    summary="how similar the vertices are that lead to two vertices",
    per="result",
    reference="G. Jeh, J. Widom: SimRank: a measure of structural-context similarity (KDD 2002)",
    needs=Needs(("in",), Fields(own=64), frontier=False, degrees=("in",)),
)
def simrank(
    g: weft.Graph,
    source: Hashable = None,
    importance: float = 0.9,
    tol: float = 1e-4,
    max_iter: int = 1000,
    *,
    config: weft.Config | None = None,
) -> Array:
    """Return the SimRank similarity of all pairs of vertices, or of one vertex to all.

    Parameters
    ----------
    g
        A graph of at most some thousand vertices: memory is needed for all pairs. Parallel edges
        count once; in an undirected graph all neighbours are predecessors.
    source
        A vertex, by its label if the graph has labels: only its similarities are returned.
    importance
        The factor c, from 0 to below 1, by which similarity falls in each step.
    tol
        The iteration ends once no similarity changes by more than this, relatively and absolutely.
    max_iter
        The maximum number of iterations.
    config
        Accepted for uniformity; nothing is compiled.

    Returns
    -------
    ndarray of float64
        A matrix with a row and a column for each vertex, or one row of it.

    Raises
    ------
    ConfigError
        If `importance` is out of range.
    ConvergenceError
        If similarities still change after the last iteration.
    GraphError
        If the source does not exist.

    Examples
    --------
    >>> import weft
    >>> weft.simrank(weft.generators.star(3), 1).round(3).tolist()
    [0.0, 1.0, 0.9]
    """
    if not 0 <= real_of(importance) < 1:
        raise ConfigError(
            f"importance={shortened(importance)} is not possible. Expected 0 to below 1."
        )
    check_tolerance("tol", tol)
    most, place = check_steps("max_iter", max_iter), None
    if source is not None:
        place = check_source(g, source)
    n, xp = g.num_vertices, g.topology.xp
    if n < 2:
        found = xp.eye(n)
        return found if place is None else found[place]
    src, dst = g.topology.edge_endpoints()
    plain = weft.Graph.from_edges(
        src, dst, num_vertices=n, directed=g.directed, duplicates="first",
        index_dtype=g.topology.index_dtype, device=g.topology.device,
    )  # fmt: skip
    rows = plain.topology.in_
    count = xp.diff(rows.offsets)
    share = xp.repeat(1 / xp.maximum(count, 1), count)
    mean = sparse_module(g).csr_matrix((share, rows.targets, rows.offsets), shape=(n, n))
    found = xp.eye(n)
    for _ in range(most):
        before = found
        found = importance * (mean @ xp.ascontiguousarray((mean @ before).T))
        xp.fill_diagonal(found, 1.0)
        if bool((abs(found - before) <= tol * (1 + before)).all()):
            return found if place is None else found[place]
    raise ConvergenceError(
        f"similarities still changed after {most} iterations. Expected changes of at most {tol}; "
        "raise max_iter or tol."
    )
