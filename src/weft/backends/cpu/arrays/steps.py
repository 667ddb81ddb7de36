"""Carries out one step on whole arrays: an edge function at all its arcs, a vertex function at all

its vertices. A step here is a sweep of its own; folds of several functions are compiled.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from weft.backends.cpu.arrays.blocks import Blocks, Scope, knows
from weft.backends.cpu.arrays.reductions import REDUCTIONS, reduce_rows
from weft.backends.cpu.arrays.rows import Array, Rows
from weft.ir.check.facts import facts_of
from weft.ir.ops import Step, step_blocks, total_dtype
from weft.ir.reference.arithmetic import start_of
from weft.ir.reference.sweeps import message_groups
from weft.ir.request import Data


def knows_step(step: Step, fields: dict[str, Any]) -> bool:
    """Whether a step can be carried out here, on fields of these dtypes and shapes."""
    facts = facts_of(step)
    if facts.live or step.folded or step.joined or step.hoisted:
        return False
    if any(r.name not in REDUCTIONS or r.name == "mode" for r in step.reductions):
        return False
    if any(r.selecting for r in step.reductions) and any(fields[n][1] for n in step.into):
        return False
    return all(knows(block) for block in step_blocks(step))


def differ(a: Array, b: Array) -> Array:
    """Whether items of two arrays differ bit for bit; NaN equals NaN."""
    unequal = a != b
    if a.dtype.kind == "f":
        bits = np.dtype(f"u{a.dtype.itemsize}")
        unequal = (a.view(bits) != b.view(bits)) & ~(np.isnan(a) & np.isnan(b))
    return unequal.any(axis=tuple(range(1, a.ndim)))


class Steps:
    """Runs steps on the arrays of a request. A frontier is an array of vertices, None for all."""

    def __init__(self, rows: Rows, data: Data) -> None:
        self.rows, self.data = rows, data
        self.blocks = Blocks(rows, data)
        self.everything = np.arange(rows.num_vertices)

    def run(self, steps: Iterable[Step], frontier: Array | None) -> Array | None:
        """Run steps one after another; return what the last one puts out."""
        for step in steps:
            totals = self._start_scalars(step)
            places = None if step.everywhere else frontier
            function = self._edges if step.kind == "edge" else self._vertices
            frontier = function(step, places, totals)
            for name, value in totals.items():
                self.data.scalars[name][0] = value[0]
        return frontier

    def _start_scalars(self, step: Step) -> dict[str, Any]:
        totals = {}
        for value in step.body.walk():
            if value.op == "reduce_scalar":
                name, reduction = value.attr
                dtype = total_dtype(reduction, self.data.scalars[name].dtype)
                totals[name] = np.full(1, start_of(reduction, dtype))
        return totals

    # -- edge functions

    def _senders(self, step: Step, frontier: Array | None) -> tuple[Array, Array, Array]:
        """Return u, v and the arc wherever an edge step runs."""
        source, target = self.rows.ends if step.along == "out" else self.rows.ends[::-1]
        if frontier is None:
            return source, target, np.arange(self.rows.num_arcs)
        if self.rows.primary == "out" == step.along:
            _, far, arcs = self.rows.expand("out", frontier)
            return source[arcs], far, arcs
        member = np.zeros(self.rows.num_vertices, bool)
        member[frontier] = True
        arcs = np.flatnonzero(member[source])
        return source[arcs], target[arcs], arcs

    def _edges(self, step: Step, frontier: Array | None, totals: dict[str, Any]) -> Array:
        u, v, arcs = self._senders(step, frontier)
        if step.accept is not None:
            accepted = self.blocks.holds(step.accept, Scope(len(v), {"v": v}))
            u, v, arcs = u[accepted], v[accepted], arcs[accepted]
        scope = Scope(len(v), {"u": u, "v": v}, arcs, totals=totals)
        messages = self.blocks.run(step.body, scope)
        for name, values in scope.own.items():
            self.data.edge_fields[name][arcs] = values
        if step.conditional:
            sent: Any = messages[-1]
            if not step.sends_always:
                v, arcs = v[sent], arcs[sent]
                messages = [message[sent] for message in messages]
        return self._deliver(step, v, arcs, messages)

    def _deliver(self, step: Step, v: Array, arcs: Array, messages: list[Array]) -> Array:
        """Combine messages with the fields of their targets; return the active targets."""
        targets = np.unique(v)
        fields, position = self.data.fields, 0
        before = {name: fields[name][targets] for name in step.into}
        for reduction, count in message_groups(step):
            part = slice(position, position + count)
            arrays = [fields[name] for name in step.into[part]]
            reduce_rows(reduction, arrays, v, messages[part], self.rows.edge_ids[arcs])
            position += count
        changed = {name: differ(before[name], fields[name][targets]) for name in step.into}
        for name, mask in changed.items():
            self._keep_old(name, targets[mask], before[name][mask])
        if step.active is not None:
            others = {name: array[targets] for name, array in fields.items() if name not in before}
            scope = Scope(len(targets), {"v": targets}, before=others | before)
            return targets[self.blocks.holds(step.active, scope)]
        return targets[np.logical_or.reduce(list(changed.values()))] if changed else targets

    def _keep_old(self, name: str, places: Array, before: Array) -> None:
        kept = self.data.fields.get(f"old.{name}")
        if kept is not None:
            kept[places] = before

    # -- vertex functions

    def _vertices(self, step: Step, frontier: Array | None, totals: dict[str, Any]) -> Array:
        places = self.everything if frontier is None else frontier
        fields = self.data.fields
        before = {name: array[places] for name, array in fields.items()}
        scope = Scope(len(places), {"v": places}, totals=totals)
        results = self.blocks.run(step.body, scope)
        moved = {name: differ(before[name], new) for name, new in scope.own.items()}
        for name, new in scope.own.items():
            fields[name][places] = new
            self._keep_old(name, places[moved[name]], before[name][moved[name]])
        if step.active is not None:
            after = Scope(len(places), {"v": places}, before=before)
            output = self.blocks.holds(step.active, after)
        elif scope.changed is not None:
            output = scope.changed
        elif step.conditional:
            output = results[0]
        else:
            output = np.zeros(len(places), bool)
            for mask in moved.values():
                output = output | mask
        return places[output]
