"""Ordered relaxation within a horizon: the same fixpoint as without, from any start."""

import numpy as np
import pytest
from hypothesis import given, settings

import weft
from agreement import agreed
from graphs import AWKWARD, graphs
from weft.backends.cpu.codegen import horizon as rendered
from weft.plan import horizon

THREADS = [weft.Config(threads=threads) for threads in (1, 2, 3)]


@weft.edge(into="dist", reduce=weft.min, priority=lambda v: v.dist)
def nearer(u, v, e):
    return u.dist + e.weight


@weft.edge(into=("dist", "parent"), reduce=weft.argmin, priority=lambda v: v.dist)
def nearer_by(u, v, e):
    return u.dist + e.weight, u.id


@weft.edge(into="width", reduce=weft.max, priority=lambda v: -v.width)
def wider(u, v, e):
    return weft.minimum(u.width, e.weight)


@weft.edge(into="dist", reduce=weft.min, priority=lambda v: -v.dist)
def turned_priority(u, v, e):
    return u.dist + e.weight


@pytest.fixture(autouse=True)
def anywhere(monkeypatch):
    """Let every undirected graph have a horizon, chosen in the first superstep."""
    monkeypatch.setattr(rendered, "WIDE", 1)
    monkeypatch.setattr(horizon, "_early_share", lambda topology: 0.3)


def distances(n, start, dtype=np.float64):
    """Return fields that reach the vertices `start` alone."""
    dist = np.full(n, np.inf, dtype)
    dist[start] = 0
    return {"dist": dist}


def check(g, start, configs=THREADS):
    if g.num_vertices == 0:
        return
    fields = distances(g.num_vertices, start)
    agreed(g, nearer, fields, start, mode="iterate", steps=False, configs=configs)


def test_it_is_used_where_it_is_exact():
    g = weft.generators.kron(8, 16, seed=2, weights="float")
    fields = distances(g.num_vertices, [0])
    state = g.state(**fields)
    assert "horizon" in weft.explain(nearer, g, state, frontier=[0]).passes
    off = weft.explain(nearer, g, state, frontier=[0], config=weft.Config(passes_off="horizon"))
    assert "horizon" not in off.passes
    assert "horizon" not in weft.explain(turned_priority, g, state, frontier=[0]).passes


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_graphs(name):
    check(AWKWARD[name](), [0])


@settings(max_examples=40, deadline=None)
@given(graphs(directed=False, weights="float", min_vertices=2, max_vertices=30, max_edges=120))
def test_drawn_graphs(g):
    check(g, [0])
    check(g, [0, 1], THREADS[:1])


@pytest.mark.parametrize("seed", range(3))
def test_skewed_graphs(seed):
    g = weft.generators.kron(10, 16, seed=seed, weights="float")
    check(g, [0])
    check(g, [1, 5, 900])


def test_vertices_outside_of_the_frontier_never_send():
    g = weft.generators.kron(8, 16, seed=3, weights="float")
    fields = distances(g.num_vertices, [0])
    fields["dist"][np.arange(20, 60)] = 0.5  # low, but they are not in the frontier
    agreed(g, nearer, fields, [0], mode="iterate", steps=False, configs=THREADS)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int64])
def test_keys_with_parents(dtype):
    g = weft.generators.kron(9, 16, seed=4, weights="int")
    weight = g.edge["weight"].astype(dtype)
    g.edge["weight"] = weight
    found = []
    for config in (*THREADS, weft.Config(passes_off="horizon")):
        dist = np.full(g.num_vertices, np.inf if dtype == np.float32 else 2**30, dtype)
        dist[7] = 0
        state = g.state(dist=dist, parent=np.full(g.num_vertices, -1))
        g.iterate(nearer_by, state, g.frontier([7]), config=config)
        found.append(state.dist)
        reached = state.parent >= 0
        assert (state.dist[state.parent[reached]] <= state.dist[reached]).all()
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)


def test_a_maximum_with_a_falling_priority():
    g = weft.generators.kron(9, 16, seed=5, weights="float")
    width = np.full(g.num_vertices, -np.inf)
    width[3] = np.inf
    agreed(g, wider, {"width": width}, [3], mode="iterate", steps=False, configs=THREADS)


def test_messages_that_fall_along_a_path():
    g = weft.generators.kron(8, 16, seed=6, weights="float")

    @weft.edge(into="dist", reduce=weft.min, priority=lambda v: v.dist)
    def falling(u, v, e):
        return weft.maximum(u.dist - e.weight, -3.0)

    fields = distances(g.num_vertices, [0])
    agreed(g, falling, fields, [0], mode="iterate", steps=False, configs=THREADS)


def test_only_graphs_of_uneven_degrees_have_one(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(horizon, "LEAST_ARCS", 1)
    assert horizon.early_share(weft.generators.kron(13, 16, seed=1).topology) > 0
    assert horizon.early_share(weft.generators.road(40, 0.7, seed=1).topology) == 0
    assert horizon.early_share(weft.generators.complete(40).topology) == 0
