"""The phases in which the parts of a format are swept, and how generated code names a part.

The parts of a format are swept one after another; those without rows, but the first, are left out.
Parts of one kind share their code: the phases of a kind are run again for each of its copies, and
`loop.part` is its number. Where rows are virtual, and the frontier is a queue of vertices, their
rows are listed in a phase before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from weft.backends.cuda.codegen.machine import Kernel, Side
from weft.backends.cuda.codegen.text import of_schedule
from weft.formats.base import Array

# What a sweep starts from: a queue of vertices, a map of them, or all vertices.
QUEUE, MAP, ALL = "queue", "map", "all"


@dataclass(frozen=True)
class Stage:
    """What one phase of a sweep has to say: the part, its rows, and the call of the schedule."""

    format: str
    rows: str
    call: str
    is_first: bool = True  # of all phases of the sweep that visit rows: others may be left out
    is_last: bool = True  # of the phases of a part: those before lay out its rows


def rows_of_sweep(side: Side, schedule_rows: str) -> str:
    """Return how rows are closed: those of a format that splits vertices always in parts."""
    return "split" if side.format.splits and not side.joined else schedule_rows


def wants_map(side: Side) -> bool:
    """Whether the vertices of a queue must be put into a map, because rows cannot be listed."""
    return any(kind.virtual and not kind.expands for kind in side.format.kinds)


def by_class(kernel: Kernel, side: str) -> bool:
    """Whether the queue lies by classes of degrees, as the last phase of the schedule wants it."""
    return kernel.options.classes and side == "push"


def part_text(kernel: Kernel, side: str, way: str, number: int, *, placed: bool = False) -> str:
    """Return the construction of the parts of one kind, over the arcs of one direction.

    If they are `placed`, targets are places of vertices (see `weft.topology.hub_places`).
    """
    format_ = kernel.options.side(side).format
    kind = format_.kinds[number]
    first = sum(known.copies for known in format_.kinds[:number])
    use = kernel.args.use

    def member(position: int, array: Array) -> str:
        if placed and array.name == "targets":
            return use("placed_targets", way)
        if array.shared:
            return use(array.name, way)
        return use("part", side, way, position, array.name)

    def one(position: int) -> str:
        members = [member(position, array) for array in kind.arrays]
        if not format_.splits:
            members += ["a.n", "a.arcs"]
        else:
            names = ("rows", "slots", *kind.numbers)
            members += [use("part_number", side, way, position, name) for name in names]
        return f"{kind.struct}<Vertex>{{{', '.join(members)}}}"

    parts = [one(first + copy) for copy in range(kind.copies)]
    return parts[0] if len(parts) == 1 else f"numbered(loop.part, {', '.join(parts)})"


def array_type(format_: Any, position: int, name: str) -> str:
    """Return the dtype of an array of a part, by name."""
    kinds = [kind for kind in format_.kinds for _ in range(kind.copies)]
    (found,) = [array.dtype for array in kinds[position].arrays if array.name == name]
    return str(found)


def _rows(kernel: Kernel, side: Side, number: int, source: str, plain: str) -> str:
    """Return the rows of a part that a sweep visits; `plain` are those of vertices."""
    kind = side.format.kinds[number]
    if not kind.virtual or side.joined:
        return plain
    if source == ALL:
        return "const SomeRows<Vertex> rows{nullptr, format.num_rows()};"
    if source == QUEUE and kind.expands:
        kernel.args.use("row_list")
        return "const auto rows = queued_rows(a, loop, format);"
    bits = kernel.options.map_kind == "bitmap"
    members, view = ("BitRows", "bits_of") if bits else ("ByteRows", "bytes_of")
    words = f"loop.dense != 0 ? nullptr : {view}(a, loop.map)"
    return (
        f"const VirtualRows<decltype(format), {members}> rows{{format, {members}{{{words}, a.n}}}};"
    )


def _memory(kernel: Kernel, side: Side, name: str) -> str:
    parts = side.schedule.workspace(1, 1)
    uses = ", ".join(kernel.args.use("schedule", name, part[0]) for part in parts)
    return f"{{{uses}}}"


def _call(
    kernel: Kernel, name: str, number: int, phase: int, lanes: int, place: str = "place"
) -> str:
    """Return the call of one phase of the schedule of a side with `rows` and `visitor`."""
    side = kernel.options.side(name)
    part = f"{side.format.kinds[number].struct}<Vertex>"
    struct = f"{side.schedule.struct}<{f'Joined<{part}>' if side.joined else part}"
    struct += f", {of_schedule(lanes)}>"
    memory = f"{struct}::Memory{'{}' if by_class(kernel, name) else _memory(kernel, side, name)}"
    given = f"{place}, knobs_of(a), {memory}, format, rows, visitor"
    return f"{struct}::template run<{phase}>({given});"


def _listing(kernel: Kernel, format_: str) -> list[str]:
    """Return the body of the phase that lists the rows of the vertices in the queue."""
    kernel.args.use("row_list")
    return [
        f"const auto format = {format_};",
        "list_rows(place, format, queue_of(a, loop.queue), loop.size, a.row_list, cells + FAR);",
    ]


@dataclass(frozen=True)
class PartSweep:
    """How all parts of a format are swept.

    `between` stands between two phases of the schedule, `kept` between two parts. With `call`, that
    is done with the rows of each part in place of the schedule. `by` is the side whose schedule
    takes the rows, if that is another one. With `lasting`, all rows are open in every sweep of the
    side: they are sorted in the first one.
    """

    name: str
    side: str
    way: str
    source: str  # QUEUE, MAP or ALL
    plain: str  # the rows of vertices
    turn: str = "both"
    between: Sequence[str] = ()
    kept: Sequence[str] = ()
    lanes: int = 1
    call: str = ""
    by: str = ""
    lasting: bool = False


def sweep_parts(
    kernel: Kernel, parts: PartSweep, body_of: Callable[[Stage], list[str]], after: list[str],
    *, placed: bool = False,
) -> str:  # fmt: skip
    """Add the phases of a sweep over all parts of a format; return the statement that starts them.

    All phases use the visitor that the first one brings. `placed` is passed to `part_text`.
    """
    name, side_name, way, turn = parts.name, parts.side, parts.way, parts.turn
    between, kept, call = parts.between, parts.kept, parts.call
    by = parts.by or side_name
    side = kernel.options.side(by)
    kinds = side.format.kinds
    skipped = side.schedule.phases - 1 if by_class(kernel, by) else 0
    count = 1 if call else side.schedule.phases - skipped
    listed_rows = parts.source == QUEUE and not side.joined
    lists = [listed_rows and kind.virtual and kind.expands for kind in kinds]
    starts: list[str] = []
    at = len(kernel.phases)
    for listed in lists:
        first = f"{at}"
        if listed:
            few = _number(kernel, side_name, way, len(starts), "few")
            first = f"t.loop.dense != 0 || t.{few} != 0 ? {at + 1} : {at}"
        starts.append(f"t.loop.phase = {first};")
        at += count + listed
    several = at - len(kernel.phases) > 1
    alone = len(kinds) == 1 and kinds[0].copies == 1 and not kinds[0].virtual
    sorts = parts.lasting and side.schedule.sorts_rows and alone and not call
    if sorts:
        code = 1 + ("in", "out").index(way)
        between = [*between, f"keep_sorted(t, {code});"]
        held = f"t.loop.dense != 0 && t.loop.sorted == {code}"
        starts = [f"t.loop.phase = {held} ? {at - 1} : {at - 2};"]
    elif side.schedule.workspace(1, 1):  # all sweeps share that memory
        starts = [f"t.loop.sorted = 0; {start}" for start in starts]
    for number, kind in enumerate(kinds):
        text = part_text(kernel, side_name, way, number, placed=placed)
        if side.joined:
            text = f"Joined<{kind.struct}<Vertex>>({text})"
        if lists[number]:
            here = len(kernel.phases)
            following = ["t.loop.listed = i64(t.cells[FAR]);", f"t.loop.phase = {here + 1};"]
            kernel.phase(f"list_{name}_{number}", _listing(kernel, text), following, turn)
        for phase in range(count):
            here = len(kernel.phases)
            ends = phase == count - 1
            place = "sorted_place(place, loop)" if sorts and ends else "place"
            stage = Stage(
                text, _rows(kernel, side, number, parts.source, parts.plain),
                call or _call(kernel, by, number, phase + skipped, parts.lanes, place),
                number == 0 and phase == 0, ends,
            )  # fmt: skip
            pieces = len(kernel.pieces)
            body = body_of(stage)
            if phase > 0 or number > 0:
                del kernel.pieces[pieces:]
            following = [*between, f"t.loop.phase = {here + 1};"]
            if ends:
                following = after
                for later in range(len(kinds) - 1, number, -1):
                    go_on = [*kept, starts[later]]
                    following = _unless_empty(kernel, side_name, way, later, go_on, following)
                following = _again(kind.copies, [*kept, starts[number]], following)
            label = f"{name}_{number}_{phase}" if len(kinds) > 1 else f"{name}_{phase}"
            kernel.phase(label if several else name, body, following, turn)
    return starts[0]


def _number(kernel: Kernel, side_name: str, way: str, number: int, name: str) -> str:
    """Return a number of the first part of a kind."""
    kinds = kernel.options.side(side_name).format.kinds
    position = sum(kind.copies for kind in kinds[:number])
    return kernel.args.use("part_number", side_name, way, position, name)


def _unless_empty(
    kernel: Kernel, side_name: str, way: str, number: int, go_on: list[str], otherwise: list[str]
) -> list[str]:
    """Return what follows a part: the next kind, or what comes after it if that has no rows."""
    kinds = kernel.options.side(side_name).format.kinds
    if kinds[number].copies > 1:
        return go_on
    return [
        f"if (t.{_number(kernel, side_name, way, number, 'rows')} != 0) {{",
        *(f"    {line}" for line in go_on),
        "} else {",
        *(f"    {line}" for line in otherwise),
        "}",
    ]


def unless_unsplit(
    kernel: Kernel, side_name: str, way: str, go_on: list[str], otherwise: list[str]
) -> list[str]:
    """Return what follows the last part: `otherwise`, if the first one has all arcs by vertex."""
    first, *others = kernel.options.side(side_name).format.kinds
    if first.virtual or len(others) != 1:
        return go_on
    return _unless_empty(kernel, side_name, way, 1, go_on, otherwise)


def _again(copies: int, again: list[str], following: list[str]) -> list[str]:
    """Return what follows a part: the next copy, or what comes after the last one."""
    if copies == 1:
        return following
    return [
        "t.loop.part += 1;",
        f"if (t.loop.part < {copies}) {{",
        *(f"    {line}" for line in again),
        "} else {",
        "    t.loop.part = 0;",
        *(f"    {line}" for line in following),
        "}",
    ]
