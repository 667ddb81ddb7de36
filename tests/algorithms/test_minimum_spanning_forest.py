"""Spanning forests against Kruskal's algorithm in the same order, and SciPy's weight."""

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.sparse import coo_array
from scipy.sparse.csgraph import minimum_spanning_tree

import weft
from graphs import AWKWARD, graphs
from library import Case
from networks import edge_pairs
from weft.algorithms.minimum_spanning_forest import MANY
from weft.errors import GraphError


def check(g, found):
    weight = g.to_edges().weight
    values = np.ones(g.num_edges, int) if weight is None else weight
    above = list(range(g.num_vertices))

    def root(v):
        while above[v] != v:
            v = above[v]
        return v

    pairs, taken = edge_pairs(g), []
    for k in np.argsort(values, kind="stable").tolist():
        a, b = (root(v) for v in pairs[k])
        if a != b:
            above[max(a, b)] = min(a, b)
            taken.append(k)
    assert found.edge.tolist() == sorted(taken)
    np.testing.assert_allclose(found.weight, values[taken].astype(float).sum(), rtol=1e-6)


CASES = {
    "minimum_spanning_forest": Case(weft.minimum_spanning_forest, check, weights="float"),
}


@given(graphs(index_dtype=None, weights="signed"))
@settings(max_examples=25)
def test_negative_weights_of_64_bits(g):
    check(g, weft.minimum_spanning_forest(g))


def test_weight_is_that_of_scipy():
    g = weft.generators.rmat(9, 8, seed=4, weights="float")
    src, dst, weight = g.to_edges()
    n = g.num_vertices
    tree = minimum_spanning_tree(coo_array((weight, (src, dst)), shape=(n, n)))
    found = weft.minimum_spanning_forest(g)
    assert found.edge.size == tree.nnz
    np.testing.assert_allclose(found.weight, tree.sum(dtype=np.float64), rtol=1e-6)


def test_zeros_of_both_signs_are_equal():
    g = weft.Graph.from_edges(
        [0, 0, 1], [1, 2, 2], np.array([0.0, -0.0, -1.5], np.float32), directed=False
    )
    check(g, weft.minimum_spanning_forest(g))


@pytest.mark.parametrize("device", ["cpu", "emulated"])
@pytest.mark.parametrize("kind", ["none", "ties", "float32", "float64", "equal"])
def test_long_rows_are_looked_through(kind, device):
    src, dst, _ = weft.generators.rmat(5, 60, seed=3).to_edges()
    rng = np.random.default_rng(2)
    weight = {
        "none": None, "ties": rng.integers(-2, 3, src.size), "equal": np.full(src.size, 7),
        "float32": rng.normal(size=src.size).astype(np.float32),
        "float64": rng.normal(size=src.size),
    }[kind]  # fmt: skip
    if kind == "ties":
        weight = weight.astype(np.int8)
    g = weft.Graph.from_edges(src, dst, weight, directed=False)
    assert g.num_edges > MANY * g.num_vertices
    check(g, weft.minimum_spanning_forest(g.to(device)))


@pytest.mark.parametrize("device", ["cpu", "emulated"])
def test_other_components_join_the_giant_one(device):
    src, dst, weight = weft.generators.rmat(9, 30, seed=4, weights=(1, 9)).to_edges()
    tail = 512 + np.arange(20)  # a path of light edges, joined late
    joined = [
        np.concatenate(part)
        for part in ((src, tail[:-1], [3]), (dst, tail[1:], [512]), (weight, np.ones(19), [20]))
    ]
    g = weft.Graph.from_edges(*joined, directed=False)
    assert g.num_edges > MANY * g.num_vertices
    check(g, weft.minimum_spanning_forest(g.to(device)))


def test_nan_is_refused():
    g = weft.Graph.from_edges([0], [1], [np.nan])
    with pytest.raises(GraphError, match=r"some weights are NaN. Expected numbers"):
        weft.minimum_spanning_forest(g)


def test_infinite_weights_join_what_nothing_else_does():
    check(g := AWKWARD["weights infinite"](), weft.minimum_spanning_forest(g))
