"""Parents of a breadth-first search."""

import weft.graphblas as gb


def bfs_parents(A, source):
    """Return a parent of every place that a source reaches; the source is its own.

    Parameters
    ----------
    A
        The square adjacency matrix.
    source
        Where to start.
    """
    parents = gb.Vector(int, A.nrows)
    parents[source] = source
    frontier = parents.dup()
    while frontier.nvals:
        frontier << gb.indexunary.rowindex(frontier)
        frontier(~parents.S, gb.replace) << gb.semiring.min_first(frontier @ A)
        parents(frontier.S) << frontier
    return parents


def multi_source_levels(A, sources):
    """Return a matrix whose row k has the levels of a breadth-first search from sources[k]."""
    count = len(sources)
    frontier = gb.Matrix.from_coo(range(count), sources, True, nrows=count, ncols=A.ncols)
    levels = gb.Matrix(int, count, A.ncols)
    depth = 0
    while frontier.nvals:
        levels(frontier.S) << depth
        frontier(~levels.S, gb.replace) << gb.semiring.any_pair[bool](frontier @ A)
        depth += 1
    return levels


def all_pairs(A):
    """Return the least sums of weights between all pairs of places, by repeated squaring."""
    dist = A.dup()
    dist(gb.binary.min) << gb.Vector.from_scalar(0, A.nrows, A.dtype).diag()
    while True:
        longer = gb.semiring.min_plus(dist @ dist).new()
        if longer.isequal(dist):
            return dist
        dist = longer
