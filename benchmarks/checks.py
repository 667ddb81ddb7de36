"""Independent checks of results, written with NumPy and SciPy only.

Each check takes the graph's `Reference` and an answer in plain form, and returns None or one
sentence that says what is wrong. Where an answer is not unique (parents, labels), the check tests
its defining property instead of comparing it with one correct answer.

| task       | answer       | correct if                                                         |
|------------|--------------|--------------------------------------------------------------------|
| bfs        | `Search`     | levels equal those of SciPy's search; parents are arcs one level up |
| sssp       | `Paths`      | distances equal Dijkstra's; parents are tight and lead to the source |
| pagerank   | float array  | L1 distance to a SciPy power iteration of as many steps <= 1e-6     |
| components | int array    | the same partition as SciPy's                                      |
| triangles  | int          | equals the sum of ``L * (L @ L)``, L the arcs towards higher degree |
| cores      | int array    | equals the result of peeling vertices of smallest degree           |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

DAMPING = 0.85
ITERATIONS = 20
DISTANCE_TOLERANCE = 1e-6
RANK_TOLERANCE = 1e-6
# Partial products held at once while triangles are counted: about 250 MB.
WEDGES_AT_ONCE = 20_000_000

Array = np.ndarray


@dataclass(frozen=True)
class Search:
    """A BFS: -1 for vertices not reached, ``parent[source] == source``; one of them may be None."""

    level: Array | None = None
    parent: Array | None = None


@dataclass(frozen=True)
class Paths:
    """Shortest paths: distance inf and parent -1 for vertices not reached."""

    dist: Array
    parent: Array | None = None


class Reference:
    """The correct answers for one graph, each computed on first use."""

    def __init__(self, matrix: sp.csr_array, source: int) -> None:
        self.matrix = matrix
        self.source = source
        self.n = matrix.shape[0]
        self.degree = np.diff(matrix.indptr).astype(np.int64)

    @cached_property
    def level(self) -> Array:
        order, parent = csgraph.breadth_first_order(self.matrix, self.source)
        return levels_of_order(order, parent, self.n)

    @cached_property
    def dist(self) -> Array:
        return csgraph.dijkstra(self.matrix, indices=self.source)

    @cached_property
    def label(self) -> Array:
        return csgraph.connected_components(self.matrix, directed=False)[1]

    @cached_property
    def rank(self) -> Array:
        return power_iteration(self.matrix, ITERATIONS)

    @cached_property
    def triangles(self) -> int:
        return count_triangles(self.matrix)

    @cached_property
    def core(self) -> Array:
        return peel_cores(self.matrix)

    @cached_property
    def _arc_key(self) -> Array:
        row = np.repeat(np.arange(self.n, dtype=np.int64), self.degree)
        return row * self.n + self.matrix.indices

    def weight(self, u: Array, v: Array) -> Array:
        """Return the weight of each arc ``u -> v``, NaN where there is none."""
        if not len(self._arc_key):
            return np.full(len(u), np.nan)
        key = u.astype(np.int64) * self.n + v
        slot = np.searchsorted(self._arc_key, key).clip(max=len(self._arc_key) - 1)
        return np.where(self._arc_key[slot] == key, self.matrix.data[slot], np.nan)


def check_bfs(reference: Reference, answer: Search) -> str | None:
    level = reference.level
    if answer.level is not None and (fault := _differing("levels", answer.level, level)):
        return fault
    if answer.parent is None:
        return None
    if fault := _parents_fault(reference, answer.parent, level >= 0):
        return fault
    child, parent = _tree_arcs(reference, answer.parent)
    return _first_fault(
        child, level[parent] + 1 != level[child], "has a parent that is not one level up"
    )


def check_sssp(reference: Reference, answer: Paths) -> str | None:
    dist = np.asarray(answer.dist, dtype=np.float64)
    if dist.shape != reference.dist.shape:
        return f"distances have shape {dist.shape}, expected {reference.dist.shape}"
    close = np.isclose(dist, reference.dist, rtol=DISTANCE_TOLERANCE, atol=0.0)
    if fault := _first_fault(np.arange(reference.n), ~close, "has a wrong distance"):
        return fault
    if answer.parent is None:
        return None
    if fault := _parents_fault(reference, answer.parent, np.isfinite(reference.dist)):
        return fault
    child, parent = _tree_arcs(reference, answer.parent)
    through = dist[parent] + reference.weight(parent, child)
    tight = np.isclose(through, dist[child], rtol=DISTANCE_TOLERANCE, atol=0.0)
    return _first_fault(child, ~tight, "has a parent through which it is not reached so early")


def check_pagerank(reference: Reference, answer: Array) -> str | None:
    rank = np.asarray(answer, dtype=np.float64)
    if rank.shape != reference.rank.shape:
        return f"ranks have shape {rank.shape}, expected {reference.rank.shape}"
    error = np.abs(rank - reference.rank).sum() / reference.rank.sum()
    if not error <= RANK_TOLERANCE:
        return f"ranks differ by {error:.1e} (L1), allowed are {RANK_TOLERANCE:.0e}"
    return None


def check_components(reference: Reference, answer: Array) -> str | None:
    label = np.asarray(answer)
    if label.shape != reference.label.shape:
        return f"labels have shape {label.shape}, expected {reference.label.shape}"
    _, label = np.unique(label, return_inverse=True)
    _, first = np.unique(reference.label, return_index=True)
    if fault := _first_fault(
        np.arange(reference.n),
        label != label[first][reference.label],
        "has not the label of its component",
    ):
        return fault
    found, expected = label.max(initial=-1) + 1, len(first)
    return None if found == expected else f"{found} components, expected {expected}"


def check_triangles(reference: Reference, answer: int) -> str | None:
    if int(answer) != reference.triangles:
        return f"{int(answer)} triangles, expected {reference.triangles}"
    return None


def check_cores(reference: Reference, answer: Array) -> str | None:
    return _differing("core numbers", answer, reference.core)


CHECKS: dict[str, Callable[[Reference, Any], str | None]] = {
    "bfs": check_bfs,
    "sssp": check_sssp,
    "pagerank": check_pagerank,
    "components": check_components,
    "triangles": check_triangles,
    "cores": check_cores,
}


def levels_of_order(order: Array, parent: Array, n: int) -> Array:
    """Return levels from a breadth-first order and its predecessors; -1 elsewhere.

    Parents come in the same order as their children, so each level is one range of the order:
    the vertices whose parents lie in the previous range.
    """
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(len(order))
    parent_place = place[parent[order[1:]]]
    level = np.full(n, -1, dtype=np.int64)
    start, end, depth = 0, min(1, len(order)), 0
    while start < end:
        level[order[start:end]] = depth
        start, end = end, 1 + int(np.searchsorted(parent_place, end))
        depth += 1
    return level


def power_iteration(matrix: sp.csr_array, iterations: int, damping: float = DAMPING) -> Array:
    """Return the PageRank of a symmetric matrix's structure; isolated vertices give to all."""
    n = matrix.shape[0]
    ones = sp.csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)
    degree = np.diff(matrix.indptr)
    share = np.divide(damping, degree, out=np.zeros(n), where=degree > 0)
    rank = np.full(n, 1.0 / n)
    for _ in range(iterations):
        lost = rank[degree == 0].sum()
        rank = ones @ (rank * share) + (1.0 - damping + damping * lost) / n
    return rank


def count_triangles(matrix: sp.csr_array) -> int:
    """Return the sum of ``L * (L @ L)``, L the arcs towards higher degree, by row ranges."""
    n = matrix.shape[0]
    degree = np.diff(matrix.indptr)
    rank = np.empty(n, dtype=np.int64)
    rank[np.argsort(degree, kind="stable")] = np.arange(n)
    u, v = rank[np.repeat(np.arange(n), degree)], rank[matrix.indices]
    up = u < v
    arcs = sp.csr_array((np.ones(up.sum(), np.int64), (u[up], v[up])), shape=(n, n))
    wedges = np.concatenate([[0], np.cumsum(np.diff(arcs.indptr)[arcs.indices])])[arcs.indptr]
    total, start = 0, 0
    while start < n:
        limit = wedges[start] + WEDGES_AT_ONCE
        end = max(start + 1, int(np.searchsorted(wedges, limit, side="right")) - 1)
        rows = arcs[start:end]
        total += int((rows @ arcs).multiply(rows).sum())
        start = end
    return total


def peel_cores(matrix: sp.csr_array) -> Array:
    """Return core numbers by definition: remove vertices of degree <= k for k = 0, 1, ..."""
    n = matrix.shape[0]
    degree = np.diff(matrix.indptr).astype(np.int64)
    core = np.zeros(n, dtype=np.int64)
    alive = np.ones(n, dtype=bool)
    k = 0
    while alive.any():
        k = max(k, int(degree[alive].min()))
        peeled = np.flatnonzero(alive & (degree <= k))
        while len(peeled):
            core[peeled] = k
            alive[peeled] = False
            neighbor = matrix[peeled].indices
            touched, count = np.unique(neighbor[alive[neighbor]], return_counts=True)
            degree[touched] -= count
            peeled = touched[degree[touched] <= k]
    return core


def _parents_fault(reference: Reference, parent: Array, reached: Array) -> str | None:
    """Check that parents are neighbours and that all of them lead to the source."""
    parent = np.asarray(parent)
    if parent.shape != reached.shape:
        return f"parents have shape {parent.shape}, expected {reached.shape}"
    vertex = np.arange(reference.n)
    if len(parent) and (parent.min() < -1 or parent.max() >= reference.n):
        return "parents lie outside the graph"
    if fault := _first_fault(
        vertex, (parent >= 0) != reached, "has a parent but was not reached, or the reverse"
    ):
        return fault
    if parent[reference.source] != reference.source:
        return "the source is not its own parent"
    child, above = _tree_arcs(reference, parent)
    missing = np.isnan(reference.weight(above, child))
    if fault := _first_fault(child, missing, "has a parent that is not its neighbour"):
        return fault
    ancestor = np.where(reached, parent, vertex)
    for _ in range(reference.n.bit_length()):
        ancestor = ancestor[ancestor]
    return _first_fault(
        vertex, reached & (ancestor != reference.source), "has parents that run in a cycle"
    )


def _tree_arcs(reference: Reference, parent: Array) -> tuple[Array, Array]:
    """Return all (child, parent) pairs except the source's own."""
    parent = np.asarray(parent)
    child = np.flatnonzero(parent >= 0)
    child = child[child != reference.source]
    return child, parent[child]


def _differing(what: str, got: Array, expected: Array) -> str | None:
    got = np.asarray(got)
    if got.shape != expected.shape:
        return f"{what} have shape {got.shape}, expected {expected.shape}"
    wrong = np.flatnonzero(got != expected)
    if not len(wrong):
        return None
    at = wrong[0]
    return f"{len(wrong)} {what} differ; vertex {at} has {got[at]}, expected {expected[at]}"


def _first_fault(vertex: Array, wrong: Array, fault: str) -> str | None:
    if not wrong.any():
        return None
    return f"vertex {vertex[np.argmax(wrong)]} {fault} ({int(wrong.sum())} such vertices)"
