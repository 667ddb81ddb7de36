"""FastRP against means by dense matrices."""

import numpy as np
import pytest

import dense
import weft
from dense import social, tolerance
from graphs import AWKWARD
from weft.errors import ConfigError
from weft.learning.embeddings import _projection

embed = weft.learning.fastrp


def expected(g, k, weights, power=-0.5, seed=0, dtype="float64"):
    return dense.fastrp(g, _projection(g, k, power, seed, np.dtype(dtype)), weights)


@pytest.mark.parametrize(("k", "dtype"), [(3, "float64"), (64, "float32")])
def test_embeddings(k, dtype):
    g = social(directed=k == 64)
    weights = (0.25, 1.0, 0.5)
    found = embed(g, k, weights, seed=3, dtype=dtype)
    assert found.dtype == dtype
    want = expected(g, k, weights, seed=3, dtype=dtype)
    np.testing.assert_allclose(found, want, **(tolerance(dtype) | {"atol": 1e-5}))


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_graphs(name):
    g = AWKWARD[name]()
    found = embed(g, 3, (1.0, 1.0), dtype="float64")
    want = expected(g, 3, (1.0, 1.0)) if g.num_vertices else found
    np.testing.assert_allclose(found, want, atol=1e-6)


def test_the_projection_is_sparse_and_scaled():
    g = weft.generators.star(4000)
    x = _projection(g, 8, -0.5, 0, np.dtype(float))
    values, counts = np.unique(x[1:].round(6), return_counts=True)
    np.testing.assert_allclose(values, [-np.sqrt(3), 0, np.sqrt(3)], atol=1e-6)
    np.testing.assert_allclose(counts / counts.sum(), [1 / 6, 2 / 3, 1 / 6], atol=0.01)
    np.testing.assert_allclose(np.abs(x[0]).max(), np.sqrt(3 / 3999))


def test_communities_lie_together():
    rng = np.random.default_rng(0)
    block = np.repeat(np.arange(4), 25)
    near = rng.random((100, 100)) < np.where(block[:, None] == block, 0.4, 0.02)
    src, dst = np.nonzero(np.triu(near, 1))
    g = weft.Graph.from_edges(src, dst, num_vertices=100, directed=False)
    x = embed(g, 64, (0.0, 1.0, 1.0))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    likeness = x @ x.T
    same = block[:, None] == block
    assert likeness[same].mean() > 0.7 > 0.3 > likeness[~same].mean()


def test_emulated_device():
    g = social()
    found = embed(g.to("emulated"), 5, (1.0, 0.5))
    want = expected(g, 5, (1.0, 0.5), dtype="float32")
    np.testing.assert_allclose(found, want, **tolerance("float32"))


def test_errors():
    g = social()
    for options in ({"dimension": 0}, {"dimension": 1025}, {"weights": ()}, {"dtype": "int32"}):
        with pytest.raises(ConfigError, match=next(iter(options))):
            embed(g, **options)
