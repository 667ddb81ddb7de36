"""Eigenvector, Katz, hub and degree centrality against dense matrices and NetworkX."""

import networkx as nx
import numpy as np
import pytest

import weft
from graphs import AWKWARD
from library import Case
from networks import values_of
from weft.errors import ConfigError, ConvergenceError, GraphError


def dense(g, weighted=False):
    """The matrix whose entry (v, u) is the total weight of edges u -> v."""
    matrix = np.zeros((g.num_vertices,) * 2)
    src, dst, weight = g.to_edges()
    values = weight.astype(float) if weighted and weight is not None else np.ones(src.size)
    np.add.at(matrix, (dst, src), values)
    if not g.directed:
        proper = src != dst
        np.add.at(matrix, (src[proper], dst[proper]), values[proper])
    return matrix


def returned(algorithm, **fixed):
    """Call an algorithm; None where it does not converge, as in graphs without cycles."""

    def call(g, **options):
        try:
            return algorithm(g, **fixed, **options)
        except ConvergenceError:
            return None

    return call


def check_eigenvector(g, found, weighted=False):
    n, matrix = g.num_vertices, dense(g, weighted) + np.eye(g.num_vertices)
    x = np.full(n, 1 / max(n, 1) ** 0.5)
    for _ in range(100):
        last, x = x, matrix @ x
        x /= np.linalg.norm(x) or 1
        if abs(x - last).sum() <= 1e-8 * n:
            break
    else:
        assert found is None
        return
    np.testing.assert_allclose(found, x, rtol=1e-6, atol=1e-9)


def check_katz(g, found, weighted=False):
    n, matrix = g.num_vertices, 0.002 * dense(g, weighted)
    x = np.linalg.solve(np.eye(n) - matrix, np.ones(n))
    np.testing.assert_allclose(found, x / (np.linalg.norm(x) or 1), rtol=1e-6)


def check_hits(g, found, weighted=False):
    n, matrix = g.num_vertices, dense(g, weighted)
    hub = np.full(n, 1 / max(n, 1))
    for _ in range(300):
        authority = matrix @ hub
        last, hub = hub, matrix.T @ authority
        authority /= authority.sum() or 1
        hub /= hub.sum() or 1
        if abs(hub - last).sum() <= 1e-8:
            break
    else:
        assert found is None
        return
    np.testing.assert_allclose(found.hub, hub, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(found.authority, authority, rtol=1e-5, atol=1e-8)


def check_degree(g, found):
    n, matrix = g.num_vertices, dense(g)
    degree = matrix.sum(axis=0) + (matrix.sum(axis=1) if g.directed else 0)
    np.testing.assert_allclose(found, degree / (n - 1) if n > 1 else np.ones(n))


CASES = {
    "eigenvector": Case(returned(weft.eigenvector, tol=1e-8), check_eigenvector),
    "katz": Case(returned(weft.katz, alpha=0.002, tol=1e-12), check_katz),
    "hits": Case(returned(weft.hits, max_iter=300), check_hits),
    "degree_centrality": Case(weft.degree_centrality, check_degree),
}


def test_networkx_agrees():
    g = AWKWARD["social undirected"]()
    graph = nx.Graph(list(zip(*(ends.tolist() for ends in g.to_edges()[:2]), strict=True)))
    graph.add_nodes_from(range(g.num_vertices))
    for found, expected in (
        (weft.eigenvector(g, tol=1e-10), nx.eigenvector_centrality_numpy),
        (weft.degree_centrality(g), nx.degree_centrality),
    ):
        inside = np.flatnonzero(g.out_degree)
        part = graph.subgraph(max(nx.connected_components(graph), key=len))
        if expected is nx.degree_centrality:
            np.testing.assert_allclose(found, values_of(expected(graph)))
        elif len(part) == inside.size:
            want = expected(part)
            np.testing.assert_allclose(found[inside], [want[v] for v in inside], rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "check", "options"),
    [
        ("eigenvector", check_eigenvector, {"tol": 1e-8}),
        ("katz", check_katz, {"alpha": 0.002, "tol": 1e-12}),
        ("hits", check_hits, {"max_iter": 300}),
    ],
)
def test_weights(name, check, options):
    for graph in ("social", "weights of int64 ids", "parallel edges undirected"):
        g = AWKWARD[graph]()
        check(g, returned(getattr(weft, name), weighted=True, **options)(g), weighted=True)
    for graph in ("weights negative", "weights infinite"):
        with pytest.raises(GraphError, match=r"the weights range from .* Expected finite weights"):
            getattr(weft, name)(AWKWARD[graph](), weighted=True)


def test_errors():
    with pytest.raises(ConvergenceError, match=r"Katz centrality did not converge: .* raise max"):
        weft.katz(weft.generators.complete(6), alpha=0.5, max_iter=20)
    with pytest.raises(ConfigError, match="alpha='a' is not possible"):
        weft.katz(weft.generators.path(3), alpha="a")
    with pytest.raises(ConfigError, match="direction='up' is not known"):
        weft.degree_centrality(weft.generators.path(3), "up")


def test_directions_of_degrees():
    g = weft.Graph.from_edges([0, 0], [1, 2])
    assert weft.degree_centrality(g, "out").tolist() == [1, 0, 0]
    assert weft.degree_centrality(g, "in").tolist() == [0, 0.5, 0.5]
