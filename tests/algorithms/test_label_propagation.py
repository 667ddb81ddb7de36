"""Label propagation against the definition, in plain Python."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from graphs import AWKWARD, graphs
from library import Case
from networks import edge_pairs, medium, wide
from weft.errors import ConfigError, GraphError


def weights_around(g, weighted=False):
    """For each vertex its neighbours, and what each counts."""
    weight = g.to_edges().weight if weighted else None
    values = [1] * g.num_edges if weight is None else weight.tolist()
    around = [[] for _ in range(g.num_vertices)]
    for (u, v), value in zip(edge_pairs(g), values, strict=True):
        around[v].append((u, value))
        if g.directed or u != v:
            around[u].append((v, value))
    return around


def counted(labels, row):
    count = Counter()
    for u, value in row:
        count[labels[u]] += value
    return count


def expected_labels(g, iterations, weighted=False):
    around, labels, before = weights_around(g, weighted), list(range(g.num_vertices)), None
    turn = 0
    while iterations is None or turn < iterations:
        counts = [counted(labels, row) for row in around]
        new = [
            min(count, key=lambda x, count=count: (-count[x], x)) if count else own
            for count, own in zip(counts, labels, strict=True)
        ]
        ends = iterations is None and new in (labels, before)
        before, labels, turn = labels, new, turn + 1
        if ends:
            break
    return labels


def expected_by_class(g, weighted=False):
    """Labels of a sequential pass over the classes of a colouring, repeated to the end."""
    around, labels = weights_around(g, weighted), list(range(g.num_vertices))
    color = weft.color(g).tolist()
    order = sorted(range(g.num_vertices), key=lambda v: color[v])
    changed = True
    while changed:
        changed = False
        for v in order:
            count = counted(labels, around[v])
            most = max(count.values(), default=0)
            if count and count[labels[v]] < most:
                labels[v], changed = max(x for x in count if count[x] == most), True
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


def check(kind):
    def compare(g, found):
        weighted = kind.endswith("weighted")
        judge = expected_by_class if kind.startswith("asynchronous") else expected_labels
        options = {} if judge is expected_by_class else {"iterations": None}
        assert found.tolist() == judge(g, weighted=weighted, **options)

    return compare


BAD = ("weights negative", "weights infinite")
CASES = {
    "labels_to_the_end_weighted": Case(
        lambda g, **options: weft.label_propagation(g, None, weighted=True, **options),
        check("synchronous weighted"),
        "int",
        False,
        avoid=BAD,
    ),
    "asynchronous_labels_weighted": Case(
        lambda g, **options: weft.label_propagation(
            g, None, method="asynchronous", weighted=True, **options
        ),
        check("asynchronous weighted"),
        "float",
        False,
        avoid=BAD,
    ),
}


@pytest.mark.parametrize("device", ["cpu", "emulated"])
@pytest.mark.parametrize("seed", range(3))
def test_few_new_labels_are_followed_to_the_end(seed, device):
    for g in (
        weft.generators.road(12 + seed, seed=seed),
        weft.generators.rmat(6, 1.5 + seed, seed=seed),
        weft.generators.path(20 + seed),
    ):
        found = weft.label_propagation(g.to(device), None)
        assert found.tolist() == expected_labels(g, None)


def test_rounds_of_classes_are_limited():
    g = AWKWARD["social undirected"]()
    for iterations in (0, 1):
        found = weft.label_propagation(g, iterations, method="asynchronous")
        assert (found.tolist() == list(range(g.num_vertices))) == (iterations == 0)
    found = weft.label_propagation(g, None, method="asynchronous")
    assert found.tolist() == expected_by_class(g)


def test_unknown_methods_and_bad_weights():
    g = AWKWARD["weights negative"]()
    with pytest.raises(ConfigError, match=r"method='greedy' is not known. Expected one of"):
        weft.label_propagation(g, method="greedy")
    with pytest.raises(GraphError, match="Expected finite weights from 0 on for label propagation"):
        weft.label_propagation(g, weighted=True)


@pytest.mark.parametrize("iterations", [-1, 2.5, True])
def test_errors(iterations):
    with pytest.raises(ConfigError, match="iterations="):
        weft.label_propagation(weft.generators.path(3), iterations)
