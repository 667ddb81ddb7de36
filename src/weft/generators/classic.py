"""Small families with a known shape: path, cycle, star, complete graph, tree."""

from __future__ import annotations

import numpy as np

from weft.arrays.checks import MOST_VERTICES, check_integer
from weft.errors import ConfigError
from weft.generators.weights import Weights, build
from weft.graph import Graph


def path(n: int, *, directed: bool = False, weights: Weights = None, seed: int = 0) -> Graph:
    """Return the path 0 - 1 - ... - n-1.

    Parameters
    ----------
    n : int
        The number of vertices.
    directed : bool
        Whether edges run upwards only.
    weights : {None, "int", "float"} or (low, high)
        Edge weights, see `weft.generators`.
    seed : int
        What the weights depend on.

    Returns
    -------
    Graph

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    Examples
    --------
    >>> import weft
    >>> weft.generators.path(4).out_degree
    array([1, 2, 2, 1], dtype=int32)
    """
    n = check_integer("n", n, 0, MOST_VERTICES)
    src = np.arange(max(n - 1, 0))
    return build(src, src + 1, n, directed=directed, weights=weights, seed=seed)


def cycle(n: int, *, directed: bool = False, weights: Weights = None, seed: int = 0) -> Graph:
    """Return the cycle 0 - 1 - ... - n-1 - 0.

    Two vertices give a pair of parallel edges (undirected), one vertex a self-loop.

    Parameters
    ----------
    n : int
        The number of vertices.
    directed : bool
        Whether edges run upwards only (and from the last to the first).
    weights : {None, "int", "float"} or (low, high)
        Edge weights, see `weft.generators`.
    seed : int
        What the weights depend on.

    Returns
    -------
    Graph

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    Examples
    --------
    >>> import weft
    >>> weft.generators.cycle(5).num_edges
    5
    """
    n = check_integer("n", n, 0, MOST_VERTICES)
    src = np.arange(n)
    return build(src, (src + 1) % max(n, 1), n, directed=directed, weights=weights, seed=seed)


def star(n: int, *, directed: bool = False, weights: Weights = None, seed: int = 0) -> Graph:
    """Return a hub, vertex 0, that is joined to the n - 1 other vertices.

    Parameters
    ----------
    n : int
        The number of vertices, the hub included.
    directed : bool
        Whether edges run from the hub only.
    weights : {None, "int", "float"} or (low, high)
        Edge weights, see `weft.generators`.
    seed : int
        What the weights depend on.

    Returns
    -------
    Graph

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    Examples
    --------
    >>> import weft
    >>> weft.generators.star(4).out_degree
    array([3, 1, 1, 1], dtype=int32)
    """
    n = check_integer("n", n, 0, MOST_VERTICES)
    leaves = np.arange(1, n)
    hub = np.zeros_like(leaves)
    return build(hub, leaves, n, directed=directed, weights=weights, seed=seed)


def complete(n: int, *, directed: bool = False, weights: Weights = None, seed: int = 0) -> Graph:
    """Return the graph that joins every vertex to every other.

    Parameters
    ----------
    n : int
        The number of vertices.
    directed : bool
        Whether each pair has one edge each way, rather than one for both.
    weights : {None, "int", "float"} or (low, high)
        Edge weights, see `weft.generators`.
    seed : int
        What the weights depend on.

    Returns
    -------
    Graph

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    Examples
    --------
    >>> import weft
    >>> weft.generators.complete(5).num_edges
    10
    """
    n = check_integer("n", n, 0, MOST_VERTICES)
    if directed:
        src = np.repeat(np.arange(n), max(n - 1, 0))
        other = np.tile(np.arange(max(n - 1, 0)), n)
        dst = other + (other >= src)
    else:
        src, dst = np.triu_indices(n, 1)
    return build(src, dst, n, directed=directed, weights=weights, seed=seed)


def tree(
    branching: int,
    depth: int,
    *,
    directed: bool = False,
    weights: Weights = None,
    seed: int = 0,
) -> Graph:
    """Return the balanced tree in which every inner vertex has `branching` children.

    Vertices are numbered level by level from the root, 0.

    Parameters
    ----------
    branching : int
        The number of children.
    depth : int
        The number of levels below the root.
    directed : bool
        Whether edges run away from the root only.
    weights : {None, "int", "float"} or (low, high)
        Edge weights, see `weft.generators`.
    seed : int
        What the weights depend on.

    Returns
    -------
    Graph

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    Examples
    --------
    >>> import weft
    >>> weft.generators.tree(2, 3)
    Graph(15 vertices, 14 edges, undirected, 240 B)
    """
    branching = check_integer("branching", branching, 1, MOST_VERTICES)
    depth = check_integer("depth", depth, 0, 2**31)
    n = 1
    for _ in range(depth):
        n = n * branching + 1
        if n >= 2**40:
            raise ConfigError(
                f"A tree of branching={branching} and depth={depth} has over 2**40 vertices. "
                "Expected fewer; reduce one of them."
            )
    child = np.arange(1, n)
    return build((child - 1) // branching, child, n, directed=directed, weights=weights, seed=seed)
