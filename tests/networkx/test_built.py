"""Graphs that functions of the backend return: equal to NetworkX's, filled when looked at."""

import copy
import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from weft.networkx.interface import backend
from weft.networkx.unfilled import UnfilledGraph, network_of

PAIRS = st.lists(st.tuples(*[st.integers(0, 9)] * 2), min_size=1, max_size=30)
KIND = st.sampled_from([nx.Graph, nx.DiGraph])


def content(graph):
    """Return everything of a graph, in order."""
    rows = [[(u, list(row.items())) for u, row in graph._adj.items()]]
    if graph.is_directed():
        rows += [[(u, list(row.items())) for u, row in graph._pred.items()]]
    return type(graph), list(graph._node.items()), rows, graph.graph


def check(function, *args, **options):
    ours, theirs = (function(*args, **options, backend=name) for name in ("weft", "networkx"))
    assert network_of(ours) is not None
    assert content(ours) == content(theirs)
    assert type(ours) in (nx.Graph, nx.DiGraph)
    back = ours._pred if ours.is_directed() else ours._adj
    assert all(ours._adj[u][v] is back[v][u] for u, v in ours.edges)


def frame_of(pairs):
    values = np.arange(len(pairs)) / 2
    names = [f"e{i}" for i in range(len(pairs))]
    ends = np.array(pairs).T
    return pd.DataFrame({"source": ends[0], "target": ends[1], "w": values, "name": names})


@given(KIND, PAIRS, st.sampled_from([None, "w", ["w", "name"], True]), st.booleans())
def test_data_frames(kind, pairs, attributes, named):
    frame = frame_of(pairs)
    if named:
        frame = frame.astype({"source": str, "target": str})
    check(nx.from_pandas_edgelist, frame, edge_attr=attributes, create_using=kind)


@given(KIND, PAIRS, st.sampled_from(["csr", "csc", "coo"]))
def test_matrices(kind, pairs, layout):
    us, vs = np.array(pairs).T
    values = np.arange(us.size) + 1.5
    matrix = sp.coo_array((values, (us, vs)), shape=(10, 10))
    check(nx.from_scipy_sparse_array, matrix.asformat(layout), create_using=kind)
    dense = matrix.toarray().astype(np.int64)
    check(nx.from_numpy_array, dense, create_using=kind, nodelist=list("abcdefghij"))
    check(nx.from_numpy_array, dense, create_using=kind, edge_attr=None)
    part = matrix.tocsr()[:4].asformat(layout)
    orders = {"row_order": list("abcd"), "column_order": list(range(10))}
    check(nx.bipartite.from_biadjacency_matrix, part, create_using=kind)
    # NetworkX renames the nodes in the order of a set.
    named = nx.bipartite.from_biadjacency_matrix(part, kind, **orders, backend="weft")
    theirs = nx.bipartite.from_biadjacency_matrix(part, kind, **orders)
    assert nx.utils.graphs_equal(named, theirs)
    assert list(named) == [*"abcd", *range(10)]


@given(KIND, PAIRS)
def test_graphs_made_of_others(kind, pairs):
    graph = kind([("alone", 3), *pairs], title=["a"])
    nx.set_edge_attributes(graph, {edge: i for i, edge in enumerate(graph.edges)}, "w")
    graph.add_node("colour", kind="red")
    check(nx.from_dict_of_lists, nx.to_dict_of_lists(graph), create_using=kind)
    check(nx.relabel_nodes, graph, {3: "three", "alone": 99})
    check(nx.relabel_nodes, graph, lambda node: (node,))
    for ordering in ("default", "decreasing degree"):
        named = nx.relabel_nodes(graph, {node: str(node) for node in graph})
        options = {"ordering": ordering, "label_attribute": "old"}
        ours = nx.convert_node_labels_to_integers(named, 2, **options, backend="weft")
        assert content(ours) == content(nx.convert_node_labels_to_integers(named, 2, **options))
    check(nx.complement, graph)
    if graph.is_directed():
        check(nx.reverse, graph)


def unfilled(pairs=((0, 1), (1, 2), (2, 0), (2, 3))):
    return nx.from_pandas_edgelist(frame_of(pairs), edge_attr="w", backend="weft")


def test_weft_needs_no_rows():
    graph = unfilled()
    assert backend.should_run("connected_components", (graph,), {}) is True
    assert nx.number_connected_components(graph, backend="weft") == 1
    assert nx.dijkstra_path_length(graph, 0, 3, weight="w", backend="weft") == 2.0
    assert nx.dijkstra_path_length(graph, 0, 3, weight="absent", backend="weft") == 2
    assert (len(graph), list(graph)) == (4, [0, 1, 2, 3])
    assert type(graph) is UnfilledGraph
    assert isinstance(graph, nx.Graph)
    assert graph.__class__ is nx.Graph


@pytest.mark.parametrize(
    "look",
    [
        lambda graph: graph.nodes, lambda graph: graph.copy(), lambda graph: graph[0],
        lambda graph: graph.add_edge(7, 8), copy.deepcopy, pickle.dumps, nx.DiGraph,
        lambda graph: nx.single_source_shortest_path(graph, 0, backend="networkx"),
    ],
)  # fmt: skip
def test_a_look_makes_it_an_ordinary_graph(look):
    graph = unfilled()
    assert nx.is_connected(graph, backend="weft")
    look(graph)
    assert type(graph) is nx.Graph
    assert graph[0][1] == {"w": 0.0}
    graph.add_edge("new", "other")
    assert not nx.is_connected(graph, backend="weft")


def test_attributes_that_are_no_columns_are_kept():
    graph = nx.Graph([(0, 1, {"w": 1}), (1, 2, {"w": 2.5}), (2, 3, {"w": float("nan")})])
    mixed = nx.Graph([(0, 1, {"w": 1}), (1, 2, {"w": True, "name": "x"})])
    for held in (graph, mixed, nx.MultiGraph(graph)):
        named = nx.relabel_nodes(held, str, backend="weft")
        assert content(named) == content(nx.relabel_nodes(held, str))
        kinds = [type(d["w"]) for *_, d in named.edges(data=True)]
        assert kinds == [type(d["w"]) for *_, d in held.edges(data=True)]


@given(st.sampled_from([nx.Graph, nx.DiGraph, nx.MultiGraph]), PAIRS, PAIRS)
def test_joined_graphs(kind, first, second):
    parts = [kind(first, a=1), kind(second, b=2)]
    parts[0].add_node("x", colour=1)
    for part in parts:
        nx.set_edge_attributes(part, 2, "w")
    ours, theirs = (nx.compose(*parts, backend=name) for name in ("weft", "networkx"))
    assert content(ours) == content(theirs)
    ours, theirs = (nx.disjoint_union_all(parts, backend=name) for name in ("weft", "networkx"))
    assert content(ours) == content(theirs)
    for name in ("weft", "networkx"):
        with pytest.raises(nx.NetworkXError, match="not disjoint"):
            nx.union(parts[0], parts[0], backend=name)
    with pytest.raises(nx.NetworkXError, match="graphs or multigraphs"):
        nx.compose(nx.Graph(), nx.MultiGraph(), backend="weft")


def test_copies_forget_what_was_converted():
    graph = nx.path_graph(4)
    assert nx.is_connected(graph, backend="weft")
    for other in (copy.deepcopy(graph), pickle.loads(pickle.dumps(graph))):
        other.nodes[0]["x"] = other[0][1]["weight"] = 5
        assert nx.dijkstra_path_length(other, 0, 3, backend="weft") == 7


def test_copies_are_filled():
    filled = content(nx.from_pandas_edgelist(frame_of([(0, 1), (2, 1)]), edge_attr="w"))
    assert content(pickle.loads(pickle.dumps(unfilled(((0, 1), (2, 1)))))) == filled
    assert content(unfilled(((0, 1), (2, 1))).copy()) == filled


def test_what_is_not_built_is_refused_with_the_reason():
    frame = frame_of([(0, 1)])
    for name, args, options, reason in (
        ("from_pandas_edgelist", (frame,), {"create_using": nx.MultiGraph}, "create_using="),
        ("from_pandas_edgelist", (frame, "w"), {}, "neither all integers nor all text"),
        ("from_pandas_edgelist", (frame, "x"), {}, "a column is missing"),
        ("from_numpy_array", (np.eye(2, dtype=complex),), {}, "are not numbers"),
        ("from_dict_of_lists", ({0: iter([1])},), {}, "no lists"),
        ("relabel_nodes", (nx.path_graph(2), {}, False), {}, "copy=False"),
    ):
        assert reason in backend.can_run(name, args, options)
    with pytest.raises(nx.NetworkXError, match="not square"):
        nx.from_numpy_array(np.zeros((2, 3)), backend="weft")
    with pytest.raises(nx.NetworkXError, match="edge_attr"):
        nx.from_pandas_edgelist(frame, edge_attr="absent", backend="weft")
