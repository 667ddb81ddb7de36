"""Misuse inside traced functions: the message, the remedy, and the user's own line."""

import copy
import functools
import math

import numpy as np
import pytest

import weft
from weft.errors import FieldError, TraceError
from weft.ir.check.verify import verify
from weft.ir.ops import BOOL, FLOAT64, INT32, INT64, Signature
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids as m
from weft.ir.trace.neighbors import common
from weft.ir.trace.proxies import send
from weft.ir.trace.steps import Roles, trace_program
from weft.program import edge, fold, vertex

SIGNATURE = Signature(
    (
        ("x", INT32, ()), ("y", FLOAT64, ()), ("level", INT64, ()), ("flag", BOOL, ()),
        ("vec", FLOAT64, (3,)), ("mat", FLOAT64, (3, 3)),
    ),
    (("msg", FLOAT64, ()),),
    (("weight", FLOAT64, ()),),
    (("error", FLOAT64),),
    np.dtype(np.int32),
)  # fmt: skip

TRUTH = ("truth of a traced value", "weft.where")
ITERATION = ("cannot be iterated", "weft.for_range")
NO_NUMBER = ("has no number yet", "weft.cast")
NOT_A_NUMBER = ("is not a number", "u.id == v.id")
PROXY = ("Use one of its fields",)
SCALAR_CONDITION = ("must be a scalar condition", "weft.any")
CONDITION = ("must be a condition, but is float64", "x > 0")
READ_ONLY = ("cannot be assigned", "read only")

# Each line is one misuse in a vertex function, with parts of the message that it must give.
VERTEX = {
    "if": (lambda v: 1 if v.x > 0 else 2, *TRUTH),
    "and": (lambda v: (v.x > 0) and (v.x < 3), *TRUTH),
    "or": (lambda v: (v.x > 0) or (v.x < 3), *TRUTH),
    "not": (lambda v: not v.flag, *TRUTH),
    "chained comparison": (lambda v: 0 < v.x < 3, *TRUTH),
    "max": (lambda v: max(v.x, 3), *TRUTH),
    "min": (lambda v: min(v.x, v.level), *TRUTH),
    "iteration": (lambda v: list(v.vec), *ITERATION),
    "unpacking": (lambda v: (lambda a, b, c: a)(*v.vec), *ITERATION),
    "comprehension": (lambda v: [2 * x for x in v.vec], *ITERATION),
    "sum": (lambda v: sum(v.vec), *ITERATION),
    "len": (lambda v: len(v.vec), "has no len()", "x.size"),
    "in": (lambda v: 3 in v.vec, "`in` cannot be traced", "weft.any"),
    "f-string": (lambda v: f"{v.x}", "cannot be formatted"),
    "format": (lambda v: "{:.2f}".format(v.x), "cannot be formatted"),  # noqa: UP032
    "float": (lambda v: float(v.x), *NO_NUMBER),
    "int": (lambda v: int(v.x), *NO_NUMBER),
    "math": (lambda v: math.sqrt(v.x), "has no number yet", "Use weft.sqrt"),
    "list index": (lambda v: [1, 2, 3][v.x], "cannot index a Python object", ".at(i)"),
    "range": (lambda v: range(v.x), "bound a Python range", "weft.for_range"),
    "round to digits": (lambda v: round(v.y, 2), "rounded to whole numbers", "Scale it"),
    "item assignment": (lambda v: v.vec.__setitem__(0, 1.0), "cannot be changed in place"),
    "np.array": (lambda v: np.array(v.vec), "cannot become a NumPy array", "weft.stack"),
    "np.array of several": (lambda v: np.array([v.x, v.x]), "cannot become a NumPy array"),
    "array index": (lambda v: np.arange(5)[v.x], "cannot become a NumPy array"),
    "np.where": (lambda v: np.where(v.x > 0, 1, 2), "numpy.where has no traced form", "weft.where"),
    "np.sum": (lambda v: np.sum(v.vec), "numpy.sum has no traced form", "weft.sum"),
    "np.clip": (lambda v: np.clip(v.x, 0, 1), "numpy.clip has no traced form"),
    "np.dot": (lambda v: np.dot(v.vec, v.vec), "numpy.dot has no traced form", "weft.dot"),
    "np.logaddexp": (lambda v: np.logaddexp(v.y, 1.0), "numpy.logaddexp has no traced form"),
    "np.add.reduce": (lambda v: np.add.reduce(v.vec), "has no traced form"),
    "truth of a vertex": (lambda v: bool(v), "no truth value", *PROXY),
    "iteration of a vertex": (lambda v: list(v), "cannot be iterated", "v.gather"),
    "len of a vertex": (lambda v: len(v), "has no len()", *PROXY),
    "in a vertex": (lambda v: 3 in v, "`in` cannot be traced", *PROXY),
    "formatted vertex": (lambda v: f"{v}", "cannot be formatted", *PROXY),
    "vertex + 1": (lambda v: v + 1, *NOT_A_NUMBER),
    "vertex == id": (lambda v: v == 3, *NOT_A_NUMBER),
    "vertex < id": (lambda v: v < 3, *NOT_A_NUMBER),
    "array * vertex": (lambda v: np.array([1.0, 2.0]) * v, *NOT_A_NUMBER),
    "vertex as a value": (lambda v: fn.where(v, 1, 2), "of type Vertex cannot be used"),
    "string": (lambda v: fn.where(v.x > 0, "a", 1), "of type str cannot be used"),
    "field that is not there": (lambda v: v.levle, "no field 'levle'", "Did you mean 'level'?"),
    "old field that is not there": (lambda v: v.old.z, "no field 'z'", "Expected one of 'x'"),
    "assigned field not there": (
        lambda v: setattr(v, "levl", 1), "no field 'levl'", "Did you mean 'level'?",
    ),
    "float into int": (
        lambda v: setattr(v, "x", v.y), "'x' is int32, but got float64", "weft.cast(x, weft.int32)",
    ),
    "wide into narrow": (lambda v: setattr(v, "x", v.level), "'x' is int32, but got int64"),
    "float constant into int": (lambda v: setattr(v, "x", 1.5), "but got a floating-point value"),
    "constant out of range": (lambda v: setattr(v, "x", 2**40), "does not fit int32", "wider"),
    "constant of an operand": (lambda v: v.x + 2**40, "does not fit int32", "cast the other"),
    "constant over 64 bits": (lambda v: v.x + 2**70, "does not fit 64 bits"),
    "vector into scalar": (lambda v: setattr(v, "x", v.vec), "has shape (), but got", "(3,)"),
    "nothing into a field": (lambda v: setattr(v, "x", None), "of type NoneType cannot be used"),
    "assigned old": (lambda v: setattr(v.old, "x", 1), "old values cannot be assigned"),
    "changed by a vector": (lambda v: setattr(v, "changed", v.vec > 1), *SCALAR_CONDITION),
    "returned vector": (lambda v: v.vec, *SCALAR_CONDITION),
    "shapes": (lambda v: v.vec + fn.stack([1.0, 2.0]), "shapes (3,) and (2,) do not match"),
    "matrix product": (lambda v: v.mat @ fn.stack([1.0, 2.0]), "do not fit a matrix product"),
    "solve of a vector": (lambda v: fn.solve(v.vec, v.vec), "a (k, k) matrix and a (k,) vector"),
    "slice": (lambda v: v.vec[0:2], "cannot be sliced", "weft.stack"),
    "feature out of range": (lambda v: v.vec[3], "feature 3 of a value with 3"),
    "feature of a scalar": (lambda v: v.x[0], "a scalar has no features"),
    "bits of a float": (lambda v: v.y & 1, "bit_and needs integers"),
    "inverted float": (lambda v: ~v.y, "invert needs an integer"),
    "negated condition": (lambda v: -v.flag, "neg of a truth value", "Use ~"),
    "bits of float features": (lambda v: m.or_(v.vec), "combines truth values or integers"),
    "mode of features": (lambda v: m.mode(v.vec), "the messages of a gather"),
    "unknown dtype": (lambda v: fn.cast(v.x, "complex64"), "weft.cast has dtype 'complex64'"),
    "bitcast width": (lambda v: fn.bitcast(v.x, "int64"), "of the same width"),
    "random of a float": (lambda v: fn.random(v.y), "random needs integer scalars"),
    "unknown norm": (lambda v: fn.normalize(v.vec, "l1"), "normalize by 'l1' is not known", "'l2'"),
    "gather of nothing": (
        lambda v: v.gather(lambda u, e: None, m.sum), "but must return a message", "weft.send",
    ),
    "gather direction": (lambda v: v.gather(lambda u, e: 1, m.sum, direction="inn"), "'inn'"),
    "gather in a gather": (
        lambda v: v.gather(lambda u, e: v.gather(lambda u, e: 1, m.sum), m.sum), "another gather",
    ),
    "gather by a name": (lambda v: v.gather(lambda u, e: 1, "sum"), "'sum' is not a monoid"),
    "gather argmin of one": (lambda v: v.gather(lambda u, e: u.x, m.argmin), "at least one more"),
    "gather or of floats": (lambda v: v.gather(lambda u, e: u.y, m.or_), "message is float64"),
    "gather sum of truths": (lambda v: v.gather(lambda u, e: u.flag, m.sum), "Cast to a number"),
    "assigned u in a gather": (
        lambda v: v.gather(lambda u, e: setattr(u, "x", 1), m.sum), "u.x", *READ_ONLY,
    ),
    "assigned v in a gather": (
        lambda v: v.gather(lambda u, e: setattr(v, "x", 1), m.sum), "assigned inside a loop",
    ),
    "for_range of nothing": (
        lambda v: fn.for_range(0, 3, lambda i, s: None, 0), "for_range must return its state",
    ),
    "while_loop of nothing": (
        lambda v: fn.while_loop(lambda s: None, lambda s: s, 0), "returned nothing",
    ),
    "while_loop on a vector": (
        lambda v: fn.while_loop(lambda s: s < 3, lambda s: s, v.vec), *SCALAR_CONDITION,
    ),
    "while_loop that widens": (
        lambda v: fn.while_loop(lambda s: s < 3, lambda s: s + 0.5, 0), "is int64, but got float64",
    ),
    "scalar not there": (
        lambda v: fn.reduce("eror", v.y, m.sum), "no scalar 'eror'", "Did you mean 'error'?",
    ),
    "scalar by any": (lambda v: fn.reduce("error", v.y, m.any), "cannot reduce into a scalar"),
    "scalar by a name": (lambda v: fn.reduce("error", v.y, "sum"), "'sum' is not a monoid"),
    "scalar of a vector": (lambda v: fn.reduce("error", v.vec, m.sum), "has shape (), but got"),
    "scalar in a loop": (
        lambda v: fn.for_range(0, 3, lambda i: fn.reduce("error", v.y, m.sum)), "top of a function",
    ),
    "live vector": (lambda v: v.vec.at(0).load(), "works on scalar fields"),
    "live float index": (lambda v: v.x.at(v.y).load(), "an index must be an integer scalar"),
    "live float into int": (lambda v: v.x.at(0).set(1.5), "'x' is int32", "weft.cast"),
    "live or of a float": (lambda v: v.y.at(0).or_(1.0), "or needs integers"),
    "dtype that is none": (lambda v: fn.cast(v.x, None), "weft.cast has dtype None"),
    "float16": (lambda v: v.y * np.float16(2), "a number has dtype dtype('float16')", "float32"),
    "gather in a dtype": (
        lambda v: v.gather(lambda u, e: u.x, m.sum, dtype="foo"), "v.gather has dtype 'foo'",
    ),
    "degree of a vertex": (lambda v: fn.degree(v), "of type Vertex cannot", "or its id"),
    "eye of nothing": (lambda v: fn.eye(0), "eye of 0 rows", "from 1 on"),
    "eye of a fraction": (lambda v: fn.eye(2.5), "eye of 2.5 rows"),
    "eye of a dtype": (lambda v: fn.eye(2, "complex64"), "weft.eye has dtype 'complex64'"),
    "while_loop below 0": (
        lambda v: fn.while_loop(lambda s: s < 3, lambda s: s, 0, bound=-1), "bound=-1. Expected an",
    ),
    "while_loop beyond 63 bits": (
        lambda v: fn.while_loop(lambda s: s < 3, lambda s: s, 0, bound=2**63), "of 63 bits",
    ),
    "scalar by a number": (lambda v: fn.reduce(3, v.y, m.sum), "no scalar '3'"),
    "dictionary": (lambda v: {0: 1}[v.x], "cannot be a key of a dictionary", "weft.where"),
    "assigned id": (lambda v: setattr(v, "id", 1), "v.id cannot be assigned"),
    "undeclared field": (lambda v: v.z, "or declare it: g.state(z=...)"),
    "gather of one": (
        lambda v: v.gather(lambda u: u.x, m.sum), "a gather takes 1 parameter(s). Expected 2: u, e",
    ),
    "gather of a number": (lambda v: v.gather(3, m.sum), "a gather is 3. Expected a function of u"),
    "common of two": (lambda v: common(v, v, lambda a, b: 1, m.sum), "Expected 3: w, ea, eb"),
    "while_loop of two": (
        lambda v: fn.while_loop(lambda a, b: a < b, lambda a: a, 0), "Expected 1: state 0",
    ),
    "while_loop with a body of two": (
        lambda v: fn.while_loop(lambda a: a < 3, lambda a, b: a, 0), "body of while_loop takes 2",
    ),
    "for_range without i": (
        lambda v: fn.for_range(0, 3, lambda: 0, 0), "Expected 2: i, state 0",
    ),
    "common by mode": (lambda v: common(v, v, lambda w: 1, m.mode), "cannot combine over common"),
    "common by argmin of one": (
        lambda v: common(v, v, lambda w: 1, m.argmin), "argmin needs a key and at least one more",
    ),
    "common of a vector": (
        lambda v: common(v, v, lambda w: fn.stack([1, 2]), m.sum), "returns scalar messages",
    ),
    "common in another": (
        lambda v: common(v, v, lambda w: common(v, w, lambda x: 1, m.sum), m.sum),
        "cannot stand inside",
    ),
    "assigned edge of common": (
        lambda v: common(v, v, lambda w, ea, eb: setattr(ea, "cap", 1), m.sum),
        "ea.cap cannot be assigned",
    ),
    "changed by a float": (lambda v: setattr(v, "changed", 1.5), "v.changed", *CONDITION),
    "returned float": (lambda v: v.y, "what <lambda> returns", *CONDITION),
    "where of a float": (lambda v: fn.where(v.y, 1, 2), "condition of weft.where", *CONDITION),
    "while_loop on a float": (
        lambda v: fn.while_loop(lambda s: s, lambda s: s - 1, v.y), *CONDITION,
    ),
    "gather when a float": (
        lambda v: v.gather(lambda u, e: send(u.x, when=u.y), m.sum), "when=", *CONDITION,
    ),
    "any of floats": (lambda v: m.any(v.vec), "x of weft.any(x)", *CONDITION),
}  # fmt: skip

# In an edge function, with the options of weft.edge.
INTO_X = {"into": "x", "reduce": m.sum}
EDGE = {
    "nothing returned": (lambda u, v, e: None, INTO_X, "nothing, but must return a message"),
    "assigned u": (lambda u, v, e: setattr(u, "x", 1), INTO_X, "u.x", *READ_ONLY, "into="),
    "assigned v": (lambda u, v, e: setattr(v, "x", 1), INTO_X, "v.x", *READ_ONLY, "into="),
    "assigned column": (
        lambda u, v, e: setattr(e, "weight", 1.0), {}, "is a column of the graph", "g.edge_state",
    ),
    "undeclared edge field": (lambda u, v, e: e.reverse.z, INTO_X, "declare it: g.edge_state(z="),
    "assigned edge field not there": (
        lambda u, v, e: setattr(e, "mgs", 1.0), {}, "no field 'mgs'", "Did you mean 'msg'?",
    ),
    "assigned reverse": (lambda u, v, e: setattr(e.reverse, "msg", 1.0), {}, "is read only"),
    "edge field not there": (lambda u, v, e: e.wieght, INTO_X, "Did you mean 'weight'?"),
    "dtype of a message": (
        lambda u, v, e: u.y, INTO_X, "'x' (into of <lambda>) is int32, but got float64",
    ),
    "shape of a message": (lambda u, v, e: u.vec, INTO_X, "has shape (), but got", "(3,)"),
    "number of messages": (lambda u, v, e: (u.x, u.x), INTO_X, "returned 2 message(s)"),
    "into a field not there": (
        lambda u, v, e: u.x, {"into": "lvel", "reduce": m.sum}, "Did you mean 'level'?",
    ),
    "bits of floats": (
        lambda u, v, e: u.y, {"into": "y", "reduce": m.or_}, "truth values or integers",
    ),
    "sum of truths": (lambda u, v, e: u.flag, {"into": "flag", "reduce": m.sum}, "weft.or_"),
    "argmin of vectors": (
        lambda u, v, e: (u.y, u.vec), {"into": ("y", "vec"), "reduce": m.argmin}, "scalar fields",
    ),
    "condition of a vector": (
        lambda u, v, e: send(u.x, when=u.vec > 0), INTO_X, "when=", *SCALAR_CONDITION,
    ),
    "condition of a float": (lambda u, v, e: send(u.x, when=0.5), INTO_X, "when=", *CONDITION),
    "float without into": (lambda u, v, e: e.weight, {}, "without into=", *CONDITION),
    "messages without into": (lambda u, v, e: send(u.x), {}, "no field takes them", "into="),
    "tuple without into": (lambda u, v, e: (u.x, u.x), {}, "no field takes them", "into="),
    "vector without into": (lambda u, v, e: u.vec > 0, {}, *SCALAR_CONDITION),
    "gather of u": (lambda u, v, e: u.gather(lambda u, e: 1, m.sum), INTO_X, "only v can gather"),
    "u == v": (lambda u, v, e: send(1, when=u == v), INTO_X, *NOT_A_NUMBER),
    "edge + 1": (lambda u, v, e: e + 1, INTO_X, *NOT_A_NUMBER),
    "into a live field": (
        lambda u, v, e: u.x.at(0).add(1), INTO_X, "touches it by .at(i) as well", "use one",
    ),
    "user monoid of a vector": (
        lambda u, v, e: u.vec, {"into": "vec", "reduce": m.monoid(lambda a, b: a + b, 0.0)},
        "combines scalars, but field 'vec' has shape (3,)",
    ),
    "combine of one": (
        lambda u, v, e: u.x, {"into": "x", "reduce": m.monoid(lambda a: a, 0)}, "Expected 2: a, b",
    ),
    "identity that does not fit": (
        lambda u, v, e: u.x, {"into": "x", "reduce": m.monoid(lambda a, b: a + b, 0.5)},
        "the identity 0.5 of user does not fit int32",
    ),
}  # fmt: skip

# The role is what is wrong; it stands on the same line.
ROLES = {
    "accept of nothing": (lambda v: None, "accept", "accept returned nothing"),
    "accept of a vector": (lambda v: v.vec > 0, "accept", *SCALAR_CONDITION),
    "accept of a float": (lambda v: v.y, "accept", "accept must be", *CONDITION),
    "active of a float": (lambda v, old: v.y - old.y, "active", "active must be", *CONDITION),
    "accept that assigns": (lambda v: setattr(v, "x", 1), "accept", "v.x", *READ_ONLY),
    "accept that writes": (lambda v: v.x.at(0).add(1) > 0, "accept", "only looks at the state"),
    "accept that reduces": (lambda v: fn.reduce("error", 1.0, m.sum), "accept", "only looks at"),
    "accept that gathers": (lambda v: v.gather(None, m.sum) > 0, "accept", "only v can gather"),
    "accept without v": (lambda: True, "accept", "takes 0 parameter(s). Expected 1: v first"),
    "accept of no scalar": (lambda v, eror: v.x > 0, "accept", "asks for 'eror'", "'error'?"),
    "active without old": (lambda v: v.x > 0, "active", "Expected 2: v, old first"),
    "active that assigns": (lambda v, old: setattr(old, "x", 1), "active", "old.x", *READ_ONLY),
    "priority of a vector": (lambda v: v.vec, "priority", "priority must be a scalar"),
}


def check(caught, function, parts):
    text = str(caught.value)
    for part in parts:
        assert part in text
    line = function.__code__.co_firstlineno
    assert f"at test_tracing_errors.py:{line}: " in text, f"line {line} is not named in\n{text}"


@pytest.mark.parametrize("name", VERTEX)
def test_vertex_functions(name):
    function, *parts = VERTEX[name]
    with pytest.raises((TraceError, FieldError)) as caught:
        trace_program(vertex(function), SIGNATURE, "run")
    check(caught, function, parts)


@pytest.mark.parametrize("name", EDGE)
def test_edge_functions(name):
    function, options, *parts = EDGE[name]
    with pytest.raises((TraceError, FieldError)) as caught:
        trace_program(edge(function, **options), SIGNATURE, "run")
    check(caught, function, parts)


@pytest.mark.parametrize("name", ROLES)
def test_roles(name):
    function, role, *parts = ROLES[name]
    step = edge(lambda u, v, e: u.x, into="x", reduce=m.min, **{role: function})
    with pytest.raises(TraceError) as caught:
        trace_program(step, SIGNATURE, "run")
    check(caught, function, parts)


@pytest.mark.parametrize("until", [lambda: 1.5, lambda error: error])
def test_until_is_a_condition(until):
    with pytest.raises(TraceError, match="until must be a condition, but is float64"):
        trace_program(vertex(lambda v: v.flag), SIGNATURE, "iterate", Roles(until=until))


def test_integers_are_conditions():
    program = trace_program(vertex(lambda v: fn.where(v.x & 1, v.x, 2)), SIGNATURE, "run")
    verify(program)
    assert program.steps[0].conditional


class Model:
    """What somebody decorated in place of its method."""

    def step(self, v):
        v.x = v.x + 1


async def asynchronous(v):
    return v.x > 0


def generator(v):
    yield v.x > 0


async def asynchronous_generator(v):
    yield v.x > 0


@pytest.mark.parametrize(
    ("wrong", "got"),
    [
        (Model, "the class 'Model'"),
        (int, "the class 'int'"),
        (generator, "the generator function 'generator'"),
        (asynchronous, "the async function 'asynchronous'"),
        (asynchronous_generator, "the generator function 'asynchronous_generator'"),
        (functools.partial(generator), "the generator function 'partial'"),
        (len, "the built-in function 'len'"),
        ([].append, "the built-in function 'append'"),
        (np.sqrt, "the built-in function 'sqrt'"),
        (3, "got 3"),
        ("x", "got 'x'"),
    ],
)
def test_what_is_no_function_is_not_decorated(wrong, got):
    g = weft.generators.path(3)
    for make, who in (
        (vertex, "weft.vertex takes a function of v"),
        (edge(into="x", reduce=m.sum), "weft.edge takes a function of u, v, e"),
        (lambda f: weft.maps.edgemap(g, f, g.state()), "edgemap takes a function of u, v, e"),
        (lambda f: weft.maps.vertexmap(g, f, g.state()), "vertexmap takes a function of v"),
        (weft.maps.foldmap, "foldmap takes a function of"),
    ):
        with pytest.raises(TraceError, match=who) as caught:
            make(wrong)
        assert got in str(caught.value)
        assert "Expected a plain Python function" in str(caught.value)


def test_methods_and_callable_objects_are_functions():
    class Callable:
        def __call__(self, v):
            v.x = v.x + 1

    for function in (Model().step, Callable(), functools.partial(Model.step, None)):
        verify(trace_program(vertex(function), SIGNATURE, "run"))


def test_what_a_function_returned_is_told_at_its_last_line():
    @edge(into="x", reduce=m.sum)
    def step(u, v, e):
        twice = 2 * u.y
        return twice + 1.0

    with pytest.raises(TraceError, match="return twice"):
        trace_program(step, SIGNATURE, "run")


def test_the_innermost_line_of_the_user_is_named():
    def shared(x):
        return 1 if x else 2

    with pytest.raises(TraceError, match="return 1 if x else 2"):
        trace_program(vertex(lambda v: shared(v.x)), SIGNATURE, "run")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"into": "x"}, "into= needs reduce="),
        ({"reduce": m.sum}, "reduce= needs into="),
        ({"into": "x", "reduce": "sum"}, "is not a monoid"),
        ({"into": "x", "reduce": sum}, "is not a monoid"),
        ({"into": "x", "reduce": m.mode}, "works in gathers only"),
        ({"into": "x", "reduce": (m.sum, m.min)}, "2 monoids for 1 fields"),
        ({"into": "x", "reduce": m.argmin}, "needs at least two fields"),
        ({"into": ("x", "y"), "reduce": (m.argmin, m.sum)}, "take the whole tuple"),
        ({"into": ("x", "x"), "reduce": m.sum}, "names a field twice"),
        ({"into": "x", "reduce": m.sum, "on": "every"}, "on='every' is not known"),
        ({"into": 5, "reduce": m.sum}, "into=5 names no field"),
        ({"into": ("x", 5), "reduce": m.sum}, "names no field"),
    ],
)
def test_options_of_edge_are_checked_when_it_is_made(options, message):
    with pytest.raises(TraceError, match=message):
        edge(lambda u, v, e: u.x, **options)


def test_other_options_are_checked_when_they_are_given():
    with pytest.raises(TraceError, match="wake='sometimes' is not known"):
        vertex(lambda v: None, wake="sometimes")
    with pytest.raises(TraceError, match="needs at least one function"):
        fold()
    with pytest.raises(TraceError, match=r"made by weft.edge or weft.vertex, but got <function"):
        fold(lambda v: None)
    with pytest.raises(TraceError, match="no function to run"):
        trace_program([], SIGNATURE, "run")
    with pytest.raises(TraceError, match=r"expected functions made by .* but got <function"):
        trace_program(lambda v: None, SIGNATURE, "run")
    for make in (edge, vertex):
        with pytest.raises(TraceError, match=r"takes a function of .*v.* but got 3"):
            make(3)
    step = vertex(lambda v: None)
    for role in ("until", "next_threshold"):
        with pytest.raises(TraceError, match=rf"(?s){role}.*3.* a function.*at test_tracing"):
            trace_program(step, SIGNATURE, "iterate", Roles(**{role: 3}))
    with pytest.raises(TraceError, match=r"next_threshold takes 1 .* Expected 2: old, stats"):
        trace_program(step, SIGNATURE, "iterate", Roles(next_threshold=lambda old: old))
    with pytest.raises(TraceError, match="next_threshold returned nothing"):
        trace_program(step, SIGNATURE, "iterate", Roles(next_threshold=lambda old, stats: None))
    with pytest.raises(TraceError, match=r"accept=3 is not possible. Expected a function"):
        trace_program(edge(lambda u, v, e: None, accept=3), SIGNATURE, "run")
    with pytest.raises(TraceError, match="takes 'error' by name alone"):
        trace_program(vertex(lambda v, *, error: None), SIGNATURE, "run")
    with pytest.raises(TraceError, match="combine must be a function"):
        m.monoid(3, 0)
    with pytest.raises(TraceError, match="identity must be a number"):
        m.monoid(lambda a, b: a, "0")


def test_expressions_need_a_function_being_traced():
    with pytest.raises(TraceError, match="belongs inside a traced function"):
        fn.neighbor(0, 0)


def test_a_name_that_python_asks_for_is_no_field():
    @vertex
    def step(v):
        with pytest.raises((TypeError, AttributeError)):
            copy.copy(v)
        assert not hasattr(v, "__wrapped__")

    trace_program(step, SIGNATURE, "run")


# What looks like misuse but has a traced form.
FINE = {
    "np.sqrt": lambda v: setattr(v, "y", np.sqrt(v.y)),
    "dtype of ids": lambda v: setattr(
        v, "x", v.gather(lambda u, e: u.x, m.sum, dtype=weft.vertex_id)
    ),
    "bits as ids": lambda v: setattr(v, "x", fn.bitcast(v.x, weft.vertex_id)),
    "np.minimum": lambda v: setattr(v, "x", np.minimum(v.x, np.int32(3))),
    "array * vector": lambda v: setattr(v, "vec", np.array([1.0, 2.0, 3.0]) * v.vec),
    "array * scalar": lambda v: setattr(v, "vec", np.array([1.0, 2.0, 3.0]) * v.y),
    "np.float64 * scalar": lambda v: setattr(v, "y", np.float64(2.0) * v.y),
    "abs": lambda v: setattr(v, "x", abs(v.x)),
    "round": lambda v: setattr(v, "y", round(v.y)),
    "floor": lambda v: setattr(v, "y", math.floor(v.y) + math.ceil(v.y) + math.trunc(v.y)),
    "augmented": lambda v: setattr(v, "x", v.x.__add__(1)),
    "closure": lambda v: setattr(v, "x", v.x + len("closure")),
    "live cell in and out of a loop": lambda v: _live_cell(v),
}


class Scaling:
    """Functions of an object, and an object that is one."""

    def scale(self, v, error, factor=2.0):
        v.y = factor * v.y + error

    __call__ = scale


def test_methods_partial_functions_and_callables_take_scalars_too():
    scaling = Scaling()
    by_three = functools.partial(scaling.scale, factor=3.0)
    made = [trace_program(vertex(f), SIGNATURE, "run") for f in (scaling.scale, scaling, by_three)]
    for program in made:
        loads = {value.attr for value in program.steps[0].body.walk() if value.op == "load"}
        assert loads == {("scalar", "error"), ("field", "v", "y")}


def test_logical_functions_of_numbers_ask_whether_they_are_not_zero():
    a, b = np.array([2, 2, 0, 0]), np.array([1, 0, 3, 0])
    g = weft.generators.path(4)
    g.vertex["a"], g.vertex["b"] = a, b
    for name in ("logical_and", "logical_or", "logical_xor"):
        function = getattr(np, name)
        got = g.state(x=lambda v: function(v.a, v.b))  # noqa: B023
        assert got.x.tolist() == function(a, b).tolist(), name
    assert g.state(x=lambda v: np.logical_not(v.a)).x.tolist() == np.logical_not(a).tolist()


def _live_cell(v):
    cell = v.x.at(0)
    inside = fn.for_range(0, 3, lambda i, total: total + cell, v.x)
    v.x = inside + cell


@pytest.mark.parametrize("name", FINE)
def test_fine(name):
    verify(trace_program(vertex(FINE[name]), SIGNATURE, "run"))
