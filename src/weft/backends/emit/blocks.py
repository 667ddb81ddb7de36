"""Blocks of IR as statements: what does not depend on the language that they are written in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from weft.ir.elementwise import ELEMENTWISE
from weft.ir.ops import (
    EMIT,
    FEATURE,
    LIVE_WRITE,
    Block,
    Reduction,
    Shape,
    Value,
    identity_of,
    payload_identity,
)

LEAVES = ("const", "constant", "param")

# The method that renders an op; elementwise ones, of which more may be declared, have one of all.
_METHODS = {
    **dict.fromkeys(FEATURE, "_feature"),
    **dict.fromkeys(
        ("degree", "neighbor", "neighbor_edge", "has_edge", "find_edge", "column_at"), "_computed"
    ),
    **dict.fromkeys(("gather", "gather_by"), "_gather"),
    **dict.fromkeys(("random_bits", "random_unit"), "_random"),
    **dict.fromkeys(EMIT, "_emit"),
    **dict.fromkeys(LIVE_WRITE, "_live_write"),
    **dict.fromkeys(("store", "store_edge", "reduce_scalar", "set_changed"), "_effect"),
    "at_load": "_live_load",
    "common": "_common",
    "cond": "_cond",
    "field_at": "_field_at",
    "for": "_for",
    "load": "_load",
    "project": "_project",
    "while": "_while",
}


@dataclass
class Scope:
    """Where a block is rendered: what the loads mean, and where faults are reported."""

    load: Callable[[Value], Any]
    site: Any = None
    live: set[str] = field(default_factory=set)
    function: int = 0
    vertex: str = "v"
    gather: Callable[[Value, Any], list[Any]] | None = None
    placed: Callable[[str, str], Any] | None = None  # the site of a computed vertex v
    emits: str = ""  # what a program that emits does, see `Program`
    taken: str = ""  # the condition of a record, where a walk writes one at every step
    filled: frozenset[int] = frozenset()  # the parts of records that are written after a walk

    def at(self, site: Any) -> Self:
        """Return the scope of an inner loop, whose loads mean what a site says."""
        return replace(self, load=site.load, site=site, gather=None, placed=None)


class BlockRenderer(ABC):
    """Renders the instructions of one function; a generator says how each kind is written.

    An operand is what a generator makes of a value: text, or a record of where its features lie.
    """

    def __init__(self, out: Any, args: Any, scope: Any) -> None:
        self.out = out  # an `Emitter`
        self.args = args  # the `Arguments`
        self.scope = scope
        self.known: dict[int, Any] = {}  # operands by the id of their value
        self.parts: dict[int, list[Any]] = {}  # those of values with several results
        self.counts: dict[int, int] = {}  # uses, so that values used once can be inlined
        self.stores: dict[str, tuple[Value, Any]] = {}
        self.begun: dict[str, Any] = {}  # live fields of v as they were before the function
        self.assigned: dict[str, Any] = {}  # and what the function assigned to them last
        self.edge_stores: dict[str, tuple[Value, Any]] = {}
        self.reduced: list[tuple[str, Reduction, Any, np.dtype[Any]]] = []
        self.changed: Any = None

    # -- operands

    def operand(self, value: Value) -> Any:
        """Return the operand of a value that was rendered, or of a leaf."""
        known = self.known.get(id(value))
        if known is not None:
            return known
        if value.op == "const":
            return self.literal(value.attr, value.dtype)
        if value.op == "constant":
            return self.loaded_constant(self.args.use("constant", value.attr, value.dtype), value)
        raise KeyError(f"{value!r} was not rendered")

    @abstractmethod
    def scalar(self, value: Value) -> str:
        """Return a scalar operand."""

    @abstractmethod
    def literal(self, number: Any, dtype: np.dtype[Any]) -> str:
        """Return a number as a literal."""

    def loaded_constant(self, text: str, value: Value) -> str:
        """Return a constant as it is used, from its argument."""
        return text

    @abstractmethod
    def hold(self, operand: Any, dtype: np.dtype[Any], shape: Shape = ()) -> Any:
        """Return the operand as something that keeps its value."""

    @abstractmethod
    def test(self, condition: Any) -> str:
        """Return the head of what is done where a condition holds."""

    def only_if(self, condition: Any | None) -> AbstractContextManager[None]:
        """Return a block that runs where a condition holds; always without one."""
        return nullcontext() if condition is None else self.out.block(self.test(condition))

    def identity(self, reduction: Reduction, dtype: np.dtype[Any], payload: bool = False) -> str:
        """Return the identity of a reduction as a literal."""
        value = payload_identity(dtype) if payload else identity_of(reduction, dtype)
        return self.literal(value, dtype)

    # -- blocks

    @abstractmethod
    def prepare(self, block: Block) -> None:
        """Look at the uses of values in a block before it is rendered."""

    def run(self, values: Iterable[Value]) -> None:
        """Render instructions in order."""
        for value in values:
            if id(value) not in self.known and value.op not in LEAVES:
                name = "_elementwise" if value.op in ELEMENTWISE else _METHODS[value.op]
                getattr(self, name)(value)

    def block(self, block: Block) -> list[Any]:
        """Render a whole block and return its results."""
        self.prepare(block)
        self.run(block.body)
        return [self.operand(result) for result in block.results]

    def _project(self, value: Value) -> None:
        self.known[id(value)] = self.parts[id(value.args[0])][value.attr]

    def _gather(self, value: Value) -> None:
        self.parts[id(value)] = self.scope.gather(value, self)

    def _field_at(self, value: Value) -> None:
        load = Value("load", (), ("field", "v", value.attr), value.dtype, value.shape)
        place = self.checked(value.args[0])
        placed = self.scope.placed
        site = placed(place, value.attr) if placed is not None else self.scope.site
        self.known[id(value)] = self.hold(site.load(load), value.dtype, value.shape)

    def _params(self, block: Block, state: list[Any], first: int = 0) -> None:
        for param, operand in zip(block.params[first:], state, strict=True):
            self.known[id(param)] = operand

    # -- effects

    @abstractmethod
    def checked(self, value: Value, count: str = "") -> str:
        """Return a computed vertex as an index, after a check against the number of vertices."""

    def own_index(self, value: Value) -> str:
        """Return the index of a vertex that is at hand, where its id would have to be looked up."""
        while value.op == "cast":
            value = value.args[0]
        known = self.args.renumbered and value.op == "load" and value.attr[0] == "id"
        return str(self.scope.site.index[value.attr[1]]) if known else ""

    def _effect(self, value: Value) -> None:
        operand = self.operand(value.args[0])
        if value.op == "store" and value.attr in self.scope.live:
            if value.attr in self.begun:
                operand = self.assigned[value.attr] = self.hold(operand, value.dtype)
            self.store_live(value, str(operand))
            return
        held = self.hold(operand, value.dtype, value.shape)
        if value.op == "store":
            self.stores[value.attr] = (value, held)
        elif value.op == "store_edge":
            self.edge_stores[value.attr] = (value, held)
        elif value.op == "reduce_scalar":
            name, reduction = value.attr
            self.reduced.append((name, reduction, held, value.dtype))
        else:
            self.changed = held

    @abstractmethod
    def store_live(self, value: Value, operand: str) -> None:
        """Write an own field that others may read in the same superstep."""

    # -- reductions

    def folded(self, reduction: Reduction, operands: Iterable[str]) -> str:
        """Return two scalars combined by the statements of a user's monoid."""
        block = reduction.combine
        assert block is not None
        for param, operand in zip(block.params, operands, strict=True):
            self.known[id(param)] = operand
        for value in block.walk():
            self.known.pop(id(value), None)
        (result,) = self.block(block)
        return str(result)
