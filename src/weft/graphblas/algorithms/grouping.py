"""Components, labels and clusters."""

import weft.graphblas as gb


def connected_components(A):
    """Return the smallest place of each place's component in an undirected graph (FastSV).

    Parents point at smaller places; every round hooks trees onto smaller neighbouring ones and
    halves the paths to the roots, until no grandparent changes.
    """
    n = A.nrows
    parent = gb.Vector.from_coo(range(n), range(n), dtype=int, size=n)
    grand = parent.dup()
    while True:
        nearest = gb.semiring.min_second(A @ grand).new()
        of = parent.to_coo(indices=False)[1]
        trees = gb.Matrix.from_coo(of, range(n), True, nrows=n, ncols=n)
        parent(gb.binary.min) << gb.semiring.min_second(trees @ nearest)
        parent(gb.binary.min) << nearest
        parent(gb.binary.min) << grand
        after = parent[parent.to_coo(indices=False)[1]].new()
        if after.isequal(grand):
            return parent
        grand = after


def label_propagation(A, max_iter=30):
    """Return a label for each place: the most frequent among neighbours, the smallest on ties."""
    n = A.nrows
    labels = gb.Vector.from_coo(range(n), range(n), dtype=int, size=n)
    for _ in range(max_iter):
        of = labels.to_coo(indices=False)[1]
        chosen = gb.Matrix.from_coo(range(n), of, 1, nrows=n, ncols=n)
        votes = gb.semiring.plus_second(A @ chosen).new()
        most = votes.reduce_rowwise(gb.monoid.max).new()
        spread = gb.semiring.any_first(most.diag() @ votes).new()
        best = votes.select(gb.binary.eq(votes & spread).new())
        fresh = gb.indexunary.colindex(best.new()).new().reduce_rowwise(gb.monoid.min).new()
        after = labels.dup()
        after(fresh.S) << fresh
        if after.isequal(labels):
            break
        labels = after
    return labels


def markov_clustering(A, inflation=2.0, max_iter=50, prune=1e-5):
    """Return the columns' clusters of Markov clustering: the row that draws each column."""
    M = A.dup(float)
    M(gb.binary.first) << gb.Vector.from_scalar(1.0, A.nrows).diag()
    for _ in range(max_iter):
        M << gb.semiring.plus_times(M @ _inverse(M.reduce_columnwise().new()))
        old = M.dup()
        M << gb.semiring.plus_times(M @ M)
        M << gb.binary.pow(M, inflation)
        M << gb.semiring.plus_times(M @ _inverse(M.reduce_columnwise().new()))
        M << gb.select.valuegt(M, prune)
        if M.isclose(old, rel_tol=1e-6, abs_tol=1e-6):
            break
    return gb.indexunary.rowindex(M).new().reduce_columnwise(gb.monoid.max).new()


def _inverse(sums):
    """Return the diagonal matrix that divides columns by their sums."""
    return gb.unary.minv(sums).new().diag()
