"""Similarity of pairs of vertices by their common neighbours.

Method: the neighbours of both vertices are intersected, at most O(d(a) + d(b)) per pair. With Γ the
neighbours and d their number,

    common neighbours    |Γ(a) ∩ Γ(b)|
    Jaccard              |Γ(a) ∩ Γ(b)| / |Γ(a) ∪ Γ(b)|
    overlap              |Γ(a) ∩ Γ(b)| / min(d(a), d(b))
    cosine               |Γ(a) ∩ Γ(b)| / √(d(a) · d(b))
    Adamic-Adar          Σ 1 / log d(w) over w in Γ(a) ∩ Γ(b)
    resource allocation  Σ 1 / d(w) over w in Γ(a) ∩ Γ(b).

D. Liben-Nowell, J. Kleinberg: The link-prediction problem for social networks (JASIST 58, 2007).
"""

from __future__ import annotations

from typing import Any

import numpy as np

import weft
from weft.algorithms.registry import Fields, Needs, algorithm
from weft.algorithms.support.similar import of_pairs, ratio

Array = np.ndarray[Any, Any]

NEEDS = Needs(("out",), Fields(lambda i, w: 2 * i + 8, own=40), simple=True, degrees=("out",))
REFERENCE = "D. Liben-Nowell, J. Kleinberg: The link-prediction problem for social networks (2007)"


@algorithm(
    group="similarity",
    summary="the number of neighbours that two vertices share",
    directed="ignored",
    per="result",
    reference=REFERENCE,
    needs=NEEDS,
)
def common_neighbors(
    g: weft.Graph, pairs: Any = None, *, config: weft.Config | None = None
) -> Array:
    """Return the number of common neighbours of pairs of vertices.

    Parameters
    ----------
    g
        A graph. Self-loops are ignored, parallel edges count once, and directed edges are taken to
        run both ways.
    pairs
        Two vertices in each row, by their labels if the graph has labels; by default the ends of
        every edge, in the order of `Graph.to_edges`.
    config
        How to run it.

    Returns
    -------
    ndarray of int64
        One value per pair.

    Raises
    ------
    GraphError
        If a vertex does not exist.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1, 1, 2, 2], [2, 3, 2, 3, 3, 4], directed=False)
    >>> weft.common_neighbors(g, [[0, 1], [0, 2]]).round(3).tolist()
    [2, 1]
    """
    found = of_pairs(g, pairs, "count", config)
    return found.total.astype(np.int64)


@algorithm(
    group="similarity",
    summary="the share of neighbours that two vertices have in common",
    directed="ignored",
    per="result",
    reference=REFERENCE,
    needs=NEEDS,
)
def jaccard(g: weft.Graph, pairs: Any = None, *, config: weft.Config | None = None) -> Array:
    """Return the Jaccard similarity of pairs of vertices.

    Parameters
    ----------
    g
        A graph. Self-loops are ignored, parallel edges count once, and directed edges are taken to
        run both ways.
    pairs
        Two vertices in each row, by their labels if the graph has labels; by default the ends of
        every edge, in the order of `Graph.to_edges`.
    config
        How to run it.

    Returns
    -------
    ndarray of float64
        One value per pair; 0 where there are no neighbours to compare.

    Raises
    ------
    GraphError
        If a vertex does not exist.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1, 1, 2, 2], [2, 3, 2, 3, 3, 4], directed=False)
    >>> weft.jaccard(g, [[0, 1], [0, 2]]).round(3).tolist()
    [1.0, 0.2]
    """
    found = of_pairs(g, pairs, "count", config)
    return ratio(found.total, found.first + found.second - found.total)


@algorithm(
    group="similarity",
    summary="the share of the fewer neighbours of two vertices that they have in common",
    directed="ignored",
    per="result",
    reference=REFERENCE,
    needs=NEEDS,
)
def overlap(g: weft.Graph, pairs: Any = None, *, config: weft.Config | None = None) -> Array:
    """Return the overlap coefficient of pairs of vertices.

    Parameters
    ----------
    g
        A graph. Self-loops are ignored, parallel edges count once, and directed edges are taken to
        run both ways.
    pairs
        Two vertices in each row, by their labels if the graph has labels; by default the ends of
        every edge, in the order of `Graph.to_edges`.
    config
        How to run it.

    Returns
    -------
    ndarray of float64
        One value per pair; 0 where there are no neighbours to compare.

    Raises
    ------
    GraphError
        If a vertex does not exist.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1, 1, 2, 2], [2, 3, 2, 3, 3, 4], directed=False)
    >>> weft.overlap(g, [[0, 1], [0, 2]]).round(3).tolist()
    [1.0, 0.5]
    """
    found = of_pairs(g, pairs, "count", config)
    return ratio(found.total, g.topology.xp.minimum(found.first, found.second))


@algorithm(
    group="similarity",
    summary="the cosine between the rows of two vertices in the adjacency matrix",
    directed="ignored",
    per="result",
    reference=REFERENCE,
    needs=NEEDS,
)
def cosine(g: weft.Graph, pairs: Any = None, *, config: weft.Config | None = None) -> Array:
    """Return the cosine similarity of pairs of vertices.

    Parameters
    ----------
    g
        A graph. Self-loops are ignored, parallel edges count once, and directed edges are taken to
        run both ways.
    pairs
        Two vertices in each row, by their labels if the graph has labels; by default the ends of
        every edge, in the order of `Graph.to_edges`.
    config
        How to run it.

    Returns
    -------
    ndarray of float64
        One value per pair; 0 where there are no neighbours to compare.

    Raises
    ------
    GraphError
        If a vertex does not exist.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1, 1, 2, 2], [2, 3, 2, 3, 3, 4], directed=False)
    >>> weft.cosine(g, [[0, 1], [0, 2]]).round(3).tolist()
    [1.0, 0.354]
    """
    found = of_pairs(g, pairs, "count", config)
    return ratio(found.total, (found.first * found.second) ** 0.5)


@algorithm(
    group="similarity",
    summary="the number of common neighbours, those with few neighbours counting more",
    directed="ignored",
    per="result",
    reference=REFERENCE,
    needs=NEEDS,
)
def adamic_adar(g: weft.Graph, pairs: Any = None, *, config: weft.Config | None = None) -> Array:
    """Return the Adamic-Adar index of pairs of vertices.

    Parameters
    ----------
    g
        A graph. Self-loops are ignored, parallel edges count once, and directed edges are taken to
        run both ways.
    pairs
        Two vertices in each row, by their labels if the graph has labels; by default the ends of
        every edge, in the order of `Graph.to_edges`.
    config
        How to run it.

    Returns
    -------
    ndarray of float64
        One value per pair.

    Raises
    ------
    GraphError
        If a vertex does not exist.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1, 1, 2, 2], [2, 3, 2, 3, 3, 4], directed=False)
    >>> weft.adamic_adar(g, [[0, 1], [0, 2]]).round(3).tolist()
    [1.632, 0.91]
    """
    return of_pairs(g, pairs, "log", config).total


@algorithm(
    group="similarity",
    summary="what two vertices could send one another over common neighbours",
    directed="ignored",
    per="result",
    reference=REFERENCE,
    needs=NEEDS,
)
def resource_allocation(
    g: weft.Graph, pairs: Any = None, *, config: weft.Config | None = None
) -> Array:
    """Return the resource allocation index of pairs of vertices.

    Parameters
    ----------
    g
        A graph. Self-loops are ignored, parallel edges count once, and directed edges are taken to
        run both ways.
    pairs
        Two vertices in each row, by their labels if the graph has labels; by default the ends of
        every edge, in the order of `Graph.to_edges`.
    config
        How to run it.

    Returns
    -------
    ndarray of float64
        One value per pair.

    Raises
    ------
    GraphError
        If a vertex does not exist.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1, 1, 2, 2], [2, 3, 2, 3, 3, 4], directed=False)
    >>> weft.resource_allocation(g, [[0, 1], [0, 2]]).round(3).tolist()
    [0.583, 0.333]
    """
    return of_pairs(g, pairs, "reciprocal", config).total
