"""Sums of constants that are counted in place, as CUDA in the emulation."""

import importlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from agreement import agreed, emulated, interpreted, on_device
from graphs import AWKWARD, graphs
from simt.test_configs import driver
from weft.algorithms.core_number import drop_neighbor, find_next, has_next

ON = {"combine": "in_place"}
check_cores = importlib.import_module("algorithms.test_core_number").check
CONFIGS = [
    weft.Config(**ON, **more)
    for more in (
        {},
        {"direction": "push", "schedule": "warp", "frontier_out": "bytemap"},
        {"direction": "pull", "fuse": "none"},
    )
]


@weft.edge(
    into="left", reduce=weft.sum, accept=lambda v: v.open, active=lambda v, old, k: v.left <= k
)
def lower(u, v, e):
    return -1


@weft.edge(into="held", reduce=weft.sum, active=lambda v, old: v.limit < v.held)
def raise_(u, v, e):
    return 1


@weft.edge(into="held", reduce=weft.sum, active=lambda v, old: v.held != v.limit)
def differs(u, v, e):
    return 1


@weft.edge(into="held", reduce=weft.sum, active=lambda v, old: v.held > 3)
def by_weight(u, v, e):
    return u.limit


@weft.edge(into="held", reduce=weft.sum, active=lambda v, old: v.held > 3)
def by_state(u, v, e):
    return weft.send(1, when=v.held < 9)


@pytest.fixture(autouse=True, scope="module")
def on_emulation():
    with on_device("emulated"):
        yield


def lowered(g, k, seed=1):
    """Some vertices are below the threshold from the start, some are closed."""
    rng = np.random.default_rng(seed)
    return {
        "left": rng.integers(-3, 12, g.num_vertices).astype(np.int32),
        "open": rng.random(g.num_vertices) < 0.8,
        "k": weft.scalar(k),
    }


def passes(step, g, config=CONFIGS[0], **fields):
    return weft.explain(step, g, g.state(**fields), frontier=[0], config=config).passes


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_graphs(name):
    g = AWKWARD[name]()
    if g.num_vertices:
        first = sorted({0, g.num_vertices - 1})
        fields = lowered(g, 2)
        agreed(g, lower, fields, first, mode="iterate", max_iter=6, configs=CONFIGS[:1])


@settings(max_examples=20, deadline=None)
@given(graphs(max_vertices=30, max_edges=120, keep="both"), st.integers(-4, 8))
def test_drawn_graphs(g, k):
    if g.num_vertices:
        fields = lowered(g, k)
        agreed(g, lower, fields, [0], mode="iterate", max_iter=5, configs=CONFIGS)


def test_thresholds_of_their_own():
    g = weft.generators.rmat(8, 4, seed=3, directed=True)
    rng = np.random.default_rng(2)
    fields = {"held": np.zeros(g.num_vertices, int), "limit": rng.integers(-1, 9, g.num_vertices)}
    agreed(g, raise_, fields, None, mode="iterate", max_iter=4, configs=CONFIGS)


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
@pytest.mark.parametrize("direction", ["push", "pull"])
def test_sanitizers_find_nothing(sanitizer, direction):
    g = weft.generators.rmat(6, 6, seed=4)
    fields, options = lowered(g, 3), {"mode": "iterate", "max_iter": 4}
    want = interpreted(g, lower, fields, None, **options)
    for seed in range(2):
        choices = {**ON, "direction": direction, "driver": driver(sanitizer, seed)}
        got = emulated(g, lower, fields, None, choices=choices, **options)
        np.testing.assert_array_equal(got.state.fields["left"], want.state.fields["left"])
        assert got.outcome.frontier.tolist() == want.outcome.frontier.tolist()


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
def test_sanitizers_find_nothing_in_peeling(sanitizer):
    g, k = weft.generators.rmat(6, 6, seed=4), 4
    degree = np.diff(g.topology.out.offsets).astype(np.int32)
    low = np.flatnonzero(degree <= k)
    core = np.where(degree <= k, k, -1).astype(np.int32)
    kept = weft.scalar(k, np.int32)
    fields = {"degree": degree, "core": core, "k": kept}
    for seed in range(2):
        choices = {**ON, "driver": driver(sanitizer, seed)}
        got = emulated(g, drop_neighbor, fields, low.tolist(), choices=choices, mode="iterate")
        peeled = got.state.fields["core"] == k
        assert np.array_equal(peeled, weft.core_number(g) <= k)


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
def test_sanitizers_find_nothing_in_rounds_over_what_is_left(sanitizer):
    g = weft.generators.rmat(6, 6, seed=4)
    fields = {
        "degree": np.diff(g.topology.out.offsets).astype(np.int32),
        "core": np.full(g.num_vertices, -1, np.int32), "k": weft.scalar(-1, np.int32),
    }  # fmt: skip
    options = {"mode": "iterate", "refill": [find_next, has_next]}
    for seed in range(2):
        choices = {**ON, "fuse": ("all", "none")[seed], "driver": driver(sanitizer, seed)}
        got = emulated(g, drop_neighbor, fields, [], choices=choices, **options)
        np.testing.assert_array_equal(got.state.fields["core"], weft.core_number(g))


@pytest.mark.parametrize("name", ["self-loops", "parallel edges", "two cliques", "hub"])
def test_cores_are_peeled_in_place(name):
    g = AWKWARD[name]()
    check_cores(g, weft.core_number(g.to("emulated"), config=CONFIGS[0]))


def test_cores_of_a_skewed_graph():
    g = weft.generators.rmat(8, 8, seed=3)
    for config in CONFIGS[:2]:
        with weft.profile() as told:
            check_cores(g, weft.core_number(g.to("emulated"), config=config))
        assert {record.direction for record in told.records} <= {"push", "vertex"}


def test_where_it_is_used():
    g = weft.generators.rmat(5, 4, seed=3).to("emulated")
    fields = {"left": weft.full(5, np.int32), "open": weft.full(True), "k": weft.scalar(1)}
    for on in ({}, ON):
        assert "counted" in passes(lower, g, weft.Config(**on), **fields)
    for off in ({"combine": "atomic"}, {"deterministic": True}, {**ON, "deterministic": True}):
        assert "counted" not in passes(lower, g, weft.Config(**off), **fields), off
    narrow = {**fields, "left": weft.full(5, np.int8)}
    assert "counted" not in passes(lower, g, **narrow)
    held = {"held": weft.full(0), "limit": weft.full(3)}
    assert "counted" in passes(raise_, g, **held)
    for step in (differs, by_weight, by_state):
        assert "counted" not in passes(step, g, **held), step.name
