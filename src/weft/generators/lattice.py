"""Graphs that lie in the plane: grids, and grids with gaps that behave like road networks."""

from __future__ import annotations

import numpy as np

from weft.adjacency import Array, index_dtype_for
from weft.generators.checks import check_between, check_integer
from weft.generators.weights import Weights, build
from weft.graph import Graph


def grid(
    rows: int,
    cols: int,
    *,
    directed: bool = False,
    weights: Weights = None,
    seed: int = 0,
) -> Graph:
    """Return a grid; vertex `r * cols + c` is joined to its neighbours on the right and below.

    Parameters
    ----------
    rows, cols : int
        The size of the grid.
    directed : bool
        Whether edges run to the right and downwards only.
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
    >>> weft.generators.grid(3, 4).num_edges
    17
    """
    rows, cols = check_integer("rows", rows, 0), check_integer("cols", cols, 0)
    src, dst = _grid_edges(rows, cols)
    return build(src, dst, rows * cols, directed=directed, weights=weights, seed=seed)


def road(
    side: int,
    keep: float = 0.7,
    *,
    seed: int = 0,
    directed: bool = False,
    weights: Weights = None,
) -> Graph:
    """Return a square grid with random gaps: low degrees and a large diameter, like roads.

    Parameters
    ----------
    side : int
        The grid has side x side vertices; vertex `r * side + c` lies in row r, column c.
    keep : float
        The probability that an edge of the grid is kept.
    seed : int
        Seed of the random numbers.
    directed : bool
        Whether edges run to the right and downwards only.
    weights : {None, "int", "float"} or (low, high)
        Edge weights, see `weft.generators`.

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
    >>> g = weft.generators.road(100, keep=0.7, seed=1)
    >>> g.num_vertices, int(g.out_degree.max())
    (10000, 4)
    """
    side = check_integer("side", side, 0)
    keep = check_between("keep", keep, 0, 1)
    seed = check_integer("seed", seed, 0)
    src, dst = _grid_edges(side, side)
    kept = np.random.default_rng(seed).random(src.size, dtype=np.float32) < keep
    return build(src[kept], dst[kept], side * side, directed=directed, weights=weights, seed=seed)


def _grid_edges(rows: int, cols: int) -> tuple[Array, Array]:
    """Return the edges of a grid sorted by their ends, which spares the graph the sorting."""
    n = rows * cols
    vertex = np.arange(n, dtype=index_dtype_for(n))
    exists = np.empty((n, 2), np.bool_)
    exists[:, 0] = vertex % max(cols, 1) != cols - 1
    exists[:, 1] = vertex < n - cols
    if cols == 1:
        exists[:, 0] = False
    ends = np.stack((vertex + 1, vertex + cols), axis=1)
    return np.repeat(vertex, exists.sum(axis=1)), ends[exists]
