"""Connected components against SciPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.sparse import csgraph

import weft
from graphs import AWKWARD, graphs
from networks import medium, wide


def check(g, label):
    """Labels are the smallest vertex of each component."""
    assert label.shape == (g.num_vertices,)
    if g.num_vertices:
        matrix = g.to_scipy()
        matrix.data[:] = 1
        count, part = csgraph.connected_components(matrix, directed=True, connection="weak")
        smallest = np.full(count, g.num_vertices)
        np.minimum.at(smallest, part, np.arange(g.num_vertices))
        np.testing.assert_array_equal(label, smallest[part])


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_graphs(name):
    g = AWKWARD[name]()
    check(g, weft.connected_components(g))


@given(graphs(index_dtype=None, weights=None, max_vertices=20, max_edges=30))
@settings(max_examples=60)
def test_random_graphs(g):
    check(g, weft.connected_components(g))


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_graphs_by_the_neighbor_of_highest_degree(name):
    g, config = AWKWARD[name](), weft.Config(best_neighbor=True)
    check(g, weft.connected_components(g, config=config))


@given(graphs(index_dtype=None, weights=None, max_vertices=20, max_edges=30, directed=False))
@settings(max_examples=30, deadline=None)
def test_random_graphs_by_the_neighbor_of_highest_degree(g):
    check(g, weft.connected_components(g, config=weft.Config(best_neighbor=True)))


@pytest.mark.parametrize("keep", ["out", "in"])
def test_one_direction_stored(keep):
    src, dst, _ = AWKWARD["disconnected"]().to_edges()
    g = weft.Graph.from_edges(src, dst, num_vertices=11, keep=keep)
    check(g, weft.connected_components(g))


def shuffled_trees(n, seed):
    """Return a forest of deep trees whose ids are in random order."""
    rng = np.random.default_rng(seed)
    ids = rng.permutation(n)
    child = np.arange(1, n)
    parent = np.maximum(0, child - rng.integers(1, 4, n - 1))
    kept = rng.random(n - 1) < 0.999
    return ids[child[kept]], ids[parent[kept]]


@pytest.mark.parametrize("directed", [False, True])
def test_deep_trees_on_several_threads(directed):
    src, dst = shuffled_trees(40_000, seed=1)
    g = weft.Graph.from_edges(src, dst, num_vertices=40_000, directed=directed)
    for best in (False, True):
        config = weft.Config(threads=4, best_neighbor=best)
        check(g, weft.connected_components(g, config=config))


@pytest.mark.parametrize("directed", [False, True])
def test_social_graph_on_several_threads(directed):
    g = medium(directed)
    check(g, weft.connected_components(g, config=weft.Config(threads=3)))


def test_deterministic():
    g = medium(False)
    check(g, weft.connected_components(g, config=weft.Config(deterministic=True)))


def test_wide_ids():
    g = wide(AWKWARD["disconnected undirected"]())
    label = weft.connected_components(g)
    check(g, label)
    assert label.dtype == np.int64
