"""Breadth-first search against NetworkX."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from graphs import AWKWARD, graphs
from networks import edge_pairs, medium, multigraph, wide
from weft.errors import GraphError


def check(g, source, found):
    """Levels are shortest, and every parent is one level up over an edge that exists."""
    expected = np.full(g.num_vertices, -1)
    for v, level in nx.single_source_shortest_path_length(multigraph(g), source).items():
        expected[v] = level
    np.testing.assert_array_equal(found.level, expected)
    edges = set(edge_pairs(g))
    if not g.directed:
        edges |= {(v, u) for u, v in edges}
    for v, parent in enumerate(found.parent.tolist()):
        if v == source:
            assert parent == source
        elif expected[v] < 0:
            assert parent == -1
        else:
            assert expected[parent] == expected[v] - 1 and (parent, v) in edges


@pytest.mark.parametrize("name", [name for name in AWKWARD if not name.startswith("empty")])
def test_awkward_graphs(name):
    g = AWKWARD[name]()
    for source in {0, g.num_vertices // 2, g.num_vertices - 1}:
        check(g, source, weft.bfs(g, source))


@given(st.data())
@settings(max_examples=40)
def test_random_graphs(data):
    g = data.draw(graphs(min_vertices=1, index_dtype=None, weights=None))
    source = data.draw(st.integers(0, g.num_vertices - 1))
    check(g, source, weft.bfs(g, source))


@pytest.mark.parametrize("direction", ["auto", "push", "pull"])
@pytest.mark.parametrize("directed", [False, True])
def test_directions_on_several_threads(directed, direction):
    g = medium(directed)
    config = weft.Config(direction=direction, threads=3)
    check(g, 17, weft.bfs(g, 17, config=config))


def test_deterministic():
    g = medium(True)
    runs = [weft.bfs(g, 5, config=weft.Config(deterministic=True, threads=t)) for t in (1, 2, 4)]
    check(g, 5, runs[0])
    for run in runs[1:]:
        np.testing.assert_array_equal(run.parent, runs[0].parent)


def test_wide_ids():
    g = wide(AWKWARD["social"]())
    found = weft.bfs(g, 3)
    check(g, 3, found)
    assert found.parent.dtype == np.int64


def test_sources_are_checked():
    g = weft.generators.path(4)
    with pytest.raises(
        GraphError, match=r"source=4 does not exist in a graph of 4 vertices. Expec"
    ):
        weft.bfs(g, 4)
    with pytest.raises(GraphError, match=r"source='a' is not a vertex. Expected an integer"):
        weft.bfs(g, "a")
    with pytest.raises(GraphError, match="has no vertices"):
        weft.bfs(AWKWARD["empty"](), 0)
