"""Conversion: what is read, what is kept, what is refused."""

import gc

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import networkx_calls as calls
import weft
from weft.graph.interop import rows as reading
from weft.networkx.conversion import convert_from_nx, convert_to_nx, from_weft

KINDS = [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]


def held(graph):
    return graph.__networkx_cache__["backends"]["weft"]


@given(
    st.sampled_from(KINDS),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=40),
    st.booleans(),
)
def test_paired_rows_are_those_that_iteration_gives(kind, pairs, named):
    graph = kind()
    graph.add_nodes_from(range(3))
    graph.add_edges_from(pairs)
    graph.remove_edges_from(pairs[::5])
    if named:
        graph = nx.relabel_nodes(graph, str)
    paired, iterated = reading._paired(graph), reading._iterated(graph)
    assert paired is not None
    assert paired.nodes == iterated.nodes
    assert paired.offsets.tolist() == iterated.offsets.tolist()
    assert paired.targets.tolist() == iterated.targets.tolist()
    edges = list(graph.edges(data=True))
    assert [id(d) for *_, d in edges] == reading.EdgeValues(graph, paired).addresses.tolist()
    assert [id(d) for *_, d in edges] == reading.EdgeValues(graph, iterated).addresses.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_a_dictionary_for_several_edges_is_read_by_iteration(kind):
    graph = kind()
    graph.add_edges_from([(0, 1), (1, 2), (2, 2)])
    for row in graph._adj.values():
        for v in row:
            row[v] = {0: {}} if graph.is_multigraph() else {}
    shared = next(iter(graph._adj[0].values()))
    graph._adj[1][2] = graph._adj[0][1] = shared
    rows = reading.read_rows(graph)
    assert rows.targets.tolist() == reading._iterated(graph).targets.tolist()


def test_views_are_read():
    graph = nx.path_graph(6, create_using=nx.DiGraph)
    for view in (graph.subgraph([1, 2, 4]), graph.reverse(copy=False), graph.to_undirected(True)):
        network = convert_from_nx(view)
        assert network.nodes == list(view)
        assert network.structure.num_edges == view.number_of_edges()
        assert set(nx.connected_components(view.to_undirected(), backend="weft").__next__()) <= set(
            view
        )


def test_classes_with_rows_of_their_own_are_refused():
    class Odd(nx.Graph):
        def __getitem__(self, node):
            return {}

    with pytest.raises(NotImplementedError, match="computes its rows itself"):
        convert_from_nx(Odd([(0, 1)]))


def test_predecessors_come_in_the_order_of_networkx():
    graph = nx.DiGraph([(2, 0), (1, 0), (0, 2), (1, 2)])
    network = convert_from_nx(graph)
    offsets, sources, entries = network.structure.turned
    for row, node in enumerate(network.nodes):
        found = sources[offsets[row] : offsets[row + 1]]
        assert network.at(found) == list(graph.pred[node])
    assert (
        network.structure.targets[entries].tolist()
        == np.repeat(np.arange(3), np.diff(offsets)).tolist()
    )


def test_a_graph_is_converted_once():
    graph = calls.graphs()["named"]
    nx.pagerank(graph, backend="weft")
    (first,) = held(graph).values()
    nx.pagerank(graph, backend="weft")
    assert list(held(graph).values()) == [first]
    nx.is_connected(graph, backend="weft")
    assert list(held(graph).values()) == [first]
    graph.add_edge("n0", "new")
    assert not graph.__networkx_cache__
    assert nx.number_connected_components(graph, backend="weft") == 1


def test_conversions_share_the_structure():
    graph = calls.graphs()["named"]
    nx.is_connected(graph, backend="weft")
    (plain,) = held(graph).values()
    nx.single_source_dijkstra(graph, "n0", backend="weft")
    structures = {id(network.structure) for network in held(graph).values()}
    assert structures == {id(plain.structure)}


def test_attributes_are_read_as_they_are():
    graph = nx.Graph()
    graph.add_edge(0, 1, weight=2)
    graph.add_edge(1, 2)
    graph.add_edge(2, 3, weight=0.5)
    assert nx.dijkstra_path_length(graph, 0, 3, backend="weft") == 3.5
    assert type(nx.dijkstra_path_length(graph, 0, 2, backend="weft")) is float
    del graph.edges[2, 3]["weight"]
    graph = graph.copy()
    assert type(nx.dijkstra_path_length(graph, 0, 2, backend="weft")) is int
    graph.add_edge(0, 3, weight=True)
    assert nx.dijkstra_path_length(graph, 0, 3, backend="weft") == 1


@pytest.mark.parametrize("value", [None, "3", float("nan"), 2**70, 1j, np.ones(2)])
def test_other_weights_are_left_to_networkx(value):
    graph = nx.Graph()
    graph.add_edge(0, 1, weight=value)
    with pytest.raises(NotImplementedError):
        nx.dijkstra_path(graph, 0, 1, backend="weft")
    assert nx.shortest_path(graph, 0, 1, backend="weft") == [0, 1]


def test_a_weft_graph_is_an_input_of_networkx():
    g = weft.Graph.from_edges(["a", "b", "c"], ["b", "c", "d"], [1.0, 2.0, 4.0], directed=False)
    network = from_weft(g)
    assert nx.shortest_path_length(network, "a") == {"a": 0, "b": 1, "c": 2, "d": 3}
    assert nx.dijkstra_path_length(network, "a", "d") == 7.0
    assert nx.pagerank(network).keys() == set("abcd")
    graph = convert_to_nx(network)
    assert nx.utils.graphs_equal(graph, g.to_networkx())
    assert repr(network) == "Network(Graph, 4 nodes, 3 edges)"
    assert (
        len(network) == 4 and "a" in network and [] not in network and list(network) == list("abcd")
    )


def test_the_collector_goes_on_after_a_graph_is_filled():
    g = weft.generators.grid(30, 30)
    assert gc.isenabled()
    assert nx.utils.graphs_equal(g.to_networkx(), nx.Graph(g.to_networkx()))
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0
    gc.disable()
    try:
        g.to_networkx()
        assert not gc.isenabled()
    finally:
        gc.enable()
    gc.freeze()  # a caller's own stay frozen
    try:
        frozen = gc.get_freeze_count()
        g.to_networkx()
        assert 0 < gc.get_freeze_count() <= frozen
    finally:
        gc.unfreeze()


def test_results_do_not_keep_the_graph_alive():
    graph = nx.path_graph(5)
    network = convert_from_nx(graph)
    assert network.origin is graph
    del graph
    gc.collect()
    assert nx.utils.graphs_equal(network.origin, nx.path_graph(5))


@pytest.mark.parametrize("kind", KINDS)
def test_large_graphs_are_read_like_small_ones(kind):
    rng = np.random.default_rng(0)
    graph = kind()
    graph.add_nodes_from(f"v{i}" for i in range(500))
    for u, v in rng.integers(0, 500, (6000, 2)).tolist():
        graph.add_edge(f"v{u}", f"v{v}", weight=float(u + v))
    network = convert_from_nx(graph, {"weight": 1})
    structure, nodes = network.structure, network.nodes
    weights = network.entry_weights("weight")
    found = sorted(
        (nodes[u], nodes[v], w)
        for u, v, w in zip(structure.sources, structure.targets, weights.tolist(), strict=True)
    )
    both = [(u, v, w) for u, row in graph.adjacency() for v, w in flat(row, graph)]
    assert found == sorted(both)
    g = network.graph("weight")
    assert g.num_edges == graph.number_of_edges()
    assert sorted(g.edge["weight"].tolist()) == sorted(w for *_, w in graph.edges(data="weight"))
    src, dst, weight = g.to_edges()
    ends = zip(src.tolist(), dst.tolist(), strict=True)
    assert weight.tolist() == [float(nodes[u][1:]) + float(nodes[v][1:]) for u, v in ends]


def flat(row, graph):
    for v, data in row.items():
        for attributes in data.values() if graph.is_multigraph() else [data]:
            yield v, attributes["weight"]
