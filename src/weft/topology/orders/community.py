"""The community order: densely connected vertices are stored together, at every scale.

As in Rabbit Order (Arai et al., 2016), communities are merged by modularity gain, level by level,
and vertices are ordered by the merge tree. On each level, vertices move between communities until
few still do (Blondel et al., 2008), and the graph is contracted. Vertices move class by class: all
vertices of a class decide in parallel from the same state, so the order does not depend on the
number of threads.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import numpy as np

from weft.storage.compiled import njit

Array = np.ndarray[Any, Any]

CLASSES: Final = 4  # classes of vertices that move at the same time
SWEEPS: Final = 8  # maximum number of sweeps over all vertices per level
FEW: Final = 0.01  # a level ends once no more than this fraction of the vertices moves
_PARALLEL_ARCS: Final = 1 << 16
_SPREAD: Final = np.uint64(0x9E3779B97F4A7C15)


def community_order(offsets: Array, targets: Array, directed: bool) -> Array:
    """Return a permutation of the vertices that places communities together.

    Parameters
    ----------
    offsets, targets : ndarray
        The adjacency, in host memory.
    directed : bool
        Whether opposite arcs must be added, since communities ignore directions.
    """
    from scipy.sparse import csr_array

    n = offsets.size - 1
    ones = np.ones(targets.size)  # integers in float64: all sums are exact
    graph: Any = csr_array((ones, targets, offsets), shape=(n, n))
    graph = graph + graph.T if directed else graph.copy()
    graph.sum_duplicates()  # in place
    total = float(graph.data.sum(dtype=np.float64))
    steps: list[Array] = []  # for each level, the community that each vertex joins
    while graph.nnz:
        different, step = np.unique(_communities(graph, total), return_inverse=True)
        if different.size == graph.shape[0]:
            break
        steps.append(step.reshape(-1))
        graph = _contracted(graph, steps[-1], different.size)
    return unfolded(steps, n, np)


def _communities(graph: Any, total: float) -> Array:
    """Return a community for each vertex; vertices start alone and move to gain modularity."""
    n = graph.shape[0]
    weight = np.asarray(graph.sum(axis=1), np.float64).reshape(-1)
    community = np.arange(n)
    volume: Array = weight.copy()
    kind = class_of(n, np)
    classes = [np.flatnonzero(kind == k) for k in range(CLASSES)]
    workers = _workers(graph.nnz)
    scratch = np.zeros((workers, n))
    with ThreadPoolExecutor(workers) as pool:

        def choices(rows: Array) -> Array:
            chosen = np.empty(rows.size, np.int64)
            bounds = [rows.size * k // workers for k in range(workers + 1)]
            arcs = (graph.indptr, graph.indices, graph.data)
            state = (weight, community, volume, total)

            def choose(k: int) -> None:
                part = (rows, bounds[k], bounds[k + 1])
                _choose(arcs, state, part, chosen, scratch[k])

            list(pool.map(choose, range(workers)))
            return chosen

        for _ in range(SWEEPS):
            moved = 0
            for rows in classes:
                chosen = choices(rows)
                moved += int((chosen != community[rows]).sum())
                community[rows] = chosen
                volume = np.bincount(community, weights=weight, minlength=n)
            if moved <= FEW * n:
                break
    return community


def _workers(arcs: int) -> int:
    if arcs < _PARALLEL_ARCS:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


@njit(cache=True, nogil=True)
def _choose(arcs, state, part, chosen, scratch):  # type: ignore[no-untyped-def]
    """Choose the community with the best gain for each row of a part; `scratch` stays all zeros."""
    offsets, targets, data = arcs
    weight, community, volume, total = state
    rows, begin, end = part
    for place in range(begin, end):
        row = rows[place]
        own, mine = community[row], weight[row]
        for slot in range(offsets[row], offsets[row + 1]):
            if targets[slot] != row:
                scratch[community[targets[slot]]] += data[slot]
        best = own
        most = scratch[own] - mine * (volume[own] - mine) / total
        for slot in range(offsets[row], offsets[row + 1]):
            other = community[targets[slot]]
            if other != own and scratch[other] > 0.0:
                gain = scratch[other] - mine * volume[other] / total
                if gain > most or (gain == most and best != own and other < best):
                    best, most = other, gain
        for slot in range(offsets[row], offsets[row + 1]):
            scratch[community[targets[slot]]] = 0.0
        chosen[place] = best


def _contracted(graph: Any, step: Array, count: int) -> Any:
    """Return the graph of communities; weights of parallel arcs are summed."""
    from scipy.sparse import coo_array

    rows = np.repeat(step, np.diff(graph.indptr))
    arcs = coo_array((graph.data, (rows, step[graph.indices])), shape=(count, count))
    return arcs.tocsr()  # sums parallel arcs


def class_of(n: int, xp: Any) -> Any:
    """Return the class of each vertex; the vertices of a class move at the same time."""
    spread = xp.arange(n, dtype=np.uint64) * _SPREAD
    return spread >> np.uint64(64 - CLASSES.bit_length() + 1)


def unfolded(steps: list[Any], n: int, xp: Any) -> Any:
    """Return the vertices sorted by community at every level, from the top down."""
    place = xp.arange(n if not steps else int(steps[-1].max()) + 1)
    order = place
    for step in reversed(steps):
        order = xp.argsort(place[step], kind="stable")
        place = xp.empty(order.size, np.int64)
        place[order] = xp.arange(order.size)
    return order
