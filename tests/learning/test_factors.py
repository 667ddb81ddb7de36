"""Alternating least squares against dense solves, and on ratings with planted factors."""

import functools

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


def test_solving_for_all_at_once_is_alternating_by_halves():
    g = ratings_graph()
    ratings, rated, users = tables(g)
    start = np.random.default_rng(2).normal(size=(g.num_vertices, 3))
    want = start
    for _ in range(2):  # sweeps of two halves: one before, and three sweeps of all
        want = dense.als_sweep(ratings, rated, want, users, 0.3)
    for device in ("cpu", "emulated"):
        found = als(g.to(device), 3, 0.3, 3, 0.0, start=start, alternate=False)
        np.testing.assert_allclose(found.factors, want, rtol=1e-8, atol=1e-12)
        assert len(found.rmse) == 3
        np.testing.assert_allclose(found.rmse[-1], dense.als_error(g, want))
        untracked = als(g.to(device), 3, 0.3, 3, start=start, alternate=False, track=False)
        np.testing.assert_allclose(untracked.factors, want, rtol=1e-8, atol=1e-12)


def rated_road(side=12):
    """Ratings along a road network, each vertex a user and an item: parts come to rest apart."""
    road = weft.generators.road(side, seed=1)
    src, dst = (np.asarray(ends) for ends in road.to_edges()[:2])
    n = road.num_vertices
    stars = np.random.default_rng(0).random(len(src)) + 0.5
    return weft.Graph.from_edges(src, dst + n, stars, num_vertices=2 * n), np.arange(2 * n) < n


def refitted(g, factors, ridge):
    """Solve for every vertex from the factors of the others."""
    src, dst, stars = (np.asarray(x) for x in g.to_edges())
    k = factors.shape[1]
    gram, right = np.zeros((len(factors), k, k)) + ridge * np.eye(k), np.zeros_like(factors)
    for to, by in ((src, dst), (dst, src)):
        np.add.at(gram, to, np.einsum("ei,ej->eij", factors[by], factors[by]))
        np.add.at(right, to, stars[:, None] * factors[by])
    return np.linalg.solve(gram, right[:, :, None])[:, :, 0]


@functools.cache
def road_at_rest(ridge):
    """Return the factors to which full sweeps over `rated_road` lead."""
    g, users = rated_road()
    factors = np.random.default_rng(0).standard_normal((g.num_vertices, 2)) / np.sqrt(2)
    factors[users] = refitted(g, factors, ridge)[users]
    for _ in range(1500):
        factors = refitted(g, factors, ridge)
    return factors


@pytest.mark.parametrize("alternate", [True, False])
@pytest.mark.parametrize("device", ["cpu", "emulated"])
def test_changes_alone_lead_to_factors_at_rest(device, alternate):
    (g, users), tol, ridge = rated_road(), 1e-4, 0.3
    if alternate:  # a directed graph is turned into one that sends both ways
        given = g.to(device)
    else:
        src, dst, stars = g.to_edges()
        given = weft.Graph.from_edges(src, dst, stars, directed=False).to(device)
    config = weft.Config(change_driven=True)
    with weft.profile() as record:
        found = als(given, 2, ridge, 400, tol, alternate=alternate, users=users, config=config)
    factors, full = np.asarray(found.factors), road_at_rest(ridge)
    assert found.converged and len(found.rmse) == 1
    assert np.abs(refitted(g, factors, ridge) - factors).max() <= 2 * tol + 1e-9
    assert found.rmse[0] == pytest.approx(dense.als_error(g, full), abs=tol)
    np.testing.assert_allclose(factors, full, atol=200 * tol)
    arcs = 2 * g.num_edges
    pushed = [step.edges for step in record.records if step.direction == "push"]
    assert len(pushed) > 50 and max(pushed) <= arcs / 16
    wide = sum(step.edges >= arcs / 2 for step in record.records)
    assert wide < 0.6 * (len(pushed) + wide)


def test_changes_and_implicit_feedback():
    g = ratings_graph()
    options = {"implicit": 2.0, "max_sweeps": 2}
    with pytest.raises(ConfigError, match="change_driven=True is not possible with implicit="):
        als(g, 3, 0.3, config=weft.Config(change_driven=True), **options)
    auto = als(g, 3, 0.3, config=weft.Config(change_driven="auto"), **options)
    np.testing.assert_array_equal(auto.factors, als(g, 3, 0.3, **options).factors)


def test_errors():
    g = ratings_graph()
    with pytest.raises(ConfigError, match="alternate=False is not possible with implicit="):
        als(g, 3, implicit=1.0, alternate=False)
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
