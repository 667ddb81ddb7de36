"""Multimodal learning against the formula, with its matrices, in NumPy."""

import numpy as np
import pytest

import dense
import weft
from dense import social, tolerance
from graphs import AWKWARD
from weft.errors import ConfigError, FieldError

learn = weft.learning.multimodal


def with_modalities(g, count, seed=0):
    """Give edges weights whose sums into a vertex are at most 1 in every modality."""
    weights = np.random.default_rng(seed).random((g.num_edges, count))
    g.edge["by"] = weights / max(int(g.in_degree.max(initial=1)), 1)
    return g


def check(g, start, alpha, column="by"):
    found = learn(g, start, alpha, weight=column)
    want, _ = dense.multimodal(g, start, alpha, column)
    assert found.dtype == start.dtype
    np.testing.assert_allclose(found, want, **tolerance(start.dtype))


@pytest.mark.parametrize(
    ("k", "modes", "dtype", "directed"), [(3, 2, "float64", False), (16, 3, "float32", True)]
)
def test_vectors(k, modes, dtype, directed):
    g = social(directed=directed)
    start = np.random.default_rng(k).random((g.num_vertices, k)).astype(dtype)
    check(with_modalities(g, modes), start, np.full(modes, 0.8 / modes))


@pytest.mark.slow
@pytest.mark.parametrize("k", dense.WIDTHS)
@pytest.mark.parametrize("modes", [1, 4])
def test_all_widths(g, k, modes, dtype):
    start = np.random.default_rng(k).random((g.num_vertices, k)).astype(dtype)
    check(with_modalities(g, modes), start, np.full(modes, 0.8 / modes))


def test_one_modality_of_numbers():
    g = social()
    g.edge["weight"] = np.full(g.num_edges, 0.02)
    check(g, np.random.default_rng(0).random(g.num_vertices), 0.5, "weight")


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_graphs(name):
    g = with_modalities(AWKWARD[name](), 2)
    check(g, np.random.default_rng(0).random((g.num_vertices, 3)), [0.5, 0.25])


def test_emulated_device():
    g = with_modalities(social(), 3)
    start = np.random.default_rng(2).random((g.num_vertices, 4)).astype("float32")
    found = learn(g.to("emulated"), start, [0.3, 0.3, 0.2], weight="by")
    want, _ = dense.multimodal(g, start, [0.3, 0.3, 0.2], "by")
    np.testing.assert_allclose(found, want, **tolerance("float32"))


@pytest.mark.parametrize("alpha", [[0.9, 0.2], [-0.1, 0.5], [np.nan], [[0.1]]])
def test_mixtures_that_are_none(alpha):
    g = social()
    with pytest.raises(ConfigError, match="is not a mixture"):
        learn(g, np.zeros(g.num_vertices), alpha)


def test_weights_must_fit():
    g = with_modalities(social(), 2)
    with pytest.raises(FieldError, match=r"'by' has shape \(2,\) per edge. Expected \(3,\)"):
        learn(g, np.zeros(g.num_vertices), [0.1, 0.1, 0.1], weight="by")
