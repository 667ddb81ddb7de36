"""Graphs that lie in the plane: grids, and grids with gaps that behave like road networks."""

from __future__ import annotations

import numpy as np

from weft.arrays.checks import MOST_VERTICES, check_between, check_integer
from weft.arrays.device import CPU, Device, open_device
from weft.generators.counter import chunks, numbers, threshold, words
from weft.generators.weights import Weights, build
from weft.graph import Graph
from weft.topology.adjacency import Array, index_dtype_for


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
    rows = check_integer("rows", rows, 0, MOST_VERTICES)
    cols = check_integer("cols", cols, 0, MOST_VERTICES)
    src, dst = _grid_edges(rows, cols)
    return build(src, dst, rows * cols, directed=directed, weights=weights, seed=seed)


def road(
    side: int,
    keep: float = 0.7,
    *,
    seed: int = 0,
    directed: bool = False,
    weights: Weights = None,
    device: str = "cpu",
) -> Graph:
    """Return a square grid with random gaps: low degrees and a large diameter, like roads.

    It is the same graph on every device.

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
    device : str
        Where to make the graph, see `Graph.to`.

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
    side = check_integer("side", side, 0, MOST_VERTICES)
    keep = check_between("keep", keep, 0, 1)
    seed = check_integer("seed", seed, 0)
    place = open_device(device)
    with place.current():
        src, dst = _grid_edges(side, side, place, keep, seed)
        return build(
            src, dst, side * side, directed=directed, weights=weights, seed=seed, device=place
        )


def _grid_edges(
    rows: int, cols: int, device: Device = CPU, keep: float = 1.0, seed: int = 0
) -> tuple[Array, Array]:
    """Return edges of a grid, each kept with probability `keep`, already sorted.

    Index 2 v + 0 is the edge from v to the right, index 2 v + 1 the one downwards.
    """
    xp, n = device.xp, rows * cols
    dtype = index_dtype_for(n)
    sources, targets = [xp.zeros(0, dtype)], [xp.zeros(0, dtype)]
    below = threshold(keep)
    for part in chunks(2 * n, device):
        place = xp.arange(part.start, part.stop, dtype=np.int64)
        vertex, downwards = place >> 1, (place & 1) == 1
        exists = xp.where(downwards, vertex < n - cols, vertex % cols != cols - 1)
        if keep < 1:
            exists &= words(seed, 0, numbers(xp, part)) >> np.uint64(32) < below
        chosen = xp.flatnonzero(exists)
        start = vertex[chosen]
        sources.append(start.astype(dtype))
        targets.append((start + xp.where(downwards[chosen], cols, 1)).astype(dtype))
    return xp.concatenate(sources), xp.concatenate(targets)
