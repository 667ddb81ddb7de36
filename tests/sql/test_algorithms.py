"""Algorithms run in DuckDB from the sources that run everywhere else."""

import networkx as nx
import numpy as np
import pytest

import weft
from weft.backends.relational.engines import PLANS


def graphs():
    rng = np.random.default_rng(7)
    src, dst = rng.integers(0, 30, (2, 70))
    weights = rng.integers(0, 9, 70).astype(float)
    yield weft.Graph.from_edges(src, dst, weights, num_vertices=33)
    yield weft.Graph.from_edges(src, dst, weights, num_vertices=33, directed=False)
    yield weft.Graph.from_edges([0, 0, 0, 1, 2], [0, 1, 1, 2, 0], [0.0, 2.0, 1.0, 0.0, 5.0])
    yield weft.Graph.from_edges([], [], num_vertices=1)


GRAPHS = list(graphs())


@pytest.mark.parametrize("plan", PLANS[1:])
@pytest.mark.parametrize("g", GRAPHS[:2], ids=["directed", "undirected"])
def test_distances_under_each_plan(con, engine, g, plan):
    engine.plan = plan
    there, network = g.to(con), g.to_networkx(multigraph=False)
    levels = nx.single_source_shortest_path_length(network, 0)
    found = weft.bfs(there, 0)
    assert found.level.tolist() == [levels.get(v, -1) for v in range(g.num_vertices)]
    np.testing.assert_array_equal(weft.sssp(there, 0).dist, weft.sssp(g.to("reference"), 0).dist)


@pytest.mark.parametrize("g", GRAPHS, ids=["directed", "undirected", "loops", "one"])
def test_rank_against_numpy(con, engine, g):
    n = g.num_vertices
    matrix = np.zeros((n, n))
    src, dst = g.topology.endpoints()
    np.add.at(matrix, (dst, src), 1.0 / g.out_degree[src])
    matrix[:, g.out_degree == 0] = 1 / n
    rank = np.full(n, 1 / n)
    for _ in range(200):
        rank = 0.15 / n + 0.85 * matrix @ rank
    np.testing.assert_allclose(weft.pagerank(g.to(con), tol=1e-12), rank, rtol=1e-8)


def test_core_numbers(con, engine):
    g = GRAPHS[1]
    network = nx.Graph(g.to_networkx(multigraph=False))
    network.remove_edges_from(nx.selfloop_edges(network))
    want = nx.core_number(network)
    assert weft.core_number(g.to(con)).tolist() == [want[v] for v in range(g.num_vertices)]


def test_betweenness(con, engine):
    g = weft.Graph.from_edges([0, 0, 1, 3, 4], [1, 2, 3, 4, 2], num_vertices=6, directed=False)
    network = nx.Graph(g.to_networkx(multigraph=False))
    want = nx.betweenness_centrality(network, normalized=False)
    found = weft.betweenness(g.to(con), normalized=False)
    np.testing.assert_allclose(found, [want[v] for v in range(g.num_vertices)], atol=1e-9)


def test_label_propagation(con, engine):
    g = GRAPHS[1]
    want = weft.label_propagation(g.to("reference"))
    assert weft.label_propagation(g.to(con)).tolist() == want.tolist()


@pytest.mark.parametrize("g", [*GRAPHS, weft.generators.path(20)], ids=str)
def test_components(con, engine, g):
    want = np.arange(g.num_vertices)
    for part in nx.connected_components(nx.Graph(g.to_networkx(multigraph=False))):
        want[list(part)] = min(part)
    assert weft.connected_components(g.to(con)).tolist() == want.tolist()
