"""Contraction against dictionaries of groups."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from graphs import AWKWARD, edge_lists
from weft.errors import ConfigError, GraphError

MONOIDS = {"sum": sum, "min": min, "max": max, "any": lambda values: values[0]}


def expected(g, labels, how, self_loops):
    """Return the merged edges as a dictionary: (group, group) -> combined weight."""
    kinds = sorted(set(labels))
    number = {label: i for i, label in enumerate(kinds)}
    edges = g.to_edges()
    weights = [1] * g.num_edges if edges.weight is None else edges.weight.tolist()
    held = defaultdict(list)
    for u, v, weight in zip(edges.src.tolist(), edges.dst.tolist(), weights, strict=True):
        a, b = number[labels[u]], number[labels[v]]
        if a != b or self_loops == "keep":
            held[(a, b) if g.directed else (min(a, b), max(a, b))].append(weight)
    return len(kinds), {pair: MONOIDS[how](values) for pair, values in sorted(held.items())}


def check(g, labels, how="sum", self_loops="drop"):
    small = g.contract(labels, edge=getattr(weft, how), self_loops=self_loops)
    count, edges = expected(g, list(labels), how, self_loops)
    found = small.to_edges()
    assert small.num_vertices == count and small.directed == g.directed
    assert list(zip(found.src.tolist(), found.dst.tolist(), strict=True)) == list(edges)
    if g.weighted or how == "sum":
        assert found.weight.tolist() == list(edges.values())


@pytest.mark.parametrize("name", [n for n in AWKWARD if n != "weights infinite"])
@pytest.mark.parametrize("self_loops", ["keep", "drop"])
def test_awkward_graphs(name, self_loops):
    g = AWKWARD[name]()
    check(g, np.arange(g.num_vertices) * 7 % 5, "max", self_loops)
    check(g, np.zeros(g.num_vertices, np.int64), "any", self_loops)


@settings(max_examples=60, deadline=None)
@given(edge_lists(weights="signed"), st.data())
def test_drawn_graphs(edges, data):
    n = edges.num_vertices
    labels = st.integers(0, 3) | st.integers(-(2**50), 2**50)
    drawn = data.draw(st.lists(labels, min_size=n, max_size=n))
    how = data.draw(st.sampled_from(sorted(MONOIDS)))
    loops = data.draw(st.sampled_from(["keep", "drop"]))
    check(edges.build(), np.array(drawn, np.int64).tolist(), how, loops)


def test_other_devices_and_stored_directions():
    for keep in ("in", "out"):
        g = weft.generators.rmat(6, 4, seed=1, directed=True, weights="int")
        edges = g.to_edges()
        g = weft.Graph.from_edges(edges.src, edges.dst, edges.weight, num_vertices=64, keep=keep)
        small = g.to("emulated").contract(np.arange(64) // 5)
        want = g.contract(np.arange(64) // 5)
        assert small.topology.keep == keep and str(small.device) == "emulated"
        np.testing.assert_array_equal(small.to_edges().weight, want.to_edges().weight)
        np.testing.assert_array_equal(small.to_edges().src, want.to_edges().src)


def test_columns_are_combined_by_group():
    g = weft.generators.path(5)
    g.vertex["mass"], g.vertex["grown"] = [1.0, 2.0, 3.0, 4.0, 5.0], [True, False, True, True, True]
    g.edge["length"], g.edge["toll"] = [1, 2, 3, 4], [True, True, False, True]
    small = g.contract([2, 9, 2, 9, 2], vertex=weft.sum)
    assert small.vertex["mass"].tolist() == [9, 6] and small.vertex["grown"].tolist() == [3, 1]
    assert small.edge["length"].tolist() == [10] and small.edge["toll"].tolist() == [3]
    named = g.contract([2, 9, 2, 9, 2], edge=weft.min, vertex={"mass": weft.max})
    assert named.vertex["mass"].tolist() == [5, 4] and list(named.vertex) == ["mass"]
    assert named.edge["length"].tolist() == [1]
    kept = g.contract([2, 9, 2, 9, 2], edge=None)
    assert kept.num_edges == 4 and kept.edge["length"].tolist() == [1, 2, 3, 4]


def test_what_cannot_be_contracted_is_told():
    g = weft.generators.path(3)
    for labels in ([1, 2], [0.5, 1, 2], [[1, 2, 3]]):
        with pytest.raises(GraphError, match="one integer for each of the 3 vertices"):
            g.contract(labels)
    with pytest.raises(ConfigError, match="cannot combine columns"):
        g.contract([0, 1, 1], edge=weft.argmin)
    with pytest.raises(ConfigError, match="self_loops"):
        g.contract([0, 1, 1], self_loops="maybe")
    with pytest.raises(GraphError, match="no vertex column 'x'"):
        g.contract([0, 1, 1], vertex={"x": weft.sum})
