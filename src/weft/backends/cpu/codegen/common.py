"""Reductions over common neighbours as Numba statements."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace

from weft.backends.cpu.codegen.adjacent import Accumulator
from weft.backends.cpu.codegen.blocks import BlockRenderer, Operand
from weft.backends.cpu.codegen.emits import filled_after
from weft.backends.cpu.codegen.expressions import cast, elementwise
from weft.backends.cpu.codegen.site import Site
from weft.backends.cpu.codegen.text import Emitter
from weft.backends.emit.gathers import handed_out, split
from weft.ir.check.facts import arcs_of_common, emits_plainly, only_emits, sends_alike
from weft.ir.ops import INT64, Value
from weft.topology.row_bits import BLOCK_COST, BLOCK_WORDS, FIELDS

MUCH_LONGER = 32  # times as long: a search in the row costs less than a walk along it


@dataclass
class _Head:
    """Names of where the bits of a head lie, and where the marks that they are compared with do."""

    words: str
    word: str
    mark: str
    blocks: str
    covered: str  # how many slots of the row it stands for


@dataclass
class _Rows:
    """Names of what a walk along two rows uses."""

    a: str
    b: str
    offsets: str
    targets: str
    marker: str
    low: str  # the slots of b
    high: str
    searched: str  # whether the row of a is walked and that of b searched
    slot: str
    w: str
    last: str
    head: _Head | None = None  # of b, if rows have heads


def render_common(renderer: BlockRenderer, value: Value) -> list[Operand]:
    """Render a reduction over common neighbours by a marker that stays with the row of a.

    If the arcs of a are needed, their slots are stored with the marks, so a hit costs one more
    load. A row of b that is much longer than that of a is searched instead. The head of b's row, if
    it has one, is compared with the marks word by word, unless the arcs of b are needed: bits do
    not give their slots, and searching for each takes longer than the walk.
    """
    out, args = renderer.out, renderer.args
    asked = arcs_of_common(value)
    rows = _open_rows(renderer, value)
    offsets, a, b = rows.offsets, rows.a, rows.b
    with out.block(f"if not {rows.searched} and marked != {a}:"):
        out.line(
            f"mark_row({rows.marker}, marker_base, {offsets}, {rows.targets}, marked, {a}, "
            "np.uint64(n))"
        )
        out.line(f"marked = {a}")
    slots = ""
    if "ea" in asked:
        slots = args.use("marker_slots")
        with out.block(f"if not {rows.searched} and placed != {a}:"):
            out.line(f"place_row({slots}, slots_base, {offsets}, {rows.targets}, {a})")
            out.line(f"placed = {a}")
    accumulators = [Accumulator(renderer, *each) for each in split(value.attr, value.results)]
    ends = [reduction.name for reduction, _, _ in value.attr] == ["any"]
    out.line(f"{rows.last} = np.uint64(n)")
    counted = rows.head is not None and sends_alike(value)
    if counted:
        _count_head(renderer, value, rows, accumulators[0])
    writes = renderer.scope.emits == "write" and only_emits(value)
    plain = writes and emits_plainly(value)
    every = plain and rows.head is None
    walked = filled_after(_nested(renderer, renderer.scope.site), value) if plain else nullcontext()
    bits = rows.head is not None and not counted
    with walked as known, _hits(out, rows, bits=bits, every=every) as hit:
        slot, low, searched, w = rows.slot, rows.low, rows.searched, rows.w
        site = renderer.scope.site
        found = {}
        if "eb" in asked:
            near = renderer.variable(f"{low} if {searched} else np.uint64({slot})", "p")
            found["eb"] = _arc(site, b, near)
        if slots:
            kept = f"np.uint64({slots}[slots_base + {w}])"
            near = renderer.variable(f"np.uint64({slot}) if {searched} else {kept}", "p")
            found["ea"] = _arc(site, a, near)
        index = {**site.index, "w": w}
        nested = _nested(known or renderer, replace(site, index=index, found=found))
        nested.scope.taken = hit if every else ""
        if writes:
            with out.block("if emitted == emit_end:"):
                out.line("break")
        _take(nested, value, accumulators, ends)
    for accumulator in accumulators:
        accumulator.renderer = renderer
        accumulator.end_row()
    return [part for accumulator in accumulators for part in accumulator.parts]


def _open_rows(renderer: BlockRenderer, value: Value) -> _Rows:
    """Find the two rows, and which one is walked."""
    out, args = renderer.out, renderer.args
    a, b = (renderer.checked(arg) for arg in value.args)
    offsets, targets = args.use("offsets", "out"), args.use("targets", "out")
    marker = args.use("marker")
    slot, w, last = (out.fresh(letter) for letter in "swl")
    searched, low, high = (out.fresh(name) for name in ("far", "low", "high"))
    out.line(f"{low}, {high} = np.uint64({offsets}[{b}]), np.uint64({offsets}[{b} + ONE])")
    length, head = f"{high} - {low}", None
    if args.row_bits and "eb" not in arcs_of_common(value):
        head = _open_head(renderer, b)
        length = f"{length} - {head.covered} + np.uint64({BLOCK_COST}) * {head.blocks}"
    own = f"np.uint64({offsets}[{a} + ONE] - {offsets}[{a}])"
    out.line(f"{searched} = {length} > np.uint64({MUCH_LONGER}) * {own}")
    return _Rows(a, b, offsets, targets, marker, low, high, searched, slot, w, last, head)


def _open_head(renderer: BlockRenderer, b: str) -> _Head:
    """Read where the head of b lies."""
    out, args = renderer.out, renderer.args
    table, place = args.use("row_bits"), out.fresh("head")
    names = [out.fresh(name) for name in ("word", "mark", "blocks", "covered")]
    out.line(f"{place} = np.uint64({b}) * np.uint64({FIELDS})")
    for position, (name, unit) in enumerate(
        zip(names, (BLOCK_WORDS, BLOCK_WORDS, 1, 1), strict=True)
    ):
        scale = f" * np.uint64({unit})" if unit > 1 else ""
        out.line(f"{name} = np.uint64({table}[{place} + np.uint64({position})]){scale}")
    return _Head(args.use("row_words"), *names)


def _count_head(
    renderer: BlockRenderer, value: Value, rows: _Rows, accumulator: Accumulator
) -> None:
    """Add as many messages as the head of b shares bits with the marks."""
    out, head = renderer.out, rows.head
    assert head is not None
    with out.block(f"if not {rows.searched} and {head.blocks} != np.uint64(0):"):
        nested = _nested(renderer, renderer.scope.site)
        (message,) = nested.block(value.blocks[0])
        marks = f"{rows.marker}, marker_base + {head.mark}"
        count = f"common_bits({marks}, {head.words}, {head.word}, {head.blocks})"
        ((dtype, _),) = accumulator.kinds
        sent = elementwise("mul", [str(message), cast(count, INT64, dtype)], dtype, dtype)
        accumulator.renderer = nested
        accumulator.take([sent])


@contextmanager
def _hits(out: Emitter, rows: _Rows, *, bits: bool, every: bool) -> Iterator[str]:
    """Open a loop over common neighbours in ascending order.

    With `bits` those of a head come from its words, and their slots are not known. Else the head
    has been taken, or there is none. With `every` the loop stops at all targets, and the variable
    that is returned tells which are common: no branch depends on it.
    """
    head, w = rows.head, rows.w
    walked, hit, begin = (out.fresh(name) for name in ("row", "h", "begin"))
    out.line(f"{walked} = {rows.a} if {rows.searched} else {rows.b}")
    out.line(f"{begin} = np.uint64({rows.offsets}[{walked}])")
    if head is not None:
        with out.block(f"if not {rows.searched}:"):
            out.line(f"{begin} += {head.covered}")
    end = f"{rows.offsets}[{walked} + ONE]"
    if not bits:
        with out.block(f"for {rows.slot} in range({begin}, {end}):"):
            _look(out, rows, hit)
            with out.block("if True:" if every else f"if {hit}:"):
                yield hit
        return
    assert head is not None
    word, found = out.fresh("k"), out.fresh("bits")
    out.line(f"{word}, {found} = np.uint64(0), np.uint64(0)")
    out.line(f"{rows.slot}, {walked} = {begin}, np.uint64({end})")
    many = f"(np.uint64(0) if {rows.searched} else {head.blocks} * np.uint64({BLOCK_WORDS}))"
    out.line(f"{hit}_words = {many}")
    with out.block("while True:"):
        with out.block(f"while {found} == np.uint64(0) and {word} < {hit}_words:"):
            marks = f"{rows.marker}[marker_base + {head.mark} + {word}]"
            out.line(f"{found} = {marks} & {head.words}[{head.word} + {word}]")
            out.line(f"{word} += ONE")
        with out.block(f"if {found} != np.uint64(0):"):
            block = f"(({head.mark} + {word} - ONE) << np.uint64(6))"
            out.line(f"{w} = {block} + np.uint64(ctz({found}))")
            out.line(f"{found} &= {found} - ONE")
        with out.block("else:"):
            with out.block(f"if {begin} >= {walked}:"):
                out.line("break")
            out.line(f"{rows.slot} = {begin}")
            out.line(f"{begin} += ONE")
            _look(out, rows, hit)
            with out.block(f"if not {hit}:"):
                out.line("continue")
        yield hit


def _look(out: Emitter, rows: _Rows, hit: str) -> None:
    """Look at one slot of the walked row."""
    low, high, w, targets = rows.low, rows.high, rows.w, rows.targets
    out.line(f"{w} = np.uint64({targets}[{rows.slot}])")
    with out.block(f"if {rows.searched}:"):
        out.line(f"{low} = first_from({targets}, {low}, {high}, {w})")
        same = f"{low} < {high} and np.uint64({targets}[{low}]) == {w}"
        out.line(f"{hit} = {w} != {rows.last} and {same}")
    with out.block("else:"):
        out.line(f"{hit} = is_marked({rows.marker}, marker_base, {w}) & ({w} != {rows.last})")
    out.line(f"{rows.last} = {w}")


def _arc(site: Site, row: str, slot: str) -> Site:
    """Return the place of an arc from a computed vertex."""
    index = {**site.index, "u": row}
    return replace(site, direction="out", slot=slot, index=index, known={}, layout="", turned=False)


def _nested(renderer: BlockRenderer, site: Site) -> BlockRenderer:
    """Return a renderer of the block at one common neighbour."""
    outer = renderer.scope
    scope = outer.at(site)
    nested = BlockRenderer(renderer.out, renderer.args, renderer.scratch, scope)
    nested.known = dict(renderer.known)
    nested.parts = renderer.parts
    return nested


def _take(nested: BlockRenderer, value: Value, accumulators: list[Accumulator], ends: bool) -> None:
    """Combine the messages of one common neighbour."""
    out = nested.out
    results = nested.block(value.blocks[0])
    for accumulator, messages in handed_out(nested, results, value.attr, accumulators):
        accumulator.take(messages)
        if ends:
            out.line("break")
        elif len(accumulators) == 1:
            accumulator.end_early()
