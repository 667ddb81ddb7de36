"""Clusters around a seed."""

import numpy as np

import weft.graphblas as gb


def approximate_pagerank(A, seed, alpha=0.15, epsilon=1e-6):
    """Return the personalised PageRank around a seed, up to `epsilon` times each degree.

    All places whose residual is too large push at once (Andersen, Chung, Lang 2006).

    Parameters
    ----------
    A
        The adjacency matrix of an undirected graph; values are not used.
    seed
        Where walks start.
    alpha
        The chance to go back to the seed.
    epsilon
        The residual, for each arc, that may be left.
    """
    degree = A.reduce_rowwise(gb.agg.count).new(float)
    rank = gb.Vector(float, A.nrows)
    rest = gb.Vector(float, A.nrows)
    rest[seed] = 1.0
    while True:
        share = gb.binary.truediv(rest & degree).new()
        share << gb.select.valuegt(share, epsilon)
        if not share.nvals:
            return rank
        pushed = rest.dup(mask=share.S)
        rank(gb.binary.plus) << gb.binary.times(pushed, alpha)
        rest(pushed.S) << gb.binary.times(pushed, (1 - alpha) / 2)
        half = gb.binary.times(share, (1 - alpha) / 2).new()
        rest(gb.binary.plus) << gb.semiring.plus_first(half @ A)


def local_cluster(A, seed, alpha=0.15, epsilon=1e-6):
    """Return the places of the best cluster around a seed, and its conductance (sweep cut).

    Places are taken by rank for each arc; of all beginnings of that order, the one wins that cuts
    the fewest arcs for those that it has. See `approximate_pagerank`.
    """
    degree = A.reduce_rowwise(gb.agg.count).new(float)
    rank = approximate_pagerank(A, seed, alpha, epsilon)
    places, score = gb.binary.truediv(rank & degree).new().to_coo()
    order = places[np.argsort(-score, kind="stable")]
    inner = gb.select.tril(A[order, order].new(), -1).new()
    back = inner.reduce_rowwise(gb.agg.count).new(float).to_dense(0.0)
    sizes = degree.to_dense(0.0)
    volume = np.cumsum(sizes[order])
    cut = volume - 2 * np.cumsum(back)
    smaller = np.minimum(volume, sizes.sum() - volume)
    conductance = cut / np.where(smaller > 0, smaller, 1)
    conductance[smaller == 0] = 1.0
    best = int(np.argmin(conductance))
    members = gb.Vector.from_coo(np.sort(order[: best + 1]), True, size=A.nrows)
    return members, float(conductance[best])
