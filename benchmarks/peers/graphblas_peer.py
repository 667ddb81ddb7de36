"""python-graphblas, with the usual formulations on SuiteSparse:GraphBLAS.

BFS switches between push (``q @ A``) and pull (``A @ q``) by frontier size and returns
parents. SSSP relaxes a window of distances at a time. PageRank sums prescaled ranks over rows; all
its vectors are full, which is the quickest form of them. Triangles are counted in the lower
triangle of the matrix sorted by degree; sorting is part of the call, as for everyone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import graphblas as gb
from benchmarks.checks import DAMPING, ITERATIONS, Paths, Search
from benchmarks.graphs import Workload
from benchmarks.peers import Peer
from graphblas import Matrix, Vector, binary, dtypes, monoid, select, semiring

# Pull once the frontier holds more than this share of the vertices.
PULL_SHARE = 1 / 64
# The window of SSSP, in mean weights, is this over the mean degree.
WINDOW_WIDTH = 64


class Contestant(Peer):
    name = "graphblas"
    version = gb.__version__

    def __init__(self, workload: Workload, threads: int) -> None:
        gb.ss.config["nthreads"] = threads
        matrix = workload.matrix
        self.n = n = workload.num_vertices
        self.source = workload.source
        rows = {
            "nrows": n,
            "ncols": n,
            "indptr": matrix.indptr.astype(np.uint64),
            "col_indices": matrix.indices.astype(np.uint64),
            "sorted_cols": True,
        }
        self.arcs = Matrix.ss.import_csr(values=np.ones(1, np.int64), is_iso=True, **rows)
        self.weights = Matrix.ss.import_csr(values=matrix.data.astype(np.float32), **rows)
        degree = np.diff(matrix.indptr)
        share = np.divide(DAMPING, degree, out=np.zeros(n), where=degree > 0)
        self.share = Vector.from_dense(share)
        self.dangling = Vector.from_dense((degree == 0).astype(np.float64))
        mean_weight, mean_degree = matrix.data.mean(), max(degree.mean(), 1.0)
        self.window = float(mean_weight * WINDOW_WIDTH / mean_degree)

    def bfs(self) -> Vector:
        parent = Vector(dtypes.INT64, self.n)
        parent[self.source] = self.source
        frontier = parent.dup()
        size = 1
        while size:
            if size > self.n * PULL_SHARE:
                step = semiring.ss.any_secondi(self.arcs @ frontier)
            else:
                step = semiring.ss.any_secondi(frontier @ self.arcs)
            frontier(~parent.S, replace=True) << step
            parent(frontier.S) << frontier
            size = frontier.nvals
        return parent

    def sssp(self) -> Vector:
        dist = Vector(dtypes.FP32, self.n)
        dist[:] = np.inf
        dist[self.source] = 0
        pending = Vector(dtypes.FP32, self.n)
        pending[self.source] = 0
        while pending.nvals:
            low = pending.reduce(monoid.min).new().value
            # select compares in the type of its threshold, which must be that of the vector.
            top = np.float32(low + self.window)
            frontier = select.valuelt(pending, top).new()
            pending = select.valuege(pending, top).new()
            while frontier.nvals:
                frontier << semiring.min_plus(frontier @ self.weights)
                better = binary.lt(frontier & dist).new()
                frontier(better.V, replace=True) << frontier
                dist(frontier.S) << frontier
                later = select.valuege(frontier, top).new()
                pending(later.S) << later
                frontier << select.valuelt(frontier, top)
        return dist

    def pagerank(self) -> Vector:
        rank = Vector(dtypes.FP64, self.n)
        rank[:] = 1.0 / self.n
        sent = Vector(dtypes.FP64, self.n)
        for _ in range(ITERATIONS):
            lost = semiring.plus_times(self.dangling @ rank).new().value
            sent << binary.times(rank & self.share)
            rank[:] = (1.0 - DAMPING + DAMPING * lost) / self.n
            rank(binary.plus) << self.arrived(sent)
        return rank

    def arrived(self, sent: Vector) -> Any:
        """Return the sum of ranks that each vertex receives."""
        return semiring.plus_second(self.arcs @ sent)

    def triangles(self) -> int:
        degree = self.arcs.reduce_rowwise(monoid.plus).new().to_dense(fill_value=0)
        order = np.argsort(degree, kind="stable")
        lower = select.tril(self.arcs[order, order].new(), -1).new()
        common = semiring.plus_pair(lower @ lower).new(mask=lower.S)
        return common.reduce_scalar(monoid.plus).new().get(0)

    def read_bfs(self, native: Vector) -> Search:
        return Search(parent=native.to_dense(fill_value=-1))

    def read_sssp(self, native: Vector) -> Paths:
        return Paths(native.to_dense(fill_value=np.inf))

    def read_pagerank(self, native: Vector) -> Any:
        return native.to_dense(fill_value=0.0)
