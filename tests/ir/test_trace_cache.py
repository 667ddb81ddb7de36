"""Traces are kept where they cannot come out otherwise, and only there."""

import builtins
import functools
import gc
import math
import sys
import types
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


class Model:
    """An object that a program reads in several ways."""

    def __init__(self, rate):
        self.rate = rate
        self.inner = types.SimpleNamespace(rate=rate)
        self.by_name = {"rate": rate}
        self.listed = [rate]

    def scale(self, v):
        v.x = v.x * self.rate

    def change(self, rate):
        self.rate = self.inner.rate = self.by_name["rate"] = self.listed[0] = rate


class Rate(int):
    """A number with attributes."""


def double(x):
    return x * double.rate


def reading_a_function(model):
    double.rate = model.rate
    return lambda v: setattr(v, "x", double(v.x)), lambda rate: setattr(double, "rate", rate)


def reading_a_default(model):
    def scale(v, rates=model.listed):
        v.x = v.x * rates[0]

    return scale, lambda rate: None


def reading_a_named_default(model):
    def scaled(x, *, rate=model.rate):
        return x * rate

    return lambda v: setattr(v, "x", scaled(v.x)), lambda rate: scaled.__kwdefaults__.update(
        rate=rate
    )


def reading_a_number_with_attributes(model):
    number = Rate(1)
    number.rate = model.rate
    return lambda v: setattr(v, "x", v.x * number.rate), lambda rate: setattr(number, "rate", rate)


def reading_a_module(model):
    module = types.ModuleType("settings_of_a_test")
    module.rate = model.rate
    sys.modules[module.__name__] = module

    def scale(v):
        import settings_of_a_test

        v.x = v.x * settings_of_a_test.rate

    return scale, lambda rate: setattr(module, "rate", rate)


def reading_a_library(model):
    weft.rate_of_a_test = model.rate
    return lambda v: setattr(v, "x", v.x * weft.rate_of_a_test), lambda rate: setattr(
        weft, "rate_of_a_test", rate
    )


def reading_by_a_computed_name(model):
    def helper():
        pass

    helper.rate = model.rate
    return lambda v: setattr(v, "x", v.x * getattr(helper, "ra" + "te")), lambda rate: setattr(
        helper, "rate", rate
    )


READERS = {
    "attribute": lambda m: (lambda v: setattr(v, "x", v.x * m.rate), None),
    "nested attribute": lambda m: (lambda v: setattr(v, "x", v.x * m.inner.rate), None),
    "item of a dict": lambda m: (lambda v: setattr(v, "x", v.x * m.by_name["rate"]), None),
    "item of a list": lambda m, r=None: (lambda v: setattr(v, "x", v.x * m.listed[0]), None),
    "list in a tuple": lambda m: ((lambda t: lambda v: setattr(v, "x", v.x * t[0][0]))(
        (m.listed,)), None),
    "method": lambda m: (m.scale, None),
    "partial": lambda m: (functools.partial(lambda m, v: setattr(v, "x", v.x * m.rate), m), None),
    "function": reading_a_function,
    "default": reading_a_default,
    "named default": reading_a_named_default,
    "derived number": reading_a_number_with_attributes,
    "import": reading_a_module,
    "library": reading_a_library,
    "computed name": reading_by_a_computed_name,
}  # fmt: skip


@pytest.mark.parametrize("kind", READERS)
def test_an_attribute_or_item_that_changes_is_seen(counted, kind):
    model = Model(2)
    function, change = READERS[kind](model)
    scale = weft.vertex(function)
    assert result(scale) == result(scale) == [2, 2, 1, 1]
    model.change(3)
    if change is not None:
        change(3)
    assert result(scale) == result(scale) == [3, 3, 1, 1]
    vars(weft).pop("rate_of_a_test", None)


def test_an_attribute_of_a_function_that_appears_later_is_seen(counted):
    def helper(x):
        return x * 2

    @weft.vertex
    def scale(v):
        try:
            v.x = helper(v.x) * helper.rate
        except AttributeError:
            v.x = helper(v.x)

    assert result(scale) == [2, 2, 1, 1]
    helper.rate = 2
    assert result(scale) == result(scale) == [4, 4, 1, 1]
    assert len(counted) == 2
    helper.other = 1
    assert result(scale) == [4, 4, 1, 1]


def test_functions_made_anew_with_other_attributes_are_told_apart(counted):
    def scaled_by(rate):
        def helper(x):
            return x * helper.rate

        helper.rate = rate
        return weft.vertex(lambda v: setattr(v, "x", helper(v.x)))

    assert result(scaled_by(2)) == [2, 2, 1, 1]
    assert result(scaled_by(3)) == [3, 3, 1, 1]


def test_a_decorated_function_that_is_changed_is_traced_again(counted):
    g = weft.Graph.from_edges([0, 1, 2], [1, 2, 3])

    @weft.edge(into="x", reduce=weft.sum, accept=lambda v: v.id > 1)
    def add(u, v, e):
        return u.x

    def sums(function=add):
        state = g.state(x=weft.full(1, weft.int64))
        g.run(function, state)
        return state.x.tolist()

    assert sums() == sums() == [1, 1, 2, 2]
    add.accept = lambda v: v.id > 2
    assert sums() == sums() == [1, 1, 1, 2]
    add.reduce = weft.prod
    assert sums() == [1, 1, 1, 1]
    folded = weft.fold(add)
    assert sums(folded) == [1, 1, 1, 1]
    folded.parts = (weft.edge(add.function, into="x", reduce=weft.sum),)
    assert sums(folded) == [1, 2, 2, 2]
    assert len(counted) == 5


def test_a_builtin_that_is_replaced_is_seen(counted, monkeypatch):
    @weft.vertex
    def scale(v):
        v.x = v.x * abs(-2)

    assert result(scale) == result(scale) == [2, 2, 1, 1]
    assert len(counted) == 1
    monkeypatch.setattr(builtins, "abs", lambda x: 5)
    assert result(scale) == [5, 5, 1, 1]


def test_a_function_that_changes_what_it_reads_is_traced_every_time(counted):
    count = 0

    @weft.vertex
    def scale(v):
        nonlocal count
        count += 1
        v.x = v.x * count

    assert [result(scale)[0] for _ in range(3)] == [1, 2, 3]

    @weft.vertex
    def by_attribute(v):
        double.rate += 1
        v.x = double(v.x)

    double.rate = 0
    assert [result(by_attribute)[0] for _ in range(3)] == [1, 2, 3]


def test_functions_of_libraries_leave_a_trace_cached(counted):
    @weft.vertex
    def scale(v):
        v.x = weft.where(v.id < np.int64(math.floor(np.pi)), v.x * 2, weft.cast(v.x, weft.int64))

    assert result(scale) == result(scale) == [2, 2, 1, 1]
    assert len(counted) == 1


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
