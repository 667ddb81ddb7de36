"""Operators in the sanitised emulation: memory and undefined behaviour, and races."""

import pytest

import weft
from weft.backends.cuda.drivers.emulated import EmulatedDriver
from weft.backends.cuda.host import run as host
from weft.operators import advance, compute, filter, intersect, neighbor_reduce


def relax(u, v, e):
    return v.x.min(u.x + e.weight)


def mark(u, v, e):
    v.n += 1
    return (u.id + v.id) % 2 == 0


def low(v):
    return v.n < 9


def bump(v):
    v.n += 1


def far(u, v, e):
    return v.x


def search(g):
    state = g.state(x=weft.full(999).but(0, 0), n=weft.full(0))
    frontier = g.frontier([0])
    with weft.capture() as c:
        while frontier:
            frontier = advance(g, frontier, relax, state)
            frontier = advance(g, frontier, mark, state)
            frontier = filter(g, frontier, low, state)
    assert len(c.loops) == 1
    compute(g, None, bump, state)
    found = neighbor_reduce(g, [0, 3], far, weft.max, state, into="n", output="neighbors")
    arcs = advance(g, found, mark, state, output="arcs")
    counts = intersect(g, arcs, None, lambda u, v, w, eu, ev: w.x < 99, state, output="counts")
    return state.x.tolist(), state.n.tolist(), arcs.tolist(), counts.tolist()


def walk(g):
    """Start runs from where others left a queue or a map, in both directions."""
    state = g.state(x=weft.full(999).but(0, 0), n=weft.full(0))
    frontier, held = g.frontier([0]), []
    for direction in ("push", "pull", "push", "pull", "pull"):
        config = weft.Config(direction=direction)
        held.append(advance(g, frontier, relax, state, config=config))
        frontier = filter(g, held[-1], low, state)
    return [part.tolist() for part in held], state.x.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("sanitizer", ["address", "thread"])
def test_sanitized(monkeypatch, sanitizer):
    driver = EmulatedDriver(sanitizer)
    monkeypatch.setattr(host, "driver_of", lambda *device: driver)
    g = weft.generators.rmat(4, 4, seed=2, weights="int", directed=True)
    for program in (search, walk):
        assert program(g.to("emulated")) == program(g.to("reference"))
    road = weft.generators.path(900, weights="int")  # of which one cluster takes a few vertices
    assert walk(road.to("emulated")) == walk(road.to("reference"))
    assert driver.sanitizer == sanitizer
