"""SciPy: the routines of `scipy.sparse.csgraph`, and PageRank by matrix-vector products.

The matrix has float64 values and int32 indices, the form that these routines use without
converting. They run in one thread. The matrix is symmetric, so that the searches may follow stored
arcs only (``directed=True``), which is their quicker way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from scipy.sparse import csgraph

from benchmarks.checks import DAMPING, ITERATIONS, Paths, Search, levels_of_order
from benchmarks.graphs import Workload
from benchmarks.peers import Peer


class Contestant(Peer):
    name = "scipy"
    version = scipy.__version__

    def __init__(self, workload: Workload, threads: int) -> None:
        self.matrix = workload.matrix
        self.source = workload.source
        self.n = workload.num_vertices
        self.structure = self.matrix.copy()
        self.structure.data[:] = 1.0
        degree = np.diff(self.matrix.indptr)
        self.share = np.divide(DAMPING, degree, out=np.zeros(self.n), where=degree > 0)
        self.dangling = np.flatnonzero(degree == 0)

    def bfs(self) -> Any:
        return csgraph.breadth_first_order(self.matrix, self.source)

    def sssp(self) -> Any:
        return csgraph.dijkstra(self.matrix, indices=self.source, return_predecessors=False)

    def pagerank(self) -> Any:
        rank = np.full(self.n, 1.0 / self.n)
        for _ in range(ITERATIONS):
            lost = rank[self.dangling].sum()
            rank = self.structure @ (rank * self.share)
            rank += (1.0 - DAMPING + DAMPING * lost) / self.n
        return rank

    def components(self) -> Any:
        return csgraph.connected_components(self.matrix, directed=False)

    def read_bfs(self, native: Any) -> Search:
        order, parent = native
        level = levels_of_order(order, parent, self.n)
        parent = parent.copy()
        parent[parent < 0] = -1
        parent[self.source] = self.source
        return Search(level, parent)

    def read_sssp(self, native: Any) -> Paths:
        return Paths(native)

    def read_components(self, native: Any) -> Any:
        return native[1]
