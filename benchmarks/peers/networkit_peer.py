"""NetworKit: its own algorithms, without the paths that it can store beside the distances.

Its sequential components are quicker than its parallel ones on these graphs, and are used. Its
PageRank loses the mass of isolated vertices in undirected graphs, even when set to
distribute it, so its ranks differ and it does not take part in that task.
"""

from __future__ import annotations

from typing import Any

import networkit as nk
import numpy as np
import scipy.sparse as sp

from benchmarks.checks import Paths, Search
from benchmarks.graphs import Workload
from benchmarks.peers import Peer


class Contestant(Peer):
    name = "networkit"
    version = nk.__version__

    def __init__(self, workload: Workload, threads: int) -> None:
        nk.setNumberOfThreads(threads)
        self.source = workload.source
        upper = sp.triu(workload.matrix, 1).tocoo()
        ends = upper.row.astype(np.uint64), upper.col.astype(np.uint64)
        n = workload.num_vertices
        self.graph = nk.GraphFromCoo(ends, n=n, weighted=False, directed=False)
        self.graph.indexEdges()
        self.weighted = nk.GraphFromCoo((upper.data, ends), n=n, weighted=True, directed=False)

    def bfs(self) -> Any:
        return nk.distance.BFS(self.graph, self.source, storePaths=False).run()

    def sssp(self) -> Any:
        return nk.distance.Dijkstra(self.weighted, self.source, storePaths=False).run()

    def components(self) -> Any:
        return nk.components.ConnectedComponents(self.graph).run()

    def triangles(self) -> Any:
        return nk.sparsification.TriangleEdgeScore(self.graph).run()

    def cores(self) -> Any:
        return nk.centrality.CoreDecomposition(self.graph).run()

    def read_bfs(self, native: Any) -> Search:
        level = _distances(native)
        return Search(np.where(np.isinf(level), -1, level).astype(np.int64))

    def read_sssp(self, native: Any) -> Paths:
        return Paths(_distances(native))

    def read_components(self, native: Any) -> Any:
        return np.asarray(native.getPartition().getVector())

    def read_triangles(self, native: Any) -> int:
        return round(sum(native.scores()) / 3)

    def read_cores(self, native: Any) -> Any:
        return np.asarray(native.scores()).astype(np.int64)


def _distances(search: Any) -> np.ndarray:
    dist = np.array(search.getDistances())
    dist[dist == np.finfo(np.float64).max] = np.inf
    return dist
