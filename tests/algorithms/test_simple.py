"""Simple graphs: what they keep, and when the graph itself is one."""

import gc
import sys
import weakref

import numpy as np
import pytest
from hypothesis import given, settings

import weft
from graphs import AWKWARD, graphs
from networks import edge_pairs
from weft.algorithms.support.simple import is_simple, simple
from weft.errors import GraphError


@given(graphs(keep=None))
@settings(max_examples=100)
def test_edges(g):
    both, own = simple(g), simple(g, directed=True)
    pairs = {(u, v) for u, v in edge_pairs(g) if u != v}
    assert not both.directed and own.directed == g.directed
    assert edge_pairs(both) == sorted({(min(e), max(e)) for e in pairs})
    assert sorted(edge_pairs(own)) == sorted(pairs)
    assert both.num_vertices == own.num_vertices == g.num_vertices
    assert both.topology.index_dtype == g.topology.index_dtype


@given(graphs(keep=None))
@settings(max_examples=100)
def test_is_simple_looks_at_every_part(g):
    pairs = edge_pairs(g)
    expected = len(set(pairs)) == len(pairs) and all(u != v for u, v in pairs)
    module = sys.modules[is_simple.__module__]
    with pytest.MonkeyPatch.context() as patch:
        for parts in (1, 3):
            patch.setattr(module, "PARTS", parts)
            patch.setattr(module, "LEAST_PART", 2)
            assert is_simple(g.topology) == expected


@pytest.mark.parametrize("name", ["social undirected", "road", "two cliques", "hub", "empty"])
def test_simple_graphs_stay(name):
    g = AWKWARD[name]()
    assert is_simple(g.topology)
    assert simple(g, directed=True) is g
    assert (simple(g) is g) == (not g.directed)


def test_result_is_kept_and_let_go():
    g = weft.Graph.from_edges([0, 0, 1], [1, 1, 1])
    assert simple(g) is simple(g)
    kept = weakref.ref(simple(g))
    del g
    gc.collect()
    assert kept() is None


def test_rows_may_repeat_the_last_target_of_the_row_before():
    g = weft.Graph.from_edges([0, 1, 2], [3, 3, 3])
    assert is_simple(g.topology)
    np.testing.assert_array_equal(simple(g, directed=True).out_degree, [1, 1, 1, 0])


@pytest.mark.parametrize(
    "algorithm",
    [
        "bfs", "sssp", "pagerank", "connected_components", "core_number", "triangle_count",
        "clustering", "betweenness", "label_propagation",
    ],
)  # fmt: skip
def test_what_is_no_graph_is_refused(algorithm):
    with pytest.raises(GraphError, match=f"{algorithm} takes a weft.Graph, but got a list"):
        getattr(weft, algorithm)([(0, 1)], 0)
