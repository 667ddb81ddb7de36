"""Graphs that change on the device, and results carried on there."""

import numpy as np
import pytest

import weft

pytestmark = pytest.mark.cuda


def assert_same(got, want, host):
    """Compare structure and columns of a graph on the device with one on the host."""
    got = got.to("cpu")
    for direction in ("out", "in"):
        a, b = (g.topology.adjacency(direction) for g in (got, want))
        np.testing.assert_array_equal(a.offsets, b.offsets)
        np.testing.assert_array_equal(a.targets, b.targets)
    for name in want.edge:
        np.testing.assert_array_equal(got.edge[name], want.edge[name])
    np.testing.assert_array_equal(host(got.in_degree), want.in_degree)


def batch(g, count, seed):
    src, dst = np.random.default_rng(seed).integers(0, g.num_vertices, (2, count))
    return src, dst, np.arange(count) % 5


@pytest.mark.parametrize("directed", [True, False])
def test_changes_are_those_of_the_host(device, host, sized, directed):
    g = weft.generators.rmat(sized(16, 6), 12, seed=2, directed=directed, weights="int")
    there = g.to(device)
    for derived in (False, True):
        if derived:
            _ = g.topology.in_, there.topology.in_
        for count in (1, sized(50_000, 40)):
            more = batch(g, count, seed=count)
            src, dst, weight = (end[::7] for end in g.to_edges())
            for change in (
                lambda g, b=more: g.add_edges(*b),
                lambda g, s=src, d=dst: g.remove_edges(s, d),
                lambda g, s=src, d=dst, w=weight: g.remove_edges(s, d, w),
                lambda g, b=more: g.remove_edges(*b, missing="ignore").add_edges(*b),
            ):
                assert_same(change(there), change(g), host)
    assert_same(there, g, host)


def test_updates_on_the_device(device, host):
    g = weft.Graph.from_edges(["a", "b"], ["b", "c"], weight=[1.0, 2.0])
    there = g.to(device)
    for graph in (g, there):
        graph.update(add=(["c", "d"], ["d", "a"], [3.0, 4.0]), remove=(["a"], ["b"]))
    assert_same(there, g, host)
    assert there.labels.tolist() == ["a", "b", "c", "d"] and there.version == 1


@pytest.mark.parametrize("directed", [True, False])
def test_results_carried_on_are_those_of_a_fresh_run(device, host, sized, directed):
    g = weft.generators.rmat(sized(15, 6), 8, seed=5, directed=directed, weights="int")
    before = g.to(device)
    after = before.add_edges(*batch(g, sized(2000, 30), seed=1))
    source = int(np.argmax(g.out_degree))
    found = weft.bfs(after, source, warm_start=weft.bfs(before, source), since=before)
    fresh = weft.bfs(after, source)
    np.testing.assert_array_equal(host(found.level), host(fresh.level))
    tree = host(found)
    reached = np.flatnonzero(tree.parent >= 0)
    reached = reached[reached != source]
    np.testing.assert_array_equal(tree.level[tree.parent[reached]] + 1, tree.level[reached])
    found = weft.sssp(after, source, warm_start=weft.sssp(before, source), since=before)
    np.testing.assert_array_equal(host(found.dist), host(weft.sssp(after, source).dist))
    labels = weft.connected_components(before)
    found = weft.connected_components(after, warm_start=labels, since=before)
    np.testing.assert_array_equal(host(found), host(weft.connected_components(after)))
    warm = weft.pagerank(after, tol=1e-10, max_iter=500, warm_start=weft.pagerank(before))
    fresh = weft.pagerank(after, tol=1e-10, max_iter=500)
    np.testing.assert_allclose(host(warm), host(fresh), atol=1e-8)


@pytest.mark.parametrize("directed", [True, False])
def test_orders_and_regular_rows_follow_updates(device, host, sized, directed):
    size = sized(1 << 16, 1 << 7)
    g = weft.generators.planted(size, 32, 14, seed=4, weights="int", directed=directed).to(device)
    config = weft.Config(format="cr2(bits=9)", schedule="warp")
    weft.sssp(g, 3, config=config)
    src, dst, _ = (host(end) for end in g.to_edges())
    for k in range(2):
        g.update(add=batch(g, sized(500, 5), seed=k), remove=(src[k::200], dst[k::200]))
    fresh = weft.Graph.from_edges(
        *map(host, g.to_edges()), num_vertices=g.num_vertices, directed=directed
    )
    np.testing.assert_array_equal(
        host(weft.sssp(g, 3, config=config).dist), weft.sssp(fresh, 3).dist
    )
