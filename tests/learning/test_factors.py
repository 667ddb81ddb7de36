"""Alternating least squares against dense solves, and on ratings with planted factors."""

import numpy as np
import pytest

import dense
import weft
from dense import tolerance
from weft.errors import ConfigError, GraphError

als = weft.learning.als
USERS, ITEMS = 12, 9


def ratings_graph(*, directed=True, seed=0):
    """Random ratings with a repeated one, a user without any and an item without any."""
    rng = np.random.default_rng(seed)
    src = np.append(rng.integers(0, USERS - 1, 50), 3)
    dst = np.append(rng.integers(USERS, USERS + ITEMS - 1, 50), USERS + 2)
    stars = rng.integers(1, 6, 51).astype(float) / 5
    return weft.Graph.from_edges(src, dst, stars, num_vertices=USERS + ITEMS, directed=directed)


def tables(g):
    src, dst, weight = (np.asarray(x) for x in g.to_edges())
    n = g.num_vertices
    ratings, rated = np.zeros((n, n)), np.zeros((n, n))
    for table, values in ((ratings, weight), (rated, np.ones(len(src)))):
        np.add.at(table, (src, dst), values)
        np.add.at(table, (dst, src), values)
    return ratings, rated, np.arange(n) < USERS


@pytest.mark.parametrize(
    ("k", "dtype", "directed", "implicit"),
    [(3, "float64", True, None), (4, "float32", False, None), (3, "float64", True, 2.0)],
)
def test_sweeps(k, dtype, directed, implicit):
    g = ratings_graph(directed=directed)
    ratings, rated, users = tables(g)
    start = np.random.default_rng(k).normal(size=(g.num_vertices, k)).astype(dtype)
    given = None if directed else users
    found = als(g, k, 0.3, 3, 0.0, users=given, implicit=implicit, start=start, dtype=dtype)
    want, errors = start.astype(float), []
    for _ in range(len(found.rmse)):
        want = dense.als_sweep(ratings, rated, want, users, 0.3, implicit)
        errors.append(dense.als_error(g, want, implicit))
    assert found.factors.dtype == dtype and len(errors) == 3
    close = {"rtol": 2e-3, "atol": 2e-3} if dtype == "float32" else {"rtol": 1e-8, "atol": 1e-12}
    np.testing.assert_allclose(found.factors, want, **close)
    np.testing.assert_allclose(found.rmse, errors, **close)


@pytest.mark.slow
@pytest.mark.parametrize("k", [k for k in dense.WIDTHS if k <= 64])
def test_all_widths(k, dtype):
    g = ratings_graph()
    ratings, rated, users = tables(g)
    start = np.random.default_rng(k).normal(size=(g.num_vertices, k)).astype(dtype)
    found = als(g, k, 0.3, 1, start=start, dtype=dtype)
    want = dense.als_sweep(ratings, rated, start.astype(float), users, 0.3)
    close = {"rtol": 1e-2, "atol": 1e-2} if dtype == "float32" else {"rtol": 1e-8, "atol": 1e-10}
    np.testing.assert_allclose(found.factors, want, **close)


def test_planted_ratings_are_recovered():
    rng = np.random.default_rng(5)
    left, right = rng.normal(size=(60, 3)), rng.normal(size=(40, 3))
    src, dst = np.nonzero(rng.random((60, 40)) < 0.5)
    stars = np.einsum("ek,ek->e", left[src], right[dst])
    g = weft.Graph.from_edges(src, dst + 60, stars, num_vertices=100)
    found = als(g, 3, 1e-6, 200, 1e-9)
    guess = found.factors[:60] @ found.factors[60:].T
    assert found.rmse[-1] < 1e-3
    np.testing.assert_allclose(guess, left @ right.T, atol=0.02)


def test_it_stops_when_the_error_stops_falling():
    found = als(ratings_graph(), 3, 0.3, 100, 1e-3)
    assert found.converged and 2 < len(found.rmse) < 100
    drops = -np.diff(found.rmse) / found.rmse[:-1]
    assert (drops[:-1] > 1e-3).all() and drops[-1] <= 1e-3


def test_emulated_device():
    g = ratings_graph()
    start = np.random.default_rng(1).normal(size=(g.num_vertices, 5)).astype("float32")
    ratings, rated, users = tables(g)
    for implicit in (None, 1.5):
        options = {"implicit": implicit, "start": start, "dtype": "float32"}
        found = als(g.to("emulated"), 5, 0.3, 2, **options)
        want = start.astype(float)
        for _ in range(2):
            want = dense.als_sweep(ratings, rated, want, users, 0.3, implicit)
        np.testing.assert_allclose(found.factors, want, rtol=5e-3, atol=5e-3)
        error = dense.als_error(g, want, implicit)
        np.testing.assert_allclose(found.rmse[-1], error, **tolerance("float32"))


def test_users_by_label():
    names = ["Ada", "Bob", "film", "book", "play"]
    g = weft.Graph.from_edges([2, 3, 3], [0, 0, 1], [1.0, 2, 4], directed=False, labels=names)
    assert als(g, 1, users=["Bob", "Ada"], max_sweeps=0).factors.shape == (5, 1)
    with pytest.raises(GraphError, match="joins two items"):
        als(g, 1, users=["Bob", "book"], max_sweeps=0)
    with pytest.raises(GraphError, match="'opera'"):
        als(g, 1, users=["opera"])


def test_errors():
    g = ratings_graph()
    with pytest.raises(ConfigError, match="k=65 is too large"):
        als(g, 65)
    with pytest.raises(ConfigError, match="ridge=0"):
        als(g, 3, 0)
    with pytest.raises(ConfigError, match="implicit=-1"):
        als(g, 3, implicit=-1)
    with pytest.raises(ConfigError, match="who the users"):
        als(ratings_graph(directed=False), 3)
    with pytest.raises(GraphError, match=r"edge 0 \(0 -> 1\) joins two users"):
        als(weft.generators.path(4), 2, users=[0, 1])
    with pytest.raises(GraphError, match=r"Expected \(21, 3\)"):
        als(g, 3, start=np.ones((21, 2)))
