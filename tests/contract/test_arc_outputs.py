"""Steps that put out arcs: every device and direction, beside plain Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from graphs import edge_lists
from weft.errors import ConfigError, TraceError


@weft.edge(into="reached", reduce=weft.max, accept=lambda v: v.closed == 0)
def cross(u, v, e):
    return weft.send(u.id, when=(u.id + v.id) % 3 != 0)


@weft.edge
def passing(u, v, e):
    e.seen = e.seen + 1
    return u.id < v.id


@weft.edge
def every(u, v, e):
    e.seen = e.seen + 2


def check(g, members, device="cpu", direction=None):
    g = g.to(device)
    n = g.num_vertices
    sources, targets = (np.asarray(x).tolist() for x in g.topology.endpoints())
    ends = list(enumerate(zip(sources, targets, strict=True)))
    closed = np.arange(n) % 4 == 1
    state = g.state(reached=weft.full(-1), closed=closed.astype(np.int32))
    config = None if direction is None else weft.Config(direction=direction)
    found = g.run(cross, state, members, output="arcs", config=config)
    chosen = set(members)
    want = [k for k, (u, v) in ends if u in chosen and not closed[v] and (u + v) % 3]
    assert found.arcs and found.tolist() == want
    into = [
        max((u for k, (u, v) in ends if k in set(want) and v == x), default=-1) for x in range(n)
    ]
    assert state.reached.tolist() == into
    seen = g.edge_state(seen=weft.full(0))
    onward = g.run(passing, state, found, edge_state=seen, output="arcs")
    assert onward.tolist() == [k for k, (u, v) in ends if k in set(want) and u < v]
    assert seen.seen.tolist() == [int(k in set(want)) for k, _ in ends]
    assert g.run(every, state, onward, edge_state=seen, output="arcs").tolist() == onward.tolist()


@settings(max_examples=15, deadline=None)
@given(edge_lists(weights=None, min_vertices=1), st.data())
def test_drawn_graphs(edges, data):
    members = data.draw(st.sets(st.integers(0, edges.num_vertices - 1)))
    check(edges.build(), sorted(members))


@pytest.mark.parametrize("device", ["reference", "emulated"])
@pytest.mark.parametrize("direction", ["push", "pull"])
def test_devices_and_directions(device, direction):
    g = weft.generators.rmat(5, 4, seed=3)
    check(g if device == "reference" else g.reorder("random"), range(0, 32, 2), device, direction)
    check(g, [], device, direction)


def test_misuse_is_told():
    g = weft.generators.path(3)
    state = g.state(x=weft.full(0))

    @weft.vertex
    def still(v):
        v.x = 1

    with pytest.raises(TraceError, match="needs an edge function at the end"):
        g.run(still, state, output="arcs")
    with pytest.raises(ConfigError, match="output='edges' is not known"):
        g.run(still, state, output="edges")
    with pytest.raises(ConfigError, match="not possible over pairs"):
        g.run(every, state, g.pairs([0], [1]), output="arcs")
