"""Profiles of operators: one loop over a state reads like one run."""

import numpy as np
import pytest

import weft
from weft.operators import advance, compute, filter


def unseen(u, v, e):
    return v.level < 0


def visit(u, v, e):
    v.level = u.level + 1


def seen(v):
    return v.level >= 0


def search(g, state, source=0):
    state.level = weft.full(-1).but(source, 0)
    frontier = g.frontier([source])
    while frontier:
        frontier = advance(g, frontier, None, state, cond=unseen, apply=visit, idempotent=True)
        frontier = filter(g, frontier, seen, state)


def test_supersteps_and_shares_go_on_from_operator_to_operator():
    g = weft.generators.rmat(7, 8, seed=2)
    state = g.state(level=weft.full(-1))
    with weft.profile() as p:
        search(g, state)
    levels = np.bincount(state.level[state.level >= 0])
    assert {record.call for record in p.records} == {0}
    advances = [record for record in p.records if record.run == "visit"]
    assert [record.step for record in advances] == list(range(len(levels)))
    assert [record.frontier for record in advances] == levels.tolist()
    shares = [record.visited_share for record in advances]
    np.testing.assert_allclose(shares, np.cumsum(levels) / g.num_vertices)
    filters = [record for record in p.records if record.run == "seen"]
    assert [record.step for record in filters] == list(range(1, len(levels) + 1))
    assert [record.phase for record in advances] == [0] + [1] * (len(levels) - 1)
    for record in p.records:
        assert record.filter == "online" and record.schedule == "vertex"
        assert record.width.endswith("threads")
    with weft.profile() as captured, weft.capture(strict=True):
        search(g, g.state(level=weft.full(-1)))
    inside = [record for record in captured.records if record.phase == 0]
    assert [record.frontier for record in inside] == levels.tolist()
    np.testing.assert_allclose([record.visited_share for record in inside], shares)
    pytest.importorskip("matplotlib").use("Agg")
    for one in (p, captured):
        left, right = one.plot("mteps").axes
        assert len(left.patches) + len(left.lines) and len(right.lines)


def test_loops_on_other_states_and_from_the_start_are_told_apart():
    g = weft.generators.path(4)
    state, other = g.state(level=weft.full(-1)), g.state(level=weft.full(-1))
    with weft.profile() as outer, weft.profile() as p:
        for one in (state, other, state):
            search(g, one)
        compute(g, None, seen_by_all, g.state(level=weft.full(0)))
    calls = [record.call for record in p.records]
    assert len(set(calls)) == 4 and calls == sorted(calls)
    assert [record.call for record in outer.records] == calls
    assert len(p.facts) == len(calls)


def seen_by_all(v):
    v.level = 1
