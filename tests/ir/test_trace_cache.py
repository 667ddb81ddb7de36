"""Traces are kept where they cannot come out otherwise, and only there."""

import gc
import weakref

import numpy as np
import pytest

import weft
from weft.ir.trace import cache as traces

FACTOR = 2
TABLE = {0: 2}


class Settings:
    factor = 2


@pytest.fixture
def counted(monkeypatch):
    """Count the traces that are made."""
    made = []
    original = traces.trace_program

    def trace(*args, **options):
        made.append(args[0])
        return original(*args, **options)

    monkeypatch.setattr(traces, "trace_program", trace)
    traces._kept.clear()
    traces._same.clear()
    return made


def result(function, **fields):
    g = weft.Graph.from_edges([0, 1, 2], [1, 2, 3])
    state = g.state(x=weft.full(1, weft.int64), **fields)
    g.run(function, state, [0, 1])
    return state.x.tolist()


def by_global():
    @weft.vertex
    def scale(v):
        v.x = v.x * FACTOR

    return scale


def test_the_same_function_is_traced_once(counted):
    scale = by_global()
    assert result(scale) == result(scale) == [2, 2, 1, 1]
    assert len(counted) == 1
    result(scale, y=weft.full(0))  # another state
    assert len(counted) == 2


def test_a_global_that_changes_is_seen(counted, monkeypatch):
    scale = by_global()
    assert result(scale) == [2, 2, 1, 1]
    monkeypatch.setitem(globals(), "FACTOR", 3)
    assert result(scale) == result(scale) == [3, 3, 1, 1]
    assert len(counted) == 2


def test_a_global_that_hides_a_builtin_is_seen(counted, monkeypatch):
    @weft.vertex
    def scale(v):
        v.x = v.x * abs(-2)

    assert result(scale) == [2, 2, 1, 1]
    monkeypatch.setitem(globals(), "abs", lambda x: 5)
    assert result(scale) == [5, 5, 1, 1]


def test_a_variable_of_an_enclosing_function_that_changes_is_seen(counted):
    factor = 2

    @weft.vertex
    def scale(v):
        v.x = v.x * factor

    assert result(scale) == result(scale) == [2, 2, 1, 1]
    factor = 4
    assert result(scale) == [4, 4, 1, 1]
    assert len(counted) == 2


def test_a_helper_that_is_replaced_is_seen(counted):
    def helper(x):
        return x * 2

    @weft.vertex
    def scale(v):
        v.x = helper(v.x)

    assert result(scale) == [2, 2, 1, 1]
    helper.__code__ = (lambda x: x * 7).__code__
    assert result(scale) == [7, 7, 1, 1]


@pytest.mark.parametrize("kind", ["dict", "class", "array", "object", "method"])
def test_what_may_change_in_place_is_traced_every_time(counted, kind, monkeypatch):
    array = np.array([2])
    thing = type("Thing", (), {"factor": 2})()
    reads = {
        "dict": lambda: TABLE[0],
        "method": lambda get=TABLE.get: get(0),
        "class": lambda: Settings.factor,
        "array": lambda: int(array[0]),
        "object": lambda: thing.factor,
    }[kind]

    @weft.vertex
    def scale(v):
        v.x = v.x * reads()

    assert result(scale) == [2, 2, 1, 1]
    monkeypatch.setitem(TABLE, 0, 3)
    monkeypatch.setattr(Settings, "factor", 3)
    array[0] = thing.factor = 3
    assert result(scale) == [3, 3, 1, 1]
    assert len(counted) == 2


def test_random_constants_are_drawn_every_time(counted):
    @weft.vertex
    def scale(v):
        v.x = v.x * int(np.random.default_rng(None).integers(1, 3))

    result(scale), result(scale)
    assert len(counted) == 2


def test_roles_belong_to_the_trace(counted):
    g = weft.Graph.from_edges([0, 1, 2], [1, 2, 3])

    @weft.vertex
    def grow(v):
        v.x = v.x + 1

    for most in (1, 2, 3):
        state = g.state(x=weft.full(0, weft.int64), total=weft.scalar(0))
        g.iterate(grow, state, max_iter=most)
        assert state.x.tolist() == [most] * 4
    assert len(counted) == 1
    for limit in (2, 4):  # another function each time
        state = g.state(x=weft.full(0, weft.int64), total=weft.scalar(0))
        g.iterate(grow, state, max_iter=9, until=lambda total, limit=limit: total < limit)
        assert state.x.tolist() == [1] * 4
    assert len(counted) == 3


def test_functions_made_anew_over_the_same_values_are_one(counted):
    def scaled_by(factor, name="scale"):
        def scale(v):
            v.x = v.x * factor + fold(v)

        def fold(v):
            return v.x * 0 * factor

        scale.__name__ = name
        return weft.vertex(scale)

    assert result(scaled_by(2)) == result(scaled_by(2)) == [2, 2, 1, 1]
    assert len(counted) == 1
    assert result(scaled_by(3)) == [3, 3, 1, 1]
    assert len(counted) == 2
    result(scaled_by(3, "other"))  # errors would name it
    assert len(counted) == 3
    g = weft.Graph.from_edges([0], [1])

    def signs(zero):
        state = g.state(x=weft.full(1.0))
        g.run(scaled_by(zero), state)
        return np.signbit(state.x).tolist()

    assert signs(0.0) == [False, False]
    assert signs(-0.0) == [True, True]  # equal to 0.0, and yet another
    assert signs(True) == [False, False]  # and so is 1
    assert signs(1) == [False, False]
    assert len(counted) == 7


def test_a_function_that_calls_itself_is_told_from_others(counted):
    def scaled_by(factor):
        def times(x, rounds):
            return x if rounds == 0 else times(x * factor, rounds - 1)

        return weft.vertex(lambda v: setattr(v, "x", times(v.x, 2)))

    assert result(scaled_by(2)) == [4, 4, 1, 1]
    assert result(scaled_by(3)) == [9, 9, 1, 1]


def test_running_leaves_a_kept_trace_as_it_is(counted):
    scale = by_global()
    for config in (None, weft.Config(passes_off="constant_lifting"), weft.Config(threads=1)):
        g = weft.Graph.from_edges([0, 1, 2], [1, 2, 3])
        state = g.state(x=weft.full(1, weft.int64))
        g.run(scale, state, config=config)
        assert state.x.tolist() == [2] * 4
    assert len(counted) == 1


def test_what_may_change_is_not_kept_alive():
    class Large:
        pass

    def run_once():
        thing = Large()

        @weft.vertex
        def mark(v):
            v.x = v.x + (1 if thing is not None else 0)

        result(mark)
        return weakref.ref(thing)

    gone = run_once()
    gc.collect()
    assert gone() is None
