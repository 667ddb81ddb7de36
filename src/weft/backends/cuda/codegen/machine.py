"""What the renderers of one program share: its phases, visitors and arguments.

A program becomes a machine. Its states are *phases*, device code that all threads enter; a phase
ends with a barrier, and `advance` decides from the counters which phase is next. The decisions are
C++ functions of a `Turn`, named after what they do: `enter_0` begins the first sweep, `finish_0`
takes what it put out, `end_step` closes the superstep.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any

from weft.backends.cuda.codegen.blocks import BlockRenderer, Scope
from weft.backends.cuda.codegen.expressions import literal
from weft.backends.cuda.codegen.matrix_products import in_memory
from weft.backends.cuda.codegen.site import Site
from weft.backends.cuda.codegen.text import Arguments, Emitter, c_type, identifier
from weft.ir.check.facts import block_facts
from weft.ir.ops import Block, Program, Reduction, Step, identity_of, total_dtype
from weft.plan.queries import Traits, scalar_reductions
from weft.plan.sweeps import Sweep
from weft.topology.topology import Direction

READY = "t.ready = true;"  # the last word of a decision: nothing may follow it
NOWHERE = "-1"  # the vertex of a fault that comes up where messages of several threads meet


@dataclass(frozen=True)
class DeviceTraits(Traits):
    """What of a topology shapes the code on a device."""

    arc_type: str = "i32"  # of the maps between numberings of arcs


@dataclass(frozen=True)
class Side:
    """How one direction is swept: by which schedule, over which format, from which frontier."""

    schedule: Any  # a registered schedule
    format: Any  # a registered format
    frontier_in: str = "queue"  # of a push: queue, bitmap, bytemap; of a pull: also reverse_queue
    frontier_out: str = "queue"
    joined: bool = False  # rows of a vertex are walked one after another: it is not split


@dataclass(frozen=True)
class Options:
    """What of a configuration shapes the code."""

    directions: tuple[str, ...]
    push: Side
    pull: Side  # where the first message decides
    gather: Side  # where all messages of a row are combined
    narrow: Side | None = None  # a push by one cluster, where it has a schedule of its own
    rule: str = "cost"  # how a direction is chosen
    compaction: str = "online"
    dedup: str = "exact"
    combine: str = "atomic"  # or "by_target", "radix"
    counts: bool = False  # sums of constants are added to the field itself, up to a threshold
    deterministic: bool = False
    ordered: bool = False
    buckets: bool = False
    kept_old: frozenset[str] = frozenset()
    arcs: bool = False  # the first frontier holds arcs
    fuse: str = "all"
    lanes: int = 1  # threads that look for common neighbours together
    feature_lanes: int = 32  # that share the features of one arc or vertex, at most
    lane_bytes: int = 1  # of a vector that a lane takes at least, where there are as many
    large_blocks: bool = False  # of more than 256 threads
    long_rows: bool = True  # there are rows of more slots than are added without care
    deep: bool = False  # a search takes very many supersteps, of small frontiers
    vast: bool = False  # the fields of all vertices do not fit into a cache
    reuses: bool = False  # pulls test the state in place of the frontier, if equivalent
    classes: bool = False  # queues of pushes lie by degree class
    chosen_output: bool = False  # the kind of the next frontier was asked for
    row_bits: bool = False  # the dense beginnings of rows are at hand as bits
    horizon: bool = False  # an ordered step first settles what lies within a horizon
    best_neighbor: bool = False  # pulls that end early look at the neighbor of most arcs first
    by_place: bool = False  # gathers read what was hoisted by place
    hub_table: bool = False  # and what hubs have from tables of each block
    group_block: int = 0  # threads of a block that takes one item of many features; 0: a warp
    counts_output: bool = False  # all vertices run next if the last sweep changed any
    counted: bool = True  # edges of frontiers are asked for by a record, or by the width

    def __hash__(self) -> int:
        # Computed once: runs look their code up by it.
        return self._hash

    @functools.cached_property
    def _hash(self) -> int:
        return hash(tuple(getattr(self, field.name) for field in fields(self)))

    def side(self, name: str) -> Side:
        """Return a side by its name: push, pull, gather or narrow."""
        found: Side = getattr(self, name)
        return found

    @property
    def sides(self) -> tuple[Side, ...]:
        """Return all sides."""
        known = (self.push, self.pull, self.gather, self.narrow)
        return tuple(side for side in known if side is not None)

    @property
    def map_kind(self) -> str:
        """Return the kind of map that stands for a frontier: bits or bytes."""
        kinds = {self.push.frontier_in, self.push.frontier_out, self.pull.frontier_in,
                 self.pull.frontier_out}  # fmt: skip
        return "bytemap" if "bytemap" in kinds else "bitmap"


_NATIVE = {"sum": "AtomicAdd", "min": "AtomicMin", "max": "AtomicMax"}  # of scalars


@dataclass
class Phase:
    """One state of the machine."""

    name: str
    body: list[str]
    after: list[str]  # of the thread that decides what comes next
    turn: str = "both"  # push, pull, wide, anew, few: in the kernel of that name only
    number: int = -1


@dataclass(frozen=True)
class Start:
    """The start of a sweep, and the form in which it wants the frontier."""

    statement: str
    queue: bool = False
    map: bool = False
    clean: bool = False  # the map that is written next is empty
    reverse: str = ""  # the statement that lists the accepting vertices
    classes: bool = False  # a queue by degree class


@dataclass
class Kernel:
    """The parts of a program as they are made."""

    program: Program
    traits: DeviceTraits
    options: Options
    entry: Sweep  # the first of a superstep
    args: Arguments = field(default_factory=Arguments)
    pieces: list[str] = field(default_factory=list)  # visitors, in order
    phases: list[Phase] = field(default_factory=list)
    decisions: list[str] = field(default_factory=list)  # functions of a Turn
    deferred: set[str] = field(default_factory=set)  # those that come after all others
    pairs: dict[str, str] = field(default_factory=dict)  # key field -> array of packed pairs
    wide_pairs: set[str] = field(default_factory=set)  # those of two words
    carries_hoisted: bool = False
    states_by_in: bool = False  # edge state lies by in-slots while the program runs
    turning: Sweep | None = None  # whose second buffers are not copied back, see `may_turn`
    discards: bool = False  # the output of the sweep being rendered is not used
    counts: bool = False  # only the number of vertices in that output matters
    buffered_edges: set[str] = field(default_factory=set)
    counts_edges: bool = True
    counts_first: bool = True  # those of the frontier that a run begins with
    takes_maps: bool = False  # which may lie in a map
    counted: Direction = "out"  # in which rows, for the output of the sweep being rendered
    deep: bool = False  # a search that is deep: latency counts, not how many warps are under way
    counts_later: bool = False  # degrees are not asked for before the next push (directions.py)
    added: frozenset[str] = frozenset()  # fields that messages are added to, see Sweep.adds
    marks: bool = False  # blocks keep rows in markers
    guesses: bool = False  # pulls look at the neighbor of highest degree first
    shrinks: bool = False  # a refill runs over what its first step left
    hub_bytes: int = 0  # that a vertex takes in the tables of each block, at most
    hub_ways: dict[int, Direction] = field(default_factory=dict)  # of sweeps that gather by place
    in_trail: bool = False  # frontiers are replayed where they lie
    batches: bool = False  # a sweep puts its output into a batch
    state_rows: str = ""  # the frontier as represented by the state, if a sweep reuses it
    starts: list[Start] = field(default_factory=list)
    thens: list[str] = field(default_factory=list)
    lanes: int = 1  # threads that take one item together, in the phase being rendered
    spread: bool = False  # whether they share its features
    widest: int = 1  # most lanes that share features
    registers: int = 0  # of the largest partial result and of the messages under way
    held: set[tuple[int, int, int]] = field(default_factory=set)  # see Rendered
    table_bytes: int = 0  # see Rendered
    first: str = ""  # the statement that begins the loop
    extra_fixed: dict[str, str] = field(default_factory=dict)
    names: int = 0
    slots: dict[Any, tuple[int, Reduction, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.args.renumbered = self.traits.renumbered
        self.args.row_bits = self.options.row_bits
        self.types = {name: (dtype, shape) for name, dtype, shape in self.program.signature.fields}
        self.edge_types = {n: (d, s) for n, d, s in self.program.signature.edge_fields}
        written: set[str] = set()
        for step in self.program.all_steps():
            facts = block_facts(step.body)
            written |= facts.written | facts.live_written | set(step.into)
        self.constant = frozenset(set(self.types) - written)

    # -- the machine

    @property
    def members_unread(self) -> bool:
        """Whether the sweep being rendered need not list the vertices that it puts out."""
        return self.discards or self.counts

    def phase(self, name: str, body: list[str], after: list[str], turn: str = "both") -> str:
        """Add a phase; return the statement that makes it the next one."""
        number = len(self.phases)
        if any(phase.name == name for phase in self.phases):
            name = f"{name}_at_{number}"
        self.phases.append(Phase(name, body, after, turn, number))
        return f"t.loop.phase = {number};"

    def ready(
        self, start: str, *, queue: bool = False, map_: bool = False, clean: bool = False,
        reverse: str = "", classes: bool = False,
    ) -> str:  # fmt: skip
        """Return the statement that brings the frontier into the form wanted, then starts."""
        number = len(self.starts)
        self.starts.append(Start(start, queue, map_, clean, reverse, classes))
        return f"t.loop.back = {number}; {READY}"

    def follow(self, then: str) -> int:
        """Return the number under which a statement is found after the queue was taken."""
        if then not in self.thens:
            self.thens.append(then)
        return self.thens.index(then)

    def decide(self, name: str, lines: list[str]) -> str:
        """Add a decision; return the statement that calls it."""
        inside = "\n".join(f"        {line}" for line in lines)
        self.decisions.append(f"    static WEFT_DEVICE void {name}(Turn& t) {{\n{inside}\n    }}")
        return f"{name}(t);"

    def defer(self, name: str, lines: list[str]) -> None:
        """Add a decision that others end with; mentioned, it is made once, after them."""
        self.decide(f"make_{name}", lines)
        self.decide(name, [f"t.coming = Coming::{name};"])
        self.deferred.add(name)

    # -- groups of threads that take one item together

    @contextmanager
    def spread_over(self, lanes: int) -> Iterator[None]:
        """Render what groups of so many lanes run, each with features of its own."""
        before = self.lanes, self.spread
        self.lanes, self.spread = lanes, lanes > 1
        self.widest = max(self.widest, lanes)
        yield
        self.lanes, self.spread = before

    @property
    def spread_lanes(self) -> int:
        """How many lanes share the features of a value."""
        return self.lanes if self.spread else 1

    @property
    def alone(self) -> str:
        """Begin a statement that one lane of a group makes for all."""
        return f"if (is_first<{self.lanes}>()) " if self.spread else ""

    def sync(self, out: Emitter) -> None:
        """Let a group's lanes read what they need before one of them writes."""
        if self.spread:
            out.line(f"sync_group<{self.lanes}>();")

    @property
    def for_all(self) -> str:
        """The loop over the items of a phase, and the width of a group in it."""
        return f"for_groups<{self.lanes}>" if self.spread else "for_all"

    def for_all_emitting(self, size: str) -> str:
        """Return the head of a loop over items that each emit a vertex at most."""
        if self.spread:
            return f"for_groups<{self.lanes}>(place, {size}, [&](i64 i) {{"
        return f"for_all_emitting(place, {size}, out, degree, [&](i64 i) {{"

    @property
    def head(self) -> list[str]:
        """What a phase begins with whose functions share features."""
        return [f"constexpr u32 feature_lanes = {self.lanes};"] if self.spread else []

    # -- rendering functions

    def emitter(self) -> Emitter:
        """Return an emitter whose names are new in this program."""
        out = Emitter()
        self.names += 1000
        out._names = self.names
        return out

    def site(self, direction: str = "out", slot: str = "s", **index: str) -> Site:
        """Return a place at which the fields of the program are read."""
        site = Site(self.args, self.traits, direction, slot)
        site.constant, site.states_by_in = self.constant, self.states_by_in
        site.index.update(index)
        return site

    def slot_site(self, side: str, direction: str) -> Site:
        """Return the place of an arc that a sweep of a side has come to, by its slot.

        Where vertices are split, `p` is where the columns of the arc lie.
        """
        format_ = self.options.side(side).format
        site = self.site(direction, "p" if format_.splits else "s")
        site.layout = side if format_.own_order else ""
        return site

    def renderer(
        self, out: Emitter, site: Site, step: Step | None, live: set[str] | None = None,
        vertex: str = "v",
    ) -> BlockRenderer:  # fmt: skip
        """Return a renderer of a function at a site; by default its own live fields are live."""
        from weft.backends.cuda.codegen.adjacent import render_gather
        from weft.backends.cuda.codegen.by_key import render_by_key

        if live is None and step is not None:
            live = block_facts(step.body).live
        numbers = [n for n, known in enumerate(self.program.all_steps()) if known is step]
        deterministic = self.options.deterministic
        scope = Scope(
            site.load,
            live=live or set(),
            function=numbers[0] if numbers else 0,
            vertex=vertex,
            gather=lambda value, renderer: (
                render_by_key if value.op == "gather_by" else render_gather
            )(value, renderer, site, deterministic),
            site=site,
            lanes=self.lanes,
            spread=self.spread,
            placed=self._placed,
            emits=self.program.emits,
        )
        renderer = BlockRenderer(out, self.args, scope)
        renderer.outside = in_memory(step) if step is not None else set()
        return renderer

    def _placed(self, place: str, field: str) -> Site:
        """Return the site of a computed vertex v, one field of which is read between two sweeps."""
        from weft.backends.cuda.codegen.pairs import overlay_pairs

        site = self.site(u=place, v=place)
        site.racy = frozenset({field})
        overlay_pairs(self, site)
        return site

    def until_lines(self, held: str, goes_on: list[str], least: str) -> list[str]:
        """Return what comes after a superstep: whether `until` holds, then `held` or `goes_on`.

        Blocks that decide for themselves may see what others write after the barrier, so fields are
        looked at in a phase, by one thread.
        """
        until = self.program.until
        if until is None:
            return goes_on
        out = self.emitter()
        test = self.block_value(out, until, self.site(v="0"))
        least = f"const double least_waiting = {least};"
        if self.program.until_fields:
            body = [
                "if (place.block != 0 || thread_id() != 0) return;",
                least, "static_cast<void>(least_waiting);", *out.lines,
                f"if ({test}) atomic_add(cells + EMITTED, u64(1));",
            ]  # fmt: skip
            after = [f"if (t.cells[EMITTED] != 0) {{ {held} return; }}", *goes_on]
            return [self.phase("until", body, after)]
        return [
            "const Args& a = t.a;", "const Loop& loop = t.loop;",
            "const Scalars& scalars = t.scalars;", least,
            "static_cast<void>(a); static_cast<void>(loop); static_cast<void>(scalars);",
            "static_cast<void>(least_waiting);",
            *out.lines, f"if ({test}) {{ {held} return; }}", *goes_on,
        ]  # fmt: skip

    def block_value(self, out: Emitter, block: Block, site: Site, step: Step | None = None) -> str:
        """Render a block with one scalar result where it stands."""
        renderer = self.renderer(out, site, step, set(), vertex=site.index.get("v", "0"))
        return str(renderer.block(block)[0])

    # -- scalars
    #
    # A thread keeps a part of its own; parts meet in an accumulator, one per sweep and scalar, of
    # which there are three in turn: all phases of a sweep use the same one. In a deterministic run
    # each block leaves its part, and they are combined in order.

    def scalar_slot(self, sweep: Sweep, name: str, reduction: Reduction, dtype: Any) -> int:
        """Return the position of the accumulator of a scalar that a sweep reduces into."""
        key = (id(sweep), name)
        if key not in self.slots:
            wide = total_dtype(reduction, dtype)
            self.slots[key] = (len(self.slots), reduction, wide)
        return self.slots[key][0]

    def parts_struct(self, sweep: Sweep) -> str:
        """Return the members that hold a thread's parts of the scalars of a sweep."""
        members = []
        for name, reduction, dtype in scalar_reductions(sweep.steps):
            wide = total_dtype(reduction, dtype)
            start = literal(identity_of(reduction, wide), wide)
            members.append(f"{c_type(wide)} {identifier(name)} = {start};")
        return " ".join(members)

    def take_scalars(
        self, out: Emitter, renderer: BlockRenderer, sweep: Sweep, number: int
    ) -> None:
        """Combine what a function reduced at one item; of a fold the last function counts."""
        later = {name for name, _, _ in scalar_reductions(sweep.steps[number + 1 :])}
        for name, reduction, operand, dtype in renderer.reduced:
            if name not in later:
                wide = total_dtype(reduction, dtype)
                value = str(operand) if wide == dtype else f"{c_type(wide)}({operand})"
                text = renderer.combined(reduction, f"parts.{identifier(name)}", value, wide)
                out.line(f"{self.alone}parts.{identifier(name)} = {text};")

    def _combining(self, reduction: Reduction, dtype: Any) -> str:
        """Return a function of two parts of a scalar, as C++."""
        kind, out = c_type(dtype), self.emitter()
        renderer = self.renderer(out, self.site(), None, set(), vertex=NOWHERE)
        combined = renderer.combined(reduction, "x", "y", dtype)
        body = " ".join(line.strip() for line in out.lines)
        return f"[&]({kind} x, {kind} y) -> {kind} {{ {body} return {combined}; }}"

    def _partials(self, loop: str, slot: int) -> str:
        """Return where the blocks leave their parts of a scalar, in this phase."""
        return f"({loop}.tick % 3 * num_accumulators + {slot}) * a.most_blocks"

    def publish_scalars(self, sweep: Sweep) -> list[str]:
        """Return the end of a phase: every thread's parts meet in the accumulators."""
        lines: list[str] = []
        for name, reduction, dtype in scalar_reductions(sweep.steps):
            slot = self.scalar_slot(sweep, name, reduction, dtype)
            dtype = total_dtype(reduction, dtype)
            combine = self._combining(reduction, dtype)
            if self.options.deterministic:
                place = f"a.partials + {self._partials('loop', slot)} + place.block"
                call = f"leave_scalar(parts.{identifier(name)}, {combine}, {place});"
            else:
                place = f"a.accumulators + loop.epoch % 3 * num_accumulators + {slot}"
                native = _NATIVE.get(reduction.name) if dtype.itemsize >= 4 else None
                call = f"share_scalar(parts.{identifier(name)}, {combine}, {place}"
                call += f", {native}());" if native else ");"
            lines.append(call)
        return lines

    def total_scalars(self, sweep: Sweep) -> list[str]:
        """Return the decision that takes the reduced scalars over."""
        lines: list[str] = []
        for name, reduction, dtype in scalar_reductions(sweep.steps):
            slot = self.scalar_slot(sweep, name, reduction, dtype)
            wide = total_dtype(reduction, dtype)
            kind, held = c_type(wide), f"t.scalars.{identifier(name)}"
            rounded = "" if wide == dtype else f"static_cast<{c_type(dtype)}>"
            if not self.options.deterministic:
                place = f"t.a.accumulators + t.loop.epoch % 3 * num_accumulators + {slot}"
                lines.append(f"{held} = {rounded}(scalar_of<{kind}>(load_relaxed({place})));")
                continue
            part = f"scalar_of<{kind}>(a.partials[{self._partials('t.loop', slot)} + b])"
            lines += [
                f"{{ {kind} total = {literal(identity_of(reduction, wide), wide)};",
                "for (u32 b = 0; b < t.blocks; ++b) {",
                "    const Args& a = t.a;",
                f"    const auto combine = {self._combining(reduction, wide)};",
                f"    total = combine(total, {part});",
                "}",
                f"{held} = {rounded}(total); }}",
            ]
        return lines

    def clear_scalars(self) -> list[str]:
        """Return what sets the accumulators of a coming phase to the identities."""
        lines = []
        for slot, reduction, dtype in self.slots.values():
            start = f"static_cast<{c_type(dtype)}>({literal(identity_of(reduction, dtype), dtype)})"
            place = f"a.accumulators[(loop.epoch + 1) % 3 * num_accumulators + {slot}]"
            lines.append(f"{place} = bits_of_scalar({start});")
        return lines
