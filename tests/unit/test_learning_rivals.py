"""The rivals of the learning benchmark compute the formulas, and its report adds up."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks import learning

import dense
import weft


@pytest.fixture
def g():
    g = weft.generators.tree(2, 2)
    g.edge["weight"] = np.arange(1, g.num_edges + 1, dtype=np.float32)
    return g


CLOSE = {"rtol": 1e-4, "atol": 1e-6}


def test_propagation(g):
    task = learning.Task("LP", g, 3)
    want, _ = dense.label_propagation(g, task.data.x, learning.ALPHA, "weight", (), 0, 5)
    np.testing.assert_allclose(task.rival("arrays")(5), want, **CLOSE)
    task = learning.Task("MMR", g, 3)
    want, _ = dense.manifold_ranking(g, task.data.x, learning.ALPHA, "near", 0, 5)
    np.testing.assert_allclose(task.rival("arrays")(5), want, **CLOSE)
    task = learning.Task("MML", g, 3)
    want, _ = dense.multimodal(g, task.data.x, task.mixture, "by", 0, 5)
    np.testing.assert_allclose(task.rival("arrays")(5), want, **CLOSE)


def test_beliefs(g):
    task = learning.Task("BP", g, 2)
    want = dense.brute_force_marginals(g, task.data.x.astype(float), [task.psi] * g.num_edges)
    np.testing.assert_allclose(task.rival("arrays")(8), want, **CLOSE)


def test_factors(g):
    task = learning.Task("ALS", g, 2)
    src, dst, weight = dense.arcs(task.g)
    ratings, rated = np.zeros((2, 14, 14))
    np.add.at(ratings, (src, dst), weight)
    np.add.at(rated, (src, dst), 1)
    want = task.data.x.astype(float)
    for _ in range(2):
        want = dense.als_sweep(ratings, rated, want, task.users, learning.RIDGE)
    rated_ones = rated.sum(axis=1) > 0
    found = task.rival("arrays")(2)
    np.testing.assert_allclose(found[rated_ones], want[rated_ones], rtol=2e-3, atol=1e-4)


def test_report():
    rows = [
        learning.Row("kron", "LP", 4, "weft", 2.0, 100.0, True),
        learning.Row("kron", "LP", 4, "CuPy", 8.0, 25.0, True),
        learning.Row("road", "LP", 4, "weft", 1.0, 100.0, True),
        learning.Row("road", "LP", 4, "CuPy", 1.0, 25.0, False),
        learning.Row("road", "BP", 4, "CuPy", error="MemoryError: none"),
    ]
    report = learning.Report("cuda", rows)
    assert learning.means(report) == pytest.approx({"CuPy": 2.0})
    text = learning.table(report).splitlines()
    assert "4.00x" in text[2] and "MemoryError" in text[-1]
