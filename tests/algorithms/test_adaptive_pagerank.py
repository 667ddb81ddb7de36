"""Adaptive PageRank: as accurate as the plain one, and never more arcs, by counters."""

import functools

import numpy as np
import pytest

import weft

DAMPING = 0.85


def _directed_kron():
    src, dst = weft.generators.rmat(9, 8, seed=5).to_edges()[:2]
    turned = np.random.default_rng(0).random(len(src)) < 0.5
    return weft.Graph.from_edges(
        np.where(turned, src, dst), np.where(turned, dst, src), num_vertices=512
    )


GRAPHS = {
    "kron": lambda: weft.generators.rmat(10, 12, seed=1),
    "kron directed": _directed_kron,  # with vertices that have in-edges alone
    "road": lambda: weft.generators.road(32, seed=1),
    "planted": lambda: weft.generators.planted(2**10, 8, 12, seed=3),
    "cycle": lambda: weft.Graph.from_edges(np.r_[:300, 5], np.r_[1:300, 0, 100]),
}


@functools.cache
def graph_of(name):
    return GRAPHS[name]()


@functools.cache
def exact_ranks(name, home=None):
    """Iterate in float64 until nothing but rounding moves."""
    g = graph_of(name)
    src, dst = g.to_edges()[:2]
    if not g.directed:
        proper = src != dst
        src, dst = np.r_[src, dst[proper]], np.r_[dst, src[proper]]
    n = g.num_vertices
    degree = np.bincount(src, minlength=n)
    jump = np.full(n, 1 / n) if home is None else np.arange(n) == home
    rank = np.full(n, 1 / n)
    for _ in range(500):
        arrived = np.bincount(dst, (rank / np.maximum(degree, 1))[src], n)
        new = DAMPING * (arrived + rank[degree == 0].sum() * jump) + (1 - DAMPING) * jump
        moved, rank = abs(new - rank).sum(), new
        if moved < 1e-14:
            break
    return rank


def counted(call):
    with weft.profile() as record:
        rank = call()
    steps = {(step.call, step.step) for step in record.records}
    return rank, sum(step.edges for step in record.records), len(steps)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("home", [None, 7])
def test_never_more_arcs_than_plain(name, home):
    g, exact = graph_of(name), exact_ranks(name, home)
    for tol in (1e-4, 1e-6, 1e-8, 1e-10):
        options = {"tol": tol, "max_iter": 300}
        options["personalization"] = None if home is None else {home: 1.0}
        rank, arcs, _ = counted(lambda given=options: weft.pagerank(g, adaptive=True, **given))
        _, most, _ = counted(lambda given=options: weft.pagerank(g, **given))
        assert arcs <= most, tol
        assert arcs < 0.9 * most or tol > 1e-8 or name == "kron directed", tol
        assert abs(rank - exact).sum() <= tol * DAMPING / (1 - DAMPING)
        assert rank.sum() == pytest.approx(1) and (rank >= 0).all()


def test_never_more_arcs_on_the_emulated_device():
    g = graph_of("road").to("emulated")
    rank, arcs, _ = counted(lambda: weft.pagerank(g, tol=1e-8, adaptive=True))
    _, most, _ = counted(lambda: weft.pagerank(g, tol=1e-8, max_iter=200))
    assert arcs < 0.5 * most
    assert abs(rank - exact_ranks("road")).sum() <= 1e-7


@pytest.mark.parametrize("device", ["cpu", "emulated"])
def test_few_movers_push(device):
    g = graph_of("cycle").to(device)
    with weft.profile() as record:
        rank = weft.pagerank(g, tol=1e-8, adaptive=True)
    pushes = [step for step in record.records if step.direction == "push"]
    assert len(pushes) > 20 and max(step.edges for step in pushes) < 20
    assert abs(rank - exact_ranks("cycle")).sum() <= 1e-7


def test_deterministic_runs_sweep_alone():
    g, config = graph_of("cycle"), weft.Config(deterministic=True)
    rank, arcs, _ = counted(lambda: weft.pagerank(g, tol=1e-8, adaptive=True, config=config))
    _, most, _ = counted(lambda: weft.pagerank(g, tol=1e-8))
    assert arcs <= most
    assert abs(rank - exact_ranks("cycle")).sum() <= 1e-7


def test_float32():
    rank = weft.pagerank(graph_of("kron").to("emulated"), adaptive=True, dtype=np.float32)
    assert rank.dtype == np.float32
    np.testing.assert_allclose(rank, exact_ranks("kron"), atol=1e-6)


@pytest.mark.parametrize("n", [0, 3])
def test_no_edges(n):
    alone = weft.Graph.from_edges([], [], num_vertices=n)
    np.testing.assert_allclose(weft.pagerank(alone, adaptive=True), np.full(n, 1 / max(n, 1)))


@pytest.mark.parametrize("name", [name for name in GRAPHS if name != "cycle"])
def test_the_acc_program_needs_about_as_much_as_plain(name):
    g = graph_of(name)
    for tol in (1e-4, 1e-6, 1e-9):
        rank, arcs, steps = counted(lambda most=tol: weft.acc.pagerank(g, tol=most))
        plain = counted(lambda most=tol: weft.pagerank(g, tol=most, max_iter=300))
        assert arcs <= plain[1] + 1.3 * g.topology.num_arcs and steps <= 2.2 * plain[2], tol
        assert abs(rank - exact_ranks(name)).sum() <= 2 * tol / (1 - DAMPING)


@pytest.mark.parametrize("device", ["cpu", "emulated"])
def test_a_vertex_step_that_gathers_nothing_looks_at_no_arcs(device):
    g = weft.generators.star(9).to(device)

    @weft.vertex
    def double(v):
        v.x = 2 * v.x

    with weft.profile() as record:
        g.run(double, g.state(x=weft.full(1)))
    assert [step.edges for step in record.records] == [0]
