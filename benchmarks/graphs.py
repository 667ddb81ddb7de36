"""The CPU benchmark's graphs, as weft graphs and as SciPy matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from benchmarks import graph_names


@dataclass(frozen=True)
class Workload:
    """One undirected, simple, weighted graph and where searches start in it.

    Attributes
    ----------
    name : str
        Family and size, e.g. ``"kron18"``.
    matrix : scipy.sparse.csr_array
        Symmetric; ``matrix[u, v]`` is the weight of the arc ``u -> v``. Float64 values and sorted
        int32 indices, so that no SciPy routine has to convert them again.
    source : int
        Start of BFS and SSSP.
    graph : weft.Graph
        The same graph with float32 weights, or None where weft does not take part.
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
    """Return the graph called `name` (see `benchmarks.graph_names`) with float32 weights."""
    told = graph_names.parse(name)
    graph = graph_names.generate(name, factors=graph_names.ON_A_CPU)
    graph.edge["weight"] = np.asarray(graph.edge["weight"]).astype(np.float32)
    matrix = canonical_matrix(graph.to_scipy())
    road = told.family == "road"
    source = giant_vertex(matrix, told.size + 8) if road else busiest_vertex(matrix)
    return Workload(graph_names.short(name), matrix, source, graph)


def canonical_matrix(matrix: Any) -> sp.csr_array:
    """Return a matrix in the form that `Workload` requires."""
    matrix = sp.csr_array(matrix, dtype=np.float64)
    matrix.sort_indices()
    matrix.indices = matrix.indices.astype(np.int32, copy=False)
    matrix.indptr = matrix.indptr.astype(np.int32, copy=False)
    return matrix


def busiest_vertex(matrix: sp.csr_array) -> int:
    """Return the vertex of largest degree, the smallest id among equals."""
    return int(np.diff(matrix.indptr).argmax())


def giant_vertex(matrix: sp.csr_array, start: int) -> int:
    """Return the smallest vertex id >= `start` in the largest component."""
    _, label = csgraph.connected_components(matrix, directed=False)
    giant = np.bincount(label).argmax()
    return int(start + np.flatnonzero(label[start:] == giant)[0])
