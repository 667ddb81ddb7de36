"""Two graphs with common neighbours: products of two matrices at given places."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings

import weft
from graphs import AWKWARD, graphs
from weft.errors import GraphError


@weft.edge
def shared(u, v, e):
    e.total, e.count = weft.common(
        u, v, lambda w, ea, eb: (ea.weight * eb.weight, 1), (weft.sum, weft.sum)
    )


def matrix_of(g, width):
    """Return the weights by row and column: of parallel edges that of the first one."""
    out = g.topology.adjacency("out")
    offsets, targets = np.asarray(out.offsets), np.asarray(out.targets)
    rows = np.repeat(np.arange(g.num_vertices), np.diff(offsets))
    weights = g.edge.in_slots("weight", "out") if "weight" in g.edge else np.ones(len(targets))
    _, first = np.unique(rows * (width + 1) + targets, return_index=True)
    cells = np.asarray(weights, np.float64)[first], (rows[first], targets[first])
    return sp.csr_matrix(cells, shape=(g.num_vertices, width))


def check(one, two, device="cpu"):
    width = max(one.num_vertices, two.num_vertices)
    left, right = (matrix_of(g, width) for g in (one, two))
    both = one.to(device).stack(two.to(device))
    a, b = (x.ravel() for x in np.indices((one.num_vertices, two.num_vertices)))
    pairs = both.pairs(a, one.num_vertices + b)
    found = pairs.state(total=weft.full(0.0), count=weft.full(0))
    both.run(shared, both.state(), pairs, edge_state=found)
    want = (left @ right.T).toarray().ravel()
    np.testing.assert_allclose(found.total, want)
    for matrix in (left, right):
        matrix.data[:] = 1
    assert found.count.tolist() == (left @ right.T).toarray().ravel().astype(int).tolist()


@given(one=graphs(min_vertices=1, weights="int"), two=graphs(min_vertices=1, weights=None))
@settings(max_examples=20, derandomize=True, deadline=None)
def test_rows_of_two_graphs_meet(one, two):
    check(one, two)
    check(two, one)


@pytest.mark.parametrize("device", ["cpu", "emulated"])
@pytest.mark.parametrize("name", ["parallel edges", "self-loops undirected", "hub", "disconnected"])
def test_awkward_graphs(name, device):
    g = AWKWARD[name]()
    check(g, weft.generators.path(4, directed=False), device)
    check(weft.Graph.from_edges([], [], num_vertices=3), g, device)


def test_columns_and_what_cannot_be_stacked():
    one = weft.Graph.from_edges([0, 1], [1, 1], [2.0, 3.0])
    two = weft.Graph.from_edges([0, 0], [0, 2])
    one.edge["age"] = np.array([1, 2])
    both = one.stack(two)
    assert both.num_vertices == 5 and list(both.edge) == ["weight"]
    assert both.edge["weight"].tolist() == [2.0, 3.0, 1.0, 1.0]
    two.edge["age"] = np.array([8, 9])
    assert two.stack(one).edge["age"].tolist() == [8, 9, 1, 2]
    with pytest.raises(GraphError, match=r'keeps "in" alone'):
        one.stack(weft.Graph.from_edges([0], [1], keep="in"))
    with pytest.raises(GraphError, match=r"on cpu and emulated"):
        one.stack(two.to("emulated"))
    with pytest.raises(GraphError, match=r"Expected a weft\.Graph"):
        one.stack(3)
