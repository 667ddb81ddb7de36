"""Lookups around vertices: neighbours, edges between two vertices, samples, degrees, paths."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from graphs import graphs
from weft.errors import ConfigError, GraphError


def counts(g):
    """Return the number of arcs from every vertex to every other."""
    src, dst, _ = g.to_edges()
    table = np.zeros((g.num_vertices, g.num_vertices), int)
    np.add.at(table, (src, dst), 1)
    return table if g.directed else table + table.T - np.diag(np.diag(table))


@given(graphs(keep=None))
def test_neighbors_degrees_and_edges_are_those_of_the_adjacency_matrix(g):
    table = counts(g)
    vertices = np.arange(g.num_vertices)
    sides = {"out": table, "in": table.T, "both": table + table.T if g.directed else table}
    for direction, rows in sides.items():
        for v in vertices:
            assert g.neighbors(v, direction).tolist() == np.repeat(vertices, rows[v]).tolist()
    first, second = np.indices(table.shape)
    assert (g.has_edge(first, second) == (table > 0)).all()
    assert g.degree.tolist() == sides["both"].sum(axis=1).tolist()
    assert len(g) == g.num_vertices
    assert bool(g)


@given(graphs(), st.integers(1, 4), st.booleans(), st.integers(0, 9))
def test_samples_are_neighbors(g, k, replace, seed):
    table = counts(g)
    found = g.sample_neighbors(range(g.num_vertices), k, replace=replace, seed=seed)
    assert found.shape == (g.num_vertices, k)
    for row, possible in zip(found, table, strict=True):
        drawn = Counter(row[row >= 0].tolist())
        degree = int(possible.sum())
        assert sum(drawn.values()) == (k * (degree > 0) if replace else min(k, degree))
        assert all(possible[w] >= (1 if replace else times) for w, times in drawn.items())
    again = g.sample_neighbors(range(g.num_vertices), k, replace=replace, seed=seed)
    assert (again == found).all()


@pytest.mark.parametrize("replace", [False, True])
def test_every_neighbor_is_as_likely(replace):
    g = weft.Graph.from_edges(np.zeros(6, int), np.arange(1, 7))
    drawn = [g.sample_neighbors([0], 3, replace=replace, seed=seed)[0] for seed in range(4000)]
    share = np.bincount(np.concatenate(drawn), minlength=7)[1:] / 12000
    assert np.abs(share - 1 / 6).max() < 0.02


def test_samples_follow_the_direction():
    g = weft.Graph.from_edges(["a", "b"], ["c", "c"])
    found = g.sample_neighbors(["c", "a"], 3, direction="in")
    assert sorted(found[0].tolist()) == [-1, 0, 1]
    assert found[1].tolist() == [-1, -1, -1]


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda g: g.neighbors("x"), GraphError, "'x' is not the label of a vertex"),
        (lambda g: g.neighbors(["a", "b"]), GraphError, "is not one vertex"),
        (lambda g: g.neighbors("a", "up"), GraphError, "direction='up' is not known"),
        (lambda g: g.has_edge("a", "x"), GraphError, "'x' is not the label"),
        (lambda g: g.has_edge([0, 1], [0, 1, 2]), GraphError, "as many, or one of either"),
        (lambda g: g.sample_neighbors(["a"], 0), ConfigError, "k=0 is not possible"),
        (lambda g: g.sample_neighbors(["a"], 1, seed=-1), ConfigError, "seed=-1"),
        (lambda g: g.sample_neighbors(["a"], 1, direction="both"), GraphError, "'out' or 'in'"),
    ],
)
def test_wrong_arguments_are_named(call, kind, words):
    with pytest.raises(kind, match=words):
        call(weft.Graph.from_edges(["a", "b"], ["b", "c"]))


@given(graphs(), st.data())
def test_paths_follow_the_parents(g, data):
    if not g.num_vertices:
        return
    source = data.draw(st.integers(0, g.num_vertices - 1))
    found = weft.bfs(g, source)
    for target in range(g.num_vertices):
        path = weft.path(found, target)
        assert len(path) == found.level[target] + 1
        if len(path):
            assert path[0] == source
            assert path[-1] == target
            assert g.has_edge(path[:-1], path[1:]).all()


def test_paths_by_labels():
    g = weft.Graph.from_edges(["a", "b", "x"], ["b", "c", "y"])
    assert weft.path(weft.bfs(g, "a"), "c", g).tolist() == ["a", "b", "c"]
    assert weft.path(weft.bfs(g, "a"), "y", g).tolist() == []
    for target, given_graph, words in (
        ("c", None, "pass the graph too"), (9, None, "a number from 0 to 4"),
        (0, weft.generators.path(3), "has 5 vertices, but the graph 3"),
    ):  # fmt: skip
        with pytest.raises(GraphError, match=words):
            weft.path(weft.bfs(g, "a"), target, given_graph)
    with pytest.raises(GraphError, match="has no parents"):
        weft.path(weft.pagerank(g), 0)


def test_parents_that_form_a_cycle_are_refused():
    wrong = weft.bfs(weft.generators.path(3), 0)._replace(parent=np.array([1, 2, 0]))
    with pytest.raises(GraphError, match="lead to"):
        weft.path(wrong, 0)
