"""Earlier results as a start after edges were added, judged as fresh results are."""

from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components

import weft
from graphs import AWKWARD, edge_lists
from weft.errors import ConfigError, GraphError

DEVICES = ("cpu", "emulated")
check_bfs, check_sssp = (import_module(f"algorithms.test_{name}").check for name in ("bfs", "sssp"))
CONFIG = weft.Config(schedule="vertex")  # one for all graphs, so that few programs are compiled


def check_components(g, found):
    count, number = connected_components(g.to_scipy(), directed=True, connection="weak")
    smallest = [np.flatnonzero(number == component)[0] for component in range(count)]
    np.testing.assert_array_equal(found, np.array(smallest)[number])


def carry_on(g, more, device, *, negative=False):
    """Compute on g, carry the results on to `more`, and judge them."""
    before, after = g.to(device), more.to(device)
    first = weft.bfs(before, 0, config=CONFIG)
    check_bfs(more, 0, weft.bfs(after, 0, warm_start=first, since=g, config=CONFIG))
    first = weft.sssp(before, 0, config=CONFIG)
    found = weft.sssp(after, 0, warm_start=first, since=g, config=CONFIG)
    check_sssp(more, 0, found, negative=negative)
    first = weft.connected_components(before, config=CONFIG)
    found = weft.connected_components(after, warm_start=first, since=g, config=CONFIG)
    check_components(more, found)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("weights", ["int", "float"])
def test_random_insertions(weights, device):
    @given(edge_lists(weights=weights, min_vertices=1, max_vertices=10), st.data())
    @settings(max_examples=60 if device == "cpu" else 25)
    def test(edges, data):
        count = data.draw(st.integers(0, edges.src.size))
        first, rest = (
            [array[part] for array in (edges.src, edges.dst, edges.weight)]
            for part in (slice(count), slice(count, None))
        )
        g = weft.Graph.from_edges(*first, num_vertices=edges.num_vertices, directed=edges.directed)
        carry_on(g, g.add_edges(*rest), device)

    test()


@pytest.mark.parametrize("name", ["hub", "long path directed", "road", "social", "weights zero"])
def test_insertions_into_awkward_graphs(name):
    g = AWKWARD[name]()
    src, dst = np.random.default_rng(5).integers(0, g.num_vertices, (2, 12))
    weight = 1 if g.weighted else None
    more = g.add_edges(src[:6], dst[:6], weight).add_edges(src[6:], dst[6:], weight)
    carry_on(g, more, "cpu")
    carry_on(g, g, "cpu")


def test_insertions_of_negative_weight():
    g = AWKWARD["weights negative"]()
    more = g.add_edges([4, 0], [5, 4], [-3.0, -1.0])
    carry_on(g, more, "cpu", negative=True)
    with pytest.raises(GraphError, match="a cycle of negative weight"):
        weft.sssp(more.add_edges([4], [0], -9.0), 0, warm_start=weft.sssp(g, 0), since=g)


@pytest.mark.parametrize("keep", ["out", "in"])
def test_one_direction_stored(keep):
    src, dst, _ = AWKWARD["social"]().to_edges()
    g = weft.Graph.from_edges(src[:-40], dst[:-40], num_vertices=256, keep=keep)
    more = g.add_edges(src[-40:], dst[-40:])
    whole = weft.Graph.from_edges(src, dst, num_vertices=256)
    found = weft.bfs(more, 0, warm_start=weft.bfs(g, 0), since=g)
    np.testing.assert_array_equal(found.level, weft.bfs(whole, 0).level)
    found = weft.sssp(more, 0, warm_start=weft.sssp(g, 0), since=g)
    check_sssp(whole, 0, found)
    found = weft.connected_components(more, warm_start=weft.connected_components(g), since=g)
    check_components(whole, found)


def test_updates_and_new_vertices():
    g = weft.Graph.from_edges(["a", "b"], ["b", "c"], directed=False)
    first, labels, version = weft.bfs(g, "a"), weft.connected_components(g), g.version
    paths = weft.sssp(g, "a")
    g.update(add=(["c", "d", "e"], ["d", "b", "f"]))
    found = weft.bfs(g, "a", warm_start=first, since=version)
    assert found.level.tolist() == [0, 1, 2, 2, -1, -1]
    assert found.parent.tolist() == [0, 0, 1, 1, -1, -1]
    found = weft.sssp(g, "a", warm_start=paths, since=version)
    assert found.dist.tolist() == [0, 1, 2, 2, -1, -1]
    found = weft.connected_components(g, warm_start=labels, since=version)
    assert found.tolist() == [0, 0, 0, 0, 4, 4]
    assert (first.level.tolist(), labels.tolist()) == ([0, 1, 2], [0, 0, 0])


def looked_at(call):
    """Return how many edges a call looks at."""
    with weft.profile() as profile:
        call()
    return sum(record.edges for record in profile.records)


@pytest.mark.parametrize("device", DEVICES)
def test_only_what_is_affected_is_looked_at(device):
    g = weft.generators.path(2000).to(device)
    more = g.add_edges([1985], [1999])
    for algorithm in (weft.bfs, weft.sssp):
        first = algorithm(g, 0, config=CONFIG)
        fresh = looked_at(lambda a=algorithm: a(more, 0, config=CONFIG))
        carried = looked_at(
            lambda a=algorithm, f=first: a(more, 0, warm_start=f, since=g, config=CONFIG)
        )
        assert carried < 100 < fresh
    first = weft.connected_components(g, config=CONFIG)
    assert looked_at(
        lambda: weft.connected_components(more, warm_start=first, since=g, config=CONFIG)
    ) < looked_at(lambda: weft.connected_components(more, config=CONFIG))


@pytest.mark.parametrize("algorithm", [weft.bfs, weft.sssp])
def test_edges_that_improve_nothing_are_not_followed(algorithm):
    g = weft.generators.star(500)
    more = g.add_edges([3, 0], [4, 7])
    first = algorithm(g, 0)
    assert looked_at(lambda: algorithm(more, 0, warm_start=first, since=g)) == 0


def test_what_cannot_be_carried_on_is_refused():
    g = weft.generators.path(5, directed=True)
    first, labels = weft.bfs(g, 0), weft.connected_components(g)
    fewer = g.remove_edges([3], [4])
    with pytest.raises(GraphError, match=r"1 edge\(s\) were removed since then.*omit warm_start"):
        weft.bfs(fewer, 0, warm_start=first, since=g)
    with pytest.raises(GraphError, match="were removed since"):
        weft.connected_components(fewer, warm_start=labels, since=g)
    with pytest.raises(GraphError, match="The changes since the other graph are not known"):
        weft.sssp(weft.generators.path(5), 0, warm_start=weft.sssp(g, 0), since=g)
    more = g.add_edges([0], [4])
    with pytest.raises(ConfigError, match=r"warm_start= was given without since="):
        weft.bfs(more, 0, warm_start=first)
    with pytest.raises(ConfigError, match=r"since= was given without warm_start="):
        weft.sssp(more, 0, since=g)
    with pytest.raises(GraphError, match=r"not a search from source=1"):
        weft.bfs(more, 1, warm_start=first, since=g)
    with pytest.raises(GraphError, match=r"shape \(4,\). Expected integers, one for each of the 5"):
        weft.connected_components(more, warm_start=labels[:4], since=g)
    with pytest.raises(GraphError, match=r"warm_start is a ndarray. Expected the result"):
        weft.bfs(more, 0, warm_start=first.level, since=g)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([1, 0, 2, 2, 4], "vertex 0 into component 1, which is not named"),
        ([0, 0, 1, 3, 3], "vertex 2 into component 1"),  # the label of 1 is 0
        ([1, 1, 2, 3, 4], "vertex 0 into component 1"),  # a partition, but by its larger vertex
        ([0, 0, 5, 3, 4], "the label 5, which does not exist. Expected 0 to 4"),
        ([0, -1, 2, 3, 4], "the label -1, which does not exist"),
        ([0.0, 0.0, 2.0, 3.0, 4.0], "an array of float64.*Expected integers"),
    ],
)
@pytest.mark.parametrize("device", DEVICES)
def test_labels_to_start_from_are_checked(labels, message, device):
    g = weft.generators.path(5).to(device)
    with pytest.raises(GraphError, match=message):
        weft.connected_components(g.add_edges([0], [4]), warm_start=labels, since=g)


@pytest.mark.parametrize("algorithm", [weft.bfs, weft.sssp])
@pytest.mark.parametrize(
    ("level", "parent", "message"),
    [
        ([0, 1, 2, 3, 4], [0, 0, 1, 2, 9], "the parent 9, which does not exist"),
        ([0, 1, 2, 3, 4], [0, 0, 1, 2, -2], "the parent -2, which does not exist"),
        ([0, 1, 2, 3, 4], [0.0, 0.0, 1.0, 2.0, 3.0], "an array of float64.*Expected integers"),
        ([0, 1, 2, 3, -1], [0, 0, 4, 2, -1], "the parent 4 and the distance 2 at vertex 2"),
        ([0, 1, 2, 1, 4], [0, 0, 1, 2, 3], "the parent 2 and the distance 1 at vertex 3"),
        ([0, 1, 2, np.nan, 4], [0, 0, 1, 2, 3], "the parent 2 and the distance nan at vertex 3"),
    ],
)
def test_searches_to_start_from_are_checked(algorithm, level, parent, message):
    g = weft.generators.path(5)
    with pytest.raises(GraphError, match=message):
        algorithm(g.add_edges([0], [4]), 0, warm_start=(level, parent), since=g)


# -- PageRank ------------------------------------------------------------------------------------


def iterations(call):
    """Return the result of a call and how many supersteps it took."""
    with weft.profile() as profile:
        result = call()
    return result, len({(record.call, record.step) for record in profile.records})


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("directed", [True, False])
def test_ranks_to_start_from_save_iterations(directed, device):
    g = weft.generators.rmat(8, 6, seed=3, directed=directed).to(device)
    before = weft.pagerank(g, tol=1e-9)
    src, dst = np.random.default_rng(1).integers(0, 256, (2, 4))
    more = g.add_edges(src, dst).remove_edges(src[:1], dst[:1])
    fresh, many = iterations(lambda: weft.pagerank(more, tol=1e-9))
    warm, few = iterations(lambda: weft.pagerank(more, tol=1e-9, warm_start=before))
    assert few < many
    np.testing.assert_allclose(warm, fresh, atol=1e-8)
    assert warm.sum() == pytest.approx(1)
    again, one = iterations(lambda: weft.pagerank(more, tol=1e-8, warm_start=fresh))
    assert one == 1
    np.testing.assert_allclose(again, fresh, atol=1e-8)


def test_ranks_of_fewer_vertices_and_other_kinds():
    g = AWKWARD["social"]()
    before = weft.pagerank(g, weighted=True, personalization={3: 1.0}, dtype=np.float32)
    more = g.add_edges([3, 256], [256, 257], 1.0, num_vertices=300)
    options = {"weighted": True, "personalization": {3: 1.0}, "tol": 1e-9, "max_iter": 400}
    found = weft.pagerank(more, warm_start=before, **options)
    np.testing.assert_allclose(found, weft.pagerank(more, **options), atol=1e-8)
    none = weft.Graph.from_edges([], [])
    assert weft.pagerank(none, warm_start=np.zeros(0)).size == 0


def test_ranks_to_start_from_are_checked():
    g = weft.generators.cycle(4)
    with pytest.raises(GraphError, match=r"warm_start has int64 of the shape \(4,\)"):
        weft.pagerank(g, warm_start=[1, 1, 1, 1])
    with pytest.raises(
        GraphError, match=r"float64 of the shape \(5,\). Expected ranks.*4 vertices"
    ):
        weft.pagerank(g, warm_start=np.ones(5))
    for wrong in ([-1.0, 2, 0, 0], [np.nan, 1, 0, 0], [0.0, 0, 0, 0], [np.inf, 1, 0, 0]):
        with pytest.raises(GraphError, match="negative or not finite"):
            weft.pagerank(g, warm_start=wrong)
