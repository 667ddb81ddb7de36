"""Reductions over the arcs of a vertex, and over the common neighbours of two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from weft.backends.relational.aggregates import Group, most_frequent, starts_of
from weft.backends.relational.blocks import Parts, Scope, Writer
from weft.backends.relational.refusals import Refused
from weft.backends.relational.rows import Cell, Cte, Rows
from weft.backends.relational.tables import (
    ARC_PARTS,
    ARC_STATE,
    ARCS,
    BEGIN,
    IN_LISTS,
    OUT_LISTS,
)
from weft.ir.ops import Reduction, Value


def arcs_by(writer: Writer, near: str, only: str = "") -> str:
    """Return the arcs as a table with the columns near and far; near is "src" or "dst".

    `only` is a query of vertices: just their arcs are wanted.
    """
    far = "dst" if near == "src" else "src"
    own = [c for held in writer.schema.columns.values() for c in held.columns]
    if writer.plan.lists and only:
        table = OUT_LISTS if near == "src" else IN_LISTS
        columns = ["far", *ARC_PARTS[2:], *own]
        text = writer.dialect.unnested(table, columns, f"id IN {only}")
        return f"(SELECT *, near AS {near}, far AS {far} FROM {text})"
    where = f" WHERE {near} IN {only}" if only else ""
    listed = ", ".join([*ARC_PARTS, *own])
    return f"(SELECT {near} AS near, {far} AS far, {listed} FROM {ARCS}{where})"


def arc_joins(used: set[str]) -> str:
    """Return the joins of what else an arc `a` leads to: its state, and the opposite arc."""
    text = ""
    if "ae" in used:
        text += f" JOIN {ARC_STATE} ae ON ae.arc = a.arc"
    if used & {"rev", "arev"}:
        text += f" JOIN {ARCS} rev ON rev.src = a.dst AND rev.dst = a.src AND rev.par = a.par"
    if "arev" in used:
        text += f" JOIN {ARC_STATE} arev ON arev.arc = rev.arc"
    return text


def by_blocks(writer: Writer, table: str, near: str, text: Callable[[str, str], str]) -> str:
    """Return rows that join the state of a far end, block by block where the plan says so.

    `text` takes the table that is joined and a condition on the arcs `a`, and returns what follows
    FROM; `Rows` repeats its columns for each block.
    """
    size, n = writer.plan.block, writer.schema.num_vertices
    if not size or n <= size:
        return text(table, "TRUE")
    parts = []
    for low in range(0, n, size):
        inside = f"{{}} >= {low} AND {{}} < {low + size}"
        own = f"(SELECT * FROM {table} WHERE {inside.format('id', 'id')})"
        parts.append(text(own, inside.format(near, near)))
    return "\n".join(parts)


def gathered(scope: Scope, value: Value) -> list[Parts]:
    """Return the results of a gather."""
    direction, groups = value.attr
    writer, rows = scope.writer, scope.rows
    key = scope.end("v")

    def base(inner_rows: Rows) -> str:
        only = ""
        if writer.plan.delta and not writer.plan.everywhere:
            only = f"(SELECT {key.text} FROM {rows.at(0)})"
        nears = {"in": ["dst"], "out": ["src"], "both": ["dst", "src"]}[direction]
        table = arcs_by(writer, nears[0], only)
        if len(nears) == 2:
            listed = ", ".join(["near", "far", *ARC_PARTS, *_own(writer)])
            tables = [f"SELECT {listed} FROM {arcs_by(writer, near, only)} x" for near in nears]
            table = f"({' UNION ALL '.join(tables)})"

        def joined(state: str, test: str) -> str:
            text = f"{table} a"
            if "u" in inner_rows.used:
                text += f" JOIN {state} u ON u.id = a.far"
            text += arc_joins(inner_rows.used)
            if "o" in inner_rows.used:
                text += f" JOIN {rows.at(inner.reached)} o ON o.{key.text} = a.near"
            return text if test == "TRUE" else f"{text} WHERE {test}"

        return (
            by_blocks(writer, writer.far(BEGIN), "a.far", joined)
            if "u" in inner_rows.used
            else joined(BEGIN, "TRUE")
        )

    inner = Scope(writer, Rows(writer.names, base), {"u": "a.far", "e": "a.arc"}, scope)
    inner.key = "a.arc"
    results = inner.run(value.blocks[0])
    near = inner.rows.leaf("a.near")
    order = inner.rows.leaf("a.edge").text if writer.deterministic else ""
    return reduced(scope, inner, value, groups, results, (near, key), order)


def _own(writer: Writer) -> list[str]:
    return [c for held in writer.schema.columns.values() for c in held.columns]


def reduced(
    scope: Scope,
    inner: Scope,
    value: Value,
    groups: Any,
    results: Sequence[Parts],
    keys: tuple[Cell, Cell],
    order: str,
) -> list[Parts]:
    """Return the reduced messages of all groups, joined to the outer rows.

    `keys` are the column of the inner rows that says where a message goes, and the column of the
    outer rows that it names.
    """
    writer, rest, kinds = scope.writer, list(results), list(value.results)
    near, key = keys
    made: list[tuple[Group, list[Any], str, list[str]]] = []
    name = f"g{next(writer.names)}"
    plain: list[str] = []
    more: list[tuple[str, Group]] = []
    for reduction, size, conditional in groups:
        messages, rest = rest[:size], rest[size:]
        sent = rest.pop(0)[()] if conditional else None
        own, kinds = kinds[:size], kinds[size:]
        group = Group(writer, reduction, messages, [kind for kind, _ in own], sent, order)
        if reduction.name == "mode":
            table = f"{name}_{len(more)}"
            more.append((table, group))
            made.append((group, own, table, [f"m{i}" for i in range(len(group.cells))]))
            continue
        totals = group.totals()
        columns = [f"m{len(plain) + i}" for i in range(len(totals))]
        plain += totals
        made.append((group, own, name, columns))
    fault = inner.fault()
    if fault is not None:
        plain.append(f"MAX({fault.text})")

    def main() -> list[Cte]:
        listed = "".join(f", {text} AS m{i}" for i, text in enumerate(plain))
        return [
            *inner.rows.ctes(),
            (name, f"SELECT {near.text} AS k{listed} FROM {inner.rows.last} GROUP BY {near.text}"),
        ]

    # The tables of modes read the inner rows, so the main one comes first even if it is empty.
    stage = max(inner.reached, key.stage)
    columns = [f"m{i}" for i in range(len(plain))]
    found = dict(
        zip(columns, scope.rows.join(name, f"t.k = {key.text}", columns, stage, main), strict=True)
    )
    cells = {(name, column): cell for column, cell in found.items()}
    for table, group in more:

        def queries(table: str = table, group: Group = group) -> list[Cte]:
            return most_frequent(writer, inner.rows, near.text, group, table)[0]

        columns = [f"m{i}" for i in range(len(group.cells))]
        joined = scope.rows.join(table, f"t.k = {key.text}", columns, stage, queries)
        cells |= {(table, c): cell for c, cell in zip(columns, joined, strict=True)}
    if fault is not None:
        _raise_inner(scope, cells[name, f"m{len(plain) - 1}"])
    parts: list[Parts] = []
    for group, own, table, columns in made:
        totals_held = [cells[table, column] for column in columns]
        starts = starts_of(writer, group.reduction, own)
        if group.reduction.name == "mode":
            parts += _or_start(scope, totals_held, starts)
        else:
            parts += group.settled(scope, totals_held, starts)
    return parts


def _or_start(scope: Scope, cells: list[Cell], starts: list[Parts]) -> list[Parts]:
    """Return columns, or what stands there before the first message where they are NULL."""
    from weft.backends.relational.blocks import one

    parts = []
    for cell, start in zip(cells, starts, strict=True):
        text = f"COALESCE({cell.text}, {start[()].text})"
        parts.append(one(scope.rows.bind(Cell(text, cell.stage, False))))
    return parts


def _raise_inner(scope: Scope, code: Cell) -> None:
    """Pass on a fault of the inner rows."""
    for number in range(1, len(scope.writer.faults) + 1):
        scope.fail(f"(COALESCE({code.text}, 0) = {number})", code, scope.writer.faults[number - 1])


def gathered_by(scope: Scope, value: Value) -> list[Parts]:
    """Return the results of a gather by key: values of one key are combined first."""
    direction, hops, reduction, conditional, groups = value.attr
    if direction == "both" and hops == 2:
        raise Refused("weft.gather_by over two hops in both directions", "it would be four joins")
    writer, rows = scope.writer, scope.rows
    key = scope.end("v")

    def base(inner_rows: Rows) -> str:
        nears = {"in": ["dst"], "out": ["src"], "both": ["dst", "src"]}[direction]
        listed = ", ".join(["near", "far", *ARC_PARTS, *_own(writer)])
        tables = [f"SELECT {listed} FROM {arcs_by(writer, near)} x" for near in nears]
        text = f"({' UNION ALL '.join(tables)}) a"
        if "u" in inner_rows.used:
            text += f" JOIN {writer.far(BEGIN)} u ON u.id = a.far"
        if hops == 2:
            text += f" JOIN {arcs_by(writer, nears[0])} eb ON eb.near = a.far"
        if "w" in inner_rows.used:
            text += f" JOIN {BEGIN} w ON w.id = eb.far"
        text += arc_joins(inner_rows.used)
        if "aeb" in inner_rows.used:
            text += f" JOIN {ARC_STATE} aeb ON aeb.arc = eb.arc"
        if "o" in inner_rows.used:
            text += f" JOIN {rows.at(inner.reached)} o ON o.{key.text} = a.near"
        return text

    ends = {"u": "a.far", "e": "a.arc", "w": "eb.far"}
    inner = Scope(writer, Rows(writer.names, base), ends, scope)
    number, message, *when = inner.run(value.blocks[0])
    near = inner.rows.leaf("a.near")
    sent = when[0][()] if conditional else None
    kind = value.blocks[0].results[1].dtype
    group = Group(writer, reduction, [message], [kind], sent)
    if reduction.selecting or reduction.name == "mode" or message.ndim:
        raise Refused(f"weft.{reduction.name} in a gather by key", "no aggregate has it")
    if inner.fault() is not None:
        raise Refused("an index within a gather by key", "its faults could not be reported")
    return _entries(scope, inner, value, (near, key, number[()]), group, groups)


def _entries(
    scope: Scope,
    inner: Scope,
    value: Value,
    keys: tuple[Cell, Cell, Cell],
    group: Group,
    groups: Any,
) -> list[Parts]:
    """Return the reduced entries of a gather by key."""
    from weft.backends.relational.blocks import one

    writer, (near, key, number) = scope.writer, keys
    table = f"h{next(writer.names)}"
    reached: dict[str, int] = {}

    def combined() -> list[Cte]:
        where = f" WHERE {group.sent.text}" if group.sent else ""
        (total,) = Group(writer, group.reduction, group.messages, group.kinds, None).totals()
        text = (
            f"SELECT {near.text} AS k, {number.text} AS x, {total} AS t FROM {inner.rows.last}"
            f"{where} GROUP BY {near.text}, {number.text}"
        )
        return [*inner.rows.ctes(), (table, text)]

    def base(rows: Rows) -> str:
        text = f"{table} h"
        if "o" in rows.used:
            text += f" JOIN {scope.rows.at(reached['stage'])} o ON o.{key.text} = h.k"
        return text

    entries = Scope(writer, Rows(writer.names, base), {}, scope)
    start = one(writer.literal(_identity(group.reduction, group.kinds[0]), group.kinds[0]))
    total = group.settled(entries, [entries.rows.leaf("h.t")], [start])[0]
    held = one(entries.rows.leaf("h.x"))
    results = entries.run(value.blocks[1], [held, total])
    entries.reached = max(entries.reached, inner.reached)
    reached["stage"] = entries.reached
    entries.rows.stages[0].before.append(combined)
    order = entries.rows.leaf("h.x").text  # of equal entries, the one of the smallest key
    return reduced(scope, entries, value, groups, results, (entries.rows.leaf("h.k"), key), order)


def _identity(reduction: Reduction, kind: Any) -> Any:
    from weft.ir.ops import identity_of

    return identity_of(reduction, kind)


def common(scope: Scope, value: Value, a: Cell, b: Cell) -> list[Parts]:
    """Return a reduction over the common out-neighbours of two vertices."""
    writer, rows = scope.writer, scope.rows
    near, far = scope.vertex(a, "common"), scope.vertex(b, "common")
    if not scope.key:
        raise Refused("weft.common here", "its rows have no key of their own")
    key = rows.leaf(scope.key)
    near, far = rows.column(near), rows.column(far)

    def base(inner_rows: Rows) -> str:
        text = (
            f"{rows.at(inner.reached)} o JOIN {ARCS} ea ON ea.src = o.{near.text} AND ea.par = 0 "
            f"JOIN {ARCS} eb ON eb.src = o.{far.text} AND eb.dst = ea.dst AND eb.par = 0"
        )
        if "w" in inner_rows.used:
            text += f" JOIN {BEGIN} w ON w.id = ea.dst"
        for arc in ("ea", "eb"):
            if f"a{arc}" in inner_rows.used:
                text += f" JOIN {ARC_STATE} a{arc} ON a{arc}.arc = {arc}.arc"
        return text

    inner = Scope(writer, Rows(writer.names, base), {"w": "ea.dst"}, scope)
    inner.reached = max(near.stage, far.stage)
    results = inner.run(value.blocks[0])
    target = inner.rows.leaf(f"o.{key.text}", "o")
    order = inner.rows.leaf("ea.dst").text if writer.deterministic else ""
    return reduced(scope, inner, value, value.attr, results, (target, key), order)
