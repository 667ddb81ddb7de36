"""Similarity of pairs against sets of neighbours, projections against NetworkX."""

import itertools
import math

import networkx as nx
import numpy as np
import pytest

import weft
from graphs import AWKWARD
from library import Case
from networks import edge_pairs, simple_graph
from weft.errors import ConfigError, GraphError

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


def check_all(measure, threshold, top=None):
    def compare(g, found):
        graph = simple_graph(g)
        near, degree = [set(graph[v]) for v in range(g.num_vertices)], dict(graph.degree)
        want = {}
        for a, b in itertools.combinations(range(g.num_vertices), 2):
            score = MEASURES[measure](degree, near[a], near[b])
            if near[a] & near[b] and score >= threshold:
                want[a, b] = score
        pairs = list(zip(found.first.tolist(), found.second.tolist(), strict=True))
        assert len(pairs) == len(set(pairs)) == (len(want) if top is None else min(top, len(want)))
        np.testing.assert_allclose(found.score, [want[pair] for pair in pairs], rtol=1e-12)
        np.testing.assert_allclose(
            found.score, sorted(want.values(), reverse=True)[: len(pairs)], rtol=1e-12
        )

    return compare


HUBS = ("hub", "hub in", "hub out")
CASES |= {
    "similar_pairs": Case(
        lambda g, **options: weft.similar_pairs(g, "jaccard", 0.26, **options),
        check_all("jaccard", 0.26),
        avoid=HUBS,
    ),
    "most_similar_pairs": Case(
        lambda g, **options: weft.similar_pairs(g, "adamic_adar", top=5, **options),
        check_all("adamic_adar", 0.0, 5),
        avoid=HUBS,
    ),
}


@pytest.mark.parametrize("measure", MEASURES)
def test_measures(measure):
    g = AWKWARD["social"]().to("reference")
    g = g.subgraph(range(60))
    found = weft.similar_pairs(g, measure, 0.3)
    check_all(measure, 0.3)(g, found)


def check_projection(weight, found, graph, side):
    function = {
        "count": nx.bipartite.weighted_projected_graph,
        "newman": nx.bipartite.collaboration_weighted_projected_graph,
    }[weight]
    want = function(graph, side)
    kept = found.vertex["number"]
    pairs = [(int(kept[u]), int(kept[v])) for u, v in edge_pairs(found)]
    assert sorted(want.nodes) == kept.tolist()
    assert {frozenset(pair) for pair in pairs} == {frozenset(pair) for pair in want.edges}
    expected = [want.edges[pair]["weight"] for pair in pairs]
    np.testing.assert_allclose(found.to_edges().weight, expected, rtol=1e-12)


@pytest.mark.parametrize("weight", ["count", "newman"])
def test_projections(weight):
    rng = np.random.default_rng(3)
    src, dst = rng.integers(0, 20, 60), rng.integers(20, 35, 60)
    for device in ("cpu", "reference"):
        g = weft.Graph.from_edges(src, dst, num_vertices=35, directed=False)
        g.vertex["number"] = np.arange(35)
        graph = simple_graph(g)
        for side in (range(20), range(20, 35)):
            found = weft.bipartite_projection(g.to(device), list(side), weight)
            check_projection(weight, found, graph, list(side))


def test_projection_without_weights_keeps_labels():
    g = weft.Graph.from_edges(["a", "b", "a", "c"], ["x", "x", "y", "y"], directed=False)
    found = weft.bipartite_projection(g, ["a", "b", "c"], None)
    assert not found.weighted and found.labels.tolist() == ["a", "b", "c"]
    assert sorted(edge_pairs(found)) == [(0, 1), (0, 2)]


def test_arguments_of_all_pairs_are_checked():
    g = weft.generators.path(4)
    with pytest.raises(ConfigError, match=r"measure='dice' is not known"):
        weft.similar_pairs(g, "dice")
    with pytest.raises(ConfigError, match=r"threshold='x' is not possible"):
        weft.similar_pairs(g, threshold="x")
    with pytest.raises(ConfigError, match=r"weight='sum' is not known"):
        weft.bipartite_projection(g, [0, 2], "sum")
    with pytest.raises(GraphError, match=r"vertices 0 and 1 of the side are adjacent"):
        weft.bipartite_projection(g, [0, 1])
