"""PageRank and betweenness."""

import weft.graphblas as gb


def pagerank(A, damping=0.85, tol=1e-6, max_iter=100, personalization=None):
    """Return PageRank by power iteration.

    Parameters
    ----------
    A
        The square adjacency matrix; values are not used.
    damping
        The chance to follow an arc.
    tol
        The sum of changes at which to stop.
    max_iter
        The most iterations.
    personalization
        A vector of restart weights; uniform by default.
    """
    n = A.nrows
    restart = gb.Vector.from_scalar(1.0 / n, n)
    if personalization is not None:
        restart = gb.binary.truediv(personalization, personalization.reduce(gb.agg.sum)).new()
    degree = A.reduce_rowwise(gb.agg.count).new(float)
    sends = gb.binary.truediv(damping, degree).new()
    rank = restart.dup(float)
    for _ in range(max_iter):
        old = rank.dup()
        kept = gb.binary.first(rank & sends).new().reduce().new().get(0.0)
        lost = 1.0 - damping * kept
        rank << gb.binary.times(restart, lost)
        rank(gb.binary.plus) << gb.semiring.plus_first(gb.binary.times(old & sends).new() @ A)
        change = gb.unary.abs(gb.binary.minus(rank | old, left_default=0, right_default=0).new())
        if change.new().reduce().new().get(0.0) < tol:
            break
    return rank


def adaptive_pagerank(A, damping=0.85, tol=1e-6, max_iter=100):
    """Return PageRank, no longer computed where it has converged (Kamvar et al. 2004).

    The mask of a product leaves out places whose rank changed by at most `tol` times itself. The
    iteration ends when none changes more in a round over all of them.

    Parameters
    ----------
    A
        The square adjacency matrix; values are not used.
    damping
        The chance to follow an arc.
    tol
        The relative change at which a place counts as converged.
    max_iter
        The most iterations.
    """
    n = A.nrows
    sends = gb.binary.truediv(damping, A.reduce_rowwise(gb.agg.count).new(float)).new()
    rank = gb.Vector.from_scalar(1.0 / n, n)
    active = gb.Vector.from_scalar(True, n)
    for _ in range(max_iter):
        kept = gb.binary.first(rank & sends).new().reduce().new().get(0.0)
        fresh = gb.Vector.from_scalar((1.0 - damping * kept) / n, n).dup(mask=active.S)
        share = gb.binary.times(rank & sends).new()
        fresh(active.S, gb.binary.plus) << gb.semiring.plus_first(share @ A)
        change = gb.unary.abs(gb.binary.minus(fresh & rank).new()).new()
        moved = gb.binary.gt(change & gb.binary.times(fresh, tol).new()).new()
        rank(fresh.S) << fresh
        whole = active.nvals == n
        active(moved.V, gb.replace) << active
        if not active.nvals:
            if whole:
                break
            # A place may move again when its neighbours have: look at all before the end.
            active << gb.Vector.from_scalar(True, n)
    return rank


def betweenness(A, sources):
    """Return the betweenness of all places over shortest paths from a batch of sources."""
    count = len(sources)
    paths = gb.Matrix.from_coo(range(count), sources, 1.0, nrows=count, ncols=A.ncols)
    frontier = gb.semiring.plus_first(paths @ A).new(mask=~paths.S)
    trail = []
    while frontier.nvals:
        trail.append(frontier.dup(bool))
        paths(gb.binary.plus) << frontier
        frontier(~paths.S, gb.replace) << gb.semiring.plus_first(frontier @ A)
    share = gb.unary.minv(paths).new()
    credit = gb.Matrix.from_scalar(1.0, count, A.ncols)
    for i in range(len(trail) - 1, 0, -1):
        part = gb.binary.times(credit & share).new(mask=trail[i].S)
        back = gb.semiring.plus_first(part @ A.T).new(mask=trail[i - 1].S)
        credit(gb.binary.plus) << gb.binary.times(back & paths)
    return gb.binary.minus(credit.reduce_columnwise(), float(count)).new()
