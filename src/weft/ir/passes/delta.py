"""Delta rewriting: turns a gathering vertex function into one that receives changes.

Let x be fields that a vertex function writes, and its gather a sum of messages m(u.x, e). The
function becomes two steps with three hidden values for each x and one for each sum:

    spread  over the arcs of the frontier:  sum(v) += m(sent(u)) - m(before(u))
    step    new = f(sum(v), ...); if it moved far from sent(v), by more than twice the tolerance:
            before(v) = sent(v), sent(v) = new, and v is in the frontier

While many vertices move by more than the tolerance, a *whole* step takes the place of both: the
function as it was written, everywhere. It maintains no sums, so a *renewing* step follows before
the others resume, which gathers all sums from the current x. If no vertex moves far in it, the run
ends with the earlier x (`sent`), from which a step of the original function moves none far. When
the frontier becomes empty otherwise, a *refresh* does the same, but moves only vertices that move
far. A product is stored as the product of its nonzero messages and the number of zeros.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from weft.ir.check.facts import facts_of
from weft.ir.elementwise import ELEMENTWISE
from weft.ir.ops import (
    BOOL,
    FEATURE,
    INT64,
    Block,
    Program,
    Reduction,
    Shape,
    Step,
    Value,
)  # fmt: skip

Kind = tuple[np.dtype[Any], Shape]
_SUM, _PROD = Reduction("sum"), Reduction("prod")


@dataclass
class Delta:
    """A rewritten program, its hidden fields, and those that hold the result."""

    program: Program
    hidden: dict[str, Kind] = field(default_factory=dict)
    results: dict[str, str] = field(default_factory=dict)  # by field, at rest


class Refused(Exception):
    """The reason why a program cannot be change-driven."""


def rewrite(program: Program, tolerance: float) -> Delta:
    """Return the change-driven form of a program.

    Parameters
    ----------
    program
        The traced program; it is not changed.
    tolerance
        At the end, a step of the program moves no feature by more than twice this value. Whole
        steps compare with it; other steps withhold moves of less than twice this value.

    Raises
    ------
    Refused
        With the reason, if the program is of another form.
    """
    _check(program)
    step, whole, renew = (copy.deepcopy(program.steps[0]) for _ in range(3))
    written = sorted(facts_of(step).written)
    gathers = [value for value in step.body.body if value.op == "gather"]
    messages = [m for number, gather in enumerate(gathers) for m in _messages(gather, number)]
    sent = [name for name in written if any(m.reads(name) for m in messages)]
    if not sent:
        raise Refused("its messages do not depend on what it writes")
    hidden: dict[str, Kind] = {m.name: m.kind for m in messages}
    hidden |= {f"{m.name}.zeros": (INT64, m.kind[1]) for m in messages if m.is_product}
    fields = {name: (dtype, shape) for name, dtype, shape in program.signature.fields}
    for name in sent:
        hidden[f"sent.{name}"] = hidden[f"before.{name}"] = fields[name]
    facts = facts_of(step)  # what other than a sum may move a vertex
    always = bool(facts.reduced)
    alone = bool(facts.near & facts.written)  # it continues from its own value
    spread = _spread(messages, sent, step)
    far = 2 * tolerance
    _drive(step, gathers, messages, written, sent, far)
    step.wake, step.everywhere, step.settled = "changed", always or alone, not always
    if step.everywhere and step.settled:
        out = _Body([])
        spread.active = Block((), out.body, (out.const(True, BOOL),))  # an empty notice
    _tell_moves(whole, written, tolerance)
    whole.wake, whole.everywhere = "all", True
    _gather_anew(renew, written, sent, far)
    renew.wake, renew.everywhere = "changed", True
    kinds = tuple((name, *kind) for name, kind in hidden.items())
    signature = replace(program.signature, fields=program.signature.fields + kinds)
    rewritten = replace(
        program, steps=(spread, step), wide=(whole,), renew=(renew,), signature=signature
    )
    # Without a tolerance nothing moves at the end; `until` may end a run at any point.
    results = {name: f"sent.{name}" for name in sent if tolerance and program.until is None}
    return Delta(rewritten, hidden, results)


def _check(program: Program) -> None:
    """Raise `Refused` with the reason for programs of another form."""
    if len(program.steps) != 1 or program.steps[0].kind != "vertex":
        raise Refused("it is not a single vertex function")
    step, facts = program.steps[0], facts_of(program.steps[0])
    gathers = [value for value in step.body.walk() if value.op == "gather"]
    reasons = {
        "it gathers by key": "gather_by" in facts.ops,
        "it gathers nothing": not gathers,
        "it gathers inside a loop": any(g not in step.body.body for g in gathers),
        "it gathers over out-edges": any(g.attr[0] != "in" for g in gathers),
        "refill= and trail= need every superstep": bool(program.refill) or program.trail,
        'with on="all" it runs in every superstep until the condition holds': program.persists,
        "it touches fields by .at(i)": bool(facts.live),
        "its until= reads fields": bool(program.until_fields),
        "it reads old values": bool(facts.old),
        "it depends on the number of the superstep": "superstep" in facts.loads,
        "it returns a condition, or has active=": step.conditional or step.active is not None,
        "it says by v.changed who changed, which tolerance= does": _tells(step.body),
        f"it wakes by wake={step.wake!r}, not all": step.wake != "all",
        "it is folded with others": step.folded,
    }
    for reason, holds in reasons.items():
        if holds:
            raise Refused(reason)
    changing = facts.written | facts.reduced
    for gather in gathers:
        for reduction, _, _ in gather.attr[1]:
            if reduction.name not in ("sum", "prod"):
                raise Refused(f"{reduction.name} has no inverse")
        for value in gather.blocks[0].walk():
            _check_message(value, changing)


def _tells(body: Block) -> bool:
    return any(value.op == "set_changed" for value in body.walk())


def _check_message(value: Value, changing: set[str]) -> None:
    """Raise `Refused` for messages that change although their source does not."""
    if value.op not in ELEMENTWISE | FEATURE | {"load", "const", "constant"}:
        raise Refused(f"its messages use {value.op!r}")
    for inner in (value, *value.args):
        if inner.op != "load":
            continue
        kind, *names = inner.attr
        if kind in ("superstep", "edge_state") or (kind == "scalar" and names[0] in changing):
            raise Refused(f"its messages depend on a {kind.replace('_', ' ')} that changes")
        if kind == "field" and names[0] == "v" and names[1] in changing:
            raise Refused(f"its messages depend on v.{names[1]}, which it writes")


# -- messages


@dataclass
class _Message:
    """One message of a gather, and where its sums are stored."""

    name: str
    value: Value
    when: Value | None  # it is sent only there
    reduction: Reduction

    @property
    def kind(self) -> Kind:
        return self.value.dtype, self.value.shape

    @property
    def is_product(self) -> bool:
        return self.reduction.name == "prod"

    def reads(self, name: str) -> bool:
        return any(_reads(v, name) for v in (self.value, self.when) if v is not None)


def _messages(gather: Value, number: int) -> list[_Message]:
    results = list(gather.blocks[0].results)
    found: list[_Message] = []
    for reduction, count, conditional in gather.attr[1]:
        taken, results = results[:count], results[count:]
        when = results.pop(0) if conditional else None
        for value in taken:
            if value.dtype.kind not in "fiu" or (
                reduction.name == "prod" and value.dtype.kind != "f"
            ):
                raise Refused(f"a {reduction.name} of {value.dtype} has no inverse")
            found.append(_Message(f"total.{number}.{len(found)}", value, when, reduction))
    return found


def _reads(value: Value, name: str) -> bool:
    own = value.op == "load" and value.attr == ("field", "u", name)
    return own or any(_reads(arg, name) for arg in value.args)


class _Body:
    """A block under construction, from copies of other values and new ones."""

    def __init__(self, body: list[Value]) -> None:
        self.body = body
        self.made: dict[tuple[int, str], Value] = {}

    def emit(self, op: str, *args: Value, attr: Any = None, dtype: Any = None) -> Value:
        """Add an elementwise op; the dtype is that of the first operand if it is not given."""
        shape = tuple(np.broadcast_shapes(*(arg.shape for arg in args)))
        value = Value(op, args, attr, dtype or args[0].dtype, shape)
        self.body.append(value)
        return value

    def const(self, number: Any, dtype: np.dtype[Any]) -> Value:
        return self.emit("const", attr=dtype.type(number).item(), dtype=dtype)

    def load(self, who: str, name: str, kind: Kind) -> Value:
        value = Value("load", (), ("field", who, name), *kind)
        self.body.append(value)
        return value

    def select(self, test: Value, a: Value, b: Value) -> Value:
        return self.emit("select", test, a, b, dtype=a.dtype)

    def store(self, name: str, value: Value) -> None:
        self.body.append(Value("store", (value,), name, value.dtype, value.shape))

    def copy(self, value: Value, prefix: str, renamed: list[str]) -> Value:
        """Copy a value; u's fields of some names are read from those with a prefix."""
        key = (id(value), prefix)
        if key not in self.made:
            args = tuple(self.copy(arg, prefix, renamed) for arg in value.args)
            attr = value.attr
            if value.op == "load" and attr[:2] == ("field", "u") and attr[2] in renamed:
                attr = ("field", "u", prefix + attr[2])
            copied = Value(value.op, args, attr, value.dtype, value.shape, weak=value.weak)
            self.body.append(copied)
            self.made[key] = copied
        return self.made[key]


def _spread(messages: list[_Message], sent: list[str], step: Step) -> Step:
    """Return the edge step that sends the changes of messages to their targets."""
    out = _Body([])
    into: list[str] = []
    results: list[Value] = []
    reductions: list[Reduction] = []

    def term(message: _Message, prefix: str) -> tuple[Value, Value | None]:
        value = out.copy(message.value, prefix, sent)
        when = None if message.when is None else out.copy(message.when, prefix, sent)
        return value, when

    for message in messages:
        ends = [term(message, prefix) for prefix in ("sent.", "before.")]
        parts = _factors(out, ends) if message.is_product else [_difference(out, ends)]
        for suffix, (result, reduction) in zip(("", ".zeros"), parts, strict=False):
            into.append(message.name + suffix)
            results.append(result)
            reductions.append(reduction)
    spread = Step("edge", f"{step.name}.spread", Block((), out.body, tuple(results)))
    spread.into, spread.reductions = tuple(into), tuple(reductions)
    return spread


Ends = list[tuple[Value, Value | None]]


def _difference(out: _Body, ends: Ends) -> tuple[Value, Reduction]:
    held = []
    for value, when in ends:
        nothing = out.const(0, value.dtype)
        held.append(value if when is None else out.select(when, value, nothing))
    return out.emit("sub", *held), _SUM


def _nonzero(out: _Body, value: Value, when: Value | None) -> tuple[Value, Value]:
    """Return a factor without zeros, and whether it is a zero, as an integer."""
    is_zero = out.emit("eq", value, out.const(0, value.dtype), dtype=BOOL)
    one = out.const(1, value.dtype)
    factor = out.select(is_zero, one, value)
    if when is not None:
        factor = out.select(when, factor, one)
        is_zero = out.emit("bit_and", is_zero, when)
    return factor, out.emit("cast", is_zero, dtype=INT64)


def _factors(out: _Body, ends: Ends) -> list[tuple[Value, Reduction]]:
    (new, new_zero), (old, old_zero) = (_nonzero(out, *end) for end in ends)
    return [(out.emit("div", new, old), _PROD), (out.emit("sub", new_zero, old_zero), _SUM)]


# -- the function itself


def _drive(
    step: Step, gathers: list[Value], messages: list[_Message], written: list[str],
    sent: list[str], tolerance: float,
) -> None:  # fmt: skip
    """Make the function read stored sums instead of gathering, and activate moved vertices."""
    out = _Body([])
    kept: dict[int, list[Value]] = {id(gather): [] for gather in gathers}
    for message in messages:
        value = out.load("v", message.name, message.kind)
        if message.is_product:
            zeros = out.load("v", f"{message.name}.zeros", (INT64, message.kind[1]))
            some = out.emit("gt", zeros, out.const(0, INT64), dtype=BOOL)
            value = out.select(some, out.const(0, value.dtype), value)
        number = int(message.name.split(".")[1])
        kept[id(gathers[number])].append(value)
    present = {name: out.load("v", name, kind) for name, kind in _stored(step, written).items()}
    held = {
        name: (out.load("v", f"sent.{name}", kind), out.load("v", f"before.{name}", kind))
        for name, kind in _stored(step, sent).items()
    }
    parts: dict[int, Value] = {}
    for value in step.body.body:
        value.args = tuple(parts.get(id(arg), arg) for arg in value.args)
        for inner in value.blocks:
            _use(inner, parts)
        if value.op == "project" and id(value.args[0]) in kept:
            parts[id(value)] = kept[id(value.args[0])][value.attr]
        elif value.op != "gather":
            out.body.append(value)
    last = {v.attr: v.args[0] for v in out.body if v.op == "store"}
    compared = {name: held[name][0] if name in held else present[name] for name in written}
    moved = _moved(out, last, compared, tolerance)
    for name, (now, before) in held.items():
        out.store(f"before.{name}", out.select(moved, now, before))
        out.store(f"sent.{name}", out.select(moved, last[name], now))
    out.body.append(Value("set_changed", (moved,)))
    step.body.body = out.body


def _tell_moves(step: Step, written: list[str], tolerance: float) -> None:
    """Make the function only report whether it moved far enough."""
    out = _Body([])
    present = {name: out.load("v", name, kind) for name, kind in _stored(step, written).items()}
    out.body += step.body.body
    last = {v.attr: v.args[0] for v in out.body if v.op == "store"}
    out.body.append(Value("set_changed", (_moved(out, last, present, tolerance),)))
    step.body.body = out.body


def _gather_anew(step: Step, written: list[str], sent: list[str], tolerance: float) -> None:
    """Make the function store what it gathers; a refresh moves only vertices that move far enough.

    One function for both: gathers dominate the compile time on a GPU.
    """
    out = _Body([])
    present = {name: out.load("v", name, kind) for name, kind in _stored(step, written).items()}
    gathers = [value for value in step.body.body if value.op == "gather"]
    for value in step.body.body:
        out.body.append(value)
        if value.op == "gather":
            _keep_totals(out, value, gathers.index(value))
    last = {v.attr: v.args[0] for v in out.body if v.op == "store"}
    moved = _moved(out, last, present, tolerance)
    refreshing = Value("load", (), ("refreshing",), INT64)
    out.body.append(refreshing)
    free = out.emit("eq", refreshing, out.const(0, INT64), dtype=BOOL)
    moves = out.emit("bit_or", moved, free)
    out.body = [v for v in out.body if v.op != "store" or v.attr not in present]
    for name, now in present.items():
        out.store(name, out.select(moves, last[name], now))
        if name in sent:
            out.store(f"before.{name}", now)
            out.store(f"sent.{name}", out.select(moved, last[name], now))
    out.body.append(Value("set_changed", (moved,)))
    step.body.body = out.body


def _keep_totals(out: _Body, gather: Value, number: int) -> None:
    """Store the result of a gather; for a product, its two parts."""
    block = gather.blocks[0]
    for position, message in enumerate(_messages(gather, number)):
        if not message.is_product:
            out.store(message.name, _project(out, gather, position, message.kind))
            continue
        inner = _Body(block.body)
        factor, zero = _nonzero(inner, message.value, message.when)
        first = len(gather.results)
        block.results += (factor, zero)
        gather.results += (message.kind, (INT64, message.kind[1]))
        gather.attr = (gather.attr[0], (*gather.attr[1], (_PROD, 1, False), (_SUM, 1, False)))
        out.store(message.name, _project(out, gather, first, message.kind))
        zeros = _project(out, gather, first + 1, (INT64, message.kind[1]))
        out.store(f"{message.name}.zeros", zeros)


def _project(out: _Body, gather: Value, position: int, kind: Kind) -> Value:
    value = Value("project", (gather,), position, *kind)
    out.body.append(value)
    return value


def _use(block: Block, parts: dict[int, Value]) -> None:
    """Replace some values by others inside a block."""
    for value in block.body:
        value.args = tuple(parts.get(id(arg), arg) for arg in value.args)
        for inner in value.blocks:
            _use(inner, parts)
    block.results = tuple(parts.get(id(r), r) for r in block.results)


def _stored(step: Step, names: list[str]) -> dict[str, Kind]:
    """Return the types of fields that a function stores."""
    kinds = {v.attr: (v.dtype, v.shape) for v in step.body.body if v.op == "store"}
    return {name: kinds[name] for name in names}


def _moved(out: _Body, new: dict[str, Value], old: dict[str, Value], tolerance: float) -> Value:
    """Return whether a feature moved far enough."""
    moved: Value | None = None
    for name, before in old.items():
        test = _feature_moved(out, new[name], before, tolerance)
        if test.shape:
            test = Value("feature_reduce", (test,), "or", BOOL)
            out.body.append(test)
        moved = test if moved is None else out.emit("bit_or", moved, test)
    assert moved is not None
    return moved


def _feature_moved(out: _Body, new: Value, old: Value, tolerance: float) -> Value:
    if new.dtype.kind != "f":
        return out.emit("ne", new, old, dtype=BOOL)
    far = out.emit("abs", out.emit("sub", new, old))
    test = out.emit("gt", far, out.const(tolerance, new.dtype), dtype=BOOL)
    nans = [out.emit("isnan", value, dtype=BOOL) for value in (new, old)]
    return out.emit("bit_or", test, out.emit("ne", *nans, dtype=BOOL))
