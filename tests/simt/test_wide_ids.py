"""Vertices and arcs that are numbered by 64 bits, as they are beyond 2**31 of them."""

import numpy as np
import pytest

import weft
from agreement import emulated, interpreted
from oracle import assert_same
from weft.topology import adjacency

pytestmark = pytest.mark.usefixtures("compile_cuda")  # skips where there is no compiler


@pytest.fixture
def g(monkeypatch):
    """A graph that is taken for one with more than 2**31 vertices and arcs."""
    monkeypatch.setattr(adjacency, "_INT32_LIMIT", 16)
    g = weft.generators.rmat(6, 4, seed=3, directed=True, weights="int")
    assert g.topology.index_dtype == np.int64 and g.topology.arcs("in").dtype == np.int64
    return g


@weft.edge(into=("level", "by"), reduce=weft.any, accept=lambda v: v.level < 0)
def discover(u, v, e):
    return u.level + 1, e.id


@weft.edge(into="x", reduce=weft.sum)
def send(u, v, e):
    e.mark = e.mark + v.x % 3
    return e.id * u.id + e.mark + e.weight


def test_edges_are_found_by_wide_numbers(g):
    n = g.num_vertices
    level = np.where(np.arange(n) == 1, 0, -1)
    fields = {"level": level, "by": np.full(n, -1)}
    src, dst, _ = g.to_edges()
    for direction in ("auto", "pull"):
        chosen = {"direction": direction, "schedule": "twc", "warp_degree": 2}
        got = emulated(g, discover, fields, [1], choices=chosen, mode="iterate")
        want = interpreted(g, discover, fields, [1], mode="iterate")
        np.testing.assert_array_equal(got.level, want.state.fields["level"])
        reached = np.flatnonzero(got.level > 0)
        by = got.by[reached]
        assert (dst[by] == reached).all() and (got.level[src[by]] + 1 == got.level[reached]).all()


@pytest.mark.parametrize(("direction", "combine"), [("push", "by_target"), ("pull", "atomic")])
def test_edge_state_and_columns_by_wide_numbers(g, direction, combine):
    fields = {"x": np.arange(g.num_vertices) % 5}
    options = {"edges": {"mark": np.arange(g.num_edges) % 4}, "mode": "iterate", "max_iter": 2}
    chosen = {"direction": direction, "combine": combine}
    got = emulated(g, send, fields, None, choices=chosen, **options)
    assert_same(interpreted(g, send, fields, None, **options), got)


def test_an_edge_may_have_a_number_that_32_bits_do_not_hold():
    g = weft.generators.path(5)

    @weft.edge(into="by", reduce=weft.any, accept=lambda v: v.by < 0)
    def find(u, v, e):
        return e.id

    for dtype, proven in ((np.int32, False), (np.int64, True)):
        state = g.state(by=weft.full(-1, dtype))
        passes = weft.explain(find, g, state, [0], mode="iterate").passes
        assert ("write_once" in passes) == proven
