"""Proves which computed integers are vertices, so that they need no bounds check as indices.

A field is *closed* if everything that a program writes to it is a vertex: an id, a neighbour, a
value of a closed field, or a selection or the minimum of two vertices. Such a field holds vertices
throughout if it does so at the start, which the backend checks once. Examples are parents in
pointer jumping and positions of random walks.

The proof is optimistic: all fields and loop states are assumed to be vertices, and those written
otherwise are removed until nothing changes.
"""

from __future__ import annotations

from weft.ir.ops import Program, Step, Value, program_blocks

# Ops that index by a vertex, with the number of operands that are one.
_INDEXING = {
    "at_load": 1, "at_store": 1, "at_reduce": 1, "at_cas": 1, "degree": 1, "neighbor": 1,
    "neighbor_edge": 1, "has_edge": 2, "find_edge": 2, "common": 2,
    "field_at": 1,
}  # fmt: skip


def prove_vertices(program: Program, *, closed: bool = True) -> frozenset[str]:
    """Mark the operands that are proven vertices; return the fields that must hold vertices.

    Without `closed`, fields are not relied on and the result is empty.
    """
    prover = _Prover(program, closed)
    prover.settle()
    needed: set[str] = set()
    for value in prover.values:
        for operand in value.args[: _INDEXING.get(value.op, 0)]:
            operand.vertex = prover.is_vertex(operand)
            if operand.vertex:
                prover.collect(operand, needed)
    return frozenset(needed)


class _Prover:
    """The current assumptions about which values are vertices."""

    def __init__(self, program: Program, closed: bool) -> None:
        self.values = [v for block in program_blocks(program) for v in block.walk()]
        self.width = program.signature.index_dtype.itemsize
        self.fields = {
            name
            for name, dtype, shape in program.signature.fields
            if closed and dtype.kind in "iu" and not shape
        }
        self.writes: dict[str, list[Value | None]] = {}  # None: not a vertex
        for step in program.all_steps():
            self._note_messages(step)
        self.loops: dict[int, Value] = {}  # id of a parameter -> its loop
        self.states: set[tuple[int, int]] = set()  # (id of a loop, position of a state)
        self.known: dict[int, bool] = {}  # answers of one round
        for value in self.values:
            self._note_write(value)
            if value.op in ("while", "for"):
                self._note_loop(value)

    def _note_messages(self, step: Step) -> None:
        for position, name in enumerate(step.into):
            reduction = step.reductions[min(position, len(step.reductions) - 1)]
            chooses = reduction.selecting or reduction.name in ("min", "max")
            message = step.body.results[position] if chooses else None
            self.writes.setdefault(name, []).append(message)

    def _note_write(self, value: Value) -> None:
        if value.op == "store":
            self.writes.setdefault(value.attr, []).append(value.args[0])
        elif value.op == "at_store":
            self.writes.setdefault(value.attr, []).append(value.args[1])
        elif value.op == "at_cas":
            self.writes.setdefault(value.attr, []).append(value.args[2])
        elif value.op == "at_reduce":
            name, monoid = value.attr
            written = value.args[1] if monoid in ("min", "max") else None
            self.writes.setdefault(name, []).append(written)

    def _note_loop(self, loop: Value) -> None:
        for block in loop.blocks:
            for param in block.params:
                self.loops[id(param)] = loop
        self.states.update((id(loop), i) for i in range(len(loop.results)))

    def settle(self) -> None:
        """Remove assumptions that writes contradict, until nothing changes."""
        before = -1
        while before != len(self.fields) + len(self.states):
            before = len(self.fields) + len(self.states)
            self.known.clear()
            for name, written in self.writes.items():
                if any(value is None or not self.is_vertex(value) for value in written):
                    self.fields.discard(name)
            for loop in {id(v): v for v in self.loops.values()}.values():
                for i in range(len(loop.results)):
                    if not all(self.is_vertex(value) for value in _sources(loop, i)):
                        self.states.discard((id(loop), i))
        self.known.clear()

    def is_vertex(self, value: Value) -> bool:
        """Whether a value is a vertex under the current assumptions."""
        if id(value) not in self.known:
            self.known[id(value)] = self._is_vertex(value)
        return self.known[id(value)]

    def _is_vertex(self, value: Value) -> bool:
        op, attr = value.op, value.attr
        if op == "load":
            return attr[0] == "id" or (attr[0] == "field" and attr[2] in self.fields)
        if op in ("at_load", "at_cas"):
            return attr in self.fields
        if op == "at_reduce":
            return attr[0] in self.fields
        if op == "const":
            return bool(value.dtype.kind in "iu" and attr == 0)
        if op == "param":
            loop = self.loops.get(id(value))
            return loop is not None and (id(loop), _position(loop, value)) in self.states
        if op == "project":
            return (id(value.args[0]), attr) in self.states
        if op == "mod":
            return _is_count(value.args[1])
        if op == "cast":
            wide = value.dtype.kind in "iu" and value.dtype.itemsize >= self.width
            return wide and self.is_vertex(value.args[0])
        if op in ("select", "minimum", "maximum"):
            return all(self.is_vertex(arg) for arg in value.args[-2:])
        return op == "neighbor"

    def collect(self, value: Value, needed: set[str], seen: set[int] | None = None) -> None:
        """Add the fields that a proof relies on."""
        seen = set() if seen is None else seen
        if id(value) in seen:
            return
        seen.add(id(value))
        name = None
        if value.op == "load" and value.attr[0] == "field":
            name = value.attr[2]
        elif value.op in ("at_load", "at_cas"):
            name = value.attr
        elif value.op == "at_reduce":
            name = value.attr[0]
        if name is not None:
            needed.add(name)
            sources = [v for v in self.writes.get(name, ()) if v is not None]
        elif value.op == "param":
            loop = self.loops[id(value)]
            sources = _sources(loop, _position(loop, value))
        elif value.op == "project":
            sources = _sources(value.args[0], value.attr)
        else:
            sources = list(value.args) if value.op in ("cast", "minimum", "maximum") else []
            sources = list(value.args[1:]) if value.op == "select" else sources
        for source in sources:
            self.collect(source, needed, seen)


def _sources(loop: Value, i: int) -> list[Value]:
    """Return the initial value of a loop state and its value after each round."""
    first = 2 if loop.op == "for" else 0
    return [loop.args[first + i], loop.blocks[-1].results[i]]


def _position(loop: Value, param: Value) -> int:
    """Return which state of a loop a parameter stands for; -1 for the counter."""
    for block in loop.blocks:
        for position, candidate in enumerate(block.params):
            if candidate is param:
                return position - 1 if loop.op == "for" else position
    raise AssertionError("the parameter of another loop")


def _is_count(value: Value) -> bool:
    """Whether a value is the number of vertices."""
    while value.op == "cast" and value.dtype.kind in "iu" and value.dtype.itemsize == 8:
        value = value.args[0]
    return value.op == "load" and value.attr == ("num_vertices",)
