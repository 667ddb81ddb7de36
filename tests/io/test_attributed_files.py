"""GraphML, GML, sparse matrices in `.npz`, and Parquet files of other programs."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from graphs import edge_lists
from round_trips import equal, through
from weft.errors import ConfigError, FileFormatError, GraphError

ATTRIBUTED = (".graphml", ".gml")
LABELS = {
    "none": None,
    "text": lambda n: [f'v{i} "<&\u00fc' for i in range(n)],
    "integers": lambda n: [10 * i - 7 for i in range(n)],
    "text of digits": lambda n: [str(i) for i in range(n)],
}


@pytest.mark.parametrize("suffix", ATTRIBUTED)
@settings(max_examples=30)
@given(edges=edge_lists(), kind=st.sampled_from(sorted(LABELS)))
def test_everything_comes_back(suffix, edges, kind):
    n, make = edges.num_vertices, LABELS[kind]
    labels = make(n) if make else None
    g = weft.Graph.from_edges(
        edges.src, edges.dst, edges.weight, directed=edges.directed, labels=labels,
        num_vertices=None if labels is not None else n,
    )  # fmt: skip
    if n:
        g.vertex["age"] = np.arange(n)
    if g.num_edges:
        g.edge["part"] = np.linspace(0, 1, g.num_edges)
    back = through(g, f"g{suffix}")
    if g.num_edges:
        equal(back, g)
    assert back.num_vertices == n
    assert (back.labels is None) == (g.labels is None or not n)
    assert labels is None or not n or back.labels.tolist() == g.labels.tolist()
    for mine, theirs in ((g.vertex, back.vertex), (g.edge, back.edge)):
        for name in mine:
            if len(mine[name]):
                np.testing.assert_array_equal(mine[name], theirs[name])


@pytest.mark.parametrize("suffix", ATTRIBUTED)
def test_numbers_of_all_kinds_come_back(suffix):
    values = [5e-324, -1e308, np.inf, -np.inf, np.nan, 0.1, 1e22, -0.0]
    g = weft.Graph.from_edges(range(8), range(1, 9), values)
    g.edge["whole"] = np.array([2**63 - 1, -(2**63), 0, 1, 2, 3, 4, 5])
    g.edge["truth"] = np.arange(8) % 2 == 0
    back = through(g, f"g{suffix}")
    np.testing.assert_array_equal(back.edge["weight"], values)
    assert np.signbit(back.edge["weight"][7])
    assert back.edge["whole"].tolist() == g.edge["whole"].tolist()
    assert back.edge["truth"].tolist() == g.edge["truth"].tolist()


@given(edges=edge_lists())
def test_matrices_come_back(edges):
    g = edges.build()
    equal(through(g, "g.npz"), g)


@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
def test_matrices_of_scipy(tmp_path, layout):
    matrix = scipy.sparse.random(12, 12, 0.2, format=layout, random_state=1)
    scipy.sparse.save_npz(tmp_path / "m.npz", matrix)
    assert (weft.read(tmp_path / "m.npz").to_scipy() != matrix).nnz == 0
    weft.write(weft.generators.cycle(5), tmp_path / "c.npz")
    assert scipy.sparse.load_npz(tmp_path / "c.npz").sum() == 10


@pytest.mark.parametrize(
    ("suffix", "write"), [(".graphml", nx.write_graphml), (".gml", nx.write_gml)]
)
@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiDiGraph])
def test_files_of_networkx(tmp_path, suffix, write, kind):
    network = kind(
        [("a", "b", {"weight": 2}), ("b", "c", {"cost": 0.5}), ("c", "c", {"weight": 7})]
    )
    network.add_node("d", age=3)
    write(network, tmp_path / f"g{suffix}")
    g = weft.read(tmp_path / f"g{suffix}")
    assert g.directed == network.is_directed()
    assert g.labels.tolist() == list("abcd")
    src, dst, weight = g.to_edges(labels=True)
    assert list(zip(src, dst, weight, strict=True)) == [
        ("a", "b", 2), ("b", "c", 1), ("c", "c", 7),
    ]  # fmt: skip
    np.testing.assert_array_equal(g.edge["cost"], [np.nan, 0.5, np.nan])
    np.testing.assert_array_equal(g.vertex["age"], [np.nan] * 3 + [3])


@pytest.mark.parametrize(("suffix", "read"), [(".graphml", nx.read_graphml), (".gml", nx.read_gml)])
def test_networkx_reads_files_of_weft(tmp_path, suffix, read):
    g = weft.Graph.from_edges(["a", "b"], ["b", "c"], [1.5, 2.0], directed=False)
    weft.write(g, tmp_path / f"g{suffix}")
    network = read(tmp_path / f"g{suffix}")
    assert {frozenset(e): w for *e, w in network.edges(data="weight")} == {
        frozenset("ab"): 1.5, frozenset("bc"): 2.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("g.graphml", "<graphml><graph>", "no sound XML"),
        ("g.graphml", "<x/>", "there is no <graph>"),
        ("g.graphml", "<!DOCTYPE g [<!ENTITY a 'b'>]><graphml/>", "declares an XML entity"),
        ("g.graphml", "<graph><node/></graph>", "a <node> has no id"),
        ("g.graphml", "<graph><node id='a'/><node id='a'/></graph>", "the id 'a' of another"),
        ("g.graphml", "<graph><node id='a'><graph/></node></graph>", "a second <graph>"),
        (
            "g.graphml",
            "<graph>\n<edge source='x' target='x'/></graph>",
            "line 2: an edge ends at 'x'",
        ),
        ("g.graphml", "<graph><hyperedge/></graph>", "there is a <hyperedge>"),
        ("g.graphml", "<g><key id='k' attr.type='no'/></g>", "the type 'no'"),
        (
            "g.graphml",
            "<g><key id='k' attr.name='w' attr.type='int'/><graph><node id='a'><data key='k'>x"
            "</data></node></graph></g>",
            "w is 'x'. Expected a value of type int",
        ),
        ("g.graphml", "<graph><node id='a'><data key='z'/></node></graph>", "the key 'z'"),
        ("g.gml", "graph [ node [ id 0 ]", "the file ends within a list"),
        ("g.gml", "graph [\nnode [ label 3 ] ]", "line 2: a node has the id None"),
        ("g.gml", "graph [ node [ id 0 ] edge [ source 0 target 4 ] ]", "an edge ends at 4"),
        ("g.gml", "graph [ edge [ source 0 ] ]", "an edge has no target"),
        ("g.gml", "graph [ @ ]", "is no word of GML"),
        ("g.gml", "graph [ x ]", "the key 'x' has no value"),
        ("g.gml", "graph [ 5 ]", "5 is not a key"),
        (
            "g.gml",
            'graph [ weft_labels "integers" node [ id 0 label -inf ] ]',
            "-inf is not an int",
        ),
        ("g.gml", "nothing 1", "there is no 'graph"),
        ("g.gml", "graph [ " + "a [ " * 90, "nested more than"),
        ("g.npz", "PK\x03\x04", "the archive cannot be read"),
    ],
)
def test_damage_is_named(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(FileFormatError, match=message):
        weft.read(tmp_path / name)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": 1}, "the archive holds x"),
        ({"format": b"bsr", "shape": (1, 1)}, "its format is 'bsr'"),
        (
            {"format": b"csr", "shape": (2, 2), "data": [1.0], "indices": [5], "indptr": [0, 1, 1]},
            "the archive cannot be read",
        ),
        (
            {"format": b"csr", "shape": (2, 3), "data": [1.0], "indices": [1], "indptr": [0, 1, 1]},
            r"shape \(2, 3\)",
        ),
        ({"format": b"coo", "shape": (2, 2), "data": [1j], "row": [0], "col": [1]}, "real numbers"),
        ({"format": b"coo", "shape": (2, 2), "data": [1], "row": [0.5], "col": [1]}, "integers"),
    ],
)
def test_archives_that_are_no_graphs(tmp_path, arrays, message):
    np.savez(tmp_path / "g.npz", **arrays)
    with pytest.raises(FileFormatError, match=message):
        weft.read(tmp_path / "g.npz")


def test_archives_unpack_within_a_limit(tmp_path):
    np.savez_compressed(tmp_path / "g.npz", x=np.zeros(1 << 20))
    with pytest.raises(FileFormatError, match="the archive unpacks to"):
        weft.read(tmp_path / "g.npz", unpack_limit=1 << 20)


@pytest.mark.parametrize("suffix", ATTRIBUTED)
def test_a_warning_names_attributes_left_out(tmp_path, suffix):
    network = nx.Graph([("a", "b", {"color": "red", "weight": 2})])
    (nx.write_gml if suffix == ".gml" else nx.write_graphml)(network, tmp_path / f"g{suffix}")
    with pytest.warns(UserWarning, match="edge attributes left out: 'color'"):
        assert weft.read(tmp_path / f"g{suffix}").weighted


# -- format= and sep= ----------------------------------------------------------------------------


def test_the_format_may_be_given(tmp_path):
    path = tmp_path / "edges.data"
    for format in ("csv", ".gml", "NPZ", "graphml"):
        weft.write(weft.generators.path(4), path, format=format)
        assert weft.read(path, format=format, directed=False).num_edges == 3
    with pytest.raises(ConfigError, match=r"format='cvs' is not known.*Did you mean 'csv'\?"):
        weft.read(path, format="cvs")


@pytest.mark.parametrize(
    ("text", "options", "edges"),
    [
        ("0|1|5\n1|2|6\n", {"sep": "|"}, [(0, 1, 5), (1, 2, 6)]),
        ("src;dst;weight\n0;1;5\n", {"sep": ";"}, [(0, 1, 5)]),
        ("0\t1\t5\n", {"sep": "\t"}, [(0, 1, 5)]),
        ("a:b c:5\n", {"sep": ":", "labels": True}, [("a", "b c", 5)]),
    ],
)
def test_the_separator_may_be_given(tmp_path, text, options, edges):
    (tmp_path / "g.txt").write_text(text)
    ends = weft.read(tmp_path / "g.txt", **options).to_edges(labels=True)
    assert [tuple(row) for row in zip(*(x.tolist() for x in ends), strict=True)] == edges


@pytest.mark.parametrize(
    ("text", "sep", "message"),
    [
        ("0,1\n", ";", r"'0,1' does not hold sep=';'.*leave sep out"),
        ("0|1\n", ";", r"'0\|1' does not hold sep=';'.*pass sep='\|'"),
        ("0|1\n", None, r"'0\|1' is one field.*pass sep='\|'"),
        ("0 1\n0,1\n", None, r"this line has ','"),
    ],
)
def test_a_wrong_separator_is_named(tmp_path, text, sep, message):
    (tmp_path / "g.txt").write_text(text)
    with pytest.raises(FileFormatError, match=message):
        weft.read(tmp_path / "g.txt", sep=sep)


@pytest.mark.parametrize("sep", ["ab", "", "1", "e", "#", '"', ".", "\n", 3])
def test_separators_that_cannot_be(tmp_path, sep):
    (tmp_path / "g.txt").write_text("0 1\n")
    with pytest.raises(ConfigError, match="cannot separate fields"):
        weft.read(tmp_path / "g.txt", sep=sep)


# -- Parquet -------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [["a", "b", "c"], [10, 20, 30], None])
@pytest.mark.parametrize("directed", [False, True])
def test_parquet_of_pandas_and_of_weft(tmp_path, labels, directed):
    pytest.importorskip("pyarrow")
    g = weft.Graph.from_edges(
        [0, 2, 1], [1, 0, 2], [1.0, 5.0, 2.0], labels=labels, directed=directed
    )
    weft.write(g, tmp_path / "weft.parquet")
    g.to_pandas().to_parquet(tmp_path / "pandas.parquet")

    def edges(graph):
        rows = zip(*(x.tolist() for x in graph.to_edges(labels=True)), strict=True)
        return sorted((*sorted(row[:2]), row[2]) for row in rows)

    assert edges(weft.read(tmp_path / "weft.parquet")) == edges(g)
    assert weft.read(tmp_path / "weft.parquet").directed == directed
    named = isinstance(labels, list) and labels[0] == 10
    assert edges(weft.read(tmp_path / "pandas.parquet", labels=named)) == edges(g)


def test_parquet_with_an_index_and_text(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(
        {"source": ["x", "y"], "target": ["y", "x"], "color": ["r", "b"], "w": [1, 2]}, index=[5, 7]
    )
    frame.to_parquet(tmp_path / "g.parquet")
    with pytest.warns(UserWarning, match="edge attributes left out: 'color'"):
        g = weft.read(tmp_path / "g.parquet")
    assert g.labels.tolist() == ["x", "y"]
    assert list(g.edge) == ["w"]
    with pytest.raises(FileFormatError, match="the column 'color' holds"):
        weft.read(tmp_path / "g.parquet", columns=["source", "target", "color"])


@pytest.mark.parametrize("suffix", [".parquet", ".graphml", ".gml"])
def test_labels_that_a_file_cannot_hold(tmp_path, suffix):
    g = weft.Graph.from_edges([0], [1], labels=[(0, 1), (2, 3)])
    with pytest.raises(GraphError, match=r"'\.weft' file"):
        weft.write(g, tmp_path / f"g{suffix}")
    assert not list(tmp_path.iterdir())


def test_parquet_holds_no_labels_of_isolated_vertices(tmp_path):
    g = weft.Graph.from_edges([0], [1], labels=["a", "b", "c"])
    with pytest.raises(GraphError, match="1 vertices have a label but no edge"):
        weft.write(g, tmp_path / "g.parquet")


def test_names_that_are_no_integers_are_text(tmp_path):
    path = tmp_path / "g.gml"
    path.write_text("graph [ node [ id 0 label 1.5 ] node [ id 1 label 1 ] ]")
    assert weft.read(path).labels.tolist() == ["1.5", "1"]
