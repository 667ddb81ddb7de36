"""Propagation of label distributions against the formula on dense matrices."""

import numpy as np
import pytest

import dense
import weft
from dense import social, tolerance
from graphs import AWKWARD
from weft.errors import ConfigError, FieldError, GraphError

propagate = weft.learning.label_propagation_features


def labels_of(g, k, dtype=float, seed=1):
    """One label at a third of the vertices, nothing known about the others."""
    rng = np.random.default_rng(seed)
    labels = np.zeros((g.num_vertices, k), dtype)
    known = rng.random(g.num_vertices) < 0.35
    labels[known, rng.integers(0, k, known.sum())] = 2
    return labels, np.flatnonzero(known)


def check(g, labels, seeds, column="weight", tol=1e-6, **options):
    found = propagate(g, labels, 0.8, tol, seeds=seeds, weight=column, **options)
    kept = () if seeds is None else seeds
    want, _ = dense.label_propagation(g, labels, 0.8, column, kept, tol)
    assert found.dtype == labels.dtype
    np.testing.assert_allclose(found, want, **{"atol": 1e-9, **tolerance(labels.dtype)})


@pytest.mark.parametrize(("k", "dtype", "directed"), [(2, "float64", False), (7, "float32", True)])
def test_one_property(k, dtype, directed):
    g = social(directed=directed)
    labels, known = labels_of(g, k, dtype)
    check(g, labels, known, tol=1e-5)
    if k == 7:
        check(g, labels, None, tol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("k", dense.WIDTHS)
def test_all_widths(g, k, dtype):
    labels, known = labels_of(g, k, dtype)
    check(g, labels, known, tol=1e-5)


def test_several_properties_share_a_sweep():
    g = social()
    g.edge["near"] = np.random.default_rng(4).integers(1, 5, (g.num_edges, 2)).astype(float)
    column, both = "near", dense.matrix(g, "near")
    matrices = [both[:, :, 0], both[:, :, 1]]
    first, known = labels_of(g, 2)
    second, _ = labels_of(g, 5, seed=2)
    found = propagate(g, [first, second], 0.8, 0.0, 30, seeds=known, weight=column,
                      on_unconverged="return")  # fmt: skip
    for got, labels, w in zip(found, (first, second), matrices, strict=True):
        want, _ = dense.label_propagation(g, labels, 0.8, w, known, 0.0, 30)
        np.testing.assert_allclose(got, want, rtol=1e-9)


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_graphs(name):
    g = AWKWARD[name]()
    g.edge.pop("weight", None)
    check(g, *labels_of(g, 2), tol=1e-5)


def test_seeds_by_label():
    src, dst, weight = social().to_edges()
    g = weft.Graph.from_edges(src, dst, weight, directed=False, num_vertices=60)
    names = [f"v{v}" for v in range(60)]
    named = weft.Graph.from_edges(src, dst, weight, directed=False, labels=names)
    labels, known = labels_of(g, 2)
    found = propagate(named, labels, 0.8, 1e-5, seeds=[names[v] for v in known])
    np.testing.assert_array_equal(found, propagate(g, labels, 0.8, 1e-5, seeds=known))
    np.testing.assert_array_equal(found, propagate(named, labels, 0.8, 1e-5, seeds=known))
    with pytest.raises(GraphError, match="'v60'"):
        propagate(named, labels, seeds=["v60"])


def test_seeds_are_a_mask_or_numbers_and_stay():
    g = social()
    labels, known = labels_of(g, 2)
    mask = np.zeros(g.num_vertices, bool)
    mask[known] = True
    by_mask = propagate(g, labels, seeds=mask)
    np.testing.assert_array_equal(by_mask, propagate(g, labels, seeds=known))
    np.testing.assert_array_equal(by_mask[known], labels[known] / 2)


def test_emulated_device():
    g = social()
    labels, known = labels_of(g, 3, "float32")
    found = propagate(g.to("emulated"), labels, 0.8, 1e-5, seeds=known)
    want, _ = dense.label_propagation(g, labels, 0.8, "weight", known, 1e-5)
    np.testing.assert_allclose(found, want, **tolerance("float32"))


def test_errors():
    g = social()
    labels, known = labels_of(g, 2)
    with pytest.raises(GraphError, match=r"labels has shape \(60,\). Expected \(60, k\)"):
        propagate(g, labels[:, 0])
    with pytest.raises(GraphError, match=r"labels holds -1.0 at \[3, 1\]. .* from 0 on"):
        bad = labels.copy()
        bad[3, 1] = -1
        propagate(g, bad)
    with pytest.raises(GraphError, match=r"seeds is a mask of shape \(2,\)"):
        propagate(g, labels, seeds=[True, False])
    with pytest.raises(ConfigError, match="tol=-1"):
        propagate(g, labels, tol=-1)
    g.edge["near"] = np.ones((g.num_edges, 3))
    with pytest.raises(FieldError, match=r"'near' has shape \(3,\) per edge"):
        propagate(g, labels, seeds=known, weight="near")
