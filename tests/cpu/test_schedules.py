"""The rounds of the schedule `weaver`: many rounds, rows cut into batches, threads without rows."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

import weft
from weft.backends.cpu.codegen.schedules import BATCH
from weft.backends.cpu.runtime.rounds import ROUND_ROWS, next_entry


@weft.edge(into="dist", reduce=weft.min)
def relax(u, v, e):
    return u.dist + e.weight


@weft.edge(into="heard", reduce=weft.sum)
def count(u, v, e):
    return 1


def graph_of(src, dst, n):
    weights = np.arange(len(src), dtype=np.float64) % 7 + 1
    return weft.Graph.from_edges(src, dst, weight=weights, num_vertices=n)


def hub():
    """A row of several batches, rows between without arcs, and more rows than a round takes."""
    n = ROUND_ROWS * 3 * 2 + 17
    rng = np.random.default_rng(8)
    src = np.concatenate([np.full(5 * BATCH, 700), rng.integers(0, n, n // 2), [n - 1]])
    dst = np.concatenate([rng.integers(0, n, 5 * BATCH), rng.integers(0, n, n // 2), [700]])
    return graph_of(src, dst, n), 700


def path():
    n = ROUND_ROWS + 1
    return graph_of(np.arange(n - 1)[::-1].copy(), np.arange(1, n)[::-1].copy(), n), n - 60


GRAPHS = {
    "hub": hub,
    "path": path,
    "star": lambda: (graph_of(np.zeros(BATCH, int), np.arange(1, BATCH + 1), BATCH + 1), 0),
    "loops": lambda: (graph_of([0, 0, 1, 1, 1], [0, 1, 0, 0, 1], 3), 1),
    "one": lambda: (graph_of([], [], 1), 0),
}


def configurations(*threads):
    most = [None, {"entries": 32}, {"entries": 8192}]
    return [weft.Config(schedule="weaver", direction="push", threads=t, compiled=True, weaver=table)
            for t, table in zip(threads, most, strict=True)]  # fmt: skip


@pytest.mark.parametrize("name", GRAPHS)
def test_relaxations_in_rounds_reach_the_shortest_distances(name):
    g, source = GRAPHS[name]()
    n = g.num_vertices
    src, dst, weights = g.to_edges()
    lightest = {}
    for pair, weight in zip(zip(src.tolist(), dst.tolist(), strict=True), weights, strict=True):
        lightest[pair] = min(weight, lightest.get(pair, np.inf))
    rows, columns = np.array([*lightest] or np.empty((0, 2), int)).reshape(-1, 2).T
    matrix = csr_array((np.array([*lightest.values()], float), (rows, columns)), shape=(n, n))
    want = dijkstra(matrix, indices=source)
    start = np.where(np.arange(n) == source, 0.0, np.inf)
    for config in configurations(1, 2, 3):
        for frontier in (g.frontier([source]), None):  # a queue, and all vertices
            state = g.state(dist=start)
            g.iterate(relax, state, frontier, config=config)
            np.testing.assert_array_equal(state.dist, want)


@pytest.mark.parametrize("name", GRAPHS)
def test_each_arc_of_a_frontier_is_visited_once(name):
    g, source = GRAPHS[name]()
    n = g.num_vertices
    src, dst, _ = g.to_edges()
    for members in ([], [source], np.arange(0, n, 2), np.arange(n)):
        want = np.bincount(dst[np.isin(src, members)], minlength=n)
        for config in configurations(1, 2, 3):
            state = g.state(heard=np.zeros(n, np.int64))
            g.run(count, state, g.frontier(members), config=config)
            np.testing.assert_array_equal(state.heard, want)


def test_entries_are_searched_for_and_then_walked():
    find = next_entry.py_func  # what is compiled is called by kernels alone
    table = np.cumsum([0, 3, 0, 0, 2, 0, 1, 0])
    for place, entry in enumerate([1, 1, 1, 4, 4, 6]):
        assert find(table, 0, 4096, table.size, -1, place) == entry
        for before in range(entry + 1):
            assert find(table, 0, 4096, table.size, before, place) == entry
