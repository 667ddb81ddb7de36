"""Evaluates blocks of the IR at many arcs or vertices at once.

A value is an array with the items along its first axis, of length 1 where it is the same for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from weft.backends.cpu.arrays.reductions import REDUCTIONS, reduce_rows
from weft.backends.cpu.arrays.rows import Array, Rows
from weft.ir.elementwise import ELEMENTWISE
from weft.ir.ops import Block, Reduction, Value
from weft.ir.reference import arithmetic
from weft.ir.reference.evaluate import random_array, start_values
from weft.ir.request import Data

OPS = frozenset({
    "const", "load", "degree", "neighbor", "neighbor_edge", "random_bits", "random_unit",
    "store", "store_edge", "reduce_scalar", "set_changed", "gather", "project",
}) | ELEMENTWISE  # fmt: skip


class OutOfRangeError(Exception):
    """An index left its range: the compiled kernel is to report where."""


def knows(block: Block) -> bool:
    """Whether every instruction of a block can be evaluated here."""
    return all(value.op in OPS and _knows(value) for value in block.walk())


def _knows(value: Value) -> bool:
    if value.op == "gather":
        parts = iter(value.results)
        for reduction, count, _ in value.attr[1]:
            kinds = [next(parts) for _ in range(count)]
            if reduction.name not in REDUCTIONS or (reduction.selecting and kinds[0][1]):
                return False
            if reduction.name == "mode" and kinds[0][0].kind == "f":
                return False
    if value.op == "reduce_scalar":
        return value.attr[1].name in REDUCTIONS and not value.attr[1].selecting
    return value.op != "load" or value.attr[0] != "refreshing"


@dataclass
class Scope:
    """The items that a block is evaluated at, and what is known there.

    Attributes
    ----------
    count
        Number of items.
    index
        The vertices u and v of each item.
    arcs
        The canonical arc of each item.
    parent, owner
        The scope around a gather, and the item of it that each item belongs to.
    own
        Fields of v, and edge state of the arc, as assigned so far.
    before
        Fields of v before the step, for `active`.
    totals
        Scalars as reduced so far.
    changed
        What was assigned to `v.changed`.
    """

    count: int
    index: dict[str, Array]
    arcs: Array | None = None
    parent: Scope | None = None
    owner: Any = None
    own: dict[str, Array] = field(default_factory=dict)
    before: dict[str, Array] = field(default_factory=dict)
    totals: dict[str, Any] = field(default_factory=dict)
    changed: Array | None = None
    values: dict[Value, Any] = field(default_factory=dict)

    def find(self, value: Value) -> Any:
        """Return a value computed here or in a scope around."""
        found = self.values.get(value)
        if found is None:
            assert self.parent is not None
            found = self.values[value] = self.spread(self.parent.find(value))
        return found

    def spread(self, found: Any) -> Any:
        """Return values of the items around at the items here."""
        if isinstance(found, tuple):
            return tuple(self.spread(part) for part in found)
        return found if len(found) == 1 else found[self.owner]

    def filled(self, array: Array) -> Array:
        """Return a value with one row for each item."""
        if len(array) == self.count:
            return array
        return np.broadcast_to(array, (self.count, *array.shape[1:]))


class Blocks:
    """Evaluates blocks on the arrays of a request."""

    def __init__(self, rows: Rows, data: Data) -> None:
        self.rows, self.data = rows, data
        self.superstep = 0

    def run(self, block: Block, scope: Scope) -> list[Array]:
        """Evaluate a block; return its results, one row for each item."""
        for value in block.body:
            if value.op in ELEMENTWISE:
                args = [scope.find(operand) for operand in value.args]
                result = arithmetic.elementwise(value, args, axes=1)
            else:
                result = getattr(self, f"_{value.op}")(value, scope)
            if result is not None:
                scope.values[value] = result
        return [scope.filled(scope.find(result)) for result in block.results]

    def holds(self, block: Block, scope: Scope) -> Array:
        """Evaluate a block with one condition."""
        return self.run(block, scope)[0]

    # -- leaves and loads

    def _const(self, value: Value, scope: Scope) -> Any:
        return np.full((1, *value.shape), value.attr, value.dtype)

    def _load(self, value: Value, scope: Scope) -> Any:
        kind, *rest = value.attr
        if kind == "field":
            return self._field(scope, *rest)
        if kind == "old":
            return self._field(scope, rest[0], f"old.{rest[1]}")
        loaded = getattr(self, f"_load_{kind}")(scope, *rest)
        return np.atleast_1d(loaded).astype(value.dtype, copy=False)

    def _field(self, scope: Scope, who: str, name: str) -> Array:
        if who == "before":
            return scope.before[name]
        if who == "v":
            if scope.parent is not None:
                return scope.spread(self._field(scope.parent, who, name))
            if name in scope.own:
                return scope.own[name]
        return self.data.fields[name][scope.index[who]]

    def _load_column(self, scope: Scope, _: str, name: str) -> Array:
        return self.data.column(name, "edge")[self.rows.edge_ids[scope.arcs]]

    def _load_edge_state(self, scope: Scope, who: str, name: str) -> Array:
        if who == "e" and name in scope.own:
            return scope.own[name]
        arcs = scope.arcs if who == "e" else self.rows.reverse[scope.arcs]
        return self.data.edge_fields[name][arcs]

    def _load_scalar(self, scope: Scope, name: str) -> Any:
        return self.data.scalars[name]

    def _load_parameter(self, scope: Scope, _: str, name: str) -> Any:
        return self.data.parameters[name][None]

    def _load_id(self, scope: Scope, who: str) -> Any:
        return scope.index["v" if who == "before" else who]

    def _load_out_degree(self, scope: Scope, who: str) -> Any:
        return self.rows.degrees["out"][scope.index[who]]

    def _load_in_degree(self, scope: Scope, who: str) -> Any:
        return self.rows.degrees["in"][scope.index[who]]

    def _load_edge_id(self, scope: Scope) -> Any:
        return self.rows.edge_ids[scope.arcs]

    def _load_rank(self, scope: Scope) -> Any:
        return self.rows.ranks[scope.arcs]

    def _load_superstep(self, scope: Scope) -> Any:
        return self.superstep

    def _load_num_vertices(self, scope: Scope) -> Any:
        return self.rows.num_vertices

    # -- computed vertices

    def _degree(self, value: Value, scope: Scope) -> Any:
        return self.rows.degrees["out"][self._vertices(value, scope)].astype(np.int64, copy=False)

    def _neighbor(self, value: Value, scope: Scope) -> Any:
        targets = self.rows.topology.adjacency("out").targets
        return targets[self._slots(value, scope)].astype(np.int64, copy=False)

    def _neighbor_edge(self, value: Value, scope: Scope) -> Any:
        slots = self._slots(value, scope)
        edges = self.rows.topology.edges("out")
        return (slots if edges is None else edges[slots]).astype(np.int64, copy=False)

    def _vertices(self, value: Value, scope: Scope) -> Array:
        found: Array = scope.find(value.args[0])
        if len(found) and not (found.min() >= 0 and found.max() < self.rows.num_vertices):
            raise OutOfRangeError
        return found

    def _slots(self, value: Value, scope: Scope) -> Array:
        x, i = self._vertices(value, scope), scope.find(value.args[1])
        if not np.all((i >= 0) & (i < self.rows.degrees["out"][x])):
            raise OutOfRangeError
        slots: Array = self.rows.topology.adjacency("out").offsets[x] + i
        return slots

    def _random_bits(self, value: Value, scope: Scope) -> Any:
        return random_array(value, *(scope.find(operand) for operand in value.args))

    _random_unit = _random_bits

    # -- effects

    def _store(self, value: Value, scope: Scope) -> None:
        self._assign(value, scope, self.data.fields[value.attr].dtype)

    def _store_edge(self, value: Value, scope: Scope) -> None:
        self._assign(value, scope, self.data.edge_fields[value.attr].dtype)

    def _assign(self, value: Value, scope: Scope, dtype: Any) -> None:
        assigned = scope.find(value.args[0]).astype(dtype, copy=False)
        scope.own[value.attr] = scope.filled(assigned)

    def _reduce_scalar(self, value: Value, scope: Scope) -> None:
        name, reduction = value.attr
        total = scope.totals[name]
        message = scope.filled(scope.find(value.args[0]))
        reduce_rows(reduction, [total], np.zeros(scope.count, np.intp), [message], None)

    def _set_changed(self, value: Value, scope: Scope) -> None:
        scope.changed = scope.filled(scope.find(value.args[0]))

    # -- gathers

    def _project(self, value: Value, scope: Scope) -> Any:
        return scope.find(value.args[0])[value.attr]

    def _gather(self, value: Value, scope: Scope) -> tuple[Array, ...]:
        direction, groups = value.attr
        ways: tuple[Any, ...] = ("in", "out") if direction == "both" else (direction,)
        parts = [self.rows.expand(way, scope.index["v"]) for way in ways]
        owner, far, arcs = parts[0]
        if len(parts) > 1:
            owner, far, arcs = (np.concatenate(ends) for ends in zip(*parts, strict=True))
        index = {"v": scope.index["v"][owner], "u": far}
        inner = Scope(len(owner), index, arcs, scope, owner)
        results = self.run(value.blocks[0], inner)
        ids, kinds = self.rows.edge_ids[arcs], list(value.results)
        gathered: list[Array] = []
        for reduction, count, conditional in groups:
            messages, results = results[:count], results[count:]
            kept: Any = slice(None)
            if conditional:
                kept, results = results[0], results[1:]
            totals = _identities(reduction, kinds[:count], scope.count)
            reduce_rows(reduction, totals, owner[kept], [m[kept] for m in messages], ids[kept])
            kinds, gathered = kinds[count:], gathered + totals
        return tuple(gathered)


def _identities(reduction: Reduction, kinds: Sequence[Any], count: int) -> list[Array]:
    starts = zip(start_values(reduction, kinds), kinds, strict=True)
    return [np.full((count, *shape), start, dtype) for start, (dtype, shape) in starts]
