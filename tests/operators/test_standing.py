"""Calls that recur skip preparation, and notice whatever changes."""

from __future__ import annotations

import copy
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import weft
from weft.errors import FaultError, GraphError, TraceError
from weft.operators import Capture, advance, compute, filter, neighbor_reduce
from weft.operators.standing import MOST_MARKED, repeated

LIMIT = 3


def relax(u, v, e):
    return v.level.min(u.level + 1)


def below(v):
    return v.level < LIMIT


def path(n=6):
    g = weft.generators.path(n)
    return g, g.state(level=weft.full(9).but(0, 0), count=weft.full(0))


def test_a_recurring_call_skips_preparation(monkeypatch):
    g, state = path()
    frontier = advance(g, [0], relax, state)
    monkeypatch.setattr("weft.operators.running.run_now", None)
    while frontier:
        frontier = advance(g, frontier, relax, state)
    assert state.level.tolist() == [0, 1, 2, 3, 4, 5]
    assert frontier.iteration == 6


def test_functions_made_anew_in_every_pass_recur(monkeypatch):
    g, state = path()

    def step_from(frontier):
        return advance(g, frontier, lambda u, v, e: v.level.min(u.level + 1), state)

    frontier = step_from([0])
    monkeypatch.setattr("weft.operators.running.run_now", None)
    while frontier:
        frontier = step_from(frontier)
    assert state.level.tolist() == [0, 1, 2, 3, 4, 5] and len(state._standing) == 1


def test_a_call_recurs_on_other_states_of_the_same_kinds(monkeypatch):
    g, state = path()

    def pass_on(u, v, e, iteration):
        v.count += iteration + 1
        v.level.min(u.level + 1)
        return v.id > u.id

    def search(state):
        frontier, seen = g.frontier([0]), []
        while frontier:
            frontier = advance(g, frontier, pass_on, state)
            seen.append(frontier.tolist())
        return seen, state.level.tolist(), state.count.tolist()

    found = search(state)
    with monkeypatch.context() as patch:
        patch.setattr("weft.operators.running.run_now", None)
        for _ in range(2):
            assert search(g.state(level=weft.full(9).but(0, 0), count=weft.full(0))) == found
    other = g.state(level=weft.full(9.0).but(0, 0), count=weft.full(0))
    assert search(other)[0] == found[0] and other.level.dtype == np.float64
    short = g.state(level=weft.full(9).but(0, 0), count=weft.full(0))
    short.fields["count"] = np.zeros(2, np.int64)
    with pytest.raises(weft.errors.FieldError, match="2 rows"):
        search(short)
    with pytest.raises(weft.errors.FieldError, match="state"):
        advance(weft.generators.path(7), [0], pass_on, path(6)[1])


def test_few_calls_hold_marks():
    g, state = path()

    def pass_on(limit):
        def visit(u, v, e):
            v.count += 1
            v.level.min(u.level + 1)
            return v.id < limit

        return visit

    for limit in (*range(9), *range(9)):
        state.count = 0
        assert advance(g, [2], pass_on(limit), state).tolist() == [k for k in (1, 3) if k < limit]
        assert state.count.tolist() == [0, 1, 0, 1, 0, 0]
    assert sum(bool(again.marks) for again in state._standing.values()) == MOST_MARKED


def test_a_variable_that_functions_read_is_noticed():
    global LIMIT
    g, state = path()
    state.level = [0, 1, 2, 3, 4, 5]
    assert filter(g, None, below, state).tolist() == [0, 1, 2]
    before = LIMIT
    try:
        LIMIT = 5
        assert filter(g, None, below, state).tolist() == [0, 1, 2, 3, 4]
    finally:
        LIMIT = before
    assert filter(g, None, below, state).tolist() == [0, 1, 2]


def test_another_array_or_column_or_version_is_noticed():
    g, state = path(3)

    def add(v):
        v.count += 1

    compute(g, None, add, state)
    fresh = np.array([5, 6, 7])
    state.fields["count"] = fresh
    compute(g, None, add, state)
    assert fresh.tolist() == [6, 7, 8]
    state.fields["count"] = np.zeros(2, np.int64)
    with pytest.raises(weft.errors.FieldError, match="2 rows"):
        compute(g, None, add, state)

    def weigh(u, v, e):
        return e.weight

    g = weft.Graph.from_edges([0, 1], [1, 2], [2, 3])
    state = g.state(sum=weft.full(0))
    neighbor_reduce(g, None, weigh, weft.sum, state, into="sum")
    g.edge["weight"] = [10, 20]
    neighbor_reduce(g, None, weigh, weft.sum, state, into="sum")
    assert state.sum.tolist() == [10, 20, 0]
    g.update(add=([0], [2], [5]))
    with pytest.raises(weft.errors.FieldError, match="version"):
        neighbor_reduce(g, None, weigh, weft.sum, state, into="sum")


def test_marks_of_the_call_before_are_cleared():
    g, state = path()

    def count(u, v, e):
        v.count += 1
        v.level.min(u.level + 1)
        return v.id > u.id

    for start in (0, 3, 1):
        assert advance(g, [start], count, state).tolist() == [start + 1]
    seen: list[list[int]] = []
    frontier = g.frontier([0])
    for _ in range(3):
        frontier = advance(g, frontier, count, state)
        seen.append(frontier.tolist())
    assert seen == [[1], [2], [3]]
    assert advance(g, [5], count, state).tolist() == []


def test_the_number_of_the_iteration_is_passed_on():
    g, state = path()

    def stamp(v, iteration):
        v.count = iteration

    frontier = g.frontier([0])
    for _ in range(4):
        frontier = advance(g, frontier, relax, state)
        compute(g, frontier, stamp, state)
    assert state.count.tolist() == [0, 1, 2, 3, 4, 0]


def test_options_and_inputs_are_told_apart():
    g, state = path()
    assert advance(g, [1], relax, state, output=None).tolist() == []
    state.level = weft.full(9).but(1, 0)
    assert advance(g, [1], relax, state).tolist() == [0, 2]
    state.level = weft.full(9).but(1, 0)
    assert advance(g, None, relax, state).tolist() == [0, 2]
    arcs = advance(g, [1], lambda u, v, e: True, state, output="arcs")
    assert advance(g, arcs, relax, state, output=None).tolist() == []
    other = weft.generators.path(7)
    with pytest.raises(GraphError, match="another graph"):
        advance(g, advance(other, [0], relax, path(7)[1]), relax, state)
    with pytest.raises(TraceError, match="as its state"):
        advance(g, [1], relax, None)


def test_a_fault_forgets_the_call():
    g = weft.generators.path(3)
    state = g.state(x=[0, 1, 2], y=weft.full(0))

    def read(v):
        v.y = v.x.at(v.x).load()

    compute(g, None, read, state)
    state.x[2] = 9
    with pytest.raises(FaultError):
        compute(g, None, read, state)
    state.x[2] = 0
    compute(g, None, read, state)
    assert state.y.tolist() == [0, 1, 0]


def test_copies_of_a_state_and_threads_have_calls_of_their_own():
    g, state = path(50)

    def reached(u, v, e):
        v.count += 0
        return v.id > u.id

    advance(g, [0], reached, state)
    twin = copy.deepcopy(state)
    assert twin._standing is not state._standing
    assert advance(g, [3], reached, twin).tolist() == [4]

    def many(start: int) -> bool:
        own = g.state(count=weft.full(0))
        return all(advance(g, [start], reached, own).tolist() == [start + 1] for _ in range(50))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(many, range(4)))


def test_a_call_of_a_recording_is_not_repeated():
    g, state = path()
    advance(g, [0], relax, state)
    key = next(iter(state._standing))
    first = g.frontier([0])
    with weft.capture():
        assert repeated(g, first, state, None, key, (relax, None, None)) is None
    assert repeated(g, first, state, None, key, (relax, None, None)) is not None


def captured_search(g, state, step):
    frontier = g.frontier([0])
    with weft.capture(strict=True):
        while frontier:
            frontier = advance(g, frontier, step, state)
    return state.level.tolist()


def test_a_recording_recurs_on_other_states_of_the_same_kinds(monkeypatch):
    g, state = path()
    assert captured_search(g, state, relax) == [0, 1, 2, 3, 4, 5]
    other = g.state(level=weft.full(9.0).but(0, 0), count=weft.full(0))
    with monkeypatch.context() as patch:
        patch.setattr(Capture, "record", None)
        for _ in range(2):
            again = g.state(level=weft.full(9).but(0, 0), count=weft.full(0))
            assert captured_search(g, again, relax) == [0, 1, 2, 3, 4, 5]
        with pytest.raises(TypeError):  # is prepared
            captured_search(g, other, relax)
    assert captured_search(g, other, relax) == [0, 1, 2, 3, 4, 5]


def test_a_recording_of_changed_functions_does_not_recur():
    g, state = path()

    def step_by(stride):
        def relax_by(u, v, e):
            return v.level.min(u.level + stride)

        return relax_by

    for stride in (2, 3, 2):
        again = g.state(level=weft.full(99).but(0, 0), count=weft.full(0))
        found = captured_search(g, again, step_by(stride))
        assert found == [stride * k for k in range(6)]
    step = step_by(1)
    captured_search(g, state, step)
    step.__closure__[0].cell_contents = 4
    again = g.state(level=weft.full(99).but(0, 0), count=weft.full(0))
    assert captured_search(g, again, step) == [4 * k for k in range(6)]
    short = g.state(level=weft.full(9).but(0, 0), count=weft.full(0))
    short.fields["count"] = np.zeros(2, np.int64)
    with pytest.raises(weft.errors.FieldError, match="2 rows"):
        captured_search(g, short, step)
