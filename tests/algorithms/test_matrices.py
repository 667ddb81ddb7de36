"""Spectral embedding, Markov clustering and SimRank against dense matrices and NetworkX."""

import networkx as nx
import numpy as np
import pytest

import weft
from graphs import AWKWARD
from library import Case
from networks import simple_graph, wide
from weft.errors import ConfigError, ConvergenceError, GraphError

BAD = ("weights negative", "weights infinite")
LARGE = ("hub", "hub in", "hub out", "long path", "long path directed", "long cycle", "road")


def dense(g, weighted=True, loops=False):
    """The symmetric matrix of all weights."""
    matrix = np.zeros((g.num_vertices,) * 2)
    src, dst, weight = g.to_edges()
    values = np.ones(src.size) if weight is None or not weighted else weight.astype(float)
    np.add.at(matrix, (src, dst), values)
    proper = src != dst
    np.add.at(matrix, (dst[proper], src[proper]), values[proper])
    if not loops:
        np.fill_diagonal(matrix, 0)
    return matrix


def check_embedding(g, found):
    matrix, n = dense(g), g.num_vertices
    strength = matrix.sum(axis=1)
    scale = np.divide(1, np.sqrt(strength), out=np.zeros(n), where=strength > 0)
    laplacian = np.eye(n) - scale[:, None] * matrix * scale
    count = found.vectors.shape[1]
    laplacian[strength == 0, strength == 0] = 0
    values = np.linalg.eigvalsh(laplacian)
    np.testing.assert_allclose(found.values, values[1 : 1 + count], atol=1e-8)
    image = laplacian @ found.vectors
    np.testing.assert_allclose(image, found.vectors * found.values, atol=1e-7)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(count), atol=1e-7)
    for k in range(count):
        column = found.vectors[:, k]
        assert column[abs(column).argmax()] >= 0


def clusters_of(matrix, inflation, threshold=1e-4):
    """Markov clustering with dense matrices."""
    n = len(matrix)
    heaviest = matrix.max(axis=0, initial=0)
    flow = matrix + np.diag(np.where(heaviest > 0, heaviest, 1))
    flow /= flow.sum(axis=0)
    for _ in range(100):
        before = flow
        flow = (flow @ flow) ** inflation
        flow /= flow.sum(axis=0)
        flow[(flow < threshold) & (flow < flow.max(axis=0))] = 0
        flow /= flow.sum(axis=0)
        if abs(flow - before).max(initial=0) < 1e-9:
            break
    graph = nx.Graph(zip(*np.nonzero(flow), strict=True))
    label = np.arange(n)
    for part in nx.connected_components(graph):
        label[list(part)] = min(part)
    return label


def check_clusters(g, found):
    assert found.tolist() == clusters_of(dense(g), 2.0).tolist()


def with_loops(g):
    graph = simple_graph(g, directed=True)
    src, dst, _ = g.to_edges()
    graph.add_edges_from((u, u) for u in src[src == dst].tolist())
    return graph


def check_simrank(g, found):
    step = nx.to_numpy_array(with_loops(g)) if g.num_vertices else np.zeros((0, 0))
    step = step / np.maximum(step.sum(axis=0), 1)
    want = np.eye(len(step))
    for _ in range(150):
        want = 0.8 * step.T @ want @ step
        np.fill_diagonal(want, 1)
    np.testing.assert_allclose(found, want, atol=1e-7)


CASES = {
    "spectral_embedding": Case(
        lambda g, **options: weft.spectral_embedding(g, min(2, g.num_vertices - 1), **options),
        check_embedding,
        "float",
        least=2,
        avoid=(*BAD, *LARGE),
    ),
    "markov_clustering": Case(
        weft.markov_clustering,
        check_clusters,
        "float",
        least=1,
        avoid=(*BAD, *LARGE),
    ),
    "simrank": Case(
        lambda g, **options: weft.simrank(g, None, 0.8, 1e-9, **options),
        check_simrank,
        avoid=(*LARGE, "social", "social undirected"),
    ),
}


def test_large_graphs_are_embedded_by_lanczos():
    g = AWKWARD["social undirected"]()
    parts = weft.connected_components(g)
    largest = g.subgraph(parts == np.bincount(parts).argmax())
    assert largest.num_vertices > 100
    found = weft.spectral_embedding(largest, 3)
    check_embedding(largest, found)
    again = weft.spectral_embedding(wide(largest), 3, seed=5)
    np.testing.assert_allclose(found.vectors, again.vectors, atol=1e-6)
    assert weft.spectral_embedding(largest, 1, skip_first=False).values[0] < 1e-9


def test_one_row_of_similarities():
    g = AWKWARD["two cliques"]()
    want = nx.simrank_similarity(simple_graph(g))
    whole = weft.simrank(g)
    np.testing.assert_array_equal(weft.simrank(g, 3), whole[3])
    np.testing.assert_allclose(whole, whole.T, rtol=1e-14)
    np.testing.assert_allclose(whole, [[want[u][v] for v in want] for u in want], atol=1e-2)


def test_no_vertices():
    g = AWKWARD["empty"]()
    assert weft.markov_clustering(g).shape == (0,)
    assert weft.spectral_embedding(g, 1).vectors.shape == (0, 1)


def test_inflation_divides():
    g = AWKWARD["two cliques"]()
    assert set(weft.markov_clustering(g).tolist()) == {0, 6}
    assert weft.markov_clustering(g, 3, 1.5).tolist() == [0] * 6 + [6] * 6


def test_arguments_are_checked():
    g = weft.generators.path(4)
    with pytest.raises(ConfigError, match=r"k=4"):
        weft.spectral_embedding(g, 4)
    with pytest.raises(ConfigError, match=r"inflation=1 is not possible"):
        weft.markov_clustering(g, inflation=1)
    with pytest.raises(ConfigError, match=r"threshold=1 is not possible"):
        weft.markov_clustering(g, threshold=1)
    with pytest.raises(ConvergenceError, match=r"the flow still changed after 1 iterations"):
        weft.markov_clustering(g, max_iter=1)
    with pytest.raises(ConfigError, match=r"importance=1 is not possible"):
        weft.simrank(g, importance=1)
    with pytest.raises(ConvergenceError, match=r"similarities still changed after 2 iterations"):
        weft.simrank(g, max_iter=2)
    with pytest.raises(GraphError, match=r"source=9 does not exist"):
        weft.simrank(g, 9)
