"""What a step reads and writes: the facts on which passes and backends base decisions."""

from __future__ import annotations

from dataclasses import dataclass, field

from weft.ir.elementwise import ELEMENTWISE
from weft.ir.ops import EFFECT, LIVE_READ, LIVE_WRITE, Block, Program, Step, Value


@dataclass
class Facts:
    """Names of fields, columns and scalars by how a step uses them."""

    far: set[str] = field(default_factory=set)  # fields read at u or w: of other vertices
    near: set[str] = field(default_factory=set)  # fields read at v
    live: set[str] = field(default_factory=set)
    live_written: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)  # by into= or assignment
    old: set[str] = field(default_factory=set)
    far_old: set[str] = field(default_factory=set)  # old values read at u or w
    columns: set[str] = field(default_factory=set)
    edge_read: set[str] = field(default_factory=set)
    edge_written: set[str] = field(default_factory=set)
    scalars: set[str] = field(default_factory=set)
    reduced: set[str] = field(default_factory=set)
    loads: set[str] = field(default_factory=set)  # superstep, edge_id, rank, id.u, out_degree.v ...
    gathers: set[str] = field(default_factory=set)  # directions
    ops: set[str] = field(default_factory=set)

    def add(self, block: Block) -> None:
        """Add the instructions of a block and of its inner blocks."""
        for value in block.walk():
            self.ops.add(value.op)
            attr = value.attr
            if value.op == "load":
                self._load(attr)
            elif value.op in LIVE_READ or value.op in LIVE_WRITE:
                name = attr[0] if value.op == "at_reduce" else attr
                self.live.add(name)
                if value.op in LIVE_WRITE:
                    self.live_written.add(name)
            elif value.op == "store":
                self.written.add(attr)
            elif value.op == "store_edge":
                self.edge_written.add(attr)
            elif value.op == "reduce_scalar":
                self.reduced.add(attr[0])
            elif value.op in ("gather", "gather_by"):
                self.gathers.add(attr[0])
            elif value.op == "column_at":
                self.columns.add(attr)

    def _load(self, attr: tuple[str, ...]) -> None:
        kind = attr[0]
        if kind == "field":
            (self.near if attr[1] in ("v", "before") else self.far).add(attr[2])
        elif kind == "old":
            self.old.add(attr[2])
            if attr[1] not in ("v", "before"):
                self.far_old.add(attr[2])
        elif kind == "column":
            self.columns.add(attr[2])
        elif kind == "edge_state":
            self.edge_read.add(attr[2])
            if attr[1] != "e":  # of another arc, as it was when the step began
                self.loads.add("reverse")
        elif kind == "scalar":
            self.scalars.add(attr[1])
        else:
            self.loads.add(".".join(attr))


def facts_of(step: Step) -> Facts:
    """Return the facts about a step and its roles."""
    facts = Facts()
    facts.add(step.body)
    for block in (step.accept, step.active, step.priority):
        if block is not None:
            facts.add(block)
    facts.written.update(step.into)
    return facts


def program_facts(program: Program) -> list[Facts]:
    """Return the facts about each step of a complete program."""
    known: list[Facts] | None = program.findings.get("facts")
    if known is None:
        known = program.findings["facts"] = [facts_of(step) for step in program.all_steps()]
    return known


def block_facts(*blocks: Block | None) -> Facts:
    """Return the facts about some blocks."""
    facts = Facts()
    for block in blocks:
        if block is not None:
            facts.add(block)
    return facts


def before_reads(active: Block | None) -> set[str]:
    """Return the fields that an `active` reads as they were before the step."""
    loads = [value.attr for value in active.walk() if value.op == "load"] if active else []
    return {attr[2] for attr in loads if attr[:2] == ("field", "before")}


def compared_live(step: Step) -> set[str]:
    """Return the live fields of v whose earlier values determine the output of a vertex function.

    They are read when the function starts: its assignments are immediately visible to others.
    """
    body = block_facts(step.body)
    if step.active is not None:
        return before_reads(step.active) & block_facts(step.body, step.active).live
    if step.conditional or "set_changed" in body.ops:
        return set()
    return body.written & (body.live - body.live_written)


def is_pure(value: Value, live: set[str]) -> bool:
    """Whether an instruction can be moved, merged or dropped."""
    if value.op in EFFECT or value.op in LIVE_READ:
        return False
    if value.op == "load" and value.attr[0] == "field" and value.attr[2] in live:
        return False
    return all(is_pure(inner, live) for block in value.blocks for inner in block.body)


def arcs_of_common(value: Value) -> set[str]:
    """Return which arcs to a common neighbour a reduction reads: ea, eb."""
    loads = (inner.attr for block in value.blocks for inner in block.walk() if inner.op == "load")
    return {attr[1] for attr in loads if len(attr) > 1 and attr[1] in ("ea", "eb")}


def sends_alike(value: Value) -> bool:
    """Whether every common neighbour of a reduction sends the same integer to a sum."""
    (block,) = value.blocks
    groups = [(reduction.name, count, when) for reduction, count, when in value.attr]
    return (
        groups == [("sum", 1, False)]
        and block.results[0].dtype.kind in "iu"
        and all(inner.op == "const" or inner.op in ELEMENTWISE for inner in block.walk())
    )


def only_emits(value: Value) -> bool:
    """Whether nothing but the records of a reduction over common neighbours is asked for."""
    return not value.attr and any(inner.op == "emit" for inner in value.blocks[0].walk())


def emits_plainly(value: Value) -> bool:
    """Whether every common neighbour has one record, of constants, ids and numbers made of them."""
    body = value.blocks[0].body
    records = [inner for inner in body if inner.op == "emit"]
    return len(records) == 1 and all(
        inner.op in ELEMENTWISE or inner.op in ("const", "cast", "emit")
        or (inner.op == "load" and inner.attr[0] == "id")
        for inner in body
    )  # fmt: skip


def without_neighbor(value: Value) -> list[Value]:
    """Return what the block of a reduction over common neighbours computes alike for all of them.

    It is meant for blocks of ids and elementwise operations (`emits_plainly`).
    """
    varying: set[int] = set()
    for inner in value.blocks[0].body:
        far = inner.op == "load" and inner.attr[1] == "w"
        if far or inner.op == "emit" or any(id(arg) in varying for arg in inner.args):
            varying.add(id(inner))
    return [inner for inner in value.blocks[0].body if id(inner) not in varying]


def key_is_vertex(value: Value) -> bool:
    """Whether the keys of a gather by key are ids of vertices, so that there are at most n."""
    key = value.blocks[0].results[0]
    while key.op == "cast" and key.args[0].dtype.kind in "iu":
        key = key.args[0]
    return (key.op == "load" and key.attr[0] == "id") or key.op == "neighbor"


def uses(block: Block) -> dict[int, int]:
    """Return how often each value is used, inner blocks included."""
    counts: dict[int, int] = {}

    def count(inner: Block) -> None:
        for value in inner.body:
            for arg in value.args:
                counts[id(arg)] = counts.get(id(arg), 0) + 1
            for nested in value.blocks:
                count(nested)
        for result in inner.results:
            counts[id(result)] = counts.get(id(result), 0) + 1

    count(block)
    return counts
