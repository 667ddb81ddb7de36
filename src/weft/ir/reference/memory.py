"""The memory of the interpreter: arcs, fields, edge state, scalars."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from weft.ir.ops import LIVE_READ, LIVE_WRITE, Block, Step, total_dtype
from weft.ir.reference.arithmetic import start_of
from weft.ir.request import Array, Request


def differs(a: Any, b: Any) -> bool:
    """Whether two values of one dtype differ bit for bit; NaN equals NaN."""
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.kind == "f":
        bits = np.dtype(f"u{a.dtype.itemsize}")
        unequal = a.view(bits) != b.view(bits)
        return bool(np.any(unequal & ~(np.isnan(a) & np.isnan(b))))
    return bool(np.any(a != b))


def live_fields(block: Block) -> frozenset[str]:
    """Return the fields that a function touches at computed vertices."""
    loaded = {value.attr for value in block.walk() if value.op in LIVE_READ}
    return frozenset(loaded) | live_written_fields(block)


def live_written_fields(block: Block) -> frozenset[str]:
    """Return the fields that a function writes at computed vertices."""
    return frozenset(
        value.attr[0] if value.op == "at_reduce" else value.attr
        for value in block.walk()
        if value.op in LIVE_WRITE
    )


def stored_fields(block: Block) -> frozenset[str]:
    """Return the fields of its own vertex that a function assigns."""
    return frozenset(value.attr for value in block.walk() if value.op == "store")


class Memory:
    """The current state of a run, and its state at the start of the current sweep.

    `now` and `edge_now` are the arrays of the request, changed in place. `begin` and `edge_begin`
    are the visible values of other vertices and arcs until the sweep ends.
    """

    def __init__(self, request: Request) -> None:
        topology = request.topology
        self.topology = topology
        self.num_vertices = topology.num_vertices
        self.superstep = 0
        self.refreshing = 0
        self.least = -np.inf  # no priority of the frontier is below it
        self.now = request.data.fields
        self.edge_now = request.data.edge_fields
        self.scalars = request.data.scalars
        self.parameters = request.data.parameters
        self.constants = request.constants
        self.emits, self.emitted = request.program.emits, request.data.emitted
        self.emitting = 0  # the number of records of an item so far, or the place of the next one
        pairs = request.start.pairs
        self.pairs = None if pairs is None else (pairs[0].tolist(), pairs[1].tolist())
        self.begin: dict[str, Array] = {}
        self.edge_begin: dict[str, Array] = {}
        self.reduced: dict[Step, dict[str, Any]] = {}
        self._column = request.data.column
        self._columns: dict[str, Array] = {}
        self._reverse: Array | None = None
        self._read_arcs()

    def _read_arcs(self) -> None:
        """Build rows from the ends of the canonical arcs."""
        source, target = self.topology.endpoints()
        self.source, self.target = source.tolist(), target.tolist()
        edges = self.topology.edges("in" if self.topology.keep == "in" else "out")
        count = len(self.source)
        self.edge_id: list[int] = list(range(count)) if edges is None else edges.tolist()
        self.out_row: list[list[int]] = [[] for _ in range(self.num_vertices)]
        self.in_row: list[list[int]] = [[] for _ in range(self.num_vertices)]
        for arc in sorted(range(count), key=lambda a: (self.target[a], a)):
            self.out_row[self.source[arc]].append(arc)
        for arc in sorted(range(count), key=lambda a: (self.source[a], a)):
            self.in_row[self.target[arc]].append(arc)
        self.rank = [0] * count
        for row in self.in_row if self.topology.keep == "in" else self.out_row:
            for position, arc in enumerate(row):
                self.rank[arc] = position

    def reverse(self, arc: int) -> int:
        """Return the opposite arc."""
        if self._reverse is None:
            self._reverse = self.topology.reverse_arcs()
        return int(self._reverse[arc])

    def column(self, name: str, arc: int) -> Any:
        """Return the value of an edge column at an arc."""
        return self.edge_column(name, self.edge_id[arc])

    def edge_column(self, name: str, edge: int) -> Any:
        """Return the value of an edge column at an edge id."""
        if name not in self._columns:
            self._columns[name] = self._column(name, "edge")
        return self._columns[name][edge]

    # -- sweeps

    def begin_sweep(self) -> None:
        """Save the state for reads until the sweep ends."""
        self.begin = {name: array.copy() for name, array in self.now.items()}
        self.begin_arcs()

    def begin_arcs(self) -> None:
        """Save the state of the arcs for reads from opposite arcs."""
        self.edge_begin = {name: array.copy() for name, array in self.edge_now.items()}

    def start_scalars(self, steps: Iterable[Step]) -> None:
        """Start the scalars that some steps reduce from their identities."""
        self.reduced = {}
        for step in steps:
            totals = self.reduced[step] = {}
            for value in step.body.walk():
                if value.op == "reduce_scalar":
                    name, reduction = value.attr
                    dtype = total_dtype(reduction, self.scalars[name].dtype)
                    totals[name] = start_of(reduction, dtype)

    def publish_scalars(self) -> None:
        """Make the reduced scalars visible; of several steps that reduce one, the last counts."""
        for totals in self.reduced.values():
            for name, value in totals.items():
                self.scalars[name][0] = value

    def row(self, vertex: int) -> dict[str, Any]:
        """Return a copy of all fields of a vertex."""
        return {name: np.array(array[vertex])[()] for name, array in self.now.items()}

    def keep_old(self, vertex: int, before: dict[str, Any], names: Iterable[str]) -> None:
        """Record the earlier values of the fields that this step changed at a vertex."""
        for name in names:
            if f"old.{name}" in self.now and differs(before[name], self.now[name][vertex]):
                self.now[f"old.{name}"][vertex] = before[name]
