"""Whole calls through the driver of a GPU, whose launches run in the emulation."""

import threading

import numpy as np
import pytest

import fake_cuda
import weft
from algorithms.test_bfs import check
from weft.algorithms.bfs import BFS, discover
from weft.backends.cuda.host import bind as binding


@pytest.fixture
def cuda(monkeypatch, compile_cuda):
    with fake_cuda.installed(monkeypatch) as found:
        yield found


@pytest.fixture(scope="module")
def host():
    return weft.generators.rmat(6, 4, seed=3, weights="int")


def searched(g, source, **options):
    return BFS(*(part.get() for part in weft.bfs(g, source, **options)))


def test_searches_of_small_graphs_take_two_launches(cuda, host):
    g = host.to("cuda")
    for source in (0, 9, 9):
        cuda.launches.clear()
        check(host, source, searched(g, source))
        fill, run = cuda.launches
        assert (fill.kernel, fill.grid) == ("fill_fields", 1)
        assert (run.kernel, run.grid, run.cluster, run.cooperative) == ("run_all", 2, 2, False)
    assert cuda.events == 0  # the kernel says itself when it has ended


@pytest.mark.parametrize("chosen", [{"width": "cluster"}, {"width": "grid"}, {"fuse": "none"}])
def test_other_grids_and_launches(cuda, host, chosen):
    config = weft.Config(**chosen)
    g = host.to("cuda")
    for source in (0, 9):
        check(host, source, searched(g, source, config=config))
    last = cuda.launches[-1]
    alone = "fuse" in chosen  # the end of the launch is the barrier
    assert last.cooperative is not alone and (cuda.events > 0) is alone


def test_threads_have_workspaces_and_contexts_of_their_own(cuda, host):
    g = host.to("cuda")
    found = {}

    def search(source):
        found[source] = [searched(g, source) for _ in range(2)]

    threads = [threading.Thread(target=search, args=(source,)) for source in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert cuda.contexts == 3
    for source, results in found.items():
        for result in results:
            check(host, source, result)


def test_trails_that_are_too_long_and_last_frontiers(cuda, monkeypatch):
    monkeypatch.setattr(binding, "TRAIL_STEPS", 4)
    g = weft.generators.path(20).to("cuda")
    state = g.state(level=weft.full(-1, weft.int32).but(0, 0), parent=weft.full(-1, weft.vertex_id))
    run = g.iterate(discover, state, [0], trail=True, max_iter=15)
    assert run.steps == 15 and [part.tolist() for part in run.trail] == [[k] for k in range(15)]
    assert run.frontier.tolist() == [15] and len(cuda.launches) > 2
    later = g.iterate(discover, state, run.frontier, max_iter=1)
    assert later.frontier.tolist() == [16] and run.frontier.tolist() == [15]
    assert np.array_equal(state.level.get()[:17], np.arange(17))
