"""Communities: Louvain as NetworkX finds them, step by step; others as partitions."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

KINDS = [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]
EDGES = st.lists(st.tuples(*[st.integers(0, 11)] * 2, st.integers(1, 8)), min_size=1, max_size=50)
community = nx.community


@given(st.sampled_from(KINDS), EDGES, st.sampled_from([None, "weight"]), st.sampled_from([0.7, 1]))
def test_louvain_has_the_levels_of_networkx(kind, edges, weight, resolution):
    graph = kind()
    graph.add_nodes_from([5, 3, 20])
    graph.add_weighted_edges_from(edges)
    options = {"weight": weight, "resolution": resolution, "seed": 4}
    ours = list(community.louvain_partitions(graph, **options, backend="weft"))
    assert ours == list(community.louvain_partitions(graph, **options, backend="networkx"))


@given(EDGES)
def test_labels_spread_as_in_networkx(edges):
    graph = nx.Graph((u, v) for u, v, _ in edges if u != v)
    ours, theirs = (
        list(community.label_propagation_communities(graph, backend=name))
        for name in ("weft", "networkx")
    )
    assert ours == theirs


@pytest.mark.parametrize(
    "find", [community.asyn_lpa_communities, community.fast_label_propagation_communities]
)
@pytest.mark.parametrize("weight", [None, "weight"])
def test_cliques_keep_their_labels(find, weight):
    graph = nx.ring_of_cliques(6, 7)
    nx.set_edge_attributes(graph, 2.0, "weight")
    found = sorted(map(sorted, find(graph, weight=weight, seed=5, backend="weft")))
    again = sorted(map(sorted, find(graph, weight=weight, seed=5, backend="weft")))
    assert found == again == [list(range(i, i + 7)) for i in range(0, 42, 7)]


def test_leiden_finds_connected_communities_of_high_modularity():
    rng = np.random.default_rng(1)
    graph = nx.random_partition_graph([25] * 5, 0.4, 0.02, seed=3)
    graph = nx.relabel_nodes(graph, dict(enumerate(rng.permutation(125).tolist())))
    levels = list(community.leiden_partitions(graph, seed=1, backend="weft"))
    found = community.leiden_communities(graph, seed=1, backend="weft")
    assert found == levels[-1]
    assert community.leiden_communities(graph, max_level=1, seed=1, backend="weft") == levels[0]
    assert all(nx.is_connected(graph.subgraph(part)) for part in found)
    best = community.modularity(graph, community.louvain_communities(graph, seed=1))
    assert community.modularity(graph, found) > best - 0.02
    with pytest.raises(ValueError, match="max_level"):
        community.leiden_communities(graph, max_level=0, backend="weft")
    with pytest.raises(nx.NetworkXNotImplemented):
        community.leiden_communities(nx.DiGraph(graph), backend="weft")
