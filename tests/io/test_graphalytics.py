"""The files of LDBC Graphalytics, and its rules for six algorithms on its two example graphs."""

import numpy as np
import pytest

import weft
from weft.errors import FileFormatError, GraphError

# The example graphs of the benchmark's specification (D. 1), and the published results for them.
DIRECTED = """1 3 0.5
1 5 0.3
2 4 0.1
2 5 0.3
2 10 0.12
3 1 0.53
3 5 0.62
3 8 0.21
3 10 0.52
5 3 0.69
5 4 0.53
5 8 0.1
6 3 0.23
6 4 0.39
7 4 0.83
8 1 0.39
9 4 0.69
"""
UNDIRECTED = """2 3 0.9
2 4 0.69
3 4 0.13
3 5 0.5
3 8 0.32
5 6 0.63
5 8 0.12
6 7 0.53
6 8 0.64
6 9 0.23
6 10 0.63
7 9 0.36
"""
INF = np.inf
EXPECTED = {
    "directed": {
        "bfs": [0, -1, 1, 2, 1, -1, -1, 2, -1, 2],
        "sssp": [0, INF, 0.5, 0.83, 0.3, INF, INF, 0.4, INF, 1.02],
        "wcc": [1] * 10,
        "cdlp": [1, 2, 3, 4, 1, 1, 2, 3, 2, 1],
        "lcc": [2 / 3, 1 / 6, 0.15, 0.05, 0.25, 0, 0, 5 / 6, 0, 0],
        "pr": [
            0.1477629166666667, 0.04753375, 0.1550469444444444, 0.1597573611111111, 0.14624,
            0.04753375, 0.04753375, 0.1135740277777778, 0.04753375, 0.08748375,
        ],
    },
    "undirected": {
        "bfs": [0, 1, 1, 2, 3, 4, 2, 4, 4],
        "sssp": [0, 0.82, 0.69, 1.26, 1.78, 2.31, 1.14, 2.01, 2.41],
        "wcc": [2] * 9,
        "cdlp": [2, 3, 2, 2, 6, 5, 2, 5, 5],
        "lcc": [1, 1 / 3, 1, 2 / 3, 0.2, 1, 2 / 3, 1, 0],
        "pr": [
            0.09084490740740739, 0.1424089506172839, 0.09084490740740739, 0.1249891975308642,
            0.1686172839506173, 0.09749537037037037, 0.1249891975308642, 0.09749537037037037,
            0.06231481481481481,
        ],
    },
}  # fmt: skip


def properties(name, ids, edges, directed):
    return (
        f"# About {name}\n\ngraph.{name}.vertex-file = {name}.v\n"
        f"graph.{name}.edge-file = {name}.e\ngraph.{name}.meta.vertices = {len(ids)}\n"
        f"graph.{name}.meta.edges = {edges.count(chr(10))}\n"
        f"graph.{name}.directed = {str(directed).lower()}\n"
        f"graph.{name}.edge-properties.names = weight\n"
        f"graph.{name}.edge-properties.types = real\ngraph.{name}.bfs.source-vertex = {ids[0]}\n"
    )


def written(folder, name, text):
    """Write an example, its vertices in no order; return the path of its properties."""
    ids = sorted({int(part) for line in text.splitlines() for part in line.split()[:2]})
    (folder / f"{name}.v").write_text("".join(f"{v}\n" for v in ids[::-1]))
    (folder / f"{name}.e").write_text(text)
    path = folder / f"{name}.properties"
    path.write_text(properties(name, ids, text, name == "directed"))
    return path


@pytest.fixture(params=["directed", "undirected"])
def example(request, tmp_path):
    text = DIRECTED if request.param == "directed" else UNDIRECTED
    return request.param, written(tmp_path, request.param, text)


def ranks(g, damping, iterations):
    """PageRank after a number of iterations."""
    config = {"damping": damping, "tol": 1e-300, "max_iter": iterations}
    return weft.pagerank(g, **config, on_unconverged="return")


@pytest.mark.parametrize("device", [pytest.param("cpu", marks=pytest.mark.slow), "reference"])
def test_published_results(example, device, monkeypatch):
    monkeypatch.setenv("WEFT_EVALUATE", "on")
    name, path = example
    held = weft.read(path)
    assert held.directed == (name == "directed") and held.weighted
    g, labels, want = held.to(device), held.labels, EXPECTED[name]
    source = labels[0]
    assert weft.bfs(g, source).level.tolist() == want["bfs"]
    np.testing.assert_allclose(weft.sssp(g, source).dist, want["sssp"], rtol=1e-12)
    assert labels[weft.connected_components(g)].tolist() == want["wcc"]
    assert labels[weft.label_propagation(g, 2)].tolist() == want["cdlp"]
    np.testing.assert_allclose(weft.clustering(g, definition="ldbc"), want["lcc"], rtol=1e-12)
    np.testing.assert_allclose(ranks(g, 0.85, 2), want["pr"], rtol=1e-12)


def test_any_of_the_files_stands_for_all(example):
    _, path = example
    whole = weft.read(path)
    for suffix in (".e", ".v"):
        found = weft.read(path.with_suffix(suffix))
        assert found.directed == whole.directed
        assert found.labels.tolist() == whole.labels.tolist()
        for one, other in zip(found.to_edges(), whole.to_edges(), strict=True):
            assert one.tolist() == other.tolist()


def test_edges_alone(tmp_path):
    path = tmp_path / "plain.e"
    path.write_text("4000000000 7\n7 9\n")
    g = weft.read(path)
    assert g.directed and g.labels.tolist() == [7, 9, 4_000_000_000] and not g.weighted
    assert not weft.read(path, directed=False).directed


def test_ids_without_gaps_are_no_labels(tmp_path):
    (tmp_path / "g.v").write_text("0\n1\n2\n")
    (tmp_path / "g.e").write_text("")
    g = weft.read(tmp_path / "g.v")
    assert g.labels is None and g.num_vertices == 3 and g.num_edges == 0


@pytest.mark.parametrize("compression", ["", ".gz"])
def test_round_trip(tmp_path, example, compression):
    _, path = example
    g = weft.read(path)
    for suffix in (".e", ".v"):
        weft.write(g, tmp_path / f"copy{suffix}{compression}")
    back = weft.read(tmp_path / f"copy.e{compression}", directed=g.directed)
    assert back.labels.tolist() == g.labels.tolist()
    for one, other in zip(back.to_edges(), g.to_edges(), strict=True):
        assert one.tolist() == other.tolist()


@pytest.mark.parametrize(
    ("suffix", "old", "new", "message"),
    [
        (".properties", "directed = ", "directed = maybe", r"directed is 'maybe\w+'. Expected"),
        (".properties", "meta.edges = ", "meta.edges = 9", r"meta.edges is 9\d+, but there are 1"),
        (".v", "10", "x10", r"the line is 'x10'. Expected the id of one vertex"),
        (".v", "10", "8", r"vertex 8 is listed twice"),
        (".v", "10\n", "", r"meta.vertices is \d+, but there are"),
        (".e", "0.69", "0.69 3", r"there are 4 fields in"),
    ],
)
def test_damaged_files(example, suffix, old, new, message):
    _, path = example
    part = path.with_suffix(suffix)
    text = part.read_text()
    part.write_text(text.replace(old, new, 1))
    with pytest.raises(FileFormatError, match=message):
        weft.read(path)


def test_what_is_missing_is_named(tmp_path):
    (tmp_path / "g.v").write_text("1\n2\n")
    with pytest.raises(FileFormatError, match=r"there is no file g.e beside it"):
        weft.read(tmp_path / "g.v")
    (tmp_path / "g.e").write_text("1 3\n")
    with pytest.raises(FileFormatError, match=r"the target of edge 0 is 3, which the .v file"):
        weft.read(tmp_path / "g.v")
    g = weft.Graph.from_edges(["a"], ["b"])
    with pytest.raises(GraphError, match=r"Expected integers from 0 on"):
        weft.write(g, tmp_path / "h.e")
    with pytest.raises(GraphError, match=r"'.properties' files are not written"):
        weft.write(g, tmp_path / "h.properties")
