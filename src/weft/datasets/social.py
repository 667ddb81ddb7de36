"""Small social networks that have been studied for decades."""

from __future__ import annotations

import numpy as np

from weft.datasets.tables import read_rows
from weft.graph import Graph

# Whether each member followed the officer when the club split.
_WITH_OFFICER = "0000000001000011001010111111111111"


def karate() -> Graph:
    """Return Zachary's karate club: 34 members, 78 friendships, and how the club split.

    The weight of an edge counts the settings in which two members met. The vertex column `club` is
    0 for those who followed the instructor (vertex 0) and 1 for those who stayed with the officer
    (vertex 33). Vertex i is member i + 1 of the paper.

    W. W. Zachary: An information flow model for conflict and fission in small groups. Journal of
    Anthropological Research 33 (1977), 452-473.

    Examples
    --------
    >>> import weft
    >>> g = weft.datasets.karate()
    >>> g.num_vertices, g.num_edges, int(g.out_degree[0])
    (34, 78, 16)
    """
    src, dst, weight = (np.array(column, np.int64) for column in read_rows("karate"))
    g = Graph.from_edges(src, dst, weight, directed=False)
    g.vertex["club"] = np.array([int(side) for side in _WITH_OFFICER], np.int8)
    return g


def les_miserables() -> Graph:
    """Return the characters of Victor Hugo's *Les Misérables*, joined if they share a chapter.

    77 characters as labels, 254 edges; the weight counts the chapters.

    D. E. Knuth: The Stanford GraphBase (1993), jean.dat.

    Examples
    --------
    >>> import weft
    >>> g = weft.datasets.les_miserables()
    >>> g.label_of(int(g.out_degree.argmax()))
    'Valjean'
    >>> int(weft.bfs(g, "Napoleon").level.max())
    5
    """
    src, dst, weight = read_rows("les_miserables")
    return Graph.from_edges(src, dst, np.array(weight, np.int64), directed=False)


def florentine_families() -> Graph:
    """Return the marriages between the families of Florence around 1430: 16 families, 20 ties.

    The Pucci are isolated.

    R. L. Breiger, P. E. Pattison: Cumulated social roles: the duality of persons and their
    algebras. Social Networks 8 (1986), 215-256, after the records of J. F. Padgett.

    Examples
    --------
    >>> import weft
    >>> g = weft.datasets.florentine_families()
    >>> g.label_of(int(weft.betweenness(g).argmax()))
    'Medici'
    """
    src, dst = read_rows("florentine_families")
    families = sorted({*src, *dst, "Pucci"})
    return Graph.from_edges(src, dst, directed=False, labels=families)


def southern_women() -> Graph:
    """Return which of 18 women attended which of 14 events: a bipartite graph of 89 edges.

    The vertex column `event` is true for the events, E1 to E14.

    A. Davis, B. B. Gardner, M. R. Gardner: Deep South (1941).

    Examples
    --------
    >>> import weft
    >>> g = weft.datasets.southern_women()
    >>> g.num_vertices, int(g.vertex["event"].sum())
    (32, 14)
    """
    src, dst = read_rows("southern_women")
    events = [f"E{i}" for i in range(1, 15)]
    g = Graph.from_edges(src, dst, directed=False, labels=[*dict.fromkeys(src), *events])
    g.vertex["event"] = np.arange(g.num_vertices) >= g.num_vertices - len(events)
    return g
