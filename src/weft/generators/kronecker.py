"""R-MAT graphs: few hubs and many vertices of low degree, like social networks.

Method: each edge descends `scale` times into one of the four quadrants of the adjacency matrix,
with probabilities a (top left), b (top right), c (bottom left) and d = 1 - a - b - c.

Chakrabarti, Zhan, Faloutsos: R-MAT: A Recursive Model for Graph Mining, SDM 2004. The default
probabilities are those of the Graph500 benchmark.
"""

from __future__ import annotations

import numpy as np

from weft.arrays.checks import check_between, check_integer
from weft.arrays.device import Device, open_device
from weft.errors import ConfigError
from weft.generators.counter import chunks, numbers, permutation, threshold, words
from weft.generators.weights import Weights, build
from weft.graph import Graph
from weft.graph.build import Duplicates, SelfLoops
from weft.topology.adjacency import Array, index_dtype_for

# Streams of random numbers.
_EDGES, _LABELS = 0, 1


def rmat(  # noqa: PLR0913
    scale: int,
    edge_factor: float = 16,
    a: float = 0.57,
    b: float = 0.19,
    c: float = 0.19,
    *,
    seed: int = 0,
    directed: bool = False,
    weights: Weights = None,
    permute: bool = True,
    duplicates: Duplicates = "first",
    self_loops: SelfLoops = "drop",
    device: str = "cpu",
) -> Graph:
    """Return an R-MAT graph; the same one on every device.

    Parameters
    ----------
    scale : int
        There are 2**scale vertices.
    edge_factor : float
        Edges drawn per vertex, before duplicates and self-loops are removed.
    a, b, c : float
        Probabilities of the first three quadrants; the fourth has the remainder.
    seed : int
        Seed of the random numbers.
    directed : bool
        Whether edges run one way only.
    weights : {None, "int", "float"} or (low, high)
        Edge weights, see `weft.generators`.
    permute : bool
        Whether vertices are numbered at random; otherwise low numbers have high degrees.
    duplicates, self_loops
        As in `Graph.from_edges`; by default the graph is simple.
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
    >>> g = weft.generators.rmat(10, 8, seed=1, weights="int")
    >>> g.num_vertices, g.weighted
    (1024, True)
    """
    scale = check_integer("scale", scale, 0, 40)
    edge_factor = check_between("edge_factor", edge_factor, 0, 2**20)
    a, b, c = (check_between(k, p, 0, 1) for k, p in (("a", a), ("b", b), ("c", c)))
    if a + b + c > 1 + 1e-9:
        raise ConfigError(
            f"a + b + c = {a + b + c:g} is more than 1. "
            "Expected probabilities that leave the rest to the fourth quadrant."
        )
    seed = check_integer("seed", seed, 0)
    place = open_device(device)
    n = 1 << scale
    with place.current():
        src, dst = _draw(place, seed, scale, round(n * edge_factor), (a, a + b, a + b + c))
        if permute:
            label = permutation(place.xp, seed, _LABELS, n).astype(src.dtype)
            src = label[src]
            dst = label[dst]
        return build(
            src,
            dst,
            n,
            directed=directed,
            weights=weights,
            seed=seed,
            duplicates=duplicates,
            self_loops=self_loops,
            device=place,
        )


def kron(
    scale: int,
    edge_factor: float = 16,
    *,
    seed: int = 0,
    weights: Weights = None,
    device: str = "cpu",
) -> Graph:
    """Return a Kronecker graph as in the Graph500 benchmark.

    It is `rmat` with its defaults: undirected, simple, vertices numbered at random.

    Parameters
    ----------
    scale : int
        There are 2**scale vertices.
    edge_factor : float
        Edges drawn per vertex, before duplicates and self-loops are removed.
    seed : int
        Seed of the random numbers.
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
    >>> weft.generators.kron(12).directed
    False
    """
    return rmat(scale, edge_factor, seed=seed, weights=weights, device=device)


def _draw(
    device: Device, seed: int, scale: int, count: int, bounds: tuple[float, float, float]
) -> tuple[Array, Array]:
    """Return both ends of `count` edges, bit by bit from the highest.

    `bounds` are the sums a, a + b and a + b + c of the probabilities. A word of 64 bits serves two
    levels.
    """
    xp = device.xp
    dtype = index_dtype_for(1 << scale)
    left, upper, corner = (threshold(bound) for bound in bounds)
    src, dst = xp.zeros(count, dtype), xp.zeros(count, dtype)
    stride = np.uint64((scale + 1) // 2)
    for part in chunks(count, device):
        row, column = src[part], dst[part]
        for level in range(scale):
            bit = scale - 1 - level
            if level % 2 == 0:
                word = words(seed, _EDGES, numbers(xp, part) * stride + np.uint64(level // 2))
            draw = word >> np.uint64(32) if level % 2 == 0 else word & np.uint64(2**32 - 1)
            below = draw >= upper
            # Right half: b comes after a, d after a + b + c.
            right = (draw >= left) ^ below ^ (draw >= corner)
            row |= below.astype(dtype) << bit
            column |= right.astype(dtype) << bit
    return src, dst
