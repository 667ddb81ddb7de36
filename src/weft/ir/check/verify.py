"""Checks that a program keeps the rules of the IR; run after tracing and after every pass."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from weft.errors import VerifyError
from weft.ir.check.check_ops import Complaint, check_op
from weft.ir.check.show import show_type, show_value
from weft.ir.elementwise import ELEMENTWISE
from weft.ir.ops import (
    BOOL,
    EFFECT,
    EMIT,
    FLOAT64,
    INT64,
    LIVE_WRITE,
    OTHER_OPS,
    ROLES,
    Block,
    Program,
    Reduction,
    Shape,
    Signature,
    Step,
    Value,
)

Kind = tuple[np.dtype[Any], Shape]
MULTIPLE = frozenset({"while", "for", "cond", "gather", "gather_by", "common"})
SIMPLE_MONOIDS = frozenset({"sum", "prod", "min", "max", "or", "and", "user"})
MONOIDS = SIMPLE_MONOIDS | {"any", "argmin", "argmax", "mode"}


@dataclass(frozen=True)
class Scope:
    """The context of a block: what it may name and do."""

    where: str
    fields: dict[str, Kind]
    signature: Signature
    who: frozenset[str] = frozenset()  # u v w e before, and scalars or threshold
    effects: frozenset[str] = frozenset()
    gathers: bool = False
    known: frozenset[Value] = frozenset()  # values of enclosing blocks
    value: Value | None = None  # the instruction being checked


def verify(program: Program) -> None:
    """Check every block of a program.

    Raises
    ------
    VerifyError
        If a rule is broken: a defect of weft, not of the user's program.
    """
    fields = {name: (dtype, shape) for name, dtype, shape in program.signature.fields}
    if program.mode not in ("run", "iterate", "replay"):
        raise VerifyError(f"mode={program.mode!r} is not known.")
    if not program.steps:
        raise VerifyError("a program has no steps.")
    for steps in (getattr(program, role) for role in ROLES):
        if steps and steps[0].folded:
            raise VerifyError(f"{steps[0].name}: the first step cannot continue a fold.")
        for step in steps:
            _verify_step(step, program.signature, dict(fields), emits=bool(program.emits))
        for before, step in itertools.pairwise(steps):
            if step.folded and before.kind == step.kind and before.along != step.along:
                raise VerifyError(f"{step.name}: it continues a sweep along other arcs.")
    if program.refill and program.refill[-1].kind != "vertex":
        raise VerifyError("refill: the last step must be a vertex step.")
    for step in program.all_steps():
        if step.shrinks and not (program.refill and step is program.refill[0]):
            raise VerifyError(f"{step.name}: only the first step of a refill shrinks.")
        if step.shrinks and (step.kind != "vertex" or not step.conditional):
            raise VerifyError(
                f"{step.name}: a step that shrinks is a vertex step with a condition."
            )
    if bool(program.wide) != bool(program.renew) or (program.wide and program.refill):
        raise VerifyError("wide: such steps need others that renew, which are the refill too.")
    outside = Scope("until", fields, program.signature, frozenset({"scalars"}))
    if program.until is not None:
        scope = replace(outside, who=outside.who | {"frontier"})
        _verify_block(program.until, scope)
        _expect_results(program.until, scope, [(BOOL, ())])
    if program.next_threshold is not None:
        scope = replace(outside, where="next_threshold", who=outside.who | {"threshold"})
        _verify_block(program.next_threshold, scope)
        _expect_results(program.next_threshold, scope, [(FLOAT64, ())])


def _verify_step(
    step: Step, signature: Signature, fields: dict[str, Kind], *, emits: bool = False
) -> None:
    if step.kind not in ("edge", "vertex"):
        raise VerifyError(f"{step.name}: kind={step.kind!r} is not known.")
    if step.wake not in ("changed", "all", "neighbors"):
        raise VerifyError(f"{step.name}: wake={step.wake!r} is not known.")
    if step.along not in ("out", "in") or (step.along == "in" and step.kind != "edge"):
        raise VerifyError(f"{step.name}: along={step.along!r} is not possible.")
    base = Scope(step.name, fields, signature, frozenset({"scalars"}))
    for name, block in step.hoisted:
        scope = replace(base, where=f"{step.name}, {name}", who=base.who | {"u"})
        _verify_block(block, scope)
        if len(block.results) != 1:
            _refuse(scope, f"{len(block.results)} results, expected 1")
        fields[name] = (block.results[0].dtype, block.results[0].shape)
    for role, seen in (("accept", "v"), ("active", "v before"), ("priority", "v")):
        block = getattr(step, role)
        if block is not None:
            scope = replace(base, where=f"{step.name}, {role}", who=base.who | set(seen.split()))
            _verify_block(block, scope)
            kind = block.results[0].dtype if role == "priority" and block.results else BOOL
            _expect_results(block, scope, [(kind, ())])
    if step.kind == "edge":
        who, effects = {"u", "v", "e"}, {"store_edge", "reduce_scalar"}
    else:
        who, effects = {"v"}, {"store", "set_changed", "reduce_scalar"}
    body = replace(
        base,
        where=f"{step.name}, body",
        who=base.who | who,
        effects=frozenset(effects | LIVE_WRITE | (EMIT if emits else set())),
        gathers=step.kind == "vertex",
    )
    _verify_block(step.body, body)
    _verify_messages(step, body)


def _verify_messages(step: Step, scope: Scope) -> None:
    """Check the results of a body against the fields that take them and their reductions."""
    if step.kind == "vertex" and (step.into or step.reductions or step.accept is not None):
        _refuse(scope, "a vertex step has no into, reductions or accept")
    unknown = [name for name in step.into if name not in scope.fields]
    if unknown:
        _refuse(scope, f"into names the unknown field {unknown[0]!r}")
    if len(set(step.into)) < len(step.into):
        _refuse(scope, f"into={step.into} names a field twice")
    if step.sends_always and not (step.kind == "edge" and step.into and step.conditional):
        _refuse(scope, "sends_always needs an edge step with messages and a condition")
    kinds = [scope.fields[name] for name in step.into]
    _expect_results(step.body, scope, kinds + [(BOOL, ())] * step.conditional)
    names = [reduction.name for reduction in step.reductions]
    selecting = len(names) == 1 and step.reductions[0].selecting
    if not selecting and len(names) != len(step.into):
        _refuse(scope, f"{len(names)} reductions for {len(step.into)} fields")
    groups = [kinds] if selecting else [[kind] for kind in kinds]
    for reduction, group in zip(step.reductions, groups, strict=True):
        if reduction.name == "mode":
            _refuse(scope, "mode belongs in a gather")
        _verify_reduction(reduction, group, scope)


def _verify_reduction(reduction: Reduction, kinds: list[Kind], scope: Scope) -> None:
    dtype, shape = kinds[0]
    name = reduction.name
    if name not in MONOIDS:
        _refuse(scope, f"the monoid {name!r} is not known")
    if name in ("or", "and") and dtype.kind == "f":
        _refuse(scope, f"{name} of {dtype}")
    if name in ("argmin", "argmax") and (len(kinds) < 2 or any(shape for _, shape in kinds)):
        _refuse(scope, f"{name} of {len(kinds)} messages, expected scalars, two at least")
    if (reduction.combine is not None) != (name == "user"):
        _refuse(scope, f"the monoid {name!r} has a combine block where it should not, or lacks one")
    if reduction.combine is not None:
        inner = Scope(f"{scope.where}, combine", {}, scope.signature)
        params = [(p.dtype, p.shape) for p in reduction.combine.params]
        if params != [(dtype, ())] * 2 or shape:
            _refuse(inner, f"parameters {_kinds(params)}, expected two of {dtype}")
        _verify_block(reduction.combine, inner)
        _expect_results(reduction.combine, inner, [(dtype, ())])


def _verify_block(block: Block, scope: Scope) -> None:
    """Check the instructions of a block in order."""
    known = set(scope.known)
    for position, param in enumerate(block.params):
        if param.op != "param":
            _refuse(scope, f"parameter {position} is a {param.op}")
        known.add(param)
    for value in block.body:
        inner = replace(scope, value=value, known=frozenset(known) if value.blocks else frozenset())
        is_op = value.op in ELEMENTWISE or value.op in OTHER_OPS
        if not is_op or value.op == "param":
            _refuse(inner, f"the op {value.op!r} cannot stand in a block")
        if value in known:
            _refuse(inner, "the value stands here twice")
        for i, operand in enumerate(value.args):
            if operand not in known:
                _refuse(inner, f"operand {i} ({operand!r}) is used before it is defined")
            if operand.op in EFFECT - LIVE_WRITE or operand.op == "at_store":
                _refuse(inner, f"operand {i} is a {operand.op}, which has no result")
            if operand.op in MULTIPLE and value.op != "project":
                _refuse(inner, f"operand {i} is a {operand.op}; read its parts by project")
        try:
            check_op(value, scope.fields, scope.signature, scope.who)
        except Complaint as complaint:
            _refuse(inner, str(complaint))
        _verify_effect(value, inner)
        _verify_control(value, inner)
        known.add(value)
    for result in block.results:
        if result not in known:
            _refuse(scope, f"the result {result!r} is not defined")


def _verify_effect(value: Value, scope: Scope) -> None:
    if value.op in EFFECT:
        if value.op not in scope.effects:
            _refuse(scope, f"{value.op} is not allowed here")
        for i, operand in enumerate(value.args):
            if operand.weak:
                _refuse(scope, f"operand {i} of an effect is weak; cast it first")
    if value.op == "reduce_scalar":
        if value.attr[1].name not in SIMPLE_MONOIDS:
            _refuse(scope, f"{value.attr[1].name} cannot reduce into a scalar")
        _verify_reduction(value.attr[1], [(value.dtype, ())], scope)


def _verify_control(value: Value, scope: Scope) -> None:
    """Check what holds blocks, and those blocks."""
    # Inside a loop, a branch or a gather nothing of the function's own is written.
    inner = replace(scope, effects=scope.effects & (LIVE_WRITE | {"emit"}), gathers=False)
    if value.op not in MULTIPLE and value.blocks:
        _refuse(scope, f"{value.op} holds no blocks")
    if value.op == "while":
        _verify_while(value, inner)
    elif value.op == "for":
        _verify_for(value, inner)
    elif value.op == "cond":
        _verify_cond(value, inner)
    elif value.op == "gather":
        if not scope.gathers:
            _refuse(scope, "a gather stands at the top of a vertex function only")
        here = replace(inner, who=inner.who | {"u", "e"}, effects=inner.effects - EMIT)
        _verify_gather(value, here)
    elif value.op == "gather_by":
        if not scope.gathers:
            _refuse(scope, "a gather stands at the top of a vertex function only")
        _verify_gather_by(value, inner)
    elif value.op == "common":
        if any(group[0].name == "mode" for group in value.attr):
            _refuse(scope, "mode cannot combine over common neighbours")
        _verify_groups(value, value.attr, replace(inner, who=inner.who | {"w", "ea", "eb"}))


def _verify_while(value: Value, scope: Scope) -> None:
    state = [(arg.dtype, arg.shape) for arg in value.args]
    if len(value.blocks) != 2:
        _refuse(scope, f"{len(value.blocks)} blocks, expected a condition and a body")
    if not state or list(value.results) != state:
        _refuse(scope, f"results {_kinds(value.results)}, expected {_kinds(state)}")
    if not isinstance(value.attr, int) or value.attr < 0:
        _refuse(scope, f"the bound is {value.attr!r}")
    for block in value.blocks:
        _expect_params(block, state, scope)
        _verify_block(block, scope)
    _expect_results(value.blocks[0], scope, [(BOOL, ())])
    _expect_results(value.blocks[1], scope, state)


def _verify_for(value: Value, scope: Scope) -> None:
    block = _only_block(value, scope)
    kinds = [(arg.dtype, arg.shape) for arg in value.args]
    if kinds[:2] != [(INT64, ())] * 2:
        _refuse(scope, f"operands {_kinds(kinds)}, expected two int64 bounds first")
    if list(value.results) != kinds[2:]:
        _refuse(scope, f"results {_kinds(value.results)}, expected {_kinds(kinds[2:])}")
    _expect_params(block, kinds[1:], scope)  # the counter has the type of a bound
    _verify_block(block, scope)
    _expect_results(block, scope, kinds[2:])


def _verify_cond(value: Value, scope: Scope) -> None:
    if [(arg.dtype, arg.shape) for arg in value.args] != [(BOOL, ())]:
        _refuse(scope, "a cond has one operand, its test")
    if len(value.blocks) != 2:
        _refuse(scope, f"{len(value.blocks)} blocks, expected two branches")
    for block in value.blocks:
        _expect_params(block, [], scope)
        _verify_block(block, scope)
        _expect_results(block, scope, list(value.results))


def _verify_gather(value: Value, scope: Scope) -> None:
    direction, groups = value.attr
    if direction not in ("in", "out", "both"):
        _refuse(scope, f"direction {direction!r} is not known")
    if value.args or not groups:
        _refuse(scope, "a gather has no operands and one group of messages at least")
    _verify_groups(value, groups, scope)


def _verify_gather_by(value: Value, scope: Scope) -> None:
    direction, hops, reduction, conditional, groups = value.attr
    if direction not in ("in", "out", "both") or (hops, direction) == (2, "both"):
        _refuse(scope, f"direction {direction!r} is not known, or not of {hops} hops")
    if value.args or hops not in (1, 2) or len(value.blocks) != 2:
        _refuse(scope, "it has no operands, two blocks and one or two hops")
    arc, entry = value.blocks
    far = {"w", "eb"} if hops == 2 else set()
    here = replace(scope, who=scope.who | {"u", "e"} | far, effects=scope.effects - EMIT)
    _expect_params(arc, [], here)
    _verify_block(arc, here)
    kinds = [(result.dtype, result.shape) for result in arc.results[:2]]
    if len(kinds) < 2 or kinds[0][0].kind not in "iu" or any(shape for _, shape in kinds):
        _refuse(scope, f"{_kinds(kinds)} is no integer key and a scalar value")
    _expect_results(arc, here, kinds + [(BOOL, ())] * bool(conditional))
    if reduction.name not in SIMPLE_MONOIDS:
        _refuse(scope, f"{reduction.name} cannot combine the values of a key")
    _verify_reduction(reduction, kinds[1:], scope)
    _verify_groups(value, groups, scope, entry, kinds)


def _verify_groups(
    value: Value, groups: Any, scope: Scope, block: Block | None = None, params: Any = ()
) -> None:
    """Check a block whose results are messages of groups."""
    block = block or _only_block(value, scope)
    _expect_params(block, list(params), scope)
    _verify_block(block, scope)
    messages = list(value.results)
    expected: list[Kind] = []
    for reduction, count, conditional in groups:
        part, messages = messages[:count], messages[count:]
        by_weight = reduction.name == "mode" and count == 2
        if by_weight and (part[0][0].kind == "f" or part[1][0] not in (INT64, FLOAT64)):
            _refuse(scope, f"mode of {_kinds(part)}")
        several = count > 1 and not (reduction.selecting or by_weight)
        if len(part) != count or count < 1 or several:
            _refuse(scope, f"{reduction.name} of {count} messages")
        _verify_reduction(reduction, part, scope)
        expected += part + [(BOOL, ())] * bool(conditional)
    if messages:
        _refuse(scope, f"{len(messages)} results belong to no group")
    _expect_results(block, scope, expected)


def _only_block(value: Value, scope: Scope) -> Block:
    if len(value.blocks) != 1:
        _refuse(scope, f"{len(value.blocks)} blocks, expected 1")
    return value.blocks[0]


def _expect_params(block: Block, kinds: list[Kind], scope: Scope) -> None:
    got = [(param.dtype, param.shape) for param in block.params]
    if got != kinds:
        _refuse(scope, f"parameters {_kinds(got)}, expected {_kinds(kinds)}")


def _expect_results(block: Block, scope: Scope, kinds: list[Kind]) -> None:
    got = [(result.dtype, result.shape) for result in block.results]
    if got != kinds:
        _refuse(scope, f"results {_kinds(got)}, expected {_kinds(kinds)}")
    if any(result.weak for result in block.results):
        _refuse(scope, "a result is weak; cast it first")
    if any(result.op in MULTIPLE for result in block.results):
        _refuse(scope, "a result has several parts; read them by project")


def _kinds(kinds: Any) -> str:
    return "(" + ", ".join(show_type(dtype, shape) for dtype, shape in kinds) + ")"


def _refuse(scope: Scope, complaint: str) -> NoReturn:
    if scope.value is None:
        raise VerifyError(f"{scope.where}: {complaint}.")
    numbers = {arg: i for i, arg in enumerate(dict.fromkeys(scope.value.args))}
    raise VerifyError(f"{scope.where}: {complaint}, in\n  {show_value(scope.value, numbers)}")
