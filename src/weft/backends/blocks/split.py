"""Cuts the steps of a program into the parts that run over blocks and those that need no arcs."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np

from weft.backends.blocks.refusals import check_program, updates_in_place
from weft.backends.blocks.stages import (
    ArcPart,
    EdgeUse,
    Group,
    Kind,
    Source,
    Stage,
    Staged,
    load_supersteps,
    with_hidden,
)
from weft.ir.check.facts import block_facts, facts_of
from weft.ir.ops import (
    BOOL,
    INT64,
    Block,
    Program,
    Reduction,
    Step,
    Value,
    identity_of,
    neutral_of,
    total_dtype,
)
from weft.ir.passes import drop_dead, fold_gathers, hoist_sources, merge_equal
from weft.plan.queries import END_ROW, LEAST_ROW, groups_of, scalar_reductions
from weft.plan.sweeps import write_once_proof

_GATHERS = ("gather", "gather_by")


def split(program: Program, shared: bool = False) -> Staged:
    """Return a program as stages.

    `shared` means that all blocks share the memory of the state, so that all see order-free updates
    by .at(i).

    Raises
    ------
    ConfigError
        If a step cannot run over blocks, with its name, its line and what to do instead.
    """
    check_program(program, shared)
    own = copy.deepcopy(program)
    stages = {
        role: _stages(getattr(own, role), own, role[0], shared) for role in ("steps", "refill")
    }
    last = own.steps[-1]
    woken = _woken_ways(last) if last.wake == "neighbors" else ()
    wakes = [_wake_part(own, way) for way in woken]
    lines = [_line(stage) for held in stages.values() for stage in held]
    return Staged(program, stages, Source("\n".join(lines) + "\n"), wakes)


def _line(stage: Stage) -> str:
    parts = []
    if stage.before is not None:
        parts.append("fill hidden fields at all vertices")
    if stage.arcs is not None:
        ways = " and ".join(f"{way}-blocks" for way in stage.arcs.ways)
        parts.append(f"sweep {ways}" + (", two at a time" if stage.arcs.pairs else ""))
    if stage.after is not None:
        parts.append("run at vertices")
    return f"# {stage.step.name}: {', then '.join(parts) or 'nothing'}"


def _stages(steps: tuple[Step, ...], program: Program, role: str, shared: bool) -> list[Stage]:
    stages: list[Stage] = []
    for number, step in enumerate(steps):
        tag = f"{role}{number}"  # hidden fields of two stages hold different values
        if shared and updates_in_place(step):
            stages.append(_live_stage(step, program))
        elif step.kind == "edge":
            stages.append(_edge_stage(step, program, tag))
        elif step.folded and stages[-1].step.kind == "vertex":  # without gathers: one program
            held = stages[-1]
            assert held.after is not None
            held.after = replace(held.after, steps=(*held.after.steps, copy.deepcopy(step)))
            held.step = step
            load_supersteps(held.after)
        else:
            stages.append(_vertex_stage(step, program, tag))
    return stages


def _program(program: Program, step: Step, hidden: dict[str, Kind]) -> Program:
    """Return a program that runs one step once."""
    step.shrinks = False  # a single run has no rounds
    made = Program((step,), with_hidden(program.signature, hidden), "run")
    load_supersteps(made)
    return made


# -- edge steps


def _edge_stage(step: Step, program: Program, tag: str) -> Stage:
    kinds = {name: (dtype, shape) for name, dtype, shape in program.signature.fields}
    named = [f"inbox.{tag}.{number}.{name}" for number, name in enumerate(step.into)]
    hidden: dict[str, tuple[Kind, Any]] = {}
    groups = []
    for reduction, fields, positions in groups_of(step):
        names = tuple(named[position] for position in positions)
        groups.append(Group(reduction, names))
        for place, (name, field) in enumerate(zip(names, fields, strict=True)):
            dtype, shape = kinds[field]
            dtype = total_dtype(reduction, dtype)
            hidden[name] = (dtype, shape), _neutral(reduction, dtype) if place == 0 else 0
    arcs = _inbox_step(step, named, hidden)
    shapes = {name: kind for name, (kind, _) in hidden.items()}
    pairs = any(value.op == "common" for value in step.body.walk())
    if pairs:
        _look_at_some(arcs)
    facts = facts_of(step)
    reads = facts.far | facts.near | facts.live | {f"old.{name}" for name in facts.old}
    edges = None
    if facts.edge_read or facts.edge_written:
        read, written = frozenset(facts.edge_read), frozenset(facts.edge_written)
        edges = EdgeUse(read, written, "reverse" in facts.loads)
    part = ArcPart(
        program=_program(program, arcs, shapes),
        ways=(step.along,),
        groups=tuple(groups),
        hidden=hidden,
        reads=frozenset(reads),
        scalars=tuple(scalar_reductions([step])),
        pairs=pairs,
        pulled=not pairs and edges is None,
        edges=edges,
        accepts=_accepts(step, program, shapes),
    )
    if write_once_proof(step):
        direct = replace(copy.deepcopy(step), everywhere=False, folded=False, priority=None)
        part.direct = _program(program, direct, shapes)
    after = None
    if step.into or step.active is not None:
        after = _program(program, _commit_step(step, groups, hidden, kinds), shapes)
    return Stage(step, None, part, after)


def _live_stage(step: Step, program: Program) -> Stage:
    """Return a step that is swept unchanged: its updates are visible at once."""
    own = replace(copy.deepcopy(step), everywhere=False, folded=False, priority=None)
    facts = facts_of(step)
    part = ArcPart(
        program=_program(program, own, {}),
        ways=(step.along if step.kind == "edge" else "out",),
        reads=frozenset(facts.far | facts.near | facts.live | {f"old.{n}" for n in facts.old}),
        scalars=tuple(scalar_reductions([step])),
    )
    return Stage(step, None, part, None)


def _neutral(reduction: Reduction, dtype: np.dtype[Any]) -> Any:
    """Return the initial value of an inbox, one that changes no message if possible."""
    if reduction.name in ("argmin", "argmax"):
        return identity_of(reduction, dtype)
    if reduction.name == "any":
        return 0
    return neutral_of(reduction, dtype)


def _inbox_step(step: Step, named: list[str], hidden: dict[str, tuple[Kind, Any]]) -> Step:
    """Return the edge step that sends into the inboxes."""
    arcs = replace(
        copy.deepcopy(step), into=tuple(named), everywhere=False, folded=False, priority=None,
    )  # fmt: skip
    results = list(arcs.body.results)
    for position, name in enumerate(named):
        dtype = hidden[name][0][0]
        if results[position].dtype != dtype:
            wide = Value("cast", (results[position],), None, dtype, results[position].shape)
            arcs.body.body.append(wide)
            results[position] = wide
    arcs.body.results = tuple(results)
    told = any(r.name == "any" for r in arcs.reductions)
    arcs.active = _always() if step.active is not None or told or not step.into else None
    return arcs


def _always() -> Block:
    true = Value("const", (), True, BOOL)
    return Block((), [true], (true,))


def _accepts(step: Step, program: Program, hidden: dict[str, Kind]) -> Program | None:
    """Return the program whose output is the accepting vertices."""
    if step.accept is None:
        return None
    block = copy.deepcopy(step.accept)
    (test,), block.results = block.results, ()
    block.body.append(Value("set_changed", (test,)))
    return _program(program, Step("vertex", step.name, block, place=step.place), hidden)


def _look_at_some(step: Step) -> None:
    """Restrict an edge step to targets whose rows are in memory."""
    block = step.accept or _always()
    body = block.body
    row = Value("load", (), ("id", "v"), INT64, weak=True)
    least = Value("load", (), ("scalar", LEAST_ROW), INT64)
    end = Value("load", (), ("scalar", END_ROW), INT64)
    above = Value("ge", (row, least), None, BOOL)
    below = Value("lt", (row, end), None, BOOL)
    both = Value("bit_and", (above, below), None, BOOL)
    result = Value("bit_and", (block.results[0], both), None, BOOL)
    body += [row, least, end, above, below, both, result]
    block.results = (result,)
    step.accept = block


def _commit_step(
    step: Step, groups: list[Group], hidden: dict[str, tuple[Kind, Any]], kinds: dict[str, Kind]
) -> Step:
    """Return the vertex step that combines fields with their inboxes."""
    block = Block()
    fields = dict(zip((n for group in groups for n in group.names), step.into, strict=True))
    for group in groups:
        pairs = [(fields[name], name) for name in group.names]
        olds = [_load(block, field, kinds[field]) for field, _ in pairs]
        news = [_load(block, name, hidden[name][0]) for _, name in pairs]
        for (field, _), value in zip(
            pairs, _combined(block, group.reduction, olds, news), strict=True
        ):
            dtype, shape = kinds[field]
            if value.dtype != dtype:
                value = _emit(block, "cast", value, dtype=dtype)
            block.body.append(Value("store", (value,), field, dtype, shape))
    active = copy.deepcopy(step.active)
    return Step("vertex", step.name, block, place=step.place, active=active)


def _load(block: Block, name: str, kind: Kind) -> Value:
    value = Value("load", (), ("field", "v", name), *kind)
    block.body.append(value)
    return value


def _emit(block: Block, op: str, *args: Value, attr: Any = None, dtype: Any = None) -> Value:
    shape = tuple(np.broadcast_shapes(*(arg.shape for arg in args)))
    value = Value(op, args, attr, dtype or args[0].dtype, shape)
    block.body.append(value)
    return value


_ELEMENTWISE = {
    "sum": "add", "prod": "mul", "min": "minimum", "max": "maximum", "or": "bit_or",
    "and": "bit_and",
}  # fmt: skip


def _combined(
    block: Block, reduction: Reduction, olds: list[Value], news: list[Value]
) -> list[Value]:
    """Return the values of fields after messages: old ⊕ new, or the winner of a selection."""
    name = reduction.name
    if name == "any":
        return news
    if name in ("argmin", "argmax"):
        sign = "lt" if name == "argmin" else "gt"  # only a strict improvement writes
        better = _emit(block, sign, news[0], olds[0], dtype=BOOL)
        return [
            _emit(block, "select", better, new, old, dtype=old.dtype)
            for old, new in zip(olds, news, strict=True)
        ]
    (old,), (new,) = olds, news
    if old.dtype != new.dtype:
        old = _emit(block, "cast", old, dtype=new.dtype)
    if name in _ELEMENTWISE:
        return [_emit(block, _ELEMENTWISE[name], old, new)]
    return [_inlined(block, reduction, old, new)]


def _inlined(block: Block, reduction: Reduction, old: Value, new: Value) -> Value:
    """Return old ⊕ new of a user-made monoid."""
    combine = copy.deepcopy(reduction.combine)
    assert combine is not None
    taken = dict(zip(map(id, combine.params), (old, new), strict=True))
    for value in combine.body:
        value.args = tuple(taken.get(id(arg), arg) for arg in value.args)
        block.body.append(value)
    (result,) = combine.results
    return taken.get(id(result), result)


# -- vertex steps


def _vertex_stage(step: Step, program: Program, tag: str) -> Stage:
    own = replace(copy.deepcopy(step), folded=False)
    gathers = [value for value in own.body.body if value.op in _GATHERS]
    if not gathers:
        return Stage(step, None, None, _program(program, own, {}))
    body = own.body
    gathered = copy.deepcopy(own)
    names, kinds = _store_gathered(gathered, tag)
    arcs = _program(program, gathered, kinds)
    for rewrite in (merge_equal, fold_gathers, drop_dead, hoist_sources):
        rewrite(arcs)
    stored = set(names.values())
    before = _hoisted(program, gathered, kinds, tag)
    gathered.wake, gathered.everywhere, gathered.active = "changed", False, None
    arcs.signature = with_hidden(program.signature, kinds)
    ways = {value.attr[0] for value in gathers}
    facts = block_facts(gathered.body)
    part = ArcPart(
        program=arcs,
        ways=("out", "in") if "both" in ways or len(ways) == 2 else (ways.pop(),),
        hidden={name: (kind, 0) for name, kind in kinds.items() if name in stored},
        sources={name: kind for name, kind in kinds.items() if name not in stored},
        reads=frozenset(facts.far | facts.near | facts.live | {f"old.{n}" for n in facts.old}),
    )
    places = {id(value): number for number, value in enumerate(gathers)}
    body.body = [value for value in body.body if id(value) not in places]
    for value in body.body:
        if value.op == "project" and id(value.args[0]) in places:
            name = names[places[id(value.args[0])], value.attr]
            value.op, value.args, value.attr = "load", (), ("field", "v", name)
    after = _program(program, own, kinds)
    return Stage(step, before, part, after)


def _store_gathered(step: Step, tag: str) -> tuple[dict[tuple[int, int], str], dict[str, Kind]]:
    """Reduce a vertex step to storing its gathers; return the names of the fields."""
    body = step.body
    gathers = [value for value in body.body if value.op in _GATHERS]
    numbers = {id(value): number for number, value in enumerate(gathers)}
    names: dict[tuple[int, int], str] = {}
    kinds: dict[str, Kind] = {}
    kept: list[Value] = []
    stores: list[Value] = []
    for value in body.body:
        if value.op in ("store", "set_changed", "reduce_scalar"):
            continue
        kept.append(value)
        if value.op == "project" and id(value.args[0]) in numbers:
            number, part = numbers[id(value.args[0])], value.attr
            if (number, part) not in names:
                name = names[number, part] = f"gathered.{tag}.{number}.{part}"
                kinds[name] = value.dtype, value.shape
                stored = value
                if value.weak:  # a field is never weak
                    stored = Value("cast", (value,), None, value.dtype, value.shape)
                    stores.append(stored)
                stores.append(Value("store", (stored,), name, value.dtype, value.shape))
    unchanged = Value("const", (), False, BOOL)
    body.body = [*kept, *stores, unchanged, Value("set_changed", (unchanged,))]
    body.results, step.conditional = (), False
    return names, kinds


def _hoisted(program: Program, step: Step, kinds: dict[str, Kind], tag: str) -> Program | None:
    """Turn hoisted expressions of u into fields; return the program that fills them."""
    if not step.hoisted:
        return None
    block = Block()
    names = {}
    for number, (name, made) in enumerate(step.hoisted):
        made = copy.deepcopy(made)
        for value in made.body:
            if value.op == "load" and len(value.attr) > 1 and value.attr[1] == "u":
                value.attr = (value.attr[0], "v", *value.attr[2:])
        result = made.results[0]
        names[name] = f"source.{tag}.{number}"
        kinds[names[name]] = result.dtype, result.shape
        store = Value("store", (result,), names[name], result.dtype, result.shape)
        block.body += [*made.body, store]
    for value in step.body.walk():
        if value.op == "load" and value.attr[0] == "field" and value.attr[2] in names:
            value.attr = ("field", value.attr[1], names[value.attr[2]])
    step.hoisted = []
    fill = Step("vertex", step.name, block, place=step.place, everywhere=True)
    return _program(program, fill, kinds)


# -- waking


def _woken_ways(step: Step) -> tuple[str, ...]:
    """Return the directions towards vertices that gather from a changed one."""
    gathered = {value.attr[0] for value in step.body.body if value.op in _GATHERS} or {"in"}
    ways = {"out"} if gathered & {"in", "both"} else set()
    return tuple(sorted(ways | ({"in"} if gathered & {"out", "both"} else set())))


def _wake_part(program: Program, way: str) -> ArcPart:
    """Return the sweep whose output is the targets of the frontier's arcs."""
    step = Step("edge", "wake", Block(), active=_always(), along=way)
    return ArcPart(program=_program(program, step, {}), ways=(way,))
