"""The arcs of a vertex in the parts of a format, as loops of generated code.

A thread takes the vertices that it is given as a whole, whatever the format: it looks up their rows
in all parts, and walks the slots of each. So what is gathered needs no atomics, and a format that
cuts rows into tiles has no effect on the order in which vertices come.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from weft.backends.cpu.codegen.text import Arguments, Emitter


def refusal(format_: Any) -> str:
    """Return why a format is not possible on a CPU, or an empty string."""
    if is_plain(format_) or all(kind.loops for kind in format_.kinds):
        return ""
    return "it does not say how a CPU reads it"


def is_plain(format_: Any) -> bool:
    """Whether the slots of a format are those of the adjacency, row by row."""
    return format_ is None or not format_.splits


class ArcNames(NamedTuple):
    """The names of the vertex, the slot and the other end in a loop over arcs."""

    vertex: str
    slot: str
    far: str


@contextmanager
def arcs_of(
    out: Emitter, args: Arguments, format_: Any, side: str, way: str, called: ArcNames
) -> Iterator[str]:
    """Open a loop over the arcs of a vertex; gives the place of their columns.

    A `break` in it ends the walk. `side` is whose format it is.
    """
    vertex, slot, far = called
    if is_plain(format_):
        offsets, targets = args.use("offsets", way), args.use("targets", way)
        with out.block(f"for {slot} in range({offsets}[{vertex}], {offsets}[{vertex} + ONE]):"):
            out.line(f"{far} = np.uint64({targets}[{slot}])")
            yield slot
        return
    kinds = [kind for kind in format_.kinds for _ in range(kind.copies)]
    item, row, part, place, first, end = (out.fresh(letter) for letter in "irapfe")
    names = {"v": vertex, "r": row, "s": slot, "p": place}

    def said(position: int, what: str) -> str:
        return _answer(args, kinds[position], side, way, position, what, names)

    starts, rows = (args.use("part_rows", side, way, name) for name in ("starts", "rows"))
    with out.block(f"for {item} in range({starts}[{vertex}], {starts}[{vertex} + ONE]):"):
        out.line(f"{row} = {rows}[{item}]")
        if len(kinds) > 1:
            out.line(f"{part} = {args.use('part_rows', side, way, 'parts')}[{item}]")
        for position in _each(out, part, len(kinds)):
            out.line(f"{first} = {said(position, 'begin')}")
            out.line(f"{end} = {said(position, 'end')}")
        with out.block(f"for {slot} in range({first}, {end}):"):
            for position in _each(out, part, len(kinds)):
                if dict(kinds[position].loops).get("valid"):
                    with out.block(f"if not ({said(position, 'valid')}):"):
                        out.line("continue")
                out.line(f"{place} = {said(position, 'place')}")
                out.line(f"{far} = np.uint64({said(position, 'target')})")
            yield place
        with out.block("else:"):
            out.line("continue")
        out.line("break")


def _each(out: Emitter, part: str, count: int) -> Iterator[int]:
    """Open a branch for each part in turn, if there are several."""
    for position in range(count):
        with ExitStack() as stack:
            if count > 1:
                head = "if" if position == 0 else "elif"
                test = f"{head} {part} == {position}:" if position < count - 1 else "else:"
                stack.enter_context(out.block(test))
            yield position


def _answer(
    args: Arguments, kind: Any, side: str, way: str, position: int, what: str,
    names: dict[str, str],
) -> str:  # fmt: skip
    """Return the expression that a kind has for a question, with the names of its members."""
    members = dict(names)
    text = dict(kind.loops).get(what, "{s}")
    for array in kind.arrays:
        if f"{{{array.name}}}" in text:
            shared = (array.name, way)
            members[array.name] = args.use(
                *(shared if array.shared else ("part", side, way, position, array.name))
            )
    for name in ("rows", "slots", *kind.numbers):
        if f"{{{name}}}" in text:
            members[name] = args.use("part_number", side, way, position, name)
    return text.format(**members)
