"""Monoids as aggregates: what the messages of a group come to."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

from weft.backends.relational.blocks import Parts, Scope, Writer, each, held_cells, shaped
from weft.backends.relational.dialect import Kind
from weft.backends.relational.refusals import Refused
from weft.backends.relational.rows import Cell, Cte, Rows
from weft.ir.ops import Block, Reduction, identity_of


class Inline(Rows):
    """Rows in which every cell is one expression, such as the body of a lambda."""

    def __init__(self) -> None:
        super().__init__(count(), lambda rows: "")

    def leaf(self, text: str, *tables: str) -> Cell:
        """Return the text of a column."""
        return Cell(text)

    def bind(self, cell: Cell) -> Cell:
        """Return the cell as it is."""
        return cell

    def join(self, *args: Any, **options: Any) -> list[Cell]:
        """Refuse: an expression has no tables."""
        raise Refused("a lookup within a monoid", "a combine function only sees two values")


class Group:
    """Messages that combine under one reduction.

    Parameters
    ----------
    messages
        The parts of a message, as cells of the rows that send them.
    kinds
        The dtypes of the parts.
    sent
        Where a row sends; None: everywhere.
    order
        The column that decides between equal messages of a deterministic run.
    """

    def __init__(
        self,
        writer: Writer,
        reduction: Reduction,
        messages: Sequence[Parts],
        kinds: Sequence[Kind],
        sent: Cell | None,
        order: str = "",
    ) -> None:
        self.writer, self.reduction, self.sent, self.order = writer, reduction, sent, order
        self.messages, self.kinds = list(messages), list(kinds)
        self.cells = held_cells(messages)

    def _where(self, *more: str) -> str:
        tests = [test for test in (self.sent.text if self.sent else "", *more) if test]
        return f" FILTER (WHERE {' AND '.join(tests)})" if tests else ""

    # -- before the group by

    def totals(self) -> list[str]:
        """Return the aggregates, as texts over the rows that send."""
        name, d = self.reduction.name, self.writer.dialect
        if self.reduction.selecting:
            struct, key = d.row([cell.text for cell in self.cells]), self.cells[0].text
            if name == "any":
                chosen = d.at_least(struct, self.order) if self.order else d.first(struct)
                return [chosen + self._where()]
            number = f"NOT isnan({key})" if self.kinds[0].kind == "f" else ""
            if self.order:
                wide = "DOUBLE" if self.kinds[0].kind == "f" else d.wide
                signed = key if name == "argmin" else f"-CAST({key} AS {wide})"
                key = d.row([signed, self.order])
                return [d.at_least(struct, key) + self._where(number)]
            pick = d.at_least if name == "argmin" else d.at_greatest
            return [pick(struct, key) + self._where(number)]
        return [self._total(cell.text) for cell in self.cells]

    def _total(self, text: str) -> str:
        name, kind, d = self.reduction.name, self.kinds[0], self.writer.dialect
        if name == "sum":
            return d.sum_of(text, kind) + self._where()
        if name in ("min", "max"):
            return f"{name.upper()}({text})" + self._where(
                f"NOT isnan({text})" if kind.kind == "f" else ""
            )
        if name in ("or", "and"):
            if kind.kind == "b":
                return f"BOOL_{name.upper()}({text})" + self._where()
            return d.bits_of_group(name, text) + self._where()
        if name == "prod" and kind.kind == "f":
            return d.product(text, self._where())
        if name in ("prod", "user"):
            start = self.writer.literal(identity_of(self.reduction, kind), kind)
            step = self._combined(Cell("acc"), Cell("x"))
            sent = self.sent.text if self.sent else "TRUE"
            return d.folded(text, sent, start.text, d.cast(step.text, kind), kind)
        raise Refused(f"weft.{name} as the reduction of an edge function", "no aggregate has it")

    def _combined(self, a: Cell, b: Cell) -> Cell:
        """Return the combination of two values of a monoid without an aggregate of its own."""
        scope = Scope(self.writer, Inline(), {})
        block: Block | None = self.reduction.combine
        if block is None:
            return scope.apply("mul", self.kinds[0], a, b)
        one = [shaped([cell], ()) for cell in (a, b)]
        result: Cell = scope.run(block, one)[0][()]
        return result

    # -- after it

    def settled(self, scope: Scope, totals: Sequence[Cell], starts: Sequence[Parts]) -> list[Parts]:
        """Return start ⊕ m1 ⊕ m2 ... from the aggregates, each NULL without messages."""
        if self.reduction.selecting:
            return self._selected(scope, totals[0], starts)
        cells = [
            scope.rows.bind(self._joined(scope, scope.rows.bind(start), total))
            for start, total in zip(held_cells(starts), totals, strict=True)
        ]
        return [shaped(cells, starts[0].shape)]

    def _selected(self, scope: Scope, total: Cell, starts: Sequence[Parts]) -> list[Parts]:
        d, position, parts = self.writer.dialect, 0, []
        better = Cell(f"({total.text} IS NOT NULL)", total.stage, False)
        if self.reduction.name != "any":
            key, best = d.part(total.text, 0), starts[0][()]
            symbol = "<" if self.reduction.name == "argmin" else ">"
            text = f"COALESCE({key} {symbol} {best.text}, FALSE)"
            if symbol == ">" and self.kinds[0].kind == "f":
                text = f"({text} AND NOT isnan({best.text}))"
            better = Cell(text, max(total.stage, best.stage), False)
            if symbol == "<" and self.kinds[0].kind == "f":
                better = Cell(f"({text} AND NOT isnan({best.text}))", better.stage, False)
        better = scope.rows.bind(better)
        for start in starts:
            cells = []
            for old in start.reshape(-1):
                new = Cell(d.part(total.text, position), total.stage, False)
                cells.append(scope.rows.bind(self.writer.select(better, new, old)))
                position += 1
            parts.append(shaped(cells, start.shape))
        return parts

    def _joined(self, scope: Scope, start: Cell, total: Cell) -> Cell:
        name, kind, d = self.reduction.name, self.kinds[0], self.writer.dialect
        stage = max(start.stage, total.stage)
        if name == "sum" and kind.kind == "f":
            text = f"CAST({start.text} AS DOUBLE) + COALESCE({total.text}, 0)"
            text = d.narrowed(f"({text})") if kind.itemsize == 4 else f"({text})"
        elif name == "sum":
            whole = d.wrapped_sum(f"COALESCE({total.text}, 0)", kind)
            bound = scope.rows.bind(Cell(whole, stage, False))
            return scope.apply("add", kind, start, bound)
        elif name in ("min", "max"):
            other = scope.rows.bind(Cell(f"COALESCE({total.text}, {start.text})", stage, False))
            op = "minimum" if name == "min" else "maximum"
            return scope.apply(op, kind, start, other)
        else:
            none = self.writer.literal(identity_of(self.reduction, kind), kind).text
            other = Cell(d.cast(f"COALESCE({total.text}, {none})", kind), stage, False)
            other = scope.rows.bind(other)
            if name in ("or", "and"):
                return scope.apply(f"bit_{name}", kind, start, other)
            return self._combined(start, other)
        return Cell(text, stage, False)


def most_frequent(
    writer: Writer, rows: Rows, key: str, group: Group, name: str
) -> tuple[list[Cte], list[str]]:
    """Return the queries of `weft.mode`, the last one called `name`, and its columns.

    The most frequent value, or the one of the greatest total weight; the smallest one on ties.
    """
    d, (value, *weights) = writer.dialect, group.cells
    where = f" WHERE {group.sent.text}" if group.sent else ""
    total, order = "COUNT(*)", "-w"
    if weights:
        kind = group.kinds[1]
        total = d.sum_of(weights[0].text, kind)
        order = "-w"
        if kind.kind != "f":
            total = d.wrapped_sum(total, kind)
            order = f"-CAST(w AS {d.wide})"
        else:
            total = d.cast(total, kind)
    counted = (
        f"SELECT {key} AS k, {value.text} AS x, {total} AS w FROM {rows.last}{where} "
        f"GROUP BY {key}, {value.text}"
    )
    rank = [order, "x"]
    if weights and group.kinds[1].kind == "f":
        rank = [
            "CASE WHEN isnan(w) THEN 1 ELSE 0 END",
            "CASE WHEN isnan(w) THEN 0 ELSE -w END",
            "x",
        ]
    best = d.at_least(d.row(["x", "w"]), d.row(rank))
    chosen = f"SELECT k, {best} AS b FROM {name}_n GROUP BY k"
    parts = ", ".join(f"{d.part('b', i)} AS m{i}" for i in range(len(group.cells)))
    last = f"SELECT k, {parts} FROM {name}_b"
    ctes = [(f"{name}_n", counted), (f"{name}_b", chosen), (name, last)]
    return ctes, [f"m{i}" for i in range(len(group.cells))]


def starts_of(writer: Writer, reduction: Reduction, kinds: Sequence[Any]) -> list[Parts]:
    """Return the initial values of a gather."""
    from weft.ir.ops import payload_identity

    parts = []
    for position, (dtype, shape) in enumerate(kinds):
        number = identity_of(reduction, dtype)
        if position and reduction.name in ("argmin", "argmax"):
            number = payload_identity(dtype)
        size = 1
        for extent in shape:
            size *= extent
        parts.append(shaped([writer.literal(number, dtype)] * size, shape))
    return parts


def bound(scope: Scope, parts: Sequence[Parts]) -> list[Parts]:
    """Return values as columns."""
    return [each(scope.rows.bind, part) for part in parts]
