"""Betweenness centrality against NetworkX."""

import random
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

import weft
from graphs import AWKWARD, graphs
from networks import medium, simple_graph, values_of, wide
from weft.errors import GraphError


def check(g, found, **options):
    assert found.shape == (g.num_vertices,)
    if g.num_vertices:
        expected = nx.betweenness_centrality(simple_graph(g, directed=True), **options)
        np.testing.assert_allclose(found, values_of(expected), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_graphs(name):
    g = AWKWARD[name]()
    if g.num_vertices > 100:
        sources = random.Random(4).sample(range(g.num_vertices), 10)
        check(g, weft.betweenness(g, sources), k=10, seed=4)
    else:
        check(g, weft.betweenness(g))


@given(graphs(index_dtype=None, weights=None))
@settings(max_examples=40)
def test_random_graphs(g):
    check(g, weft.betweenness(g))


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("directed", [False, True])
def test_scale(directed, normalized):
    g = weft.generators.rmat(5, 3, seed=2, directed=directed)
    check(g, weft.betweenness(g, normalized=normalized), normalized=normalized)
    sources = random.Random(7).sample(range(32), 6)
    found = weft.betweenness(g, sources, normalized)
    check(g, found, k=6, normalized=normalized, seed=7)


def test_only_source():
    found = weft.betweenness(weft.generators.path(4), [1])
    assert np.isnan(found[1]) and np.all(np.isfinite(found[[0, 2, 3]]))


@pytest.mark.parametrize("directed", [False, True])
def test_several_threads(directed):
    g = medium(directed)
    sources = random.Random(1).sample(range(g.num_vertices), 3)
    found = weft.betweenness(g, sources, config=weft.Config(threads=3))
    check(g, found, k=3, seed=1)


@pytest.mark.parametrize("direction", ["push", "pull"])
def test_directions(direction):
    g = AWKWARD["social"]()
    found = weft.betweenness(g, [3, 1, 4], config=weft.Config(direction=direction))
    np.testing.assert_allclose(found, weft.betweenness(g, [1, 3, 4]), rtol=1e-9, atol=1e-12)


def test_sample():
    g = AWKWARD["road"]()
    first, again, other = (weft.betweenness(g, 5, seed=s) for s in (1, 1, 2))
    np.testing.assert_allclose(first, again, rtol=1e-9, atol=1e-12)
    assert not np.allclose(first, other)
    np.testing.assert_allclose(
        weft.betweenness(g, g.num_vertices, seed=3), weft.betweenness(g), rtol=1e-9, atol=1e-12
    )


def test_only_in_edges_stored():
    src, dst, _ = AWKWARD["social"]().to_edges()
    g = weft.Graph.from_edges(src, dst, keep="in")
    both = weft.Graph.from_edges(src, dst)
    np.testing.assert_allclose(weft.betweenness(g), weft.betweenness(both), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("keep", ["in", "out"])
def test_some_sources_with_one_direction_stored(keep):
    path = weft.Graph.from_edges([0, 1], [1, 2], keep=keep)
    assert weft.betweenness(path, [0], normalized=False)[1] == 2
    src, dst, _ = AWKWARD["social"]().to_edges()
    g, both = (weft.Graph.from_edges(src, dst, keep=k) for k in (keep, "both"))
    np.testing.assert_allclose(
        weft.betweenness(g, [1, 2, 5]), weft.betweenness(both, [1, 2, 5]), rtol=1e-9, atol=1e-12
    )


def exact_dependencies(src, dst, n, sources):
    """Brandes' algorithm with whole numbers and fractions, along the edges given."""
    out = [[] for _ in range(n)]
    for u, v in zip(src, dst, strict=True):
        out[u].append(v)
    total = [Fraction(0)] * n
    for source in sources:
        level, paths, order = {source: 0}, {source: 1}, [source]
        for u in order:
            for v in out[u]:
                if v not in level:
                    level[v], paths[v] = level[u] + 1, 0
                    order.append(v)
                if level[v] == level[u] + 1:
                    paths[v] += paths[u]
        share = {}
        for u in reversed(order):
            beyond = sum(share[v] for v in out[u] if level[v] == level[u] + 1)
            share[u] = Fraction(1, paths[u]) + beyond
            total[u] += paths[u] * beyond if u != source else 0
    return np.array([float(x) for x in total])


def layers(*widths):
    """Edges between all vertices of one layer and all of the next."""
    ends = np.cumsum((0, *widths))
    parts = [
        np.stack(np.meshgrid(np.arange(a, b), np.arange(b, c))).reshape(2, -1)
        for a, b, c in zip(ends, ends[1:], ends[2:], strict=False)
    ]
    return np.concatenate(parts, axis=1)


def mixed():
    """A single path and a mesh with 2**1040 paths side by side, which meet and part again."""
    width, depth = 16, 260
    mesh = layers(1, *[width] * depth)
    last = 1 + width * depth
    path = last + np.arange(depth)
    end = path[-1]
    meeting, after = end + 1, end + 2
    lower = np.arange(last - width, last)
    edges = [
        mesh,
        np.stack([np.r_[0, path[:-1]], path]),
        np.stack([np.r_[lower, end], np.full(width + 1, meeting)]),
        [[meeting, end, end + 3, lower[0]], [after, end + 3, end + 4, end + 3]],
    ]
    return np.concatenate(edges, axis=1)


def hub():
    """The same with a source that has more leaves than any other vertex has neighbours."""
    edges = mixed()
    leaves = edges.max() + 1 + np.arange(40)
    return np.concatenate([edges, [np.zeros_like(leaves), leaves]], axis=1)


COUNTLESS = {
    "diamonds": lambda: layers(1, *[2, 1] * 1030),
    "mesh": lambda: layers(1, *[8] * 345, 3, 1),
    "mixed": mixed,
    "hub": hub,
}


@pytest.mark.parametrize(
    ("name", "device"),
    [*((name, "cpu") for name in COUNTLESS), ("mesh", "emulated"), ("mixed", "emulated")],
)
def test_more_paths_than_floats_count(name, device):
    src, dst = COUNTLESS[name]()
    n = int(max(src.max(), dst.max())) + 1
    g = weft.Graph.from_edges(src, dst).to(device)
    sources = [0, 3]
    expected = exact_dependencies(src.tolist(), dst.tolist(), n, sources)
    others = 2 - np.isin(np.arange(n), sources)
    found = weft.betweenness(g, sources, normalized=False) / (n - 1) * others
    np.testing.assert_allclose(found, expected, rtol=1e-11)


@pytest.mark.parametrize("keep", ["in", "out"])
def test_more_paths_than_floats_count_with_one_direction_stored(keep):
    edges = COUNTLESS["mixed"]()
    both, g = (weft.Graph.from_edges(*edges, keep=k) for k in ("both", keep))
    np.testing.assert_allclose(
        weft.betweenness(g, [0, 7]), weft.betweenness(both, [0, 7]), rtol=1e-12
    )


def test_undirected_diamonds():
    src, dst = COUNTLESS["diamonds"]()
    g = weft.Graph.from_edges(src, dst, directed=False)
    sources = [0, 1500, 3090]
    expected = exact_dependencies(
        np.r_[src, dst].tolist(), np.r_[dst, src].tolist(), g.num_vertices, sources
    )
    others = 3 - np.isin(np.arange(g.num_vertices), sources)
    found = weft.betweenness(g, sources, normalized=False) * 2 / (g.num_vertices - 1) * others
    np.testing.assert_allclose(found, expected, rtol=1e-11)


def test_wide_and_narrow_levels_by_turns():
    """A GPU replays narrow levels by one cluster, and the others by all blocks."""
    src, dst = layers(*[1] * 8, 600, 1, 1, 40, 2, 600, *[1] * 5)
    g = weft.Graph.from_edges(src, dst, directed=False)
    found = weft.betweenness(g.to("emulated"), [0, 700])
    np.testing.assert_allclose(found, weft.betweenness(g, [0, 700]), rtol=1e-9, atol=1e-12)


def test_wide_ids():
    g = wide(AWKWARD["disconnected"]())
    check(g, weft.betweenness(g))


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        (0, r"sources=0 is not the size of a sample. Expected 1 to 4"),
        (5, r"sources=5 is not the size of a sample"),
        ([4], r"source=4 does not exist"),
        ([-1, 2], r"source=-1 does not exist"),
        ([], r"is not a list of vertices"),
        ([0.5], r"is not a list of vertices. Expected one integer at least"),
    ],
)
def test_errors(sources, message):
    with pytest.raises(GraphError, match=message):
        weft.betweenness(weft.generators.path(4), sources)
