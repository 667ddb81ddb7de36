"""Sweeps of vertex functions, and the copying of second buffers."""

from __future__ import annotations

import itertools
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from weft.backends.cuda.adjacent import Accumulator
from weft.backends.cuda.blocks import BlockRenderer
from weft.backends.cuda.edges import degree_functor, format_of, output_of, sweep_call, visitor_phase
from weft.backends.cuda.expressions import literal
from weft.backends.cuda.kernel import NOWHERE, Kernel
from weft.backends.cuda.site import Site
from weft.backends.cuda.text import Emitter, c_type, identifier, size_of
from weft.backends.cuda.updates import at_v, deliver, emit, empty, kind_of, write
from weft.backends.cuda.visitors import Visitor, overlay_pairs
from weft.ir.facts import block_facts, is_pure
from weft.ir.ops import ELEMENTWISE, Reduction, Step, Value, identity_of, payload_identity
from weft.ir.plan import Sweep


def render_vertex_sweep(kernel: Kernel, sweep: Sweep, k: int, wake: str, then: str) -> str:
    """Add the phases of a sweep over the vertices of the frontier; return how it is entered.

    `wake` is "queue" where the changed vertices are the output, "all" where only their number
    counts, "neighbors" where those that gather from them are woken.
    """
    finish = _finish(kernel, sweep, k, wake, then)
    kind = "counter" if wake == "all" or kernel.discards else "queue"
    start = _phases(kernel, sweep, k, kind, finish)
    ready = kernel.ready(start, queue=True)
    if not kernel.carries_hoisted:
        ready = fill_hoisted(kernel, sweep, k, ready)
    lines = []
    if sweep.steps[0].everywhere:
        lines.append("take_everything(t);")
    lines += ["t.loop.epoch += 1;", "t.loop.entered = t.loop.size;"]
    lines.append("t.loop.looked = t.loop.dense != 0 ? t.a.arcs : t.loop.edges;")
    lines.append("begin_output(t);")
    lines.append(ready)
    return kernel.decide(f"enter_{k}", lines)


def _finish(kernel: Kernel, sweep: Sweep, k: int, wake: str, then: str) -> str:
    """Return the statement that follows when all vertices have run."""
    lines: list[str] = []
    if kernel.carries_hoisted:
        refill = fill_hoisted(kernel, sweep, k, f"settle_{k}(t);")
        lines.append("if (t.loop.dense != 0) { t.loop.swapped = !t.loop.swapped; }")
        lines.append(f"else {{ {refill} return; }}")
    lines.append(f"settle_{k}(t);")
    if wake == "all":
        settled = ["take_all_if_changed(t);", then]
    elif kernel.discards:
        settled = [then]
    else:
        following = then
        if wake == "neighbors":
            following = _wake_phase(kernel, sweep, k, then)
        number = kernel.follow(following)
        settled = [f"take_queue(t, {number}, false);"]
    kernel.decide(f"settle_{k}", settled)
    return kernel.decide(f"finish_{k}", lines)


def take_snapshots(kernel: Kernel, sweeps: list[Sweep], k: int, then: str) -> str:
    """Copy fields that the first of the sweeps, or later ones of its fold, see as they are now."""
    first = sweeps[0]
    wanted = {("field", "frozen", name) for name in first.frozen_accept.union(*first.frozen)}
    if first.fold_start:
        for sweep in itertools.takewhile(lambda sweep: not sweep.fold_start, sweeps[1:]):
            wanted |= {("field", "snapshot", name) for name in sweep.snapshots}
            wanted |= {("old", "old_snapshot", name) for name in sweep.old_snapshots}
    if not wanted:
        return then
    copies = [((kind, name), (copy, name), name) for kind, copy, name in sorted(wanted)]
    body = ["for_all(place, a.n, [&](i64 v) {", *_copies(kernel, copies), "});"]
    return kernel.phase(f"snapshot_{k}", body, [then])


def _copies(kernel: Kernel, copies: list[tuple[Any, Any, str]]) -> list[str]:
    out = kernel.emitter()
    for source, target, name in copies:
        write(kernel, out, target, name, at_v(kernel, source, name))
    return [f"    {line}" for line in out.lines]


# -- hoisted expressions


def fill_hoisted(kernel: Kernel, sweep: Sweep, k: int, then: str) -> str:
    """Fill the hidden fields of hoisted source expressions, over all vertices."""
    if not any(step.hoisted for step in sweep.steps):
        return then
    out = kernel.emitter()
    _write_hoisted(kernel, out, sweep)
    body = ["for_all(place, a.n, [&](i64 v) {", *(f"    {x}" for x in out.lines), "});"]
    return kernel.phase(f"hoist_{k}", body, [then])


def _write_hoisted(kernel: Kernel, out: Emitter, sweep: Sweep, *which: str) -> None:
    """Compute the hoisted expressions of one vertex from its present fields."""
    site = kernel.site(u="v")
    site.snapshots = frozenset(sweep.snapshots)
    site.old_snapshots = frozenset(sweep.old_snapshots)
    for name in sweep.buffered if which else ():
        site.known["field", "u", name] = at_v(kernel, ("next", name), name)
    for step in sweep.steps:
        for name, block in step.hoisted:
            renderer = kernel.renderer(out, site, step, set(), vertex="v")
            (result,) = renderer.block(block)
            root = block.results[0]
            array = kernel.args.use("hidden", name, root.dtype, root.size, *which)
            out.line(f"put<{c_type(root.dtype, root.shape)}>({array}, v, {result});")


def hoisted_arrays(kernel: Kernel, sweep: Sweep) -> list[tuple[str, str]]:
    """Return the arrays of the hidden fields, of this superstep and of the next."""
    use = kernel.args.use
    roots = [(name, b.results[0]) for step in sweep.steps for name, b in step.hoisted]
    return [
        (use("hidden", n, r.dtype, r.size), use("hidden", n, r.dtype, r.size, "next"))
        for n, r in roots
    ]


def may_carry(kernel: Kernel, sweeps: list[Sweep]) -> bool:
    """Whether the hidden fields of the next superstep can be written by this one.

    That saves a sweep of its own: all vertices run in every superstep, and the expressions use
    nothing that changes in between but the fields of the vertex.
    """
    if len(sweeps) != 1 or kernel.program.mode != "iterate" or kernel.program.refill:
        return False
    step = sweeps[0].last
    facts = block_facts(*(block for _, block in step.hoisted))
    steady = not (facts.scalars & sweeps[0].facts.reduced) and "superstep" not in facts.loads
    return bool(step.hoisted) and steady and not facts.old and len(sweeps[0].steps) == 1


# -- the functions


def _buffers(kernel: Kernel, sweep: Sweep) -> list[tuple[str, Any, Any]]:
    """Return the second buffers of a sweep: the field's name, the buffer and what it is for."""
    fields = [(name, ("next", name), ("field", name)) for name in sorted(sweep.buffered)]
    kept = sweep.buffered_old & kernel.options.kept_old
    return fields + [(name, ("old_next", name), ("old", name)) for name in sorted(kept)]


def _phases(kernel: Kernel, sweep: Sweep, k: int, kind: str, finish: str) -> str:
    """Add the phases that run the functions; return the statement that starts them."""
    buffers = _buffers(kernel, sweep)
    if buffers:
        copies = [(source, target, name) for name, source, target in buffers]
        body = [
            "for_all(place, loop.entered, [&](i64 i) {",
            "    const i64 v = entered_vertex(a, loop, i);",
            *_copies(kernel, copies),
            "});",
        ]
        finish = kernel.phase(f"copy_{k}", body, [finish])
    totals = kernel.total_scalars(sweep)
    gather = scheduled_gather(kernel, sweep)
    if gather is not None:
        return _gather_phases(kernel, sweep, k, kind, gather, totals, finish)
    out = kernel.emitter()
    functions(kernel, out, sweep)
    body = [
        f"using Out = {output_of(kernel, kind, exact=False)};",
        "Out out = make_output<Out>(a, loop, place, cells);",
        "out.begin();",
        f"const auto degree = {degree_functor(kernel)};",
        "static_cast<void>(degree);",
        f"struct Parts {{ {kernel.parts_struct(sweep)} }} parts;",
        "static_cast<void>(parts);",
        "for_all(place, loop.size, [&](i64 i) {",
        "    const i64 v = entered_vertex(a, loop, i);",
        *(f"    {line}" for line in out.lines),
        "});",
        *kernel.publish_scalars(sweep),
        "out.end();",
    ]
    return kernel.phase(f"vertex_{k}", body, [*totals, "keep_counts(t);", finish])


def functions(
    kernel: Kernel, out: Emitter, sweep: Sweep, gathered: dict[int, list[str]] | None = None
) -> None:
    """Render the functions of a sweep at one vertex, each only where the one before said true."""
    site = kernel.site()
    site.racy = frozenset(sweep.facts.live)
    site.snapshots = frozenset(sweep.snapshots)
    site.old_snapshots = frozenset(sweep.old_snapshots)
    overlay_pairs(kernel, site)
    out.line("bool output = false;")
    # What is not assigned, since a function of a fold does not run or nothing changed, stays.
    for name, buffer, target in _buffers(kernel, sweep):
        if len(sweep.steps) > 1 or buffer[0] == "old_next":
            write(kernel, out, buffer, name, at_v(kernel, target, name))
    with ExitStack() as stack:
        for number, step in enumerate(sweep.steps):
            last = number == len(sweep.steps) - 1
            here = replace(site, frozen=frozenset(sweep.frozen[number]))
            renderer = kernel.renderer(out, here, step)
            renderer.scope.keys_base = keys_base(kernel)
            renderer.prepare(step.body)
            for value, parts in (gathered or {}).items():
                renderer.parts[value] = parts
                renderer.known[value] = ""
            renderer.run(step.body.body)
            kernel.take_scalars(out, renderer, sweep, number)
            output = _output(kernel, out, step, renderer, site)
            when = ""
            if step.conditional:  # before the fields that it may read are written
                when = renderer.hold(renderer.operand(step.body.results[-1]), "bool")
            _store(kernel, out, sweep, renderer, site, step)
            if last:
                out.line(f"output = {output};")
            elif step.conditional:
                stack.enter_context(out.block(f"if ({when})"))
    with out.block("if (output)"):
        emit(kernel, out)
    if kernel.carries_hoisted:
        _write_hoisted(kernel, out, sweep, "next")


def keys_base(kernel: Kernel) -> str:
    """Return where the messages of a vertex lie that `weft.mode` keeps."""
    ways = {"both": ("in", "out"), "in": ("in",), "out": ("out",)}[kernel.traits.keep]
    uses = [f"load_constant({kernel.args.use('offsets', way)} + v)" for way in ways]
    return " + ".join(uses)


def _output(kernel: Kernel, out: Emitter, step: Step, renderer: BlockRenderer, site: Site) -> str:
    """Return the test whether a vertex is part of the output, computed before the stores."""
    if step.active is not None:
        after = kernel.site()
        after.index["before"] = "v"
        for (kind, _, name), operand in site.known.items():  # by functions before it in a fold
            after.known[(kind, "v", name)] = operand
            after.known[(kind, "before", name)] = operand
        kept = block_facts(step.active).old & kernel.options.kept_old
        for name, (_, operand) in renderer.stores.items():
            if name in kept:
                test = _changed(kernel, name, operand, site)
                after.known[("old", "v", name)] = _old_after(kernel, out, name, test, site)
            after.known[("field", "v", name)] = operand
        return renderer.variable(kernel.block_value(out, step.active, after, step), "bool")
    if renderer.changed is not None:
        return renderer.changed
    if step.conditional:
        return renderer.hold(renderer.operand(step.body.results[-1]), "bool")
    tests = [_changed(kernel, name, text, site) for name, (_, text) in renderer.stores.items()]
    if not tests:
        return "false"
    return renderer.variable(" || ".join(tests), "bool", "d")


def _present(kernel: Kernel, name: str, site: Site) -> str:
    return site.known.get(("field", "v", name)) or at_v(kernel, ("field", name), name)


def _changed(kernel: Kernel, name: str, operand: str, site: Site) -> str:
    """Return the test whether a new value differs from the field's present one."""
    return f"changed<{kind_of(kernel, name)}>({operand}, {_present(kernel, name, site)})"


def _old_after(kernel: Kernel, out: Emitter, name: str, test: str, site: Site) -> str:
    """Return the old value of v as it will be: the present one if the field is changed."""
    held = out.fresh("o")
    old = at_v(kernel, ("old", name), name)
    present = _present(kernel, name, site)
    out.line(f"const {kind_of(kernel, name)} {held} = {test} ? {present} : {old};")
    return held


def _store(
    kernel: Kernel, out: Emitter, sweep: Sweep, renderer: BlockRenderer, site: Site, step: Step
) -> None:
    """Write the assigned fields; later functions of the sweep see them at v."""
    for name, (value, operand) in renderer.stores.items():
        if name in kernel.options.kept_old:
            _keep_old(kernel, out, sweep, name, operand, site)
        binding = ("next" if name in sweep.buffered else "field", name)
        how = "leave" if name in sweep.facts.live else "put"
        write(kernel, out, binding, name, operand, how)
        if step is not sweep.last:
            site.known[("field", "v", name)] = operand
        _ = value


def _keep_old(
    kernel: Kernel, out: Emitter, sweep: Sweep, name: str, operand: str, site: Site
) -> None:
    present = _present(kernel, name, site)
    binding = ("old_next" if name in sweep.buffered_old else "old", name)
    kind = kind_of(kernel, name)
    held = out.fresh("o")
    test = _changed(kernel, name, operand, site)
    old = at_v(kernel, binding, name)
    out.line(f"const {kind} {held} = {test} ? {present} : {old};")
    write(kernel, out, binding, name, held)
    site.known[("old", "v", name)] = held


# -- one gather by a schedule


def scheduled_gather(kernel: Kernel, sweep: Sweep) -> Value | None:
    """Return the only gather of a sweep if its arcs can be handed out by a schedule."""
    if len(sweep.steps) != 1:
        return None
    body = sweep.steps[0].body
    found = [v for v in body.walk() if v.op == "gather"]
    if len(found) != 1 or found[0] not in body.body:
        return None
    value = found[0]
    direction, groups = value.attr
    if direction == "both" or any(r.name == "mode" for r, _, _ in groups):
        return None
    if kernel.options.pull.schedule.rows != "whole":
        for (reduction, count, _), kinds in zip(groups, _kinds(value), strict=True):
            wide = any(dtype.itemsize > 8 for dtype, _ in kinds)
            if wide or (reduction.name == "user" and count > 1):
                return None
    needed = _needed(value, body.body)
    return value if needed is not None else None


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


def _gather_phases(
    kernel: Kernel, sweep: Sweep, k: int, kind: str, gather: Value, totals: list[str], finish: str
) -> str:
    """Add the phases of a gather whose arcs a schedule hands out."""
    side = kernel.options.pull
    rows = side.schedule.rows
    way = gather.attr[0]
    step = sweep.steps[0]
    visitor = Visitor(f"Gather{k}", vertex="v", far="u", collects=True)
    visitor.parts = kernel.parts_struct(sweep)
    site = replace(
        kernel.site(way, "s"), frozen=frozenset(sweep.frozen[0]),
        racy=frozenset(sweep.facts.live), snapshots=frozenset(sweep.snapshots),
        old_snapshots=frozenset(sweep.old_snapshots), turned=way == "out",
    )  # fmt: skip
    known = _row_of_gather(kernel, visitor, step, gather, site)
    accumulators = _take_lines(kernel, visitor, gather, site, step, known)
    parts = [part for accumulator in accumulators for part in accumulator.parts]
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
    inboxes = _inboxes(gather, k)
    if rows != "whole":
        with close.block("if (!whole)"):
            _deliver(kernel, close, gather, site, step, inboxes, accumulators)
            close.line("return;")
    if rows != "split":
        functions(kernel, close, sweep, {id(gather): parts})
    visitor.close = close.lines
    touched = rows != "whole"
    output = output_of(kernel, "counter" if rows == "split" else kind, exact=False)
    head = ["const auto rows = entered_rows(a, loop);"]
    numbers = [len(kernel.phases) + i for i in range(side.schedule.phases)]
    if rows != "whole":
        commit = _gather_commit(kernel, sweep, k, kind, gather, inboxes, totals, finish)
        after = ["t.loop.touched = i64(t.cells[FAR]);", "keep_counts(t);"]
        if rows == "mixed":
            after += [*(_keep_scalars(kernel, sweep))]
        after.append(commit)
        numbers = [len(kernel.phases) + i for i in range(side.schedule.phases)]
    else:
        after = [*totals, "keep_counts(t);", finish]
    for part in range(side.schedule.phases):
        pieces = len(kernel.pieces)
        body = visitor_phase(
            kernel, sweep, visitor, output=output, touched=touched, head=head,
            call=sweep_call(kernel, side, "pull", part), format_=format_of(kernel, side, way),
            publish=rows != "split",
        )  # fmt: skip
        if part > 0:
            del kernel.pieces[pieces:]
        last = part == side.schedule.phases - 1
        kernel.phase(
            f"gather_{k}_{part}", body, after if last else [f"t.loop.phase = {numbers[part + 1]};"]
        )
    return f"t.loop.phase = {numbers[0]};"


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
        name = f"x{len(visitor.row)}"
        visitor.row.append((c_type(value.dtype, value.shape), name, renderer.operand(value)))
        known[id(value)] = f"row.{name}"
    visitor.load += out.lines
    return known


def _take_lines(
    kernel: Kernel, visitor: Visitor, gather: Value, site: Site, step: Step, known: dict[int, str]
) -> list[Accumulator]:
    """Render the messages of one arc and their combination."""
    out = kernel.emitter()
    renderer = kernel.renderer(out, site, step)
    renderer.known.update(known)
    accumulators: list[Accumulator] = []
    first = 0
    for (reduction, count, _), kinds in zip(gather.attr[1], _kinds(gather), strict=True):
        accumulators.append(Accumulator(renderer, reduction, kinds, prefix="partial.", first=first))
        first += count
    results = renderer.block(gather.blocks[0])
    exits = [r.name for r, _, _ in gather.attr[1]] == ["any"]
    at = 0
    for accumulator, (_, count, conditional) in zip(accumulators, gather.attr[1], strict=True):
        messages = results[at : at + count]
        at += count
        with ExitStack() as stack:
            if conditional:
                stack.enter_context(out.block(f"if ({results[at]})"))
                at += 1
            accumulator.take(messages, site.edge)
            if exits:
                out.line("return true;")
    for accumulator in accumulators:
        accumulator.end_slot("s")
    visitor.take = out.lines
    visitor.exits = exits
    return accumulators


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


def _deliver(
    kernel: Kernel, out: Emitter, gather: Value, site: Site, step: Step,
    inboxes: list[list[tuple[Any, ...]]], accumulators: list[Accumulator],
) -> None:  # fmt: skip
    """Hand a part of a row on to the others' parts."""
    out.line("const bool won = touched.append(v);")
    out.line("static_cast<void>(won);")
    renderer = kernel.renderer(out, site, step, set())
    groups = zip(gather.attr[1], _kinds(gather), inboxes, accumulators, strict=True)
    for (reduction, _, _), kinds, arrays, accumulator in groups:
        with ExitStack() as stack:
            if accumulator.got:
                stack.enter_context(out.block(f"if ({accumulator.got})"))
                # Whoever comes first with a message writes it; a stamp of its own tells.
                got = kernel.args.use("stamp", 1)
                out.line(f"const bool first = touch({got}, v, u32(loop.epoch));")
                deliver(kernel, out, reduction, arrays, kinds, renderer, accumulator.parts, "first")
                continue
            deliver(kernel, out, reduction, arrays, kinds, renderer, accumulator.parts, "won")


def _gather_commit(
    kernel: Kernel, sweep: Sweep, k: int, kind: str, gather: Value,
    inboxes: list[list[tuple[Any, ...]]], totals: list[str], finish: str,
) -> str:  # fmt: skip
    """Add the phase that runs the function where rows were split."""
    out = kernel.emitter()
    parts = []
    for (reduction, _, _), kinds, arrays in zip(
        gather.attr[1], _kinds(gather), inboxes, strict=True
    ):
        for binding, (dtype, shape) in zip(arrays, kinds, strict=True):
            array = kernel.args.use(*binding)
            kind_text = c_type(dtype, shape)
            name = out.fresh("q")
            out.line(f"const {kind_text} {name} = fetch<{kind_text}>({array}, v);")
            empty(kernel, out, binding, dtype, shape, literal(binding[-1], dtype))
            parts.append(name)
        _ = reduction
    functions(kernel, out, sweep, {id(gather): parts})
    split = kernel.options.pull.schedule.rows == "split"
    which = "entered_vertex(a, loop, i)" if split else f"{kernel.args.use('touched')}[i]"
    body = [
        f"using Out = {output_of(kernel, kind, exact=False)};",
        "Out out = make_output<Out>(a, loop, place, cells);",
        "out.begin();",
        f"const auto degree = {degree_functor(kernel)};",
        "static_cast<void>(degree);",
        f"struct Parts {{ {kernel.parts_struct(sweep)} }} parts;",
        "static_cast<void>(parts);",
        f"for_all(place, {'loop.size' if split else 'loop.touched'}, [&](i64 i) {{",
        f"    const i64 v = {which};",
        *(f"    {line}" for line in out.lines),
        "});",
        *kernel.publish_scalars(sweep),
        "out.end();",
    ]
    return kernel.phase(
        f"gathered_{k}", body, [*_add_scalars(kernel, sweep, totals), "keep_counts(t);", finish]
    )


def _keep_scalars(kernel: Kernel, sweep: Sweep) -> list[str]:
    """After the first of two phases that reduce a scalar: keep what it found."""
    return kernel.total_scalars(sweep)


def _add_scalars(kernel: Kernel, sweep: Sweep, totals: list[str]) -> list[str]:
    """After the second: combine with what the first one found."""
    from weft.backends.cuda.kernel import scalar_reductions

    if kernel.options.pull.schedule.rows != "mixed":
        return totals
    lines: list[str] = []
    reduced = scalar_reductions(sweep.steps)
    for name, _, dtype in reduced:
        lines.append(f"const {c_type(dtype)} first_{identifier(name)} = t.scalars.{identifier(name)};")
    lines += totals
    for name, reduction, dtype in reduced:
        lines += kernel.join_scalar(name, reduction, dtype, f"first_{identifier(name)}")
    return lines


def _wake_phase(kernel: Kernel, sweep: Sweep, k: int, then: str) -> str:
    """Add the phase that replaces changed vertices by those that gather from them."""
    ways: set[str] = set()
    for direction in sweep.facts.gathers or {"in"}:
        ways |= {"in": {"out"}, "out": {"in"}, "both": {"in", "out"}}[direction]
    body = [
        f"using Out = {output_of(kernel, 'queue', exact=True)};",
        "Out out = make_output<Out>(a, loop, place, cells);",
        "out.begin();",
        f"const auto degree = {degree_functor(kernel)};",
        "for_all(place, loop.size, [&](i64 i) {",
        "    const i64 v = entered_vertex(a, loop, i);",
    ]
    for way in sorted(ways):
        offsets, targets = kernel.args.use("offsets", way), kernel.args.use("targets", way)
        body += [
            f"    for (i64 s = {offsets}[v]; s < {offsets}[v + 1]; ++s) {{",
            f"        out.emit_lazily({targets}[s], degree);",
            "    }",
        ]
    body += ["});", "out.end();"]
    number = kernel.follow(then)
    start = kernel.phase(f"wake_{k}", body, ["keep_counts(t);", f"take_queue(t, {number}, false);"])
    return f"t.loop.epoch += 1; begin_output(t); {start}"


__all__ = ["Reduction", "hoisted_arrays", "may_carry", "render_vertex_sweep", "take_snapshots"]
