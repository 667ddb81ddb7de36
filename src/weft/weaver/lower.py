"""Lowers blocks of the IR to instructions of the modelled GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from weft.errors import ConfigError
from weft.ir.elementwise import ELEMENTWISE, OPS
from weft.ir.ops import EFFECT, Block, Reduction, Value, total_dtype
from weft.weaver.stream import TYPE, Assembler, Phase

Registers = list[int]
Known = dict[Value, Any]  # the registers of a value's features; for `gather` a tuple of such lists
# How a reduction combines two values in registers.
COMBINE = {"sum": "add", "prod": "mul", "min": "minimum", "max": "maximum", "or": "bit_or",
           "and": "bit_and"}  # fmt: skip
INT = TYPE["int64"]
ATOMICS = frozenset({"sum", "prod", "min", "max", "or", "and", "any"})


def refuse(what: str) -> ConfigError:
    """Return the error for what no instruction stream can do."""
    return ConfigError(
        f"{what} has no form as an instruction stream. Expected elementwise and small feature ops, "
        "loops, live fields, and the monoids sum, prod, min, max, and, or, any, argmin and argmax."
    )


def kind_of(dtype: np.dtype[Any]) -> int:
    """Return the machine's number of a type."""
    return TYPE[dtype.name]


@dataclass
class Site:
    """The context of a block: the registers of vertices, and the available loads.

    Parameters
    ----------
    who
        The registers of the vertices ``u``, ``v``, ``w``.
    owner
        Whether fields of v are read as they are now.
    live
        The fields that the function touches at computed vertices.
    before
        The prefix of the buffers that `active` reads as "before".
    place
        The register with the position of the edge in its format, for columns.
    columns
        Registers of columns that something has loaded already.
    n
        The number of vertices.
    constants
        The values of lifted constants.
    scalars
        The dtypes of the scalars.
    widths
        The number of features of each field.
    """

    who: dict[str, int]
    n: int
    widths: dict[str, int]
    owner: bool = False
    live: frozenset[str] = frozenset()
    before: str = "begin"
    place: int | None = None
    columns: dict[str, int] = field(default_factory=dict)
    constants: Sequence[Any] = ()
    scalars: dict[str, np.dtype[Any]] = field(default_factory=dict)
    changed: list[int] = field(default_factory=list)  # the register of `v.changed`, once it is set
    direct: bool = False  # slots are canonical arcs


def is_steady(value: Value, base: str, known: Known) -> bool:
    """Whether a value is the same for all edges of a row, and may be computed before them."""
    if value.op in EFFECT or value.blocks or value.op.startswith("at_"):
        return False
    if value.op == "load":
        kind, *rest = value.attr
        if kind in ("field", "id", "out_degree", "in_degree"):
            return rest[0] == base
        return kind in ("scalar", "parameter", "superstep", "num_vertices")
    return all(arg in known for arg in value.args)


class Lowering:
    """Writes blocks at a site; `known` holds the registers of what has been computed."""

    def __init__(self, asm: Assembler, site: Site, known: Known | None = None) -> None:
        self.asm, self.site = asm, site
        self.known: Known = {} if known is None else dict(known)

    def block(self, block: Block, arguments: Sequence[Registers] = ()) -> list[Registers]:
        """Write a block; return the registers of its results."""
        self.known.update(zip(block.params, arguments, strict=True))
        for value in block.body:
            if value not in self.known:
                self.known[value] = self._value(value)
        return [self.known[result] for result in block.results]

    def steady(self, block: Block, base: str) -> None:
        """Write what a block computes from the row's vertex alone."""
        for value in block.body:
            if value not in self.known and is_steady(value, base, self.known):
                self.known[value] = self._value(value)

    def _value(self, value: Value) -> Any:
        if value.op in ELEMENTWISE:
            return self._elementwise(value)
        method: Callable[[Value], Any] | None = getattr(self, f"_{value.op}", None)
        if method is None:
            raise refuse(f"the op {value.op!r}")
        return method(value)

    def _args(self, value: Value) -> list[Registers]:
        return [self.known[arg] for arg in value.args]

    # -- elementwise ops, feature by feature

    def _elementwise(self, value: Value) -> Registers:
        grids = [
            np.array(registers, object).reshape(arg.shape)
            for arg, registers in zip(value.args, self._args(value), strict=True)
        ]
        spread = [np.broadcast_to(grid, value.shape).reshape(-1) for grid in grids]
        if value.op == "broadcast":
            return list(spread[0])
        return [self._one(value, [int(r) for r in row]) for row in zip(*spread, strict=True)]

    def _one(self, value: Value, operands: list[int]) -> int:
        first = value.args[0].dtype
        if value.op in ("cast", "bitcast"):
            if value.op == "cast" and first == value.dtype:
                return operands[0]
            kind, imm = kind_of(value.dtype), kind_of(first)
            return self.asm.op(value.op, *operands, kind=kind, imm=imm)
        compares = value.op in OPS and OPS[value.op].group in ("comparison", "predicate")
        counts = value.op in ("popcount", "clz")
        kind = kind_of(first if compares or counts else value.dtype)
        return self.asm.op(value.op, *operands, kind=kind)

    # -- leaves and loads

    def _const(self, value: Value) -> Registers:
        return [self.asm.const(value.attr, kind_of(value.dtype))] * value.size

    def _constant(self, value: Value) -> Registers:
        given = np.broadcast_to(np.asarray(self.site.constants[value.attr]), value.shape)
        return [self.asm.const(x, kind_of(value.dtype)) for x in given.reshape(-1)]

    def _load(self, value: Value) -> Registers:
        kind, *rest = value.attr
        loads = {
            "field": self._field, "column": self._column, "edge_state": self._edge_state,
            "scalar": lambda v, name: [self._scalar(f"scalar.{name}", kind_of(v.dtype))],
            "parameter": self._parameter,
            "id": lambda v, who: [self._as(v, self._vertex(who))],
            "out_degree": lambda v, who: [self._degree_of("out", who, v)],
            "in_degree": lambda v, who: [self._degree_of("in", who, v)],
            "superstep": lambda v: [self._as(v, self._scalar("superstep", INT))],
            "num_vertices": lambda v: [self.asm.const(self.site.n, kind_of(v.dtype))],
            "edge_id": lambda v: [self._numbered("edges")],
        }  # fmt: skip
        if kind not in loads:
            raise refuse(f"the load {value.attr}")
        found: Registers = loads[kind](value, *rest)  # type: ignore[operator]
        return found

    def _vertex(self, who: str) -> int:
        return self.site.who["v" if who == "before" else who]

    def _as(self, value: Value, register: int) -> int:
        if value.dtype.kind != "f":
            return register
        return self.asm.op("cast", register, kind=kind_of(value.dtype), imm=INT)

    def _scalar(self, name: str, kind: int) -> int:
        return self.asm.load(name, self.asm.const(0), kind)

    def _elements(self, name: str, index: int, width: int, kind: int) -> Registers:
        if width == 1:
            return [self.asm.load(name, index, kind)]
        first = self.asm.op("mul", index, self.asm.const(width))
        places = [self.asm.op("add", first, self.asm.const(k)) for k in range(width)]
        return [self.asm.load(name, place, kind) for place in places]

    def _field(self, value: Value, who: str, name: str) -> Registers:
        site = self.site
        if who == "before":
            prefix = site.before
        else:
            prefix = "now" if name in site.live or (who == "v" and site.owner) else "begin"
        index = self._vertex(who)
        return self._elements(f"{prefix}.{name}", index, value.size, kind_of(value.dtype))

    def _parameter(self, value: Value, who: str, name: str) -> Registers:
        zero = self.asm.const(0)
        return self._elements(f"parameter.{name}", zero, value.size, kind_of(value.dtype))

    def _place(self) -> int:
        if self.site.place is None:
            raise refuse("an edge where there is none")
        return self.site.place

    def _column(self, value: Value, who: str, name: str) -> Registers:
        if name in self.site.columns:
            return [self.site.columns[name]]
        with self.asm.within(Phase.EDGE):
            kind = kind_of(value.dtype)
            return self._elements(f"column.{name}", self._place(), value.size, kind)

    def _numbered(self, what: str) -> int:
        with self.asm.within(Phase.EDGE):
            return self.asm.load(what, self._place())

    def _edge_state(self, value: Value, whose: str, name: str) -> Registers:
        if whose != "e":
            raise refuse("the state of the opposite arc")
        arc = self._numbered("arcs")
        return self._elements(f"edge.{name}", arc, value.size, kind_of(value.dtype))

    def _degree_of(self, way: str, who: str, value: Value) -> int:
        return self._as(value, self._row_length(way, self._vertex(who)))

    def _row_length(self, way: str, vertex: int) -> int:
        begin = self.asm.load(f"{way}.offsets", vertex)
        after = self.asm.op("add", vertex, self.asm.const(1))
        return self.asm.op("sub", self.asm.load(f"{way}.offsets", after), begin)

    # -- computed vertices and live fields

    def _degree(self, value: Value) -> Registers:
        return [self._row_length("out", self._args(value)[0][0])]

    def _slot(self, value: Value) -> int:
        (vertex,), (number,) = self._args(value)
        return self.asm.op("add", self.asm.load("out.offsets", vertex), number)

    def _neighbor(self, value: Value) -> Registers:
        return [self.asm.load("out.targets", self._slot(value))]

    def _neighbor_edge(self, value: Value) -> Registers:
        return [self.asm.load("out.edges", self._slot(value))]

    def _at_load(self, value: Value) -> Registers:
        return [self.asm.load(f"now.{value.attr}", self._args(value)[0][0], kind_of(value.dtype))]

    def _at_store(self, value: Value) -> Registers:
        (index,), (new,) = self._args(value)
        self.asm.store(f"now.{value.attr}", index, new, kind_of(value.args[1].dtype))
        return []

    def _at_reduce(self, value: Value) -> Registers:
        from weft.weaver.stream import ATOMIC

        name, monoid = value.attr
        monoid = getattr(monoid, "name", monoid)
        if monoid not in ATOMIC:
            raise refuse(f"the monoid {monoid!r} at a computed vertex")
        (index,), (new,) = self._args(value)
        imm = self.asm.buffer(f"now.{name}") | ATOMIC[monoid] << 16
        return [self.asm.op("atomic", index, new, imm=imm, kind=kind_of(value.args[1].dtype))]

    def _at_cas(self, value: Value) -> Registers:
        (index,), (expected,), (new,) = self._args(value)
        imm = self.asm.buffer(f"now.{value.attr}")
        return [self.asm.op("cas", index, expected, new, imm=imm, kind=kind_of(value.dtype))]

    # -- effects

    def _store(self, value: Value) -> Registers:
        self.put(f"now.{value.attr}", self.site.who["v"], self._args(value)[0], value.args[0])
        return []

    def put(self, name: str, index: int, parts: Registers, like: Value) -> None:
        """Store all features of a value."""
        for place, part in zip(self.places(index, len(parts)), parts, strict=True):
            self.asm.store(name, place, part, kind_of(like.dtype))

    def places(self, index: int, width: int) -> Registers:
        """Return the positions of the features of a vertex or an arc."""
        if width == 1:
            return [index]
        first = self.asm.op("mul", index, self.asm.const(width))
        return [self.asm.op("add", first, self.asm.const(k)) for k in range(width)]

    def _store_edge(self, value: Value) -> Registers:
        self.put(f"edge.{value.attr}", self._numbered("arcs"), self._args(value)[0], value.args[0])
        return []

    def _reduce_scalar(self, value: Value) -> Registers:
        name, reduction = value.attr
        if reduction.name not in ATOMICS or reduction.combine is not None:
            raise refuse(f"a scalar with the monoid {reduction.name!r}")
        dtype = total_dtype(reduction, self.site.scalars[name])
        (register,) = self._args(value)[0]
        given = value.args[0].dtype
        if given != dtype:
            register = self.asm.op("cast", register, kind=kind_of(dtype), imm=kind_of(given))
        zero = self.asm.const(0)
        self.asm.atomic(reduction.name, f"total.{name}", zero, register, kind_of(dtype))
        return []

    def _set_changed(self, value: Value) -> Registers:
        (register,) = self._args(value)[0]
        self.site.changed[:] = [self.asm.copy(register)]
        return []

    # -- control

    def _project(self, value: Value) -> Registers:
        found: Registers = self.known[value.args[0]][value.attr]
        return found

    def _loop(
        self, state: list[Registers], body: Block, head: Callable[[], int], first: Any
    ) -> Any:
        asm = self.asm
        held = [[asm.copy(r) for r in part] for part in state]
        with asm.loop() as exits, asm.scope():
            asm.go_on_while(exits, head_of(self, head, held))
            inner = Lowering(asm, self.site, self.known)
            found = inner.block(body, [*first, *held])
            fresh = [[asm.copy(r) for r in part] for part in found]
            for part, new in zip(held, fresh, strict=True):
                for a, b in zip(part, new, strict=True):
                    asm.move(a, b)
            for step in self._after:
                step()
        return tuple(held)

    _after: tuple[Callable[[], None], ...] = ()

    def _while(self, value: Value) -> Any:
        condition, body = value.blocks
        state = self._args(value)

        def head(held: list[Registers]) -> int:
            return Lowering(self.asm, self.site, self.known).block(condition, held)[0][0]

        return self._loop(state, body, head, ())  # type: ignore[arg-type]

    def _for(self, value: Value) -> Any:
        (start,), (stop,), *state = self._args(value)
        i = self.asm.copy(start)
        one = self.asm.const(1)

        def advance() -> None:
            self.asm.emit("add", i, i, one)

        self._after = (advance,)

        def head(held: list[Registers]) -> int:
            return self.asm.op("lt", i, stop)

        found = self._loop(state, value.blocks[0], head, ([i],))  # type: ignore[arg-type]
        self._after = ()
        return found

    # -- features

    def _stack(self, value: Value) -> Registers:
        return [register for part in self._args(value) for register in part]

    def _index(self, value: Value) -> Registers:
        parts, (number,) = self._args(value)
        width = value.size
        rows = [parts[k : k + width] for k in range(0, len(parts), width)]
        chosen = rows[0]
        for k, row in enumerate(rows[1:], 1):
            here = self.asm.op("eq", number, self.asm.const(k))
            chosen = [self.asm.op("select", here, a, b) for a, b in zip(row, chosen, strict=True)]
        return chosen

    def _sum(self, terms: list[int], kind: int, how: str = "add") -> int:
        total = terms[0]
        for term in terms[1:]:
            total = self.asm.op(how, total, term, kind=kind)
        return total

    def _outer(self, value: Value) -> Registers:
        a, b = self._args(value)
        return [self.asm.op("mul", x, y, kind=kind_of(value.dtype)) for x in a for y in b]

    def _products(self, a: Registers, b: Registers, kind: int) -> int:
        terms = [self.asm.op("mul", x, y, kind=kind) for x, y in zip(a, b, strict=True)]
        return self._sum(terms, kind)

    def _dot(self, value: Value) -> Registers:
        a, b = self._args(value)
        return [self._products(a, b, kind_of(value.dtype))]

    def _matvec(self, value: Value) -> Registers:
        a, x = self._args(value)
        k = len(x)
        kind = kind_of(value.dtype)
        return [self._products(a[i : i + k], x, kind) for i in range(0, len(a), k)]

    def _transpose(self, value: Value) -> Registers:
        grid = np.array(self._args(value)[0]).reshape(value.args[0].shape)
        return [int(r) for r in grid.T.reshape(-1)]

    def _feature_reduce(self, value: Value) -> Registers:
        parts = self._args(value)[0]
        if value.attr not in COMBINE:
            raise refuse(f"a reduction of features by {value.attr!r}")
        return [self._sum(parts, kind_of(value.dtype), COMBINE[value.attr])]

    def _eye(self, value: Value) -> Registers:
        kind = kind_of(value.dtype)
        return [self.asm.const(int(i == j), kind) for i, j in np.ndindex(*value.shape)]

    def _iota(self, value: Value) -> Registers:
        return [self.asm.const(k, kind_of(value.dtype)) for k in range(value.size)]


def head_of(lowering: Lowering, head: Any, held: list[Registers]) -> int:
    """Return the register of a loop's condition."""
    found: int = head(held)
    return found


def check_reduction(reduction: Reduction) -> None:
    """Raise unless messages can be combined by this monoid."""
    known = ATOMICS | {"argmin", "argmax"}
    if reduction.name not in known or reduction.combine is not None:
        raise refuse(f"the monoid {reduction.name!r}")
