"""Orders of vertices: every vertex once, what each order promises, and arranged topologies."""

from __future__ import annotations

import copy
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.orders import gap_cost

import fake_cupy
import weft
from graphs import AWKWARD, EdgeList, edge_lists
from weft.arrays.device import CPU
from weft.config import ORDERS
from weft.errors import ConfigError, GraphError
from weft.topology.orders import arranged, base, community, device_community, order_of


def planted(communities: int = 8, size: int = 16) -> tuple[weft.Graph, np.ndarray]:
    """Return cliques that few edges connect, shuffled, and the clique of each vertex."""
    rng = np.random.default_rng(3)
    n = communities * size
    clique = np.arange(n) // size
    src, dst = np.triu_indices(n, 1)
    kept = (clique[src] == clique[dst]) | (rng.random(src.size) < 0.005)
    shuffled = rng.permutation(n)
    g = weft.Graph.from_edges(
        shuffled[src[kept]], shuffled[dst[kept]], directed=False, num_vertices=n
    )
    belongs = np.empty(n, int)
    belongs[shuffled] = clique
    return g, belongs


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", AWKWARD)
def test_every_order_has_every_vertex_once(name, order):
    topology = AWKWARD[name]().topology
    chosen = order_of(topology, order)
    assert chosen.dtype == topology.index_dtype
    assert chosen.flags.c_contiguous
    assert sorted(chosen.tolist()) == list(range(topology.num_vertices))


def test_degree_order_falls_and_keeps_ties_in_order():
    g = weft.generators.powerlaw(300, mean_degree=6, seed=2)
    degree = g.out_degree[order_of(g.topology, "degree")].tolist()
    ids = order_of(g.topology, "degree").tolist()
    assert [(-d, v) for d, v in zip(degree, ids, strict=True)] == sorted(
        (-d, v) for d, v in zip(g.out_degree.tolist(), range(300), strict=True)
    )


def test_directed_degree_counts_both_ends():
    g = weft.Graph.from_edges([0, 1, 3, 4], [2, 2, 2, 0], num_vertices=5)
    assert order_of(g.topology, "degree").tolist() == [2, 0, 1, 3, 4]


def test_hubs_come_first_and_all_keep_their_order():
    g = weft.Graph.from_edges([0, 0, 0, 3, 5], [1, 2, 3, 5, 4], directed=False)
    # The mean degree is 10 / 6: above it are 0 (3), 3 (2) and 5 (2).
    assert order_of(g.topology, "hub").tolist() == [0, 3, 5, 1, 2, 4]


def test_community_order_puts_planted_communities_side_by_side():
    g, belongs = planted()
    met = belongs[order_of(g.topology, "community")]
    assert int((met[1:] != met[:-1]).sum()) == len(set(belongs.tolist())) - 1


@pytest.mark.parametrize("name", ["llp", "gorder"])
def test_neighbors_lie_closer_than_at_random(name):
    g, belongs = planted()
    for directed in (False, True):
        src, dst = g.to_edges()[:2]
        given = weft.Graph.from_edges(src, dst, directed=directed, num_vertices=g.num_vertices)
        costs = {order: gap_cost(given, order_of(given.topology, order)) for order in ORDERS}
        assert costs[name] < 0.7 * costs["random"] and costs[name] < costs["degree"]
    met = belongs[order_of(g.topology, name)]
    assert int((met[1:] != met[:-1]).sum()) < 3 * len(set(belongs.tolist()))


def test_gorder_takes_the_highest_score_next():
    """Compare with the definition, score by score, on small graphs."""
    for seed in range(8):
        g = weft.generators.rmat(5, 3, seed=seed, directed=bool(seed % 2), duplicates="keep")
        a, b = g.to_edges()[:2]
        there = np.zeros((g.num_vertices, g.num_vertices), int)
        there[a[a != b], b[a != b]] = there[b[a != b], a[a != b]] = 1
        wide = there.sum(axis=1) > int(np.sqrt(g.num_vertices))
        common = there @ np.diag(np.where(wide, 0, 1)) @ there
        order = order_of(g.topology, "gorder").tolist()
        assert there.sum(axis=1)[order[0]] == there.sum(axis=1).max()
        for place in range(1, g.num_vertices):
            window = order[max(0, place - 5) : place]
            scores = (there + common)[window].sum(axis=0)
            assert scores[order[place]] == scores[order[place:]].max()


def test_labels_keep_cliques_together():
    tri = [(0, 1), (1, 2), (2, 0)]
    edges = [(a + k, b + k) for k in (0, 3, 6, 9) for a, b in tri] + [(2, 3), (8, 9)]
    shuffled = np.random.default_rng(2).permutation(12)
    src, dst = shuffled[np.array(edges)].T
    order = order_of(weft.Graph.from_edges(src, dst, directed=False).topology, "llp")
    place = np.argsort(order)
    for first in range(0, 12, 3):
        taken = place[shuffled[first : first + 3]]
        assert taken.max() - taken.min() == 2


@given(edge_lists(weights=None, max_vertices=30, max_edges=90))
def test_community_orders_of_hosts_and_devices_are_equal(edges: EdgeList):
    rows = edges.build().topology.out
    want = community.community_order(rows.offsets, rows.targets, edges.directed)
    got = device_community.community_order(rows.offsets, rows.targets, edges.directed)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("directed", [False, True])
def test_community_orders_of_larger_graphs_are_equal(directed):
    for g in (
        weft.generators.rmat(10, 12, seed=4, directed=directed, duplicates="keep"),
        weft.generators.planted(900, 60, 20, seed=4, directed=directed),
    ):
        rows = g.topology.out
        want = community.community_order(rows.offsets, rows.targets, directed)
        got = device_community.community_order(rows.offsets, rows.targets, directed)
        np.testing.assert_array_equal(got, want)


def test_cuthill_mckee_narrows_the_band():
    g = weft.generators.grid(20, 20).reorder("random")
    src, dst = g.to_edges()[:2]
    shuffled = weft.Graph.from_edges(g.order[src], g.order[dst], directed=False)

    def band(order):
        place = np.argsort(order)
        a, b = shuffled.to_edges()[:2]
        return int(np.abs(place[a] - place[b]).max())

    assert band(order_of(shuffled.topology, "rcm")) < 40 < band(np.arange(400))


def test_unknown_orders_and_bad_arrays_are_refused():
    g = weft.generators.path(4)
    with pytest.raises(ConfigError, match=r"reorder='degre' .* Did you mean 'degree'"):
        g.reorder("degre")
    with pytest.raises(GraphError, match=r"shape \(3,\). Expected integers of shape \(4,\)"):
        g.reorder([0, 1, 2])
    for bad in ([0, 1, 2, 2], [0, 1, 2, 4], [0, 1, 2, -1]):
        with pytest.raises(GraphError, match=r"not a permutation|every vertex number once"):
            g.reorder(bad)
    with pytest.raises(GraphError, match="float64"):
        g.reorder([0.0, 1.0, 2.0, 3.0])


# -- topologies ----------------------------------------------------------------------------------


@given(edge_lists(weights="int"), st.sampled_from(["both", "out", "in"]), st.data())
def test_arranged_topologies_hold_the_same_edges(edges: EdgeList, keep, data):
    order = np.array(data.draw(st.permutations(range(edges.num_vertices))), np.int64)
    topology = edges.build(keep=keep).topology
    held = topology.arranged(order)
    outer = list(zip(*(e.tolist() for e in topology.edge_endpoints()), strict=True))
    for direction in ("out", "in"):
        if held.keep not in ("both", direction):
            continue
        rows = held.adjacency(direction)
        near, far = order[rows.rows()], order[rows.targets]
        ids = held.edges(direction).tolist()
        source, target = (near, far) if direction == "out" else (far, near)
        met = sorted(zip(source.tolist(), target.tolist(), ids, strict=True))
        both = [(u, v, k) for k, (u, v) in enumerate(outer)]
        if not edges.directed:
            both += [(v, u, k) for u, v, k in both if u != v]
        assert met == sorted(both)
    # Canonical arcs: the same ends, each once.
    ends = [tuple(order[part].tolist()) for part in held.endpoints()]
    users = [part[held.numbering.arcs].tolist() for part in topology.endpoints()]
    assert [list(part) for part in ends] == users
    assert sorted(held.numbering.arcs.tolist()) == list(range(topology.num_arcs))


@given(edge_lists(weights="any", min_vertices=1), st.sampled_from(["both", "out", "in"]))
def test_columns_follow_the_slots(edges: EdgeList, keep):
    if edges.weight is None:
        return
    g = edges.build(keep=keep)
    held = arranged(g.topology, "random")
    for direction in ("out", "in"):
        if held.keep not in ("both", direction):
            continue
        slots = g.edge.in_slots("weight", direction, held)
        np.testing.assert_array_equal(slots, g.edge["weight"][held.edges(direction)])
        assert g.edge.in_slots("weight", direction, held) is slots
    g.edge["weight"] = np.arange(g.num_edges)
    for direction in ("out", "in"):
        if held.keep in ("both", direction):
            slots = g.edge.in_slots("weight", direction, held)
            np.testing.assert_array_equal(slots, held.edges(direction))


def test_only_the_latest_arrangement_is_kept():
    g = weft.generators.grid(6, 6)
    before = g.memory_bytes
    first = arranged(g.topology, "random")
    assert arranged(g.topology, "random") is first
    assert g.memory_bytes >= before + first.memory_bytes
    arranged(g.topology, "degree")
    del first
    again = arranged(g.topology, "random")
    assert again.numbering is not None


def test_slow_orders_outlast_small_changes(monkeypatch):
    calls = []
    maker = base._MAKERS["community"]
    monkeypatch.setitem(base._MAKERS, "community", lambda t: (calls.append(t), maker(t))[1])
    g, _ = planted()
    config = weft.Config(reorder="community")
    weft.bfs(g, 0, config=config)
    gone = [ends[:3] for ends in g.to_edges()[:2]]
    g.update(add={"src": [0, 128], "dst": [1, 130], "num_vertices": 131}, remove=gone)
    want = weft.Graph.from_edges(*g.to_edges()[:2], directed=False, num_vertices=131)
    assert weft.bfs(g, 0, config=config).level.tolist() == weft.bfs(want, 0).level.tolist()
    assert len(calls) == 1
    order = arranged(g.topology, "community").numbering.order.tolist()
    assert sorted(order) == list(range(131)) and order[-3:] == [128, 129, 130]
    rng = np.random.default_rng(1)
    g.update(add=tuple(rng.integers(0, 131, (2, 200))))
    weft.bfs(g, 0, config=config)
    assert len(calls) == 2  # too much has changed


def test_graphs_stay_in_order_when_moved_turned_and_copied():
    g = weft.Graph.from_edges([0, 2, 3], [1, 1, 1], weight=[1.0, 2.0, 3.0]).reorder("degree")
    kept = [g.to("emulated"), g.reverse(), g.to_undirected(), copy.deepcopy(g)]
    kept.append(pickle.loads(pickle.dumps(g)))
    assert all(h.order.tolist() == [1, 0, 2, 3] for h in kept)
    assert g.subgraph([0, 1]).order is None
    assert weft.generators.path(3).order is None
    np.testing.assert_array_equal(g.to_edges().src, [0, 2, 3])


def test_orders_are_made_on_a_gpu(monkeypatch):
    g = weft.generators.powerlaw(60, mean_degree=4, seed=5, directed=True)
    with fake_cupy.installed(monkeypatch):
        there = g.to("cuda")
        for name in ORDERS:
            order = there.reorder(name).order
            assert type(order).__module__ != "numpy"
            assert order.get().tolist() == order_of(g.topology, name).tolist()
            held, here = arranged(there.topology, name), arranged(g.topology, name)
            for part in ("offsets", "targets"):
                got = getattr(held.in_, part).get()
                np.testing.assert_array_equal(got, getattr(here.in_, part))
            np.testing.assert_array_equal(held.numbering.arcs.get(), here.numbering.arcs)
            back = held.to(CPU)
            np.testing.assert_array_equal(back.edges("in"), here.edges("in"))
