"""Matching of the vertices of two graphs, given some known pairs.

Method: FAQ. Among the permutations P of the free vertices, the one with the most edges in common,
trace(Aᵀ P B Pᵀ), is sought over doubly stochastic matrices instead, by Frank and Wolfe's method:
from the matrix of equal entries, the gradient

    A P Bᵀ + Aᵀ P B,    with the seeds as fixed entries of P,

is maximised by a linear assignment, followed by the best step towards its solution. The
last matrix is rounded by one more assignment. SciPy solves the assignments, on the host. O(n³) per
iteration for n free vertices, and O(n²) memory: for graphs of some thousand vertices.

D. Fishkind et al.: Seeded graph matching (Pattern Recognition 87, 2019).
J. Vogelstein et al.: Fast approximate quadratic programming for graph matching (PLoS ONE 10, 2015).
"""

from __future__ import annotations

from typing import Any

import numpy as np

import weft
from weft.algorithms.registry import Fields, Needs, algorithm
from weft.algorithms.support.weights import check_weights
from weft.arrays.checks import check_steps, check_tolerance
from weft.arrays.device import as_array, move, to_host
from weft.errors import GraphError, shortened

Array = np.ndarray[Any, Any]


@algorithm(
    group="matching",
    summary="the vertex of another graph that each vertex corresponds to",
    weights="optional",
    column="mate",
    reference="D. Fishkind et al.: Seeded graph matching (2019)",
    needs=Needs((), Fields(own=200), frontier=False, weighted=True),
)
def seeded_graph_matching(
    g: weft.Graph,
    other: weft.Graph,
    seeds: Any = (),
    *,
    weighted: bool = False,
    tol: float = 1e-3,
    max_iter: int = 30,
    config: weft.Config | None = None,
) -> Array:
    """Return a matching of the vertices of two graphs that preserves many edges.

    Parameters
    ----------
    g, other
        Two graphs with equally many vertices, at most some thousand; both directed or both
        undirected.
    seeds
        Pairs of vertices that correspond, one of each graph in every row, by number.
    weighted
        Whether edges count by their weights, which must be finite and not negative.
    tol
        The iteration ends when the matrix moves by less than this for each vertex, in the L2 norm.
    max_iter
        The most iterations.
    config
        Accepted for uniformity; nothing is compiled.

    Returns
    -------
    ndarray
        For each vertex of g, the vertex of the other graph. The iteration need not find the best
        matching.

    Raises
    ------
    GraphError
        If the graphs differ in size or kind, seeds repeat or do not exist, or weights are negative
        or not finite.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1, 2, 3], [1, 2, 2, 3, 4], directed=False)
    >>> turned = weft.Graph.from_edges([4, 4, 3, 2, 1], [3, 2, 2, 1, 0], directed=False)
    >>> weft.seeded_graph_matching(g, turned, [[0, 4]]).tolist()
    [4, 3, 2, 1, 0]
    """
    n = g.num_vertices
    if not isinstance(other, weft.Graph) or other.num_vertices != n or other.directed != g.directed:
        raise GraphError(
            f"other={shortened(other)} does not fit. Expected a graph of {n} vertices that is "
            f"{'directed' if g.directed else 'undirected'}, as g is."
        )
    check_tolerance("tol", tol)
    most, pairs = check_steps("max_iter", max_iter), _checked_seeds(seeds, n)
    mate = np.full(n, -1, g.topology.index_dtype)
    mate[pairs[:, 0]] = pairs[:, 1]
    rows, columns = (np.setdiff1d(np.arange(n), pairs[:, k]) for k in (0, 1))
    if rows.size:
        first = np.concatenate((pairs[:, 0], rows))
        second = np.concatenate((pairs[:, 1], columns))
        a = _dense(g, weighted)[np.ix_(first, first)]
        b = _dense(other, weighted)[np.ix_(second, second)]
        mate[rows] = columns[_matched(a, b, len(pairs), tol, most)]
    return move(mate, g.topology.device)


def _checked_seeds(seeds: Any, n: int) -> Array:
    """Return pairs of seeds as rows of two integers."""
    pairs = to_host(as_array(seeds))
    if not pairs.size:
        return np.zeros((0, 2), np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise GraphError(
            f"seeds have {pairs.dtype} of the shape {pairs.shape}. Expected two vertices in each "
            "row, one of each graph."
        )
    bad = pairs[((pairs < 0) | (pairs >= n)).any(axis=1)]
    if bad.size:
        raise GraphError(f"the seed {bad[0].tolist()} does not exist. Expected 0 to {n - 1}.")
    if any(np.unique(pairs[:, k]).size < len(pairs) for k in (0, 1)):
        raise GraphError("a vertex is in two seeds. Expected one pair for a vertex at most.")
    return pairs.astype(np.int64)


def _dense(g: weft.Graph, weighted: bool) -> Array:
    """Return the matrix of weights, those of parallel edges added up."""
    src, dst = (to_host(ends) for ends in g.topology.edge_endpoints())
    weight = np.ones(src.size)
    if check_weights(g, weighted, "a matching"):
        weight = to_host(g.edge.storage("weight")).astype(np.float64)
    matrix = np.zeros((g.num_vertices, g.num_vertices))
    np.add.at(matrix, (src, dst), weight)
    if not g.directed:
        proper = src != dst
        np.add.at(matrix, (dst[proper], src[proper]), weight[proper])
    return matrix


def _matched(a: Array, b: Array, seeds: int, tol: float, most: int) -> Array:
    """Return the column of b for each free row of a, where the first rows and columns are seeds."""
    from scipy.optimize import linear_sum_assignment

    free = slice(seeds, None)
    fixed = slice(None, seeds)
    # The contribution of edges between seeds and free vertices to the gradient is independent of P.
    constant = a[free, fixed] @ b[free, fixed].T + a[fixed, free].T @ b[fixed, free]
    a, b = a[free, free], b[free, free]
    n = len(a)
    p = np.full((n, n), 1 / n)
    for _ in range(most):
        gradient = constant + a @ p @ b.T + a.T @ p @ b
        q = np.zeros_like(p)
        q[linear_sum_assignment(gradient, maximize=True)] = 1.0
        way = q - p
        slope = (gradient * way).sum()
        bend = ((a @ way @ b.T) * way).sum()
        step = 1.0 if bend >= 0 or slope >= -2 * bend else slope / (-2 * bend)
        p = p + step * way
        if step * np.linalg.norm(way) < tol * n**0.5:
            break
    return np.asarray(linear_sum_assignment(p, maximize=True)[1])
