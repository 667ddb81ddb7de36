"""Reciprocity, assortativity and the rich club against NetworkX and NumPy."""

import networkx as nx
import numpy as np
import pytest

import weft
from library import Case
from networks import simple_graph


def check_reciprocity(g, found):
    graph = simple_graph(g, directed=True)
    if graph.number_of_edges() == 0:
        assert found == 0
    else:
        assert found == pytest.approx(nx.overall_reciprocity(graph) if g.directed else 1)


def check_assortativity(g, found):
    graph = simple_graph(g, directed=True).to_directed()
    ends = [(graph.out_degree(u), graph.in_degree(v)) for u, v in graph.edges]
    a, b = np.array(ends, float).reshape(-1, 2).T
    if a.size == 0 or np.ptp(a) == 0 or np.ptp(b) == 0:
        assert np.isnan(found)
    else:
        assert found == pytest.approx(np.corrcoef(a, b)[0, 1], abs=1e-9)


def check_club(g, found):
    graph = simple_graph(g)
    want = []
    for k in range(g.num_vertices):
        rich = [v for v in graph if graph.degree(v) > k]
        if len(rich) < 2:
            break
        edges = graph.subgraph(rich).number_of_edges()
        want.append(2 * edges / (len(rich) * (len(rich) - 1)))
    np.testing.assert_allclose(found, want)


CASES = {
    "reciprocity": Case(weft.reciprocity, check_reciprocity),
    "degree_assortativity": Case(weft.degree_assortativity, check_assortativity),
    "rich_club": Case(weft.rich_club, check_club),
}


def test_networkx_agrees():
    g = weft.generators.rmat(6, 6, seed=2)
    graph = simple_graph(g)
    club = nx.rich_club_coefficient(graph, normalized=False)
    np.testing.assert_allclose(weft.rich_club(g), list(club.values()))
    want = nx.degree_assortativity_coefficient(graph)
    assert weft.degree_assortativity(g) == pytest.approx(want)
