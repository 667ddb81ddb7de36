"""Shortest paths by delta-stepping (Meyer, Sanders 2003; Sridhar et al. 2019)."""

import weft.graphblas as gb


def delta_stepping(A, source, delta):
    """Return the distances from a source; places that it does not reach have no value.

    Distances are settled bucket by bucket, each `delta` wide: first along light arcs until nothing
    in the bucket changes, then once along heavy ones.

    Parameters
    ----------
    A
        The square adjacency matrix, with weights that are not negative.
    source
        Where to start.
    delta
        The width of a bucket; arcs up to it are light.
    """
    light, heavy = gb.select.valuele(A, delta).new(), gb.select.valuegt(A, delta).new()
    dist = gb.Vector(A.dtype, A.nrows)
    dist[source] = 0
    low = 0
    while True:
        ahead = gb.select.valuege(dist, low).new()
        if not ahead.nvals:
            return dist
        low = ahead.reduce(gb.monoid.min).new().get(0) // delta * delta
        frontier = gb.select.valuelt(ahead, low + delta).new()
        settled = gb.Vector(bool, A.nrows)
        while frontier.nvals:
            settled(frontier.S) << True
            step = gb.semiring.min_plus(frontier @ light).new()
            useless = gb.binary.ge(step & dist).new()
            step(~useless.V, gb.replace) << step
            dist(gb.binary.min) << step
            frontier << gb.select.valuelt(step, low + delta)
        dist(gb.binary.min) << gb.semiring.min_plus(dist.dup(mask=settled.S) @ heavy)
        low += delta
