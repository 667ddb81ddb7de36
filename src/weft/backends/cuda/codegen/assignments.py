"""The functions of a sweep at one vertex: what they assign, and whether it is put out."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

from weft.backends.cuda.codegen.blocks import BlockRenderer
from weft.backends.cuda.codegen.hub_table import place_of
from weft.backends.cuda.codegen.machine import Kernel
from weft.backends.cuda.codegen.site import Site
from weft.backends.cuda.codegen.text import Emitter, c_type
from weft.backends.cuda.codegen.updates import at_v, emit, kind_of, write
from weft.backends.cuda.codegen.visitors import overlay_pairs
from weft.ir.check.facts import block_facts, compared_live
from weft.ir.ops import Step, Value
from weft.plan.sweeps import Sweep


def buffers_of(kernel: Kernel, sweep: Sweep) -> list[tuple[str, Any, Any]]:
    """Return the second buffers of a sweep: the field's name, the buffer and what it is for."""
    fields = [(name, ("next", name), ("field", name)) for name in sorted(sweep.buffered)]
    kept = sweep.buffered_old & kernel.options.kept_old
    return fields + [(name, ("old_next", name), ("old", name)) for name in sorted(kept)]


def functions(
    kernel: Kernel, out: Emitter, sweep: Sweep, gathered: dict[int, list[str]] | None = None,
    known: dict[tuple[Any, ...], str] | None = None,
) -> None:  # fmt: skip
    """Render the functions of a sweep at one vertex, each only where the one before said true.

    `gathered` has the results of gathers that were made before, `known` what has been loaded.
    """
    site = kernel.site()
    site.racy = frozenset(sweep.facts.live)
    site.snapshots = frozenset(sweep.snapshots)
    site.old_snapshots = frozenset(sweep.old_snapshots)
    overlay_pairs(kernel, site)
    site.known = {**(known or {}), **site.known}
    now: dict[tuple[Any, ...], str] = {}  # what is known of v when all is stored
    out.line("bool output = false;")
    # What is not assigned, since a function of a fold does not run or nothing changed, stays.
    for name, buffer, target in buffers_of(kernel, sweep):
        if len(sweep.steps) > 1 or buffer[0] == "old_next":
            write(kernel, out, buffer, name, at_v(kernel, target, name))
    with ExitStack() as stack:
        for number, step in enumerate(sweep.steps):
            last = number == len(sweep.steps) - 1
            live = sweep.live_in(number)
            here = replace(
                site, frozen=frozenset(sweep.frozen[number]), owned=True,
                snapshots=site.snapshots - live,
            )  # fmt: skip
            renderer = kernel.renderer(out, here, step, live)
            renderer.scope.keys_base = partial(keys_base, kernel)  # asks for both directions
            renderer.prepare(step.body)
            for value, parts in (gathered or {}).items():
                renderer.parts[value] = parts
                renderer.known[value] = ""
            if last:
                _begin(kernel, renderer, step, here)
            renderer.run(step.body.body)
            kernel.take_scalars(out, renderer, sweep, number)
            output = _output(kernel, out, sweep, step, renderer, site)
            when = ""
            if step.conditional:  # before the fields that it may read are written
                when = renderer.hold(renderer.operand(step.body.results[-1]), "bool")
            kernel.sync(out)
            _store(kernel, out, sweep, renderer, site, step)
            if len(sweep.steps) == 1:
                now = {**site.known, **_stored(sweep, renderer)}
            if last:
                out.line(f"output = {output};")
            elif sweep.steps[number + 1].joined:
                stack.enter_context(out.block(f"if ({output})"))
            elif step.conditional:
                stack.enter_context(out.block(f"if ({when})"))
    with out.block("if (output)"):
        emit(kernel, out)
    if kernel.carries_hoisted:
        kernel.sync(out)
        write_hoisted(kernel, out, sweep, "next", known=now)


def keys_base(kernel: Kernel) -> str:
    """Return where the messages of a vertex lie that `weft.mode` keeps."""
    ways = {"both": ("in", "out"), "in": ("in",), "out": ("out",)}[kernel.traits.keep]
    uses = [f"load_constant({kernel.args.use('offsets', way)} + v)" for way in ways]
    return " + ".join(uses)


def _begin(kernel: Kernel, renderer: BlockRenderer, step: Step, site: Site) -> None:
    """Read the live fields of v that are compared with what they were before the function."""
    for name in sorted(compared_live(step)):
        dtype, _ = kernel.types[name]
        value = Value("load", (), ("field", "v", name), dtype)
        renderer.begun[name] = renderer.variable(site.load(value), dtype, "b")


def _output(
    kernel: Kernel, out: Emitter, sweep: Sweep, step: Step, renderer: BlockRenderer, site: Site
) -> str:
    """Return the test whether a vertex is part of the output, computed before the stores."""
    if step.active is not None:
        after = replace(kernel.site(), racy=site.racy)
        after.index["before"] = "v"
        # By functions before it in a fold; and what was loaded with the row, also without a name.
        for (kind, _, *which), operand in site.known.items():
            after.known[(kind, "v", *which)] = operand
            after.known[(kind, "before", *which)] = operand
        for name, held in renderer.begun.items():
            after.known[("field", "before", name)] = held
        kept = block_facts(step.active).old & kernel.options.kept_old - sweep.live_old
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
    for name, held in renderer.begun.items():
        tests.append(f"changed<{kind_of(kernel, name)}>({renderer.assigned[name]}, {held})")
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
    for name, (_, operand) in renderer.stores.items():
        if name in kernel.options.kept_old - sweep.live_old:
            _keep_old(kernel, out, sweep, name, operand, site)
        binding = ("next" if name in sweep.buffered else "field", name)
        how = "leave" if name in sweep.facts.live else "put"
        write(kernel, out, binding, name, operand, how)
        if step is not sweep.last and name not in sweep.facts.live:
            site.known[("field", "v", name)] = operand


def _stored(sweep: Sweep, renderer: BlockRenderer) -> dict[tuple[Any, ...], str]:
    """Return the fields of v that a function has assigned and nothing else changes."""
    return {
        ("field", "v", name): operand
        for name, (_, operand) in renderer.stores.items()
        if name not in sweep.facts.live
    }


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
    kernel.sync(out)
    write(kernel, out, binding, name, held)
    site.known[("old", "v", name)] = held


def write_hoisted(
    kernel: Kernel, out: Emitter, sweep: Sweep, *which: str,
    known: dict[tuple[Any, ...], str] | None = None,
) -> None:  # fmt: skip
    """Compute the hoisted expressions of one vertex from its present fields.

    `known` are loads at v whose values are at hand.
    """
    site = kernel.site(u="v")
    site.snapshots = frozenset(sweep.snapshots)
    site.old_snapshots = frozenset(sweep.old_snapshots)
    for name in sweep.buffered if which else ():
        site.known["field", "u", name] = at_v(kernel, ("next", name), name)
    for (kind, who, *which_of), operand in (known or {}).items():
        if who == "v":
            site.known[(kind, "u", *which_of)] = operand
    for step in sweep.steps:
        for name, block in step.hoisted:
            renderer = kernel.renderer(out, site, step, set(), vertex="v")
            (result,) = renderer.block(block)
            root = block.results[0]
            array = kernel.args.use("hidden", name, root.dtype, root.size, *which)
            one = "" if root.shape else kernel.alone
            kind = c_type(root.dtype, root.shape)
            out.line(f"{one}put<{kind}>({array}, {place_of(kernel, sweep)}, {result});")
