"""Ordered relaxation within a horizon as CUDA: the same fixpoint as without, from any start."""

import numpy as np
import pytest
from hypothesis import given, settings

import weft
from agreement import agreed, emulated, interpreted, on_device
from cpu.test_horizon import distances, nearer, nearer_by, turned_priority, wider
from graphs import AWKWARD, graphs
from simt.test_configs import driver
from weft.backends.cuda.codegen import horizon as rendered

ON = weft.Config(ordering="horizon")
CONFIGS = [ON, weft.Config(ordering="horizon", schedule="warp", fuse="none")]


@pytest.fixture(autouse=True, scope="module")
def anywhere():
    """Choose a horizon in the first superstep."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rendered, "WIDE", 1)
        weft.clear_caches()
        with on_device("emulated"):
            yield
    weft.clear_caches()


def check(g, start, configs=CONFIGS):
    fields = distances(g.num_vertices, start)
    agreed(g, nearer, fields, start, mode="iterate", steps=False, configs=configs)


def passes(step, g, config=ON, **fields):
    return weft.explain(step, g, g.state(**fields), frontier=[0], config=config).passes


@pytest.mark.parametrize("name", [name for name in AWKWARD if AWKWARD[name]().num_vertices])
def test_awkward_graphs(name):
    check(AWKWARD[name](), [0], CONFIGS[:1])


@settings(max_examples=15, deadline=None)
@given(graphs(directed=False, weights="float", min_vertices=2, max_vertices=30, max_edges=120))
def test_drawn_graphs(g):
    check(g, [0, 1], CONFIGS[:1])


def test_skewed_graphs():
    g = weft.generators.kron(9, 16, seed=2, weights="float")
    check(g, [0])
    check(g, [1, 5, 400])


def test_vertices_outside_of_the_frontier_never_send():
    g = weft.generators.kron(8, 16, seed=3, weights="float")
    fields = distances(g.num_vertices, [0])
    fields["dist"][np.arange(20, 60)] = 0.5  # low, but they are not in the frontier
    agreed(g, nearer, fields, [0], mode="iterate", steps=False, configs=CONFIGS)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_keys_with_parents(dtype):
    g = weft.generators.kron(8, 16, seed=4, weights="int").to("emulated")
    g.edge["weight"] = g.edge["weight"].astype(dtype)
    found = []
    for config in (ON, weft.Config(passes_off="horizon", ordering="horizon")):
        dist = np.full(g.num_vertices, np.inf if dtype == np.float32 else 2**30, dtype)
        dist[7] = 0
        state = g.state(dist=dist, parent=np.full(g.num_vertices, -1))
        g.iterate(nearer_by, state, g.frontier([7]), config=config)
        found.append(state.dist)
        reached = state.parent >= 0
        assert (state.dist[state.parent[reached]] <= state.dist[reached]).all()
    np.testing.assert_array_equal(*found)


def test_a_maximum_with_a_falling_priority():
    g = weft.generators.kron(8, 16, seed=5, weights="float")
    width = np.full(g.num_vertices, -np.inf)
    width[3] = np.inf
    agreed(g, wider, {"width": width}, [3], mode="iterate", steps=False, configs=CONFIGS[:1])


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
def test_sanitizers_find_nothing(sanitizer):
    g = weft.generators.kron(7, 16, seed=2, weights="float")
    fields = distances(g.num_vertices, [1, 5])
    want = interpreted(g, nearer, fields, [1, 5], mode="iterate").state.fields["dist"]
    for seed in range(2):
        choices = {"ordering": "horizon", "block_size": 64, "driver": driver(sanitizer, seed)}
        got = emulated(g, nearer, fields, [1, 5], choices=choices, mode="iterate")
        np.testing.assert_array_equal(got.state.fields["dist"], want)


def test_where_it_is_used():
    g = weft.generators.kron(8, 16, seed=2, weights="float").to("emulated")
    source = int(np.argmax(g.out_degree))
    fields = distances(g.num_vertices, [source])
    assert "horizon" in passes(nearer, g, **fields)
    with weft.profile() as told:
        g.iterate(nearer, g.state(**fields), [source], config=ON)
    assert [record.direction for record in told.records].count("pull") == 1
    for off in ({"passes_off": "horizon"}, {"direction": "push"}, {"format": "tigr"},
                {"schedule": {"push": "twc"}}):  # fmt: skip
        config = weft.Config(**{"ordering": "horizon", **off})
        assert "horizon" not in passes(nearer, g, config, **fields), off
    assert "horizon" not in passes(nearer, g, weft.Config(), **fields)
    assert "horizon" not in passes(turned_priority, g, **fields)
