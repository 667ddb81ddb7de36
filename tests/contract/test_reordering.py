"""Reordered graphs: whatever a program sees, stores or returns is in the user's numbers.

Every run is compared with the interpreter's on the graph as the user knows it. One kernel serves
all orders of a program, so that many graphs and orders are tried with each.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from agreement import agreed, on_device
from graphs import edge_lists
from weft.errors import FaultError

PUSHED = [weft.Config(direction="push", reorder="random")]
PULLED = [weft.Config(direction="pull", reorder="random")]
devices = pytest.mark.parametrize("device", ["cpu", "emulated"])


def multigraph(directed: bool, **options) -> weft.Graph:
    """Return 24 vertices with parallel edges, self-loops and isolated ones among them."""
    rng = np.random.default_rng(12)
    src, dst = rng.integers(0, 21, (2, 70))
    src[:4], dst[:4] = [2, 2, 5, 5], [2, 7, 5, 7]
    g = weft.Graph.from_edges(src, dst, num_vertices=24, directed=directed, **options)
    g.edge["weight"] = rng.integers(0, 9, g.num_edges)
    return g


@weft.edge(into=("least", "total"), reduce=(weft.min, weft.sum))
def look(u, v, e):
    e.mark = e.reverse.mark + u.id * 100 + e.id
    return u.id * 1000 + e.id, e.weight * u.size + v.id


@devices
@pytest.mark.parametrize("configs", [PUSHED, PULLED], ids=["pushed", "pulled"])
def test_ids_columns_and_edge_state_are_the_users(device, configs):
    g = multigraph(False, index_dtype=np.int64 if configs is PULLED else None)
    fields = {"least": np.full(24, 10**9), "total": np.zeros(24, np.int64)}
    fields["size"] = np.arange(24) % 7
    edges = {"mark": np.arange(g.topology.num_arcs)}
    with on_device(device):
        agreed(g, look, fields, [1, 2, 5, 6, 11, 20], edges=edges, configs=configs)


@weft.edge(into="seen", reduce=weft.max)
def note(u, v, e):
    return e.id * 100 + u.id


@devices
@pytest.mark.parametrize("keep", ["both", "in"])
def test_frontiers_of_arcs_are_the_users(device, keep):
    g = multigraph(True, keep=keep)
    arcs = g.edge_frontier([0, 3, 4, 17, 40, 69])
    with on_device(device):
        agreed(g, note, {"seen": np.full(24, -1)}, arcs, configs=[weft.Config(reorder="random")])


@weft.vertex
def jump(v):
    v.grandparent = v.parent.at(v.parent)
    v.common = weft.common(v.id, v.parent, lambda w: w.id + 1, weft.sum)
    v.count.at(v.parent).add(v.id)
    v.changed = v.grandparent != v.old.grandparent


@devices
def test_computed_vertices_are_the_users(device):
    g = multigraph(False)
    fields = {name: np.zeros(24, np.int64) for name in ("grandparent", "common", "count")}
    fields["parent"] = np.arange(24)[::-1] // 2
    with on_device(device):
        agreed(g, jump, fields, configs=[weft.Config(reorder="random")])


@weft.edge(into="level", reduce=weft.min)
def spread(u, v, e):
    return u.level + 1


@weft.edge(into="paths", reduce=weft.sum)
def count(u, v, e):
    return weft.send(u.level + v.id, when=u.level < v.level)


@devices
def test_trails_and_frontiers_are_the_users(device):
    g = multigraph(True)
    level = np.full(24, 1000)
    level[4] = 0
    with on_device(device):
        options = {"mode": "iterate", "max_iter": 5, "trail": True}
        done = agreed(g, spread, {"level": level}, [4], configs=PUSHED, **options)
        fields = {"level": np.asarray(done.level), "paths": np.zeros(24, np.int64)}
        trail = [np.asarray(part) for part in done.trail]
        agreed(g, count, fields, mode="replay", trail=trail, configs=PUSHED)


@weft.edge(into="first", reduce=weft.min)
def by_position(u, v, e):
    return e.rank * 100 + u.id


@weft.vertex
def last_neighbour(v):
    v.first = weft.neighbor(v.id, weft.degree(v.id) - 1) * 100 + weft.neighbor_edge(v.id, 0)


def test_positions_within_rows_are_the_users():
    g = multigraph(True)
    fields = {"first": np.full(24, 10**6)}
    some = np.flatnonzero(g.out_degree)
    for function in (by_position, last_neighbour):
        agreed(g, function, fields, some, configs=[weft.Config(reorder="random", threads=1)])


@weft.edge(into="parent", reduce=weft.any)
def claim(u, v, e):
    return u.id


def test_deterministic_choices_do_not_depend_on_the_order():
    g = multigraph(True)
    fields = {"parent": np.full(24, -1)}
    configs = [weft.Config(deterministic=True, reorder=r, threads=1) for r in ("none", "random")]
    agreed(g, claim, fields, configs=configs)


@weft.vertex
def stray(v):
    v.x = v.x.at(weft.where(v.id == 13, 99, v.id))


@devices
def test_faults_name_the_users_vertex(device):
    g = multigraph(True).to(device).reorder("random")
    with pytest.raises(FaultError, match="at vertex 13"):
        g.run(stray, g.state(x=np.zeros(24)))


def test_an_arc_without_opposite_is_named_by_the_users_vertices():
    @weft.edge(into="x", reduce=weft.sum)
    def answer(u, v, e):
        e.mark = e.reverse.mark
        return e.mark

    g = weft.Graph.from_edges([3, 1, 2], [1, 3, 0]).reorder([2, 3, 1, 0])
    with pytest.raises(weft.errors.GraphError, match="The arc 2 -> 0 has no opposite"):
        g.run(answer, g.state(x=weft.full(0)), edge_state=g.edge_state(mark=weft.full(0)))


@settings(max_examples=25, deadline=None)
@given(edge_lists(weights="int", min_vertices=1), st.data())
def test_algorithms_on_drawn_graphs_and_orders(edges, data):
    order = data.draw(st.permutations(range(edges.num_vertices)))
    g = edges.build()
    h = g.reorder(order)
    source = data.draw(st.integers(0, edges.num_vertices - 1))
    assert weft.bfs(h, source).level.tolist() == weft.bfs(g, source).level.tolist()
    levels = weft.bfs(h, source)
    for v, parent in enumerate(levels.parent.tolist()):
        if parent not in (-1, v):
            assert levels.level[parent] == levels.level[v] - 1
    assert weft.connected_components(h).tolist() == weft.connected_components(g).tolist()
    np.testing.assert_array_equal(weft.sssp(h, source).dist, weft.sssp(g, source).dist)
    np.testing.assert_allclose(weft.pagerank(h), weft.pagerank(g), rtol=1e-12)
    assert weft.core_number(h).tolist() == weft.core_number(g).tolist()


def test_config_chooses_the_order_of_a_run():
    g = multigraph(False)
    want = weft.connected_components(g)
    for name in (None, "none", *weft.config.ORDERS):
        got = weft.connected_components(g.reorder("hub"), config=weft.Config(reorder=name))
        np.testing.assert_array_equal(got, want)
    told = weft.explain(claim, g, g.state(parent=weft.full(-1)), config=weft.Config(reorder="hub"))
    assert "vertex_ids" in told.source
    plain = g.reorder("hub")
    told = weft.explain(
        claim, plain, plain.state(parent=weft.full(-1)), config=weft.Config(reorder="none")
    )
    assert "vertex_ids" not in told.source
