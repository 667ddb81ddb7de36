"""Programs that ran before are prepared already, as long as what that depended on holds."""

import gc
import threading
import weakref

import numpy as np
import pytest

import weft
from algorithms.test_bfs import check
from weft.algorithms import bfs
from weft.engine import tuned as remembered
from weft.graph import execution as running


@pytest.fixture
def found(monkeypatch):
    """Whether the program of each call was prepared already."""
    seen, made = [], []
    iterate = weft.Graph.iterate

    class Counted(running.Prepared):
        def __init__(self, *arguments):
            made.append(self)
            super().__init__(*arguments)

    def counted(self, *arguments, **options):
        before = len(made)
        run = iterate(self, *arguments, **options)
        seen.append(len(made) == before)
        return run

    monkeypatch.setattr(running, "Prepared", Counted)
    monkeypatch.setattr(weft.Graph, "iterate", counted)
    return seen


def graph(**options):
    return weft.generators.rmat(6, 4, seed=3, **options)


def test_the_second_call_is_ready_and_right(found):
    g = graph(weights="int")
    for source in (0, 5, 17, 5):
        check(g, source, weft.bfs(g, source))
    assert found == [False, True, True, True]
    want = [weft.sssp(graph(weights="int"), s).dist for s in (0, 5)]
    found.clear()
    for s, dist in zip((0, 5, 5), (want[0], want[1], want[1]), strict=True):
        np.testing.assert_array_equal(weft.sssp(g, s).dist, dist)
    assert found == [False, True, True]


def test_results_are_not_shared():
    g = graph()
    first, second = weft.bfs(g, 0), weft.bfs(g, 0)
    assert not np.shares_memory(first.level, second.level)
    first.level[:] = 99
    check(g, 0, weft.bfs(g, 0))


def test_another_version_is_another_graph(found):
    g = graph()
    before = weft.bfs(g, 0)
    weft.bfs(g, 0)
    end = int(np.flatnonzero(before.level < 0)[0])
    g.update(add=([0], [end]))
    assert weft.bfs(g, 0).level[end] == 1
    check(g, 0, weft.bfs(g, 0))
    assert found == [False, True, False, True]


def test_columns_configurations_and_tuning_are_looked_at(found):
    g = graph(weights="int")
    half = weft.sssp(g, 0).dist
    g.edge["weight"] = g.edge["weight"] * 0.5  # of another dtype
    assert weft.sssp(g, 0).dist.dtype == np.float64
    g.edge["weight"] = g.edge["weight"] * 4  # of the same one
    got = weft.sssp(g, 0).dist
    np.testing.assert_array_equal(got[half >= 0], 2.0 * half[half >= 0])
    assert found == [False, False, True]
    found.clear()
    pushed = weft.Config(direction="push")
    named = weft.Config(schedule="edge")
    for config in (None, pushed, pushed, None, named, named):
        check(g, 0, weft.bfs(g, 0, config=config))
    remembered.forget_remembered()
    check(g, 0, weft.bfs(g, 0))
    g.vertex["mark"] = np.zeros(g.num_vertices)
    for _ in range(2):
        check(g, 0, weft.bfs(g, 0))
    assert found == [False, False, True, True, False, True, False, False, True]


def test_programs_that_use_columns_read_those_of_the_call(found):
    @weft.edge(into="level", reduce=weft.min)
    def advance(u, v, e):
        return u.level + u.height

    g = weft.generators.path(4)
    g.vertex["height"] = np.array([1, 2, 3, 4])
    for height in (1, 5):
        g.vertex["height"] = np.array([height, 2, 3, 4])
        for _ in range(2):
            state = g.state(level=weft.full(99).but(0, 0))
            g.iterate(advance, state, [0])
            assert state.level.tolist() == [0, height, height + 2, height + 5]
    assert found == [False, True, True, True]


def test_other_orders_and_formats_are_ready_too(found):
    g = graph(weights="int")
    moved = g.reorder("random")
    for source in (0, 5, 17, 5):
        check(moved, source, weft.bfs(moved, source))
    assert found == [False, True, True, True]
    found.clear()
    named = weft.Config(format="cr2", reorder="degree")
    for source in (5, 17, 17):
        want = weft.sssp(g, source)
        got = weft.sssp(g, source, config=named)
        np.testing.assert_array_equal(got.dist, want.dist)
        assert got.dist.dtype == want.dist.dtype and got.parent[source] == source
    assert found == [False, False, True, True, True, True]


def test_orders_that_are_given_up_are_made_again(found):
    g = graph()
    by_degree, at_random = (weft.Config(reorder=name) for name in ("degree", "random"))
    for config in (by_degree, by_degree, at_random, by_degree, by_degree):
        check(g, 3, weft.bfs(g, 3, config=config))
        gc.collect()
    assert found == [False, True, False, False, True]  # one order is kept


def test_fields_that_nothing_touched_are_written_where_they_belong():
    g = graph().reorder("degree")
    level = weft.full(-1, weft.int32)
    fields = {"level": level.but(3, 0), "parent": weft.full(-1, weft.vertex_id).but(3, 3)}
    for _ in range(2):
        state = g.state(**fields)
        assert state._untouched.keys() == fields.keys()
        g.iterate(bfs.discover, state, [3])
        assert not state._untouched
        check(g, 3, bfs.BFS(state.level, state.parent))


def test_fields_that_a_user_may_have_written_to_are_copied():
    g = graph().reorder("degree")
    state = g.state(level=weft.full(-1, weft.int32), parent=weft.full(-1, weft.vertex_id))
    state.level[3], state.parent[3] = 0, 3
    g.iterate(bfs.discover, state, [3])
    check(g, 3, bfs.BFS(state.level, state.parent))


def test_runs_that_are_watched_are_watched(found):
    g = graph()
    weft.bfs(g, 0)
    with weft.profile() as told:
        weft.bfs(g, 0)
    assert len(told.records) > 1 and found == [False, True]


def test_graphs_are_not_kept_alive():
    g = graph()
    weft.bfs(g, 0)
    weft.bfs(g, 0)
    state = g.state(x=weft.full(0))  # holds the version
    topology = weakref.ref(g.topology)
    del g
    gc.collect()
    assert topology() is None and len(state.x) == 64


def test_threads_call_at_once():
    g = graph()
    want = [weft.bfs(g, s).level for s in range(8)]
    wrong = []

    def search(s):
        for _ in range(10):
            if not np.array_equal(weft.bfs(g, s).level, want[s]):
                wrong.append(s)

    threads = [threading.Thread(target=search, args=(s,)) for s in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
