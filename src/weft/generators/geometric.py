"""Graphs of random points in the unit square: geometric graphs and Delaunay triangulations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, TypeAlias

import numpy as np

from weft.arrays.checks import MOST_VERTICES, check_between, check_integer
from weft.arrays.device import CPU
from weft.generators.counter import numbers, words
from weft.generators.weights import Weights, build
from weft.graph import Graph
from weft.topology.adjacency import Array, index_dtype_for

PointWeights: TypeAlias = Weights | Literal["length"]

_PAIRS: Final = 1 << 20  # pairs of points whose distance is computed at a time
_TO_UNIT: Final = 2.0**-53


def geometric(
    n: int,
    radius: float,
    *,
    seed: int = 0,
    directed: bool = False,
    weights: PointWeights = None,
) -> Graph:
    """Return a random geometric graph: points of the unit square, joined if they are close.

    The points are sorted into cells no smaller than the radius, so only pairs from neighbouring
    cells are compared: the time is linear in the number of vertices and edges.

    Parameters
    ----------
    n : int
        The number of points.
    radius : float
        The largest distance of points that are joined. The mean degree is about n π radius².
    seed : int
        Seed of the random numbers.
    directed : bool
        Whether edges run from the lower to the higher vertex only.
    weights : {None, "int", "float", "length"} or (low, high)
        Edge weights, see `weft.generators`; `"length"` is the distance of the ends.

    Returns
    -------
    Graph
        With the vertex column `position`, x and y of each point.

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    Examples
    --------
    >>> import weft
    >>> g = weft.generators.geometric(1000, 0.05, seed=1, weights="length")
    >>> bool(g.edge["weight"].max() <= 0.05)
    True
    >>> g.vertex["position"].shape
    (1000, 2)
    """
    n = check_integer("n", n, 0, MOST_VERTICES)
    radius = check_between("radius", radius, 0, 2)
    seed = check_integer("seed", seed, 0)
    points = _points(n, seed)
    sources, targets = [], []
    for u, v in _candidates(points, radius):
        near = ((points[u] - points[v]) ** 2).sum(axis=1) <= radius * radius
        sources.append(np.minimum(u[near], v[near]))
        targets.append(np.maximum(u[near], v[near]))
    return _placed(points, _joined(sources, n), _joined(targets, n), directed, weights, seed)


def delaunay(
    n: int,
    *,
    seed: int = 0,
    directed: bool = False,
    weights: PointWeights = None,
) -> Graph:
    """Return the Delaunay triangulation of random points of the unit square.

    It is planar and connected with about 3 n edges, like meshes and road networks.

    Parameters
    ----------
    n : int
        The number of points.
    seed : int
        Seed of the random numbers.
    directed : bool
        Whether edges run from the lower to the higher vertex only.
    weights : {None, "int", "float", "length"} or (low, high)
        Edge weights, see `weft.generators`; `"length"` is the distance of the ends.

    Returns
    -------
    Graph
        With the vertex column `position`, x and y of each point.

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    Examples
    --------
    >>> import weft
    >>> g = weft.generators.delaunay(1000, seed=1)
    >>> g.num_edges <= 3 * 1000 - 6
    True
    """
    n = check_integer("n", n, 0, MOST_VERTICES)
    seed = check_integer("seed", seed, 0)
    points = _points(n, seed)
    if n < 3:  # a triangulation needs a triangle
        src, dst = np.arange(max(n - 1, 0)), np.arange(1, max(n, 1))
    else:
        from scipy.spatial import Delaunay

        offsets, dst = Delaunay(points).vertex_neighbor_vertices
        src = np.repeat(np.arange(n, dtype=dst.dtype), np.diff(offsets))
        once = src < dst
        src, dst = src[once], dst[once]
    return _placed(points, src, dst, directed, weights, seed)


def _points(n: int, seed: int) -> Array:
    """Return random points of the unit square."""
    points = np.empty((n, 2))
    for axis in range(2):
        points[:, axis] = (words(seed, axis, numbers(np, slice(0, n))) >> np.uint64(11)) * _TO_UNIT
    return points


def _candidates(points: Array, radius: float) -> Iterator[tuple[Array, Array]]:
    """Yield pairs of points, among them every pair within the radius once.

    Cells are numbered row by row, so a cell and its right neighbour are one range of the sorted
    points, and so are the three cells below it. Each point is paired with the points after it in
    the first range, and with all of the second.
    """
    n = len(points)
    if n == 0:
        return
    # Cells as wide as the radius, but at most as many as points, since more would be empty.
    side = max(1, min(int(np.sqrt(n)), int(1 / radius) if radius > 1 / n else n))
    cell = np.minimum((points * side).astype(np.int64), side - 1)
    row, column = cell[:, 1], cell[:, 0]
    key = row * side + column
    order = np.argsort(key, kind="stable")
    starts = np.searchsorted(key[order], np.arange(side * side + 1))
    row, column = row[order], column[order]
    left, right = np.maximum(column - 1, 0), np.minimum(column + 1, side - 1)
    below = np.minimum(row + 1, side - 1)
    is_last = row == side - 1
    stretches = (
        (np.arange(1, n + 1), starts[row * side + right + 1]),
        (
            starts[below * side + left],
            np.where(is_last, starts[below * side + left], starts[below * side + right + 1]),
        ),
    )
    for begin, end in stretches:
        counts = end - begin
        total = np.concatenate(([0], np.cumsum(counts)))
        cut = 0
        while cut < n:
            stop = int(np.searchsorted(total, total[cut] + _PAIRS, side="right")) - 1
            stop = max(stop, cut + 1)
            here = counts[cut:stop]
            first = np.repeat(np.arange(cut, stop), here)
            within = np.arange(first.size) - np.repeat(total[cut:stop] - total[cut], here)
            yield order[first], order[begin[first] + within]
            cut = stop


def _joined(parts: list[Array], n: int) -> Array:
    return np.concatenate([np.zeros(0, index_dtype_for(n)), *parts]).astype(index_dtype_for(n))


def _placed(
    points: Array, src: Array, dst: Array, directed: bool, weights: PointWeights, seed: int
) -> Graph:
    """Return the graph with the positions of its vertices, and the lengths of its edges."""
    by_length = isinstance(weights, str) and weights == "length"
    g = build(
        src,
        dst,
        len(points),
        directed=directed,
        weights=None if by_length else weights,  # type: ignore[arg-type]
        seed=seed,
        device=CPU,
    )
    if by_length:
        u, v = g.topology.edge_endpoints()
        g.edge["weight"] = np.sqrt(((points[u] - points[v]) ** 2).sum(axis=1))
    g.vertex["position"] = points
    return g
