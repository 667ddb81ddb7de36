"""Triangle counts against NetworkX and matrix products."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

import weft
from graphs import AWKWARD, graphs
from networks import medium, simple_graph, wide
from weft.algorithms.triangle_count import oriented, ranked


def expected_count(g):
    return sum(nx.triangles(simple_graph(g)).values()) // 3


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_graphs(name):
    g = AWKWARD[name]()
    found = weft.triangle_count(g)
    assert isinstance(found, int)
    assert found == expected_count(g)


@given(graphs(index_dtype=None, weights=None, keep=None))
@settings(max_examples=60)
def test_random_graphs(g):
    assert weft.triangle_count(g) == expected_count(g)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_several_threads(threads):
    g = medium(True)
    a = nx.to_scipy_sparse_array(simple_graph(g), dtype=np.int64, format="csr")
    expected = int((a @ a).multiply(a).sum()) // 6
    assert weft.triangle_count(g, config=weft.Config(threads=threads)) == expected


def test_same_graph_twice():
    g = AWKWARD["social undirected"]()
    assert weft.triangle_count(g) == weft.triangle_count(g)


def test_wide_ids():
    g = wide(AWKWARD["social"]())
    assert weft.triangle_count(g) == expected_count(g)


def test_orientation_points_to_higher_degrees():
    g = AWKWARD["social undirected"]()
    arcs = oriented(g)
    src, dst, _ = arcs.to_edges()
    assert arcs.num_edges == g.num_edges
    degree = g.out_degree
    assert np.all((degree[src] < degree[dst]) | ((degree[src] == degree[dst]) & (src < dst)))
    assert arcs.out_degree.max() <= np.sqrt(2 * g.num_edges)


def test_the_graph_that_is_counted_in_has_hubs_first():
    g = AWKWARD["social undirected"]()
    arcs = ranked(g)
    assert ranked(g) is arcs and arcs.num_edges == g.num_edges
    degree = np.sort(g.out_degree)[::-1]
    src, dst, _ = arcs.to_edges()
    assert np.all(src > dst) and np.all(degree[src] <= degree[dst])
    assert sorted(np.bincount(src, minlength=256) + np.bincount(dst, minlength=256)) == sorted(
        g.out_degree
    )
    assert ranked(g.to("emulated")).device == "emulated"
