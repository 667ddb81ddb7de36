"""Manifold ranking against the formula on dense matrices."""

import numpy as np
import pytest

import dense
import weft
from dense import social, tolerance
from graphs import AWKWARD
from weft.errors import ConfigError, ConvergenceError, FieldError, GraphError

rank = weft.learning.manifold_ranking


def weighted(g, k, seed=0):
    g.edge["near"] = np.random.default_rng(seed).integers(0, 5, (g.num_edges, k)) / 2
    return g


def start_of(g, shape, dtype=float, seed=1):
    return np.random.default_rng(seed).random((g.num_vertices, *shape)).astype(dtype)


def check(g, start, alpha, column, **options):
    found = rank(g, start, alpha, weight=column, **options)
    want, _ = dense.manifold_ranking(g, start, alpha, column)
    assert found.dtype == start.dtype and found.shape == start.shape
    np.testing.assert_allclose(found, want, **tolerance(start.dtype))


@pytest.mark.parametrize(("k", "dtype", "directed"), [(3, "float64", False), (33, "float32", True)])
def test_vector_weights(k, dtype, directed):
    g = social(directed=directed)
    check(weighted(g, k), start_of(g, (k,), dtype), 0.7, "near")


@pytest.mark.slow
@pytest.mark.parametrize("k", dense.WIDTHS)
def test_all_widths(g, k, dtype):
    check(weighted(g, k), start_of(g, (k,), dtype), 0.7, "near")


def test_one_weight_for_one_feature():
    g = social()
    check(g, start_of(g, ()), 0.9, "weight")


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_graphs(name):
    g = AWKWARD[name]()
    g.edge.pop("weight", None)
    check(g, start_of(g, (3,)), 0.6, "weight")


def test_emulated_device():
    g = weighted(social(), 5)
    start = start_of(g, (5,), "float32")
    found = rank(g.to("emulated"), start, 0.7, weight="near")
    want, _ = dense.manifold_ranking(g, start, 0.7, "near")
    np.testing.assert_allclose(found, want, **tolerance("float32"))


def test_errors():
    g = social()
    start = start_of(g, (3,))
    with pytest.raises(ConvergenceError, match="did not converge: after 2 iterations"):
        rank(g, start, max_iter=2)
    two = rank(g, start, max_iter=2, on_unconverged="return")
    np.testing.assert_allclose(two, dense.manifold_ranking(g, start, 0.85, "weight", 0, 2)[0])
    with pytest.raises(ConfigError, match=r"alpha=1\.5"):
        rank(g, start, 1.5)
    with pytest.raises(ConfigError, match="on_unconverged='stop'"):
        rank(g, start, on_unconverged="stop")
    with pytest.raises(GraphError, match=r"start has shape \(4, 3\). Expected \(60,\)"):
        rank(g, start[:4])
    with pytest.raises(FieldError, match=r"'near' has shape \(2,\) per edge. Expected \(\) or"):
        rank(weighted(g, 2), start, weight="near")
