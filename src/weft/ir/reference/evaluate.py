"""Evaluates blocks of the IR: one instruction after another, at one vertex or arc."""

from __future__ import annotations

import random as python_random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from weft.errors import TraceError
from weft.ir.elementwise import ELEMENTWISE
from weft.ir.ops import FEATURE, Block, Reduction, Value, payload_identity
from weft.ir.reference import arithmetic
from weft.ir.reference.arithmetic import Fault
from weft.ir.reference.memory import Memory

# A message in an inbox: the id of its edge, and its parts.
Message = tuple[int, tuple[Any, ...]]
NOWHERE = -1


@dataclass
class Frame:
    """The state of a function's evaluation: its place, visible values, and results so far."""

    u: int = NOWHERE
    v: int = NOWHERE
    w: int = NOWHERE
    arc: int = NOWHERE
    found: dict[str, int] = field(default_factory=dict)  # the arcs to a common neighbour
    owner: bool = False  # v is read as it is now, not as at the sweep's start
    live: frozenset[str] = frozenset()
    before: dict[str, Any] | None = None  # for `active`: the vertex before the step
    totals: dict[str, Any] = field(default_factory=dict)  # scalars that the step reduces
    changed: bool | None = None
    values: dict[Value, Any] = field(default_factory=dict)

    def vertex(self, who: str) -> int:
        """Return the vertex that a load names."""
        return self.v if who == "before" else int(getattr(self, who))


class Evaluator:
    """Runs blocks on a memory; with `shuffle`, rows are walked in random order."""

    def __init__(self, memory: Memory, shuffle: python_random.Random | None = None) -> None:
        self.memory = memory
        self.shuffle = shuffle

    def order(self, items: Sequence[int]) -> list[int]:
        """Return the items in the order of visiting."""
        result = list(items)
        if self.shuffle is not None:
            self.shuffle.shuffle(result)
        return result

    def run(self, block: Block, frame: Frame, arguments: Sequence[Any] = ()) -> tuple[Any, ...]:
        """Evaluate a block and return its results."""
        frame.values.update(zip(block.params, arguments, strict=True))
        for value in block.body:
            frame.values[value] = self._compute(value, frame)
        return tuple(frame.values[result] for result in block.results)

    def holds(self, block: Block, frame: Frame) -> bool:
        """Evaluate a block with one condition."""
        return bool(self.run(block, frame)[0])

    def _compute(self, value: Value, frame: Frame) -> Any:
        args = [frame.values[operand] for operand in value.args]
        if value.op in ELEMENTWISE:
            return arithmetic.elementwise(value, args)
        try:
            if value.op in FEATURE:
                return arithmetic.features(value, args)
            return getattr(self, f"_{value.op}")(value, frame, *args)
        except Fault as fault:
            fault.line = fault.line or value.line
            raise

    # -- leaves and loads

    def _const(self, value: Value, frame: Frame) -> Any:
        return value.dtype.type(value.attr)

    def _constant(self, value: Value, frame: Frame) -> Any:
        return value.dtype.type(self.memory.constants[value.attr])

    def _load(self, value: Value, frame: Frame) -> Any:
        memory, (kind, *rest) = self.memory, value.attr
        if kind == "field":
            return self._field(frame, *rest)
        if kind == "old":
            return self._field(frame, rest[0], f"old.{rest[1]}")
        if kind == "column":
            result = memory.column(rest[1], frame.found.get(rest[0], frame.arc))
        elif kind == "edge_state":
            # An arc has one writer, so its current state may be read.
            own = rest[0] == "e"
            arrays = memory.edge_now if own else memory.edge_begin
            arc = memory.reverse(frame.arc) if rest[0] == "rev" else frame.found.get(rest[0])
            result = arrays[rest[1]][frame.arc if own else arc]
        elif kind == "scalar":
            result = memory.scalars[rest[0]][0]
        elif kind == "parameter":
            result = memory.parameters[rest[1]]
        elif kind == "id":
            result = frame.vertex(rest[0])
        elif kind in ("out_degree", "in_degree"):
            row = memory.out_row if kind == "out_degree" else memory.in_row
            result = len(row[frame.vertex(rest[0])])
        else:
            result = {
                "edge_id": lambda: memory.edge_id[frame.found[rest[0]] if rest else frame.arc],
                "rank": lambda: memory.rank[frame.arc],
                "superstep": lambda: memory.superstep,
                "refreshing": lambda: memory.refreshing,
                "num_vertices": lambda: memory.num_vertices,
                "least": lambda: memory.least,
            }[kind]()
        return np.array(result, value.dtype)[()]

    def _field(self, frame: Frame, who: str, name: str) -> Any:
        if who == "before":
            assert frame.before is not None
            return frame.before[name]
        as_it_is = name in frame.live or (who == "v" and frame.owner)
        arrays = self.memory.now if as_it_is else self.memory.begin
        return np.array(arrays[name][frame.vertex(who)])[()]

    # -- computed vertices

    def _vertex(self, x: Any, what: str) -> int:
        if not 0 <= x < self.memory.num_vertices:
            raise Fault(f"index out of range: {what} of vertex {x} of {self.memory.num_vertices}")
        return int(x)

    def _arc(self, x: Any, i: Any) -> int:
        row = self.memory.out_row[self._vertex(x, "neighbor")]
        if not 0 <= i < len(row):
            raise Fault(f"index out of range: neighbor {i} of {len(row)} of vertex {x}")
        return row[int(i)]

    def _degree(self, value: Value, frame: Frame, x: Any) -> Any:
        return np.int64(len(self.memory.out_row[self._vertex(x, "degree")]))

    def _neighbor(self, value: Value, frame: Frame, x: Any, i: Any) -> Any:
        return np.int64(self.memory.target[self._arc(x, i)])

    def _neighbor_edge(self, value: Value, frame: Frame, x: Any, i: Any) -> Any:
        return np.int64(self.memory.edge_id[self._arc(x, i)])

    def _has_edge(self, value: Value, frame: Frame, a: Any, b: Any) -> Any:
        return np.bool_(self._find_edge(value, frame, a, b) >= 0)

    def _find_edge(self, value: Value, frame: Frame, a: Any, b: Any) -> Any:
        memory, target = self.memory, self._vertex(b, "edge to")
        row = memory.out_row[self._vertex(a, "edge")]
        found = [memory.edge_id[arc] for arc in row if memory.target[arc] == target]
        return np.int64(min(found, default=-1))

    def _column_at(self, value: Value, frame: Frame, edge: Any) -> Any:
        count = self.memory.topology.num_edges
        if not 0 <= edge < count:
            raise Fault(f"index out of range: edge {edge} of {count}")
        return np.array(self.memory.edge_column(value.attr, int(edge)), value.dtype)[()]

    def _field_at(self, value: Value, frame: Frame, x: Any) -> Any:
        return np.array(self.memory.now[value.attr][self._vertex(x, "field")])[()]

    def _random_bits(self, value: Value, frame: Frame, key: Any, counter: Any) -> Any:
        return random_number(value, key, counter)

    _random_unit = _random_bits

    def _at_load(self, value: Value, frame: Frame, i: Any) -> Any:
        return self.memory.now[value.attr][self._vertex(i, f"field {value.attr!r}")]

    def _at_store(self, value: Value, frame: Frame, i: Any, x: Any) -> None:
        self.memory.now[value.attr][self._vertex(i, f"field {value.attr!r}")] = x

    def _at_reduce(self, value: Value, frame: Frame, i: Any, x: Any) -> Any:
        name, monoid = value.attr
        place = self._vertex(i, f"field {name!r}")
        old = self.memory.now[name][place]
        self.memory.now[name][place] = arithmetic.combine(monoid, old, x)
        return old

    def _at_cas(self, value: Value, frame: Frame, i: Any, expected: Any, new: Any) -> Any:
        place = self._vertex(i, f"field {value.attr!r}")
        old = self.memory.now[value.attr][place]
        if old.tobytes() == expected.tobytes():
            self.memory.now[value.attr][place] = new
        return old

    # -- effects on owned values

    def _store(self, value: Value, frame: Frame, x: Any) -> None:
        self.memory.now[value.attr][frame.v] = x

    def _store_edge(self, value: Value, frame: Frame, x: Any) -> None:
        self.memory.edge_now[value.attr][frame.arc] = x

    def _reduce_scalar(self, value: Value, frame: Frame, x: Any) -> None:
        name, reduction = value.attr
        frame.totals[name] = self.combine(reduction, frame.totals[name], x)

    def _set_changed(self, value: Value, frame: Frame, condition: Any) -> None:
        frame.changed = bool(condition)

    # -- records

    def _emit_begin(self, value: Value, frame: Frame) -> None:
        counts = self.memory.emits == "count"
        item = frame.arc if value.attr == "edge" else frame.v
        self.memory.emitting = 0 if counts else int(self.memory.emitted[0][item])

    def _emit_end(self, value: Value, frame: Frame) -> None:
        if self.memory.emits == "count":
            item = frame.arc if value.attr == "edge" else frame.v
            self.memory.emitted[0][item] = self.memory.emitting

    def _emit(self, value: Value, frame: Frame, *parts: Any) -> None:
        if value.attr and not bool(parts[-1]):
            return
        if self.memory.emits == "write":
            for part, array in zip(parts, self.memory.emitted[1:], strict=False):
                array[self.memory.emitting] = part
        self.memory.emitting += 1

    # -- control

    def _project(self, value: Value, frame: Frame, parts: tuple[Any, ...]) -> Any:
        return parts[value.attr]

    def _while(self, value: Value, frame: Frame, *state: Any) -> tuple[Any, ...]:
        condition, body = value.blocks
        rounds = 0
        while bool(self.run(condition, frame, state)[0]):
            if rounds == value.attr:
                raise Fault(f"loop bound: more than {value.attr} rounds")
            state = self.run(body, frame, state)
            rounds += 1
        return state

    def _for(self, value: Value, frame: Frame, start: Any, stop: Any, *state: Any) -> Any:
        for i in range(int(start), int(stop)):
            state = self.run(value.blocks[0], frame, (np.int64(i), *state))
        return state

    def _cond(self, value: Value, frame: Frame, test: Any) -> tuple[Any, ...]:
        then, otherwise = value.blocks
        return self.run(then if test else otherwise, frame)

    def _gather(self, value: Value, frame: Frame) -> tuple[Any, ...]:
        direction, groups = value.attr
        arcs = self._arcs_from(frame.v, direction)
        inboxes: list[list[Message]] = [[] for _ in groups]
        for k in self.order(range(len(arcs))):
            arc, far = arcs[k]
            results = self.run(value.blocks[0], replace(frame, u=far, arc=arc))
            self._deliver(groups, inboxes, self.memory.edge_id[arc], results)
        return self._reduced(value, groups, inboxes)

    def _common(self, value: Value, frame: Frame, a: Any, b: Any) -> tuple[Any, ...]:
        near, far = (self._first_arcs(self._vertex(x, "common")) for x in (a, b))
        inboxes: list[list[Message]] = [[] for _ in value.attr]
        for w in self.order(sorted(near.keys() & far.keys())):
            here = replace(frame, w=w, found={"ea": near[w], "eb": far[w]})
            self._deliver(value.attr, inboxes, w, self.run(value.blocks[0], here))
        return self._reduced(value, value.attr, inboxes)

    def _first_arcs(self, vertex: int) -> dict[int, int]:
        """Return the out-neighbours of a vertex, each with the first of the arcs to it."""
        arcs: dict[int, int] = {}
        for arc in self.memory.out_row[vertex]:
            arcs.setdefault(self.memory.target[arc], arc)
        return arcs

    def _gather_by(self, value: Value, frame: Frame) -> tuple[Any, ...]:
        direction, hops, reduction, conditional, groups = value.attr
        held: dict[int, tuple[Any, Any]] = {}  # key -> itself, its values combined
        for here in self._paths(frame, direction, hops):
            key, message, *when = self.run(value.blocks[0], here)
            if conditional and not bool(when[0]):
                continue
            known = held.get(int(key))
            total = message if known is None else self.combine(reduction, known[1], message)
            held[int(key)] = key, total
        inboxes: list[list[Message]] = [[] for _ in groups]
        for number in self.order(sorted(held)):
            results = self.run(value.blocks[1], replace(frame), held[number])
            self._deliver(groups, inboxes, number, results)
        return self._reduced(value, groups, inboxes)

    def _paths(self, frame: Frame, direction: str, hops: int) -> list[Frame]:
        """Return where the first block of a gather by key runs, arc by arc."""
        found = []
        for arc, far in self._arcs_from(frame.v, direction):
            here = replace(frame, u=far, arc=arc)
            later = self._arcs_from(far, direction) if hops == 2 else []
            found += [replace(here, w=w, found={"eb": after}) for after, w in later]
            found += [here] if hops == 1 else []
        return [found[k] for k in self.order(range(len(found)))]

    def _arcs_from(self, vertex: int, direction: str) -> list[tuple[int, int]]:
        """Return the arcs of a vertex in a direction, each with its far end."""
        memory, arcs = self.memory, []
        if direction in ("in", "both"):
            arcs += [(arc, memory.source[arc]) for arc in memory.in_row[vertex]]
        if direction in ("out", "both"):
            arcs += [(arc, memory.target[arc]) for arc in memory.out_row[vertex]]
        return arcs

    @staticmethod
    def _deliver(groups: Any, inboxes: list[list[Message]], rank: int, results: Any) -> None:
        """Put the results of a block into the inboxes of its groups, where the condition holds."""
        rest = list(results)
        for inbox, (_, count, conditional) in zip(inboxes, groups, strict=True):
            parts, rest = tuple(rest[:count]), rest[count:]
            if not conditional or bool(rest.pop(0)):
                inbox.append((rank, parts))

    def _reduced(self, value: Value, groups: Any, inboxes: list[list[Message]]) -> tuple[Any, ...]:
        """Return the reduced messages of all groups."""
        kinds = list(value.results)
        parts: tuple[Any, ...] = ()
        for inbox, (reduction, count, _) in zip(inboxes, groups, strict=True):
            parts += self.reduce(reduction, start_values(reduction, kinds[:count]), inbox)
            kinds = kinds[count:]
        return parts

    # -- reductions

    def combine(self, reduction: Reduction, a: Any, b: Any) -> Any:
        """Return a ⊕ b under a monoid that does not select."""
        if reduction.combine is not None:
            return self.run(reduction.combine, Frame(), (a, b))[0]
        return arithmetic.combine(reduction.name, a, b)

    def reduce(
        self, reduction: Reduction, start: tuple[Any, ...], inbox: list[Message]
    ) -> tuple[Any, ...]:
        """Return start ⊕ m1 ⊕ m2 ...; `any` takes a message in place of the start.

        In order, `any` and ties of argmin and argmax take the smallest edge id; shuffled, whichever
        comes first.
        """
        if not inbox:
            return start
        if self.shuffle is None and reduction.selecting:
            inbox = sorted(inbox, key=lambda message: message[0])
        if reduction.name == "any":
            return inbox[0][1]
        if reduction.name == "mode" and len(start) == 2:
            return arithmetic.heaviest([parts for _, parts in inbox])
        if reduction.name == "mode":
            return (arithmetic.most_frequent([parts[0] for _, parts in inbox]),)
        best = start
        for _, parts in inbox:
            if not reduction.selecting:
                best = (self.combine(reduction, best[0], parts[0]),)
            elif arithmetic.improves(reduction.name, parts[0], best[0]):
                best = parts
        return best


def start_values(reduction: Reduction, kinds: Sequence[Any]) -> tuple[Any, ...]:
    """Return the initial values of a gather."""
    parts = [arithmetic.start_of(reduction, dtype, shape) for dtype, shape in kinds]
    if reduction.name in ("argmin", "argmax"):
        parts[1:] = [np.full(shape, payload_identity(d), d)[()] for d, shape in kinds[1:]]
    return tuple(parts)


def random_number(value: Value, key: Any, counter: Any) -> Any:
    """Compute random_bits or random_unit."""
    from weft.arrays import random

    function = random.random_bits if value.op == "random_bits" else random.random_unit
    return value.dtype.type(function(int(key), int(counter)))


def holds_outside(
    block: Block, scalars: dict[str, Any], parameters: dict[str, Any], *, superstep: int, n: int,
    fields: dict[str, Any] | None = None, least: float = -np.inf,
) -> bool:  # fmt: skip
    """Evaluate a condition on scalars, such as `until`, between two runs."""
    known: Any = SimpleNamespace(
        scalars=scalars, parameters=parameters, superstep=superstep, num_vertices=n, refreshing=0,
        now=fields or {}, least=least,
    )  # fmt: skip
    with np.errstate(all="ignore"):
        return Evaluator(known).holds(block, Frame())


def evaluate_arrays(block: Block, load: Callable[[Any], Any]) -> Any:
    """Evaluate a block for all vertices at once.

    Parameters
    ----------
    block
        Elementwise, feature and random ops on loads and constants, with one result.
    load
        Takes the attribute of a load, or ("constant", position) of a lifted constant, and returns
        its values: vertices along the first axis, or one number for all.

    Returns
    -------
    ndarray
        The result, vertices along the first axis; of length 1 if it is the same for all.
    """
    with np.errstate(all="ignore"):
        return _evaluated(block, load)


# Ops that never warn; they make up the conditions evaluated before every run.
_QUIET = frozenset({"const", "constant", "load", "lt", "le", "gt", "ge", "eq", "ne", "bit_and",
                    "bit_or", "bit_xor", "invert", "select", "isnan"})  # fmt: skip


def arrays_evaluator(block: Block) -> Callable[[Callable[[Any], Any]], Any]:
    """Return `evaluate_arrays` of a block, prepared for many calls.

    Examples
    --------
    >>> from weft.ir.ops import Block, Value
    >>> level = Value("load", (), ("field", "v", "level"), np.dtype(np.int64))
    >>> zero = Value("const", (), 0, np.dtype(np.int64))
    >>> less = Value("lt", (level, zero))
    >>> unseen = arrays_evaluator(Block(body=[level, zero, less], results=(less,)))
    >>> unseen(lambda attr: np.array([3, -1]))
    array([False,  True])
    """
    if not all(value.op in _QUIET and not value.shape for value in block.body):
        return partial(evaluate_arrays, block)
    places = {value: place for place, value in enumerate(block.body)}
    start: list[Any] = [None] * len(places)
    loads: list[tuple[int, Any, Any]] = []
    steps: list[tuple[int, Any, list[int], Any]] = []
    for value, place in places.items():
        if value.op == "const":
            start[place] = np.array([value.attr], value.dtype)
        elif value.op in ("load", "constant"):
            attr = value.attr if value.op == "load" else ("constant", value.attr)
            loads.append((place, attr, value.dtype))
        else:
            meaning = np.where if value.op == "select" else arithmetic.OPS[value.op].meaning
            steps.append((place, meaning, [places[a] for a in value.args], value.dtype))
    end = places[block.results[0]]
    numbers: dict[int, tuple[Any, Any]] = {}  # the last one of a load, and it as an array

    def evaluate(load: Callable[[Any], Any]) -> Any:
        values = start.copy()
        for place, attr, dtype in loads:
            loaded = load(attr)
            if not getattr(loaded, "ndim", 0):
                number, array = numbers.get(place, (None, None))
                if number is not loaded:
                    array = np.atleast_1d(loaded).astype(dtype)
                    numbers[place] = loaded, array
                values[place] = array
            else:
                values[place] = loaded if loaded.dtype is dtype else loaded.astype(dtype)
        for place, meaning, operands, dtype in steps:
            found = meaning(*[values[operand] for operand in operands])
            values[place] = found if found.dtype is dtype else found.astype(dtype)
        return values[end]

    return evaluate


def _evaluated(block: Block, load: Callable[[Any], Any]) -> Any:
    values: dict[Value, Any] = {}
    for value in block.body:
        args = [values[operand] for operand in value.args]
        if value.op == "const":
            result = np.array([value.attr], value.dtype)
        elif value.op in ("load", "constant"):
            loaded = load(value.attr if value.op == "load" else ("constant", value.attr))
            if not getattr(loaded, "ndim", 0):
                loaded = np.atleast_1d(loaded)
            result = loaded.astype(value.dtype, copy=False)
        elif value.op in ELEMENTWISE:
            result = arithmetic.elementwise(value, args, axes=1)
        elif value.op in FEATURE:
            result = _one_by_one(value, args)
        elif value.op.startswith("random_"):
            result = random_array(value, *args)
        else:
            raise TraceError(
                f"{value.op} cannot be used here. Expected arithmetic on ids, degrees and "
                f"columns of v; use a vertex function for anything more."
            )
        values[value] = result
    return values[block.results[0]]


def _one_by_one(value: Value, args: Sequence[Any]) -> Any:
    """Compute a feature op for one vertex after another."""
    (count,) = np.broadcast_shapes(*(a.shape[:1] for a in args)) if args else (1,)
    rows = [np.broadcast_to(a, (count, *a.shape[1:])) for a in args]
    result = np.empty((count, *value.shape), value.dtype)
    for i in range(count):
        result[i] = arithmetic.features(value, [row[i] for row in rows])
    return result


def random_array(value: Value, key: Any, counter: Any) -> Any:
    """Compute random_bits or random_unit on arrays of uint64, whose arithmetic wraps."""
    from weft.arrays import random

    def mix(z: Any) -> Any:
        z = (z ^ (z >> np.uint64(30))) * np.uint64(random.MIX_1)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(random.MIX_2)
        return z ^ (z >> np.uint64(31))

    bits = mix(mix(key + np.uint64(random.GAMMA)) ^ (counter * np.uint64(random.STEP)))
    return bits if value.op == "random_bits" else (bits >> np.uint64(11)) * 2.0**-53
