"""weft: everything that a call does on an already built graph counts."""

from __future__ import annotations

from typing import Any

import weft
from benchmarks.checks import DAMPING, ITERATIONS, Paths, Search
from benchmarks.graphs import Workload
from benchmarks.peers import Peer


class Contestant(Peer):
    name = "weft"
    version = weft.__version__

    def __init__(self, workload: Workload, threads: int) -> None:
        # The number of threads is WEFT_NUM_THREADS, which the command sets before weft is loaded.
        self.graph = workload.graph
        self.source = workload.source

    def bfs(self) -> Any:
        return weft.bfs(self.graph, self.source)

    def sssp(self) -> Any:
        return weft.sssp(self.graph, self.source)

    def pagerank(self) -> Any:
        return weft.pagerank(
            self.graph, damping=DAMPING, tol=0.0, max_iter=ITERATIONS, on_unconverged="return"
        )

    def components(self) -> Any:
        return weft.connected_components(self.graph)

    def triangles(self) -> Any:
        return weft.triangle_count(self.graph)

    def cores(self) -> Any:
        return weft.core_number(self.graph)

    def read_bfs(self, native: Any) -> Search:
        level, parent = native
        return Search(level, parent)

    def read_sssp(self, native: Any) -> Paths:
        dist, parent = native
        return Paths(dist, parent)
