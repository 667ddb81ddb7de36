"""An ordered relaxation within a horizon, see `weft.plan.horizon`.

The horizon is the `horizon` of the loop: NaN until a frontier has many arcs, when one block samples
their messages; infinity once the vertices beyond it have pulled what was held back. A row whose own
priority lies within it *holds* what lies beyond: messages are made from row and arc alone, and only
a destination whose message goes out is looked at.
"""

from __future__ import annotations

from typing import Any

from weft.backends.cuda.codegen.blocks import BlockRenderer
from weft.backends.cuda.codegen.expressions import cast
from weft.backends.cuda.codegen.machine import Kernel, Options
from weft.backends.cuda.codegen.pairs import key_word, overlay_pairs
from weft.backends.cuda.codegen.site import Site
from weft.backends.cuda.codegen.text import Emitter
from weft.backends.cuda.codegen.updates import Pulled
from weft.backends.cuda.codegen.visitor import Visitor
from weft.backends.cuda.codegen.visitors import racy_fields
from weft.ir.ops import FLOAT64, Step
from weft.ir.request import Request
from weft.plan.horizon import ASKED, share_within
from weft.plan.sweeps import Sweep

BY_DEFAULT = False  # on a GPU where the graph suits; little gained where measured
SAMPLES = 256  # messages that the horizon is chosen by
WIDE = 2048  # arcs of a frontier that they are taken from, at least


def wants_horizon(request: Request) -> bool:
    """Whether ordered steps are to hold messages back if theirs allow it."""
    asked = request.options.config.ordering == ASKED
    return (BY_DEFAULT or asked) and share_within(request) > 0


def may_have_horizon(options: Options) -> bool:
    """Whether an ordered step of these options may hold messages back: rows are vertices' own."""
    plain = options.push.frontier_in == "queue" and not options.classes
    sides = (options.push, options.gather)
    whole = not any(side.format.splits or side.format.own_order for side in sides)
    return options.ordered and plain and whole


def priority_of(kernel: Kernel, out: Emitter, step: Step, site: Site, fresh: dict[str, str]) -> str:
    """Return the priority of v at a place as a double; just written fields are known."""
    assert step.priority is not None
    at = kernel.site(site.direction, site.slot, **site.index)
    at.layout, at.racy = site.layout, site.racy
    at.known.update(site.known)
    for name, operand in fresh.items():
        at.known[("field", "v", name)] = operand
    text = kernel.block_value(out, step.priority, at, step)
    return cast(text, step.priority.results[0].dtype, FLOAT64)


def place_of(kernel: Kernel, sweep: Sweep, **index: str) -> Site:
    """Return a place at an out-arc, whose vertices may have other names."""
    site = kernel.site("out", "s", **index)
    site.racy = racy_fields(sweep)
    overlay_pairs(kernel, site)
    return site


def note_sender(kernel: Kernel, visitor: Visitor, sweep: Sweep) -> None:
    """Find whether u holds messages back when its row is loaded, and remember it.

    A vertex that is itself beyond the horizon holds nothing back.
    """
    out = kernel.emitter()
    own = priority_of(kernel, out, sweep.steps[0], place_of(kernel, sweep, v="u"), {})
    held = kernel.args.use("held_back")
    visitor.load += [
        *out.lines,
        f"const bool holds = loop.horizon < infinity<double>() && {own} <= loop.horizon;",
        f"if (holds) store_relaxed({held} + u, u8(1));",
    ]
    visitor.row.append(("bool", "holds", "holds"))


def messages_within(
    kernel: Kernel, visitor: Visitor, step: Step, renderer: BlockRenderer, out: Emitter
) -> tuple[list[str], str]:
    """Make the messages of a push ahead, and look at v only where they go out.

    Returns how they are named, and the word of a pair that they are compared with, if there is one.
    """
    messages = renderer.block(step.body)
    fresh = dict(zip(step.into, messages, strict=True))
    rank = priority_of(kernel, out, step, renderer.scope.site, fresh)
    out.line(f"const bool held = row.holds && {rank} > loop.horizon;")
    visitor.fetch = out.lines
    messages = visitor.carry(messages, [(r.dtype, r.shape) for r in step.body.results])
    visitor.message.append(("bool", "held", "held"))
    if not step.reductions[0].selecting:
        return messages, ""
    word = f"held ? u64(0) : u64({key_word(kernel, step.into[0], 'v')})"
    visitor.message.append(("u64", "seen", word))
    return messages, "message.seen"


def choose_horizon(kernel: Kernel, sweep: Sweep) -> list[str]:
    """Return the statements that have a horizon chosen once a frontier is wide."""
    return [
        f"if (t.loop.horizon != t.loop.horizon && t.loop.edges >= {WIDE}) {{",
        f"    {_sample_phase(kernel, sweep)}",
        "    return;",
        "}",
    ]


def _sample_phase(kernel: Kernel, sweep: Sweep) -> str:
    """Add the phase in which one block chooses the horizon; return the statement that starts it.

    The sample with as many below it as are to be within becomes the horizon.
    """
    step, site, out = sweep.steps[0], place_of(kernel, sweep), kernel.emitter()
    use = kernel.args.use
    offsets, targets, samples = use("offsets", "out"), use("targets", "out"), use("samples")
    renderer = kernel.renderer(out, site, step, set())
    messages = renderer.block(step.body)
    rank = priority_of(kernel, out, step, site, dict(zip(step.into, messages, strict=True)))
    body = [
        "if (place.block != 0) return;",
        f"for (u32 j = thread_id(); j < {SAMPLES}; j += block_size()) {{",
        f"    const i64 u = entered_vertex(a, loop, i64(j) * loop.size / {SAMPLES});",
        f"    const i64 first = {offsets}[u], end = {offsets}[u + 1];",
        "    double found = infinity<double>();",
        "    if (end > first) {",
        "        const i64 s = first + i64(j) * 7919 % (end - first);",
        f"        const i64 v = i64({targets}[s]);",
        "        static_cast<void>(v);",
        *(f"        {line}" for line in out.lines),
        f"        const double rank = {rank};",
        "        if (rank == rank) found = rank;",
        "    }",
        f"    {samples}[j] = found;",
        "}",
        "sync_block();",
        f"for (u32 j = thread_id(); j < {SAMPLES}; j += block_size()) {{",
        f"    const double mine = {samples}[j];",
        "    i64 below = 0;",
        f"    for (u32 k = 0; k < {SAMPLES}; ++k) {{",
        f"        const double other = {samples}[k];",
        "        below += other < mine || (other == mine && k < j);",
        "    }",
        f"    if (below == {use('within')}) {samples}[{SAMPLES}] = mine;",
        "}",
    ]
    finish = kernel.decide(
        "finish_sample",
        [f"t.loop.horizon = load_relaxed(t.{samples} + {SAMPLES});", "begin_step(t);"],
    )
    return kernel.phase("sample", body, [finish])


def beyond_visitor(kernel: Kernel, sweep: Sweep, improve: Any) -> Visitor:
    """Return the visitor of the pull by vertices beyond the horizon, from those that held back.

    `improve(out, renderer, messages)` renders what becomes of the result of a row. Arcs are not
    taken in batches, whose registers would spill in all phases: rows are short there, and many.
    """
    step, site = sweep.steps[0], place_of(kernel, sweep)
    visitor = Visitor("Beyond", vertex="v", far="u", collects=True, looks=True)
    visitor.parts = kernel.parts_struct(sweep)
    out = kernel.emitter()
    rank = priority_of(kernel, out, step, site, {})
    visitor.open = [*out.lines, f"return !({rank} <= loop.horizon);"]
    pulled = Pulled(kernel, sweep, site)
    out = kernel.emitter()
    out.line("++looked;")
    with out.block(f"if (load_relaxed({kernel.args.use('held_back')} + u) != 0)"):
        renderer = kernel.renderer(out, site, step, set())
        pulled.take(out, renderer, renderer.block(step.body))
    visitor.take = out.lines
    visitor.partial = pulled.members()
    for part, name, present in pulled.begin():
        visitor.begin.append(f"{part} = row.{name};")
        visitor.row.append(present)
    merge = kernel.emitter()
    pulled.merge(merge)
    visitor.merge = merge.lines
    close = kernel.emitter()
    close.line("if (!partial.got) return;")
    renderer = kernel.renderer(close, site, step, set())
    results = [""] * len(step.into)
    for _, _, positions, accumulator in pulled.groups:
        accumulator.renderer = renderer
        accumulator.end_row()
        for position, part in zip(positions, accumulator.parts, strict=True):
            results[position] = part
    improve(close, renderer, results)
    visitor.close = close.lines
    return visitor
