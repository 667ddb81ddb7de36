"""The verifier accepts what tracing makes, and names what is broken."""

import numpy as np
import pytest

from weft.errors import VerifyError
from weft.ir.check.show import show
from weft.ir.check.verify import verify
from weft.ir.ops import BOOL, FLOAT64, INT32, INT64, Block, Reduction, Signature, Value
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids as m
from weft.ir.trace.neighbors import common
from weft.ir.trace.proxies import send
from weft.ir.trace.steps import Roles, trace_program
from weft.program import edge, fold, vertex

SIGNATURE = Signature(
    (
        ("x", INT32, ()), ("y", FLOAT64, ()), ("label", INT64, ()), ("vec", FLOAT64, (3,)),
        ("mat", FLOAT64, (3, 3)), ("flag", BOOL, ()),
    ),
    (("msg", FLOAT64, ()),),
    (("weight", FLOAT64, ()),),
    (("error", FLOAT64), ("count", INT64)),
    np.dtype(np.int32),
)  # fmt: skip


def relax():
    @edge(
        into=("y", "label"), reduce=m.argmin, accept=lambda v: v.x < 3,
        active=lambda v, old: v.y < old.y, priority=lambda v: v.y,
    )  # fmt: skip
    def relax(u, v, e):
        e.msg = e.reverse.msg + 1
        fn.reduce("count", 1, m.sum)
        u.x.at(v.id).max(2)
        return send((u.y + e.weight, u.id), when=~v.flag)

    return relax


def refit():
    @vertex(wake="neighbors")
    def refit(v, error):
        gram, rhs = v.gather(lambda u, e: (fn.outer(u.vec, u.vec), e.weight * u.vec), m.sum)
        v.vec = fn.normalize(fn.solve(gram + error * fn.eye(3), rhs), "l2")
        v.label = v.gather(lambda u, e: u.label, m.mode, direction="both")
        a, b = fn.while_loop(lambda a, b: a < 3, lambda a, b: (a + 1, b * 2.0), 0, v.y)
        v.y = b + v.old.y + m.sum(v.vec) + v.mat[1, 2]
        v.x = fn.for_range(0, 3, lambda i, s: s + fn.cast(i, np.int32), v.x)
        v.changed = (a > 1) | fn.isnan(v.y)

    return refit


def triangles():
    @edge(into="label", reduce=m.sum)
    def triangles(u, v, e):
        key = fn.bitcast(fn.random_bits(u.id, 3), np.int64)
        some = fn.where(fn.degree(u.id) > 0, fn.neighbor(u.id, 0), fn.neighbor_edge(u.id, 0))
        return common(u, v, lambda w: w.x + key, m.sum) + some + fn.popcount(u.x) + e.rank

    return triangles


def whole_program(**options):
    longest = m.monoid(lambda a, b: fn.where(abs(a) > abs(b), a, b), 0.0)
    keep = edge(lambda u, v, e: u.y, into="y", reduce=longest)
    functions = [relax(), refit(), triangles(), fold(keep, vertex(lambda v: v.flag))]
    options = {
        "until": lambda error: error < 1e-3,
        "refill": vertex(lambda v: v.x > 0),
        "next_threshold": lambda old, stats: old + stats.min,
        **options,
    }
    return trace_program(functions, SIGNATURE, "iterate", Roles(**options))


def test_traced_programs_pass():
    verify(whole_program())


def test_show_names_everything():
    text = show(whole_program(trail=True))
    for line in (
        "program iterate trail",
        "edge relax into y, label by argmin",
        "accept(v):",
        "active(v, before):",
        "priority(v):",
        "vertex refit wake=neighbors",
        "= load u.y : float64",
        "= load e.reverse.msg : float64",
        "= load v.old.y : float64",
        "= load scalar error : float64",
        "gather both (mode)",
        "gather in (sum, sum) : float64[3, 3], float64[3] {",
        "= at_reduce x max %",
        "= reduce_scalar count sum %",
        "edge <lambda> into y by user(0.0)",
        "vertex <lambda> wake=changed folded",
        "refill",
        "until:",
        "next_threshold:",
        "given %",
    ):
        assert line in text, f"{line!r} is not in\n{text}"


def test_show_numbers_values_in_order():
    function = edge(lambda u, v, e: u.x + 1, into="x", reduce=m.min)
    text = show(trace_program(function, SIGNATURE, "run"))
    assert "    %3 = add %0, %2 : int32\n    return %3\n" in text


def traced(body, **options):
    return trace_program(vertex(body, **options), SIGNATURE, "run")


def simple():
    """Return a program `v.x = v.x + 1` and its instructions."""

    def body(v):
        v.x = v.x + 1

    program = traced(body)
    return program, program.steps[0].body.body


def find(program, op):
    for step in program.steps:
        for value in step.body.walk():
            if value.op == op:
                return value
    raise LookupError(op)


def broken(program, message):
    with pytest.raises(VerifyError, match=message) as caught:
        verify(program)
    return str(caught.value)


def test_messages_name_the_function_and_the_instruction():
    program, body = simple()
    body[0].dtype = FLOAT64
    text = broken(program, "its result should be int32")
    assert text.startswith("body, body: ")
    assert "= load v.x : float64" in text


def test_use_before_definition():
    program, body = simple()
    body.insert(0, body.pop())
    broken(program, "operand 0 .* is used before it is defined")


def test_values_of_an_inner_block_are_not_seen_outside():
    def body(v):
        v.x = v.gather(lambda u, e: u.x + 1, m.sum)

    program = traced(body)
    find(program, "store").args = (find(program, "gather").blocks[0].results[0],)
    broken(program, "used before it is defined")


def test_a_value_stands_once():
    program, body = simple()
    body.append(body[0])
    broken(program, "stands here twice")


def test_unknown_op():
    program, body = simple()
    body[0].op = "lod"
    broken(program, "the op 'lod' cannot stand in a block")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda add: setattr(add, "dtype", INT64), "its result should be int32"),
        (lambda add: setattr(add, "shape", (3,)), r"its result should be int32"),
        (lambda add: setattr(add, "args", add.args[:1]), "1 operands, expected 2"),
        (lambda add: setattr(add, "op", "div"), "div of int32"),
        (lambda add: setattr(add, "op", "sqrt"), "2 operands, expected 1"),
        (lambda add: setattr(add.args[1], "dtype", INT64), "operand 1 is int64, expected int32"),
        (lambda add: setattr(add, "op", "lt"), "its result should be bool"),
        (lambda add: setattr(add, "op", "select"), "2 operands, expected 3"),
    ],
)
def test_elementwise_types(change, message):
    program, _ = simple()
    change(find(program, "add"))
    broken(program, message)


@pytest.mark.parametrize(
    ("attr", "message"),
    [
        (("field", "u", "x"), "u cannot be read here"),
        (("field", "v", "z"), "there is no 'z' to load"),
        (("column", "e", "weight"), "e cannot be read here"),
        (("scalar", "total"), "there is no 'total' to load"),
        (("threshold", "min"), "threshold cannot be read here"),
        (("somewhere",), "the load .* is not known"),
    ],
)
def test_loads(attr, message):
    program, _ = simple()
    find(program, "load").attr = attr
    broken(program, message)


def test_stores_fit_their_field():
    program, _ = simple()
    find(program, "store").attr = "y"
    broken(program, "operand 0 is int32, expected float64")


def test_a_weak_value_is_not_stored():
    def body(v):
        v.label = v.id

    program = traced(body)
    store = find(program, "store")
    store.args = store.args[0].args
    broken(program, "operand 0 of an effect is weak")


def test_effects_are_kept_out_of_conditions():
    program = trace_program(relax(), SIGNATURE, "run")
    step = program.steps[0]
    step.accept.body.append(find(program, "at_reduce"))
    broken(program, "relax, accept: ")
    program, body = simple()
    body[-1].op, body[-1].attr = "store_edge", "msg"
    broken(program, "store_edge|operand 0 is int32")


def test_an_effect_has_no_result():
    program, body = simple()
    body.append(Value("cast", (body[-1],), None, INT64))
    broken(program, "is a store, which has no result")


@pytest.mark.parametrize("part", [-1, 2, None])
def test_project_stays_in_range(part):
    def body(v):
        v.x, v.label = v.gather(lambda u, e: (u.x, u.label), m.min)

    program = traced(body)
    find(program, "project").attr = part
    broken(program, "part .* of 2")


def test_several_results_are_read_by_project():
    def body(v):
        v.x = v.gather(lambda u, e: u.x, m.sum)

    program = traced(body)
    find(program, "store").args = (find(program, "gather"),)
    broken(program, "read its parts by project")


def loop_program():
    def body(v):
        v.x = fn.while_loop(lambda i: i < 3, lambda i: i + 1, v.x)
        v.label = fn.for_range(0, v.x, lambda i, s: s + i, v.label)

    return traced(body)


@pytest.mark.parametrize(
    ("op", "change", "message"),
    [
        ("while", lambda w: setattr(w, "blocks", w.blocks[:1]), "1 blocks, expected a condition"),
        ("while", lambda w: setattr(w, "results", ()), r"results \(\), expected \(int32\)"),
        ("while", lambda w: setattr(w, "attr", None), "the bound is None"),
        ("while", lambda w: setattr(w.blocks[0], "params", ()), r"parameters \(\), expected"),
        (
            "while",
            lambda w: setattr(w.blocks[0], "results", w.blocks[1].results),
            "is not defined|expected",
        ),
        ("for", lambda f: setattr(f, "args", f.args[:1]), "expected two int64 bounds"),
        ("for", lambda f: setattr(f.blocks[0], "results", ()), r"results \(\), expected \(int64\)"),
    ],
)
def test_loops(op, change, message):
    program = loop_program()
    change(find(program, op))
    broken(program, message)


@pytest.mark.parametrize(
    ("attr", "message"),
    [
        (("inside", ((Reduction("sum"), 1, False),)), "direction 'inside' is not known"),
        (("in", ((Reduction("sum"), 2, False),)), "sum of 2 messages"),
        (("in", ((Reduction("median"), 1, False),)), "the monoid 'median' is not known"),
        (("in", ((Reduction("sum"), 1, True),)), "results .*expected"),
        (("in", ((Reduction("argmin"), 1, False),)), "argmin of 1 messages"),
        (("in", ((Reduction("user"), 1, False),)), "lacks one"),
    ],
)
def test_gathers(attr, message):
    def body(v):
        v.x = v.gather(lambda u, e: u.x, m.sum)

    program = traced(body)
    find(program, "gather").attr = attr
    broken(program, message)


def test_a_gather_belongs_to_a_vertex_function():
    def body(v):
        v.x = v.gather(lambda u, e: u.x, m.sum)

    program = traced(body)
    gather = find(program, "gather")
    step = trace_program(relax(), SIGNATURE, "run").steps[0]
    step.body.body.insert(0, gather)
    program.steps = (step,)
    broken(program, "at the top of a vertex function only")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: setattr(s.body, "results", s.body.results[:2]), "results .*expected"),
        (lambda s: setattr(s, "into", ("y",)), "results .*expected|argmin of 1"),
        (lambda s: setattr(s, "into", ("y", "z")), "the unknown field 'z'"),
        (lambda s: setattr(s, "into", ("y", "y")), "names a field twice|results"),
        (lambda s: setattr(s, "reductions", (Reduction("sum"),)), "1 reductions for 2 fields"),
        (lambda s: setattr(s, "reductions", (Reduction("mode"),) * 2), "mode belongs in a gather"),
        (lambda s: setattr(s, "kind", "face"), "kind='face' is not known"),
        (lambda s: setattr(s, "wake", "some"), "wake='some' is not known"),
        (lambda s: setattr(s, "folded", True), "cannot continue a fold"),
        (lambda s: setattr(s.accept, "results", ()), r"relax, accept: results \(\)"),
    ],
)
def test_steps(change, message):
    program = trace_program(relax(), SIGNATURE, "run")
    change(program.steps[0])
    broken(program, message)


def test_programs():
    program, _ = simple()
    program.mode = "walk"
    broken(program, "mode='walk' is not known")
    program, _ = simple()
    program.steps = ()
    broken(program, "no steps")
    program, _ = simple()
    program.until = Block((), [], ())
    broken(program, r"until: results \(\), expected \(bool\)")


@pytest.mark.parametrize(
    ("op", "change", "message"),
    [
        ("outer", lambda x: setattr(x, "args", x.args[:1]), "1 operands, expected 2"),
        ("outer", lambda x: setattr(x, "shape", (3,)), "its result should be"),
        ("solve", lambda x: setattr(x, "args", x.args[::-1]), "solve of shapes"),
        ("normalize", lambda x: setattr(x, "attr", "l3"), "normalize by 'l3'"),
        ("feature_reduce", lambda x: setattr(x, "attr", "or"), "or of float64"),
        ("index", lambda x: setattr(x, "shape", (2,)), "its result should be"),
        ("eye", lambda x: setattr(x, "attr", 4), "its result should be"),
    ],
)
def test_features(op, change, message):
    program = trace_program(refit(), SIGNATURE, "run")
    change(find(program, op))
    broken(program, message)


@pytest.mark.parametrize(
    ("op", "change", "message"),
    [
        ("at_reduce", lambda x: setattr(x, "attr", ("x", "prod")), "'prod' is not known here"),
        ("at_reduce", lambda x: setattr(x, "attr", ("vec", "min")), "needs a scalar"),
        ("at_reduce", lambda x: setattr(x, "attr", ("z", "min")), "there is no field 'z'"),
        ("at_reduce", lambda x: setattr(x, "attr", ("y", "or")), "or of float64"),
        (
            "reduce_scalar",
            lambda x: setattr(x, "attr", ("count", Reduction("any"))),
            "any cannot reduce into a scalar",
        ),
        ("reduce_scalar", lambda x: setattr(x, "attr", ("sum", m.sum)), "there is no 'sum'"),
        ("store_edge", lambda x: setattr(x, "attr", "weight"), "there is no 'weight' to write"),
    ],
)
def test_effects(op, change, message):
    program = trace_program(relax(), SIGNATURE, "run")
    change(find(program, op))
    broken(program, message)


@pytest.mark.parametrize(
    ("op", "change", "message"),
    [
        (
            "common",
            lambda x: setattr(x, "attr", ((Reduction("mode"), 1, False),)),
            "cannot combine over common",
        ),
        ("common", lambda x: setattr(x.blocks[0], "results", ()), r"results \(\), expected"),
        ("neighbor", lambda x: setattr(x, "args", x.args[:1]), "1 operands, expected 2"),
        ("random_bits", lambda x: setattr(x, "dtype", FLOAT64), "its result should be uint64"),
        ("bitcast", lambda x: setattr(x, "dtype", INT32), "bits of uint64 as int32"),
        ("popcount", lambda x: setattr(x, "dtype", INT64), "its result should be int32"),
    ],
)
def test_computed_vertices(op, change, message):
    program = trace_program(triangles(), SIGNATURE, "run")
    change(find(program, op))
    broken(program, message)
