"""Triangles one by one, trusses and squares against NetworkX and brute force."""

import itertools

import networkx as nx
import numpy as np
import pytest

import weft
from graphs import AWKWARD
from library import Case
from networks import edge_pairs, simple_graph, values_of


def check_list(g, found):
    graph = simple_graph(g)
    want = [
        [a, b, c]
        for a in range(g.num_vertices)
        for b, c in itertools.combinations(sorted(v for v in graph[a] if v > a), 2)
        if graph.has_edge(b, c)
    ]
    assert found.shape == (len(want), 3) and found.tolist() == want


def check_edges(g, found):
    near = simple_graph(g)
    want = [len(set(near[u]) & set(near[v])) if u != v else 0 for u, v in edge_pairs(g)]
    assert found.tolist() == want


def trusses(graph):
    """The truss number of every edge: one k after another."""
    number, k = {}, 2
    while graph.number_of_edges():
        kept = nx.k_truss(graph, k + 1)
        for u, v in graph.edges:
            if not kept.has_edge(u, v):
                number[u, v] = number[v, u] = k
        graph, k = kept, k + 1
    return number


def check_truss(g, found):
    number = trusses(simple_graph(g))
    assert found.tolist() == [number[u, v] if u != v else 0 for u, v in edge_pairs(g)]


def check_squares(g, found):
    want = nx.square_clustering(simple_graph(g))
    if g.num_vertices:
        np.testing.assert_allclose(found, values_of(want), rtol=1e-12)


CASES = {
    "list_triangles": Case(weft.list_triangles, check_list),
    "edge_triangles": Case(weft.edge_triangles, check_edges),
    "truss_number": Case(weft.truss_number, check_truss),
    "square_clustering": Case(weft.square_clustering, check_squares, avoid=("hub", "hub in")),
}


@pytest.mark.parametrize("name", ["social", "two cliques", "disconnected", "isolated vertices"])
def test_k_truss(name):
    g = AWKWARD[name]()
    g.vertex["number"] = np.arange(g.num_vertices)
    graph = simple_graph(g)
    for k in (3, 4):
        found = weft.k_truss(g, k)
        want = nx.k_truss(graph, k)
        own = found.vertex["number"]
        pairs = {frozenset((own[u], own[v])) for u, v in edge_pairs(found)}
        assert sorted(own.tolist()) == sorted(want)
        assert pairs == {frozenset(pair) for pair in want.edges}
        assert list(found.edge) == list(g.edge) and found.directed == g.directed
    most = weft.truss_number(g).max() if g.num_edges else 2
    found = weft.k_truss(g)
    assert found.num_edges == (weft.truss_number(g) == max(most, 2)).sum()


def test_complete_graphs_are_trusses():
    assert set(weft.truss_number(weft.generators.complete(7)).tolist()) == {7}
