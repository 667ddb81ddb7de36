"""Clustering coefficients against NetworkX."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

import weft
from graphs import AWKWARD, graphs
from networks import medium, simple_graph, values_of, wide


def check(g, found):
    assert found.shape == (g.num_vertices,)
    assert found.dtype == np.float64
    if g.num_vertices:
        np.testing.assert_allclose(found, values_of(nx.clustering(simple_graph(g))), rtol=1e-12)


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_graphs(name):
    g = AWKWARD[name]()
    check(g, weft.clustering(g))


@given(graphs(index_dtype=None, weights=None, keep=None))
@settings(max_examples=60)
def test_random_graphs(g):
    check(g, weft.clustering(g))


def test_several_threads():
    g = medium(True)
    check(g, weft.clustering(g, config=weft.Config(threads=3)))


def test_deterministic():
    g = medium(False)
    check(g, weft.clustering(g, config=weft.Config(deterministic=True)))


def test_wide_ids():
    g = wide(AWKWARD["two cliques"]())
    check(g, weft.clustering(g))
