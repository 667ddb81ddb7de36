"""Edges between computed vertices, and what belongs to a computed edge."""

import numpy as np
import pytest

import weft
from agreement import on_device, run
from weft.errors import FaultError, TraceError

FIELDS = {"b": weft.full(0, weft.int64), "there": weft.full(False), "edge": weft.full(-7),
          "weight": weft.full(0.0), "spin": weft.full(0.0, shape=(2,))}  # fmt: skip
DEVICES = ("reference", "cpu", "emulated")


@weft.vertex
def look(v):
    v.there = weft.has_edge(v.a, v.b)
    found = weft.find_edge(v.a, v.b)
    v.edge = found
    e = weft.edge_at(weft.maximum(found, 0))
    v.weight = e.weight
    v.spin = e.spin * e.id


def graphs():
    """Return graphs with parallel edges, self-loops and isolated vertices."""
    rng = np.random.default_rng(5)
    for directed in (True, False):
        src, dst = rng.integers(0, 9, (2, 40))
        g = weft.Graph.from_edges(src, dst, rng.random(40), num_vertices=11, directed=directed)
        g.edge["spin"] = rng.random((g.num_edges, 2))
        yield g


def expected(g, a, b):
    """Return the smallest id of an edge from a to b, or -1."""
    src, dst = g.to_edges()[:2]
    ends = {(a, b), (b, a)} if not g.directed else {(a, b)}
    pairs = zip(src.tolist(), dst.tolist(), strict=True)
    return next((k for k, pair in enumerate(pairs) if pair in ends), -1)


@pytest.mark.parametrize("device", DEVICES)
def test_edges_are_found_in_every_order(device):
    with on_device(device):
        for g in graphs():
            for order in (None, "random") if device != "reference" else (None,):
                for b in (0, 3, 10):
                    a = np.arange(g.num_vertices)
                    fields = FIELDS | {"a": a, "b": np.full(g.num_vertices, b)}
                    done = run(g, look, fields, config=weft.Config(reorder=order))
                    want = [expected(g, v, b) for v in a.tolist()]
                    assert done.edge.tolist() == want
                    assert done.there.tolist() == [e >= 0 for e in want]
                    ids = np.maximum(want, 0)
                    np.testing.assert_array_equal(done.weight, g.edge["weight"][ids])
                    np.testing.assert_array_equal(done.spin, g.edge["spin"][ids] * ids[:, None])


@pytest.mark.parametrize("device", DEVICES)
def test_an_edge_that_is_not_there_is_a_fault(device):
    @weft.vertex
    def beyond(v):
        v.weight = weft.edge_at(v.a).weight

    with on_device(device):
        g = weft.Graph.from_edges([0, 1], [1, 0], [2.0, 3.0], directed=False)
        assert run(g, beyond, {"a": [0, 1], "weight": [0.0, 0.0]}).weight.tolist() == [2.0, 3.0]
        for a in ([0, 2], [0, -1]):
            with pytest.raises(FaultError, match="out of range"):
                run(g, beyond, {"a": a, "weight": [0.0, 0.0]})


def test_the_weight_of_an_unweighted_edge_is_one():
    @weft.vertex
    def cost(v):
        v.x = weft.edge_at(0).weight

    g = weft.Graph.from_edges([0], [1])
    assert run(g, cost, {"x": [0, 0]}).x.tolist() == [1, 1]


def test_what_no_edge_id_has_is_refused():
    g = weft.Graph.from_edges([0], [1], [1.0])
    held = g.edge_state(flow=weft.full(0.0))

    def reads(name):
        return weft.vertex(lambda v: setattr(v, "x", getattr(weft.edge_at(0), name)))

    for name, why in (("flow", "belongs to arcs"), ("rank", "no field 'rank'")):
        with pytest.raises((TraceError, weft.errors.FieldError), match=why):
            g.run(reads(name), g.state(x=weft.full(0.0)), edge_state=held)
    with pytest.raises(TraceError, match="read only"):
        g.run(weft.vertex(lambda v: setattr(weft.edge_at(0), "weight", 1)), g.state(x=[0, 0]))
