"""Similarity of pairs against sets of neighbours."""

import math

import numpy as np
import pytest

import weft
from graphs import AWKWARD
from library import Case
from networks import edge_pairs, simple_graph
from weft.errors import GraphError

MEASURES = {
    "common_neighbors": lambda d, a, b: len(a & b),
    "jaccard": lambda d, a, b: len(a & b) / max(len(a | b), 1),
    "overlap": lambda d, a, b: len(a & b) / max(min(len(a), len(b)), 1),
    "cosine": lambda d, a, b: len(a & b) / max(math.sqrt(len(a) * len(b)), 1),
    "adamic_adar": lambda d, a, b: sum(1 / math.log(d[w]) for w in a & b if d[w] > 1),
    "resource_allocation": lambda d, a, b: sum(1 / d[w] for w in a & b),
}


def some_pairs(g):
    """Pairs far apart and near, more than there are vertices."""
    n = g.num_vertices
    ends = np.arange(n)
    return np.stack([np.r_[ends, ends], np.r_[(ends * 7 + 1) % n, (ends + 1) % n]], axis=1)


def expected(name, g, pairs):
    graph = simple_graph(g)
    near, degree = [set(graph[v]) for v in range(g.num_vertices)], dict(graph.degree)
    return [MEASURES[name](degree, near[a], near[b]) for a, b in pairs if a != b]


def case(name):
    def check(g, found):
        pairs = some_pairs(g).tolist()
        apart = [k for k, (a, b) in enumerate(pairs) if a != b]
        np.testing.assert_allclose(found[apart], expected(name, g, pairs), rtol=1e-12)

    return Case(
        lambda g, **options: getattr(weft, name)(g, some_pairs(g), **options), check, least=1
    )


CASES = {name: case(name) for name in ("jaccard", "adamic_adar")}


@pytest.mark.parametrize("name", MEASURES)
def test_measures_of_the_ends_of_edges(name):
    for graph in ("social", "disconnected", "hub"):
        g = AWKWARD[graph]()
        found = getattr(weft, name)(g)
        np.testing.assert_allclose(found, expected(name, g, edge_pairs(g)), rtol=1e-12)


def test_labels_and_errors():
    g = weft.Graph.from_edges(["a", "b", "c"], ["b", "c", "a"])
    assert weft.common_neighbors(g, [["a", "b"]]).tolist() == [1]
    g = weft.generators.path(3)
    assert weft.jaccard(g, np.zeros((0, 2), int)).tolist() == []
    with pytest.raises(GraphError, match=r"pairs have int64 of the shape \(2,\). Expected two"):
        weft.jaccard(g, [0, 1])
    with pytest.raises(GraphError, match=r"pairs name the vertex 3, which does not exist"):
        weft.jaccard(g, [[0, 3]])
