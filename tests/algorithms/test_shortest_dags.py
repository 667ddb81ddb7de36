"""Betweenness by weights, of edges, loads and percolation against NetworkX."""

import networkx as nx
import numpy as np
import pytest

import weft
from graphs import AWKWARD
from library import Case
from networks import edge_pairs, simple_graph, values_of
from weft.errors import GraphError

BAD = ("weights negative", "weights infinite", "long path", "long path directed", "long cycle")
BAD += ("hub", "hub in", "hub out", "road")


def lengths(g):
    """The graph with weights above 0."""
    weight = g.edge["weight"] + 0.25 if g.weighted else None
    return weft.Graph(g.topology, edge={} if weight is None else {"weight": weight})


def network(g, weighted):
    """The simple graph in NetworkX with the least length of parallel edges."""
    result = simple_graph(g, directed=True)
    weight = g.to_edges().weight
    values = np.ones(g.num_edges) if weight is None or not weighted else weight + 0.25
    nx.set_edge_attributes(result, np.inf, "weight")
    for (u, v), value in zip(edge_pairs(g), values.tolist(), strict=True):
        if u != v:
            result[u][v]["weight"] = min(result[u][v]["weight"], value)
    return result


def check_vertices(g, found):
    want = nx.betweenness_centrality(network(g, True), weight="weight")
    np.testing.assert_allclose(found, values_of(want), rtol=1e-9, atol=1e-12)


def check_edges(g, found, weighted=True, normalized=True):
    graph = network(g, weighted)
    want = nx.edge_betweenness_centrality(graph, weight="weight", normalized=normalized)
    weight = g.to_edges().weight
    values = np.zeros(g.num_edges) if weight is None or not weighted else weight + 0.25
    total = dict.fromkeys(want, 0.0)
    for (u, v), value, part in zip(edge_pairs(g), values.tolist(), found.tolist(), strict=True):
        pair = (u, v) if (u, v) in total else (v, u)
        if u == v or (values.any() and value > graph[u][v]["weight"]):
            assert part == 0
        else:
            total[pair] += part
    for pair, value in total.items():
        assert value == pytest.approx(want[pair], rel=1e-9, abs=1e-12)


def loads(graph):
    """Loads by their definition, source by source."""
    total = dict.fromkeys(graph, 0.0)
    for source in graph:
        preds, dist = nx.dijkstra_predecessor_and_distance(graph, source)
        load = dict.fromkeys(dist, 1.0)
        for v in sorted(dist, key=dist.get, reverse=True):
            for u in preds[v]:
                load[u] += load[v] / len(preds[v])
            if v != source:
                total[v] += load[v] - 1
    return values_of(total) if total else np.zeros(0)


def check_loads(g, found):
    np.testing.assert_allclose(found, loads(network(g, True)), rtol=1e-9, atol=1e-9)


def states_of(n):
    return (np.arange(n) * 7 % 5) / 4


def check_percolation(g, found):
    graph, n = network(g, True), g.num_vertices
    states = states_of(n)
    want = np.zeros(n)
    for s in graph:
        owed = nx.betweenness_centrality_subset(graph, [s], list(graph), weight="weight")
        want += values_of(owed) * (1 if g.directed else 2) * states[s]
    others = states.sum() - states
    want = np.divide(want, others, out=np.zeros(n), where=others > 0) / max(n - 2, 1)
    np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-12)


CASES = {
    "betweenness_weighted": Case(
        lambda g, **options: weft.betweenness(lengths(g), weighted=True, **options),
        check_vertices,
        "float",
        least=3,
        avoid=BAD,
    ),
    "edge_betweenness_weighted": Case(
        lambda g, **options: weft.edge_betweenness(lengths(g), weighted=True, **options),
        check_edges,
        "float",
        avoid=BAD,
    ),
    "load_centrality_weighted": Case(
        lambda g, **options: weft.load_centrality(lengths(g), False, weighted=True, **options),
        check_loads,
        "float",
        False,
        avoid=BAD,
    ),
    "percolation_weighted": Case(
        lambda g, **options: weft.percolation(
            lengths(g), states_of(g.num_vertices), weighted=True, **options
        ),
        check_percolation,
        "float",
        False,
        least=1,
        avoid=BAD,
    ),
}


@pytest.mark.parametrize("name", ["disconnected", "two cliques", "parallel edges undirected"])
def test_edges_without_weights(name):
    g = AWKWARD[name]().to("reference")
    for normalized in (True, False):
        found = weft.edge_betweenness(g, normalized=normalized)
        check_edges(g, found, weighted=False, normalized=normalized)


def test_loads_and_percolation_without_weights():
    g = AWKWARD["two cliques"]().to("reference")
    graph = simple_graph(g)
    np.testing.assert_allclose(weft.load_centrality(g), values_of(nx.load_centrality(graph)))
    states = dict(enumerate(states_of(g.num_vertices).tolist()))
    want = values_of(nx.percolation_centrality(graph, states=states))
    np.testing.assert_allclose(weft.percolation(g, list(states.values())), want)


def ladder(rungs):
    """Chains of diamonds, each of which doubles the number of shortest paths."""
    first = 3 * np.arange(rungs)
    src = np.stack([first, first, first + 1, first + 2], axis=1).ravel()
    dst = np.stack([first + 1, first + 2, first + 3, first + 3], axis=1).ravel()
    return weft.Graph.from_edges(src, dst, directed=True)


def test_more_paths_than_a_float_can_count():
    rungs = 1100
    found = weft.edge_betweenness(ladder(rungs).to("reference"), [0], False)
    beyond = np.arange(3 * rungs, 0, -3.0)  # vertices from each diamond on
    want = np.stack([(beyond - 1) / 2 + 0.5] * 2 + [(beyond - 2) / 2] * 2, axis=1).ravel()
    np.testing.assert_allclose(found / (3 * rungs + 1), want, rtol=1e-9)


def test_samples_are_scaled_up():
    g = AWKWARD["two cliques"]().to("reference")
    parts = [weft.edge_betweenness(g, [v]) for v in range(g.num_vertices)]
    np.testing.assert_allclose(np.mean(parts, axis=0), weft.edge_betweenness(g))


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0, 0.0], r"the least weight is 0.0. Expected weights above 0"),
        ([1.0, np.nan], r"Expected finite weights from 0 on for shortest paths"),
        ([1e20, 1.0, 1e-5], r"some weights are too small relative to distances from vertex 0"),
    ],
)
def test_lengths_that_cannot_be_added(weight, message):
    ends = [0, 1, 2][: len(weight)]
    g = weft.Graph.from_edges(ends, [e + 1 for e in ends], weight, directed=False)
    g = g.to("reference")
    for name in ("betweenness", "edge_betweenness", "load_centrality", "percolation"):
        with pytest.raises(GraphError, match=message):
            getattr(weft, name)(g, weighted=True)


def test_states_are_checked():
    with pytest.raises(GraphError, match=r"states have float64 of the shape \(2,\)"):
        weft.percolation(weft.generators.path(3), [0.5, 0.5])
