"""Gathers by key in phases of their own: threads, warps and blocks take rows that suit them.

The results lie in arrays by place in the frontier when the functions run. That needs messages which
can be computed before the function begins; other gathers by key are part of it (`by_key`). The mode
of integers is a gather by key as well: sums of weights, of which the greatest wins.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from weft.backends.cuda.codegen.adjacent import Accumulator
from weft.backends.cuda.codegen.blocks import LEAVES, BlockRenderer, Operand, cast_loaded, stored
from weft.backends.cuda.codegen.by_key import Choice
from weft.backends.cuda.codegen.expressions import bare, literal
from weft.backends.cuda.codegen.machine import NOWHERE, Kernel
from weft.backends.cuda.codegen.pairs import overlay_pairs
from weft.backends.cuda.codegen.site import Site
from weft.backends.cuda.codegen.text import Emitter, bytes_of_type, c_type, stored_type
from weft.backends.emit.gathers import handed_out
from weft.ir.check.facts import key_is_vertex
from weft.ir.ops import EFFECT, Block, Reduction, Step, Value, identity_of, neutral_of
from weft.plan.sweeps import Sweep

_UPDATES = {"sum": "at_add", "min": "at_min", "max": "at_max", "or": "at_or", "and": "at_and"}
_OF_TRUTH = {"sum": "at_or", "max": "at_or", "min": "at_and", "prod": "at_and"}
TOTAL = Reduction("sum")
COUNT = np.dtype(np.uint32)  # of the arcs of a row
TABLES = ("by_words", "by_values", "by_tables", "by_places")
_GATHERS = {"gather", "gather_by"}  # that no other one may wait for
ALIGN = 16  # bytes of a partial result in shared memory, see by_key.cuh


@dataclass
class Keyed:
    """A gather by key: what an arc brings, and who takes the entries."""

    value: Value
    directions: tuple[str, ...]
    hops: int
    reduction: Reduction
    key: Any  # dtypes
    held: Any
    places: tuple[int, int, int]  # of key, value, condition among an arc's results; -1 for none
    takers: list[tuple[Reduction, int, bool]]  # of entries, as in the attributes of a gather
    kinds: list[tuple[Any, Any]]
    entry: Block | None  # None: the entry with the greatest value wins
    vertices: bool = False  # keys are ids of vertices: a row has as many at most

    @property
    def room(self) -> tuple[str, int, bool]:
        """The bounds of a row's entries: the arcs of a path, and whether n is one."""
        direction = "both" if len(self.directions) == 2 else self.directions[0]
        return direction, self.hops, self.vertices


def by_teams(kernel: Kernel, sweep: Sweep) -> list[Value]:
    """Return the gathers by key of a sweep that phases of their own can make."""
    if sweep.facts.live_written:
        return []
    body = sweep.steps[0].body
    return [
        value
        for value in body.body
        if keyed_gathers(value)
        and needed_before(value, body.body) is not None
        and (not _records(value) or _records(value) == _records(body))
    ]


def needed_before(gather: Value, body: list[Value]) -> list[Value] | None:
    """Return the values outside a gather that its blocks use; None if they cannot come first.

    Nothing writes live fields in that phase, so reading them earlier makes no difference.
    """
    inside = {id(v) for block in gather.blocks for v in (*block.walk(), *_params(block))}
    wanted: set[int] = set()

    def want(value: Value) -> bool:
        if id(value) in inside or id(value) in wanted or value.op in LEAVES:
            return True
        within = [inner for block in value.blocks for inner in block.walk()]
        if any(v.op in EFFECT | _GATHERS for v in (value, *within)):
            return False
        wanted.add(id(value))
        own = {id(v) for block in value.blocks for v in (*block.walk(), *_params(block))}
        used = [*value.args, *(v for block in value.blocks for v in _used(block))]
        return all(id(v) in own or want(v) for v in used)

    if not all(want(v) for block in gather.blocks for v in _used(block)):
        return None
    return [v for v in body if id(v) in wanted]


def _params(block: Block) -> list[Value]:
    """Return the parameters of a block and of those within."""
    nested = [inner for value in block.walk() for inner in value.blocks]
    return [param for held in (block, *nested) for param in held.params]


def _used(block: Block) -> list[Value]:
    """Return the values used by a block and its inner blocks."""
    nested = [inner for value in block.walk() for inner in value.blocks]
    results = [result for held in (block, *nested) for result in held.results]
    return [*(arg for value in block.walk() for arg in value.args), *results]


def _records(emitter: Value | Block) -> int:
    """Return how often records are emitted in the text of a function, or of a gather in it."""
    blocks = emitter.blocks if isinstance(emitter, Value) else (emitter,)
    return sum(value.op == "emit" for block in blocks for value in block.walk())


def keyed_gathers(value: Value) -> list[Keyed]:
    """Return the gathers by key that a value is made of; none where it must be made in place."""
    if value.op == "gather_by":
        direction, hops, reduction, conditional, groups = value.attr
        key, held = (result.dtype for result in value.blocks[0].results[:2])
        keyed = Keyed(
            value, _ways(direction), hops, reduction, key, held, (0, 1, 2 if conditional else -1),
            list(groups), list(value.results), value.blocks[1], key_is_vertex(value),
        )  # fmt: skip
        return [keyed]
    if value.op != "gather" or any(r.name != "mode" for r, _, _ in value.attr[1]):
        return []
    direction, groups = value.attr
    found, first, left = [], 0, list(value.results)
    for reduction, count, conditional in groups:
        own, left = left[:count], left[count:]
        key, held = own[0][0], own[1][0] if count == 2 else COUNT
        if key.kind == "f":
            return []  # -0.0 is as good as 0.0, but tells which came first
        places = (first, first + 1 if count == 2 else -1, first + count if conditional else -1)
        first += count + conditional
        found.append(
            Keyed(value, _ways(direction), 1, TOTAL, key, held, places,
                  [(reduction, count, False)], own, None)
        )  # fmt: skip
    return found


def _ways(direction: str) -> tuple[str, ...]:
    return ("in", "out") if direction == "both" else (direction,)


def _shows_order(reduction: Reduction, dtype: Any) -> bool:
    """Whether the order in which values combine can be seen."""
    return reduction.name == "user" or (dtype.kind == "f" and reduction.name in ("sum", "prod"))


# -- phases


@dataclass
class Results:
    """The storage of results of gathers by key, and the access to those of place i."""

    gathers: list[tuple[str, Keyed, list[str]]]  # a name, what it is, its arrays
    lines: list[str]
    names: dict[int, list[str]]  # the variables of each value


def team_results(kernel: Kernel, sweep: Sweep, k: int) -> Results:
    """Return the storage of the results of gathers by key."""
    values, body = by_teams(kernel, sweep), sweep.steps[0].body
    found = Results([], [], {})
    if any(_records(value) for value in values):  # nothing is left for the function to emit
        found.names |= {id(v): [] for v in body.walk() if v.op in ("emit_begin", "emit_end")}
    for value in values:
        names = found.names[id(value)] = []
        for keyed in keyed_gathers(value):
            name = f"{k}_{len(found.gathers)}"
            arrays: list[str] = []
            for dtype, _ in keyed.kinds:
                array = kernel.args.use("by_result", f"{name}_{len(arrays)}", dtype)
                held = f"by_{name}_{len(arrays)}"
                text = cast_loaded(f"{array}[i]", dtype)
                found.lines.append(f"const {c_type(dtype)} {held} = {text};")
                names.append(held)
                arrays.append(array)
            found.gathers.append((name, keyed, arrays))
    return found


def team_phases(kernel: Kernel, sweep: Sweep, results: Results, then: str) -> str:
    """Add the phases that gather by key before `then`; return the statement that starts them."""
    for name, keyed, arrays in results.gathers:
        then = _phases(kernel, Operations(kernel, sweep, keyed, name, arrays), then)
    return then


def _phases(kernel: Kernel, ops: Operations, then: str) -> str:
    """Add the phases of one gather by key; return the statement that starts them."""
    use, keyed, name = kernel.args.use, ops.keyed, ops.name
    kernel.pieces.append(ops.text())
    kernel.table_bytes = max(kernel.table_bytes, ops.partial_bytes)
    head = f"const ByKey{name} ops{{a, loop, scalars}};"
    rows, again = use("by_rows"), f"{use('by_rows')} + a.n"
    kinds = keyed.key, keyed.held
    tables = [use(what, *kinds, *keyed.room) for what in TABLES]
    longest = f"gather_longest(place, ops, {again}, {', '.join(tables)});"
    longest = kernel.phase(f"by_key_longest_{name}", [head, longest], [then])
    long = f"gather_long(place, ops, {rows}, {again});"
    after = f"if (t.cells[SCHEDULE + 2] != 0) {{ {longest} }} else {{ {then} }}"
    long = kernel.phase(f"by_key_long_{name}", [head, long], [after])
    short = f"gather_rows(place, loop.size, ops, {rows});"
    after = f"if (t.cells[SCHEDULE] != 0) {{ {long} }} else {{ {then} }}"
    return kernel.phase(f"by_key_{name}", [head, short], [after])


# -- operations


class Operations:
    """The class of a gather by key with what `by_key.cuh` wants to know of it."""

    def __init__(
        self, kernel: Kernel, sweep: Sweep, keyed: Keyed, name: str, arrays: list[str]
    ) -> None:
        self.kernel, self.sweep, self.keyed, self.name = kernel, sweep, keyed, name
        self.arrays = arrays
        self.step: Step = sweep.steps[0]
        self.live = sweep.live_in(0)
        self.site = self._site()
        self.emits = kernel.program.emits if _records(keyed.value) else ""
        self.takers = self._takers()
        members = [member for taker in self.takers for member in taker.members()]
        if self.emits == "count":
            members.append(("i64", "records", "0"))
        self.members = members
        size = sum(bytes_of_type(kind) for kind, _, _ in members)
        self.partial_bytes = -(-max(1, size) // ALIGN) * ALIGN

    def _site(self) -> Site:
        """Return the place of a vertex whose function has not begun."""
        sweep, site = self.sweep, self.kernel.site()
        site.racy = frozenset(sweep.facts.live)
        site.snapshots = frozenset(sweep.snapshots - self.live)
        site.old_snapshots = frozenset(sweep.old_snapshots)
        overlay_pairs(self.kernel, site)
        return replace(site, frozen=frozenset(sweep.frozen[0]), owned=True)

    def _renderer(self, out: Emitter) -> BlockRenderer:
        return self.kernel.renderer(out, self.site, self.step, self.live)

    def _begun(self) -> BlockRenderer:
        """Return a renderer that has computed what the blocks use of the function."""
        renderer = self._renderer(self.kernel.emitter())
        body = self.step.body
        renderer.prepare(body)
        renderer.run(needed_before(self.keyed.value, body.body) or [])
        return renderer

    def _takers(self) -> list[Taker]:
        """Return the running results of the entries."""
        takers: list[Taker] = []
        kinds, first = list(self.keyed.kinds), 0
        renderer = self._renderer(self.kernel.emitter())
        for reduction, count, _ in self.keyed.takers:
            own, kinds = kinds[:count], kinds[count:]
            if reduction.name == "mode":
                takers.append(Heaviest(renderer, own, self.keyed, first))
            elif reduction.selecting:
                takers.append(Choice(renderer, reduction, own, self.keyed.key, first))
            else:
                prefix = "partial."
                takers.append(Accumulator(renderer, reduction, own, prefix=prefix, first=first))
            first += count
        return takers

    def text(self) -> str:
        """Return the class."""
        key, held = c_type(self.keyed.key), self.keyed.held
        key = stored_type(self.keyed.key)
        kind = stored_type(held)
        neutral = literal(neutral_of(self.keyed.reduction, held), held)
        members = " ".join(f"{kind} {name};" for kind, name, _ in self.members)
        start = ", ".join(text for _, _, text in self.members)
        fixed = self.kernel.options.deterministic
        in_order = fixed and _shows_order(self.keyed.reduction, held)
        sorts, first = self.emits == "write", 0
        for reduction, count, _ in self.keyed.takers:
            sorts = sorts or (fixed and _shows_order(reduction, self.keyed.kinds[first][0]))
            first += count
        return f"""struct ByKey{self.name} {{
    const Args& a;
    const Loop& loop;
    const Scalars& scalars;
    using Key = {key};
    using Stored = {kind};
    struct Partial {{ {members} }};
    static constexpr u32 partial_bytes = {self.partial_bytes};
    static_assert(sizeof(Partial) <= partial_bytes, "as the host counted");
    static constexpr bool in_order = {str(in_order).lower()};
    static constexpr bool counts = {str(self._counts()).lower()};
    static constexpr bool sorts = {str(sorts).lower()};
    static constexpr bool writes = {str(self.emits == "write").lower()};
    WEFT_DEVICE i64 vertex(i64 i) const {{ return entered_vertex(a, loop, i); }}
    WEFT_DEVICE i64 length(i64 v) const {{ return {self._length()}; }}
    WEFT_DEVICE Stored neutral() const {{ return Stored({neutral}); }}
    WEFT_DEVICE Stored combine(Stored x, Stored y) const {{
{_indented(self._combine())}    }}
    WEFT_DEVICE void update(Stored* values, i64 at, Stored x) const {{
        {self._update()}
    }}
    template <class Table>
    WEFT_DEVICE void walk(i64 v, Table& table) const {{
{_indented(self._walk())}    }}
{self._ending(start)}}};
"""

    def _ending(self, start: str) -> str:
        """Return the consumer of the entries."""
        if self.emits == "write":
            return f"""    template <class Table>
    WEFT_DEVICE void write(i64 v, const Table& table) const {{
{_indented(self._write())}    }}
"""
        return f"""    template <class Table>
    WEFT_DEVICE Partial consume(i64 v, const Table& table, i64 first, i64 step) const {{
        Partial partial{{{start}}};
{_indented(self._consume())}        return partial;
    }}
    WEFT_DEVICE void merge(Partial& partial, const Partial& other) const {{
{_indented(self._merge())}    }}
    WEFT_DEVICE void close(i64 i, Partial& partial) const {{
{_indented(self._close())}    }}
"""

    def _counts(self) -> bool:
        """Whether every arc brings 1, and values are sums."""
        keyed, place = self.keyed, self.keyed.places[1]
        if keyed.reduction.name != "sum" or keyed.held.kind not in "iu":
            return False
        message = keyed.value.blocks[0].results[place]
        return place < 0 or (message.op == "const" and message.attr == 1)

    def _length(self) -> str:
        use, keyed = self.kernel.args.use, self.keyed
        if keyed.hops == 2:
            names = [use("path_offsets", keyed.directions[0])]
        else:
            names = [use("offsets", way) for way in keyed.directions]
        arcs = " + ".join(f"row_end({name}, v) - row_begin({name}, v)" for name in names)
        return f"minimum({arcs}, a.n)" if keyed.vertices else arcs

    def _combine(self) -> list[str]:
        out, held = self.kernel.emitter(), self.keyed.held
        x, y = (cast_loaded(name, held) for name in "xy")
        text = self._renderer(out).combined(self.keyed.reduction, x, y, held)
        out.line(f"return Stored({bare(text)});")
        return out.lines

    def _update(self) -> str:
        name, held = self.keyed.reduction.name, self.keyed.held
        call = (_OF_TRUTH if held.kind == "b" else {}).get(name) or _UPDATES.get(name)
        if call:
            return f"{call}(values, at, x);"
        return "combine_at(values, at, x, [&](Stored p, Stored q) { return combine(p, q); });"

    # -- what arcs bring

    def _walk(self) -> list[str]:
        renderer = self._begun()
        out, use = renderer.out, self.kernel.args.use
        for way in self.keyed.directions:
            offsets, targets = use("offsets", way), use("targets", way)
            known = {key: op for key, op in self.site.known.items() if key[1:2] == ("v",)}
            far = out.fresh("u")
            if self.keyed.hops == 1:
                first = "table.rank() * batch * width"
                with self._lanes(out, offsets, "v", first, "table.ranks()") as slot:
                    out.line(f"const i64 {far} = i64(load_constant({targets} + {slot}));")
                    out.line(f"static_cast<void>({far});")
                    here = replace(
                        self.site, direction=way, slot=slot, layout="", known=known,
                        index={**self.site.index, "u": far}, turned=way == "out",
                    )  # fmt: skip
                    self._bring(renderer.inner(here))
                continue
            slot, end = out.fresh("s"), out.fresh("e")
            out.line(f"const i64 {end} = row_end({offsets}, v);")
            head = f"for (i64 {slot} = row_begin({offsets}, v) + table.rank(); {slot} < {end}; "
            with out.block(f"{head}{slot} += table.ranks())"):
                out.line(f"const i64 {far} = i64(load_constant({targets} + {slot}));")
                here = replace(
                    self.site, direction=way, slot=slot, layout="", known=known,
                    index={**self.site.index, "u": far}, turned=way == "out",
                )  # fmt: skip
                with self._lanes(out, offsets, far, "0", "1") as second:
                    last = out.fresh("w")
                    out.line(f"const i64 {last} = i64(load_constant({targets} + {second}));")
                    out.line(f"static_cast<void>({last});")
                    eb = replace(here, slot=second, known={}, found={})
                    site = replace(here, index={**here.index, "w": last}, found={"eb": eb})
                    self._bring(renderer.inner(site))
        sizes = "constexpr u32 width = Table::width, batch = Table::batch;"
        return [sizes, *out.lines]

    @contextmanager
    def _lanes(self, out: Emitter, offsets: str, row: str, first: str, ranks: str) -> Iterator[str]:
        """Render a loop over a row in which all lanes go on in step, and put in what each has.

        A lane has several arcs under way, so that it waits for their loads together.
        """
        begin, slot, end = out.fresh("b"), out.fresh("s"), out.fresh("e")
        out.line(f"const i64 {end} = row_end({offsets}, {row});")
        head = f"for (i64 {begin} = row_begin({offsets}, {row}) + {first}; "
        head += f"{begin} < {end} && table.goes_on(); {begin} += batch * width * {ranks})"
        with out.block(head):
            out.line("bool brings[batch];")
            out.line("Key key[batch];")
            out.line("Stored brought[batch];")
            out.line("WEFT_UNROLL(batch)")
            with out.block("for (u32 b = 0; b < batch; ++b)"):
                out.line(f"const i64 {slot} = {begin} + b * width + table.lane();")
                out.line("brings[b] = false;")
                out.line("key[b] = Key{};")
                out.line("brought[b] = Stored{};")
                with out.block(f"if ({slot} < {end})"):
                    yield slot
            out.line("WEFT_UNROLL(batch)")
            out.line("for (u32 b = 0; b < batch; ++b) {")
            out.line("    table.add(*this, brings[b], key[b], brought[b]);")
            out.line("}")

    def _bring(self, renderer: BlockRenderer) -> None:
        """Render what an arc brings."""
        keyed, out = self.keyed, renderer.out
        results = renderer.block(keyed.value.blocks[0])
        key, value, condition = keyed.places
        with ExitStack() as stack:
            if condition >= 0:
                stack.enter_context(out.block(f"if ({bare(results[condition])})"))
            out.line(f"key[b] = {stored(bare(results[key]), keyed.key)};")
            text = "1" if value < 0 else stored(bare(results[value]), keyed.held)
            out.line(f"brought[b] = {text};")
            out.line("brings[b] = true;")

    # -- what becomes of entries

    def _consume(self) -> list[str]:
        renderer = self._begun()
        out, keyed = renderer.out, self.keyed
        with out.block("for (i64 at = first; at < table.places(); at += step)"):
            out.line("if (!table.has(at)) continue;")
            nested = renderer.inner(self.site)
            if self.emits:
                out.line("i64 emitted = 0;")
            results, key, held = self._entry(nested)
            if self.emits:
                out.line("partial.records += emitted;")
            for taker, messages in handed_out(nested, results, keyed.takers, self.takers):
                if isinstance(taker, Accumulator):
                    taker.take(messages)
                else:
                    taker.take(messages, key, held)
        return out.lines

    def _entry(self, nested: BlockRenderer) -> tuple[list[Operand], Operand, Operand]:
        """Render the function of an entry; return its results, and key and value of the entry."""
        keyed = self.keyed
        key = nested.variable(cast_loaded("table.key(at)", keyed.key), keyed.key, "k")
        held = nested.variable(cast_loaded("table.value(at)", keyed.held), keyed.held, "m")
        if keyed.entry is None:
            return [key, held], key, held
        nested.known[id(keyed.entry.params[0])] = key
        nested.known[id(keyed.entry.params[1])] = held
        return nested.block(keyed.entry), key, held

    def _write(self) -> list[str]:
        """Count the records of as many entries as there are lanes, then write them."""
        renderer = self._begun()
        out = renderer.out
        out.line(f"i64 next = {self.kernel.args.use('emit_places')}[v];")
        with out.block("for (i64 first = 0; first < table.places(); first += Table::width)"):
            out.line("const i64 at = first + table.lane();")
            out.line("i64 emitted = 0, all = 0;")
            for emits in ("count", "write"):
                with out.block("if (at < table.places())"):
                    nested = renderer.inner(self.site)
                    nested.scope.emits = emits
                    self._entry(nested)
                if emits == "count":
                    out.line("emitted = next + records_before(table, emitted, &all);")
            out.line("next += all;")
        return out.lines

    def _merge(self) -> list[str]:
        out = self.kernel.emitter()
        if self.emits:
            out.line("partial.records += other.records;")
        for taker in self.takers:
            taker.renderer = self.kernel.renderer(out, self.site, self.step, set(), vertex=NOWHERE)
            taker.merge("other.")
        return out.lines

    def _close(self) -> list[str]:
        out = self.kernel.emitter()
        parts: list[Operand] = []
        for taker in self.takers:
            taker.renderer = self._renderer(out)
            taker.end_row()
            parts += taker.parts
        if self.emits:
            out.line(f"{self.kernel.args.use('emit_places')}[vertex(i)] = partial.records;")
        for array, part, (dtype, _) in zip(self.arrays, parts, self.keyed.kinds, strict=True):
            out.line(f"{array}[i] = {stored(bare(part), dtype)};")
        return out.lines


class Heaviest:
    """The key of the greatest value so far, the smallest on ties; a value of NaN is the least."""

    def __init__(
        self, renderer: BlockRenderer, kinds: list[tuple[Any, Any]], keyed: Keyed, first: int
    ) -> None:
        self.renderer, self.keyed = renderer, keyed
        self.names = (f"p{first}", f"total{first}", f"got{first}")
        self.wanted = len(kinds)

    def members(self) -> list[tuple[str, str, str]]:
        """Return C++ type, name and initial value of every variable."""
        key, total, got = self.names
        start = literal(identity_of(Reduction("mode"), self.keyed.key), self.keyed.key)
        held = self.keyed.held
        return [
            (c_type(self.keyed.key), key, start),
            (c_type(held), total, literal(0, held)),
            ("bool", got, "false"),
        ]

    @property
    def parts(self) -> list[Operand]:
        """The variables of the results."""
        return [f"partial.{name}" for name in self.names[: self.wanted]]

    def take(self, messages: list[Operand], key: Operand, held: Operand) -> None:
        """Take an entry if it is better."""
        self._take(key, held, "")

    def merge(self, other: str) -> None:
        """Take another partial result if it is better."""
        key, total, got = (other + name for name in self.names)
        self._take(key, total, f"{got} && ")

    def end_row(self) -> None:
        """A choice is complete as it is."""

    def _take(self, key: Operand, total: Operand, there: str) -> None:
        best, most, got = (f"partial.{name}" for name in self.names)
        better, level = f"{total} > {most}", f"{total} == {most}"
        if self.keyed.held.kind == "f":
            better = f"{better} || ({most} != {most} && {total} == {total})"
            level = f"({level} || ({most} != {most} && {total} != {total}))"
        test = f"!{got} || {better} || ({level} && {key} < {best})"
        with self.renderer.out.block(f"if ({there}({test}))"):
            for name, text in ((best, key), (most, total), (got, "true")):
                self.renderer.out.line(f"{name} = {text};")


Taker = Accumulator | Choice | Heaviest


def _indented(lines: list[str]) -> str:
    return "".join(f"        {line}\n" for line in lines)
