"""Runs compiled programs: superstep by superstep, each run of functions one query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from weft.backends.relational.compile import Compiled, Stretch, stretches
from weft.backends.relational.engines import BLOCK, Engine
from weft.backends.relational.notes import identity
from weft.backends.relational.store import Store
from weft.backends.relational.sweeps import SHIFT, Sweep, Total
from weft.backends.relational.tables import (
    ARC_STATE,
    ARCS,
    BEGIN,
    FRONTIER,
    IN_LISTS,
    NOW,
    OUT_LISTS,
    REFRESHING,
    ROWS,
    SUPERSTEP,
    Plan,
    filled,
    scalar_mark,
)
from weft.errors import FaultError
from weft.ir.ops import Step
from weft.ir.reference import arithmetic
from weft.ir.reference.evaluate import Evaluator, Frame
from weft.ir.request import Array, Outcome, Request

_NARROW = 32  # a frontier is narrow below one in so many vertices


@dataclass(frozen=True)
class Members:
    """A frontier: all vertices, or those (or the arcs) in a table."""

    table: str = ""
    count: int = 0
    arcs: bool = False
    marked: bool = False  # the table marks its members in the column put_out

    @property
    def text(self) -> str:
        """The members as a query."""
        return f"(SELECT id FROM {self.table}{' WHERE put_out' if self.marked else ''})"


class Loop:
    """One request being carried out."""

    def __init__(self, request: Request, program: Compiled, store: Store) -> None:
        self.request, self.compiled, self.store = request, program, store
        self.program, self.schema = program.program, program.schema
        self.engine: Engine = store.engine
        self.superstep, self.refreshing = 0, 0
        self.tables: set[str] = set()
        self.now, self.begin, self.arc_state = "", "", ""
        self.trail: list[Array] = []
        self.sizes: list[int] = []
        self.run = identity(request, program) if self.engine.resumes else ""

    # -- tables

    def make(self, what: str, text: str) -> str:
        """Make a table of a query; return its name."""
        name = self.engine.name(what)
        self.engine.create(name, text, self.engine.temporary)
        self.tables.add(name)
        return name

    def upload(self, what: str, columns: dict[str, Array]) -> str:
        """Make a table of arrays; return its name."""
        name = self.engine.name(what)
        self.engine.upload(name, columns, self.engine.temporary)
        self.tables.add(name)
        return name

    def keep_only(self, *names: str) -> None:
        """Drop all tables of the run but some."""
        for name in self.tables - set(names):
            self.engine.drop(name)
        self.tables &= set(names)

    def start(self) -> None:
        """Write the state into tables."""
        topology, data = self.request.topology, self.request.data
        columns: dict[str, Array] = {
            "id": np.arange(topology.num_vertices, dtype=topology.index_dtype)
        }
        for degree in self.schema.degrees:
            columns[degree] = np.asarray(getattr(topology, degree)).astype(np.int64)
        columns |= _flat(self.schema.fields, data.fields)
        self.now = self.begin = self.upload("state", columns)
        if self.schema.arc_fields:
            arcs: dict[str, Array] = {"arc": np.arange(topology.num_arcs, dtype=np.int64)}
            self.arc_state = self.upload(
                "arc_state", arcs | _flat(self.schema.arc_fields, data.edge_fields)
            )

    def finish(self) -> None:
        """Read the state back, and drop the tables."""
        data, engine = self.request.data, self.engine
        _read(engine, self.now, "id", self.schema.fields, data.fields)
        if self.arc_state:
            _read(engine, self.arc_state, "arc", self.schema.arc_fields, data.edge_fields)

    def members(self, items: Any, arcs: bool = False) -> Members:
        """Return the first frontier, or one of a trail."""
        if items is None:
            return Members(count=self.schema.num_vertices)
        ids = np.asarray(items).astype(np.int64 if arcs else self.request.topology.index_dtype)
        return Members(self.upload("frontier", {"id": ids}), len(ids), arcs)

    def array(self, members: Members) -> Array:
        """Return the members of a frontier in order."""
        dtype = self.request.topology.index_dtype
        if not members.table:
            return np.arange(members.count, dtype=dtype)
        found = self.engine.arrays(f"SELECT id FROM {members.text} ORDER BY id")
        return np.asarray(found["id"]).astype(dtype)

    # -- supersteps

    def values(self, frontier: Members, rows: str = "") -> dict[str, str]:
        """Return the values for the placeholders of a query."""
        dialect, data = self.engine.dialect, self.request.data
        values = {
            NOW: self.now, BEGIN: self.begin, ARCS: self.store.arcs, ARC_STATE: self.arc_state,
            ROWS: rows, SUPERSTEP: str(self.superstep), REFRESHING: str(self.refreshing),
        }  # fmt: skip
        if frontier.table:
            values[FRONTIER] = frontier.text
        for number, (name, dtype) in enumerate(self.schema.scalars.items()):
            values[scalar_mark(number)] = dialect.literal(data.scalars[name][0], dtype)
        for number, name in enumerate(self.schema.parameters):
            array = np.asarray(data.parameters[name])
            for k, item in enumerate(array.reshape(-1)):
                values[f"@parameter_{number}_{k}@"] = dialect.literal(item, array.dtype)
        return values

    def plan(self, stretch: Stretch, frontier: Members) -> Plan:
        """Return how a run of functions is carried out."""
        engine, n = self.engine, self.schema.num_vertices
        everywhere, how = not frontier.table, engine.plan
        if how == "auto":
            narrow = not everywhere and frontier.count * _NARROW < n
            how = "lists" if narrow else "blocks" if n > BLOCK else "dense"
        if how in ("delta", "lists") and (not engine.updates or stretch.watched):
            how = "dense"
        if everywhere and how in ("delta", "lists"):
            how = "dense" if stretch.steps[0].kind == "vertex" else "delta"
        block = engine.block if how == "blocks" else 0
        lists = how == "lists" and not frontier.arcs and not stretch.steps[0].everywhere
        return Plan(everywhere, how in ("delta", "lists"), lists, block, frontier.arcs)

    def run_stretch(self, stretch: Stretch, frontier: Members) -> Members:
        """Run functions; return what the last one puts out."""
        if stretch.begins:
            self.begin = self.now
        if frontier.arcs and stretch.steps[0].kind == "vertex":
            frontier = self._targets(frontier)
        plan = self.plan(stretch, frontier)
        sweep = self.compiled.sweep(stretch.steps, plan)
        values = self.values(frontier)
        if plan.lists:
            values[OUT_LISTS], values[IN_LISTS] = self.store.lists("src"), self.store.lists("dst")
        arc_state = self.arc_state
        if sweep.rows:
            values[ROWS] = self.make("rows", filled(sweep.rows, values))
            arc_state = self.make("arc_state", filled(sweep.arcs, values))
        result = self.make("state", filled(sweep.result, values))
        count, fault = self._stats(sweep, result, values)
        if fault:
            self._raise(sweep, fault)
        if sweep.plan.delta:
            self.engine.update(self.now, result, sweep.written)
        else:
            self.now = result
        self.arc_state = arc_state
        return Members(result, count, marked=True)

    def _targets(self, frontier: Members) -> Members:
        text = f"SELECT DISTINCT dst AS id FROM {self.store.arcs} WHERE arc IN {frontier.text}"
        return self._counted(self.make("frontier", text))

    def _counted(self, table: str) -> Members:
        return Members(table, int(self.engine.rows(f"SELECT COUNT(*) FROM {table}")[0][0]))

    def _stats(self, sweep: Sweep, result: str, values: dict[str, str]) -> tuple[int, int]:
        """Publish the scalars; return the number of vertices put out, and the fault."""
        ((count, *totals, fault),) = self.engine.rows(filled(sweep.stats, {**values, ROWS: result}))
        combined: dict[tuple[str, int], Any] = {}
        for total, found in zip(sweep.totals, totals, strict=True):
            number = _number(total, found)
            key = total.name, total.step
            if key in combined:
                number = arithmetic.combine(total.reduction.name, combined[key], number)
            combined[key] = number
        if not fault:
            with np.errstate(all="ignore"):
                for (name, _), number in sorted(combined.items(), key=lambda item: item[0][1]):
                    self.request.data.scalars[name][0] = number
        return int(count), int(fault or 0)

    def _raise(self, sweep: Sweep, fault: int) -> None:
        code, vertex = divmod(fault, SHIFT)
        names = ", ".join(step.name for step in sweep.steps)
        raise FaultError(
            f"{sweep.faults[code - 1]}, in {names} at vertex {vertex}. Expected every index, loop "
            "and matrix of a program to be valid wherever it runs; guard the value that is not."
        )

    def run_steps(self, steps: tuple[Step, ...], frontier: Members) -> Members:
        """Run functions one after another; return what the last one puts out."""
        for stretch in stretches(steps):
            frontier = self.run_stretch(stretch, frontier)
        return frontier

    def step(self, frontier: Members) -> Members:
        """Run one superstep; return the next frontier."""
        self.sizes.append(frontier.count)
        if self.program.trail:
            self.trail.append(self.array(frontier))
        scalars = {name: array.copy() for name, array in self.request.data.scalars.items()}
        try:
            with self.engine.transaction():
                output = self.run_steps(self.program.steps, frontier)
                self.superstep += 1
                if self.program.mode == "iterate":
                    output = self.wake(self.program.steps, output)
                self.remember(output)
        except BaseException:
            for name, array in scalars.items():
                self.request.data.scalars[name][0] = array[0]
            raise
        return output

    def remember(self, frontier: Members) -> None:
        """Drop what the superstep leaves behind, and note how far the run has come."""
        self.begin = self.now
        if self.run:
            self._note(frontier)
        self.keep_only(self.now, self.arc_state, frontier.table)

    def _note(self, frontier: Members) -> None:
        """Record the progress of the run and all its tables, before any is dropped."""
        scalars = {name: [str(array.dtype), array.tobytes().hex()]
                   for name, array in self.request.data.scalars.items()}  # fmt: skip
        self.engine.note(self.run, {
            "superstep": self.superstep, "now": self.now, "arc_state": self.arc_state,
            "scalars": scalars, "tables": sorted(self.tables),
            "frontier": [frontier.table, frontier.count, frontier.arcs, frontier.marked],
        })  # fmt: skip

    def resume(self) -> Members | None:
        """Resume from the progress of an interrupted run; None if there is none."""
        facts = self.engine.noted(self.run) if self.run and not self.program.trail else None
        if facts is None:
            return None
        self.superstep, self.now, self.begin = facts["superstep"], facts["now"], facts["now"]
        self.arc_state, self.tables = facts["arc_state"], set(facts["tables"])
        for name, (dtype, text) in facts["scalars"].items():
            values = np.frombuffer(bytes.fromhex(text), np.dtype(dtype))
            self.request.data.scalars[name][0] = values[0]
        return Members(*facts["frontier"])

    def wake(self, steps: Sequence[Step], output: Members) -> Members:
        """Return the next frontier, given what the last step of a superstep put out."""
        how = steps[-1].wake
        if how == "changed" or not output.count:
            return output
        if how == "all":
            return Members(count=self.schema.num_vertices)
        last = [s for s in stretches(tuple(steps))[-1].steps if s.kind == "vertex"]
        ways = {
            value.attr[0]
            for step in last
            for value in step.body.body
            if value.op in ("gather", "gather_by")
        } or {"in"}
        parts = []
        if ways & {"in", "both"}:
            parts.append(f"SELECT dst AS id FROM {self.store.arcs} WHERE src IN {output.text}")
        if ways & {"out", "both"}:
            parts.append(f"SELECT src AS id FROM {self.store.arcs} WHERE dst IN {output.text}")
        return self._counted(
            self.make(
                "frontier",
                " UNION ".join(f"({part})" for part in parts)
                if len(parts) > 1
                else f"SELECT DISTINCT id FROM ({parts[0]})",
            )
        )

    # -- runs

    def carry_out(self) -> Outcome:
        """Run the request to its end; drop its tables, also after an error."""
        self.engine.drop_garbage()
        try:
            first = self.resume()
            if first is None:
                with self.engine.transaction():
                    self.start()
            with self.engine.direct_groups():
                outcome = self._carry_out(first)
            self.finish()
        finally:
            self.keep_only()
            if self.run:
                self.engine.forget(self.run)
        return outcome

    def _carry_out(self, first: Members | None) -> Outcome:
        if self.program.mode == "replay":
            return self.replay()
        if self.program.mode != "iterate":
            return self.once()
        start = self.request.start
        return self.iterate(first or self.members(start.frontier, start.arcs))

    def once(self) -> Outcome:
        """Run one superstep."""
        start = self.request.start
        output = self.step(self.members(start.frontier, start.arcs))
        return Outcome(1, not output.count, self.array(output), self.trail)

    def replay(self) -> Outcome:
        """Run one superstep for each frontier of a trail, last to first."""
        trail = self.request.start.trail or []
        output: Members | None = None
        for part in reversed(trail):
            output = self.step(self.members(part))
        ids = (
            np.zeros(0, self.request.topology.index_dtype) if output is None else self.array(output)
        )
        return Outcome(len(trail), True, ids)

    def iterate(self, frontier: Members) -> Outcome:
        """Run supersteps until the frontier is empty, `until` holds or `max_iter` is reached."""
        request, converged = self.request, False
        persists = self.program.persists and self.schema.num_vertices > 0
        while not converged:
            if not frontier.count:
                frontier = self._refill(frontier)
            if not (frontier.count or persists) or self.superstep == request.max_iter:
                break
            frontier = self.step(frontier)
            converged = self._until()
        told = self.program.until is not None
        converged = self._until() if told else not frontier.count
        return Outcome(self.superstep, converged, self.array(frontier), self.trail)

    def _refill(self, empty: Members) -> Members:
        if not self.program.refill:
            return empty
        self.refreshing = 1
        with self.engine.transaction():
            found = self.run_steps(self.program.refill, Members(count=self.schema.num_vertices))
            self.refreshing = 0
            self.remember(found)
        return found

    def _until(self) -> bool:
        if self.program.until is None:
            return False
        fields = {name: _Looked(self, name) for name in self.program.until_fields}
        data = self.request.data
        known: Any = SimpleNamespace(
            scalars=data.scalars, parameters=data.parameters, superstep=self.superstep,
            num_vertices=self.schema.num_vertices, refreshing=0, now=fields, least=-np.inf,
            constants=self.request.constants,
        )  # fmt: skip
        return Evaluator(known).holds(self.program.until, Frame())


class _Looked:
    """A field that is read at single vertices."""

    def __init__(self, loop: Loop, name: str) -> None:
        self.loop, self.held = loop, loop.schema.fields[name]

    def __getitem__(self, vertex: int) -> Any:
        columns = ", ".join(self.held.columns)
        text = f"SELECT {columns} FROM {self.loop.now} WHERE id = {int(vertex)}"
        (row,) = self.loop.engine.rows(text)
        return np.array(row, self.held.dtype).reshape(self.held.shape)


def _number(total: Total, found: Any) -> Any:
    """Return a total in its dtype; integers wrap, and without values it is the identity."""
    start = arithmetic.start_of(total.reduction, total.dtype)
    if found is None:
        return start
    if total.dtype.kind in "iu":
        return np.array(int(found) % (1 << 64), np.uint64).astype(total.dtype)[()]
    number = total.dtype.type(found)
    return number


def _flat(fields: dict[str, Any], arrays: dict[str, Array]) -> dict[str, Array]:
    """Return the columns of fields."""
    columns: dict[str, Array] = {}
    for name, held in fields.items():
        flat = np.asarray(arrays[name]).reshape(len(arrays[name]), len(held.columns))
        columns |= {
            column: np.ascontiguousarray(flat[:, k]) for k, column in enumerate(held.columns)
        }
    return columns


def _read(
    engine: Engine, table: str, key: str, fields: dict[str, Any], arrays: dict[str, Array]
) -> None:
    """Read columns back into the arrays that they came from."""
    columns = [column for held in fields.values() for column in held.columns]
    if not columns:
        return
    found = engine.arrays(f"SELECT {', '.join(columns)} FROM {table} ORDER BY {key}")
    for name, held in fields.items():
        target = arrays[name]
        if not target.flags.writeable:
            continue
        flat = target.reshape(len(target), len(held.columns))
        for k, column in enumerate(held.columns):
            flat[:, k] = found[column]
