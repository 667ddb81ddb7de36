"""Strongly connected components and condensations against SciPy and NetworkX."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import weft
from graphs import AWKWARD, graphs
from library import Case
from networks import edge_pairs, medium, multigraph


def expected_labels(g):
    n = g.num_vertices
    if n == 0:
        return np.zeros(0, int)
    src, dst, _ = g.to_edges()
    matrix = coo_array((np.ones(src.size), (src, dst)), shape=(n, n))
    _, label = connected_components(matrix, directed=g.directed, connection="strong")
    least = np.full(n, n)
    np.minimum.at(least, label, np.arange(n))
    return least[label]


def check(g, found):
    np.testing.assert_array_equal(found, expected_labels(g))


def check_condensation(g, found):
    label = expected_labels(g)
    names, member = np.unique(label, return_inverse=True)
    np.testing.assert_array_equal(found.member, member)
    assert found.graph.num_vertices == names.size
    pairs = {(int(member[u]), int(member[v])) for u, v in edge_pairs(g)}
    assert edge_pairs(found.graph) == sorted((u, v) for u, v in pairs if u != v)
    if g.directed:
        assert nx.is_directed_acyclic_graph(multigraph(found.graph))


CASES = {
    "strongly_connected_components": Case(weft.strongly_connected_components, check),
    "condensation": Case(weft.condensation, check_condensation),
}


@given(graphs(index_dtype=None, weights=None, keep=None, directed=True, max_edges=25))
@settings(max_examples=60)
def test_sparse_graphs_stored_in_any_direction(g):
    check(g, weft.strongly_connected_components(g))


@pytest.mark.parametrize("direction", ["push", "pull"])
def test_directions(direction):
    g = medium(True)
    check(g, weft.strongly_connected_components(g, config=weft.Config(direction=direction)))


def test_a_chain_of_components():
    """Pairs of vertices one after another, of which a colouring finds few at a time."""
    low = np.arange(0, 600, 2)
    src = np.concatenate([low, low + 1, low[:-1] + 1])
    dst = np.concatenate([low + 1, low, low[1:]])
    check(g := weft.Graph.from_edges(src, dst), weft.strongly_connected_components(g))


@pytest.mark.parametrize("way", ["both", "one", "swapped"])
def test_edges_that_run_both_ways(way):
    src, dst, _ = AWKWARD["road"]().to_edges()
    there, back = np.r_[src, dst], np.r_[dst, src]
    if way == "one":  # one arc has none back
        there, back = there[:-1], back[:-1]
    elif way == "swapped":  # the degrees are those of the graph, the neighbours are not
        there, back = np.r_[0, 1, 2, 3], np.r_[1, 2, 3, 0]
    g = weft.Graph.from_edges(there, back)
    check(g, weft.strongly_connected_components(g))


def test_undirected_graphs_have_connected_components():
    g = AWKWARD["road"]()
    np.testing.assert_array_equal(
        weft.strongly_connected_components(g), weft.connected_components(g)
    )
