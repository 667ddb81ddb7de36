"""Named graphs of mathematics, built from their definitions."""

from __future__ import annotations

import numpy as np

from weft.graph import Graph


def petersen() -> Graph:
    """Return the Petersen graph: 10 vertices, 15 edges, the counterexample to many a conjecture.

    A cycle 0 to 4, a star 5 to 9 inside it, and a spoke between each pair.

    J. Petersen: Sur le théorème de Tait. L'Intermédiaire des Mathématiciens 5 (1898), 225-227.

    Examples
    --------
    >>> import weft
    >>> g = weft.datasets.petersen()
    >>> set(g.out_degree.tolist()), weft.triangle_count(g)
    ({3}, 0)
    """
    i = np.arange(5)
    src = np.concatenate((i, i, i + 5))
    dst = np.concatenate(((i + 1) % 5, i + 5, (i + 2) % 5 + 5))
    return Graph.from_edges(src, dst, directed=False)


def dodecahedron() -> Graph:
    """Return the corners and edges of a dodecahedron: 20 vertices, 30 edges, each corner in 3.

    It is a cycle of all vertices (the puzzle of W. R. Hamilton, 1857) with chords.

    Examples
    --------
    >>> import weft
    >>> int(weft.bfs(weft.datasets.dodecahedron(), 0).level.max())
    5
    """
    return _cycle_with_chords([10, 7, 4, -4, -7, 10, -4, 7, -7, 4], 2)


def heawood() -> Graph:
    """Return the Heawood graph: 14 vertices, 21 edges, points and lines of the Fano plane.

    P. J. Heawood: Map-colour theorem. Quarterly Journal of Mathematics 24 (1890), 332-338.

    Examples
    --------
    >>> import weft
    >>> weft.datasets.heawood()
    Graph(14 vertices, 21 edges, undirected, 288 B)
    """
    return _cycle_with_chords([5, -5], 7)


def icosahedron() -> Graph:
    """Return the corners and edges of an icosahedron: 12 vertices, 30 edges, each corner in 5.

    Vertex 0 is the north pole and 11 the south pole, with a ring of five around each.

    Examples
    --------
    >>> import weft
    >>> weft.triangle_count(weft.datasets.icosahedron())
    20
    """
    i = np.arange(5)
    north, south, after = i + 1, i + 6, (i + 1) % 5
    src = np.concatenate((np.zeros(5, np.int64), north, north, north, south, south))
    dst = np.concatenate((north, after + 1, south, after + 6, after + 6, np.full(5, 11)))
    return Graph.from_edges(src, dst, directed=False)


def _cycle_with_chords(jumps: list[int], times: int) -> Graph:
    """Return a cubic graph by the notation of Lederberg, Coxeter and Frucht: i ~ i + jump(i)."""
    chord = np.tile(jumps, times)
    i = np.arange(chord.size)
    src, dst = np.concatenate((i, i)), np.concatenate((i + 1, i + chord)) % chord.size
    return Graph.from_edges(src, dst, directed=False, duplicates="first")
