"""Generators: the shape that each promises, seeds, weights, errors."""

from __future__ import annotations

import sys

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from weft import generators
from weft.errors import ConfigError
from weft.generators.random_graphs import _distinct
from weft.generators.weights import hash_pairs, pair_weights

SEEDED = {
    "rmat": lambda **k: generators.rmat(8, 8, **k),
    "kron": lambda **k: generators.kron(8, 8, **k),
    "road": lambda **k: generators.road(20, 0.7, **k),
    "erdos_renyi": lambda **k: generators.erdos_renyi(200, 0.05, **k),
    "erdos_renyi m": lambda **k: generators.erdos_renyi(200, m=500, **k),
    "powerlaw": lambda **k: generators.powerlaw(300, 6, **k),
    "planted": lambda **k: generators.planted(200, 40, 12, **k),
    "geometric": lambda **k: generators.geometric(200, 0.1, **k),
    "delaunay": lambda **k: generators.delaunay(100, **k),
}
FIXED = {
    "path": lambda **k: generators.path(9, **k),
    "cycle": lambda **k: generators.cycle(9, **k),
    "star": lambda **k: generators.star(9, **k),
    "complete": lambda **k: generators.complete(9, **k),
    "tree": lambda **k: generators.tree(3, 3, **k),
    "grid": lambda **k: generators.grid(4, 5, **k),
}
ALL = SEEDED | FIXED


@pytest.mark.parametrize("directed", [False, True])
def test_planted_communities_hold_most_edges(directed):
    g = generators.planted(3000, [1000, 500, 800, 700], directed=directed, seed=5)
    assert np.bincount(g.vertex["community"]).tolist() == [1000, 500, 800, 700]
    src, dst, _ = g.to_edges()
    community = g.vertex["community"]
    assert (community[src] == community[dst]).mean() > 0.9
    assert g.out_degree.mean() > 40
    assert not (src == dst).any()
    # The numbers of vertices tell nothing.
    assert (np.abs(np.diff(community)) > 0).mean() > 0.5
    plain = generators.planted(1000, 300, permute=False)
    assert plain.vertex["community"].tolist() == [v // 300 for v in range(1000)]


def test_planted_communities_may_be_closed_or_nothing():
    g = generators.planted(200, 50, 10, inside=1.0, permute=False)
    src, dst, _ = g.to_edges()
    assert (src // 50 == dst // 50).all()
    assert generators.planted(0).num_vertices == 0
    assert generators.planted(3, 1, 4, inside=1.0).num_edges == 0


def pairs(g: weft.Graph) -> list[tuple[int, int]]:
    src, dst, _ = g.to_edges()
    return list(zip(src.tolist(), dst.tolist(), strict=True))


def unordered(edges) -> set[tuple[int, int]]:
    return {(min(e), max(e)) for e in edges}


@pytest.mark.parametrize(
    ("g", "other"),
    [
        (generators.path(7), nx.path_graph(7)),
        (generators.cycle(7), nx.cycle_graph(7)),
        (generators.star(7), nx.star_graph(6)),
        (generators.complete(7), nx.complete_graph(7)),
        (generators.tree(3, 3), nx.balanced_tree(3, 3)),
        (generators.tree(1, 4), nx.path_graph(5)),
    ],
)
def test_undirected_families_agree_with_networkx(g, other):
    assert not g.directed
    assert g.num_vertices == other.number_of_nodes()
    assert sorted(pairs(g)) == sorted(unordered(other.edges))


@pytest.mark.parametrize(
    ("g", "other"),
    [
        (generators.path(7, directed=True), nx.path_graph(7, nx.DiGraph)),
        (generators.cycle(7, directed=True), nx.cycle_graph(7, nx.DiGraph)),
        (generators.complete(5, directed=True), nx.complete_graph(5, nx.DiGraph)),
        (generators.tree(2, 3, directed=True), nx.balanced_tree(2, 3, nx.DiGraph)),
    ],
)
def test_directed_families_agree_with_networkx(g, other):
    assert g.directed
    assert sorted(pairs(g)) == sorted(other.edges)


@given(st.integers(0, 6), st.integers(0, 6))
def test_grid_agrees_with_networkx(rows, cols):
    g = generators.grid(rows, cols)
    other = nx.grid_2d_graph(rows, cols)
    expected = unordered((a * cols + b, c * cols + d) for (a, b), (c, d) in other.edges)
    assert g.num_vertices == rows * cols
    assert sorted(pairs(g)) == sorted(expected)
    assert pairs(generators.grid(rows, cols, directed=True)) == sorted(expected)


@pytest.mark.parametrize(
    "make", [generators.path, generators.cycle, generators.star, generators.complete]
)
@pytest.mark.parametrize("directed", [True, False])
def test_tiny_families(make, directed):
    for n in range(4):
        g = make(n, directed=directed)
        assert g.num_vertices == n
        ends = pairs(g)
        if make is not generators.cycle:
            assert len(set(ends)) == len(ends)
            assert all(u != v for u, v in ends)
    assert generators.cycle(3, directed=directed).num_edges == 3
    assert generators.tree(2, 0, directed=directed).num_vertices == 1


def test_road_is_a_grid_with_gaps():
    g = generators.road(60, 0.7, seed=3)
    full = generators.grid(60, 60)
    assert g.num_vertices == 3600
    assert set(pairs(g)) < set(pairs(full))
    assert abs(g.num_edges / full.num_edges - 0.7) < 0.03
    assert g.out_degree.max() <= 4
    assert pairs(generators.road(9, keep=1)) == pairs(generators.grid(9, 9))
    assert generators.road(9, keep=0).num_edges == 0
    assert generators.road(0).num_vertices == 0


def test_kron_is_simple_and_skewed():
    g = generators.kron(12, 16, seed=1)
    assert not g.directed
    assert g.num_vertices == 4096
    ends = pairs(g)
    assert len(set(ends)) == len(ends)
    assert all(u < v for u, v in ends)
    assert 0.6 * 16 * 4096 < g.num_edges < 16 * 4096
    assert g.out_degree.max() > 20 * g.out_degree.mean()
    # Numbered at random: the hubs are not the first vertices.
    assert g.out_degree[:64].sum() < 0.1 * g.out_degree.sum()


def test_rmat_quadrants():
    g = generators.rmat(
        12, 64, permute=False, directed=True, duplicates="keep", self_loops="keep", seed=2
    )
    src, dst, _ = g.to_edges()
    assert g.num_edges == 64 * 4096
    for level in range(12):
        low, right = (src >> level) & 1, (dst >> level) & 1
        shares = np.bincount(2 * low + right, minlength=4) / g.num_edges
        assert np.allclose(shares, [0.57, 0.19, 0.19, 0.05], atol=0.005)


def test_rmat_limits():
    assert generators.rmat(0, 4).num_vertices == 1
    assert generators.rmat(5, 0).num_edges == 0
    corner = generators.rmat(5, 4, 1, 0, 0, permute=False, self_loops="keep", directed=True)
    assert pairs(corner) == [(0, 0)]
    assert generators.rmat(6, 2.5, duplicates="keep", self_loops="keep").num_edges == 160


@pytest.mark.parametrize("directed", [True, False])
@given(n=st.integers(0, 12), data=st.data())
def test_erdos_renyi_has_exactly_m_simple_edges(directed, n, data):
    most = n * (n - 1) if directed else n * (n - 1) // 2
    m = data.draw(st.integers(0, most))
    g = generators.erdos_renyi(n, m=m, directed=directed, seed=data.draw(st.integers(0, 99)))
    ends = pairs(g)
    assert len(ends) == len(set(ends)) == m
    assert all(u != v for u, v in ends)
    assert g.num_vertices == n


@pytest.mark.parametrize("directed", [True, False])
def test_erdos_renyi_probability(directed):
    g = generators.erdos_renyi(1000, 0.02, directed=directed, seed=5)
    expected = 1000 * 999 * 0.02 / (1 if directed else 2)
    assert abs(g.num_edges / expected - 1) < 0.05
    assert generators.erdos_renyi(6, 1.0, directed=directed).num_edges == (30 if directed else 15)
    assert generators.erdos_renyi(6, 0.0, directed=directed).num_edges == 0


def test_distinct_numbers_are_uniform():
    rng = np.random.default_rng(0)
    hits = np.zeros(10)
    for _ in range(3000):
        hits[_distinct(rng, 3, 10)] += 1
    assert np.all(np.abs(hits / 900 - 1) < 0.15)


def test_powerlaw_tail():
    g = generators.powerlaw(20_000, 10, 2.5, seed=1)
    degree = np.sort(g.out_degree)[::-1].astype(float)
    assert 8 < degree.mean() < 10
    # The degree at rank i falls as i ** (-1 / (exponent - 1)).
    slope = np.polyfit(np.log(np.arange(20, 2000)), np.log(degree[20:2000]), 1)[0]
    assert abs(slope + 1 / 1.5) < 0.12
    steeper = generators.powerlaw(20_000, 10, 4.0, seed=1)
    assert steeper.out_degree.max() < g.out_degree.max() / 4
    directed = generators.powerlaw(2000, 10, directed=True, seed=1)
    assert abs(np.corrcoef(directed.out_degree, directed.in_degree)[0, 1]) < 0.2


@pytest.mark.parametrize("directed", [True, False])
@given(n=st.integers(0, 60), radius=st.floats(0, 2), seed=st.integers(0, 99))
def test_geometric_joins_all_near_points(directed, n, radius, seed):
    g = generators.geometric(n, radius, seed=seed, directed=directed, weights="length")
    points = g.vertex["position"]
    assert np.all((points >= 0) & (points < 1))
    u, v = np.triu_indices(n, 1)
    near = ((points[u] - points[v]) ** 2).sum(axis=1) <= radius * radius
    assert pairs(g) == list(zip(u[near].tolist(), v[near].tolist(), strict=True))
    lengths = np.hypot(*(points[u[near]] - points[v[near]]).T)
    assert np.allclose(g.edge["weight"], lengths)


def test_geometric_works_in_parts(monkeypatch):
    whole = pairs(generators.geometric(400, 0.1, seed=2))
    module = sys.modules["weft.generators.geometric"]  # the package has the function by that name
    monkeypatch.setattr(module, "_PAIRS", 7)
    assert pairs(generators.geometric(400, 0.1, seed=2)) == whole


def test_geometric_mean_degree():
    g = generators.geometric(20_000, 0.02, seed=4)
    assert abs(g.out_degree.mean() / (20_000 * np.pi * 0.02**2) - 1) < 0.05


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 500])
def test_delaunay_is_planar_and_connected(n):
    g = generators.delaunay(n, seed=n, weights="length")
    other = nx.Graph(pairs(g))
    other.add_nodes_from(range(n))
    assert g.num_vertices == n
    assert n == 0 or nx.is_connected(other)
    assert nx.check_planarity(other)[0]
    if n >= 3:
        # Euler: m = 3 n - 3 - h with h points on the hull.
        from scipy.spatial import ConvexHull

        assert g.num_edges == 3 * n - 3 - len(ConvexHull(g.vertex["position"]).vertices)
    assert pairs(generators.delaunay(n, seed=n, directed=True)) == pairs(g)


@pytest.mark.parametrize("name", SEEDED)
def test_seeds(name):
    make = SEEDED[name]
    assert pairs(make(seed=7)) == pairs(make(seed=7))
    assert pairs(make(seed=7)) != pairs(make(seed=8))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    ("weights", "dtype", "low", "high"),
    [
        ("int", np.int32, 1, 64),
        ("float", np.float32, 0, 1),
        ((3, 5), np.int32, 3, 5),
        ((-2.5, 2), np.float32, -2.5, 2),
        ((2**40, 2**40 + 3), np.int64, 2**40, 2**40 + 3),
    ],
)
def test_weights(name, weights, dtype, low, high):
    g = ALL[name](weights=weights, seed=3)
    weight = g.edge["weight"]
    assert weight.dtype == dtype
    assert weight.min() >= low
    assert weight.max() <= high if dtype != np.float32 else weight.max() < high
    assert np.array_equal(weight, ALL[name](weights=weights, seed=3).edge["weight"])
    assert pairs(g) == pairs(ALL[name](seed=3))
    assert not ALL[name]().weighted


def test_weights_are_the_same_both_ways():
    g = generators.complete(30, directed=True, weights="int")
    matrix = g.to_scipy().toarray()
    assert np.array_equal(matrix, matrix.T)
    once = generators.complete(30, weights="int").to_scipy().toarray()
    assert np.array_equal(matrix, once)
    assert not np.array_equal(
        once, generators.complete(30, weights="int", seed=1).to_scipy().toarray()
    )


def test_weights_are_spread_evenly():
    g = generators.complete(300, weights="int")
    counts = np.bincount(g.edge["weight"], minlength=65)[1:]
    assert np.all(np.abs(counts / counts.mean() - 1) < 0.25)
    unit = generators.complete(300, weights="float").edge["weight"]
    assert np.all(np.abs(np.histogram(unit, 10, (0, 1))[0] / (unit.size / 10) - 1) < 0.1)


def test_hash_tells_pairs_apart():
    u, v = np.triu_indices(400)
    assert np.unique(hash_pairs(u, v, 0)).size == u.size
    assert np.array_equal(hash_pairs(u, v, 1), hash_pairs(v, u, 1))


def test_float_weights_stay_below_the_end():
    src = np.arange(200_000)
    assert pair_weights(src, src + 1, (1.0, 1.0 + 2**-22), 0).max() < np.float32(1.0 + 2**-22)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: generators.rmat(-1), "scale=-1 is not possible. Expected an integer from 0 to 40"),
        (lambda: generators.rmat(2.5), "scale=2.5 is not possible"),
        (lambda: generators.rmat(3, -1), "edge_factor=-1 is not possible"),
        (lambda: generators.rmat(3, a=0.6, b=0.3, c=0.3), r"a \+ b \+ c = 1.2 is more than 1"),
        (lambda: generators.rmat(3, a="x"), "a='x' is not possible. Expected a number from 0 to 1"),
        (lambda: generators.kron(3, seed=-1), "seed=-1 is not possible"),
        (
            lambda: generators.kron(3, weights="double"),
            "weights='double' is not known. Expected None",
        ),
        (lambda: generators.path(3, weights=(5, 1)), r"weights=\(5, 1\) is not known.*low <= high"),
        (lambda: generators.path(3, weights=(0, np.inf)), "finite"),
        (lambda: generators.path(3, weights=(1, 2, 3)), "a pair"),
        (
            lambda: generators.road(5, 1.5),
            "keep=1.5 is not possible. Expected a number from 0 to 1",
        ),
        (lambda: generators.road(5, float("nan")), "keep=nan is not possible"),
        (lambda: generators.grid(True, 3), "rows=True is not possible"),
        (lambda: generators.erdos_renyi(5), "p=None and m=None were given. Expected exactly one"),
        (lambda: generators.erdos_renyi(5, 0.5, m=3), "Expected exactly one"),
        (
            lambda: generators.erdos_renyi(5, m=11),
            "m=11 is not possible. Expected an integer from 0 to 10",
        ),
        (lambda: generators.powerlaw(5, exponent=1.5), "exponent=1.5 is not possible"),
        (
            lambda: generators.tree(0, 3),
            "branching=0 is not possible. Expected an integer from 1 on",
        ),
        (lambda: generators.tree(10, 100), r"over 2\*\*40 vertices"),
        (lambda: generators.star(-1), "n=-1 is not possible"),
        (lambda: generators.geometric(5, -0.1), "radius=-0.1 is not possible"),
        (lambda: generators.geometric(5, 0.1, weights="long"), "weights='long' is not known"),
        (lambda: generators.delaunay(-1), "n=-1 is not possible"),
        (lambda: generators.planted(5, [2, 2]), "add up to 4, but there are 5 vertices"),
        (lambda: generators.planted(5, [5, 0]), r"community\[1\]=0 is not possible"),
        (lambda: generators.planted(5, 0), "community=0 is not possible"),
        (lambda: generators.planted(5, inside=1.5), "inside=1.5 is not possible"),
    ],
)
def test_wrong_parameters_are_explained(call, message):
    with pytest.raises(ConfigError, match=message):
        call()
