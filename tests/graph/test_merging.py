"""Unions and intersections of sorted rows, against dictionaries."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from graphs import AWKWARD, edge_lists
from weft.errors import DeviceMemoryError, GraphError
from weft.graph.merging import merge


def minus(x, y):
    return x - 2 * y


def expected(one, two, union, missing):
    """Merge two dictionaries."""
    keys = sorted(one.keys() | two.keys()) if union else sorted(one.keys() & two.keys())
    x0, y0 = missing or (None, None)

    def value(k):
        if missing is None and (k not in one or k not in two):
            return one.get(k, two.get(k))
        return minus(one.get(k, x0), two.get(k, y0))

    return {k: value(k) for k in keys}


def check(a, b, read, union, missing=None):
    options = {"missing": missing} if union else {}
    found = (weft.unite if union else weft.intersect)(a, b, minus, **options)
    assert read(found) == expected(read(a), read(b), union, missing)


def vector_cells(x):
    assert np.all(np.diff(x[0]) > 0)
    return dict(zip(x[0].tolist(), x[1].tolist(), strict=True))


def graph_cells(g):
    rows = g.topology.adjacency("out")
    offsets, targets = np.asarray(rows.offsets), np.asarray(rows.targets)
    row = np.repeat(np.arange(g.num_vertices), np.diff(offsets))
    assert np.all(np.diff(row * (g.num_vertices + 1) + targets) > 0)
    weight = g.edge.in_slots("weight", "out") if "weight" in g.edge else np.ones(len(row), np.int64)
    return dict(zip(zip(row.tolist(), targets.tolist(), strict=True), weight.tolist(), strict=True))


@st.composite
def vectors(draw):
    ids = sorted(draw(st.sets(st.integers(0, 60), max_size=40)))
    kind, width = draw(st.sampled_from([np.float64, np.int32])), draw(st.sampled_from("ilq"))
    return np.array(ids, width), np.arange(1, len(ids) + 1).astype(kind)


@given(vectors(), vectors(), st.booleans(), st.sampled_from([None, (3, 5)]), st.integers(1, 9))
@settings(max_examples=60, derandomize=True, deadline=None)
def test_vectors(a, b, union, missing, share):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merge, "LEAST_SHARE", share)
        patch.setattr(merge, "num_threads", lambda: 5)
        check(a, b, vector_cells, union, missing)


def simple(drawn):
    return drawn.build(duplicates="first")


@pytest.mark.parametrize("device", ["cpu", "emulated"])
def test_rows_of_graphs(device):
    drawn = edge_lists(weights="int", min_vertices=6, max_vertices=6, max_edges=60)
    examples = 30 if device == "cpu" else 12

    @given(drawn, drawn, st.booleans(), st.integers(1, 9))
    @settings(max_examples=examples, derandomize=True, deadline=None)
    def test(a, b, union, share):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(merge, "LEAST_SHARE", share)
            patch.setattr(merge, "num_threads", lambda: 4)
            check(simple(a).to(device), simple(b).to(device), graph_cells, union)

    test()


@pytest.mark.parametrize("device", ["cpu", "reference", "emulated"])
@pytest.mark.parametrize("name", ["empty", "one vertex", "hub", "disconnected", "long path"])
def test_awkward_graphs(name, device):
    g = AWKWARD[name]()
    rng, n = np.random.default_rng(2), max(1, g.num_vertices)
    ends = rng.integers(0, n, (2, 3 * n if g.num_vertices else 0))
    other = weft.Graph.from_edges(*ends, num_vertices=g.num_vertices, duplicates="first")
    for union in (True, False):
        check(g.to(device), other.to(device), graph_cells, union)
        check(other.to(device), g.to(device), graph_cells, union)


def test_running_out_names_the_primitive(monkeypatch):
    def full(*args, **options):
        raise MemoryError

    a = np.arange(1000), np.ones(1000)
    with monkeypatch.context() as patch:
        patch.setattr(merge, "_on_threads", full)
        with pytest.raises(DeviceMemoryError, match=r"weft.unite .* up to 32.0 kB. Use narr"):
            weft.unite(a, a, minus)
    module = weft.graph.other_rows
    monkeypatch.setattr(module, "stacked_parts", full)
    g = weft.generators.path(5)
    with pytest.raises(DeviceMemoryError, match=r"weft.common with left= .* needed up to"):
        module.Rows(g, {"a": g}).stacked()
    monkeypatch.setattr(weft.graph.contraction, "assemble", full)
    with pytest.raises(DeviceMemoryError, match=r"g.contract of all edges needed up to .*subgraph"):
        g.contract([0, 0, 1, 1, 1])


def test_what_cannot_be_merged():
    g, ids = weft.generators.path(3), np.arange(2)
    good = ids, np.ones(2)
    for a, b, match in (
        (g, good, "one of each"),
        (g, weft.generators.path(4), "graphs of 3 and 4 vertices"),
        (g, g.to("emulated"), "operands on cpu and emulated"),
        (g, weft.Graph.from_edges([0, 0], [1, 1], num_vertices=3), "parallel edges"),
        (g, weft.Graph.from_edges([0], [1], num_vertices=3, keep="in"), '"in" alone'),
        (good, (ids[::-1], np.ones(2)), "not ascending and distinct"),
        (good, (ids, np.ones(3)), "as many integers as values"),
        (good, 3, r"sparse vectors \(ids, values\), but got 3"),
    ):
        with pytest.raises(GraphError, match=match):
            weft.unite(a, b, minus)
