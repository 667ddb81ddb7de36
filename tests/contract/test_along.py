"""Edge functions that see arcs as if they ran from the destination to the source."""

import networkx as nx
import numpy as np
import pytest

import weft
from agreement import agreed, on_device, placed
from weft.errors import ConfigError, TraceError


@weft.edge(into=("near", "total"), reduce=(weft.min, weft.sum), on="all", along="in")
def against(u, v, e):
    """Send what depends on both ends, the arc and its place."""
    e.seen = u.id * 100 + v.id
    return u.x - v.x, e.weight * 1000 + e.id * 10 + e.rank


@weft.edge(into="total", reduce=weft.sum, along="in")
def count(u, v, e):
    return e.weight * (u.x + 1) * (e.rank + 1)


@weft.edge(into="level", reduce=weft.any, accept=lambda v: v.level < 0, along="in")
def discover(u, v, e):
    return u.level + 1


@weft.edge(into="color", reduce=weft.max, accept=lambda v: v.component < 0)
def spread(u, v, e):
    return weft.send(u.color, when=u.component < 0)


@weft.edge(into="component", reduce=weft.any, accept=lambda v: v.component < 0, along="in")
def gather_back(u, v, e):
    return weft.send(u.component, when=u.color == v.color)


def strong_components(g):
    """Return a label of the strongly connected component of each vertex."""
    ids = np.arange(g.num_vertices)
    state = g.state(color=ids.copy(), component=weft.full(-1, weft.int64))
    while len(left := np.flatnonzero(np.asarray(state.component) < 0)):
        state.color[left] = left
        g.iterate(spread, state, left)
        roots = left[np.asarray(state.color)[left] == left]
        state.component[roots] = roots
        g.iterate(gather_back, state, roots)
    return np.asarray(state.component)


def check(device, g):
    with on_device(device):
        fields = {"x": np.arange(g.num_vertices) ** 2, "near": weft.full(10**6, weft.int64)}
        fields["total"] = weft.full(0.0)
        seen = {"seen": weft.full(0, weft.int64)}
        agreed(g, against, fields, edges=seen)
        del fields["near"], seen["seen"]
        agreed(g, count, fields, g.edge_frontier([0, 2, 4]))


def test_the_ends_change_places(g, chain):
    for graph in (g, chain):
        check("cpu", graph)


def test_the_ends_change_places_in_cuda(g, chain):
    for graph in (g, chain):
        check("emulated", graph)


@pytest.mark.parametrize("device", ["reference", "cpu", "emulated"])
def test_a_search_against_the_arcs_is_one_of_the_reversed_graph(device):
    src, dst = np.random.default_rng(3).integers(0, 40, (2, 90))
    g = weft.Graph.from_edges(src, dst, num_vertices=40)
    want = weft.bfs(weft.Graph.from_edges(dst, src, num_vertices=40), 5).level
    for direction in ("auto", "push", "pull"):
        here = g.to(device)
        state = here.state(level=weft.full(-1, weft.int32))
        state.level[5] = 0
        here.iterate(discover, state, [5], config=weft.Config(direction=direction))
        np.testing.assert_array_equal(state.level, want)


def test_strong_components_need_one_graph():
    rng = np.random.default_rng(7)
    for n, m in ((1, 0), (30, 40), (60, 110)):
        src, dst = rng.integers(0, n, (2, m))
        g = placed(weft.Graph.from_edges(src, dst, num_vertices=n))
        found = strong_components(g)
        plain = nx.DiGraph()
        plain.add_nodes_from(range(n))
        plain.add_edges_from(zip(src.tolist(), dst.tolist(), strict=True))
        for component in nx.strongly_connected_components(plain):
            assert set(found[list(component)]) == {max(component)}


def test_both_rows_are_needed():
    for keep in ("out", "in"):
        g = weft.Graph.from_edges([0, 1], [1, 2], keep=keep)
        with pytest.raises(ConfigError, match=rf"'discover' goes along.*keeps only '{keep}'"):
            g.iterate(discover, g.state(level=[0, -1, -1]), [0])


def test_a_fold_sweeps_along_one_way():
    g = weft.Graph.from_edges([0, 1], [1, 2])
    both = weft.fold(weft.edge(lambda u, v, e: u.level > 0), discover)
    with pytest.raises(TraceError, match="Put them into a list"):
        g.run(both, g.state(level=[0, -1, -1]))


def test_a_wrong_way_is_told():
    with pytest.raises(TraceError, match=r"along='inn' is not known.*Did you mean 'in'"):
        weft.edge(discover.function, along="inn")
