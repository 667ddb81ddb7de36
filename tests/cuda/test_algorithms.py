"""Every algorithm on the device: awkward, random and large graphs, against independent answers."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from graphs import AWKWARD, graphs
from networks import wide

pytestmark = pytest.mark.cuda

# Algorithm -> how to call it on a graph; the oracle has the same name.
CALLS = {
    "bfs": lambda g: weft.bfs(g, 0),
    "sssp": lambda g: weft.sssp(g, 0),
    "pagerank": lambda g: weft.pagerank(g, tol=1e-8, max_iter=200),
    "connected_components": weft.connected_components,
    "core_number": weft.core_number,
    "triangles": weft.triangle_count,
    "clustering": weft.clustering,
    "betweenness": lambda g: weft.betweenness(g, some_sources(g)),
    "label_propagation": lambda g: weft.label_propagation(g, 5),
}
TASKS = ("bfs", "sssp", "pagerank", "components", "triangles", "cores")
NEGATIVE = "weights negative"


def some_sources(g):
    count = min(g.num_vertices, 6)
    return random.Random(4).sample(range(g.num_vertices), count) if g.num_vertices > 6 else None


def check(module, name, g, found):
    """Judge a result on the host by the checks of the algorithm's own tests."""
    if name in ("bfs", "sssp"):
        module.check(g, 0, found)
    elif name == "triangles":
        assert found == module.expected_count(g)
    elif name == "label_propagation":
        assert found.tolist() == module.expected_labels(g, 5)
    elif name == "betweenness" and some_sources(g) is not None:
        module.check(g, found, k=len(some_sources(g)), seed=4)
    else:
        module.check(g, found)


@pytest.mark.parametrize("graph", AWKWARD)
@pytest.mark.parametrize("name", CALLS)
def test_awkward_graphs(device, host, oracle, name, graph):
    g = AWKWARD[graph]()
    if g.num_vertices == 0 and name in ("bfs", "sssp"):
        pytest.skip("there is no vertex to start from")
    if name == "sssp" and graph == NEGATIVE:
        oracle(name).check(g, 0, host(CALLS[name](g.to(device))), negative=True)
        return
    check(oracle(name), name, g, host(CALLS[name](g.to(device))))


@pytest.mark.parametrize("name", CALLS)
def test_random_graphs(device, host, oracle, sized, name):
    module = oracle(name)

    @given(st.data())
    @settings(max_examples=sized(20, 4))
    def test(data):
        g = data.draw(graphs(min_vertices=1, index_dtype=None, weights=None))
        check(module, name, g, host(CALLS[name](g.to(device))))

    test()


@pytest.mark.parametrize("name", CALLS)
def test_wide_ids(device, host, oracle, name):
    g = wide(AWKWARD["social"]())
    assert g.to(device).topology.index_dtype == np.int64
    check(oracle(name), name, g, host(CALLS[name](g.to(device))))


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("graph", ["kron 16", "uniform", "road 700", "hub 300000", "path 30000"])
def test_large_graphs(device, sized, judge, graph, task):
    small = {"kron 16": "kron 7", "road 700": "road 8", "hub 300000": "hub 40"}
    judged = judge(sized(graph, small.get(graph, "uniform small")))
    assert judged.run(task, device) is None


@pytest.mark.parametrize("name", ["bfs", "sssp", "pagerank", "connected_components", "core_number"])
def test_directed_graphs_as_on_the_cpu(device, host, sized, name):
    g = weft.generators.rmat(sized(15, 6), 24, seed=9, directed=True, weights="float")
    want, got = CALLS[name](g), host(CALLS[name](g.to(device)))
    if name == "bfs":
        np.testing.assert_array_equal(got.level, want.level)
    elif name == "sssp":
        np.testing.assert_allclose(got.dist, want.dist, rtol=1e-5)
    elif name == "pagerank":
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-12)
    else:
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("keep", ["out", "in"])
@pytest.mark.parametrize("name", ["bfs", "pagerank", "connected_components", "core_number"])
def test_one_direction_stored(device, host, oracle, name, keep):
    src, dst, _ = AWKWARD["social"]().to_edges()
    g = weft.Graph.from_edges(src, dst, num_vertices=256, keep=keep)
    whole = weft.Graph.from_edges(src, dst, num_vertices=256)
    if name == "pagerank" and keep == "out":
        pytest.skip("the ranks are pulled")
    check(oracle(name), name, whole, host(CALLS[name](g.to(device))))


def test_results_stay_on_the_device(on_gpu):
    import cupy

    g = AWKWARD["social undirected"]().to(on_gpu)
    assert isinstance(weft.bfs(g, 0).level, cupy.ndarray)
    assert isinstance(weft.pagerank(g), cupy.ndarray)


def test_graphs_made_on_the_device_are_those_of_the_host(device, sized):
    scale, side = sized(14, 7), sized(200, 9)
    for make in (
        lambda where: weft.generators.rmat(scale, 12, seed=6, weights="int", device=where),
        lambda where: weft.generators.road(side, 0.7, seed=6, weights="float", device=where),
    ):
        there, here = make(device).to("cpu"), make("cpu")
        for got, want in zip(there.to_edges(), here.to_edges(), strict=True):
            np.testing.assert_array_equal(got, want)


SWEPT = {
    "betweenness": lambda g: weft.betweenness(g, [g.num_vertices // 2, 1]),
    "forest": lambda g: weft.minimum_spanning_forest(g).edge,
    "independent set": weft.maximal_independent_set,
    "colours": weft.color,
    "components both ways": weft.strongly_connected_components,
}


@pytest.mark.parametrize("shape", ["deep", "dense", "chain of hubs"])
@pytest.mark.parametrize("name", SWEPT)
def test_frontiers_of_all_sizes_are_swept_as_on_the_host(device, sized, name, shape):
    """Narrow and wide levels by turns, counts beyond floats, edges of which few are light."""
    if shape == "deep":
        g = weft.generators.road(sized(600, 14), 0.8, seed=2, weights="int")
    elif shape == "dense":
        g = weft.generators.rmat(sized(14, 6), 24, seed=2, weights="float", directed=False)
    else:
        leaves, hubs = sized(900, 20), np.arange(sized(1200, 6))
        ends = hubs.size + np.arange(leaves)
        src = np.r_[hubs[:-1], ends % hubs.size, hubs[:-2]]
        dst = np.r_[hubs[1:], ends, hubs[2:]]
        g = weft.Graph.from_edges(src, dst, directed=False)
    if name == "components both ways":
        src, dst, _ = g.to_edges()
        g = weft.Graph.from_edges(np.r_[src, dst], np.r_[dst, src], num_vertices=g.num_vertices)
    found, wanted = SWEPT[name](g.to(device)), SWEPT[name](g)
    np.testing.assert_allclose(found.get() if hasattr(found, "get") else found, wanted, rtol=1e-8)
