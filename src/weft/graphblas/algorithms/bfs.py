"""Levels of a breadth-first search: the fewest arcs from a source to every place it reaches."""

import weft.graphblas as gb

RELAX = gb.semiring.get_semiring(gb.monoid.min, gb.binary.register_anonymous(lambda x, y: x + 1))


def distances(A, source):
    """Return the distances from a source; places that it does not reach have no value.

    Parameters
    ----------
    A
        The square adjacency matrix: entry (i, j) is the arc i -> j.
    source
        Where to start.
    """
    dist = gb.Vector(A.dtype if A.dtype != bool else int, A.nrows)
    dist[source] = 0
    frontier = dist.dup()
    while frontier.nvals:
        step = RELAX(frontier @ A).new()
        useless = gb.binary.ge(step & dist).new()
        frontier = step.dup(mask=~useless.V)
        dist(gb.binary.min) << frontier
    return dist
