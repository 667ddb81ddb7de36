"""Equal paths, flows and depth-first steps on graphs with ties, loops and weights of zero."""

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

EDGES = st.lists(st.tuples(*[st.integers(0, 7)] * 2, st.integers(0, 3)), min_size=1, max_size=25)
DIRECTED = st.sampled_from([nx.Graph, nx.DiGraph])
ANY = st.sampled_from([nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])


def graph_of(kind, edges):
    graph = kind()
    graph.add_nodes_from(range(3))
    graph.add_weighted_edges_from(edges)
    return graph


def both(function, *args, **options):
    return [function(*args, **options, backend=name) for name in ("weft", "networkx")]


def close(ours, theirs):
    assert list(ours) == list(theirs)
    assert list(ours.values()) == pytest.approx(list(theirs.values()), nan_ok=True)


@given(ANY, EDGES, st.sampled_from([None, 4]))
def test_predecessors_are_those_of_networkx(kind, edges, cutoff):
    graph = graph_of(kind, edges)
    ours, theirs = both(nx.dijkstra_predecessor_and_distance, graph, 1, cutoff=cutoff)
    assert [list(part.items()) for part in ours] == [list(part.items()) for part in theirs]


@given(ANY, EDGES.map(lambda edges: [(u, v, w + 1) for u, v, w in edges]))
def test_all_shortest_paths_come_in_the_order_of_networkx(kind, edges):
    graph = graph_of(kind, edges)
    for weight in (None, "weight"):
        ours, theirs = both(nx.all_pairs_all_shortest_paths, graph, weight=weight)
        assert list(ours) == list(theirs)
    with pytest.raises(nx.NetworkXNoPath):
        list(nx.all_shortest_paths(graph, 0, "absent", backend="weft"))


@given(DIRECTED, EDGES.map(lambda edges: [(u, v, w + 1) for u, v, w in edges]), st.booleans())
def test_betweenness_by_weight(kind, edges, normalized):
    graph = graph_of(kind, edges)
    for endpoints in (False, True):
        for k in (None, 2, len(graph)):
            close(*both(nx.betweenness_centrality, graph, k=k, weight="weight", seed=3,
                        endpoints=endpoints, normalized=normalized))  # fmt: skip
    options = {"weight": "weight", "normalized": normalized}
    close(*both(nx.edge_betweenness_centrality, graph, k=2, seed=5, **options))
    for function in (nx.betweenness_centrality_subset, nx.edge_betweenness_centrality_subset):
        for targets in (list(graph), list(graph)[1:4]):
            close(*both(function, graph, [0, 1, 2], targets, **options))


@given(ANY, EDGES, st.sampled_from([None, 1, 2, 4]))
def test_depth_first_steps(kind, edges, limit):
    graph = graph_of(kind, edges)
    for source in (None, 1):
        for function in (nx.dfs_labeled_edges, nx.dfs_edges, nx.dfs_postorder_nodes):
            ours, theirs = both(function, graph, source, depth_limit=limit)
            assert list(ours) == list(theirs)


@given(DIRECTED, EDGES, st.sampled_from([None, "weight"]))
def test_clustering_by_weight(kind, edges, weight):
    graph = graph_of(kind, [*edges, (0, 1, 3)])
    close(*both(nx.clustering, graph, weight=weight))


@given(ANY, EDGES)
def test_distances_of_all_pairs(kind, edges):
    graph = graph_of(kind, edges)
    ours, theirs = both(nx.floyd_warshall_predecessor_and_distance, graph)
    assert ours == theirs


@given(ANY, EDGES.map(lambda edges: [(u, v, w - 1) for u, v, w in edges]))
def test_negative_cycles_are_found(kind, edges):
    graph = graph_of(kind, edges)
    ours, theirs = both(nx.negative_edge_cycle, graph)
    assert ours is theirs


def test_errors_are_those_of_networkx():
    graph = nx.path_graph(3)
    with pytest.raises(nx.NetworkXError, match="not in the graph"):
        list(nx.dfs_edges(graph, 9, backend="weft"))
    with pytest.raises(nx.NodeNotFound):
        nx.dijkstra_predecessor_and_distance(graph, 9, backend="weft")
    graph.add_edge(0, 1, weight=-5)
    with pytest.raises(ValueError, match="negative weights"):
        nx.dijkstra_predecessor_and_distance(graph, 0, backend="weft")
