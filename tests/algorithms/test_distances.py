"""Distances from many sources, closeness, eccentricities and limited searches against SciPy."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

import weft
from graphs import AWKWARD, graphs
from library import Case
from networks import simple_graph, values_of
from weft.errors import ConfigError, GraphError


def distances(g, weighted=False):
    """The distance from every vertex to every other; inf where there is no path."""
    n = g.num_vertices
    src, dst, weight = g.to_edges()
    values = np.ones(src.size) if weight is None or not weighted else weight.astype(float)
    if not g.directed:
        src, dst, values = np.r_[src, dst], np.r_[dst, src], np.r_[values, values]
    least = {}
    for u, v, w in zip(src.tolist(), dst.tolist(), values.tolist(), strict=True):
        least[u, v] = min(w, least.get((u, v), np.inf))
    if not least:
        found = np.full((n, n), np.inf)
    else:
        ends = np.array(list(least)).T
        # SciPy takes an explicit 0 of a sparse matrix as an edge of length 0.
        found = dijkstra(coo_array((list(least.values()), ends), shape=(n, n)).tocsr())
    np.fill_diagonal(found, 0)
    return found


def check_levels(g, found):
    n = g.num_vertices
    sources = some_sources(g)
    want = distances(g)[sources].T
    np.testing.assert_array_equal(found, np.where(np.isinf(want), -1, want))
    assert found.shape == (n, len(sources))


def some_sources(g):
    """All vertices, the last one first and twice."""
    return [g.num_vertices - 1, *range(g.num_vertices - 1, -1, -1)]


def check_closeness(g, found):
    expected = nx.closeness_centrality(simple_graph(g, directed=True))
    np.testing.assert_allclose(found, values_of(expected), rtol=1e-12)


def check_harmonic(g, found):
    expected = nx.harmonic_centrality(simple_graph(g, directed=True))
    np.testing.assert_allclose(found, values_of(expected), rtol=1e-12)


def check_eccentricity(g, found):
    far = distances(g)
    expected = np.where(np.isinf(far), -1, far).max(axis=1, initial=0)
    np.testing.assert_array_equal(found, expected)


def check_diameter(g, found):
    far = distances(g)
    assert isinstance(found, int) and found == far[np.isfinite(far)].max(initial=0)


CASES = {
    "multi_source_bfs": Case(
        lambda g, **options: weft.multi_source_bfs(g, some_sources(g), **options),
        check_levels,
        least=1,
    ),
    "closeness": Case(weft.closeness, check_closeness, least=1),
    "harmonic": Case(weft.harmonic, check_harmonic, least=1),
    "eccentricity": Case(weft.eccentricity, check_eccentricity),
    "diameter": Case(weft.diameter, check_diameter),
}


@pytest.mark.parametrize("directed", [True, False])
def test_samples_estimate(directed):
    g = weft.generators.rmat(6, 6, seed=2, directed=directed)
    n = g.num_vertices
    np.testing.assert_allclose(weft.closeness(g, n, seed=3), weft.closeness(g), rtol=1e-12)
    np.testing.assert_allclose(weft.harmonic(g, range(n)[:]), weft.harmonic(g), rtol=1e-12)
    far = distances(g)[[3, 5, 9]]
    near = np.where((far > 0) & np.isfinite(far), 1 / np.maximum(far, 1), 0).sum(axis=0)
    others = 3 - np.isin(np.arange(n), [3, 5, 9])
    np.testing.assert_allclose(weft.harmonic(g, [3, 5, 9]), near / others * (n - 1), rtol=1e-12)


@given(st.data())
@settings(max_examples=40)
def test_limited_searches(data):
    g = data.draw(graphs(min_vertices=1, index_dtype=None, weights="int"))
    vertices = st.integers(0, g.num_vertices - 1)
    sources = data.draw(st.lists(vertices, min_size=1, max_size=3))
    target, cutoff = data.draw(st.none() | vertices), data.draw(st.none() | st.integers(0, 9))
    for weighted, search in ((False, weft.bfs), (True, weft.sssp)):
        want = distances(g, weighted)[sources].min(axis=0)
        limit = np.inf if cutoff is None else cutoff
        if target is not None:
            limit = min(limit, want[target])
        found, parent = search(g, sources, target=target, cutoff=cutoff)
        near = np.isfinite(want) & (want <= limit)
        np.testing.assert_array_equal(found, np.where(near, want, -1))
        np.testing.assert_array_equal(parent >= 0, near)
        assert (parent[sources] == sources).all()


def test_limits_with_float_weights():
    g = AWKWARD["social"]()
    want = distances(g, weighted=True)[0]
    found = weft.sssp(g, 0, cutoff=0.5)
    np.testing.assert_allclose(found.dist, np.where(want <= 0.5, want, np.inf), rtol=1e-5)
    target = int(np.argsort(want)[20])
    found = weft.sssp(g, 0, target=target)
    assert found.dist[target] == weft.sssp(g, 0).dist[target] < np.inf
    assert np.isfinite(found.dist).sum() == (want <= want[target]).sum() < np.isfinite(want).sum()


def test_errors():
    g = weft.generators.path(4)
    with pytest.raises(GraphError, match=r"sources=\[\] is not a list of vertices. Expected one v"):
        weft.multi_source_bfs(g, [])
    with pytest.raises(GraphError, match="source=9 does not exist"):
        weft.bfs(g, [0, 9])
    with pytest.raises(GraphError, match="target=9 does not exist"):
        weft.sssp(g, 0, target=9)
    with pytest.raises(ConfigError, match="cutoff=-1 is not"):
        weft.sssp(g, 0, cutoff=-1)
    with pytest.raises(ConfigError, match=r"target= cannot be combined with warm_start="):
        weft.bfs(g, 0, target=2, warm_start=weft.bfs(g, 0), since=g)
    with pytest.raises(GraphError, match=r"the least weight is -2.0, so that paths beyond"):
        weft.sssp(AWKWARD["weights negative"](), 0, target=2)


@pytest.mark.parametrize("name", ["social", "road", "long path directed", "two cliques"])
def test_few_searches_give_a_lower_bound(name):
    g = AWKWARD[name]()
    exact = weft.diameter(g)
    found = [weft.diameter(g, searches) for searches in (1, 2, 8)]
    assert found[0] > 0 and max(found) <= exact <= 2 * max(found)
    assert found == sorted(found)
    with pytest.raises(ConfigError, match=r"searches=0"):
        weft.diameter(g, 0)


@pytest.mark.parametrize("sources", [range(64), range(63, -1, -1), [*range(70), 3], [5, 5, 1]])
def test_levels_from_many_sources(sources):
    g = weft.generators.grid(9, 8)
    found = weft.multi_source_bfs(g, list(sources))
    wanted = [weft.bfs(g, source).level for source in sources]
    np.testing.assert_array_equal(found, np.stack(wanted, axis=1))
