"""Blocks of the IR as columns of a relation: one instruction after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, TypeAlias

import numpy as np

from weft.backends.relational.dialect import Dialect, Kind
from weft.backends.relational.expressions import REPEATING, Expressions
from weft.backends.relational.refusals import Refused
from weft.backends.relational.rows import Cell, Rows
from weft.backends.relational.tables import (
    ARCS,
    NOW,
    REFRESHING,
    SUPERSTEP,
    Field,
    Plan,
    Schema,
)
from weft.ir.check.facts import uses
from weft.ir.elementwise import ELEMENTWISE
from weft.ir.ops import FEATURE, UINT64, Block, Reduction, Value

Parts: TypeAlias = Any  # the cells of a value: an array of objects, in its shape
_LONGEST = 300  # characters of an expression that is not made a column of its own


@dataclass
class Writer:
    """The state shared by all relations of one query."""

    dialect: Dialect
    schema: Schema
    plan: Plan
    names: Iterator[int]
    deterministic: bool = False
    faults: list[str] = field(default_factory=list)  # by code, from 1
    hoisted: dict[str, Field] = field(default_factory=dict)  # functions of u, by hidden name
    hoists: list[str] = field(default_factory=list)  # their columns in the table of far ends
    expressions: Expressions = field(init=False)

    def __post_init__(self) -> None:
        self.expressions = Expressions(self.dialect)

    def far(self, table: str) -> str:
        """Return the state of far ends, with the hoisted functions of it beside.

        Each is a query of its own, since it may use those before it.
        """
        for columns in self.hoists:
            table = f"(SELECT u.*{columns} FROM {table} u)"
        return table

    def literal(self, value: Any, dtype: Kind) -> Cell:
        """Return a constant."""
        return Cell(self.dialect.literal(value, dtype), constant=True)

    def fault(self, text: str) -> int:
        """Return the code of a fault."""
        if text not in self.faults:
            self.faults.append(text)
        return self.faults.index(text) + 1

    def select(self, test: Cell, yes: Cell, no: Cell) -> Cell:
        """Return one of two cells."""
        text = f"CASE WHEN {test.text} THEN {yes.text} ELSE {no.text} END"
        return Cell(text, max(test.stage, yes.stage, no.stage), False)


def both(a: Cell | None, b: Cell | None) -> Cell | None:
    """Return whether two conditions hold; None stands for one that always does."""
    if a is None or b is None:
        return a or b
    return Cell(f"({a.text} AND {b.text})", max(a.stage, b.stage), False)


@dataclass
class Effects:
    """The effects of a function, each with its condition."""

    reduced: list[tuple[str, Reduction, Cell, Cell | None]] = field(default_factory=list)
    scattered: list[tuple[str, str, Cell, Parts, Cell | None]] = field(default_factory=list)
    arcs: dict[str, Parts] = field(default_factory=dict)
    changed: Cell | None = None
    faults: list[tuple[Cell, int]] = field(default_factory=list)


class Scope:
    """The context of a block: its rows, its values so far, and the meaning of its loads.

    Attributes
    ----------
    own
        The fields of v as the function has them now; empty where v is seen as it was.
    before
        The fields of v before the step, for `active`.
    ends
        The text of the id of u, v and w.
    """

    def __init__(
        self, writer: Writer, rows: Rows, ends: dict[str, str], outer: Scope | None = None
    ) -> None:
        self.writer, self.rows, self.ends, self.outer = writer, rows, ends, outer
        self.values: dict[Value, Any] = {}
        self.own: dict[str, Parts] = {}
        self.before: dict[str, Parts] = {}
        self.guard: Cell | None = None
        self.branch: Cell | None = None
        self.effects = Effects()
        self.key = ""  # of the rows: the column that no two of them share
        self.reached = 0  # the stage of the outer rows that these rows are made of
        self.uses: dict[int, int] = {}

    # -- values

    def run(self, block: Block, arguments: Sequence[Any] = ()) -> list[Any]:
        """Compute the results of a block."""
        self.values.update(zip(block.params, arguments, strict=True))
        for number, count in uses(block).items():
            self.uses[number] = self.uses.get(number, 0) + count
        for value in block.body:
            if value.op == "load" and not self.uses.get(id(value), 0):
                continue
            result = self.compute(value)
            if isinstance(result, np.ndarray) and self.uses.get(id(value), 0) > 1:
                result = each(self.rows.bind, result)
            self.values[value] = result
        return [self.of(result) for result in block.results]

    def of(self, value: Value) -> Any:
        """Return a value in these rows."""
        if value in self.values:
            return self.values[value]
        assert self.outer is not None
        self.values[value] = each(self.imported, self.outer.of(value))
        return self.values[value]

    def imported(self, cell: Cell) -> Cell:
        """Return a cell of the outer rows as a column of these."""
        if cell.constant:
            return cell
        assert self.outer is not None
        bound = self.outer.rows.bind(cell)
        self.reached = max(self.reached, bound.stage)
        return self.rows.leaf(f"o.{bound.text}", "o")

    def apply(self, op: str, dtype: Kind, *cells: Cell, kinds: Sequence[Kind] = ()) -> Cell:
        """Return an elementwise op of cells; `kinds` are their dtypes, by default the result's."""
        held = [Value("param", dtype=kind) for kind in kinds or [dtype] * len(cells)]
        return self.elementwise(Value(op, tuple(held), dtype=dtype), cells)

    def elementwise(self, value: Value, cells: Sequence[Cell]) -> Cell:
        """Return one component of an elementwise op."""
        if value.op in REPEATING:
            cells = [self.rows.bind(cell) for cell in cells]
        text = self.writer.expressions.write(value, [cell.text for cell in cells])
        constant = all(cell.constant for cell in cells)
        long = len(text) > _LONGEST
        made = Cell(text, latest(cells), constant and not long, constant and not long)
        return self.rows.bind(made) if long else made

    def compute(self, value: Value) -> Any:
        """Return the cells of one instruction, or those of each of its results."""
        args = [self.of(arg) for arg in value.args]
        if value.op in ELEMENTWISE:
            return self._each_component(value, args)
        if value.op in FEATURE:
            from weft.backends.relational.features import feature

            return feature(self, value, args)
        method: Callable[..., Any] | None = getattr(self, f"_{value.op}", None)
        if method is None:
            raise Refused(*_WHY.get(value.op, (f"the operation {value.op}", "it has no SQL form")))
        return method(value, *args)

    def _each_component(self, value: Value, args: list[Parts]) -> Parts:
        rank, result = len(value.shape), np.empty(value.shape, object)
        spread: list[Parts] = [
            np.broadcast_to(a.reshape((1,) * (rank - a.ndim) + a.shape), value.shape) for a in args
        ]
        if value.op == "broadcast":
            return np.array(spread[0])
        for place in np.ndindex(*value.shape):
            result[place] = self.elementwise(value, [a[place] for a in spread])
        return result

    # -- leaves

    def _const(self, value: Value) -> Parts:
        return one(self.writer.literal(value.attr, value.dtype))

    def _load(self, value: Value) -> Parts:
        kind, *rest = value.attr
        if kind in ("field", "old"):
            name = rest[1] if kind == "field" else f"old.{rest[1]}"
            return self.field("v" if rest[0] == "old" else rest[0], name)
        loaded = getattr(self, f"_load_{kind}", None)
        if loaded is None:
            raise Refused(f"a load of {kind}", "no table holds it")
        parts: Parts = loaded(value, *rest)
        return parts

    def field(self, who: str, name: str) -> Parts:
        """Return a field of a vertex."""
        if who == "before":
            return self.before[name]
        if who == "v" and name in self.own:
            return self.own[name]
        if who not in self.ends:
            assert self.outer is not None
            return each(self.imported, self.outer.field(who, name))
        held = self.writer.hoisted.get(name) or self.writer.schema.fields[name]
        return self.columns(who, held)

    def columns(self, alias: str, held: Field) -> Parts:
        """Return the columns of a field from a table of the base."""
        cells = [self.rows.leaf(f"{alias}.{column}", alias) for column in held.columns]
        return shaped(cells, held.shape)

    def end(self, who: str) -> Cell:
        """Return the id of a vertex."""
        if who in self.ends:
            return self.rows.leaf(self.ends[who])
        assert self.outer is not None
        return self.imported(self.outer.end(who))

    def _load_id(self, value: Value, who: str) -> Parts:
        return one(self._typed(self.end(who), value.dtype))

    def _typed(self, cell: Cell, dtype: Kind) -> Cell:
        return Cell(self.writer.dialect.cast(cell.text, dtype), cell.stage, False)

    def _load_degree(self, value: Value, who: str) -> Parts:
        if who not in self.ends:
            assert self.outer is not None
            return each(self.imported, self.outer._load_degree(value, who))
        alias = "s" if self.ends[who] == "s.id" else who
        cell = self.rows.leaf(f"{alias}.{value.attr[0]}", alias)
        return one(self._typed(cell, value.dtype))

    _load_out_degree = _load_in_degree = _load_degree

    def _of_arc(self, column: str, who: str = "e") -> Cell:
        if who == "e" and "e" not in self.ends:
            assert self.outer is not None
            return self.imported(self.outer._of_arc(column))
        alias = "a" if who == "e" else who
        return self.rows.leaf(f"{alias}.{column}", alias)

    def _load_column(self, value: Value, who: str, name: str) -> Parts:
        held = self.writer.schema.columns[name]
        return shaped([self._of_arc(column, who) for column in held.columns], held.shape)

    def _load_edge_id(self, value: Value, who: str = "e") -> Parts:
        return one(self._typed(self._of_arc("edge", who), value.dtype))

    def _load_rank(self, value: Value) -> Parts:
        return one(self._typed(self._of_arc("rank"), value.dtype))

    def _load_edge_state(self, value: Value, who: str, name: str) -> Parts:
        if who == "e" and name in self.effects.arcs:
            return self.effects.arcs[name]
        if who == "e" and "e" not in self.ends:
            assert self.outer is not None
            return each(self.imported, self.outer._load_edge_state(value, who, name))
        held = self.writer.schema.arc_fields[name]
        alias = {"e": "ae", "rev": "arev", "ea": "aea", "eb": "aeb"}[who]
        if who != "e":
            self.rows.used.add(who)
        return self.columns(alias, held)

    def _load_scalar(self, value: Value, name: str) -> Parts:
        return one(Cell(self.writer.schema.mark_of(name), constant=True))

    def _load_parameter(self, value: Value, _: str, name: str) -> Parts:
        number = list(self.writer.schema.parameters).index(name)
        cells = [
            Cell(f"@parameter_{number}_{k}@", constant=True)
            for k in range(int(np.prod(value.shape)))
        ]
        return shaped(cells, value.shape)

    def _load_superstep(self, value: Value) -> Parts:
        return one(Cell(self.writer.dialect.cast(SUPERSTEP, value.dtype), constant=True))

    def _load_refreshing(self, value: Value) -> Parts:
        return one(Cell(self.writer.dialect.cast(REFRESHING, value.dtype), constant=True))

    def _load_num_vertices(self, value: Value) -> Parts:
        return one(self.writer.literal(self.writer.schema.num_vertices, value.dtype))

    # -- computed vertices

    def fail(self, test: str, cell: Cell, text: str) -> None:
        """Record a fault where a condition on a cell holds and the function runs."""
        condition = both(both(self.guard, self.branch), Cell(test, cell.stage, False))
        assert condition is not None
        self.effects.faults.append((condition, self.writer.fault(text)))

    def vertex(self, cell: Cell, what: str) -> Cell:
        """Return an index as a column, checked to be a vertex."""
        cell, n = self.rows.bind(cell), self.writer.schema.num_vertices
        self.fail(
            f"({cell.text} < 0 OR {cell.text} >= {n})", cell,
            f"index out of range: {what} of a vertex outside the {n} of the graph",
        )  # fmt: skip
        return cell

    def _looked_up(self, index: Cell, columns: list[str], table: str) -> list[Cell]:
        return self.rows.join(table, f"t.id = {index.text}", columns, index.stage)

    def _at_load(self, value: Value, index: Parts) -> Parts:
        return self.loaded(value.attr, index[()], f"field {value.attr!r}")

    def loaded(self, name: str, index: Cell, what: str) -> Parts:
        """Return a field of a computed vertex, as it is now."""
        held, index = self.writer.schema.fields[name], self.vertex(index, what)
        zero = self.writer.literal(0, held.dtype)
        found = [
            Cell(f"COALESCE({cell.text}, {zero.text})", cell.stage, False)
            for cell in self._looked_up(index, held.columns, NOW)
        ]
        parts = shaped(found, held.shape)
        own = self.own.get(name)
        if own is None:
            return parts
        me = self.end("v")
        same = Cell(f"({index.text} = {me.text})", max(index.stage, me.stage), False)
        result = np.empty(parts.shape, object)
        for place in np.ndindex(*parts.shape):
            result[place] = self.writer.select(same, own[place], parts[place])
        return result

    def _degree(self, value: Value, index: Parts) -> Parts:
        cell = self.vertex(index[()], "degree")
        (found,) = self._looked_up(cell, ["out_degree"], NOW)
        return one(Cell(f"COALESCE(CAST({found.text} AS BIGINT), 0)", found.stage, False))

    def _row_of(self, x: Parts, i: Parts, column: str) -> Parts:
        start = self.vertex(x[()], "neighbor")
        place = self.rows.bind(i[()])
        stage = max(start.stage, place.stage)
        condition = f"t.src = {start.text} AND t.rank = {place.text}"
        (found,) = self.rows.join(ARCS, condition, [column], stage)
        self.fail(f"({found.text} IS NULL)", found, "index out of range: neighbor of a vertex")
        return one(Cell(f"COALESCE(CAST({found.text} AS BIGINT), 0)", found.stage, False))

    def _neighbor(self, value: Value, x: Parts, i: Parts) -> Parts:
        return self._row_of(x, i, "dst")

    def _neighbor_edge(self, value: Value, x: Parts, i: Parts) -> Parts:
        return self._row_of(x, i, "edge")

    def _find_edge(self, value: Value, a: Parts, b: Parts) -> Parts:
        start, to = self.vertex(a[()], "edge"), self.vertex(b[()], "edge to")
        condition = f"t.src = {start.text} AND t.dst = {to.text} AND t.par = 0"
        (found,) = self.rows.join(ARCS, condition, ["edge"], max(start.stage, to.stage))
        return one(Cell(f"COALESCE(CAST({found.text} AS BIGINT), -1)", found.stage, False))

    def _has_edge(self, value: Value, a: Parts, b: Parts) -> Parts:
        found = self._find_edge(value, a, b)[()]
        return one(Cell(f"({found.text} >= 0)", found.stage, False))

    def _column_at(self, value: Value, edge: Parts) -> Parts:
        schema, cell = self.writer.schema, self.rows.bind(edge[()])
        self.fail(
            f"({cell.text} < 0 OR {cell.text} >= {schema.num_edges})", cell,
            f"index out of range: an edge outside the {schema.num_edges} of the graph",
        )  # fmt: skip
        held = schema.columns[value.attr]
        once = "" if schema.directed else " AND t.src <= t.dst"
        found = self.rows.join(ARCS, f"t.edge = {cell.text}{once}", held.columns, cell.stage)
        zero = self.writer.dialect.literal(0, held.dtype)
        return shaped(
            [Cell(f"COALESCE({c.text}, {zero})", c.stage, False) for c in found], held.shape
        )

    def _random_bits(self, value: Value, key: Parts, counter: Parts) -> Parts:
        return one(self._mixed(key[()], counter[()]))

    def _random_unit(self, value: Value, key: Parts, counter: Parts) -> Parts:
        bits = self._mixed(key[()], counter[()])
        high = self.apply("shr", UINT64, bits, self.writer.literal(11, UINT64))
        text = (
            f"(CAST({high.text} AS DOUBLE) * {self.writer.dialect.literal(2.0**-53, value.dtype)})"
        )
        return one(Cell(text, high.stage, False))

    def _mixed(self, key: Cell, counter: Cell) -> Cell:
        from weft.arrays import random

        def number(x: int) -> Cell:
            return self.writer.literal(x, UINT64)

        def shifted(z: Cell, count: int) -> Cell:
            z = self.rows.bind(z)
            return self.apply("bit_xor", UINT64, z, self.apply("shr", UINT64, z, number(count)))

        def mix(z: Cell) -> Cell:
            z = self.apply("mul", UINT64, shifted(z, 30), number(random.MIX_1))
            z = self.apply("mul", UINT64, shifted(z, 27), number(random.MIX_2))
            return shifted(z, 31)

        first = mix(self.apply("add", UINT64, key, number(random.GAMMA)))
        second = self.apply("mul", UINT64, counter, number(random.STEP))
        return mix(self.apply("bit_xor", UINT64, first, second))

    # -- effects

    def _guarded(self) -> Cell | None:
        return both(self.guard, self.branch)

    def _store(self, value: Value, x: Parts) -> None:
        self.own[value.attr] = self.chosen(x, self.own[value.attr])

    def _store_edge(self, value: Value, x: Parts) -> None:
        held = self._load_edge_state(value, "e", value.attr)
        self.effects.arcs[value.attr] = self.chosen(x, held, self._guarded())

    def chosen(self, new: Parts, old: Parts, test: Cell | None = None) -> Parts:
        """Return a value where a condition (by default the running branch) holds, else another."""
        test = test or self.branch
        if test is None:
            return new
        result = np.empty(old.shape, object)
        for place in np.ndindex(*old.shape):
            made = self.writer.select(test, new[place], old[place])
            result[place] = self.rows.bind(made)
        return result

    def _reduce_scalar(self, value: Value, x: Parts) -> None:
        name, reduction = value.attr
        if reduction.name in ("user", "prod"):
            raise Refused(
                f"the monoid {reduction.name} on a scalar", "SQL has no such aggregate of all rows"
            )
        self.effects.reduced.append((name, reduction, self.rows.bind(x[()]), self._guarded()))

    def _set_changed(self, value: Value, x: Parts) -> None:
        test, cell = self.branch, x[()]
        if test is not None:
            earlier = self.effects.changed
            if earlier is None:
                raise Refused("v.changed within weft.cond", "it may be set or not")
            cell = self.writer.select(test, cell, earlier)
        self.effects.changed = self.rows.bind(cell)

    def _at_reduce(self, value: Value, index: Parts, x: Parts) -> None:
        name, monoid = value.attr
        if self.uses.get(id(value), 0):
            raise Refused(
                "the old value of a live update", "all updates of a superstep are one query",
                "use .at(i).load() for the value before the step, or run it with g.to('cpu')",
            )  # fmt: skip
        if monoid not in ("sum", "min", "max", "or", "and"):
            raise Refused(f"a live update by {monoid}", "SQL has no such aggregate")
        self._scatter(name, monoid, index, x)

    def _at_store(self, value: Value, index: Parts, x: Parts) -> None:
        self._scatter(value.attr, "any", index, x)

    def _scatter(self, name: str, monoid: str, index: Parts, x: Parts) -> None:
        place = self.vertex(index[()], f"field {name!r}")
        cells = each(self.rows.bind, x)
        self.effects.scattered.append((name, monoid, place, cells, self._guarded()))

    # -- control

    def _project(self, value: Value, parts: Any) -> Any:
        return parts[value.attr]

    def _cond(self, value: Value, test: Parts) -> list[Parts]:
        held, yes = self.branch, self.rows.bind(test[()])
        no = Cell(f"(NOT {yes.text})", yes.stage, False)
        self.branch = both(held, yes)
        then = self.run(value.blocks[0])
        self.branch = both(held, no)
        otherwise = self.run(value.blocks[1])
        self.branch = held
        results = []
        for a, b in zip(then, otherwise, strict=True):
            chosen = np.empty(a.shape, object)
            for place in np.ndindex(*a.shape):
                chosen[place] = self.rows.bind(self.writer.select(yes, a[place], b[place]))
            results.append(chosen)
        return results

    def _for(self, value: Value, *args: Parts) -> list[Parts]:
        from weft.backends.relational.loops import for_range

        return for_range(self, value, args)

    def _while(self, value: Value, *state: Parts) -> list[Parts]:
        from weft.backends.relational.loops import while_loop

        return while_loop(self, value, state)

    def _gather(self, value: Value) -> list[Parts]:
        from weft.backends.relational.gathers import gathered

        return gathered(self, value)

    def _gather_by(self, value: Value) -> list[Parts]:
        from weft.backends.relational.gathers import gathered_by

        return gathered_by(self, value)

    def _common(self, value: Value, a: Parts, b: Parts) -> list[Parts]:
        from weft.backends.relational.gathers import common

        return common(self, value, a[()], b[()])

    # -- what was found out

    def fault(self) -> Cell | None:
        """Return a column with the code of the fault of each row, 0 for none."""
        if not self.effects.faults:
            return None
        cases = " ".join(f"WHEN {test.text} THEN {code}" for test, code in self.effects.faults)
        stage = max(test.stage for test, _ in self.effects.faults)
        return self.rows.bind(Cell(f"CASE {cases} ELSE 0 END", stage, False))


_WHY = {
    "at_cas": ("compare-and-swap", "all updates of a superstep are one query"),
    "emit": ("weft.emit", "records have no place in the state"),
    "emit_begin": ("weft.emit", "records have no place in the state"),
    "constant": ("lifted constants", "they are written as they are"),
}


def one(cell: Cell) -> Parts:
    """Return a single cell as the parts of a number."""
    parts = np.empty((), object)
    parts[()] = cell
    return parts


def shaped(cells: Sequence[Cell], shape: tuple[int, ...]) -> Parts:
    """Return cells in a shape."""
    parts = np.empty(len(cells), object)
    parts[:] = cells
    return parts.reshape(shape)


def each(function: Callable[[Cell], Cell], parts: Any) -> Any:
    """Apply a function to each cell of a value, or of each of several values."""
    if isinstance(parts, list):
        return [each(function, part) for part in parts]
    return shaped([function(cell) for cell in parts.reshape(-1)], parts.shape)


def held_cells(parts: Sequence[Parts]) -> list[Cell]:
    """Return all cells of some values, one after another."""
    return [cell for part in parts for cell in part.reshape(-1)]


def latest(cells: Sequence[Cell | None]) -> int:
    """Return the stage from which on all cells are known."""
    return reduce(max, (cell.stage for cell in cells if cell is not None), 0)
