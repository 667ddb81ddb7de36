"""Flows and matchings of bipartite graphs against SciPy and NetworkX."""

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

import weft
from graphs import AWKWARD
from library import Case
from networks import edge_pairs
from weft.errors import ConfigError, GraphError

BAD = ("weights negative", "weights infinite")


def cover(g):
    """The bipartite graph in which every edge runs from one copy of the vertices to another."""
    src, dst, weight = g.to_edges()
    n = g.num_vertices
    return weft.Graph.from_edges(
        src, dst + n, weight, num_vertices=2 * n, directed=False, device=g.device
    )


def pairs_of(found, n):
    """The matched pairs, after checking that they are mutual."""
    for v, mate in enumerate(found.tolist()):
        assert mate < 0 or (found[mate] == v and (v < n) != (mate < n))
    return [(v, int(found[v]) - n) for v in range(n) if found[v] >= 0]


def check_matching(g, found):
    n, edges = g.num_vertices, set(edge_pairs(g))
    pairs = pairs_of(found, n)
    assert set(pairs) <= edges
    src, dst = np.array(sorted(edges), np.int64).reshape(-1, 2).T
    matrix = csr_array((np.ones(src.size), (src, dst)), shape=(n, n))
    most = (maximum_bipartite_matching(matrix) >= 0).sum() if src.size else 0
    assert len(pairs) == most


def check_auction(g, found):
    n, weight = g.num_vertices, g.to_edges().weight
    value = np.full((n, n), -1.0)
    values = np.ones(g.num_edges) if weight is None else weight.astype(float)
    for (u, v), w in zip(edge_pairs(g), values.tolist(), strict=True):
        value[u, v] = max(value[u, v], w)
    pairs = pairs_of(found, n)
    total = sum(value[u, v] for u, v in pairs)
    assert all(value[u, v] >= 0 for u, v in pairs)
    possible = np.maximum(value, 0)
    best = possible[linear_sum_assignment(possible, maximize=True)].sum()
    epsilon = values.max(initial=0) / 100
    assert best - epsilon * n - 1e-9 <= total <= best + 1e-9


def ends_of(g):
    return 0, g.num_vertices - 1


def check_flow(g, found):
    weight = g.to_edges().weight
    capacity = np.ones(g.num_edges) if weight is None else weight
    flow, side, (source, target) = found.flow, found.source_side, ends_of(g)
    low = 0 if g.directed else -capacity
    assert (low <= flow).all() and (flow <= capacity).all()
    src, dst, _ = g.to_edges()
    balance = np.zeros(g.num_vertices)
    np.add.at(balance, src, -flow.astype(float))
    np.add.at(balance, dst, flow)
    inner = np.ones(g.num_vertices, bool)
    inner[[source, target]] = False
    np.testing.assert_allclose(balance[inner], 0, atol=1e-9)
    assert balance[target] == pytest.approx(found.value, abs=1e-9)
    assert side[source] and not side[target]
    leaves = side[src] & ~side[dst]
    if not g.directed:
        leaves |= side[dst] & ~side[src]
    assert capacity[leaves].sum() == pytest.approx(found.value, abs=1e-9)


CASES = {
    "bipartite_matching": Case(
        lambda g, **options: weft.bipartite_matching(cover(g), **options), check_matching
    ),
    "auction_matching": Case(
        lambda g, **options: weft.auction_matching(cover(g), **options),
        check_auction,
        "int",
        avoid=BAD,
    ),
    "maximum_flow": Case(
        lambda g, **options: weft.maximum_flow(g, *ends_of(g), **options),
        check_flow,
        "int",
        least=2,
        avoid=BAD,
    ),
}


def test_a_flow_of_integers_is_that_of_networkx():
    g = AWKWARD["social undirected"]()
    graph = nx.Graph()
    for (u, v), w in zip(edge_pairs(g), g.edge["weight"].tolist(), strict=True):
        graph.add_edge(u, v, capacity=w)
    source, target = np.argsort(g.out_degree)[-2:].tolist()
    found = weft.maximum_flow(g, source, target)
    assert isinstance(found.value, int) and found.flow.dtype == np.int64
    assert found.value == nx.maximum_flow_value(graph, source, target)


def test_auctions_of_integers_can_be_exact():
    rng = np.random.default_rng(2)
    weight = rng.integers(1, 10, (8, 8))
    u, v = np.indices(weight.shape).reshape(2, -1)
    g = weft.Graph.from_edges(u, v + 8, weight.ravel(), directed=False)
    found = weft.auction_matching(g.to("reference"), 1 / 17)
    total = sum(weight[a, b] for a, b in pairs_of(found, 8))
    assert total == weight[linear_sum_assignment(weight, maximize=True)].sum()


def test_long_paths_are_augmented():
    """A greedy matching may take every second edge; the largest one takes the others."""
    g = weft.generators.path(60).to("reference")
    for seed in range(3):
        assert (weft.bipartite_matching(g, seed=seed) >= 0).all()


def test_arguments_are_checked():
    g = weft.generators.cycle(3)
    for name in ("bipartite_matching", "auction_matching"):
        with pytest.raises(GraphError, match=r"not bipartite"):
            getattr(weft, name)(g)
    with pytest.raises(ConfigError, match=r"epsilon=0 is not possible"):
        weft.auction_matching(g, 0)
    with pytest.raises(GraphError, match=r"source and target are both 1"):
        weft.maximum_flow(g, 1, 1)
    with pytest.raises(GraphError, match=r"target=9 does not exist"):
        weft.maximum_flow(g, 1, 9)
    bad = AWKWARD["weights negative"]()
    with pytest.raises(GraphError, match=r"Expected finite weights from 0 on for capacities"):
        weft.maximum_flow(bad, 0, 1)
