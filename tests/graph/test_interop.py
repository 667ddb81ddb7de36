"""Interchange: pandas, Arrow, NetworkX and DLPack, there and back."""

from __future__ import annotations

import sys

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fake_cupy
import weft
from graphs import AWKWARD, graphs
from weft.errors import ConfigError, FieldError, GraphError, WeftError

IDS = {
    "text": lambda n: [f"v{i}" for i in range(n)],
    "tuples": lambda n: [(i, str(i)) for i in range(n)],
    "sparse": lambda n: [10**15 + 7 * i for i in range(n)],
    "negative": lambda n: [-i - 1 for i in range(n)],
    "floats": lambda n: [i + 0.5 for i in range(n)],
    "dates": lambda n: [pd.Timestamp(2020, 1, 1) + pd.Timedelta(i, "D") for i in range(n)],
    "mixed": lambda n: [i if i % 2 else f"v{i}" for i in range(n)],
    "shuffled": lambda n: list(range(n))[::-1],
    "none": lambda n: None,
}


@st.composite
def labelled(draw, ids=tuple(IDS), **options):
    """Draw a graph with labels and columns of all kinds."""
    g = draw(graphs(keep=None, **options))
    labels = IDS[draw(st.sampled_from(ids))](g.num_vertices)
    g = weft.Graph(g.topology, edge={k: g.edge.storage(k) for k in g.edge}, labels=labels or None)
    g.vertex["n"] = np.arange(g.num_vertices) * 3
    g.vertex["flag"] = np.arange(g.num_vertices) % 2 == 0
    g.vertex["vec"] = np.arange(2.0 * g.num_vertices).reshape(-1, 2)
    g.edge["half"] = np.arange(g.num_edges, dtype=np.float32) / 2
    g.edge["mat"] = np.arange(4 * g.num_edges).reshape(-1, 2, 2)
    return g


def described(g, *, order=True):
    """Return everything that must survive, by label."""
    src, dst, _ = g.to_edges(labels=True)
    ids = g.label_of(np.arange(g.num_vertices)).tolist()
    vertices = {
        x: tuple(repr(g.vertex[c][i].tolist()) for c in sorted(g.vertex)) for i, x in enumerate(ids)
    }
    ends = zip(src.tolist(), dst.tolist(), strict=True)
    edges = [
        (
            *(pair if g.directed else sorted(pair, key=str)),
            *(repr(g.edge[c][i].tolist()) for c in sorted(g.edge)),
        )
        for i, pair in enumerate(ends)
    ]
    return (
        g.directed,
        sorted(g.vertex),
        sorted(g.edge),
        list(vertices.items()) if order else vertices,
        sorted(edges, key=lambda edge: [str(x) for x in edge]),
    )


# -- pandas --------------------------------------------------------------------------------------


@given(labelled())
def test_pandas_round_trip(g):
    again = weft.Graph.from_pandas(g.to_pandas(), vertices=g.frame(), directed=g.directed)
    ordered = g.labels is None or again.labels is not None
    assert described(again, order=ordered) == described(g, order=ordered)
    for name in g.edge:
        assert again.edge[name].dtype == g.edge[name].dtype
    for name in g.vertex:
        assert again.vertex[name].dtype == g.vertex[name].dtype


@given(labelled(ids=("text", "sparse", "tuples", "negative", "floats", "mixed")))
def test_pandas_round_trip_of_edges_alone(g):
    again = weft.Graph.from_pandas(g.to_pandas(), directed=g.directed, labels=True)
    src, dst, _ = g.to_edges(labels=True)
    assert again.labels.tolist() == list(dict.fromkeys([*src.tolist(), *dst.tolist()]))
    assert described(again)[4] == described(g)[4]


@pytest.mark.filterwarnings("ignore:.*attributes left out")
def test_pandas_of_numbers_has_no_labels():
    frame = pd.DataFrame({"a": [4, 0], "b": [0, 2], "w": [1.5, 2.5], "x": [7, 8], "t": ["p", "q"]})
    g = weft.Graph.from_pandas(frame, "a", "b", "w")
    assert g.labels is None
    assert g.num_vertices == 5
    assert dict(g.edge).keys() == {"weight", "x"}
    assert g.edge["weight"].tolist() == [2.5, 1.5]
    assert g.edge["x"].tolist() == [8, 7]
    assert weft.Graph.from_pandas(frame, "a", "b", labels=True).labels.tolist() == [4, 0, 2]
    bare = weft.Graph.from_pandas(frame, "a", "b", None, edge_columns=[])
    assert not bare.edge
    named = weft.Graph.from_pandas(frame, "a", "b", edge_columns=["w"])
    assert list(named.edge) == ["w"]


@pytest.mark.parametrize(
    "ids",
    [
        pd.Series(["a", "b", "c"], dtype=object),
        pd.Series(["a", "b", "c"], dtype="str"),
        pd.Series(["a", "b", "c"], dtype="string"),
        pd.Series(["a", "b", "c"], dtype="category"),
        pd.Series(["a", "b", "c"], dtype=pd.ArrowDtype(pa.string())),
    ],
    ids=lambda s: str(s.dtype),
)
def test_every_kind_of_text(ids):
    frame = pd.DataFrame({"source": ids, "target": ids[::-1].to_numpy()})
    for edges in (frame, frame.assign(target=ids[::-1].reset_index(drop=True))):
        g = weft.Graph.from_pandas(edges)
        assert g.labels.tolist() == ["a", "b", "c"]
        assert all(type(x) is str for x in g.labels)
        assert g.to_edges().dst.tolist() == [2, 1, 0]


@pytest.mark.parametrize("dtype", ["int64", "uint8", "Int64", pd.ArrowDtype(pa.int32())])
def test_every_kind_of_integer(dtype):
    frame = pd.DataFrame({"source": [0, 1], "target": [1, 2]}).astype(dtype)
    g = weft.Graph.from_pandas(frame)
    assert g.labels is None
    assert g.to_edges().dst.tolist() == [1, 2]


def test_columns_with_gaps_have_nan():
    frame = pd.DataFrame(
        {
            "source": [0, 1],
            "target": [1, 2],
            "a": pd.array([1, None], "Int64"),
            "b": pd.array([True, None], "boolean"),
            "c": pd.array([0.5, None], "Float32"),
            "d": pd.array([1, 2], "Int8"),
        }
    )
    g = weft.Graph.from_pandas(frame)
    assert {k: str(g.edge[k].dtype) for k in g.edge} == {
        "a": "float64", "b": "float64", "c": "float32", "d": "int8",
    }  # fmt: skip
    assert all(np.isnan(g.edge[k][1]) for k in "abc")
    again = weft.Graph.from_arrow(frame)
    assert {k: g.edge[k].tolist()[0] for k in g.edge} == {
        k: again.edge[k].tolist()[0] for k in again.edge
    }
    assert all(np.isnan(again.edge[k][1]) for k in "abc")


@pytest.mark.parametrize("build", [weft.Graph.from_pandas, weft.Graph.from_arrow])
@pytest.mark.parametrize(
    ("edges", "options", "error", "message"),
    [
        ({"a": [0], "target": [1]}, {}, GraphError, "no column 'source'. Its columns are 'a'"),
        ({"source": [0], "targt": [1]}, {}, GraphError, "no column 'target'.*Did you mean 'targt'"),
        ({"source": [0], "target": [1]}, {"weight": "w"}, GraphError, "has no column 'w'"),
        (
            {"source": ["a", None], "target": ["b", "c"]},
            {},
            GraphError,
            r"source\[1\] is missing",
        ),
        (
            {"source": [0], "target": [1], "weight": ["x"]},
            {},
            GraphError,
            "'weight' is not numeric",
        ),
        (
            {"source": [0], "target": [1], "t": ["x"]},
            {"edge_columns": ["t"]},
            GraphError,
            "edge_columns: the column 't' is not numeric",
        ),
        (
            {"source": [0], "target": [1]},
            {"edge_columns": ["t"]},
            GraphError,
            "edge_columns has no column 't'",
        ),
        (
            {"source": [0], "target": [1], "rank": [1]},
            {"edge_columns": ["rank"]},
            FieldError,
            "'rank' cannot name a column",
        ),
        ({"source": [0], "target": [1]}, {"keeps": "in"}, ConfigError, "Did you mean 'keep'"),
        ({"source": [0], "target": [1]}, {"keep": "inn"}, ConfigError, "keep='inn' is not known"),
        ({"source": [-1], "target": [1]}, {"labels": False}, GraphError, "negative"),
    ],
)
def test_wrong_tables_are_explained(build, edges, options, error, message):
    with pytest.raises(error, match=message):
        build(pd.DataFrame(edges), **options)


@pytest.mark.parametrize("build", [weft.Graph.from_pandas, weft.Graph.from_arrow])
@pytest.mark.parametrize(
    ("vertices", "message"),
    [
        ({"id": ["a"]}, r"target\[0\] is not listed in vertices: 'b' is not the label"),
        ({"id": ["a", "b", "b"]}, r"vertices\[2\] = 'b' is a duplicate"),
        ({"id": ["a", "b", None]}, "Row 2 of column 'id' has no id"),
        ({}, "vertices has no columns"),
    ],
)
def test_wrong_vertices_are_explained(build, vertices, message):
    edges = pd.DataFrame({"source": ["a"], "target": ["b"]})
    with pytest.raises(GraphError, match=message):
        build(edges, vertices=pd.DataFrame(vertices))


@pytest.mark.parametrize("build", [weft.Graph.from_pandas, weft.Graph.from_arrow])
def test_vertices_may_be_in_any_order(build):
    edges = pd.DataFrame({"source": [0, 1], "target": [1, 2]})
    g = build(edges, vertices=pd.DataFrame({"id": [2, 0, 3, 1], "x": [20, 0, 30, 10]}))
    assert g.labels is None
    assert g.vertex["x"].tolist() == [0, 10, 20, 30]
    by_name = build(
        edges,
        vertices=pd.DataFrame({"x": [20, 0, 30, 10], "id": [2, 0, 3, 1]}),
        vertex="id",
        labels=True,
    )
    assert by_name.labels.tolist() == [2, 0, 3, 1]
    assert by_name.vertex["x"].tolist() == [20, 0, 30, 10]
    assert by_name.to_edges(labels=True).dst.tolist() == [1, 2]
    with pytest.raises(GraphError, match=r"target\[1\] is not listed in vertices: 2 is not the"):
        build(edges, vertices=pd.DataFrame({"id": [0, 1]}))


def test_what_is_not_a_frame_is_explained():
    with pytest.raises(GraphError, match=r"edges is a dict. Expected a pandas.DataFrame"):
        weft.Graph.from_pandas({"source": [0], "target": [1]})
    with pytest.raises(GraphError, match=r"edges is a dict without the Arrow PyCapsule"):
        weft.Graph.from_arrow({"source": [0], "target": [1]})
    with pytest.raises(GraphError, match="edges is not a table"):
        weft.Graph.from_arrow(pa.chunked_array([[1, 2]]))


@pytest.mark.parametrize("build", [weft.Graph.from_pandas, weft.Graph.from_arrow])
def test_columns_of_one_name_are_explained(build):
    table = pa.Table.from_arrays([pa.array([0])] * 3, ["source", "target", "target"])
    edges = table if build == weft.Graph.from_arrow else table.to_pandas()
    with pytest.raises(GraphError, match=r"edges has several columns 'target'.*rename"):
        build(edges)


@pytest.mark.parametrize("build", [weft.Graph.from_pandas, weft.Graph.from_arrow])
def test_empty_tables(build):
    for dtype in ("str", "int64", "float64"):
        g = build(
            pd.DataFrame({"source": [], "target": [], "weight": []}).astype(dtype), weight=None
        )
        assert (g.num_vertices, g.num_edges, g.labels) == (0, 0, None)


def test_unhashable_ids_are_explained():
    frame = pd.DataFrame({"source": [[1], [2]], "target": ["a", "b"]})
    with pytest.raises(GraphError, match="cannot be compared"):
        weft.Graph.from_pandas(frame)


def test_names_of_columns_may_collide():
    g = weft.Graph.from_edges(["a"], ["b"])
    g.edge["source"] = [1]
    g.vertex["label"] = [1, 2]
    with pytest.raises(GraphError, match=r"already is a column 'source'.*: source= or target="):
        g.to_pandas()
    assert list(g.to_pandas("from", "to")) == ["from", "to", "source"]
    with pytest.raises(GraphError, match=r"already is a column 'label'.*: name="):
        g.frame()
    assert list(g.frame(name="who")) == ["who", "label"]


# -- frames of results ---------------------------------------------------------------------------


def test_frames_of_results():
    g = weft.Graph.from_edges(["Ada", "Bob"], ["Bob", "Eve"])
    assert list(g.frame(weft.bfs(g, "Ada"))) == ["label", "level", "parent"]
    assert g.frame(weft.pagerank(g))["value"].sum() == pytest.approx(1)
    assert list(g.frame(rank=weft.pagerank(g))) == ["label", "rank"]
    assert list(g.frame(weft.bfs(g, 0), out=g.out_degree)) == ["label", "level", "parent", "out"]
    state = g.state(a=weft.full(1), b=np.zeros((3, 2)), error=weft.scalar(0.5))
    assert list(g.frame(state)) == ["label", "a", "b[0]", "b[1]"]
    assert list(g.frame({"x": [1, 2, 3], "rounds": 7})) == ["label", "x"]
    assert list(g.frame()) == ["label"]
    assert list(weft.generators.path(3).frame()["vertex"]) == [0, 1, 2]
    for wrong, message in (
        (np.zeros(2), "'value' has 2 rows. Expected one row for each of the 3 vertices"),
        (3.5, "'value' is a single value"),
        (g.edge_state(m=weft.full(0)), "'m' has 2 rows"),
    ):
        with pytest.raises(GraphError, match=message):
            g.frame(wrong)


def test_frames_of_results_on_a_gpu(monkeypatch):
    host = weft.Graph.from_edges(["Ada", "Bob"], ["Bob", "Eve"])
    host.vertex["x"] = [1, 2, 3]
    with fake_cupy.installed(monkeypatch):
        g = host.to("cuda")
        assert g.frame()["x"].tolist() == [1, 2, 3]
        assert g.frame({"d": g.out_degree})["d"].tolist() == [1, 1, 0]
        assert g.to_pandas()["source"].tolist() == ["Ada", "Bob"]
        assert list(g.to_networkx().edges) == [("Ada", "Bob"), ("Bob", "Eve")]


# -- Arrow ---------------------------------------------------------------------------------------


class Capsule:
    """Has nothing but the PyCapsule interface, as a table of any library."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def chunked(frame, data):
    """Return the table of a frame, cut at random places."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    cut = data.draw(st.integers(0, len(frame)))
    return Capsule(pa.concat_tables([table[:cut], table[cut:]]))


@given(
    labelled(ids=("text", "sparse", "negative", "floats", "dates", "shuffled", "none")), st.data()
)
def test_arrow_round_trip(g, data):
    again = weft.Graph.from_arrow(
        chunked(g.to_pandas(), data), vertices=chunked(g.frame(), data), directed=g.directed
    )
    ordered = g.labels is None or again.labels is not None
    assert described(again, order=ordered) == described(g, order=ordered)


@given(labelled(ids=("text",)), st.data())
def test_arrow_round_trip_of_edges_alone(g, data):
    again = weft.Graph.from_arrow(chunked(g.to_pandas(), data), directed=g.directed)
    src, dst, _ = g.to_edges(labels=True)
    if g.num_edges:
        assert again.labels.tolist() == list(dict.fromkeys([*src.tolist(), *dst.tolist()]))
    assert described(again)[4] == described(g)[4]


@pytest.mark.filterwarnings("ignore:.*attributes left out")
def test_every_kind_of_arrow_column():
    text = ["a", "b", "a"]
    for kind in (
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.dictionary(pa.int8(), pa.string()),
    ):
        table = pa.table({"source": pa.array(text).cast(kind), "target": pa.array(["b", "c", "c"])})
        assert weft.Graph.from_arrow(table).labels.tolist() == ["a", "b", "c"]
    mixed = pa.table({"source": ["a", "b"], "target": [1, 2]})
    assert weft.Graph.from_arrow(mixed).labels.tolist() == ["a", "b", 1, 2]
    table = pa.table(
        {
            "source": [0], "target": [1], "half": np.zeros(1, np.float16), "day": [None],
            "flag": [True], "small": pa.array([3], pa.int8()),
        }
    )  # fmt: skip
    g = weft.Graph.from_arrow(table)
    assert {k: str(g.edge[k].dtype) for k in g.edge} == {"flag": "bool", "small": "int8"}
    batch = pa.RecordBatch.from_pydict({"source": [0], "target": [1]})
    assert weft.Graph.from_arrow(batch).num_edges == 1


# -- NetworkX ------------------------------------------------------------------------------------


@given(labelled(), st.sampled_from([None, True]))
def test_networkx_round_trip(g, multigraph):
    again = weft.Graph.from_networkx(g.to_networkx(multigraph=multigraph))
    ordered = g.labels is None or again.labels is not None
    if g.num_edges and g.num_vertices:
        assert described(again, order=ordered) == described(g, order=ordered)
    assert again.num_vertices == g.num_vertices
    assert again.num_edges == g.num_edges


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_graphs_by_networkx(name):
    g = AWKWARD[name]()
    network = g.to_networkx()
    assert (network.number_of_nodes(), network.number_of_edges()) == (g.num_vertices, g.num_edges)
    assert network.is_directed() == g.directed
    again = weft.Graph.from_networkx(network)
    assert all(map(np.array_equal, again.to_edges()[:2], g.to_edges()[:2]))
    parallel = {tuple(e) for e in zip(*(x.tolist() for x in g.to_edges()[:2]), strict=True)}
    assert network.is_multigraph() == (len(parallel) < g.num_edges)


@pytest.mark.filterwarnings("ignore:.*attributes left out")
def test_networkx_attributes():
    network = nx.DiGraph()
    network.add_edge("a", "b", weight=2, road=True, name="x", cost=1)
    network.add_edge("b", "c", road=False, cost=2.5, toll=3)
    network.add_node("lonely", age=4, colour="red", id=9)
    g = weft.Graph.from_networkx(network)
    assert g.labels.tolist() == ["a", "b", "c", "lonely"]
    assert g.edge["weight"].tolist() == [2, 1]
    assert g.edge["road"].dtype == bool
    assert g.edge["cost"].tolist() == [1.0, 2.5]
    assert np.array_equal(g.edge["toll"], [np.nan, 3], equal_nan=True)
    assert "name" not in g.edge
    assert list(g.vertex) == ["age"]
    assert np.array_equal(g.vertex["age"], [np.nan, np.nan, np.nan, 4], equal_nan=True)
    by_cost = weft.Graph.from_networkx(network, weight="cost", edge_columns=["road"])
    assert by_cost.edge["weight"].tolist() == [1.0, 2.5]
    assert list(by_cost.edge) == ["weight", "road"]
    assert not weft.Graph.from_networkx(network, weight=None).weighted
    for options, error, message in (
        ({"weight": "name"}, GraphError, "weight='name': the attribute is not a number"),
        ({"edge_columns": ["name"]}, GraphError, "edge_columns: the attribute 'name' is not"),
        ({"vertex_columns": ["id"]}, FieldError, "'id' cannot name a column"),
        ({"vertex_columns": "colour"}, GraphError, "vertex_columns: the attribute 'colour'"),
    ):
        with pytest.raises(error, match=message):
            weft.Graph.from_networkx(network, **options)


def test_networkx_nodes_that_are_numbers_keep_them():
    network = nx.Graph()
    network.add_nodes_from([2, 0, 1])
    nx.set_node_attributes(network, {0: 5, 1: 6, 2: 7}, "x")
    network.add_edge(0, 2)
    g = weft.Graph.from_networkx(network)
    assert g.labels is None
    assert g.vertex["x"].tolist() == [5, 6, 7]
    assert g.to_edges().dst.tolist() == [2]
    assert weft.Graph.from_networkx(nx.path_graph([1, 2])).labels.tolist() == [1, 2]
    assert weft.Graph.from_networkx(nx.grid_2d_graph(2, 2)).vertex_of((1, 0)) == 2
    assert weft.Graph.from_networkx(nx.path_graph([False, True])).labels.tolist() == [False, True]


def test_what_is_not_a_network_is_explained():
    with pytest.raises(GraphError, match=r"A list is not a NetworkX graph. Expected"):
        weft.Graph.from_networkx([(0, 1)])


# -- tensors -------------------------------------------------------------------------------------


class Tensor:
    """Has what a tensor of PyTorch has: DLPack, and a gradient that is in the way."""

    def __init__(self, values, needs_gradient=False, kind=1):
        self._values, self._gradient, self._kind = np.asarray(values), needs_gradient, kind

    def detach(self):
        return Tensor(self._values, kind=self._kind)

    def __dlpack_device__(self):
        return (self._kind, 0)

    def __dlpack__(self, **options):
        if self._gradient:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        return self._values.__dlpack__(**options)


@given(graphs())
def test_dlpack_round_trip(g):
    src, dst, weight = g.to_edges()
    ends = np.stack((src, dst))
    for build, count in (
        (weft.Graph.from_dlpack, "num_vertices"),
        (weft.Graph.from_torch, "num_nodes"),
    ):
        again = build(
            Tensor(ends),
            None if weight is None else Tensor(weight, needs_gradient=True),
            directed=g.directed,
            **{count: g.num_vertices},
        )
        assert described(again) == described(g)
        assert described(build(ends, weight, directed=g.directed, **{count: g.num_vertices})) == (
            described(g)
        )


def test_dlpack_on_a_gpu(monkeypatch):
    with fake_cupy.installed(monkeypatch) as cupy:
        monkeypatch.setattr(cupy, "from_dlpack", lambda t: cupy.asarray(t._values), raising=False)
        g = weft.Graph.from_torch(Tensor([[0, 1], [1, 2]], kind=2), Tensor([1.0, 2.0], kind=2))
        assert g.device == "cuda"
        assert g.to_edges().weight.tolist() == [1.0, 2.0]
        assert weft.Graph.from_dlpack(cupy.asarray([[0], [1]])).device == "cuda"


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (np.zeros((3, 2), int), r"shape \(3, 2\). Expected \(2, m\).*edge_index.T"),
        (np.zeros(4, int), r"shape \(4,\). Expected \(2, m\)"),
        ([[0], [1]], r"edge_index is a list without __dlpack__.*from_edges"),
        (np.zeros((2, 1)), "src has dtype float64"),
    ],
)
def test_wrong_tensors_are_explained(tensor, message):
    with pytest.raises(GraphError, match=message):
        weft.Graph.from_dlpack(tensor)


def test_tensors_that_cannot_be_read_are_explained():
    broken = Tensor(np.zeros((2, 1), int))
    broken.detach = lambda: Tensor(np.zeros((2, 1), int), needs_gradient=True)
    with pytest.raises(GraphError, match=r"edge_index cannot be read through DLPack: Can't export"):
        weft.Graph.from_torch(broken)
    with pytest.raises(ConfigError, match="option='keeps' is not known"):
        weft.Graph.from_dlpack(np.zeros((2, 1), int), keeps="in")


# -- missing libraries ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "extra", "call"),
    [
        ("pandas", "pandas", lambda g: g.frame()),
        ("pandas", "pandas", lambda g: g.to_pandas()),
        ("pandas", "pandas", lambda g: weft.Graph.from_pandas(None)),
        ("pyarrow", "arrow", lambda g: weft.Graph.from_arrow(None)),
        ("networkx", "networkx", lambda g: g.to_networkx()),
        ("networkx", "networkx", lambda g: weft.Graph.from_networkx(None)),
    ],
)
def test_missing_libraries_are_named(module, extra, call, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(WeftError, match=rf"need {module}, .*pip install 'weft\[{extra}\]'"):
        call(weft.generators.path(3))


# -- igraph, Arrow, and what is left out ---------------------------------------------------------


def test_igraph_gives_labels_columns_and_weights():
    igraph = pytest.importorskip("igraph")
    network = igraph.Graph(
        [(0, 1), (1, 2), (1, 1), (0, 1)], n=4, directed=True,
        vertex_attrs={"name": list("abcd"), "age": [1, None, 3, 4]},
        edge_attrs={"weight": [2, None, 3, 4], "long": [True, False, True, True]},
    )  # fmt: skip
    g = weft.Graph.from_igraph(network)
    assert g.labels.tolist() == list("abcd")
    assert g.directed
    src, dst, weight = g.to_edges()
    assert list(zip(src, dst, weight, strict=True)) == [(0, 1, 2), (0, 1, 4), (1, 1, 3), (1, 2, 1)]
    assert g.edge["long"].tolist() == [True, True, True, False]
    np.testing.assert_array_equal(g.vertex["age"], [1, np.nan, 3, 4])


def test_what_is_no_igraph_graph_is_named():
    igraph = pytest.importorskip("igraph")
    with pytest.raises(GraphError, match="A dict is not an igraph graph"):
        weft.Graph.from_igraph({})
    network = igraph.Graph([(0, 1)], edge_attrs={"weight": ["x"]})
    with pytest.raises(GraphError, match="weight='weight': the attribute is not a number"):
        weft.Graph.from_igraph(network)
    with pytest.raises(GraphError, match="edge_columns: the attribute 'cost' is not there"):
        weft.Graph.from_igraph(network, weight=None, edge_columns=["cost"])


def test_attributes_left_out_are_named():
    network = nx.Graph([(0, 1, {"color": "red", "two words": 1, "w": 3})])
    network.add_node(0, club="Hi")
    with pytest.warns(UserWarning) as caught:
        weft.Graph.from_networkx(network)
    told = [str(warning.message) for warning in caught]
    assert any("edge attributes left out: 'color', 'two words'" in text for text in told)
    assert any("vertex attributes left out: 'club'" in text for text in told)
    assert all(warning.filename == __file__ for warning in caught)
    weft.Graph.from_networkx(network, edge_columns=["w"], vertex_columns=[])  # chosen: no warning
    frame = network_frame = pd.DataFrame({"source": [0], "target": [1], "color": ["red"]})
    with pytest.warns(UserWarning, match="edge attributes left out: 'color'.*edge_columns="):
        weft.Graph.from_pandas(frame)
    weft.Graph.from_pandas(network_frame, edge_columns=[])


@pytest.mark.parametrize("labels", [None, ["a", "b", "c"], [7, 8, 2**62]])
def test_arrow_tables_come_back(labels):
    pytest.importorskip("pyarrow")
    g = weft.Graph.from_edges([0, 1], [1, 2], [0.5, 2.0], labels=labels)
    g.edge["v"] = np.arange(4.0).reshape(2, 2)
    table = g.to_arrow("from", "to")
    assert table.column_names == ["from", "to", "weight", "v[0]", "v[1]"]
    back = weft.Graph.from_arrow(table, "from", "to", labels=labels is not None)
    for mine, theirs in zip(g.to_edges(labels=True), back.to_edges(labels=True), strict=True):
        assert mine.tolist() == theirs.tolist()
    assert back.edge["v"].tolist() == g.edge["v"].tolist()
    with pytest.raises(GraphError, match="Expected values of one type"):
        weft.Graph.from_edges(["a"], [(1, 2)]).to_arrow()
