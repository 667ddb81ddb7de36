"""Local PageRank against a linear solver, and sweeps against all beginnings of the order."""

import numpy as np
import pytest

import weft
from graphs import AWKWARD
from library import Case
from weft.errors import ConfigError, GraphError

BAD = ("weights negative", "weights infinite")
ALPHA, EPSILON = 0.2, 1e-3


def matrix_of(g, weighted):
    """The weights of all arcs, parallel ones added up."""
    dense = np.zeros((g.num_vertices,) * 2)
    src, dst, weight = g.to_edges()
    values = np.ones(src.size) if weight is None or not weighted else weight.astype(float)
    np.add.at(dense, (src, dst), values)
    proper = src != dst
    np.add.at(dense, (dst[proper], src[proper]), values[proper])
    return dense


def seeds_of(g):
    return sorted({0, g.num_vertices // 2})


def exact(g, weighted):
    """The ranks of a walk, and the total weight at every vertex."""
    n, arcs = g.num_vertices, matrix_of(g, weighted)
    strength = arcs.sum(axis=1)
    arcs[strength == 0] = np.eye(n)[strength == 0]
    step = arcs / arcs.sum(axis=1, keepdims=True)
    home = np.zeros(n)
    home[seeds_of(g)] = 1 / len(seeds_of(g))
    jump = 2 * ALPHA / (1 + ALPHA)
    return np.linalg.solve(np.eye(n) - (1 - jump) * step.T, jump * home), strength


def check_rank(weighted):
    def check(g, found):
        want, strength = exact(g, weighted)
        lacking = want - found
        assert (lacking >= -1e-12).all() and (lacking <= EPSILON * strength + 1e-12).all()

    return check


def check_cut(g, found):
    score = np.arange(g.num_vertices) * 7 % 11
    arcs = matrix_of(g, True)
    loops = np.diag(arcs)
    volume = arcs.sum(axis=1) + loops
    order = sorted(np.flatnonzero((score > 0) & (volume > 0)), key=lambda v: -score[v] / volume[v])
    best, least = [], 1.0
    for size in range(1, len(order) + 1):
        inside = np.isin(np.arange(g.num_vertices), order[:size])
        by = min(volume[inside].sum(), volume[~inside].sum())
        value = arcs[inside][:, ~inside].sum() / by if by > 0 else 1.0
        if value < least - 1e-12:
            best, least = order[:size], value
    assert found.conductance == pytest.approx(least, rel=1e-9)
    assert found.vertices.tolist() == best


CASES = {
    f"local_pagerank{'_weighted' * weighted}": Case(
        lambda g, weighted=weighted, **options: weft.local_pagerank(
            g, seeds_of(g), ALPHA, EPSILON, weighted=weighted, **options
        ),
        check_rank(weighted),
        "int",
        False,
        least=1,
        avoid=BAD,
    )
    for weighted in (False, True)
}
CASES |= {
    "sweep_cut": Case(
        lambda g, **options: weft.sweep_cut(
            g, g.topology.xp.arange(g.num_vertices) * 7 % 11, weighted=True, **options
        ),
        check_cut,
        "float",
        False,
        avoid=BAD,
    ),
}


def test_the_community_of_a_clique():
    g = AWKWARD["two cliques"]()
    found = weft.local_community(g, [8, 9])
    assert sorted(found.vertices.tolist()) == list(range(6, 12))
    inside = np.isin(np.arange(12), found.vertices)
    assert weft.conductance(g, inside)[1] == pytest.approx(found.conductance)


def test_far_vertices_are_not_looked_at():
    rank = weft.local_pagerank(weft.generators.path(100_000), 50_000, epsilon=1e-4)
    assert 0 < np.count_nonzero(rank) < 100


def test_arguments_are_checked():
    g = weft.generators.path(4)
    for options in ({"alpha": 0}, {"alpha": 1}, {"epsilon": 0}, {"epsilon": np.nan}):
        with pytest.raises(ConfigError, match=r"is not possible. Expected a number above 0"):
            weft.local_pagerank(g, 0, **options)
    with pytest.raises(GraphError, match=r"the graph is directed"):
        weft.local_pagerank(AWKWARD["social"](), 0)
    with pytest.raises(GraphError, match=r"scores have the shape \(3,\). Expected"):
        weft.sweep_cut(g, [1, 2, 3])
