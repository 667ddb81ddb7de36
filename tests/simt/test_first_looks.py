"""Pulls that look at the neighbor of highest degree first, as CUDA in the emulation."""

import importlib

import numpy as np
import pytest
from hypothesis import given, settings

import weft
from graphs import AWKWARD, graphs
from weft.algorithms.bfs import discover

ON = weft.Config(best_neighbor=True, direction="pull")
check_components = importlib.import_module("algorithms.test_connected_components").check
check_bfs = importlib.import_module("algorithms.test_bfs").check


@weft.edge(into="seen", reduce=weft.or_, accept=lambda v: ~v.seen)
def reach(u, v, e):
    return weft.send(True, when=u.out_degree > 1)


@weft.edge(into="over", reduce=weft.any, accept=lambda v: v.over < 0)
def by_edge(u, v, e):
    return e.id


def passes(step, g, config=ON, **fields):
    return weft.explain(step, g, g.state(**fields), [0], config=config).passes


@pytest.mark.parametrize("name", [name for name in AWKWARD if AWKWARD[name]().num_vertices])
def test_awkward_graphs(name):
    g = AWKWARD[name]()
    check_bfs(g, 0, weft.bfs(g.to("emulated"), 0, config=ON))


@settings(max_examples=15, deadline=None)
@given(graphs(max_vertices=40, max_edges=150, directed=True))
def test_drawn_graphs(g):
    if g.num_vertices:
        check_bfs(g, 0, weft.bfs(g.to("emulated"), 0, config=ON))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"frontier_in": {"pull": "reverse_queue"}},
        {"frontier_in": {"pull": "state"}, "frontier_out": "bytemap"},
        {"block_size": 256, "fuse": "none"},
    ],
    ids=str,
)
def test_rows_that_wait_for_a_whole_warp(options):
    g = weft.generators.rmat(9, 8, seed=3)
    source = int(np.argmin(np.where(g.topology.out_degree > 0, g.topology.out_degree, 1 << 30)))
    config = weft.Config(best_neighbor=True, **options)
    check_bfs(g, source, weft.bfs(g.to("emulated"), source, config=config))


def test_messages_that_saturate_and_are_sent_on_a_condition():
    g = weft.generators.rmat(7, 3, seed=5, directed=True)
    found = []
    for place, config in ((g, None), (g.to("emulated"), ON)):
        state = place.state(seen=weft.full(False).but(0, True))
        place.iterate(reach, state, [0], config=config)
        found.append(state.seen.tolist())
    assert found[0] == found[1] and 1 < sum(found[0]) < g.num_vertices
    assert "best_neighbor" in passes(reach, g.to("emulated"), seen=False)


@pytest.mark.parametrize("name", ["isolated vertices", "parallel edges undirected", "hub"])
def test_components_are_linked_by_it(name):
    g = AWKWARD[name]()
    check_components(g, weft.connected_components(g.to("emulated"), config=ON))


def test_where_it_is_used():
    g = weft.generators.rmat(6, 4, seed=5).to("emulated")
    levels = {"level": weft.full(-1, np.int32), "parent": weft.full(-1, weft.vertex_id)}
    assert "best_neighbor" in passes(discover, g, **levels)
    for off in ({"best_neighbor": False}, {}, {"best_neighbor": True, "deterministic": True},
                {"best_neighbor": True, "schedule": "warp"}):  # fmt: skip
        assert "best_neighbor" not in passes(discover, g, weft.Config(**off), **levels), off
    assert "best_neighbor" not in passes(by_edge, g, over=weft.full(-1))
