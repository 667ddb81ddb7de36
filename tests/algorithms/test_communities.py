"""Communities by Louvain and Leiden, and the measures of partitions, against NetworkX."""

import networkx as nx
import numpy as np
import pytest

import weft
from graphs import AWKWARD
from library import Case
from networks import edge_pairs, multigraph
from weft.errors import ConfigError, GraphError


def some_labels(g):
    return np.arange(g.num_vertices) % 3


def parts_of(labels):
    return [set(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)]


def check_modularity(g, found):
    graph = multigraph(g)
    if g.num_edges == 0 or graph.size(weight="weight") == 0:
        assert found == 0
        return
    expected = nx.community.modularity(graph, parts_of(some_labels(g)))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


def check_conductance(g, found):
    pairs, labels = edge_pairs(g), some_labels(g)
    weight = g.to_edges().weight
    values = [1.0] * g.num_edges if weight is None else weight.tolist()
    want = []
    for label in np.unique(labels):
        ends = [(labels[u] == label, labels[v] == label) for u, v in pairs]
        cut = sum(w for (a, b), w in zip(ends, values, strict=True) if a != b)
        volume = sum(w * (int(a) + int(b)) for (a, b), w in zip(ends, values, strict=True))
        least = min(volume, 2 * sum(values) - volume)
        want.append(cut / least if least else np.nan if cut == 0 else np.inf)
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-7)


def check_communities(g, found, least=0.95):
    """A partition named after its smallest vertices, nearly as good as NetworkX finds."""
    n = g.num_vertices
    assert found.shape == (n,)
    for part in parts_of(found):
        assert {int(found[v]) for v in part} == {min(part)}
    graph = multigraph(g).to_undirected()
    if n == 0 or graph.size(weight="weight") == 0:
        assert found.tolist() == list(range(n))
        return
    best = nx.community.louvain_communities(graph, seed=1)
    want = nx.community.modularity(graph, best)
    mine = nx.community.modularity(graph, parts_of(found))
    assert mine >= least * want - (0.02 if n > 40 else 0.13)
    connected = {min(part) for part in nx.connected_components(graph)}
    assert len(np.unique(found)) >= len(connected)


def check_connected(g, found):
    check_communities(g, found)
    graph = multigraph(g).to_undirected()
    for part in parts_of(found):
        assert nx.is_connected(graph.subgraph(part))


BAD = ("weights negative", "weights infinite")
CASES = {
    "modularity": Case(
        lambda g, **options: weft.modularity(g, some_labels(g), **options),
        check_modularity,
        "float",
        avoid=BAD,
    ),
    "conductance": Case(
        lambda g, **options: weft.conductance(g, some_labels(g), **options),
        check_conductance,
        "float",
        avoid=BAD,
    ),
    "louvain": Case(weft.louvain, check_communities, "int", avoid=BAD),
    "leiden": Case(weft.leiden, check_connected, "int", avoid=BAD),
}


@pytest.mark.parametrize("name", ["louvain", "leiden"])
def test_planted_communities_are_found(name):
    g = weft.Graph.from_networkx(nx.planted_partition_graph(12, 25, 0.6, 0.01, seed=4))
    found = getattr(weft, name)(g, seed=3)
    np.testing.assert_array_equal(found, np.arange(300) // 25 * 25)


@pytest.mark.parametrize("name", ["louvain", "leiden"])
def test_quality_on_larger_graphs(name):
    for g in (weft.generators.rmat(10, 8, seed=2), weft.generators.road(30, 0.7, seed=2)):
        graph = multigraph(g)
        want = nx.community.modularity(graph, nx.community.louvain_communities(graph, seed=1))
        mine = weft.modularity(g, getattr(weft, name)(g))
        assert mine >= 0.97 * want
        again = getattr(weft, name)(g, config=weft.Config(deterministic=True, threads=2))
        assert weft.modularity(g, again) >= 0.97 * want


def test_the_resolution_chooses_the_size():
    g = AWKWARD["road"]()
    counts = [np.unique(weft.louvain(g, gamma)).size for gamma in (0.2, 1.0, 4.0)]
    assert counts[0] < counts[1] < counts[2]
    assert np.unique(weft.louvain(g, 0)).size == np.unique(weft.connected_components(g)).size


def test_errors():
    g = weft.generators.path(4)
    with pytest.raises(ConfigError, match=r"resolution=-1 is not possible"):
        weft.louvain(g, -1)
    with pytest.raises(GraphError, match=r"labels have int64 of the shape \(2,\). Expected one"):
        weft.modularity(g, [0, 1])
    with pytest.raises(GraphError, match=r"Expected finite weights from 0 on for communities"):
        weft.leiden(AWKWARD["weights negative"]())
