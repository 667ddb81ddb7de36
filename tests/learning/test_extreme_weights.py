"""Weights whose sums float64 or float32 cannot hold: only proportions at a vertex count."""

import numpy as np
import pytest

import dense
import weft

learning = weft.learning
SRC, DST = [0, 2, 3, 0, 1, 3, 1, 2, 4], [1, 1, 1, 2, 2, 2, 3, 4, 0]
TAME = np.array([1.0, 2, 1, 1, 3, 2, 1, 1, 1])
EXTREME = TAME * np.array([1, 8e307, 5e-324, 1e-3, 1e200])[DST]
X = np.random.default_rng(2).random((5, 2))
LOOSE = {"tol": 1e-12, "max_iter": 100, "on_unconverged": "return"}


def graph(weight):
    return weft.Graph.from_edges(SRC, DST, weight)


def ranked(x):
    want, _ = dense.manifold_ranking(graph(TAME), x, 0.85, "weight", 1e-12, 100)
    return learning.manifold_ranking(graph(EXTREME), x, **LOOSE), want


def labelled(x):
    want, _ = dense.label_propagation(graph(TAME), x, 0.9, "weight", (), 1e-12, 100)
    return learning.label_propagation_features(graph(EXTREME), x * 1e38, **LOOSE), want


def averaged(x):
    want = dense.propagation_matrix(graph(TAME), "mean", "weight") @ x
    return learning.gcn_propagate(graph(EXTREME), x, "mean", weight="weight"), want


def averaged_back(x):
    want = dense.propagation_matrix(graph(TAME), "mean", "weight").T @ x
    found = learning.gcn_propagate(graph(EXTREME), x, "mean", weight="weight", transposed=True)
    return found, want


@pytest.mark.parametrize(
    ("algorithm", "dtype"),
    [(ranked, "float64"), (labelled, "float32"), (averaged, "float32"), (averaged_back, "float64")],
)
def test_only_proportions_count(algorithm, dtype):
    x = (X * 3.4 / X.max()).astype(dtype)  # 1e38 times that has no sum in float32
    found, want = algorithm(x)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, want, rtol=1e-11 if dtype == "float64" else 1e-5)


@pytest.mark.parametrize("transposed", [False, True])
def test_symmetric_scales_of_huge_sums(transposed):
    found = learning.gcn_propagate(graph(EXTREME), X, weight="weight", transposed=transposed)
    matrix = np.zeros((5, 5), np.longdouble)
    matrix[DST, SRC] = EXTREME
    root = (1 + matrix.sum(axis=1)) ** np.longdouble(-0.5)
    operator = root[:, None] * (matrix + np.eye(5)) * root
    operator = operator.T if transposed else operator
    np.testing.assert_allclose(found, (operator @ X).astype(float), rtol=1e-11)
