"""What threads race for, again and again; and the same bits every time where that is asked for."""

import numpy as np
import pytest

import weft

pytestmark = pytest.mark.cuda

REPEATS = 50
RUNS = 10
SMALL = {"kron 13": "kron 5", "road 95": "road 8", "hub 9000": "hub 40"}
PUSH = {"direction": "push"}
RACES = [
    ("bfs", PUSH),
    ("bfs", {}),
    ("sssp", {}),
    ("sssp", {"ordering": False}),
    ("components", {}),
    ("cores", {}),
]


@pytest.mark.parametrize("graph", SMALL)
@pytest.mark.parametrize(("task", "options"), RACES)
def test_races_end_well(device, judge, sized, graph, task, options):
    judged = judge(sized(graph, SMALL[graph]))
    config = weft.Config(**options)
    for repeat in range(sized(REPEATS, 2)):
        assert judged.run(task, device, config) is None, f"in repeat {repeat}"


ALGORITHMS = {
    "bfs": lambda g, c: weft.bfs(g, 3, config=c),
    "sssp": lambda g, c: weft.sssp(g, 3, config=c),
    "pagerank": lambda g, c: (weft.pagerank(g, config=c),),
    "connected_components": lambda g, c: (weft.connected_components(g, config=c),),
    "core_number": lambda g, c: (weft.core_number(g, config=c),),
    "clustering": lambda g, c: (weft.clustering(g, config=c),),
    "betweenness": lambda g, c: (weft.betweenness(g, [1, 2, 3], config=c),),
    "label_propagation": lambda g, c: (weft.label_propagation(g, 5, config=c),),
}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_deterministic_results_have_the_same_bits(device, host, sized, name):
    g = weft.generators.rmat(sized(12, 5), 10, seed=3, weights="float").to(device)
    config = weft.Config(deterministic=True)
    first = [host(array) for array in ALGORITHMS[name](g, config)]
    for _ in range(sized(RUNS - 1, 2)):
        for got, want in zip(ALGORITHMS[name](g, config), first, strict=True):
            np.testing.assert_array_equal(host(got).view(np.uint8), want.view(np.uint8))


def test_pairs_of_two_words_never_tear(device, host, sized):
    g = weft.generators.rmat(sized(13, 5), 8, seed=4, directed=True)
    src, dst, _ = g.to_edges()
    g.edge["weight"] = weight = np.random.default_rng(5).integers(0, 99, g.num_edges) / 7.0
    want, there = weft.sssp(g, 3).dist, g.to(device)
    assert want.dtype == np.float64
    for repeat in range(sized(REPEATS, 2)):
        dist, parent = host(weft.sssp(there, 3))
        np.testing.assert_array_equal(dist, want, err_msg=f"in repeat {repeat}")
        # Each vertex that was reached has its distance by an edge from its parent.
        best = np.full(g.num_vertices, np.inf)
        tree = parent[dst] == src
        np.minimum.at(best, dst[tree], dist[src[tree]] + weight[tree])
        best[3] = 0
        np.testing.assert_array_equal(best, dist, err_msg=f"in repeat {repeat}")
