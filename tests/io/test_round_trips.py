"""What is written comes back: every format, with and without compression."""

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from graphs import edge_lists
from round_trips import equal, through

LISTS = (".txt", ".el", ".wel", ".csv", ".tsv")


@pytest.mark.parametrize("suffix", [*LISTS, ".mtx"])
@settings(max_examples=25)
@given(edges=edge_lists())
def test_lists_and_matrices(suffix, edges):
    if not edges.src.size:  # without a single edge nothing shows that there would be weights
        edges = edges._replace(weight=edges.weight if suffix in (".mtx", ".csv") else None)
    g = edges.build()
    equal(through(g, f"g{suffix}"), g)


@settings(max_examples=25)
@given(edges=edge_lists(directed=True, weights="signed"))
def test_dimacs_shortest_paths(edges):
    g = edges._replace(weight=np.arange(edges.src.size) - 3).build()
    equal(through(g, "g.gr"), g)


@settings(max_examples=25)
@given(edges=edge_lists(directed=False, weights=None))
def test_dimacs_treewidth(edges):
    g = edges.build()
    equal(through(g, "g.gr"), g)


@settings(max_examples=40)
@given(edges=edge_lists(directed=False, weights="int"), data=st.data())
def test_metis(edges, data):
    g = edges.build(self_loops="drop")
    n = g.num_vertices
    if data.draw(st.booleans()):
        g.vertex["size"] = np.arange(n)
    if data.draw(st.booleans()):
        g.vertex["weight"] = np.arange(n) * 2
    elif n and data.draw(st.booleans()):
        g.vertex["weight"] = np.arange(3 * n).reshape(n, 3)
    back = through(g, "g.graph")
    equal(back, g)
    assert set(back.vertex) == set(g.vertex)
    for name in g.vertex:
        np.testing.assert_array_equal(back.vertex[name], g.vertex[name])


@settings(max_examples=40)
@given(edges=edge_lists(), data=st.data())
@pytest.mark.parametrize("suffix", [".weft", ".parquet"])
def test_binary_formats_keep_dtypes_and_columns(suffix, edges, data):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    keep = data.draw(st.sampled_from(["both", "out", "in"]))
    g = edges.build(keep=keep)
    n, m = g.num_vertices, g.num_edges
    g.edge["lanes"] = np.arange(m, dtype=np.uint8)
    g.edge["open"] = np.arange(m) % 2 == 0
    options = {"keep": keep}
    if suffix == ".weft":
        options = {}
        g.vertex["age"] = np.arange(n, dtype=np.float32)
        g.vertex["place"] = np.arange(2 * n, dtype=np.float64).reshape(n, 2)
    back = through(g, f"g{suffix}", **options)
    equal(back, g)
    assert back.topology.keep == g.topology.keep
    for one, other in ((back.edge, g.edge), (back.vertex, g.vertex)):
        assert list(one) == list(other)
        for name in other:
            assert one[name].dtype == other[name].dtype
            np.testing.assert_array_equal(one[name], other[name])


FLOATS = st.floats(allow_nan=False) | st.sampled_from([np.inf, -np.inf, 5e-324, -0.0])


@settings(max_examples=60)
@given(values=st.lists(FLOATS, min_size=1, max_size=20))
@pytest.mark.parametrize("suffix", [".wel", ".csv", ".mtx"])
def test_every_double_comes_back_exactly(suffix, values):
    g = weft.Graph.from_edges(np.arange(len(values)), np.arange(len(values)) + 1, values)
    back = through(g, f"g{suffix}").edge["weight"]
    np.testing.assert_array_equal(back.view(np.int64), np.array(values).view(np.int64))


@settings(max_examples=40)
@given(values=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20))
@pytest.mark.parametrize("suffix", [".wel", ".mtx", ".gr", ".parquet", ".weft"])
def test_every_integer_comes_back_exactly(suffix, values):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    g = weft.Graph.from_edges(np.arange(len(values)), np.arange(len(values)) + 1, values)
    back = through(g, f"g{suffix}").edge["weight"]
    assert back.dtype == np.int64
    assert back.tolist() == values


@settings(max_examples=20)
@given(values=st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=20))
@pytest.mark.parametrize("suffix", [".wel", ".mtx", ".gr", ".graph", ".parquet", ".weft"])
def test_every_unsigned_integer_comes_back_exactly(suffix, values):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    ends = np.arange(len(values)), np.arange(len(values)) + 1
    weight = np.array(values, np.uint64)
    g = weft.Graph.from_edges(*ends, weight, directed=suffix != ".graph")
    assert through(g, f"g{suffix}").edge["weight"].tolist() == values


@pytest.mark.parametrize("compression", [".gz", ".xz", ".bz2"])
@pytest.mark.parametrize("suffix", [".txt", ".csv", ".mtx", ".graph", ".gr", ".weft", ".parquet"])
def test_compressed(suffix, compression):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    g = weft.Graph.from_edges([0, 0, 1, 4], [1, 2, 2, 3], num_vertices=7, directed=False)
    equal(through(g, f"g{suffix}{compression}"), g)
    equal(through(g, f"G{suffix.upper()}{compression}"), g)


def test_nothing_is_left_when_writing_fails(tmp_path):
    path = tmp_path / "g.graph"
    path.write_text("before")
    with contextlib.suppress(weft.errors.GraphError):
        weft.write(weft.Graph.from_edges([0], [1]), path)
    assert [p.name for p in tmp_path.iterdir()] == ["g.graph"]
    assert path.read_text() == "before"


def test_a_mapped_graph_survives_that_its_file_is_replaced(tmp_path):
    path = tmp_path / "g.weft"
    weft.write(weft.Graph.from_edges([0, 1], [1, 2]), path)
    g = weft.read(path)
    weft.write(g.reverse(), path)
    assert g.to_edges().dst.tolist() == [1, 2]
    assert weft.read(path).to_edges().dst.tolist() == [0, 1]


def test_algorithms_run_on_a_mapped_graph(tmp_path):
    path = tmp_path / "g.weft"
    g = weft.Graph.from_edges([0, 1, 1], [1, 2, 3], [1.0, 2.0, 4.0], directed=False)
    weft.write(g, path)
    mapped = weft.read(path)
    assert weft.bfs(mapped, 0).level.tolist() == [0, 1, 2, 2]
    assert weft.sssp(mapped, 0).dist.tolist() == [0, 1, 3, 5]
