"""Diameters and centres from few searches."""

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st


@given(
    st.integers(1, 12), st.lists(st.tuples(*[st.integers(0, 11)] * 2), max_size=12), st.booleans()
)
def test_extremes_are_those_of_all_searches(size, pairs, bounded):
    graph = nx.path_graph(size)
    graph.add_edges_from((u % size, v % size) for u, v in pairs)
    nx.set_edge_attributes(graph, {edge: 1 + sum(edge) % 4 for edge in graph.edges}, "weight")
    for function in (nx.diameter, nx.radius, nx.periphery, nx.center):
        ours = function(graph, usebounds=bounded, backend="weft")
        assert ours == function(graph, usebounds=bounded)
        ours = function(graph, usebounds=bounded, weight="weight", backend="weft")
        assert ours == function(graph, usebounds=bounded, weight="weight")


@given(st.integers(0, 30))
def test_centre_of_a_tree(seed):
    tree = nx.random_labeled_tree(1 + seed, seed=seed)
    assert nx.center(tree, backend="weft") == nx.center(tree)


def test_a_disconnected_graph_has_none():
    with pytest.raises(nx.NetworkXError, match="not connected"):
        nx.diameter(nx.empty_graph(3), usebounds=True, backend="weft")
