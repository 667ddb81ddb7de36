"""Seeded graph matching against SciPy and hidden permutations."""

import numpy as np
import pytest
from scipy.optimize import quadratic_assignment

import weft
from graphs import AWKWARD
from weft.errors import GraphError


def shuffled(g, order):
    """The same graph with vertex v called order[v]."""
    src, dst, weight = g.to_edges()
    return weft.Graph.from_edges(
        order[src], order[dst], weight, num_vertices=g.num_vertices, directed=g.directed
    )


def dense(g):
    return g.to_scipy().toarray()


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_hidden_permutation_is_found(directed, weighted):
    g = weft.generators.rmat(6, 6, seed=4, directed=directed, weights="int")
    order = np.random.default_rng(1).permutation(g.num_vertices)
    seeds = [[v, order[v]] for v in np.argsort(-g.out_degree)[:12]]
    found = weft.seeded_graph_matching(g, shuffled(g, order), seeds, weighted=weighted)
    degree = g.out_degree + g.in_degree
    assert (found == order)[degree > 6].all()
    assert sorted(found.tolist()) == list(range(g.num_vertices))


def test_as_many_common_edges_as_scipy_finds():
    rng = np.random.default_rng(5)
    for _ in range(5):
        a, b = (np.triu(rng.random((12, 12)) < 0.4, 1).astype(float) for _ in range(2))
        a, b = a + a.T, b + b.T
        one, other = (
            weft.Graph.from_edges(*np.nonzero(np.triu(m)), num_vertices=12, directed=False)
            for m in (a, b)
        )
        found = weft.seeded_graph_matching(one, other, [[0, 0], [1, 1]])
        seeds = np.array([[0, 0], [1, 1]])
        options = {"maximize": True, "partial_match": seeds, "rng": np.random.default_rng(7)}
        want = quadratic_assignment(a, b, method="faq", options=options)
        mine = (a * b[np.ix_(found, found)]).sum()
        assert found[:2].tolist() == [0, 1]
        assert mine >= 0.9 * want.fun


def test_all_seeds_and_awkward_graphs():
    for name in ("empty", "one vertex", "isolated vertices", "parallel edges", "self-loops"):
        g = AWKWARD[name]()
        n = g.num_vertices
        assert sorted(weft.seeded_graph_matching(g, g).tolist()) == list(range(n))
        pairs = np.stack([np.arange(n), np.arange(n)[::-1]], axis=1)
        assert weft.seeded_graph_matching(g, g, pairs).tolist() == list(range(n))[::-1]
    assert isinstance(weft.seeded_graph_matching(g.to("emulated"), g), np.ndarray)


def test_arguments_are_checked():
    g = weft.generators.path(4)
    with pytest.raises(GraphError, match=r"Expected a graph of 4 vertices that is undirected"):
        weft.seeded_graph_matching(g, weft.generators.path(5))
    for seeds, message in (
        ([0, 1], r"seeds have int64 of the shape \(2,\)"),
        ([[0, 9]], r"the seed \[0, 9\] does not exist"),
        ([[0, 1], [0, 2]], r"a vertex is in two seeds"),
    ):
        with pytest.raises(GraphError, match=message):
            weft.seeded_graph_matching(g, g, seeds)
