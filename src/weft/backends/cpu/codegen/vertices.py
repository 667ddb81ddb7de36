"""Sweeps of vertex functions, and the copying of second buffers."""

from __future__ import annotations

import itertools
from dataclasses import replace

from weft.backends.cpu.codegen.blocks import BlockRenderer, Operand, Stretch, differs, stored
from weft.backends.cpu.codegen.kernel import Kernel
from weft.backends.cpu.codegen.schedules import whole_rows
from weft.backends.cpu.codegen.site import Site
from weft.backends.cpu.runtime.prefetch import fetch_arcs_of_rows_ahead
from weft.ir.check.facts import block_facts, compared_live
from weft.ir.ops import Step, Value
from weft.plan.sweeps import Sweep
from weft.topology.topology import Direction

GRAIN = 1024


def render_vertex_sweep(kernel: Kernel, sweep: Sweep, *, wake: str) -> None:
    """Render the phases of a sweep over the vertices of the frontier.

    `wake` is "queue" where the changed vertices are the output, "all" where only their number
    counts, "neighbors" where those that gather from them are woken.
    """
    out = kernel.out
    carried = kernel.carries_hoisted
    if not carried:
        fill_hoisted(kernel, sweep)
    kernel.begin_phase()
    kernel.begin_queue()
    kernel.begin_scalars(sweep)
    way: Direction = "out" if sweep.facts.gathers == {"out"} else "in"
    gathers = bool(sweep.facts.gathers)
    if gathers:
        _count_gathered(kernel, sweep)
    with whole_rows(kernel, "size", 256, way) if gathers else kernel.shares("size", GRAIN):
        out.line("v = i if dense else np.uint64(queue_a[i])")
        if gathers:
            with out.block("if not dense:"):
                later = "np.uint64(queue_a[min(i + {}, np.uint64(size) - ONE)])"
                fetch_arcs_of_rows_ahead(kernel, later, way)
        _functions(kernel, sweep, count_only=wake == "all")
        if carried:
            _write_hoisted(kernel, sweep, "v", "next")
    kernel.publish_scalars(sweep)
    kernel.end_queue()
    kernel.barrier()
    kernel.read_counters()
    if gathers:
        out.line("looked_all = looked_all if dense else ctl[base + LOOKED]")
    kernel.total_scalars(sweep)
    _copy_back(kernel, sweep)
    if carried:
        with out.block("if dense:"):
            for now, following in _hoisted_arrays(kernel, sweep):
                out.line(f"{now}, {following} = {following}, {now}")
        with out.block("else:  # the first frontier: not every vertex has written its own"):
            fill_hoisted(kernel, sweep)
    if wake == "all":
        out.line("size = n if changed > 0 else 0")
        out.line("dense = 1")
        if kernel.program.wide:  # of those that changed, which decide about what comes next
            out.line("edges = next_edges")
        else:
            out.line("edges = arcs if changed > 0 else 0")
    else:
        kernel.take_queue()
    out.line("mapped = 0")
    if wake == "neighbors":
        _wake_neighbors(kernel, sweep)


def _count_gathered(kernel: Kernel, sweep: Sweep) -> None:
    """Count the arcs of a thread's part of a frontier that does not hold all vertices."""
    out = kernel.out
    ways = [way for way in ("in", "out") if sweep.facts.gathers & {way, "both"}]
    with (
        out.block("if not dense:"),
        out.block("for i in range(size * tid // nt, size * (tid + 1) // nt):"),
    ):
        out.line("v = np.uint64(queue_a[i])")
        for way in ways:
            offsets = kernel.args.use("offsets", way)
            out.line(f"looked += np.int64({offsets}[v + ONE] - {offsets}[v])")


def fill_hoisted(kernel: Kernel, sweep: Sweep) -> None:
    """Fill the hidden fields of hoisted source expressions, over all vertices."""
    if not any(step.hoisted for step in sweep.steps):
        return
    kernel.begin_phase()
    with kernel.shares("n", GRAIN):
        _write_hoisted(kernel, sweep, "i")
    kernel.barrier()


def _write_hoisted(kernel: Kernel, sweep: Sweep, place: str, *which: str) -> None:
    """Compute the hoisted expressions of one vertex from its present fields."""
    site = kernel.site(u=place)
    site.snapshots = frozenset(sweep.snapshots)
    site.old_snapshots = frozenset(sweep.old_snapshots)
    for name in sweep.buffered if which else ():
        value = Value("param", (), 0, *kernel.types[name])
        site.known["field", "u", name] = _own_operand(kernel.args.use("next", name), value)
    for step in sweep.steps:
        for name, block in step.hoisted:
            renderer = kernel.renderer(site, step, set(), vertex=place)
            (result,) = renderer.block(block)
            root = block.results[0]
            array = kernel.args.use("hidden", name, root.dtype, root.size, *which)
            write(renderer, array, place, root, result)


def _hoisted_arrays(kernel: Kernel, sweep: Sweep) -> list[tuple[str, str]]:
    """Return the arrays of the hidden fields, of this superstep and of the next."""
    use = kernel.args.use
    roots = [(name, b.results[0]) for step in sweep.steps for name, b in step.hoisted]
    return [
        (use("hidden", n, r.dtype, r.size), use("hidden", n, r.dtype, r.size, "next"))
        for n, r in roots
    ]


def take_snapshots(kernel: Kernel, sweeps: list[Sweep]) -> None:
    """Copy fields that the first of the sweeps, or later ones of its fold, see as they are now."""
    first = sweeps[0]
    wanted = {("field", "frozen", name) for name in first.copied}
    if first.fold_start:
        for sweep in itertools.takewhile(lambda sweep: not sweep.fold_start, sweeps[1:]):
            wanted |= {("field", "snapshot", name) for name in sweep.snapshots}
            wanted |= {("old", "old_snapshot", name) for name in sweep.old_snapshots}
    if not wanted:
        return
    kernel.begin_phase()
    with kernel.shares("n", GRAIN):
        for kind, copy, name in sorted(wanted):
            source, target = kernel.args.use(kind, name), kernel.args.use(copy, name)
            _copy_element(kernel, name, source, target, "i")
    kernel.barrier()


def keep_live_old(kernel: Kernel, sweep: Sweep) -> None:
    """Save the earlier values of the live fields that a sweep changed, at all vertices."""
    if not sweep.live_old:
        return
    out, use = kernel.out, kernel.args.use
    kernel.begin_phase()
    with kernel.shares("n", GRAIN):
        for name in sorted(sweep.live_old):
            now, before, old = use("field", name), use("frozen", name), use("old", name)
            with out.block(f"if {differs(f'{now}[i]', f'{before}[i]', kernel.types[name][0])}:"):
                out.line(f"{old}[i] = {before}[i]")
    kernel.barrier()


def _copy_element(kernel: Kernel, name: str, source: str, target: str, place: str) -> None:
    _, shape = kernel.types[name]
    out = kernel.out
    size = 1
    for extent in shape:
        size *= extent
    if size == 1 and not shape:
        out.line(f"{target}[{place}] = {source}[{place}]")
        return
    with out.block(f"for k in range(np.uint64({size})):"):
        index = f"np.uint64({place}) * np.uint64({size}) + k"
        out.line(f"{target}[{index}] = {source}[{index}]")


def _buffers(kernel: Kernel, sweep: Sweep) -> list[tuple[str, str, str]]:
    """Return the second buffers of a sweep: the field's name, the buffer and what it is for."""
    use = kernel.args.use
    fields = [(name, use("next", name), use("field", name)) for name in sorted(sweep.buffered)]
    kept = sweep.buffered_old & kernel.options.kept_old
    return fields + [(name, use("old_next", name), use("old", name)) for name in sorted(kept)]


def _copy_back(kernel: Kernel, sweep: Sweep) -> None:
    """Copy the second buffers of the vertices of the frontier back, in a phase of its own."""
    out, buffers = kernel.out, _buffers(kernel, sweep)
    if not buffers:
        return
    kernel.begin_phase()
    with kernel.shares("size", GRAIN):
        out.line("v = i if dense else np.uint64(queue_a[i])")
        for name, source, target in buffers:
            _copy_element(kernel, name, source, target, "v")
    kernel.barrier()


def write(renderer: BlockRenderer, array: str, place: str, value: Value, operand: Operand) -> None:
    """Write a value to its place in an array of fields."""
    out = renderer.out
    if value.shape:
        with out.block(f"for k in range(np.uint64({value.size})):"):
            text = operand.at("k") if isinstance(operand, Stretch) else operand
            index = f"np.uint64({place}) * np.uint64({value.size}) + k"
            out.line(f"{array}[{index}] = {stored(text, value.dtype)}")
    else:
        out.line(f"{array}[{place}] = {stored(str(operand), value.dtype)}")


def sweep_site(site: Site, sweep: Sweep, number: int) -> Site:
    """Return the site as one function of a sweep sees it."""
    live = sweep.live_in(number)
    return replace(
        site, frozen=frozenset(sweep.frozen[number]), owned=sweep.kind == "vertex",
        snapshots=site.snapshots - live,
    )  # fmt: skip


def _functions(kernel: Kernel, sweep: Sweep, *, count_only: bool) -> None:
    """Render the functions of a sweep at one vertex, each only where the one before said true."""
    out = kernel.out
    site = kernel.site()
    site.snapshots = frozenset(sweep.snapshots)
    site.old_snapshots = frozenset(sweep.old_snapshots)
    own: dict[str, tuple[Value, Operand]] = {}
    opened = []
    output = "False"
    if len(sweep.steps) > 1:
        out.line("output = False")
    # What is not assigned, since a function of a fold does not run or nothing changed, stays.
    for name, buffer, target in _buffers(kernel, sweep):
        if len(sweep.steps) > 1 or buffer.startswith("old"):
            _copy_element(kernel, name, target, buffer, "v")
    for number, step in enumerate(sweep.steps):
        last = number == len(sweep.steps) - 1
        here = sweep_site(site, sweep, number)
        renderer = kernel.renderer(here, step, sweep.live_in(number))
        renderer.prepare(step.body)
        if last:
            _begin(kernel, renderer, step, here)
        renderer.run(step.body.body)
        kernel.take_scalars(renderer, sweep, number)
        output = _output(kernel, sweep, step, renderer, site)
        if step.conditional:  # before the fields that it may read are written
            when = renderer.variable(str(renderer.operand(step.body.results[-1])))
        _store(kernel, sweep, renderer, site, own, step)
        if last:
            break
        if step.conditional or sweep.steps[number + 1].joined:
            test = output if sweep.steps[number + 1].joined else when
            context = out.block(f"if {test}:")
            context.__enter__()
            opened.append(context)
    if len(sweep.steps) > 1:
        out.line(f"output = {output}")
    for context in reversed(opened):
        context.__exit__(None, None, None)
    with out.block(f"if {'output' if len(sweep.steps) > 1 else output}:"):
        kernel.emit("v", count_only=count_only)


def _begin(kernel: Kernel, renderer: BlockRenderer, step: Step, site: Site) -> None:
    """Read the live fields of v that are compared with what they were before the function."""
    for name in sorted(compared_live(step)):
        value = Value("load", (), ("field", "v", name), *kernel.types[name])
        held = kernel.out.fresh("b")
        kernel.out.line(f"{held} = {site.load(value)}")
        renderer.begun[name] = held


def _output(kernel: Kernel, sweep: Sweep, step: Step, renderer: BlockRenderer, site: Site) -> str:
    """Return the test whether a vertex is part of the output, computed before the stores."""
    out = kernel.out
    if step.active is not None:
        after = kernel.site()
        after.index["before"] = "v"
        for (kind, _, name), operand in site.known.items():  # by functions before it in a fold
            after.known[(kind, "v", name)] = operand
            after.known[(kind, "before", name)] = operand
        for name, held in renderer.begun.items():
            after.known[("field", "before", name)] = held
        kept = block_facts(step.active).old & kernel.options.kept_old - sweep.live_old
        for name, (value, operand) in renderer.stores.items():
            if name in kept:
                test = changed_test(kernel, renderer, name, value, operand, site)
                present = site.known.get(("field", "v", name))
                old = old_after(kernel, renderer, name, value, test, present)
                after.known[("old", "v", name)] = old
            after.known[("field", "v", name)] = renderer.hold(operand, value.dtype)
        return renderer.variable(kernel.block_value(step.active, after, step))
    if renderer.changed is not None:
        return str(renderer.changed)
    if step.conditional:
        return renderer.variable(str(renderer.operand(step.body.results[-1])))
    tests = []
    for name, (value, operand) in renderer.stores.items():
        tests.append(changed_test(kernel, renderer, name, value, operand, site))
    for name, held in renderer.begun.items():
        tests.append(differs(renderer.assigned[name], held, kernel.types[name][0]))
    if not tests:
        return "False"
    name = out.fresh("d")
    out.line(f"{name} = {' or '.join(tests)}")
    return name


def changed_test(
    kernel: Kernel, renderer: BlockRenderer, name: str, value: Value, operand: Operand, site: Site
) -> str:
    """Return the test whether a new value differs from the field's present one."""
    known = site.known.get(("field", "v", name))
    array = kernel.args.use("field", name)
    if not value.shape:
        old = str(known) if known is not None else f"{array}[v]"
        if value.dtype.kind == "b" and known is None:
            old = f"({array}[v] != 0)"
        return differs(str(operand), old, value.dtype)
    test = kernel.out.fresh("d")
    kernel.out.line(f"{test} = False")
    with kernel.out.block(f"for k in range(np.uint64({value.size})):"):
        held = known if isinstance(known, Stretch) else _own_operand(array, value)
        assert isinstance(held, Stretch)
        old = held.at("k")
        new = operand.at("k") if isinstance(operand, Stretch) else operand
        with kernel.out.block(f"if {differs(new, old, value.dtype)}:"):
            kernel.out.line(f"{test} = True")
    return test


def _store(
    kernel: Kernel,
    sweep: Sweep,
    renderer: BlockRenderer,
    site: Site,
    own: dict[str, tuple[Value, Operand]],
    step: Step,
) -> None:
    """Write the assigned fields; later functions of the sweep see them at v."""
    arrays = {
        name: kernel.args.use("next" if name in sweep.buffered else "field", name)
        for name in renderer.stores
    }
    # All values are taken before the first is written: v.a, v.b = v.b, v.a exchanges vectors.
    fresh = [
        (name, value, unclobbered(renderer, operand, set(arrays.values())))
        for name, (value, operand) in renderer.stores.items()
    ]
    for name, value, operand in fresh:
        array = arrays[name]
        if name in kernel.options.kept_old - sweep.live_old:
            _keep_old(kernel, sweep, renderer, name, value, operand, site)
        write(renderer, array, "v", value, operand)
        own[name] = (value, operand)
        if step is not sweep.last:
            site.known[("field", "v", name)] = _own_operand(array, value)


def unclobbered(renderer: BlockRenderer, operand: Operand, arrays: set[str]) -> Operand:
    """Return an operand that keeps its value while some arrays are written."""
    if isinstance(operand, Stretch) and operand.array in arrays:
        return renderer.duplicate(operand)
    return operand


def _own_operand(array: str, value: Value) -> Operand:
    if value.shape:
        return Stretch(array, f"v * np.uint64({value.size})", value.shape, value.dtype)
    return f"({array}[v] != 0)" if value.dtype.kind == "b" else f"{array}[v]"


def old_after(
    kernel: Kernel, renderer: BlockRenderer, name: str, value: Value, test: str,
    present: Operand | None = None,
) -> Operand:  # fmt: skip
    """Return the old value of v as it will be: the present one if the field is changed."""
    old = _own_operand(kernel.args.use("old", name), value)
    if present is None:
        present = _own_operand(kernel.args.use("field", name), value)
    if not isinstance(old, Stretch) or not isinstance(present, Stretch):
        return renderer.variable(f"({present} if {test} else {old})")
    result = renderer.scratch.take(value)
    with kernel.out.block(f"for k in range(np.uint64({value.size})):"):
        text = f"({present.at('k')} if {test} else {old.at('k')})"
        kernel.out.line(f"{result.array}[{result.base} + k] = {text}")
    return result


def _keep_old(
    kernel: Kernel, sweep: Sweep, renderer: BlockRenderer, name: str, value: Value,
    operand: Operand, site: Site,
) -> None:  # fmt: skip
    test = changed_test(kernel, renderer, name, value, operand, site)
    present = site.known.get(("field", "v", name))
    if present is None:
        present = _own_operand(kernel.args.use("field", name), value)
    with kernel.out.block(f"if {test}:"):
        array = kernel.args.use("old_next" if name in sweep.buffered_old else "old", name)
        write(renderer, array, "v", value, present)
    site.known[("old", "v", name)] = _own_operand(array, value)


def _wake_neighbors(kernel: Kernel, sweep: Sweep) -> None:
    """Replace the changed vertices by those that gather from them."""
    out, args = kernel.out, kernel.args
    ways = set()
    for direction in sweep.facts.gathers or {"in"}:
        ways |= {"in": {"out"}, "out": {"in"}, "both": {"in", "out"}}[direction]
    stamp = args.use("stamp")
    kernel.begin_phase()
    kernel.begin_queue()
    out.line("epoch += 1")
    with kernel.shares("size", 64):
        out.line("v = np.uint64(queue_a[i])")
        for way in sorted(ways):
            offsets, targets = args.use("offsets", way), args.use("targets", way)
            with out.block(f"for s in range({offsets}[v], {offsets}[v + ONE]):"):
                out.line(f"w = np.uint64({targets}[s])")
                with out.block(
                    f"if {stamp}[w] != epoch and atomic_xchg({stamp}, w, epoch) != epoch:"
                ):
                    kernel.emit("w")
    kernel.end_queue()
    kernel.barrier()
    kernel.read_counters()
    kernel.take_queue()
