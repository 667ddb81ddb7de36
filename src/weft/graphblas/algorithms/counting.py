"""Triangles, trusses, clustering, projections."""

import numpy as np

import weft.graphblas as gb


def triangle_count(A):
    """Return the number of triangles of an undirected graph without loops."""
    L = gb.select.tril(A, -1).new()
    return gb.semiring.plus_pair(L @ L.T).new(mask=L.S).reduce_scalar().new().get(0)


def triangles(A):
    """Return a matrix with the number of triangles at every edge below the diagonal."""
    L = gb.select.tril(A, -1).new()
    return gb.semiring.plus_pair(A @ A.T).new(mask=L.S)


def enumerate_triangles(A):
    """Return all triangles as rows of three places, the largest first."""
    L = gb.select.tril(A, -1).new()
    rows, cols, _ = L.to_coo()
    common = gb.binary.pair(L[rows, :].new() & L[cols, :].new()).new()
    edges, thirds, _ = common.to_coo()
    return np.column_stack([rows[edges], cols[edges], thirds]).astype(np.int64)


def k_truss(A, k):
    """Return the edges that lie in k - 2 triangles among themselves, with those numbers."""
    C = gb.unary.one(A).new(int)
    while True:
        before = C.nvals
        C(C.S, gb.replace) << gb.semiring.plus_pair(C @ C.T)
        C << gb.select.valuege(C, k - 2)
        if C.nvals == before:
            return C


def clustering(A):
    """Return the share of pairs of neighbours that are neighbours, where there are pairs."""
    wedges = A.reduce_rowwise(gb.agg.count).new(float)
    pairs = gb.binary.times(wedges & gb.binary.minus(wedges, 1.0).new()).new()
    pairs << gb.select.valuegt(pairs, 0)
    found = gb.semiring.plus_pair(A @ A.T).new(mask=A.S).reduce_rowwise().new(float)
    result = gb.binary.times(pairs, 0.0).new()
    result(gb.binary.plus) << gb.binary.truediv(found & pairs)
    return result


def projection(A, weighted=False, among=None):
    """Return how many columns each two different rows of a bipartite matrix share.

    Parameters
    ----------
    A
        The matrix, of members by groups.
    weighted
        Whether to add up products of the values of shared columns instead.
    among
        A matrix whose places alone are computed.
    """
    times = gb.semiring.plus_times if weighted else gb.semiring.plus_pair
    shared = times(A @ A.T).new(mask=None if among is None else among.S)
    return gb.select.offdiag(shared).new()
