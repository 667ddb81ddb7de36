"""Intersections beside Python sets."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from operator_cases import LISTS, arcs_of, awkward
from weft.errors import ConfigError, GraphError, TraceError
from weft.operators import Queue, intersect


def large(u, v, w, eu, ev):
    return w.x > u.x


def weights(u, v, w, eu, ev):
    return eu.weight + ev.weight


def mark(u, v, w, eu, ev):
    w.seen.at(w.id).add(1)


def check(g, a, b=None):
    src, dst, weight = arcs_of(g)
    n = g.num_vertices
    x = np.arange(n) * 5 % 7
    state = g.state(x=x, seen=weft.full(0))
    given_to = (a, b) if b is not None else (g.edge_frontier(a), None)
    pairs = list(zip(a, b, strict=True)) if b is not None else [(src[k], dst[k]) for k in sorted(a)]
    near = [sorted(set(dst[src == u]) & set(dst[src == v])) for u, v in pairs]
    passing = [[w for w in ws if x[w] > x[u]] for (u, _), ws in zip(pairs, near, strict=True)]

    found = intersect(g, *given_to, large, state)
    assert found.pair.tolist() == [k for k, ws in enumerate(passing) for _ in ws]
    assert found.vertex.tolist() == [w for ws in passing for w in ws]
    counts = intersect(g, *given_to, large, state, output="counts")
    assert counts.tolist() == [len(ws) for ws in passing]
    assert intersect(g, *given_to, mark, state, output=None) is None
    seen = np.bincount([w for ws in near for w in ws], minlength=n) if n else np.zeros(0)
    assert state.seen.tolist() == seen.tolist()
    totals = intersect(g, *given_to, weights, state, monoid=weft.sum)

    def first(u, w):  # of parallel arcs, the one with the smallest id counts
        return weight[(src == u) & (dst == w)][0]

    want = [
        sum(first(u, w) + first(v, w) for w in ws) for (u, v), ws in zip(pairs, near, strict=True)
    ]
    assert totals.tolist() == want


@settings(max_examples=20)
@given(LISTS, st.data())
def test_pairs_and_arcs(edges, data):
    g = edges.build().to("reference")
    ids = st.integers(0, g.num_vertices - 1)
    drawn = data.draw(st.lists(st.tuples(ids, ids), max_size=6))
    check(g, [a for a, _ in drawn], [b for _, b in drawn])
    if g.topology.num_arcs:
        check(g, sorted(data.draw(st.sets(st.integers(0, g.topology.num_arcs - 1), max_size=6))))


def test_emulated():
    g = weft.generators.rmat(4, 4, seed=1, directed=False).to("emulated")
    state = g.state(x=np.arange(16))
    want = intersect(g.to("reference"), [0, 1], [1, 2], large, g.to("reference").state(
        x=np.arange(16)), output="counts")  # fmt: skip
    assert intersect(g, [0, 1], [1, 2], large, state, output="counts").tolist() == want.tolist()


def test_queues_keep_their_order_and_edge_state_is_read():
    g = awkward("hub").to("reference")
    state = g.state(x=weft.full(0))
    every = lambda u, v, w, eu, ev: None
    found = intersect(g, Queue(g, [3, 1, 3]), [2, 2, 1], every, state)
    assert found.pair.tolist() == [0, 1, 2] and found.vertex.tolist() == [0, 0, 0]
    several = intersect(g, [1], [2], lambda u, v, w, eu, ev: (1, w.id), state,
                        monoid=(weft.sum, weft.max))  # fmt: skip
    assert [part.tolist() for part in several] == [[1], [0]]
    double = weft.Graph.from_edges([0, 0, 1], [1, 2, 2]).to("reference")
    held = double.edge_state(t=np.array([1.0, 10.0, 100.0]))
    total = intersect(double, double.edge_frontier([0]), None,
                      lambda u, v, w, eu, ev: eu.t + ev.t, double.state(), monoid=weft.sum,
                      edge_state=held)  # fmt: skip
    assert total.tolist() == [110.0]


def test_misuse_is_told():
    g = awkward("parallel").to("reference")
    state = g.state(x=weft.full(0))
    with pytest.raises(GraphError, match="got 2 vertices and 1"):
        intersect(g, [0, 1], [1], large, state)
    with pytest.raises(TraceError, match="no second list"):
        intersect(g, [0, 1], None, large, state)
    with pytest.raises(TraceError, match="got no function"):
        intersect(g, [0], [1], None, state)
    with pytest.raises(ConfigError, match="output='arcs' is not known"):
        intersect(g, [0], [1], large, state, output="arcs")
    with pytest.raises(TraceError, match=r"returned nothing. Expected a message"):
        intersect(g, [0], [1], lambda u, v, w, eu, ev: None, state, monoid=weft.sum)
    with pytest.raises(TraceError, match="Expected 5: u, v, w, eu, ev"):
        intersect(g, [0], [1], lambda u, v: None, state)
    with pytest.raises(GraphError, match="takes lists of vertices"):
        intersect(g, [0.5], [1], large, state)
    with pytest.raises(TraceError, match="with arcs alone"):
        intersect(g, [0], [1], large, state, edge_state=g.edge_state(t=weft.full(0)))
