"""Names of vertices in files: they come back as labels."""

import datetime
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft.errors import FileFormatError, GraphError

WORDS = st.text("abzü0 ,;#%.-_日", min_size=1, max_size=6).map(str.strip).filter(bool)


def through(g: weft.Graph, name: str) -> weft.Graph:
    with tempfile.TemporaryDirectory() as folder:
        weft.write(g, Path(folder, name))
        return weft.read(Path(folder, name))


def named_edges(g: weft.Graph) -> list[tuple]:
    src, dst, weight = g.to_edges()
    ends = [(g.labels[u], g.labels[v]) for u, v in zip(src, dst, strict=True)]
    if not g.directed:
        ends = [tuple(sorted(pair, key=str)) for pair in ends]
    return sorted(zip(ends, [None] * len(ends) if weight is None else weight, strict=True), key=str)


def typed(tmp_path, text: str, name: str = "g.csv", **options) -> weft.Graph:
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return weft.read(path, **options)


@settings(max_examples=40)
@given(words=st.lists(WORDS, min_size=2, max_size=8, unique=True), data=st.data())
@pytest.mark.parametrize("suffix", [".csv", ".weft", ".csv.gz"])
def test_words_come_back(suffix, words, data):
    n = len(words)
    dst = data.draw(st.lists(st.integers(0, n - 1), min_size=n, max_size=n))
    g = weft.Graph.from_edges(
        np.arange(n), dst, np.arange(n) / 4, labels=words, directed=data.draw(st.booleans())
    )
    back = through(g, f"g{suffix}")
    assert back.directed == g.directed
    if suffix == ".weft":
        assert back.labels.tolist() == g.labels.tolist()
    assert sorted(map(repr, back.labels)) == sorted(map(repr, g.labels))
    assert named_edges(back) == named_edges(g)


@pytest.mark.parametrize(
    "labels",
    [
        [900, -7, 5],
        np.array([1.5, 2.5, -0.0]),
        ["a", "", "日本"],
        ["a", 1, (2, "b")],
        [(0, 1), (2, 3), (4, 5)],
    ],
)
def test_all_kinds_of_labels_in_weft_files(labels):
    g = weft.Graph.from_edges([0], [1], labels=labels)
    back = through(g, "g.weft")
    assert back.labels.dtype == g.labels.dtype
    assert back.labels.tolist() == g.labels.tolist()


@pytest.mark.parametrize("suffix", [".txt", ".tsv", ".el", ".csv"])
def test_integers_far_apart(suffix):
    g = weft.Graph.from_edges([0, 1], [1, 2], labels=[10**15, 7, -3])
    back = through(g, f"g{suffix}")
    assert back.labels.dtype == np.int64
    assert named_edges(back) == named_edges(g)


@pytest.mark.parametrize(
    "labels",
    [
        ["1", "2", "03"],
        ["1", "2", "3"],
        ["-7", "0", "18446744073709551616"],
        [10**18 + 1, 2**63 - 1, -(2**63)],
        [2**64 - 1, 5, 0],
        [2**64, -1, 10**30],
        ["source", "target", "weight"],
        ["SRC", "Dst", "from"],
        ["a", 1, -3],
        ["a", 2**64, "03"],
        ["Nodes:", "Edges:", "nan"],
    ],
)
@pytest.mark.parametrize("suffix", [".txt", ".tsv", ".el", ".wel", ".csv", ".csv.gz", ".weft"])
@pytest.mark.parametrize("weight", [None, [0.5, 2.0, 1.0]])
def test_labels_come_back_with_their_type(labels, suffix, weight):
    g = weft.Graph.from_edges([0, 1, 2], [1, 2, 0], weight, labels=labels)
    back = through(g, f"g{suffix}")
    assert back.labels.tolist() == labels
    assert [type(label) for label in back.labels.tolist()] == [type(label) for label in labels]
    assert back.labels.dtype == g.labels.dtype
    assert named_edges(back) == named_edges(g)


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("# ids are labels (text)\n1 2\n", ["1", "2"]),
        ("# ids are labels (integers)\n1 2\n", [1, 2]),
        ("# ids are labels (mixed)\n1 b\n", [1, "b"]),
        ("# ids are labels\n1 2\n", [1, 2]),
        ("# ids are labels (of some kind)\n1 b\n", ["1", "b"]),
        ("# ids are labels\n9223372036854775807 1\n", [2**63 - 1, 1]),
        ("# ids are labels\n18446744073709551615 1\n", [2**64 - 1, 1]),
        ("# ids are labels\n18446744073709551616 1\n", ["18446744073709551616", "1"]),
        ("# ids are labels\nsrc dst\nsource target\n", ["source", "target"]),
    ],
)
def test_comments_say_what_labels_are(tmp_path, text, labels):
    assert typed(tmp_path, text, "g.txt").labels.tolist() == labels


@pytest.mark.parametrize("suffix", [".mtx", ".gr", ".graph", ".npz"])
def test_a_warning_tells_what_is_lost(tmp_path, suffix):
    g = weft.Graph.from_edges(["a"], ["b"], [3], directed=False)
    g.vertex["age"] = [1, 2]
    with pytest.warns(UserWarning, match="labels, vertex column 'age' will be missing from 'g"):
        weft.write(g, tmp_path / f"g{suffix}")
    assert weft.read(tmp_path / f"g{suffix}").num_edges in (1, 2)


def test_no_warning_where_nothing_is_lost(tmp_path):
    g = weft.Graph.from_edges(["a"], ["b"], [3], directed=False)
    weft.write(g, tmp_path / "g.txt")
    g.edge["lanes"], g.vertex["age"] = [1], [1, 2]
    weft.write(g, tmp_path / "g.weft")
    with pytest.warns(UserWarning, match="edge column 'lanes', vertex column 'age'"):
        weft.write(g, tmp_path / "g.csv")
    g = weft.Graph.from_edges([0], [1], [3], directed=False)
    g.vertex["size"], g.vertex["weight"] = [1, 2], [1, 2]
    weft.write(g, tmp_path / "g.graph")


@pytest.mark.parametrize(
    ("text", "labels", "edges"),
    [
        ("Ann,Bob\nBob,Cid\nAnn,Bob\n", ["Ann", "Bob", "Cid"], [(0, 1), (0, 1), (1, 2)]),
        ("src,dst,weight\nAnn,Bob,2\n", ["Ann", "Bob"], [(0, 1)]),
        ("target,when,source\nBob,now,Ann\n", ["Ann", "Bob"], [(0, 1)]),
        ('"New York","Paris, Texas"\n Rome , "New York"\n', ["New York", "Paris, Texas", "Rome"],
         [(0, 1), (2, 0)]),
        ("007,7\n", ["007", "7"], [(0, 1)]),
        ("12;900000000000\n900000000000;12\n", [12, 900000000000], [(0, 1), (1, 0)]),
        ("a b\nb\tc\n", ["a", "b", "c"], [(0, 1), (1, 2)]),
        ("src,dst\n", [], []),
    ],
)  # fmt: skip
def test_typed(tmp_path, text, labels, edges):
    g = typed(tmp_path, text, labels=True)
    assert g.labels.tolist() == labels
    src, dst, _ = g.to_edges()
    assert list(zip(src.tolist(), dst.tolist(), strict=True)) == edges


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("a,b\nb,c,d\n", ("line", 2), "has not 2 fields"),
        ("a,b\nb\n", ("line", 2), "has not 2 fields"),
        ("a,b\n,c\n", ("line", 2), "src has 0 bytes"),
        ("a,b\nc," + "x" * 70000 + "\n", ("line", 2), "dst has 70000 bytes"),
        ('a,b\n"c,d\n', ("line", 2), "has not 2 fields"),
        ("a,b,1\nb,c,x\n", ("line", 2), "weight is 'x'"),
        (b"a,b\nb,\xff\xfe\n", ("byte", 6), "not UTF-8"),
        ("# Nodes: 3 Edges: 9\na,b\n", ("line", 2), "promises 9"),
        ("# ids are labels (integers)\n1,b\n", ("byte", 30), "'b' is not an integer"),
    ],
)
def test_damaged(tmp_path, text, place, message):
    with pytest.raises(FileFormatError, match=message) as caught:
        typed(tmp_path, text, labels=True)
    assert getattr(caught.value, place[0]) == place[1]


def test_names_need_asking_for(tmp_path):
    with pytest.raises(FileFormatError, match="pass labels=True if ids are names"):
        typed(tmp_path, "1,2\nAnn,3\n")


@pytest.mark.parametrize(
    ("labels", "name", "message"),
    [
        (["a b", "c"], "g.txt", "The labels 'a b' cannot stand in a .txt file"),
        (['a"b', "c"], "g.csv", "cannot stand"),
        ([1.5, 2.5], "g.csv", "cannot stand"),
        ([True, "a"], "g.csv", "cannot stand"),
        ([False, "a"], "g.csv", "cannot stand"),
        (["1", 1], "g.csv", "The labels '1' cannot stand"),
        (["\ud800", "a"], "g.csv", "cannot stand"),
        (["\ud800", "a"], "g.weft", "The labels cannot be stored"),
        ([10**5000, 1], "g.csv", "cannot stand"),
        ([10**5000, 1], "g.weft", "The labels cannot be stored"),
        (["a", "b", "c"], "g.csv", "1 vertices have a label but no edge"),
        ([frozenset({1}), "a"], "g.weft", "The labels cannot be stored"),
        ([datetime.date(2024, 1, 1), "a"], "g.weft", "The labels cannot be stored"),
    ],
)
def test_labels_that_a_format_cannot_hold(tmp_path, labels, name, message):
    g = weft.Graph.from_edges([0], [1], labels=labels)
    with pytest.raises(GraphError, match=message):
        weft.write(g, tmp_path / name)
    assert not list(tmp_path.iterdir())
