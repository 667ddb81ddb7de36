"""Label propagation against the definition, in plain Python."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from graphs import AWKWARD, graphs
from networks import edge_pairs, medium, wide
from weft.errors import ConfigError


def expected_labels(g, iterations):
    neighbors = [[] for _ in range(g.num_vertices)]
    for u, v in edge_pairs(g):
        neighbors[v].append(u)
        if g.directed or u != v:
            neighbors[u].append(v)
    labels = list(range(g.num_vertices))
    for _ in range(iterations):
        counts = [Counter(labels[u] for u in row) for row in neighbors]
        labels = [
            min(count, key=lambda x, count=count: (-count[x], x)) if count else own
            for count, own in zip(counts, labels, strict=True)
        ]
    return labels


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_graphs(name):
    g = AWKWARD[name]()
    for iterations in (0, 1, 10):
        assert weft.label_propagation(g, iterations).tolist() == expected_labels(g, iterations)


@given(graphs(index_dtype=None, weights=None), st.integers(0, 6))
@settings(max_examples=60)
def test_random_graphs(g, iterations):
    assert weft.label_propagation(g, iterations).tolist() == expected_labels(g, iterations)


@pytest.mark.parametrize("directed", [False, True])
def test_several_threads(directed):
    g = medium(directed)
    found = weft.label_propagation(g, 5, config=weft.Config(threads=3))
    assert found.tolist() == expected_labels(g, 5)


def test_wide_ids():
    g = wide(AWKWARD["social"]())
    found = weft.label_propagation(g, 3)
    assert found.dtype == np.int64
    assert found.tolist() == expected_labels(g, 3)


@pytest.mark.parametrize("iterations", [-1, 2.5, True])
def test_errors(iterations):
    with pytest.raises(ConfigError, match="iterations="):
        weft.label_propagation(weft.generators.path(3), iterations)
