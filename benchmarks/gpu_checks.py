"""Certificates of results, computed on their device without weft's engine.

Each check takes the graph's `Arcs` and an answer, and returns None or one sentence that says what
is wrong. All are array programs for both CuPy and NumPy. They prove an answer correct, except for
triangle counts that would take too long to repeat in full.

| task       | is proved by                                                                      |
|------------|-----------------------------------------------------------------------------------|
| bfs        | levels differ by at most 1 over every arc; every parent is an arc one level up     |
| sssp       | dist[v] <= dist[u] + w over every arc; every parent is tight                       |
| pagerank   | L1 distance to as many power iterations by SpMV (cuSPARSE), dangling mass included |
| components | labels equal over every arc, label <= id, roots; count equals a second labelling   |
| triangles  | a second count by sorted intersection of all arcs, or of a random part of them     |
| cores      | enough neighbours inside every core, and an order in which all can be peeled       |

Core numbers c are correct if (1) every v has at least c(v) neighbours with core numbers >= c(v), so
the vertices of c >= k have k neighbours among themselves, and (2) vertices can be removed in order
of increasing c such that each has at most c(v) neighbours left when it is removed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from weft.arrays.reduce import all_true, any_true, count_true

DAMPING = 0.85
ITERATIONS = 20
RANK_TOLERANCE = {"float64": 1e-9, "float32": 1e-5}
# Slots per range: a few arrays of 8 bytes per slot fit beside any graph.
SLOTS_AT_ONCE = 1 << 26
TRIANGLE_SAMPLES = 64
TRIANGLE_SECONDS = 20.0
CORE_SECONDS = 30.0
# Standard errors by which an estimate from a sample of arcs may be off.
SIGMAS = 6.0

Array = Any


class Arcs:
    """The arcs of a simple undirected graph on one device: both of every edge, rows sorted.

    Parameters
    ----------
    xp
        NumPy or CuPy, whose arrays the others are.
    offsets, targets
        Row r has the targets of the slots offsets[r] to offsets[r + 1].
    weight
        One per slot, or None.
    """

    def __init__(self, xp: Any, offsets: Array, targets: Array, weight: Array | None = None):
        self.xp, self.offsets, self.targets, self.weight = xp, offsets, targets, weight
        self.n, self.m = int(offsets.size) - 1, int(targets.size)

    @cached_property
    def degree(self) -> Array:
        return self.xp.diff(self.offsets)

    def rows_of(self, begin: int, end: int) -> Array:
        """Return the rows that own the slots from `begin` to `end`."""
        slots = self.xp.arange(begin, end, dtype=np.int64)
        return self.xp.searchsorted(self.offsets, slots, side="right") - 1

    def stretches(self) -> Iterator[tuple[slice, Array, Array]]:
        """Yield all slots with their rows and targets, range by range."""
        for begin in range(0, self.m, SLOTS_AT_ONCE):
            end = min(begin + SLOTS_AT_ONCE, self.m)
            part = slice(begin, end)
            yield part, self.rows_of(begin, end), self.targets[part]

    def slots_of(self, row: Array, target: Array) -> Array:
        """Return the slot of each arc row -> target by bisection, -1 where there is none."""
        xp = self.xp
        low, end = self.offsets[row], self.offsets[row + 1]
        high = end.copy()
        for _ in range(int(self.degree.max()).bit_length() + 1 if self.m else 0):
            middle = (low + high) >> 1
            open_ = low < high
            seen = self.targets[xp.minimum(middle, self.m - 1)]
            below = open_ & (seen < target)
            low = xp.where(below, middle + 1, low)
            high = xp.where(open_ & ~below, middle, high)
        found = low < end
        if self.m:
            found &= self.targets[xp.minimum(low, self.m - 1)] == target
        return xp.where(found, low, -1)


def check_bfs(arcs: Arcs, source: int, level: Array, parent: Array) -> str | None:
    xp = arcs.xp
    if fault := _shaped(arcs, level=level, parent=parent):
        return fault
    if int(level[source]) != 0 or count_true(level == 0) != 1:
        return f"the source has level {int(level[source])}, or it is not alone on level 0"
    for _, row, target in arcs.stretches():
        here, there = level[row], level[target]
        wrong = ((here < 0) != (there < 0)) | (xp.abs(here - there) > 1)
        if fault := _first(xp, wrong, "arcs skip a level, the first at vertex", row):
            return fault
    child, above, fault = _tree(arcs, source, level >= 0, parent)
    if fault:
        return fault
    wrong = level[above] + 1 != level[child]
    return _first(xp, wrong, "parents are not one level up, the first of vertex", child)


def check_sssp(arcs: Arcs, source: int, dist: Array, parent: Array) -> str | None:
    """Check distances (integers, -1 where there is no path) under positive weights."""
    xp = arcs.xp
    if fault := _shaped(arcs, dist=dist, parent=parent):
        return fault
    if int(dist[source]) != 0:
        return f"the source is at distance {int(dist[source])}"
    assert arcs.weight is not None
    for part, row, target in arcs.stretches():
        here, there = dist[row], dist[target]
        wrong = ((here < 0) != (there < 0)) | ((here >= 0) & (there > here + arcs.weight[part]))
        if fault := _first(xp, wrong, "arcs give a shorter path, the first from vertex", row):
            return fault
    child, above, fault = _tree(arcs, source, dist >= 0, parent)
    if fault:
        return fault
    through = dist[above] + arcs.weight[arcs.slots_of(above, child)]
    return _first(xp, through != dist[child], "parents are not tight, the first of vertex", child)


def check_pagerank(
    arcs: Arcs, rank: Array, iterations: int = ITERATIONS, tol: float | None = None
) -> str | None:
    if fault := _shaped(arcs, rank=rank):
        return fault
    expected = power_iteration(arcs, iterations)
    error = float(arcs.xp.abs(rank - expected).sum())
    allowed = RANK_TOLERANCE[rank.dtype.name] + (tol or 0) * DAMPING / (1 - DAMPING)
    if not error <= allowed:
        return f"ranks differ by {error:.1e} (L1), allowed are {allowed:.0e}"
    return None


def power_iteration(arcs: Arcs, iterations: int) -> Array:
    """Return PageRank after a number of sparse matrix-vector products."""
    xp, n = arcs.xp, arcs.n
    matrix = matrix_of(arcs)
    dangling = arcs.degree == 0
    share = DAMPING / xp.maximum(arcs.degree, 1)
    rank = xp.full(n, 1.0 / max(n, 1))
    for _ in range(iterations):
        lost = float(rank[dangling].sum())
        rank = matrix @ (rank * share) + (1.0 - DAMPING + DAMPING * lost) / n
    return rank


def matrix_of(arcs: Arcs) -> Any:
    """Return the adjacency matrix, a sparse one of SciPy or CuPy."""
    if arcs.xp is np:
        from scipy import sparse
    else:
        from cupyx.scipy import sparse
    parts = (arcs.xp.ones(arcs.m), arcs.targets, arcs.offsets.astype(np.int32))
    matrix = sparse.csr_matrix(parts, shape=(arcs.n, arcs.n))
    with suppress(AttributeError):
        matrix.has_canonical_format = True  # known here; detecting it is slow
    return matrix


def check_components(arcs: Arcs, label: Array, count: int | None = None) -> str | None:
    """Check labels; `count` is the number of components, computed if not given."""
    xp = arcs.xp
    if fault := _shaped(arcs, label=label):
        return fault
    vertex = xp.arange(arcs.n, dtype=label.dtype)
    if fault := _first(xp, (label > vertex) | (label < 0), "labels exceed the id, first", vertex):
        return fault
    if fault := _first(xp, label[label] != label, "labels are no roots, the first of", vertex):
        return fault
    for _, row, target in arcs.stretches():
        wrong = label[row] != label[target]
        if fault := _first(xp, wrong, "arcs join different labels, the first at vertex", row):
            return fault
    expected = count_roots(arcs, minimal_labels(arcs)) if count is None else count
    found = count_roots(arcs, label)
    return None if found == expected else f"{found} components, expected {expected}"


def count_roots(arcs: Arcs, label: Array) -> int:
    return count_true(label == arcs.xp.arange(arcs.n, dtype=label.dtype))


def minimal_labels(arcs: Arcs) -> Array:
    """Return the smallest vertex of each vertex's component.

    Roots are hooked under smaller ones and pointers jumped until no arc joins two trees."""
    xp = arcs.xp
    label = xp.arange(arcs.n, dtype=np.int32)
    while True:
        hooked = False
        for _, row, target in arcs.stretches():
            here, there = label[row], label[target]
            joins = xp.flatnonzero(there < here)
            if joins.size:
                hooked = True
                _scatter_min(xp, label, here[joins], there[joins])
        if not hooked:
            return label
        while True:
            above = label[label]
            if all_true(above == label):
                break
            label = above


def _scatter_min(xp: Any, array: Array, index: Array, value: Array) -> None:
    if xp is np:
        np.minimum.at(array, index, value)
    else:
        import cupyx

        cupyx.scatter_min(array, index, value)


def check_cores(arcs: Arcs, core: Array, seconds: float = CORE_SECONDS) -> str | None:
    xp = arcs.xp
    if fault := _shaped(arcs, core=core):
        return fault
    inside = xp.zeros(arcs.n, np.int64)  # neighbours with core numbers no smaller
    same_rows, same_targets = [], []
    for _, row, target in arcs.stretches():
        here, there = core[row], core[target]
        inside += _counted(xp, row[there >= here], arcs.n)
        equal = xp.flatnonzero(there == here)
        same_rows.append(row[equal].astype(np.int32))
        same_targets.append(target[equal].astype(np.int32))
    vertex = xp.arange(arcs.n)
    wrong = (inside < core) | (core < 0)
    if fault := _first(xp, wrong, "vertices have too few neighbours in their core, first", vertex):
        return fault
    if not same_rows:
        return _first(xp, core != 0, "vertices without arcs have a core number, first", vertex)
    row, target = xp.concatenate(same_rows), xp.concatenate(same_targets)
    return _peel_fault(arcs, core, inside, row, target, time.perf_counter() + seconds)


def _peel_fault(
    arcs: Arcs, core: Array, left: Array, row: Array, target: Array, deadline: float
) -> str | None:
    """Remove vertices while they have at most c(v) neighbours left; arcs join equal c."""
    xp = arcs.xp
    alive = xp.ones(arcs.n, bool)
    while True:
        peeled = alive & (left <= core)
        if not any_true(peeled):
            break
        alive &= ~peeled
        left = left - _counted(xp, target[peeled[row]], arcs.n)
        kept = xp.flatnonzero(alive[row] & alive[target])
        row, target = row[kept], target[kept]
        if time.perf_counter() > deadline:
            return f"not proved: {count_true(alive)} vertices were still to be peeled"
    return _first(xp, alive, "vertices have a larger core number, the first", xp.arange(arcs.n))


def check_triangles(arcs: Arcs, found: int, seconds: float = TRIANGLE_SECONDS) -> str | None:
    """Repeat the count, or estimate it from as many random arcs as time allows."""
    if arcs.xp is np:
        from benchmarks.checks import count_triangles

        expected = count_triangles(_hostmatrix_of(arcs))
        return None if found == expected else f"{found} triangles, expected {expected}"
    counts = _sampled_triangles(arcs, time.perf_counter() + seconds)
    if len(counts) == TRIANGLE_SAMPLES:
        expected = int(sum(counts))
        return None if found == expected else f"{found} triangles, expected {expected}"
    if len(counts) < 3:
        return "not proved: the second count was too slow"
    mean = float(np.mean(counts)) * TRIANGLE_SAMPLES
    error = float(np.std(counts, ddof=1)) / np.sqrt(len(counts)) * TRIANGLE_SAMPLES
    if abs(found - mean) > SIGMAS * error:
        return f"{found} triangles, estimated {mean:.4g} ± {error:.1g} from {len(counts)} parts"
    return None


def _hostmatrix_of(arcs: Arcs) -> Any:
    from scipy import sparse

    ones = np.ones(arcs.m)
    return sparse.csr_array((ones, arcs.targets, arcs.offsets), shape=(arcs.n, arcs.n))


def _sampled_triangles(arcs: Arcs, deadline: float) -> list[int]:
    """Count triangles over each of `TRIANGLE_SAMPLES` parts of the oriented arcs."""
    xp = arcs.xp
    offsets, targets, rows = orient(arcs)
    source = (Path(__file__).parent / "handwritten" / "triangles.cu").read_text(encoding="utf-8")
    kernel = xp.RawKernel(source, "count_triangles")
    blocks = 32 * xp.cuda.Device().attributes["MultiProcessorCount"]
    counts: list[int] = []
    for part in range(TRIANGLE_SAMPLES):
        total = xp.zeros(1, np.uint64)
        sizes = (np.int64(targets.size), np.int64(part), np.int64(TRIANGLE_SAMPLES))
        kernel((blocks,), (256,), (*sizes, offsets, targets, rows, total))
        counts.append(int(total[0]))
        if time.perf_counter() > deadline:
            break
    return counts


def orient(arcs: Arcs) -> tuple[Array, Array, Array]:
    """Return offsets, targets and rows of arcs towards higher degree (higher id if equal)."""
    xp, degree = arcs.xp, arcs.degree
    rows, targets = [], []
    for _, row, target in arcs.stretches():
        here, there = degree[row], degree[target]
        up = xp.flatnonzero((there > here) | ((there == here) & (target > row)))
        rows.append(row[up].astype(np.int32))
        targets.append(target[up].astype(np.int32))
    row = xp.concatenate(rows) if rows else xp.zeros(0, np.int32)
    target = xp.concatenate(targets) if targets else xp.zeros(0, np.int32)
    offsets = xp.zeros(arcs.n + 1, np.int64)
    offsets[1:] = xp.cumsum(_counted(xp, row, arcs.n))
    return offsets, target, row


def _counted(xp: Any, keys: Array, count: int) -> Array:
    if not keys.size:
        return xp.zeros(count, np.int64)  # CuPy cannot count nothing
    return xp.bincount(keys, minlength=count).astype(np.int64, copy=False)


def _tree(
    arcs: Arcs, source: int, reached: Array, parent: Array
) -> tuple[Array, Array, str | None]:
    """Return all (child, parent) pairs except the source's; they must be arcs."""
    xp = arcs.xp
    vertex = xp.arange(arcs.n)
    none = xp.zeros(0, np.int64)
    wrong = (parent >= 0) != reached
    if fault := _first(xp, wrong, "vertices have a parent but no path, or the reverse:", vertex):
        return none, none, fault
    if int(parent[source]) != source:
        return none, none, "the source is not its own parent"
    child = xp.flatnonzero(reached & (vertex != source))
    above = parent[child].astype(np.int64)
    missing = (above >= arcs.n) | (arcs.slots_of(xp.minimum(above, arcs.n - 1), child) < 0)
    return child, above, _first(xp, missing, "parents are no neighbours, the first of", child)


def _shaped(arcs: Arcs, **answers: Array) -> str | None:
    for name, array in answers.items():
        if array.shape != (arcs.n,):
            return f"{name} has shape {array.shape}, expected ({arcs.n},)"
    return None


def _first(xp: Any, wrong: Array, what: str, vertex: Array) -> str | None:
    """Return None, or a sentence with the number of faults and the first one."""
    count = count_true(wrong)
    return f"{count} {what} {int(vertex[int(xp.argmax(wrong))])}" if count else None
