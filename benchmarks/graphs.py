"""The benchmark graphs: one social-like, one road-like, as weft's graph and as a SciPy matrix.

Both are generated from a seed, so that anyone can make them again. They come from
``weft.generators``; where that cannot be imported, `numpy_kron` and `numpy_road` draw graphs of the
same families, so that the peers can be measured by themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

GRAPH500_QUADRANTS = (0.57, 0.19, 0.19, 0.05)


@dataclass(frozen=True)
class Workload:
    """One graph, symmetric and free of self-loops and duplicates, and where searches start in it.

    Attributes
    ----------
    name : str
        Family and size, e.g. ``"kron18"``.
    matrix : scipy.sparse.csr_array
        ``matrix[u, v]`` is the weight of the arc ``u -> v``: float64, sorted int32 indices.
    source : int
        Start of BFS and SSSP.
    graph : object
        The ``weft.Graph``, or None where the graph was drawn without weft.
    """

    name: str
    matrix: sp.csr_array
    source: int
    graph: Any = None

    @property
    def num_vertices(self) -> int:
        return self.matrix.shape[0]

    @property
    def num_arcs(self) -> int:
        return self.matrix.nnz


def make(name: str) -> Workload:
    """Generate the graph called `name`: ``kron<scale>`` or ``road<side>``."""
    family, size = split_name(name)
    graph, matrix = _from_weft(family, size)
    if matrix is None:
        matrix = numpy_kron(size) if family == "kron" else numpy_road(size)
    source = busiest_vertex(matrix) if family == "kron" else giant_vertex(matrix, size + 8)
    return Workload(name, matrix, source, graph)


def split_name(name: str) -> tuple[str, int]:
    """``"kron18"`` -> ``("kron", 18)``."""
    family, digits = name[:4], name[4:]
    if family not in ("kron", "road") or not digits.isdigit():
        raise ValueError(
            f"graph {name!r} is not known. Expected 'kron<scale>' or 'road<side>', e.g. 'kron18'."
        )
    return family, int(digits)


def _from_weft(family: str, size: int) -> tuple[Any, sp.csr_array | None]:
    try:
        from weft import generators
    except ImportError:
        return None, None
    if family == "kron":
        graph = generators.kron(size, 16, seed=1, weights="int")
    else:
        graph = generators.road(size, keep=0.7, seed=1, weights="int")
    return graph, _canonical(graph.to_scipy())


def _canonical(matrix: Any) -> sp.csr_array:
    """float64 values and int32 indices, so that no SciPy routine has to convert them again."""
    matrix = sp.csr_array(matrix, dtype=np.float64)
    matrix.sort_indices()
    matrix.indices = matrix.indices.astype(np.int32, copy=False)
    matrix.indptr = matrix.indptr.astype(np.int32, copy=False)
    return matrix


def busiest_vertex(matrix: sp.csr_array) -> int:
    """The vertex of largest degree (the smallest such id)."""
    return int(np.diff(matrix.indptr).argmax())


def giant_vertex(matrix: sp.csr_array, start: int) -> int:
    """The smallest vertex id >= `start` in the largest component."""
    _, label = csgraph.connected_components(matrix, directed=False)
    giant = np.bincount(label).argmax()
    return int(start + np.flatnonzero(label[start:] == giant)[0])


def numpy_kron(scale: int, edge_factor: int = 16, seed: int = 1) -> sp.csr_array:
    """R-MAT with Graph500's quadrants, vertices permuted, both arcs, no duplicates, no loops."""
    rng = np.random.default_rng(seed)
    n, m = 1 << scale, edge_factor << scale
    a, b, c, _ = GRAPH500_QUADRANTS
    u, v = np.zeros(m, np.int64), np.zeros(m, np.int64)
    for bit in range(scale):
        draw = rng.random(m)
        u |= (draw >= a + b).astype(np.int64) << bit
        v |= (((draw >= a) & (draw < a + b)) | (draw >= a + b + c)).astype(np.int64) << bit
    permutation = rng.permutation(n)
    return _symmetric(permutation[u], permutation[v], n)


def numpy_road(side: int, keep: float = 0.7, seed: int = 1) -> sp.csr_array:
    """A `side` x `side` grid, each edge kept with probability `keep`, both arcs."""
    rng = np.random.default_rng(seed)
    cell = np.arange(side * side).reshape(side, side)
    u = np.concatenate([cell[:, :-1].ravel(), cell[:-1].ravel()])
    v = np.concatenate([cell[:, 1:].ravel(), cell[1:].ravel()])
    kept = rng.random(len(u)) < keep
    return _symmetric(u[kept], v[kept], side * side)


def _symmetric(u: np.ndarray, v: np.ndarray, n: int) -> sp.csr_array:
    low, high = np.minimum(u, v), np.maximum(u, v)
    key = np.unique((low * n + high)[low != high])
    low, high = key // n, key % n
    weight = pair_weight(low, high)
    rows, columns = np.concatenate([low, high]), np.concatenate([high, low])
    values = np.concatenate([weight, weight])
    return _canonical(sp.coo_array((values, (rows, columns)), shape=(n, n)).tocsr())


def pair_weight(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Integers 1..64 from a multiplicative hash of the pair, the same for both arcs."""
    mixed = low.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ high.astype(np.uint64)) * np.uint64(0xD6E8FEB86659FD93)
    return (mixed >> np.uint64(58)).astype(np.float64) + 1.0
