"""Betweenness centrality against NetworkX."""

import random

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

import weft
from graphs import AWKWARD, graphs
from networks import medium, simple_graph, values_of, wide
from weft.errors import GraphError


def check(g, found, **options):
    assert found.shape == (g.num_vertices,)
    if g.num_vertices:
        expected = nx.betweenness_centrality(simple_graph(g, directed=True), **options)
        np.testing.assert_allclose(found, values_of(expected), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_graphs(name):
    g = AWKWARD[name]()
    if g.num_vertices > 100:
        sources = random.Random(4).sample(range(g.num_vertices), 10)
        check(g, weft.betweenness(g, sources), k=10, seed=4)
    else:
        check(g, weft.betweenness(g))


@given(graphs(index_dtype=None, weights=None))
@settings(max_examples=40)
def test_random_graphs(g):
    check(g, weft.betweenness(g))


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("directed", [False, True])
def test_scale(directed, normalized):
    g = weft.generators.rmat(5, 3, seed=2, directed=directed)
    check(g, weft.betweenness(g, normalized=normalized), normalized=normalized)
    sources = random.Random(7).sample(range(32), 6)
    found = weft.betweenness(g, sources, normalized)
    check(g, found, k=6, normalized=normalized, seed=7)


def test_only_source():
    found = weft.betweenness(weft.generators.path(4), [1])
    assert np.isnan(found[1]) and np.all(np.isfinite(found[[0, 2, 3]]))


@pytest.mark.parametrize("directed", [False, True])
def test_several_threads(directed):
    g = medium(directed)
    sources = random.Random(1).sample(range(g.num_vertices), 3)
    found = weft.betweenness(g, sources, config=weft.Config(threads=3))
    check(g, found, k=3, seed=1)


@pytest.mark.parametrize("direction", ["push", "pull"])
def test_directions(direction):
    g = AWKWARD["social"]()
    found = weft.betweenness(g, [3, 1, 4], config=weft.Config(direction=direction))
    np.testing.assert_allclose(found, weft.betweenness(g, [1, 3, 4]), rtol=1e-9, atol=1e-12)


def test_sample():
    g = AWKWARD["road"]()
    first, again, other = (weft.betweenness(g, 5, seed=s) for s in (1, 1, 2))
    np.testing.assert_allclose(first, again, rtol=1e-9, atol=1e-12)
    assert not np.allclose(first, other)
    np.testing.assert_allclose(
        weft.betweenness(g, g.num_vertices, seed=3), weft.betweenness(g), rtol=1e-9, atol=1e-12
    )


def test_only_in_edges_stored():
    src, dst, _ = AWKWARD["social"]().to_edges()
    g = weft.Graph.from_edges(src, dst, keep="in")
    both = weft.Graph.from_edges(src, dst)
    np.testing.assert_allclose(weft.betweenness(g), weft.betweenness(both), rtol=1e-9, atol=1e-12)


def test_wide_ids():
    g = wide(AWKWARD["disconnected"]())
    check(g, weft.betweenness(g))


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        (0, r"sources=0 is not the size of a sample. Expected 1 to 4"),
        (5, r"sources=5 is not the size of a sample"),
        ([4], r"source=4 does not exist"),
        ([-1, 2], r"source=-1 does not exist"),
        ([], r"is not a list of vertices"),
        ([0.5], r"is not a list of vertices. Expected one integer at least"),
    ],
)
def test_errors(sources, message):
    with pytest.raises(GraphError, match=message):
        weft.betweenness(weft.generators.path(4), sources)
