"""The gather of a vertex function whose arcs a schedule hands out.

Where the schedule closes rows as a whole the function runs at once. Parts of split rows meet in
arrays of one place per vertex, and the function runs in a second phase: for those of a list where
it is the schedule that splits some rows, for all vertices except those with a single row if it is
the format.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from weft.backends.cuda.codegen.adjacent import Accumulator
from weft.backends.cuda.codegen.assignments import functions
from weft.backends.cuda.codegen.edges import (
    ENTERED,
    KEPT,
    Work,
    degree_functor,
    mapped_rows,
    output_of,
    visitor_phase,
)
from weft.backends.cuda.codegen.expressions import cast, literal
from weft.backends.cuda.codegen.hub_table import tables_of, with_tables
from weft.backends.cuda.codegen.machine import NOWHERE, Kernel
from weft.backends.cuda.codegen.matrix_products import in_memory
from weft.backends.cuda.codegen.parts import (
    MAP,
    QUEUE,
    PartSweep,
    Stage,
    part_text,
    rows_of_sweep,
    sweep_parts,
    unless_unsplit,
    wants_map,
)
from weft.backends.cuda.codegen.site import Site
from weft.backends.cuda.codegen.text import Emitter, c_type, size_of
from weft.backends.cuda.codegen.updates import Delivery, deliver, empty, touch_first
from weft.backends.cuda.codegen.visitor import END, FIRST, Visitor
from weft.backends.cuda.codegen.visitors import MOST_AHEAD, registers_of
from weft.backends.emit.gathers import handed_out
from weft.ir.check.facts import is_pure
from weft.ir.elementwise import ELEMENTWISE
from weft.ir.ops import INT64, Block, Step, Value, identity_of, payload_identity
from weft.plan.sweeps import Sweep

# Registers for vectors that are loaded with the row, but used at its end: where rows are short.
MOST_AT_END = 8
WORD = 4  # bytes of a message that is worth bringing nearer, and of which many are under way


def scheduled_gather(kernel: Kernel, sweep: Sweep) -> Value | None:
    """Return the only gather of a sweep if its arcs can be handed out by a schedule."""
    body = sweep.steps[0].body
    found = [v for step in sweep.steps for v in step.body.walk() if v.op == "gather"]
    if len(found) != 1 or found[0] not in body.body:
        return None
    value = found[0]
    direction, groups = value.attr
    if direction == "both" or any(r.name == "mode" for r, _, _ in groups):
        return None
    if _rows(kernel) != "whole":
        for (reduction, count, _), kinds in zip(groups, _kinds(value), strict=True):
            wide = any(dtype.itemsize > 8 for dtype, _ in kinds)
            if wide or (reduction.name == "user" and count > 1):
                return None
    needed = _needed(value, body.body)
    return value if needed is not None else None


def _rows(kernel: Kernel) -> str:
    """Return how the rows of gathers are closed; "told": as a whole if the format states so."""
    side = kernel.options.gather
    if side.format.wholes and side.schedule.rows == "whole" and not side.joined:
        return "told"
    return rows_of_sweep(side, side.schedule.rows)


def _kinds(value: Value) -> list[list[tuple[Any, Any]]]:
    """Return the types of the results of a gather, by group."""
    kinds = list(value.results)
    found = []
    for _, count, _ in value.attr[1]:
        found.append(kinds[:count])
        kinds = kinds[count:]
    return found


def _needed(gather: Value, before: list[Value]) -> list[Value] | None:
    """Return the values outside a gather that its messages use; None if they are not simple."""
    inside = {id(v) for block in gather.blocks for v in block.walk()}
    inside |= {id(p) for block in gather.blocks for p in block.params}
    wanted: dict[int, Value] = {}

    def want(value: Value) -> bool:
        if id(value) in inside or value.op in ("const", "constant"):
            return True
        if id(value) in wanted:
            return True
        simple = value.op in ELEMENTWISE or value.op == "load"
        if not simple or not is_pure(value, set()) or not all(want(a) for a in value.args):
            return False
        wanted[id(value)] = value
        return True

    for block in gather.blocks:
        for value in block.walk():
            if not all(want(a) for a in value.args):
                return None
        if not all(want(r) for r in block.results):
            return None
    return [v for v in before if id(v) in wanted]


def gather_phases(
    kernel: Kernel, sweep: Sweep, k: int, kind: str, gather: Value, totals: list[str], finish: str
) -> str:
    """Add the phases of a gather whose arcs a schedule hands out."""
    side = kernel.options.gather
    rows = _rows(kernel)
    way = gather.attr[0]
    step = sweep.steps[0]
    visitor = Visitor(
        f"Gather{k}", vertex="v", far="u", collects=True, lanes=kernel.lanes, spread=kernel.spread
    )
    visitor.splits, visitor.wholes = side.format.splits, rows == "told"
    visitor.joined = side.joined
    visitor.parts = kernel.parts_struct(sweep)
    site = replace(
        kernel.slot_site("gather", way), frozen=frozenset(sweep.frozen[0]), owned=True,
        racy=frozenset(sweep.facts.live),
        snapshots=frozenset(sweep.snapshots - sweep.live_in(0)),
        old_snapshots=frozenset(sweep.old_snapshots), turned=way == "out",
    )  # fmt: skip
    tables = tables_of(kernel, sweep, gather)
    site.tables = {name: before for name, (before, _) in tables.items()}
    known = _row_of_gather(kernel, visitor, step, gather, site)
    ending = _row_at_end(kernel, visitor, sweep, site, way)
    visitor.expected = _expected(kernel, sweep, ending, gather, site)
    accumulators = _take_lines(kernel, visitor, gather, site, step, known)
    ahead = _messages_ahead(kernel, visitor, k, way, gather) if side.format.gathers else []
    merge = kernel.emitter()
    for accumulator in accumulators:
        accumulator.renderer = kernel.renderer(merge, site, step, set(), vertex=NOWHERE)
        accumulator.merge("other.")
    visitor.merge = merge.lines
    visitor.partial = [member for a in accumulators for member in a.members()]
    close = kernel.emitter()
    for accumulator in accumulators:
        accumulator.renderer = kernel.renderer(close, site, step, set())
        accumulator.end_row()
    parts = [part for accumulator in accumulators for part in accumulator.parts]
    if rows != "whole":
        with close.block("if (!whole)"):
            sent = _deliveries(gather, _inboxes(gather, k), accumulators)
            _deliver(kernel, close, site, step, sent, listed=rows == "mixed")
            close.line("return;")
    if rows != "split":
        functions(kernel, close, sweep, {id(gather): parts}, ending)
    visitor.close = close.lines
    output = output_of(kernel, "counter" if rows == "split" else kind, exact=False)
    after = _after_rows(kernel, sweep, k, kind, gather, totals, finish)
    work = Work(output, touched=rows == "mixed", publish=rows != "split")

    def body_of(stage: Stage) -> list[str]:
        return visitor_phase(
            kernel, sweep, visitor, stage, with_tables(kernel, work, stage, tables)
        )

    # A schedule that starts from slots tests whether their rows are active, which a queue cannot
    # answer.
    mapped = wants_map(side) or side.schedule.rows == "split"
    swept = PartSweep(
        f"gather_{k}", "gather", way, MAP if mapped else QUEUE,
        mapped_rows(kernel) if mapped else ENTERED, between=("keep_counts(t);",), kept=KEPT,
        lanes=visitor.lanes, lasting=not (visitor.open or visitor.exits),
    )  # fmt: skip
    start = sweep_parts(kernel, swept, body_of, after, placed=id(sweep) in kernel.hub_ways)
    if ahead:
        start = kernel.phase(f"prepare_{k}", ahead, [start])
    return kernel.ready(start, queue=True, map_=mapped)


def _after_rows(
    kernel: Kernel, sweep: Sweep, k: int, kind: str, gather: Value, totals: list[str], finish: str
) -> list[str]:
    """Return what follows the rows; where some are split, their functions run in a phase."""
    rows, done = _rows(kernel), [*totals, "keep_counts(t);", finish]
    if rows == "whole":
        return done
    commit = _gather_commit(kernel, sweep, k, kind, gather, done)
    after = ["keep_counts(t);", commit]
    if rows == "mixed":  # there may be no row that was split
        after = [
            "t.loop.touched += i64(t.cells[FAR]);", "keep_counts(t);",
            f"if (t.loop.touched != 0) {{ {commit} }} else {{", *totals, finish, "}",
        ]  # fmt: skip
    if rows == "told":
        after = unless_unsplit(kernel, "gather", gather.attr[0], after, done)
    return after


def _row_of_gather(
    kernel: Kernel, visitor: Visitor, step: Step, gather: Value, site: Site
) -> dict[int, str]:
    """Compute what the messages of a row share when the row is loaded."""
    needed = _needed(gather, step.body.body) or []
    out = kernel.emitter()
    renderer = kernel.renderer(out, site, step, set())
    renderer.prepare(step.body)
    renderer.run(needed)
    known: dict[int, str] = {}
    for value in needed:
        if id(value) not in renderer.known:  # its features are loaded where they are used
            continue
        name = f"x{len(visitor.row)}"
        visitor.row.append((c_type(value.dtype, value.shape), name, renderer.operand(value)))
        known[id(value)] = f"row.{name}"
    visitor.load += out.lines
    return known


def _row_at_end(
    kernel: Kernel, visitor: Visitor, sweep: Sweep, site: Site, way: str
) -> dict[tuple[Any, ...], str]:
    """Load what the function reads of its vertex with the row, ahead of the arcs.

    Loads that wait for the gather make a chain of their own at the end of every row, which cost up
    to four times the rest of it where rows are short (docs/design/cuda-engine.md).
    """
    if _rows(kernel) == "split" or not kernel.options.gather.schedule.keeps_rows:
        return {}
    step = sweep.steps[0]
    loads = {value.attr: value for value in step.body.body if value.op == "load"}
    compared = (
        () if any(v.op == "set_changed" for v in step.body.body) else sorted(sweep.facts.written)
    )
    for name in compared:  # whether they change is asked in the end
        dtype, shape = kernel.types[name]
        attr = ("field", "v", name)
        loads.setdefault(attr, Value("load", (), attr, dtype, shape))
    others = sweep.facts.live | sweep.frozen[0]
    known, room = {}, MOST_AT_END
    for attr, value in loads.items():
        field = attr[:2] == ("field", "v") and attr[2] not in others
        if not (field or attr in (("out_degree", "v"), ("in_degree", "v"))):
            continue
        if value.shape:
            room -= registers_of([value], kernel.spread_lanes)
            if room < 0 or _rows(kernel) != "whole":
                continue
        name = f"x{len(visitor.row)}"
        if _is_length(kernel, attr, way):  # which is at hand
            text = cast(f"({END} - {FIRST})", INT64, value.dtype)
            visitor.measures = True
        else:
            text = site.load(value)
        visitor.row.append((c_type(value.dtype, value.shape), name, text))
        known[attr] = f"row.{name}"
    return known


def _expected(
    kernel: Kernel, sweep: Sweep, ending: dict[tuple[Any, ...], str], gather: Value, site: Site
) -> list[str]:
    """Return the arrays of which a row needs what lies at it, or near it where neighbours are.

    On graphs that no cache holds, they are brought nearer while the row before is worked on. Of
    larger messages than a word, that cost more than it brought (docs/design/cuda-engine.md).
    """
    if not kernel.options.vast or kernel.lanes > 1:
        return []
    fields = [attr for attr in ending if attr[0] == "field"]
    loads = [Value("load", (), attr, *kernel.types[attr[2]]) for attr in fields]
    for value in gather.blocks[0].walk():
        far = value.op == "load" and value.attr[:2] == ("field", "u")
        # By place, neighbours are not near a row.
        if far and value.dtype.itemsize <= WORD and id(sweep) not in kernel.hub_ways:
            loads.append(value)
    arrays = [site.where(value)[0] for value in loads if not value.shape]
    return list(dict.fromkeys(arrays))


def _is_length(kernel: Kernel, attr: tuple[Any, ...], way: str) -> bool:
    """Whether a load is the number of slots of the row: a degree, where rows are vertices."""
    counts_row = attr[0] == f"{way}_degree" or not kernel.traits.directed
    return attr[0] != "field" and counts_row and not kernel.options.gather.format.splits


def _take_lines(
    kernel: Kernel, visitor: Visitor, gather: Value, site: Site, step: Step, known: dict[int, str]
) -> list[Accumulator]:
    """Render the messages of one arc and their combination."""
    out = kernel.emitter()
    renderer = kernel.renderer(out, site, step)
    renderer.known.update(known)
    accumulators: list[Accumulator] = []
    first = 0
    exits = [r.name for r, _, _ in gather.attr[1]] == ["any"]
    for (reduction, count, _), kinds in zip(gather.attr[1], _kinds(gather), strict=True):
        long = kernel.options.long_rows and _rows(kernel) == "whole"
        accumulators.append(
            Accumulator(renderer, reduction, kinds, prefix="partial.", first=first, long=long)
        )
        first += count
        if kernel.options.deterministic and reduction.name == "any" and not exits:
            accumulators[-1].count_edges()  # others are still to be combined after its first
    block = gather.blocks[0]
    ahead = _ahead(block, kernel.spread_lanes, in_memory(step))
    visitor.computes = any(v.shape or v.op != "load" for v in ahead)
    if not visitor.computes and sum(v.dtype.itemsize for v in ahead) <= WORD:
        visitor.far_type = "Vertex"  # see "The order of loads" in docs/design/cuda-engine.md
    if ahead is block.results:
        visitor.fetch = out.lines
        results = visitor.carry(renderer.block(block), [(r.dtype, r.shape) for r in ahead])
        out = kernel.emitter()
    else:
        renderer.prepare(block)
        renderer.run(ahead)
        visitor.fetch = out.lines
        ahead = [value for value in ahead if id(value) in renderer.known]
        kinds = [(value.dtype, value.shape) for value in ahead]
        carried = visitor.carry([renderer.operand(value) for value in ahead], kinds)
        out = kernel.emitter()
        renderer = kernel.renderer(out, site, step)
        renderer.known |= known | {id(v): n for v, n in zip(ahead, carried, strict=True)}
        results = renderer.block(block)
    taking = kernel.renderer(out, site, step)
    for accumulator, messages in handed_out(taking, results, gather.attr[1], accumulators):
        accumulator.take(messages, site.edge)
        if exits:
            out.line("return true;")
    for accumulator in accumulators:
        accumulator.end_slot("s")
    visitor.take = out.lines
    visitor.exits = exits
    return accumulators


def _ahead(block: Block, lanes: int, outside: set[int]) -> Sequence[Value]:
    """Return what of a message is made ahead of the arcs before it: all, its loads, or nothing."""
    if not all(is_pure(value, set()) for value in block.walk()):
        return []
    loads = [value for value in block.body if value.op == "load" and id(value) not in outside]
    least = min((block.results, loads), key=lambda values: registers_of(values, lanes))
    return least if registers_of(least, lanes) <= MOST_AHEAD else []


def _messages_ahead(kernel: Kernel, visitor: Visitor, k: int, way: str, gather: Value) -> list[str]:
    """Let the visitor find its messages in a buffer; return the body of the phase that fills it.

    Nothing, if the messages depend on the row, or if computing an unused one could be observed.
    """
    block = gather.blocks[0]
    known = all(v.op in ELEMENTWISE or v.op in ("load", "const", "constant") for v in block.walk())
    ahead = _ahead(block, kernel.spread_lanes, set())
    known = known and visitor.lanes == 1 and ahead is block.results
    text = [*visitor.fetch, *(message[2] for message in visitor.message)]
    if not visitor.message or not known or any(re.search(r"\b(v|row)\b", line) for line in text):
        return []
    kinds = [(r.dtype, r.shape) for r in block.results]
    kept, lines = [], []
    for number, ((kind, name, value), (dtype, shape)) in enumerate(
        zip(visitor.message, kinds, strict=True)
    ):
        array = kernel.args.use("shard", f"{k}_{number}", way, dtype, size_of(shape))
        lines.append(f"    put<{kind}>({array}, p, {value});")
        kept.append((kind, name, f"fetch<{kind}>({array}, p)"))
    body = [
        f"const auto format = {part_text(kernel, 'gather', way, 0)};",
        "for_all(place, format.num_slots(), [&](i64 s) {",
        "    const i64 r = format.owner(s);",
        "    const i64 p = format.place(s, r);",
        "    const i64 u = format.target(s, r);",
        "    static_cast<void>(u);",
        *(f"    {line}" for line in visitor.fetch),
        *lines,
        "});",
    ]
    visitor.message, visitor.fetch = kept, []
    return body


def _inboxes(gather: Value, k: int) -> list[list[tuple[Any, ...]]]:
    """Return the arrays in which the parts of split rows meet, by group."""
    found, number = [], 0
    for (reduction, _, _), kinds in zip(gather.attr[1], _kinds(gather), strict=True):
        arrays = []
        for position, (dtype, shape) in enumerate(kinds):
            payload = reduction.name in ("argmin", "argmax") and position > 0
            start = payload_identity(dtype) if payload else identity_of(reduction, dtype)
            arrays.append(("gathered", f"{k}_{number}", dtype, size_of(shape), start))
            number += 1
        found.append(arrays)
    return found


def _deliveries(
    gather: Value, inboxes: list[list[tuple[Any, ...]]], accumulators: list[Accumulator]
) -> list[tuple[Delivery, str]]:
    """Return what the groups of a gather send, each with the test whether it got a message."""
    groups = zip(gather.attr[1], _kinds(gather), inboxes, accumulators, strict=True)
    return [
        (Delivery(reduction, arrays, kinds, accumulator.parts), accumulator.got)
        for (reduction, _, _), kinds, arrays, accumulator in groups
    ]


def _deliver(
    kernel: Kernel, out: Emitter, site: Site, step: Step, sent: list[tuple[Delivery, str]],
    *, listed: bool,
) -> None:  # fmt: skip
    """Hand a part of a row on to the others' parts; `listed`: the vertices that have some."""
    told = any(delivery.reduction.name == "any" for delivery, _ in sent)
    if listed:
        touch_first(kernel, out, "won", "touched.append(v)", told)
    elif told:
        stamps = kernel.args.use("stamp", 0)
        touch_first(kernel, out, "won", f"touch({stamps}, v, u32(loop.epoch))", told)
    renderer = kernel.renderer(out, site, step, set())
    for number, (delivery, got) in enumerate(sent):
        if not got:
            deliver(kernel, out, renderer, delivery, "won")
            continue
        with out.block(f"if ({got})"):
            # The first lane with a message writes it, as its own stamp shows.
            stamps = kernel.args.use("stamp", 1 + number)
            touch_first(kernel, out, "first", f"touch({stamps}, v, u32(loop.epoch))", True)
            deliver(kernel, out, renderer, delivery, "first")


def _gather_commit(
    kernel: Kernel, sweep: Sweep, k: int, kind: str, gather: Value, done: list[str]
) -> str:
    """Add the phase that runs the function where rows were split."""
    out = kernel.emitter()
    parts = []
    for kinds, arrays in zip(_kinds(gather), _inboxes(gather, k), strict=True):
        for binding, (dtype, shape) in zip(arrays, kinds, strict=True):
            array = kernel.args.use(*binding)
            kind_text = c_type(dtype, shape)
            name = out.fresh("q")
            out.line(f"const {kind_text} {name} = fetch<{kind_text}>({array}, v);")
            empty(kernel, out, binding, dtype, shape, literal(binding[-1], dtype))
            parts.append(name)
    functions(kernel, out, sweep, {id(gather): parts})
    rows, left = _rows(kernel), []
    listed = rows == "mixed"
    which = f"{kernel.args.use('touched')}[i]" if listed else "entered_vertex(a, loop, i)"
    if rows == "told":
        left = [f"if ({part_text(kernel, 'gather', gather.attr[0], 0)}.whole(v)) return;"]
    body = [
        *kernel.head,
        f"using Out = {output_of(kernel, kind, exact=False)};",
        "Out out = make_output<Out>(a, loop, place, cells);",
        "out.begin();",
        f"const auto degree = {degree_functor(kernel)};",
        "static_cast<void>(degree);",
        f"struct Parts {{ {kernel.parts_struct(sweep)} }} parts;",
        "static_cast<void>(parts);",
        kernel.for_all_emitting("loop.touched" if listed else "loop.size"),
        f"    const i64 v = {which};",
        *(f"    {line}" for line in left),
        *(f"    {line}" for line in out.lines),
        "});",
        *kernel.publish_scalars(sweep),
        "out.end(degree);",
    ]
    return kernel.phase(f"gathered_{k}", body, done)
