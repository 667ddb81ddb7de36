"""Sweeps as queries: a run of edge functions, or of vertex functions, over all their items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from weft.backends.relational.aggregates import Group, Inline
from weft.backends.relational.blocks import Effects, Parts, Scope, Writer, both, one
from weft.backends.relational.dialect import Dialect, Kind
from weft.backends.relational.gathers import arc_joins, arcs_by, by_blocks
from weft.backends.relational.refusals import Refused
from weft.backends.relational.rows import Cell, Cte, Rows, numbers, query
from weft.backends.relational.tables import ARC_STATE, FRONTIER, NOW, ROWS, Plan, Schema, make_field
from weft.ir.check.facts import block_facts, uses
from weft.ir.ops import Block, Reduction, Step, total_dtype
from weft.ir.reference.memory import live_fields, live_written_fields, stored_fields
from weft.ir.reference.sweeps import message_groups

MEMBERS = f"(SELECT id FROM {FRONTIER})"
SHIFT = 1 << 33  # a fault is its code times this, plus the vertex


@dataclass
class Total:
    """A scalar that a step reduces: its column in the result."""

    name: str
    reduction: Reduction
    dtype: Kind
    column: str
    step: int


@dataclass
class Sweep:
    """The queries of one run of functions.

    Attributes
    ----------
    rows
        A query whose result `ROWS` the others read; empty if they need none.
    arcs
        The next state of the arcs; empty if it stays.
    result
        The next state of the vertices, all of them or those that may change, with the columns
        `put_out`, `fault`, and those of `totals`.
    stats
        How many vertices were put out, the totals, the greatest fault.
    """

    steps: Sequence[Step]
    plan: Plan
    result: str
    stats: str
    rows: str = ""
    arcs: str = ""
    written: tuple[str, ...] = ()  # columns of the state
    totals: list[Total] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def texts(self) -> list[str]:
        """All queries in their order."""
        return [text for text in (self.rows, self.arcs, self.result, self.stats) if text]


def lower(
    steps: Sequence[Step], schema: Schema, dialect: Dialect, plan: Plan, deterministic: bool
) -> Sweep:
    """Return the queries of a run of edge functions or of vertex functions."""
    effects = {name for step in steps for name in live_written_fields(step.body)}
    if effects and plan.delta:
        plan = Plan(plan.everywhere, False, plan.lists, plan.block, plan.arcs)
    writer = Writer(dialect, schema, plan, numbers(), deterministic)
    made = _Edges(writer, steps) if steps[0].kind == "edge" else _Vertices(writer, steps)
    sweep = made.sweep()
    _check_live(steps)
    return sweep


def _check_live(steps: Sequence[Step]) -> None:
    """Refuse functions that read what other items of the same run write live."""
    written = {name for step in steps for name in live_written_fields(step.body)}
    read: set[str] = set()
    for step in steps:
        for block in (step.body, step.accept):
            read |= _loaded(block) if block is not None else set()
        read |= set(step.into) | stored_fields(step.body)
        if step.kind == "vertex" and step.active is not None:
            read |= block_facts(step.active).near
    if written & read:
        name = sorted(written & read)[0]
        raise Refused(
            f"field {name!r}, which it also updates live",
            "all updates of a superstep become visible together",
            "split it into two functions, or run it in memory with g.to('cpu')",
        )


def _loaded(block: Block) -> set[str]:
    """Return the fields that a block reads and does something with."""
    counts = uses(block)
    used = [value for value in block.walk() if counts.get(id(value), 0)]
    loads = {v.attr[2] for v in used if v.op == "load" and v.attr[0] == "field"}
    return loads | {v.attr for v in used if v.op == "at_load"}


class _Run:
    """Base class of sweeps of edge functions and of vertex functions."""

    def __init__(self, writer: Writer, steps: Sequence[Step]) -> None:
        self.writer, self.steps, self.schema = writer, steps, writer.schema
        self.totals: list[Total] = []
        self.scatters: list[tuple[str, str, str]] = []  # table, query, field

    def begin(self, scope: Scope) -> dict[str, Parts]:
        """Add the current fields of v to a scope; return them."""
        held = {name: scope.columns("s", f) for name, f in self.schema.fields.items()}
        scope.own = dict(held)
        return held

    def holds(self, scope: Scope, block: Block) -> Cell:
        """Return a condition as a column."""
        cell: Cell = scope.rows.bind(scope.run(block)[0][()])
        return cell

    def differs(self, scope: Scope, names: Sequence[str], a: Any, b: Any) -> Cell:
        """Return whether some fields differ bit for bit."""
        tests: list[Cell] = []
        for name in names:
            kind = self.schema.fields[name].dtype
            for x, y in zip(a[name].reshape(-1), b[name].reshape(-1), strict=True):
                if x == y:
                    continue
                x, y = scope.rows.bind(x), scope.rows.bind(y)
                text = self.writer.expressions.differ(x.text, y.text, kind)
                tests.append(Cell(text, max(x.stage, y.stage), False))
        if not tests:
            return Cell("FALSE", constant=True)
        text = " OR ".join(test.text for test in tests)
        return scope.rows.bind(Cell(f"({text})", max(test.stage for test in tests), False))

    def chosen(self, scope: Scope, test: Cell | None, new: Parts, old: Parts) -> Parts:
        """Return a value where a condition holds, else another."""
        if test is None or new is old:
            return new
        result = np.empty(old.shape, object)
        for place in np.ndindex(*old.shape):
            cell = self.writer.select(test, new[place], old[place])
            result[place] = scope.rows.bind(cell)
        return result

    def keep_old(
        self, scope: Scope, names: Sequence[str], before: dict[str, Parts], test: Cell | None = None
    ) -> None:
        """Record the earlier values of the fields that the step changed."""
        for name in names:
            if f"old.{name}" in self.schema.fields:
                changed = both(test, self.differs(scope, [name], before, scope.own))
                held = scope.own[f"old.{name}"]
                scope.own[f"old.{name}"] = self.chosen(scope, changed, before[name], held)

    def scatter(self, scope: Scope, source: str) -> list[tuple[str, str, str, list[str]]]:
        """Return the live updates: a table, its query, the field and its columns."""
        made = []
        for name, monoid, index, cells, guard in scope.effects.scattered:
            kinds = [self.schema.fields[name].dtype]
            group = Group(self.writer, Reduction(monoid), [cells], kinds, None)
            where = f" WHERE {guard.text}" if guard else ""
            totals = group.totals()
            listed = "".join(f", {text} AS x{i}" for i, text in enumerate(totals))
            text = f"SELECT {index.text} AS k{listed} FROM {source}{where} GROUP BY {index.text}"
            table = f"x{next(self.writer.names)}"
            made.append((table, text, name, [f"x{i}" for i in range(len(totals))]))
            self._groups[table] = group
        return made

    _groups: dict[str, Group]

    def scattered(self, scope: Scope, made: list[tuple[str, str, str, list[str]]]) -> None:
        """Combine the live updates with the fields."""
        for table, text, name, columns in made:

            def queries(table: str = table, text: str = text) -> list[Cte]:
                return [(table, text)]

            me = scope.rows.leaf("s.id", "s")
            totals = scope.rows.join(table, f"t.k = {me.text}", columns, 0, queries)
            before = scope.own[name]
            (scope.own[name],) = self._groups[table].settled(scope, totals, [before])

    def result(self, scope: Scope, put_out: Cell, extra: list[tuple[str, str]]) -> str:
        """Return the query of the next state."""
        rows = scope.rows
        columns = [("id", rows.leaf("s.id", "s").text)]
        for degree in self.schema.degrees:
            columns.append((degree, rows.leaf(f"s.{degree}", "s").text))
        for name, held in self.schema.fields.items():
            for column, cell in zip(held.columns, scope.own[name].reshape(-1), strict=True):
                columns.append((column, self.writer.dialect.cast(cell.text, held.dtype)))
        columns += [("put_out", put_out.text), *extra]
        listed = ", ".join(f"{text} AS {name}" for name, text in columns)
        barrier = self.writer.dialect.barrier
        return query(rows.ctes(), f"SELECT {listed} FROM {rows.last}", barrier)

    def stats(self, faults: bool) -> str:
        """Return the query of what a superstep came to."""
        parts = ["COUNT(*) FILTER (WHERE put_out)"]
        for total in self.totals:
            parts.append(self.aggregate(total, total.column))
        parts.append("MAX(fault)" if faults else "0")
        return f"SELECT {', '.join(parts)} FROM {ROWS}"

    def aggregate(self, total: Total, text: str, sent: Cell | None = None) -> str:
        """Return the aggregate of a reduced scalar."""
        group = Group(self.writer, total.reduction, [one(Cell(text))], [total.dtype], sent)
        return group.totals()[0]

    def add_totals(self, effects: Effects, step: int, before: int) -> None:
        """Declare the scalars that a step reduced."""
        for name, reduction, _, _ in effects.reduced[before:]:
            dtype = total_dtype(reduction, self.schema.scalars[name])
            column = f"total_{len(self.totals)}"
            self.totals.append(Total(name, reduction, dtype, column, step))

    def written(self, own: dict[str, Parts], held: dict[str, Parts]) -> tuple[str, ...]:
        """Return the columns that are not what they were."""
        return tuple(
            column
            for name, f in self.schema.fields.items()
            if own[name] is not held[name]
            for column in f.columns
        )


class _Edges(_Run):
    """A run of edge functions: per arc, one after another."""

    def sweep(self) -> Sweep:
        """Return its queries."""
        self._groups = {}
        arcs = self._arcs()
        messages, fault = self._messages(arcs)
        writes = bool(arcs.effects.arcs)
        source = ROWS if writes else arcs.rows.last
        name = f"m{next(self.writer.names)}"
        far = arcs.rows.leaf("a.far").text
        columns = [(f"n{i}", text) for i, text in enumerate(self._counts)]
        columns += [(f"t{i}", text) for i, text in enumerate(messages)]
        for total, (_, _, cell, guard) in zip(self.totals, arcs.effects.reduced, strict=True):
            columns.append((total.column, self.aggregate(total, cell.text, guard)))
        if fault is not None:
            columns.append(("fault", f"MAX({fault.text})"))
        scatters = self.scatter(arcs, source)
        if any(table for table, *_ in scatters) and not columns:
            columns.append(("n0", "COUNT(*)"))
        listed = "".join(f", {text} AS {column}" for column, text in columns)
        grouped = f"SELECT {far} AS id{listed} FROM {source} GROUP BY {far}"

        def before() -> list[Cte]:
            own = [] if writes else arcs.rows.ctes()
            return [*own, (name, grouped)]

        scope, put_out, held = self._targets(name, before, scatters)
        extra = [(t.column, scope.rows.leaf(f"m.{t.column}").text) for t in self.totals]
        seen = fault is not None or bool(scope.effects.faults)
        if seen:
            extra.append(("fault", self._fault(scope, fault is not None)))
        result = self.result(scope, put_out, extra)
        sweep = Sweep(self.steps, self.writer.plan, result, self.stats(seen))
        if writes:
            sweep.arcs = self._arc_state(arcs)
            last = f"SELECT * FROM {arcs.rows.last}"
            sweep.rows = query(arcs.rows.ctes(), last, self.writer.dialect.barrier)
        sweep.written = self.written(scope.own, held)
        sweep.totals, sweep.faults = self.totals, self.writer.faults
        return sweep

    def _fault(self, scope: Scope, sent: bool) -> str:
        own = scope.fault()
        parts = ["0"]
        if sent:
            parts.append(f"COALESCE({scope.rows.leaf('m.fault').text}, 0)")
        if own is not None:
            me = scope.rows.leaf("s.id", "s")
            parts.append(
                f"CASE WHEN {own.text} > 0 THEN {own.text} * {SHIFT} + {me.text} ELSE 0 END"
            )
        return f"GREATEST({', '.join(parts)})" if len(parts) > 1 else "0"

    def _arcs(self) -> Scope:
        writer, along = self.writer, self.steps[0].along
        near = "src" if along == "out" else "dst"
        plan = writer.plan
        everywhere = plan.everywhere or self.steps[0].everywhere
        scope: Scope

        def base(rows: Rows) -> str:
            only = "" if everywhere or plan.arcs else MEMBERS
            table = arcs_by(writer, near, only)

            def joined(state: str, test: str) -> str:
                text = f"{table} a"
                if "u" in rows.used:
                    text += f" JOIN {state} u ON u.id = a.near"
                if "v" in rows.used:
                    text += f" JOIN {NOW} v ON v.id = a.far"
                text += arc_joins(rows.used)
                tests = [test] if test != "TRUE" else []
                if plan.arcs and not self.steps[0].everywhere:
                    tests.append(f"a.arc IN {MEMBERS}")
                return f"{text} WHERE {' AND '.join(tests)}" if tests else text

            if "u" in rows.used:
                return by_blocks(writer, NOW, "a.near", joined)
            return joined(NOW, "TRUE")

        ends = {"u": "a.near", "v": "a.far", "e": "a.arc"}
        scope = Scope(writer, Rows(writer.names, base), ends)
        scope.key = "a.arc"
        return scope

    def _messages(self, scope: Scope) -> tuple[list[str], Cell | None]:
        """Run the functions; return the aggregates of their messages, and the fault."""
        guard: Cell | None = None
        order = scope.rows.leaf("a.edge").text if self.writer.deterministic else ""
        self.groups: list[list[tuple[Group, Sequence[str], int]]] = []
        self._counts: list[str] = []
        texts: list[str] = []
        for number, step in enumerate(self.steps):
            if step.accept is not None:
                test = self.holds(scope, step.accept)
                if len(self.steps) == 1 and not test.constant:
                    scope.rows.keep(test)
                else:
                    guard = both(guard, test)
            scope.guard, before = guard, len(scope.effects.reduced)
            results = scope.run(step.body)
            self.add_totals(scope.effects, number, before)
            sent = guard
            if step.conditional:
                holds = both(guard, scope.rows.bind(results[-1][()]))
                sent, guard = (guard if step.sends_always else holds), holds
            if sent is not None:
                sent = scope.rows.bind(sent)
            where = f" FILTER (WHERE {sent.text})" if sent else ""
            self._counts.append(f"COUNT(*){where}")
            position = 0
            groups: list[tuple[Group, Sequence[str], int]] = []
            for reduction, size in message_groups(step):
                names = step.into[position : position + size]
                kinds = [self.schema.fields[name].dtype for name in names]
                parts = results[position : position + size]
                group = Group(self.writer, reduction, parts, kinds, sent, order)
                groups.append((group, names, len(texts)))
                texts += group.totals()
                position += size
            self.groups.append(groups)
        code = scope.fault()
        if code is None:
            return texts, None
        far = scope.rows.leaf("a.far")
        text = f"CASE WHEN {code.text} > 0 THEN {code.text} * {SHIFT} + {far.text} ELSE 0 END"
        return texts, scope.rows.bind(Cell(text, code.stage, False))

    def _targets(
        self, name: str, before: Any, scatters: list[Any]
    ) -> tuple[Scope, Cell, dict[str, Parts]]:
        """Return the vertices after the messages, and which of them are put out."""
        kind = "JOIN" if self.writer.plan.delta else "LEFT JOIN"

        def base(rows: Rows) -> str:
            return f"{NOW} s {kind} {name} m ON m.id = s.id"

        scope = Scope(self.writer, Rows(self.writer.names, base), {"v": "s.id"})
        scope.rows.stages[0].before.append(before)
        held = self.begin(scope)
        got: Cell | None = None
        for number, groups in enumerate(self.groups):
            count = scope.rows.leaf(f"m.n{number}")
            got = scope.rows.bind(Cell(f"(COALESCE({count.text}, 0) > 0)", count.stage, False))
            for group, names, first in groups:
                size = len(group.totals())
                totals = [scope.rows.leaf(f"m.t{first + i}") for i in range(size)]
                starts = [scope.own[field_name] for field_name in names]
                parts = group.settled(scope, totals, starts)
                for field_name, part, old in zip(names, parts, starts, strict=True):
                    scope.own[field_name] = self.chosen(scope, got, part, old)
        self.scattered(scope, scatters)
        names = [field_name for field_name in held if not field_name.startswith("old.")]
        self.keep_old(scope, names, held)
        assert got is not None
        return scope, self._put_out(scope, got, held), held

    def _put_out(self, scope: Scope, got: Cell, held: dict[str, Parts]) -> Cell:
        last = self.steps[-1]
        if last.active is not None:
            scope.before, scope.guard = held, got
            test = both(got, self.holds(scope, last.active))
        elif last.into:
            test = both(got, self.differs(scope, last.into, held, scope.own))
        else:
            test = got
        assert test is not None
        return scope.rows.bind(test)

    def _arc_state(self, scope: Scope) -> str:
        """Return the next state of the arcs."""
        columns = ["e.arc"]
        arc = scope.rows.leaf("a.arc").text
        for name, held in self.schema.arc_fields.items():
            cells = scope.effects.arcs.get(name)
            for k, column in enumerate(held.columns):
                if cells is None:
                    columns.append(f"e.{column}")
                else:
                    cell = scope.rows.column(cells.reshape(-1)[k])
                    new = f"COALESCE(r.{cell.text}, e.{column})"
                    columns.append(f"{self.writer.dialect.cast(new, held.dtype)} AS {column}")
        return (
            f"SELECT {', '.join(columns)} FROM {ARC_STATE} e LEFT JOIN {ROWS} r ON r.{arc} = e.arc"
        )


class _Vertices(_Run):
    """A run of vertex functions: per vertex, one after another."""

    def sweep(self) -> Sweep:
        """Return its queries."""
        self._groups = {}
        for step in self.steps:
            self._hoist(step)
        scope = self._scope()
        held = self.begin(scope)
        put_out = self._run(scope)
        code = scope.fault()
        me = scope.rows.leaf("s.id", "s")
        extra = []
        for total, (_, _, cell, guard) in zip(self.totals, scope.effects.reduced, strict=True):
            text = f"CASE WHEN {guard.text} THEN {cell.text} END" if guard else cell.text
            extra.append((total.column, text))
        if code is not None:
            text = f"CASE WHEN {code.text} > 0 THEN {code.text} * {SHIFT} + {me.text} ELSE 0 END"
            extra.append(("fault", text))
        if not self._everywhere and not self.writer.plan.delta:
            for name in held:
                scope.own[name] = self.chosen(scope, scope.guard, scope.own[name], held[name])
        if scope.effects.scattered:
            self._add_scatters(scope)
        self.keep_old(scope, sorted(self._live), held)
        result = self.result(scope, put_out, extra)
        sweep = Sweep(self.steps, self.writer.plan, result, self.stats(code is not None))
        sweep.written = self.written(scope.own, held)
        sweep.totals, sweep.faults = self.totals, self.writer.faults
        return sweep

    def _hoist(self, step: Step) -> None:
        """Compute the functions of u alone once per vertex, beside its state."""
        writer = self.writer
        for name, block in step.hoisted:
            scope = Scope(writer, Inline(), {"u": "u.id"})
            (parts,) = scope.run(block)
            held = make_field(name, len(writer.hoisted), "h", block.results[0].dtype, parts.shape)
            columns = ""
            for column, cell in zip(held.columns, parts.reshape(-1), strict=True):
                columns += f", {writer.dialect.cast(cell.text, held.dtype)} AS {column}"
            writer.hoists.append(columns)
            writer.hoisted[name] = held

    def _add_scatters(self, scope: Scope) -> None:
        """Combine live updates, which may reach any vertex, with its fields."""
        stage = len(scope.rows.stages)
        scope.rows.stage(stage)
        made = self.scatter(scope, scope.rows.at(stage))
        for table, text, name, columns in made:

            def queries(table: str = table, text: str = text) -> list[Cte]:
                return [(table, text)]

            me = scope.rows.leaf("s.id", "s")
            totals = scope.rows.join(table, f"t.k = {me.text}", columns, stage, queries)
            (scope.own[name],) = self._groups[table].settled(scope, totals, [scope.own[name]])

    def _scope(self) -> Scope:
        plan = self.writer.plan
        self._everywhere = plan.everywhere or self.steps[0].everywhere
        if self.steps[0].everywhere and not plan.everywhere:
            self.writer.plan = plan = Plan(True, False, False, plan.block, False)

        def base(rows: Rows) -> str:
            if self._everywhere:
                return f"{NOW} s"
            kind = "JOIN" if plan.delta else "LEFT JOIN"
            return f"{NOW} s {kind} {MEMBERS} fr ON fr.id = s.id"

        scope = Scope(self.writer, Rows(self.writer.names, base), {"v": "s.id"})
        scope.key = "s.id"
        scope.rows.leaf("s.id", "s")
        if not self._everywhere and not plan.delta:
            scope.guard = scope.rows.leaf("(fr.id IS NOT NULL)")
        return scope

    def _run(self, scope: Scope) -> Cell:
        """Run the functions; return which vertices are put out."""
        blocks = [b for step in self.steps for b in (step.body, step.active) if b is not None]
        self._live = frozenset().union(*(live_fields(block) for block in blocks))
        reached: Cell | None = None  # where the functions before it returned true
        put_out: Cell | None = None
        for number, step in enumerate(self.steps):
            scope.branch, earlier = reached, len(scope.effects.reduced)
            scope.effects.changed = None
            before = dict(scope.own)
            results = scope.run(step.body)
            self.add_totals(scope.effects, number, earlier)
            live = live_written_fields(step.body)
            names = sorted(stored_fields(step.body))
            self.keep_old(scope, [name for name in names if name not in self._live], before)
            holds = scope.rows.bind(results[0][()]) if step.conditional else None
            if step is self.steps[-1]:
                put_out = self._active(
                    scope, step, before, holds, [n for n in names if n not in live]
                )
            reached = both(reached, holds)
            scope.branch = None
        assert put_out is not None
        test = both(both(scope.guard, self._entered), put_out)
        assert test is not None
        return scope.rows.bind(test)

    def _active(
        self, scope: Scope, step: Step, before: Any, holds: Cell | None, names: list[str]
    ) -> Cell:
        self._entered = scope.branch
        if step.active is not None:
            scope.before = before
            return self.holds(scope, step.active)
        if scope.effects.changed is not None:
            return scope.effects.changed
        if holds is not None:
            return holds
        return self.differs(scope, names, before, scope.own)
