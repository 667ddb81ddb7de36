"""Shortest paths against NetworkX."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from graphs import AWKWARD, graphs
from networks import medium, multigraph, wide
from weft.errors import GraphError


def lightest_arcs(g):
    """Return the least weight of the edges between each pair of vertices, by (u, v)."""
    src, dst, weight = g.to_edges()
    values = np.ones(g.num_edges) if weight is None else weight
    best = {}
    for u, v, w in zip(src.tolist(), dst.tolist(), values.tolist(), strict=True):
        for pair in ((u, v),) if g.directed else ((u, v), (v, u)):
            best[pair] = min(w, best.get(pair, np.inf))
    return best


def check(g, source, found, *, negative=False):
    """Distances are shortest; parents lie on shortest paths and lead back to the source."""
    search = nx.single_source_bellman_ford_path_length if negative else (
        nx.single_source_dijkstra_path_length
    )  # fmt: skip
    lengths = search(multigraph(g), source)
    integral = not g.weighted or g.to_edges().weight.dtype.kind in "iu"
    expected = np.full(g.num_vertices, -1 if integral else np.inf)
    for v, length in lengths.items():
        expected[v] = length
    np.testing.assert_allclose(found.dist, expected, rtol=1e-5)
    assert found.dist.dtype == (np.int64 if integral else g.to_edges().weight.dtype)
    reached = np.isfinite(expected) & (expected != -1) if integral else np.isfinite(expected)
    np.testing.assert_array_equal(found.parent >= 0, reached | (np.arange(len(reached)) == source))
    check_tree(g, source, found)


def check_tree(g, source, found):
    """Parents form a tree of tight edges, also where edges weigh nothing."""
    arcs = lightest_arcs(g)
    dist, parent = found.dist.tolist(), found.parent.tolist()
    assert parent[source] == source
    for v in range(g.num_vertices):
        if parent[v] >= 0 and v != source:
            assert dist[v] == pytest.approx(dist[parent[v]] + arcs[parent[v], v], rel=1e-5)
        seen = set()
        while parent[v] >= 0 and v != source:
            assert v not in seen, "the parents form a cycle"
            seen.add(v)
            v = parent[v]


SOUND = [n for n in AWKWARD if not n.startswith("empty") and n != "weights negative"]


@pytest.mark.parametrize("name", SOUND)
def test_awkward_graphs(name):
    g = AWKWARD[name]()
    for source in {0, g.num_vertices // 2, g.num_vertices - 1}:
        check(g, source, weft.sssp(g, source))


@given(st.data())
@settings(max_examples=40)
def test_random_graphs_with_light_edges(data):
    g = data.draw(graphs(min_vertices=1, index_dtype=None, weights=None))
    source = data.draw(st.integers(0, g.num_vertices - 1))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    g.edge["weight"] = rng.integers(0, 4, g.num_edges).astype(np.float32)  # many zeros and ties
    check(g, source, weft.sssp(g, source))


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("ordering", [False, True])
def test_several_threads(directed, ordering):
    g = medium(directed, "int")
    for threads in (1, 3):
        config = weft.Config(ordering=ordering, threads=threads)
        check(g, 17, weft.sssp(g, 17, config=config))


@pytest.mark.parametrize("delta", [0.01, 1.0, 1e6])
def test_any_width_of_buckets(delta):
    g = medium(False, "float")
    check(g, 3, weft.sssp(g, 3, config=weft.Config(delta=delta)))


def test_deterministic():
    g = medium(True, "int")
    runs = [weft.sssp(g, 5, config=weft.Config(deterministic=True, threads=t)) for t in (1, 2, 4)]
    check(g, 5, runs[0])
    for run in runs[1:]:
        np.testing.assert_array_equal(run.parent, runs[0].parent)


def test_wide_ids_and_double_weights():
    g = wide(AWKWARD["social"]())
    g.edge["weight"] = g.edge["weight"].astype(np.float64)
    found = weft.sssp(g, 3)
    check(g, 3, found)
    assert found.parent.dtype == np.int64 and found.dist.dtype == np.float64


@pytest.mark.parametrize(
    ("keep", "weights"), [("out", "float"), ("in", None), ("in", "int"), ("in", "float")]
)
def test_one_direction_stored(keep, weights):
    src, dst, weight = AWKWARD["social"]().to_edges()
    if weights != "float":
        weight = None if weights is None else (8 * weight).astype(np.int16) + 1
    g = weft.Graph.from_edges(src, dst, weight, num_vertices=256, keep=keep)
    check(g, 3, weft.sssp(g, 3))


def test_in_edges_alone_with_negative_weights():
    g = weft.Graph.from_edges([0, 0, 1, 2], [1, 2, 2, 3], [4.0, 1.0, -5.0, 1.0], keep="in")
    check(g, 0, weft.sssp(g, 0), negative=True)


def test_in_edges_alone_on_the_emulated_device():
    src, dst, weight = AWKWARD["social"]().to_edges()
    g = weft.Graph.from_edges(src, dst, weight, num_vertices=256, keep="in")
    check(g, 3, weft.sssp(g.to("emulated"), 3))


def test_negative_weights():
    g = AWKWARD["weights negative"]()
    for source in range(g.num_vertices):
        check(g, source, weft.sssp(g, source), negative=True)
    g.edge["weight"] = (2 * g.edge["weight"]).astype(np.int32)
    check(g, 0, weft.sssp(g, 0), negative=True)


def test_a_negative_cycle_is_an_error_where_it_can_be_reached():
    g = weft.Graph.from_edges([0, 1, 2, 3], [1, 2, 1, 4], [1.0, -3.0, 2.0, 1.0])
    with pytest.raises(GraphError, match="a cycle of negative weight can be reached from source=0"):
        weft.sssp(g, 0)
    assert weft.sssp(g, 3).dist.tolist() == [np.inf, np.inf, np.inf, 0.0, 1.0]


def test_large_integers_do_not_overflow():
    g = weft.Graph.from_edges([0, 1, 2], [1, 2, 3], np.full(3, 2**31 - 1, np.int32))
    assert weft.sssp(g, 0).dist.tolist() == [0, 2**31 - 1, 2**32 - 2, 3 * (2**31 - 1)]
    g = weft.Graph.from_edges([0, 1], [1, 2], np.array([2**61, 2**61]))
    with pytest.raises(GraphError, match="could overflow 64-bit distances on 3 vertices"):
        weft.sssp(g, 0)


def test_nan_is_rejected():
    g = weft.Graph.from_edges([0, 1], [1, 2], [1.0, np.nan])
    with pytest.raises(GraphError, match=r"1 weight\(s\) are NaN"):
        weft.sssp(g, 0)


def test_sources_are_checked():
    with pytest.raises(GraphError, match=r"source=-1 does not exist in a graph of 4 vertices"):
        weft.sssp(weft.generators.path(4), -1)
    with pytest.raises(GraphError, match="has no vertices"):
        weft.sssp(AWKWARD["empty"](), 0)
