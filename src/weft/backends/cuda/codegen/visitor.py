"""The text of a visitor: the class of C++ that a schedule hands the arcs of rows to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from weft.backends.cuda.codegen.first_looks import look_first
from weft.backends.cuda.codegen.matrix_products import Product
from weft.backends.cuda.codegen.text import (
    bytes_of_type,
    c_type,
    of_schedule,
)

BATCH = 4  # messages under way together, see sharing.cuh
FIRST, END = "first_slot", "slots_end"  # of a row, where it is loaded


@dataclass
class Visitor:
    """The text of a visitor as it is put together."""

    name: str
    members: list[str] = field(default_factory=list)  # beside a, loop, scalars, place, format
    row: list[tuple[str, str, str]] = field(default_factory=list)  # type, name, initial text
    partial: list[tuple[str, str, str]] = field(default_factory=list)
    load: list[str] = field(default_factory=list)
    begin: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    fetch: list[str] = field(default_factory=list)  # loads alone: may be made ahead
    message: list[tuple[str, str, str]] = field(default_factory=list)  # what they are kept in
    computes: bool = False  # the message is made of what is loaded
    # Products that several messages are part of together: type, name, vector, and what of.
    joint: list[tuple[str, str, str, Product]] = field(default_factory=list)
    take: list[str] = field(default_factory=list)
    settle: list[str] = field(default_factory=list)  # what comes once all swaps are under way
    windows: int = 1  # of slots that are under way together, where rows are shared evenly
    merge: list[str] = field(default_factory=list)
    close: list[str] = field(default_factory=list)
    vertex: str = "v"  # what the row is called
    far: str = "u"
    far_type: str = "i64"  # that a message keeps it in
    parts: str = ""
    exits: bool = False
    collects: bool = False
    splits: bool = False  # rows are parts of vertices; see `slot_site`
    joined: bool = False  # but one walks through all rows of a vertex
    wholes: bool = False  # but the format says which rows have all arcs of theirs
    lanes: int = 1  # threads that take one arc together
    spread: bool = False  # and share its features
    extra: list[str] = field(default_factory=list)  # functions of its own
    measures: bool = False  # a row knows how many slots it has
    looks: bool = False  # how many arcs it looks at is counted
    counts: bool = False  # by `take`, and by the batch where arcs are settled so
    expected: list[str] = field(default_factory=list)  # arrays that are read at or near each row
    guess: str = ""  # the array with the vertex that each row looks at first
    marks: str = ""  # where a block holds the row that it works on alone; empty: it does not

    @property
    def row_bytes(self) -> int:
        """The most bytes that what a row's arcs share takes in shared memory."""
        return self._bytes(self._members())

    def _members(self) -> list[tuple[str, str, str]]:
        """Return what the arcs of a row share; of a part of a vertex, the vertex too."""
        return [*self.row, ("i64", "vertex", self.vertex)] if self.splits else self.row

    @property
    def partial_bytes(self) -> int:
        """The most bytes that a partial result takes in shared memory."""
        return self._bytes(self.partial)

    @property
    def held(self) -> tuple[int, int, int]:
        """Width of a group, and the most bytes of a partial result and of a row in a lane."""
        return of_schedule(self.lanes), self.partial_bytes, self.row_bytes

    @property
    def registers(self) -> int:
        """How many registers hold a partial result and the messages that are under way."""
        return (self.partial_bytes + BATCH * self._bytes(self.message)) // 4

    def _bytes(self, members: list[tuple[str, str, str]]) -> int:
        lanes = self.lanes if self.spread else 1
        return max(1, sum(bytes_of_type(kind, lanes) for kind, _, _ in members))

    def carry(self, texts: list[str], kinds: list[tuple[Any, Any]]) -> list[str]:
        """Keep values that were fetched in the message; return how they are named afterwards.

        What the row has is there anyway.
        """
        names = []
        for text, (dtype, shape) in zip(texts, kinds, strict=True):
            if text in {f"row.{name}" for _, name, _ in self.row}:
                names.append(text)
                continue
            name = f"m{len(self.message)}"
            self.message.append((c_type(dtype, shape), name, text))
            names.append(f"message.{name}")
        return names

    def text(self) -> str:
        """Return the class."""

        def indent(lines: list[str]) -> str:
            return "".join(f"        {line}\n" for line in lines)

        def struct(what: list[tuple[str, str, str]], initial: bool) -> str:
            return " ".join(f"{t} {n}{f' = {x}' if initial else ''};" for t, n, x in what)

        row = ", ".join(text for _, _, text in self._members())
        members = "".join(f"    {member};\n" for member in self.members)
        start = ", ".join(text for _, _, text in self.partial)
        vertex = self.vertex
        joint = [(kind, name, f"{kind}{{}}") for kind, name, _, _ in self.joint]
        fetched = ", ".join([f"Target({self.far})", *(text for _, _, text in self.message + joint)])
        # A row of a format is a vertex, or it has one; then arcs have a place beside their slot.
        at = row_at = vertex
        asked: list[str] = []
        held, closed, placed, whole = asked, asked, asked, asked
        if self.splits:
            at = "r"
            held = [f"const i64 {vertex} = row.vertex;", f"static_cast<void>({vertex});"]
            placed = ["const i64 p = format.place(s, r);", "static_cast<void>(p);"]
        if self.splits and not self.joined:
            row_at, closed = "r", held
            asked = [f"const i64 {vertex} = format.vertex(r);", f"static_cast<void>({vertex});"]
            whole = ["whole = false;"]
            if self.wholes:
                whole = [f"whole = whole && format.whole({vertex});"]
        own = self.extra
        if self.marks:
            mark = f"WEFT_DEVICE void mark(i64 {row_at}) {{ {' '.join([*asked, self.marks])} }}"
            own = [*own, mark, "WEFT_DEVICE void unmark() { marker.release(); }"]
        expects = bool(self.expected) and not self.splits
        if expects:
            asked_for = " ".join(f"prefetch({array} + {at});" for array in self.expected)
            own = [*own, f"WEFT_DEVICE void expect(i64 {at}) const {{ {asked_for} }}"]
        if self.guess:
            own = [*own, *look_first(self.guess, vertex)]
        extra = "".join(f"    {line}\n" for line in own)
        return (
            f"struct {self.name} {{\n"
            f"{f'    static constexpr u32 feature_lanes = {self.lanes};' if self.spread else ''}\n"
            f"    const Args& a;\n    const Loop& loop;\n    const Scalars& scalars;\n"
            f"    const Place& place;\n{members}"
            f"    struct Parts {{ {self.parts} }} parts;\n"
            f"{'    u64 looked = 0;' if self.looks else ''}\n"
            f"    struct Row {{ {struct(self._members(), False)} }};\n"
            f"    struct Partial {{ {struct(self.partial, False)} }};\n"
            f"    static_assert(sizeof(Row) <= {self.row_bytes} && "
            f'sizeof(Partial) <= {self.partial_bytes}, "as the host counted");\n'
            f"    static constexpr bool collects = {str(self.collects).lower()};\n"
            f"    static constexpr bool exits = {str(self.exits).lower()};\n"
            f"    static constexpr bool asks = {str(bool(self.open)).lower()};\n"
            f"    static constexpr bool marks = {str(bool(self.marks)).lower()};\n"
            f"    static constexpr bool counts = {str(self.counts).lower()};\n"
            f"    static constexpr bool expects = {str(expects).lower()};\n"
            f"    static constexpr bool guesses = {str(bool(self.guess)).lower()};\n"
            f"    static constexpr bool measures = {str(self.measures).lower()};\n"
            f"{extra}"
            f"    WEFT_DEVICE bool open(i64 {row_at}) {{\n"
            f"{indent([*asked, *(self.open or ['return true;'])])}    }}\n"
            f"{self._loading(row_at, indent([*asked, *self.load]), row)}"
            f"    WEFT_DEVICE Partial empty(const Row& row) {{\n"
            f"        Partial partial{{{start}}};\n{indent(self.begin)}"
            f"        return partial;\n    }}\n"
            f"    static constexpr bool batches = {str(bool(self.message)).lower()};\n"
            f"    static constexpr bool computes = {str(self.computes).lower()};\n"
            f"    static constexpr u32 windows = {self.windows};\n"
            f"    using Target = {self.far_type};\n"
            f"    struct Message {{ Target {self.far}; {struct(self.message + joint, False)} }};\n"
            f"    WEFT_DEVICE Message message_of(const Row& row, i64 {at}, i64 s, "
            f"i64 {self.far}) {{\n        count_arc();\n"
            f"{indent([*held, *placed, *self.fetch])}"
            f"        return Message{{{fetched}}};\n    }}\n"
            f"{self._joining()}"
            f"    WEFT_DEVICE bool deliver(Partial& partial, const Row& row, i64 {at}, i64 s,\n"
            f"                             Message& message) {{\n"
            f"        const i64 {self.far} = message.{self.far};\n"
            f"        static_cast<void>({self.far});\n{indent([*held, *placed, *self.take])}"
            f"        return false;\n    }}\n"
            f"{self._taking(at, indent([*held, *placed, *self.settle]))}"
            f"    WEFT_DEVICE void merge(Partial& partial, const Partial& other) {{\n"
            f"{indent(self.merge)}    }}\n"
            f"    WEFT_DEVICE void close(const Row& row, i64 {row_at}, Partial partial, "
            f"bool whole) {{\n"
            f"{indent([*closed, *whole, *self.close])}    }}\n"
            f"}};\n"
        )

    def _loading(self, at: str, lines: str, row: str) -> str:
        """Return how a row is loaded, by who has its slots at hand too if it measures them."""
        slots = f", i64 {FIRST}, i64 {END}" if self.measures else ""
        text = (
            f"    WEFT_DEVICE Row load(i64 {at}{slots}) {{\n{lines}"
            f"        return Row{{{row}}};\n    }}\n"
        )
        if self.measures:
            ends = f"format.begin({at}), format.end({at})"
            text += f"    WEFT_DEVICE Row load(i64 {at}) {{ return load({at}, {ends}); }}\n"
        return text

    def _joining(self) -> str:
        """Return what the messages of several arcs are part of together."""
        text = f"    static constexpr bool joins = {str(bool(self.joint)).lower()};\n"
        if not self.joint:
            return text
        lines = []
        for kind, name, vector, product in self.joint:
            lines += [
                "{",
                f"    decltype(Message::{vector}) x[count];",
                f"    {kind} y[count];",
                "    WEFT_UNROLL(count)",
                f"    for (u32 k = 0; k < count; ++k) x[k] = messages[k].{vector};",
                f"    multiply<{product.arguments}>(x, {product.matrix}, {product.start}, y);",
                "    WEFT_UNROLL(count)",
                f"    for (u32 k = 0; k < count; ++k) messages[k].{name} = y[k];",
                "}",
            ]
        body = "".join(f"        {line}\n" for line in lines)
        head = "    template <u32 count>\n    WEFT_DEVICE void join(Message* messages) {\n"
        return f"{text}{head}{body}    }}\n"

    def _taking(self, at: str, lines: str) -> str:
        """Return how one arc is taken: in one part, or with what comes once its swap is known."""
        settles = bool(self.settle)
        text = (
            f"    static constexpr bool settles = {str(settles).lower()};\n"
            f"    WEFT_DEVICE bool take(Partial& partial, const Row& row, i64 {at}, i64 s) {{\n"
            f"        const i64 {self.far} = format.target(s, {at});\n"
            f"        Message message = message_of(row, {at}, s, {self.far});\n"
            f"{'        join<1>(&message);' if self.joint else ''}\n"
        )
        if not settles:
            return f"{text}        return deliver(partial, row, {at}, s, message);\n    }}\n"
        counted = "        ++looked;\n" if self.counts else ""
        return (
            f"{text}{counted}"
            f"        deliver(partial, row, {at}, s, message);\n"
            f"        if (settle(row, {at}, s, message)) out.emit_lazily({self.far}, degree);\n"
            f"        return false;\n    }}\n"
            f"    WEFT_DEVICE bool settle(const Row& row, i64 {at}, i64 s, Message& message) {{\n"
            f"        const i64 {self.far} = message.{self.far};\n"
            f"        static_cast<void>({self.far});\n{lines}"
            f"        return false;\n    }}\n"
            f"    template <class Id, u32 count>\n"
            f"    WEFT_DEVICE void emit(const Id (&far)[count], bool (&emits)[count]) {{\n"
            f"        out.emit_batch(far, emits, degree);\n    }}\n"
        )
