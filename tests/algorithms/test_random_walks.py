"""Random walks: every step is an edge, and steps are as frequent as they should be."""

import itertools

import numpy as np
import pytest
from scipy.stats import chisquare

import weft
from graphs import AWKWARD
from library import Case
from networks import edge_pairs
from weft.errors import ConfigError, GraphError

LENGTH = 5


def sources(g):
    """More walks than vertices."""
    return np.arange(2 * g.num_vertices) % g.num_vertices


def check(g, found, weighted=False):
    edges = set(edge_pairs(g))
    edges |= set() if g.directed else {(v, u) for u, v in edges}
    if weighted and g.weighted:
        weight = g.to_edges().weight.tolist()
        heavy = {pair for pair, w in zip(edge_pairs(g), weight, strict=True) if w > 0}
        edges = heavy if g.directed else heavy | {(v, u) for u, v in heavy}
    leads_on = {u for u, _ in edges}
    assert found.shape == (2 * g.num_vertices, LENGTH + 1)
    np.testing.assert_array_equal(found[:, 0], sources(g))
    for walk in found.tolist():
        for u, v in itertools.pairwise(walk):
            assert (u, v) in edges if v >= 0 else u not in leads_on


CASES = {
    "random_walks": Case(
        lambda g, **options: weft.random_walks(g, sources(g), LENGTH, **options), check, least=1
    ),
    "weighted_walks": Case(
        lambda g, **options: weft.random_walks(g, sources(g), LENGTH, weighted=True, **options),
        lambda g, found: check(g, found, weighted=True),
        "float",
        least=1,
        avoid=("weights negative", "weights infinite"),
    ),
    "node2vec_walks": Case(
        lambda g, **options: weft.node2vec_walks(g, sources(g), LENGTH, 0.5, 4.0, **options),
        check,
        least=1,
    ),
}


def small():
    """A graph whose vertex 1 has neighbours at all distances from 0."""
    return weft.Graph.from_edges(
        [0, 0, 1, 1, 1], [1, 2, 2, 3, 4], [1.0, 2.0, 3.0, 0.5, 0.0], directed=False
    )


def frequencies(walks, before, here):
    """How often walks that came from one vertex over another went on to each."""
    took = walks[(walks[:, 0] == before) & (walks[:, 1] == here)]
    return np.bincount(took[:, 2], minlength=5)


@pytest.mark.parametrize(
    ("options", "share"),
    [
        ({}, [1, 0, 1, 1, 1]),
        ({"weighted": True}, [1, 0, 3, 0.5, 0]),
        ({"p": 4.0, "q": 0.5}, [1 / 4, 0, 1, 2, 2]),
        ({"p": 0.25, "q": 2.0, "weighted": True}, [4, 0, 3, 0.25, 0]),
    ],
)
def test_steps_are_as_frequent_as_they_should_be(options, share):
    walk = weft.node2vec_walks if "p" in options else weft.random_walks
    walks = walk(small(), np.zeros(20_000, int), 2, seed=5, **options)
    found, share = frequencies(walks, 0, 1), np.array(share)
    assert found[share == 0].sum() == 0
    some = share > 0
    assert chisquare(found[some], share[some] / share.sum() * found.sum()).pvalue > 1e-4


def test_the_seed_chooses_the_walks_on_every_device():
    g = AWKWARD["social undirected"]()
    first = weft.random_walks(g, length=6, seed=1)
    np.testing.assert_array_equal(first, weft.random_walks(g, length=6, seed=1))
    assert not np.array_equal(first, weft.random_walks(g, length=6, seed=2))
    one = weft.Config(threads=1)
    np.testing.assert_array_equal(first, weft.random_walks(g, length=6, seed=1, config=one))
    np.testing.assert_array_equal(first, weft.random_walks(g.to("emulated"), length=6, seed=1))


def test_errors():
    g = weft.generators.path(3)
    assert weft.random_walks(g, [1], 0).tolist() == [[1]]
    with pytest.raises(ConfigError, match=r"p=0 is not possible. Expected a number > 0"):
        weft.node2vec_walks(g, p=0)
    with pytest.raises(ConfigError, match=r"length=-1"):
        weft.random_walks(g, length=-1)
    with pytest.raises(GraphError, match=r"source=7 does not exist"):
        weft.random_walks(g, [7])
    with pytest.raises(GraphError, match=r"Expected finite weights from 0 on for random walks"):
        weft.random_walks(AWKWARD["weights negative"](), weighted=True)
