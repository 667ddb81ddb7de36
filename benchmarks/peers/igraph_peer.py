"""igraph: its own functions, which run in one thread.

Its PageRank has no number of iterations to set, so it does not take part in that task. It counts
triangles on the way to the global clustering coefficient, ``3 * triangles / wedges``.
"""

from __future__ import annotations

from typing import Any

import igraph
import numpy as np
import scipy.sparse as sp

from benchmarks.checks import Paths, Search
from benchmarks.graphs import Workload
from benchmarks.peers import Peer


class Contestant(Peer):
    name = "igraph"
    version = igraph.__version__

    def __init__(self, workload: Workload, threads: int) -> None:
        self.source = workload.source
        self.degree = np.diff(workload.matrix.indptr).astype(np.float64)
        upper = sp.triu(workload.matrix, 1).tocoo()
        ends = np.stack([upper.row, upper.col], axis=1)
        self.graph = igraph.Graph(n=workload.num_vertices, edges=ends)
        self.graph.es["weight"] = upper.data.tolist()

    def bfs(self) -> Any:
        return self.graph.bfs(self.source)

    def sssp(self) -> Any:
        return self.graph.distances(source=self.source, weights="weight")

    def components(self) -> Any:
        return self.graph.connected_components()

    def triangles(self) -> Any:
        return self.graph.transitivity_undirected(mode="zero")

    def cores(self) -> Any:
        return self.graph.coreness()

    def read_bfs(self, native: Any) -> Search:
        order, starts, parent = native
        parent = np.array(parent)
        level = np.full(len(parent), -1)
        level[order] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        parent[level < 0] = -1
        parent[self.source] = self.source
        return Search(level, parent)

    def read_sssp(self, native: Any) -> Paths:
        return Paths(np.array(native[0]))

    def read_components(self, native: Any) -> Any:
        return np.array(native.membership)

    def read_triangles(self, native: float) -> int:
        wedges = (self.degree * (self.degree - 1.0)).sum() / 2.0
        return round(native * wedges / 3.0)

    def read_cores(self, native: Any) -> Any:
        return np.array(native)
