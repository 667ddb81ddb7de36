"""The way of a warm call: few modules and functions, for users' programs as for weft's own."""

import sys

import pytest

import weft

# What one warm call may enter of weft: modules, functions, entries. It passes no more than this.
LIMITS = {"bfs": (20, 54, 65), "own": (15, 49, 56), "run": (14, 36, 40)}


@weft.edge(into="level", reduce=weft.any, accept=lambda v: v.level < 0)
def discover(u, v, e):
    return u.level + 1


@weft.vertex
def halve(v):
    v.value = v.value * 0.5


def own_bfs(g):
    state = g.state(level=weft.full(-1, weft.int32))
    state.level[0] = 0
    g.iterate(discover, state, g.frontier([0]))
    return state.level


def entered(call):
    """Return the modules and functions of weft that a call enters, and how often in all."""
    seen, entries = set(), 0

    def look(frame, event, argument):
        nonlocal entries
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.partition(".")[0] == "weft":
            seen.add((module, frame.f_code.co_qualname))
            entries += 1

    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
    return len({module for module, _ in seen}), len(seen), entries


@pytest.mark.parametrize("name", LIMITS)
def test_a_warm_call_takes_a_short_way(name):
    g = weft.generators.rmat(6, 4, seed=1)
    state = g.state(value=weft.full(1.0))
    call = {
        "bfs": lambda: weft.bfs(g, 0),
        "own": lambda: own_bfs(g),
        "run": lambda: g.run(halve, state),
    }[name]
    for _ in range(3):
        call()
    assert all(got <= most for got, most in zip(entered(call), LIMITS[name], strict=True)), entered(
        call
    )
