"""Paths between two vertices, the k shortest, and all pairs against NetworkX and SciPy."""

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

import weft
from graphs import AWKWARD, graphs
from library import Case
from networks import edge_pairs
from weft.errors import GraphError

NEGATIVE = ("weights negative",)


def least_weights(g, weighted=True):
    """The least weight of an edge from u to v, for every pair that has one."""
    weight = g.to_edges().weight
    values = [1.0] * g.num_edges if weight is None or not weighted else weight.tolist()
    least = {}
    for (u, v), w in zip(edge_pairs(g), values, strict=True):
        least[u, v] = min(w, least.get((u, v), np.inf))
        if not g.directed:
            least[v, u] = min(w, least.get((v, u), np.inf))
    return least


def distances(g, weighted=True):
    n, least = g.num_vertices, least_weights(g, weighted)
    if not least:
        return np.where(np.eye(n, dtype=bool), 0, np.inf)
    matrix = coo_array((list(least.values()), np.array(list(least)).T), shape=(n, n)).tocsr()
    return dijkstra(matrix) if min(least.values()) >= 0 else bellman(least, n)


def bellman(least, n):
    found = np.where(np.eye(n, dtype=bool), 0, np.inf)
    for _ in range(n):
        for (u, v), w in least.items():
            found[:, v] = np.minimum(found[:, v], found[:, u] + w)
    return found


def check_path(g, path, source, target, weighted=True):
    """A path joins its ends over edges, and is as long as SciPy's."""
    want, least = distances(g, weighted)[source, target], least_weights(g, weighted)
    assert path.length == pytest.approx(want, rel=1e-5)
    vertices = path.vertex.tolist()
    if np.isinf(want):
        assert vertices == []
        return
    assert (vertices[0], vertices[-1]) == (source, target)
    total = sum(least[pair] for pair in itertools.pairwise(vertices))
    assert total == pytest.approx(want, rel=1e-5)


def ends(g):
    return 0, g.num_vertices - 1


def estimates(g):
    """Half of the distance to the target, 1 where there is none."""
    left = distances(g)[:, ends(g)[1]]
    return np.where(np.isinf(left), 1, left / 2)


def check_all_pairs(g, found):
    np.testing.assert_allclose(found, distances(g), rtol=1e-5)


def check_k_paths(g, found):
    graph = nx.DiGraph()
    graph.add_nodes_from(range(g.num_vertices))
    least = least_weights(g)
    graph.add_weighted_edges_from((u, v, w) for (u, v), w in least.items() if u != v)
    try:
        paths = nx.shortest_simple_paths(graph, *ends(g), weight="weight")
        expected = [nx.path_weight(graph, path, "weight") for path in itertools.islice(paths, 4)]
    except nx.NetworkXNoPath:
        expected = []
    expected = [0.0] if g.num_vertices == 1 else expected
    assert [path.length for path in found] == pytest.approx(expected, rel=1e-5)
    assert len({tuple(path.vertex.tolist()) for path in found}) == len(found)
    for path in found:
        vertices = path.vertex.tolist()
        assert len(set(vertices)) == len(vertices) and (vertices[0], vertices[-1]) == ends(g)
        total = sum(least[pair] for pair in itertools.pairwise(vertices))
        assert path.length == pytest.approx(total, rel=1e-5)


CASES = {
    "shortest_path": Case(
        lambda g, **options: weft.shortest_path(g, *ends(g), **options),
        lambda g, found: check_path(g, found, *ends(g)),
        "int",
        least=1,
    ),
    "astar": Case(
        lambda g, **options: weft.astar(g, *ends(g), estimates(g.to("cpu")), **options),
        lambda g, found: check_path(g, found, *ends(g)),
        "int",
        least=1,
        avoid=NEGATIVE,
    ),
    "k_shortest_paths": Case(
        lambda g, **options: weft.k_shortest_paths(g, *ends(g), 4, **options),
        check_k_paths,
        "int",
        least=1,
        avoid=(*NEGATIVE, "weights infinite"),
    ),
    "all_pairs_shortest_path": Case(weft.all_pairs_shortest_path, check_all_pairs, "int"),
}


@given(st.data())
@settings(max_examples=30)
def test_paths_without_weights(data):
    g = data.draw(graphs(min_vertices=1, index_dtype=None, weights="int"))
    source, target = (data.draw(st.integers(0, g.num_vertices - 1)) for _ in range(2))
    path = weft.shortest_path(g, source, target, weighted=False)
    check_path(g, path, source, target, weighted=False)


def test_long_paths():
    g = AWKWARD["road"]()
    for target in (5, 77, 200):
        check_path(g, weft.shortest_path(g, 3, target), 3, target)
        estimate = distances(g)[:, target] * 0.9
        check_path(g, weft.astar(g, 3, target, np.minimum(estimate, 1e9)), 3, target)


def test_some_sources_and_labels():
    g = weft.Graph.from_edges(["a", "b", "c"], ["b", "c", "d"], weight=[2.0, 1.0, 4.0])
    assert weft.all_pairs_shortest_path(g, ["b"]).tolist() == [[np.inf, 0.0, 1.0, 5.0]]
    assert weft.shortest_path(g, "a", "c").vertex.tolist() == [0, 1, 2]
    assert weft.shortest_path(g, "c", "a").length == np.inf


def test_negative_weights_and_cycles():
    g = AWKWARD["weights negative"]()
    check_path(g, weft.shortest_path(g, 0, 4), 0, 4)
    g = weft.Graph.from_edges([0, 1, 2], [1, 2, 1], [1.0, -3.0, 2.0])
    with pytest.raises(GraphError, match="a cycle of negative weight"):
        weft.all_pairs_shortest_path(g)
    with pytest.raises(GraphError, match="Expected weights from 0 on for A"):
        weft.astar(g, 0, 2, [0, 0, 0])
    with pytest.raises(GraphError, match=r"estimate has the shape \(2,\). Expected one number"):
        weft.astar(weft.generators.path(3), 0, 2, [0, 0])
