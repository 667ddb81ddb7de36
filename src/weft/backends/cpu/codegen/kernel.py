"""The whole loop of a program as one Numba function.

Every thread runs it. A superstep is a list of sweeps; a sweep is one or more phases; a phase ends
with a barrier. Variables such as `size` and `step` are uniform: every thread computes the same
values from the counters that it reads after a barrier.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from weft.backends.cpu.codegen.blocks import BlockRenderer, Scope, Scratch
from weft.backends.cpu.codegen.expressions import literal
from weft.backends.cpu.codegen.site import Site
from weft.backends.cpu.codegen.text import Arguments, Emitter
from weft.backends.cpu.runtime.rounds import ROUND_ROWS
from weft.ir.check.facts import block_facts
from weft.ir.ops import Block, Program, Reduction, Step, identity_of, total_dtype
from weft.plan.directions import COST
from weft.plan.queries import LEAST_ROW, Traits, scalar_reductions
from weft.plan.sweeps import Sweep
from weft.topology.topology import Direction

# Uniform variables that survive a pause, in the order of their words in the control block.
SAVED_NAMES = (
    "step", "phase", "size", "dense", "edges", "pulling", "share", "explored", "mapped", "epoch",
    "swapped", "bit_swapped", "status", "trail_size", "records", "far_size", "far_swapped", "began",
    "before", "remaining_size",
)  # fmt: skip
RUNNING, EMPTY, UNTIL, LIMIT, STOPPED_BY_USER, TRAIL_FULL = range(6)

IMPORTS = """\
import math

import numpy as np
from numba import carray, njit

from weft.backends.cpu.runtime.names import *
"""


@dataclass
class Options:
    """The options of a configuration that shape the code."""

    directions: tuple[str, ...] = ("push", "pull")
    schedule: str = "vertex"
    deterministic: bool = False
    ordered: bool = False
    kept_old: frozenset[str] = frozenset()
    arcs: bool = False  # the first frontier holds arcs
    rule: str = COST  # how a direction is chosen
    formats: dict[str, Any] = field(default_factory=dict)  # by side; none: that of the adjacency
    horizon: bool = False  # an ordered step first settles what lies within a horizon
    row_bits: bool = False  # the dense beginnings of rows are at hand as bits
    entries: int = ROUND_ROWS  # rows that a thread registers at once under `weaver`

    def format(self, side: str) -> Any:
        """Return the format of a side, None where the adjacency is walked as it is."""
        return self.formats.get(side)


@dataclass
class Kernel:
    """The kernel under construction, shared by the renderers of sweeps."""

    program: Program
    traits: Traits
    options: Options
    first: Sweep  # of a superstep
    out: Emitter = field(default_factory=Emitter)
    args: Arguments = field(default_factory=Arguments)
    functions: list[str] = field(default_factory=list)
    shared_out: list[tuple[str, Reduction, Any]] = field(default_factory=list)
    share_bounds: tuple[str, int] = ("size", 1)
    pairs: dict[str, tuple[str, int]] = field(default_factory=dict)  # key field -> (array, width)
    carries_hoisted: bool = False  # whether a superstep writes the next one's hidden fields
    discards: bool = False  # whether the output of the sweep being rendered is not used
    buffered_edges: set[str] = field(default_factory=set)  # edge state that some sweep buffers
    serial: bool = False  # whether one thread does the whole of the phase being rendered
    sorts: bool = False  # whether queues are sorted, so that sums over them have one order
    counts_edges: bool = False  # whether a direction is chosen by the edges of frontiers
    counted: Direction = "out"  # in which rows, for the output of the sweep being rendered

    def __post_init__(self) -> None:
        self.args.renumbered = self.traits.renumbered
        self.args.row_bits = self.options.row_bits
        self.scratch = Scratch(self.args)
        self.types = {name: (dtype, shape) for name, dtype, shape in self.program.signature.fields}
        # Of a program over blocks only some rows are in memory.
        self.bounded = LEAST_ROW in dict(self.program.signature.scalars)
        self.edge_types = {n: (d, s) for n, d, s in self.program.signature.edge_fields}

    def site(self, direction: str = "out", slot: str = "s", **index: str) -> Site:
        """Return a place at which the key fields of packed pairs are read from the pairs."""
        gathers = self.options.format("gather")
        site = Site(self.args, self.traits, direction, slot, gathers=gathers)
        site.index.update(index)
        return site

    def arc_site(self, side: str, direction: str, place: str) -> Site:
        """Return the place of an arc of a side, whose columns lie at `place`."""
        format_ = self.options.format(side)
        site = self.site(direction, place)
        site.layout = side if format_ is not None and format_.own_order else ""
        return site

    def renderer(
        self, site: Site, step: Step | None, live: set[str] | None = None, vertex: str = "v"
    ) -> BlockRenderer:
        """Return a renderer of a function at a site; by default its own live fields are live."""
        if live is None and step is not None:
            live = block_facts(step.body).live
        numbers = [n for n, known in enumerate(self.program.all_steps()) if known is step]
        number = numbers[0] if numbers else 0
        from weft.backends.cpu.codegen.adjacent import render_gather
        from weft.backends.cpu.codegen.by_key import render_by_key

        scope = Scope(
            site.load,
            live=live or set(),
            function=number,
            vertex=vertex,
            gather=lambda value, renderer: (
                render_by_key if value.op == "gather_by" else render_gather
            )(value, renderer, site, self.options.deterministic),
            site=site,
            placed=self._placed,
            emits=self.program.emits,
        )
        return BlockRenderer(self.out, self.args, self.scratch, scope)

    def _placed(self, place: str, field: str) -> Site:
        """Return the site of a computed vertex v, whose fields are read between two sweeps."""
        from weft.backends.cpu.codegen.pairs import overlay_pairs

        site = self.site(u=place, v=place)
        overlay_pairs(self, site)
        return site

    def barrier(self) -> None:
        """End a phase."""
        with self.out.block("if barrier(ctl, nt):"):
            self.out.line("return")

    def begin_phase(self) -> None:
        """Start a phase with cleared counters."""
        self.out.line("phase += 1")
        self.out.line("base = counters(ctl, phase, tid)")

    def shares(self, size: str, grain: int, suited: str = "") -> Any:
        """Open a loop over a thread's shares of `size` items; the items are i.

        A share has `grain` items, or as many as `suited` says where shares need not be the same in
        every run.
        """
        return _Shares(self, size, grain, suited)

    def emit(self, vertex: str, *, count_only: bool = False, degree: str = "") -> None:
        """Add a vertex to the next frontier; `degree` is its out-degree, if known."""
        out = self.out
        if self.discards:
            out.line("pass")
            return
        if count_only:
            out.line("changed += 1")
        else:
            queue = f"{self.args.use('local')}, local_base, count, {vertex}, queue_b"
            out.line(f"count = push({queue}, ctl, base + TAIL)")
        if self.counts_edges and (self.program.wide or not count_only):
            offsets = self.args.use("offsets", self.counted)
            degree = degree or f"{offsets}[{vertex} + ONE] - {offsets}[{vertex}]"
            out.line(f"out_edges += np.int64({degree})")

    def begin_queue(self) -> None:
        """Start collecting a frontier."""
        self.args.use("local")
        self.out.line("count = out_edges = changed = looked = 0")

    def end_queue(self) -> None:
        """Publish what a thread collected in this phase, and the stop flag."""
        out, local = self.out, self.args.use("local")
        out.line(f"order = flush_last({local}, local_base, count, queue_b, ctl, base + TAIL)")
        for name, cell in (("out_edges", "EDGES"), ("changed", "CHANGED"),
                           ("looked", "LOOKED")):  # fmt: skip
            with out.block(f"if {name} > 0:"):
                out.line(f"atomic_add(ctl, base + {cell}, {name})")
        with out.block("if tid == 0:"):
            out.line("ctl[base + STOPPED] = ctl[STOP] + ctl[FAULT]")

    def read_counters(self) -> None:
        """After the barrier: read what all threads collected, before another phase begins."""
        out = self.out
        out.line("next_size = ctl[base + TAIL] & LENGTH")
        out.line("next_edges = ctl[base + EDGES]")
        out.line("changed = ctl[base + CHANGED]")
        out.line("stopped = ctl[base + STOPPED]")

    def take_queue(self) -> None:
        """The queue that was filled becomes the frontier."""
        out = self.out
        out.line("queue_a, queue_b = queue_b, queue_a")
        out.line("swapped = 1 - swapped")
        out.line("size = next_size")
        out.line("edges = next_edges")
        out.line("dense = 0")
        if self.sorts:
            with out.block("if tid == 0:"):
                out.line("carray(queue_a, size).sort()")
            self.barrier()

    # -- scalars
    #
    # A thread keeps a partial result of its own, and all are combined after the barrier. In a
    # deterministic run there is one for each share of a fixed size instead, combined in order.

    def begin_scalars(self, sweep: Sweep) -> None:
        """Start the partial results of the scalars that a sweep reduces into."""
        reduced = scalar_reductions(sweep.steps)
        self.shared_out = reduced if self.options.deterministic else []
        for name, reduction, dtype in reduced:
            self.out.line(f"part_{name} = {_start(reduction, dtype)}")

    def take_scalars(self, renderer: BlockRenderer, sweep: Sweep, number: int) -> None:
        """Combine what a function reduced at one item; of a fold the last function counts."""
        later = {name for name, _, _ in scalar_reductions(sweep.steps[number + 1 :])}
        for name, reduction, operand, dtype in renderer.reduced:
            if name in later:
                continue
            wide = total_dtype(reduction, dtype)
            value = str(operand) if wide == dtype else f"np.{wide}({operand})"
            text = renderer.combined(reduction, f"part_{name}", value, wide)
            self.out.line(f"part_{name} = {text}")

    def publish_scalars(self, sweep: Sweep) -> None:
        """Write a thread's partial results before the barrier."""
        if self.options.deterministic:
            return
        for name, reduction, dtype in scalar_reductions(sweep.steps):
            partial = self.args.use("partial", name, total_dtype(reduction, dtype))
            value = f"to_uint8(part_{name})" if dtype.kind == "b" else f"part_{name}"
            self.out.line(f"{partial}[((phase % 3) * nt + tid) * STRIDE] = {value}")

    def end_share(self, grain: int) -> None:
        """Write the partial results of one share, in a deterministic run."""
        for name, reduction, dtype in self.shared_out:
            partial = self.args.use("shares", name, total_dtype(reduction, dtype))
            value = f"to_uint8(part_{name})" if dtype.kind == "b" else f"part_{name}"
            place = f"(phase % 3) * ({partial}_array.size // 3) + low // {grain}"
            self.out.line(f"{partial}[{place}] = {value}")
            self.out.line(f"part_{name} = {_start(reduction, dtype)}")

    def total_scalars(self, sweep: Sweep) -> None:
        """After the barrier: every thread sums the partial results in the same order."""
        for name, reduction, dtype in scalar_reductions(sweep.steps):
            self.args.use("scalar", name)
            wide = total_dtype(reduction, dtype)
            total = f"value_{name}" if wide == dtype else f"total_{name}"
            self.out.line(f"{total} = {_start(reduction, dtype)}")
            if self.options.deterministic:
                partial = self.args.use("shares", name, wide)
                size, grain = self.share_bounds
                loop = f"for t in range(({size} + {grain - 1}) // {grain}):"
                text = f"{partial}[(phase % 3) * ({partial}_array.size // 3) + t]"
            else:
                partial = self.args.use("partial", name, wide)
                loop = "for t in range(nt):"
                text = f"{partial}[((phase % 3) * nt + t) * STRIDE]"
            with self.out.block(loop):
                text = f"({text} != 0)" if dtype.kind == "b" else text
                renderer = self.renderer(self.site(), None, set())
                combined = renderer.combined(reduction, total, text, wide)
                self.out.line(f"{total} = {combined}")
            if wide != dtype:
                self.out.line(f"value_{name} = np.{dtype}({total})")
        self.shared_out = []

    def block_value(self, block: Block, site: Site, step: Step | None = None) -> str:
        """Render a block with one scalar result where it stands."""
        renderer = self.renderer(site, step, set(), vertex=site.index.get("v", "0"))
        return str(renderer.block(block)[0])


def _start(reduction: Reduction, dtype: Any) -> str:
    """Return the initial value of a scalar's total."""
    wide = total_dtype(reduction, dtype)
    return str(literal(identity_of(reduction, wide), wide))


class _Shares:
    """A loop over shares of work; `with` opens it at the items."""

    def __init__(self, kernel: Kernel, size: str, grain: int, suited: str) -> None:
        self.kernel, self.size, self.grain, self.suited = kernel, size, grain, suited
        self._stack: list[Any] = []

    def __enter__(self) -> None:
        out = self.kernel.out
        if self.kernel.shared_out:
            self.kernel.share_bounds = (self.size, self.grain)
        if self.kernel.shared_out or self.kernel.serial:
            out.line(f"portion = {self.grain}")
        else:
            out.line(f"portion = share_of({self.size}, {self.suited or self.grain}, nt)")
        if self.kernel.serial:
            out.line(f"low = 0 if tid == 0 else {self.size}")
        else:
            out.line(f"low = first_item(ctl, base, portion, {self.size}, nt, order)")
        for head in (f"while low < {self.size}:", None):
            if head is None:
                out.line(f"high = min(low + portion, {self.size})")
                head = "for i in range(np.uint64(low), np.uint64(high)):"
            context = out.block(head)
            context.__enter__()
            self._stack.append(context)

    def __exit__(self, *exc: Any) -> None:
        self._stack.pop().__exit__(None, None, None)
        self.kernel.end_share(self.grain)
        following = f"next_item(ctl, base, portion, {self.size}, nt)"
        self.kernel.out.line(f"low = {'low + portion' if self.kernel.serial else following}")
        self._stack.pop().__exit__(None, None, None)
