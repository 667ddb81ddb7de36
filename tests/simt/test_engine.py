"""Every algorithm as CUDA in the emulation, on awkward graphs, against independent answers."""

from dataclasses import replace
from importlib import import_module

import networkx as nx
import numpy as np
import pytest

import weft
from graphs import AWKWARD
from networks import multigraph
from weft import acc
from weft.backends.cuda.host import options as choices
from weft.backends.cuda.host.defaults import is_deep

# One schedule for all graphs: what is chosen by their degrees would only be compiled more often.
CONFIG = weft.Config(schedule="warp")
CALLS = {
    "bfs": lambda g, c: weft.bfs(g, 0, config=c),
    "sssp": lambda g, c: weft.sssp(g, 0, config=c),
    "pagerank": lambda g, c: weft.pagerank(g, tol=1e-8, max_iter=200, config=c),
    "connected_components": lambda g, c: weft.connected_components(g, config=c),
    "core_number": lambda g, c: weft.core_number(g, config=c),
    "triangles": lambda g, c: weft.triangle_count(g, config=c),
    "clustering": lambda g, c: weft.clustering(g, config=c),
    "betweenness": lambda g, c: weft.betweenness(g, config=c),
    "label_propagation": lambda g, c: weft.label_propagation(g, 5, config=c),
}
LARGE = 100  # vertices: too many for a search from each of them


def hub():
    """Rows for a thread, a warp and a block: 1500 vertices around one, a path among them."""
    n = 1500
    src = np.concatenate([np.zeros(n - 1, int), np.arange(1, 60)])
    dst = np.concatenate([np.arange(1, n), np.arange(2, 61)])
    return weft.Graph.from_edges(src, dst, directed=False)


def check(name, g, found, **options):
    """Judge a result by the checks of the algorithm's own tests."""
    module = import_module(f"algorithms.test_{name}")
    if name in ("bfs", "sssp"):
        module.check(g, 0, found, **options)
    elif name == "triangles":
        assert found == module.expected_count(g)
    elif name == "label_propagation":
        assert found.tolist() == module.expected_labels(g, 5)
    else:
        module.check(g, found)


@pytest.mark.parametrize("name", CALLS)
def test_awkward_graphs(name):
    for called, make in AWKWARD.items():
        g = make()
        if g.num_vertices == 0 and name in ("bfs", "sssp"):
            continue
        if g.num_vertices > LARGE and name == "betweenness":
            continue
        options = {"negative": True} if name == "sssp" and called == "weights negative" else {}
        try:
            check(name, g, CALLS[name](g.to("emulated"), CONFIG), **options)
        except AssertionError as error:
            raise AssertionError(f"{called}: {error}") from None


@pytest.mark.parametrize("name", ["bfs", "connected_components", "core_number", "pagerank"])
def test_a_hub_by_the_schedule_that_is_chosen(name):
    g = hub()
    check(name, g, CALLS[name](g.to("emulated"), None))


def test_deep_searches():
    for g in (weft.generators.road(40, 0.8, seed=1), weft.generators.path(1100, directed=True)):
        assert is_deep(g.topology)
        for config in (None, weft.Config(bin_size=1)):
            check("bfs", g, weft.bfs(g.to("emulated"), 0, config=config))


def test_bins_that_are_full_again_and_again():
    g = weft.generators.road(40, 0.7, seed=1)
    found = weft.core_number(g.to("emulated"), config=replace(CONFIG, bin_size=32))
    check("core_number", g, found)


def test_deterministic_parents_lie_over_the_smallest_edge():
    g = weft.generators.rmat(6, 6, seed=5, directed=True)
    src, dst, _ = g.to_edges()
    for direction in ("auto", "pull"):
        config = weft.Config(deterministic=True, direction=direction)
        level, parent = weft.bfs(g.to("emulated"), 0, config=config)
        for v in np.flatnonzero(level > 0):
            assert parent[v] == min(src[(dst == v) & (level[src] == level[v] - 1)])


def test_programs_of_active_compute_combine():
    g = weft.generators.rmat(6, 4, seed=8, weights="int")
    place, graph = g.to("emulated"), multigraph(g)
    hops = nx.single_source_shortest_path_length(graph, 0)
    assert acc.bfs(place, 0).tolist() == [hops.get(v, -1) for v in range(g.num_vertices)]
    paths = nx.single_source_dijkstra_path_length(graph, 0)
    assert acc.sssp(place, 0)[list(paths)].tolist() == list(paths.values())
    check("connected_components", g, acc.components(place))
    want = weft.pagerank(place, tol=1e-10)
    assert np.abs(acc.pagerank(place) - want).sum() < 1e-3


@pytest.mark.parametrize("keep", ["out", "in"])
def test_one_direction_stored(keep):
    src, dst, _ = AWKWARD["social"]().to_edges()
    whole = weft.Graph.from_edges(src, dst, num_vertices=256)
    g = weft.Graph.from_edges(src, dst, num_vertices=256, keep=keep, index_dtype=np.int64)
    check("bfs", whole, weft.bfs(g.to("emulated"), 0, config=CONFIG))
    check("core_number", whole, weft.core_number(g.to("emulated"), config=CONFIG))


@weft.vertex(on="all", order_free=True)
def bump(v):
    v.bumped.at(v.id).add(1)
    return v.id >= 0


@weft.edge
def close(u, v, e):
    weft.reduce("shared", weft.common(u, v, lambda w: 1, weft.sum), weft.sum)
    return False


@weft.edge
def count_closed(u, v, e):
    weft.reduce("shared", weft.common(u, v, lambda w: 1 + w.id % 3, weft.sum), weft.sum)
    return False


@pytest.mark.parametrize("marker_bytes", [1 << 15, 1 << 10])
def test_rows_that_a_block_holds_while_it_looks_for_common_neighbours(monkeypatch, marker_bytes):
    # Rows of 64 to 250 targets, parallel arcs among them; the small table holds 128 at most.
    monkeypatch.setattr("weft.backends.cuda.host.options.MOST_MARKER_BYTES", marker_bytes)
    random = np.random.default_rng(4)
    src, dst = random.integers(0, 250, 3000), random.integers(0, 300, 3000)
    src, dst = np.concatenate([src, np.repeat(7, 260)]), np.concatenate([dst, np.arange(260)])
    src, dst = np.concatenate([src, np.repeat(9, 100)]), np.concatenate([dst, np.arange(100)])
    g = weft.Graph.from_edges(src, dst, num_vertices=300)
    found = [
        (state := graph.state(shared=weft.scalar(0)), graph.run(count_closed, state, config=how))[0]
        for graph, how in ((g, None), (g.to("emulated"), weft.Config(schedule="twc")))
    ]
    assert found[0].shared == found[1].shared


@pytest.mark.parametrize("far", [1200, 66_200])
def test_dense_beginnings_of_rows_that_a_block_holds(monkeypatch, far):
    monkeypatch.setattr(choices, "common_lanes", lambda shape: 8)
    # Many targets near the first vertex, some far away: also beyond the bits that a block keeps.
    random = np.random.default_rng(9)
    u, v = np.triu_indices(60, 1)
    kept = random.random(u.size) < 0.7
    src = np.concatenate((u[kept], random.integers(0, 60, 500)))
    dst = np.concatenate((v[kept], random.integers(far - 150, far, 500)))
    g = weft.Graph.from_edges(src, dst, num_vertices=far, directed=False)
    plain = weft.Config(passes_off="row_bits")
    for function in (close, count_closed):
        assert "row_bits" in weft.explain(function, g.to("emulated"), shared_by(g)).passes
        found = [
            (state := shared_by(graph), graph.run(function, state, config=how))[0].shared
            for graph, how in ((g, plain), (g.to("emulated"), weft.Config(schedule="twc")))
        ]
        assert found[0] == found[1] > 0


def shared_by(g):
    """Return a state that counts common neighbours."""
    return g.state(shared=weft.scalar(0))


def test_groups_that_look_for_common_neighbours_are_of_their_step_alone():
    g = weft.generators.complete(40)  # each arc is taken by a whole warp
    for steps in ([bump, close], [close, bump]):
        state = g.to("emulated").state(bumped=np.zeros(40, np.int32), shared=weft.scalar(0))
        g.to("emulated").run(steps, state)
        assert state.bumped.tolist() == [1] * 40
        assert state.shared == 40 * 39 * 38


@pytest.mark.parametrize("choice", [{"schedule": "edge"}, {"frontier_in": "bytemap"}])
def test_ordered_pushes_may_start_from_a_map(choice):
    g = weft.generators.kron(6, seed=1, weights="int")
    want = weft.sssp(g, 3)
    got = weft.sssp(g.to("emulated"), 3, config=weft.Config(direction="push", **choice))
    np.testing.assert_array_equal(got.dist, want.dist)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_of_graphs_that_no_cache_holds_are_asked_for_ahead(dtype, monkeypatch):
    monkeypatch.setattr(choices, "VAST", 1)
    options = {"tol": 0, "max_iter": 3, "on_unconverged": "return", "dtype": np.dtype(dtype)}
    for g in (weft.generators.road(9, 0.7, seed=4), weft.generators.star(40)):
        found = weft.pagerank(g.to("emulated"), config=weft.Config(schedule="vertex"), **options)
        np.testing.assert_allclose(found, weft.pagerank(g, **options), 1e-6)
    rank = np.ones(g.num_vertices, dtype)

    @weft.vertex
    def average(v):
        v.rank = 0.5 * v.rank + v.gather(lambda u, e: u.rank, weft.sum)

    g = weft.generators.star(40).to("emulated")
    told = weft.explain(average, g, g.state(rank=rank), config=weft.Config(schedule="vertex"))
    assert "expect(i64 v) const { prefetch(a.f_rank + v);" in told.source


def test_stamps_that_no_cache_holds_are_looked_at_first(monkeypatch):
    monkeypatch.setattr(choices, "VAST", 1)
    g = weft.generators.kron(6, 6, seed=1, weights="int")
    for config in (None, weft.Config(ordering=False)):
        check("sssp", g, weft.sssp(g.to("emulated"), 0, config=config))
    g, state = g.to("emulated"), {"dist": np.zeros(g.num_vertices)}

    @weft.edge(into="dist", reduce=weft.min)
    def relax(u, v, e):
        return u.dist + e.weight

    assert "WEFT_LOOK_FIRST" in weft.explain(relax, g, g.state(**state)).source


@pytest.mark.parametrize("fuse", ["all", "direction"])
def test_programs_of_more_phases_than_a_word_has_bits(fuse):
    names = [f"part{number}" for number in range(22)]
    sends = [weft.edge(lambda u, v, e: 0.5 * u.x, into=name, reduce=weft.sum) for name in names]

    @weft.vertex
    def add_up(v):
        v.x = 0.1 * v.x + sum(getattr(v, name) for name in names)

    g = weft.generators.complete(9)
    there, n = g.to("emulated"), g.num_vertices
    state = there.state(x=np.ones(n), **dict.fromkeys(names, 0.0))
    config = weft.Config(fuse=fuse)
    told = weft.explain([*sends, add_up], there, state, mode="iterate", config=config)
    assert len(told.phases) > 64
    there.iterate([*sends, add_up], state, max_iter=2, config=config)
    x, sums, arrive = np.ones(n), np.zeros(n), g.to_scipy().astype(float).T
    for _ in range(2):
        sums += arrive @ (0.5 * x)
        x = 0.1 * x + len(names) * sums
    np.testing.assert_allclose(np.asarray(state.x), x)


@weft.vertex
def take_several(v):
    v.a, v.b = v.gather(lambda u, e: weft.send((v.id, -v.id), when=u.id % 2 == 0), (weft.any,) * 2)
    v.c = v.gather(lambda u, e: weft.send(7, when=u.id % 3 == 0), weft.any)


@pytest.mark.parametrize("schedule", ["edge", "merge"])
def test_every_any_of_a_gather_has_a_message_where_rows_are_split(schedule):
    g = weft.generators.rmat(6, 8, seed=3, directed=True)
    src, dst, _ = g.to_edges()
    there, n = g.to("emulated"), g.num_vertices
    state = there.state(a=weft.full(-1), b=weft.full(-1), c=weft.full(-1))
    there.run(take_several, state, config=weft.Config(schedule=schedule))
    by_two, by_three = (np.isin(np.arange(n), dst[src % k == 0]) for k in (2, 3))
    assert np.asarray(state.a).tolist() == np.where(by_two, np.arange(n), 0).tolist()
    assert np.asarray(state.b).tolist() == np.where(by_two, -np.arange(n), 0).tolist()
    assert np.asarray(state.c).tolist() == np.where(by_three, 7, 0).tolist()
