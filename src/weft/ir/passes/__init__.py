"""The rewrites of a program: a flat, named, ordered list. Each reports whether it fired.

Every pass takes a program, changes it in place and returns whether it changed anything. The
decisions that need no rewriting (write-once, in place, early exit) are made in `plan.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import zip_longest
from typing import Any

from weft.ir.check.facts import facts_of, is_pure, uses
from weft.ir.check.verify import verify
from weft.ir.elementwise import ELEMENTWISE
from weft.ir.ops import ROLES, Block, Program, Step, Value, program_blocks
from weft.ir.reference.interpret import evaluate_constant


def _replace(block: Block, mapping: dict[int, Value]) -> None:
    """Use other values in place of those in the mapping, everywhere in a block."""

    def final(value: Value) -> Value:
        while id(value) in mapping:
            value = mapping[id(value)]
        return value

    for value in block.body:
        value.args = tuple(final(a) for a in value.args)
        for inner in value.blocks:
            _replace(inner, mapping)
    block.results = tuple(final(r) for r in block.results)


def fold_constants(program: Program) -> bool:
    """Compute elementwise ops of small constants once, before the program runs."""
    fired = False
    for block in program_blocks(program):
        for value in block.walk():
            scalar = value.op in ELEMENTWISE and value.args and not value.shape
            if scalar and all(a.op == "const" for a in value.args):
                value.attr = evaluate_constant(value)
                value.op, value.args = "const", ()
                fired = True
    return fired


def merge_equal(program: Program) -> bool:
    """Compute equal pure expressions once."""
    fired = False
    for step in program.all_steps():
        live = facts_of(step).live
        blocks = [step.body, step.accept, step.active, step.priority]
        for block in blocks:
            if block is not None:
                fired |= _merge(block, live, {})
    return fired


def _merge(block: Block, live: set[str], known: dict[Any, Value]) -> bool:
    known = dict(known)
    mapping: dict[int, Value] = {}
    kept = []
    fired = False
    for value in block.body:
        value.args = tuple(mapping.get(id(a), a) for a in value.args)
        for inner in value.blocks:
            _replace(inner, mapping)
            fired |= _merge(inner, live, known)
        if value.blocks or not is_pure(value, live) or value.op == "param":
            kept.append(value)
            continue
        attr = repr(value.attr) if value.op == "const" else value.attr
        key = (
            value.op,
            tuple(id(a) for a in value.args),
            attr,
            value.dtype,
            value.shape,
            value.weak,
        )
        if key in known:
            mapping[id(value)] = known[key]
            fired = True
        else:
            known[key] = value
            kept.append(value)
    block.body = kept
    block.results = tuple(mapping.get(id(r), r) for r in block.results)
    return fired


def fold_gathers(program: Program) -> bool:
    """Join the gathers of a vertex function over the same edges into one sweep."""
    fired = False
    for step in program.all_steps():
        live = facts_of(step).live  # values that others write meanwhile are read in place
        gathers: dict[str, Value] = {}
        kept: list[Value] = []
        for value in step.body.body:
            first = gathers.get(value.attr[0]) if value.op == "gather" else None
            if value.op != "gather":
                kept.append(value)
            elif first is None or live or not _movable(step.body, first, value):
                gathers[value.attr[0]] = value
                kept.append(value)
            else:
                _join(step.body, first, value)
                fired = True
        step.body.body = kept
    return fired


def _movable(block: Block, first: Value, second: Value) -> bool:
    """Whether `second` needs nothing that is computed after `first`."""
    before = {id(v) for v in block.body[: block.body.index(first)]}
    inside: set[int] = set()
    for inner in second.blocks:
        inside.update(id(v) for v in inner.walk())
        for value in inner.walk():
            if any(id(a) not in before and id(a) not in inside for a in value.args):
                return False
        if any(id(r) not in before and id(r) not in inside for r in inner.results):
            return False
    return True


def _join(block: Block, first: Value, second: Value) -> None:
    shift = len(first.results)
    first.blocks[0].body.extend(second.blocks[0].body)
    first.blocks[0].results += second.blocks[0].results
    first.results += second.results
    first.attr = (first.attr[0], first.attr[1] + second.attr[1])
    for value in block.body:
        if value.op == "project" and value.args[0] is second:
            value.args = (first,)
            value.attr += shift


def drop_dead(program: Program) -> bool:
    """Drop unused loads (weights, fields) and stores that a later one overwrites."""
    fired = False
    for step in program.all_steps():
        live = facts_of(step).live
        fired |= _drop_overwritten(step, live)
        # Gathers determine which vertices are woken, even if their results are unused.
        kept = {"gather", "gather_by"} if step.wake == "neighbors" else set[str]()
        for block in (step.body, step.accept, step.active, step.priority):
            if block is not None:
                fired |= _drop(block, live, kept)
    return fired


def _drop_overwritten(step: Step, live: set[str]) -> bool:
    seen: set[str] = set()
    kept: list[Value] = []
    for value in reversed(step.body.body):
        if value.op in ("store", "set_changed") and value.attr not in live:
            key = "store." + value.attr if value.op == "store" else "changed"
            if key in seen:
                continue
            seen.add(key)
        kept.append(value)
    kept.reverse()
    fired = len(kept) < len(step.body.body)
    step.body.body = kept
    return fired


def _drop(block: Block, live: set[str], always: set[str]) -> bool:
    """Drop the unused values of a block, except ops with effects."""
    fired = False
    while True:
        counts = uses(block)
        kept = [
            v for v in block.body if counts.get(id(v), 0) or v.op in always or not is_pure(v, live)
        ]
        if len(kept) == len(block.body):
            break
        block.body = kept
        fired = True
    for value in block.body:
        for inner in value.blocks:
            fired |= _drop(inner, live, always)
    return fired


def join_steps(program: Program) -> bool:
    """Run consecutive vertex functions in one sweep where a barrier between them is unobservable.

    A function that reads nothing of other vertices that those before it wrote, and no scalar that
    they reduced, may follow them at each vertex at once. Not so the first of a fold: the others see
    what was written before the fold began.
    """
    fired = False
    for steps in (getattr(program, role) for role in ROLES):
        group: list[Step] = []
        for step, after in zip_longest(steps, steps[1:]):
            leads = after is not None and after.folded
            step.joined = bool(group) and not leads and _may_join(group, step)
            fired |= step.joined
            group = [*group, step] if step.joined else [step]
    return fired


def _may_join(group: list[Step], step: Step) -> bool:
    members = [*group, step]
    if any(s.kind != "vertex" or s.folded or facts_of(s).live for s in members):
        return False
    facts = facts_of(step)
    if step.everywhere or step.wake == "neighbors" or facts.gathers or group[0].shrinks:
        return False
    written = set().union(*(facts_of(s).written for s in group))
    reduced = set().union(*(facts_of(s).reduced for s in group))
    return not written & (facts.far | facts.far_old) and not reduced & (
        facts.scalars | facts.reduced
    )


def hoist_sources(program: Program, copies: Callable[[Value], bool] = lambda gather: False) -> bool:
    """Compute an expression of u alone once per vertex instead of once per edge.

    Done for vertex steps that gather over all vertices: the expression becomes a hidden field,
    filled in a sweep of its own before the step. A frontier of some vertices is not worth that.
    Fields are read where they are, except by gathers for which `copies` holds.
    """
    fired = False
    for number, step in enumerate(program.steps + program.wide):
        if step.kind == "vertex" and (step.everywhere or _wakes_all(program, step)):
            live = facts_of(step).live
            for value in step.body.body:
                if value.op == "gather" and not live:
                    fired |= _hoist(step, value, number, copies(value))
    return fired


def _wakes_all(program: Program, step: Step) -> bool:
    """Whether the supersteps of a gathering step start with all vertices.

    In a loop the last step decides that, whatever the others would wake.
    """
    looped = program.mode == "iterate" and not any(step is w for w in program.wide)
    last = program.steps[-1] if looped else step
    return last.kind == "vertex" and last.wake == "all" and program.mode != "replay"


def _hoist(step: Step, gather: Value, number: int, copies: bool) -> bool:
    block = gather.blocks[0]
    hidden = {name for name, _ in step.hoisted}
    sourced: dict[int, bool] = {}  # id -> has a load of u; absent if not of u alone
    leaves = [v for v in step.body.body if _uniform(v)]  # equal leaves of both are merged
    for value in (*leaves, *block.body):
        if _uniform(value):
            sourced[id(value)] = False
        elif value.op == "load":
            if value.attr[0] in ("field", "out_degree", "in_degree", "id", "old") and (
                value.attr[1] == "u" and value.attr[-1] not in hidden
            ):
                sourced[id(value)] = True
        elif copies and _widens_load(value):  # the field is the shorter copy
            continue
        elif value.op in ELEMENTWISE and all(id(a) in sourced for a in value.args):
            sourced[id(value)] = any(sourced[id(a)] for a in value.args)
    users: dict[int, list[Value]] = {}
    for value in block.body:
        for arg in value.args:
            users.setdefault(id(arg), []).append(value)
    roots = [
        v
        for v in block.body
        if sourced.get(id(v))
        and (copies or v.op in ELEMENTWISE)
        # A hidden field that holds the same as a field would cost more.
        and (copies or not (v.op == "cast" and v.args[0].op == "load"))
        and (
            any(v is r for r in block.results)
            or any(id(user) not in sourced for user in users.get(id(v), []))
        )
    ]
    for root in roots:
        name = f"hoisted.{step.name}.{number}.{len(step.hoisted)}"
        needed = _closure(root, [*leaves, *block.body])
        step.hoisted.append((name, Block((), needed, (root,))))
        load = Value("load", (), ("field", "u", name), root.dtype, root.shape)
        block.body.insert(block.body.index(root) + 1, load)
        for value in block.body:
            if not any(value is n for n in needed):
                value.args = tuple(load if a is root else a for a in value.args)
        block.results = tuple(load if r is root else r for r in block.results)
    if roots:
        counts = uses(block)
        while True:
            kept = [v for v in block.body if counts.get(id(v), 0)]
            if len(kept) == len(block.body):
                break
            block.body = kept
            counts = uses(block)
    return bool(roots)


def _widens_load(value: Value) -> bool:
    """Whether a value is what a load gives, in a type of no fewer bytes."""
    if value.op != "cast" or value.args[0].op != "load":
        return False
    return value.args[0].dtype.itemsize <= value.dtype.itemsize


def _uniform(value: Value) -> bool:
    """Whether a value is a leaf that is the same at every vertex."""
    if value.op == "load":
        return value.attr[0] in ("scalar", "parameter", "superstep", "num_vertices")
    return value.op in ("const", "constant")


def _closure(root: Value, values: list[Value]) -> list[Value]:
    """Return the values from which a root is computed, including itself."""
    wanted = {id(root)}
    for value in reversed(values):
        if id(value) in wanted:
            wanted.update(id(a) for a in value.args)
    return [v for v in values if id(v) in wanted]


Pass = Callable[[Program], bool]
PASSES: tuple[tuple[str, Pass], ...] = (
    ("constant_folding", fold_constants),
    ("equal_expressions", merge_equal),
    ("gather_folding", fold_gathers),
    ("dead_fields", drop_dead),
    ("step_folding", join_steps),
    ("source_hoisting", hoist_sources),
)


def run_passes(program: Program, off: frozenset[str] = frozenset()) -> list[str]:
    """Run every enabled pass; return the names of those that fired."""
    verify(program)
    fired = []
    for name, rewrite in PASSES:
        if name not in off and rewrite(program):
            fired.append(name)
            verify(program)
    return fired
