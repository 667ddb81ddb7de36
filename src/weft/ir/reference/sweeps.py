"""Carries out steps arc by arc and vertex by vertex: the meaning of edge and vertex functions.

A *sweep* is what runs between two barriers: one step, or an edge run of a
fold together with the vertex run after it. Within a sweep

- an edge function reads every vertex as it was when the sweep began; its messages are combined with
  what the fields of v hold at its end;
- a vertex function reads its own v as it is now and every other vertex as it was when the sweep
  began (also where an arc leads from v back to itself);
- scalars read as when the run of edge or vertex functions began, and are set at its end.

An edge run that follows a vertex run of the same fold begins a new sweep: its sources have just
been written. A vertex run after that still sees other vertices as they were when the fold began.
"""

from __future__ import annotations

import random as python_random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weft.errors import FaultError
from weft.ir.ops import Block, Reduction, Step
from weft.ir.reference.arithmetic import Fault
from weft.ir.reference.evaluate import Evaluator, Frame, Message
from weft.ir.reference.memory import (
    Memory,
    differs,
    live_fields,
    live_written_fields,
    stored_fields,
)


@dataclass(frozen=True)
class Members:
    """A frontier: sorted vertices, or arcs."""

    items: tuple[int, ...]
    arcs: bool = False

    def __len__(self) -> int:
        return len(self.items)


def cut_into_sweeps(steps: Sequence[Step]) -> list[list[Step]]:
    """Cut steps at the barriers between them."""
    sweeps: list[list[Step]] = []
    for step in steps:
        last = sweeps[-1][-1].kind if sweeps else ""
        if step.folded and (last == step.kind or (last, step.kind) == ("edge", "vertex")):
            sweeps[-1].append(step)
        else:
            sweeps.append([step])
    return sweeps


def message_groups(step: Step) -> list[tuple[Reduction, int]]:
    """Return the reductions of an edge step, each with the number of its fields."""
    if len(step.reductions) == 1 and step.reductions[0].selecting:
        return [(step.reductions[0], len(step.into))]
    return [(reduction, 1) for reduction in step.reductions]


class Sweeper:
    """Runs steps on a memory; with `shuffle`, arcs and vertices are visited in random order."""

    def __init__(self, memory: Memory, shuffle: python_random.Random | None = None) -> None:
        self.memory = memory
        self.evaluator = Evaluator(memory, shuffle)
        self._live: dict[Block, frozenset[str]] = {}
        self._remaining: frozenset[int] | None = None  # by a step that shrinks; all before it ran

    def all_vertices(self) -> Members:
        """Return the frontier of all vertices."""
        return Members(tuple(range(self.memory.num_vertices)))

    def run(self, steps: Sequence[Step], frontier: Members) -> Members:
        """Run steps one after another; return the output of the last one."""
        fold_began = self.memory.begin
        for sweep in cut_into_sweeps(steps):
            self.memory.begin_sweep()
            if not sweep[0].folded:
                fold_began = self.memory.begin
            for kind, run in (("edge", self._run_edges), ("vertex", self._run_vertices)):
                functions = [step for step in sweep if step.kind == kind]
                if kind == "vertex":
                    self.memory.begin = fold_began
                    self.memory.begin_arcs()  # edge functions are done with all arcs
                if functions:
                    self.memory.start_scalars(functions)
                    for step in functions:
                        self._fill_hoisted(step)
                    frontier = run(functions, frontier)
                    self.memory.publish_scalars()
        return frontier

    def _fill_hoisted(self, step: Step) -> None:
        for name, block in step.hoisted:
            values = [
                self.evaluator.run(block, Frame(u=u))[0] for u in range(self.memory.num_vertices)
            ]
            result = block.results[0]
            shape = (self.memory.num_vertices, *result.shape)
            self.memory.begin[name] = np.array(values, result.dtype).reshape(shape)

    def live(self, block: Block) -> frozenset[str]:
        """Return the fields that are live in a function."""
        if block not in self._live:
            self._live[block] = live_fields(block)
        return self._live[block]

    def _call(self, step: Step, block: Block, frame: Frame) -> tuple[object, ...]:
        try:
            return self.evaluator.run(block, frame)
        except Fault as fault:
            line = f", at {fault.line}" if fault.line else ""
            raise FaultError(
                f"{fault}, in {step.name} at vertex {frame.v}{line}. Expected every index, "
                "loop and matrix of a program to be valid wherever it runs; guard what is not."
            ) from None

    # -- edge functions

    def _active_arcs(self, step: Step, frontier: Members) -> list[int]:
        if step.everywhere and not self.memory.pairs:
            return list(range(len(self.memory.source)))
        if frontier.arcs:
            return list(frontier.items)
        members, (sources, _) = set(frontier.items), self._ends(step)
        return [arc for arc, source in enumerate(sources) if source in members]

    def _ends(self, step: Step) -> tuple[list[int], list[int]]:
        """Return u and v of every arc, as an edge function sees them."""
        ends = self.memory.pairs or (self.memory.source, self.memory.target)
        return ends if step.along == "out" else ends[::-1]

    def _run_edges(self, steps: Sequence[Step], frontier: Members) -> Members:
        """Sweep once over the active arcs, applying the functions in order at each arc."""
        memory = self.memory
        inboxes: list[dict[int, list[Message]]] = [defaultdict(list) for _ in steps]
        sources, targets = self._ends(steps[0])
        for arc in self.evaluator.order(self._active_arcs(steps[0], frontier)):
            u, v = sources[arc], targets[arc]
            for step, inbox in zip(steps, inboxes, strict=True):
                if step.accept is not None:
                    accepting = Frame(v=v, live=self.live(step.accept))
                    if not self._call(step, step.accept, accepting)[0]:
                        break
                totals = memory.reduced[step]
                frame = Frame(u=u, v=v, arc=arc, live=self.live(step.body), totals=totals)
                results = self._call(step, step.body, frame)
                holds = not step.conditional or results[-1]
                if holds or step.sends_always:
                    number = arc if memory.pairs else memory.edge_id[arc]
                    inbox[v].append((number, results[: len(step.into)]))
                if not holds:
                    break
        for step, inbox in zip(steps, inboxes, strict=True):
            for v, messages in inbox.items():
                self._deliver(step, v, messages)
        fields = [name for name in memory.now if f"old.{name}" in memory.now]
        for v in range(memory.num_vertices if fields else 0):
            memory.keep_old(v, self._at_begin(v), fields)
        last, inbox = steps[-1], inboxes[-1]
        return Members(tuple(v for v in sorted(inbox) if self._is_active_target(last, v)))

    def _deliver(self, step: Step, v: int, messages: list[Message]) -> None:
        """Combine the messages to v with the values of its fields."""
        position = 0
        for reduction, count in message_groups(step):
            part = slice(position, position + count)
            names = step.into[part]
            start = tuple(np.array(self.memory.now[name][v])[()] for name in names)
            inbox = [(edge, parts[part]) for edge, parts in messages]
            combined = self.evaluator.reduce(reduction, start, inbox)
            for name, value in zip(names, combined, strict=True):
                self.memory.now[name][v] = value
            position += count

    def _at_begin(self, v: int) -> dict[str, object]:
        return {name: np.array(array[v])[()] for name, array in self.memory.begin.items()}

    def _is_active_target(self, step: Step, v: int) -> bool:
        if step.active is not None:
            return self._test_active(step, step.active, v, self._at_begin(v))
        if not step.into:
            return True
        memory = self.memory
        return any(differs(memory.begin[name][v], memory.now[name][v]) for name in step.into)

    def _test_active(self, step: Step, block: Block, v: int, before: dict[str, object]) -> bool:
        frame = Frame(v=v, owner=True, live=self.live(block), before=before)
        return bool(self._call(step, block, frame)[0])

    # -- vertex functions

    def _run_vertices(self, steps: Sequence[Step], frontier: Members) -> Members:
        """At each vertex, run one function after another."""
        memory = self.memory
        if steps[0].everywhere:
            places: Sequence[int] = range(memory.num_vertices)
        elif frontier.arcs:
            places = sorted({memory.target[arc] for arc in frontier.items})
        else:
            places = frontier.items
        blocks = [block for step in steps for block in (step.body, step.active) if block]
        live = frozenset().union(*(self.live(block) for block in blocks))
        kept = [name for name in live if f"old.{name}" in memory.now]
        entry = {name: memory.now[name].copy() for name in kept}
        output = []
        for v in self.evaluator.order(places):
            for step in steps:
                before = memory.row(v)
                totals = memory.reduced[step]
                frame = Frame(v=v, owner=True, live=self.live(step.body), totals=totals)
                results = self._call(step, step.body, frame)
                memory.keep_old(v, before, stored_fields(step.body) - live)
                holds = bool(results[0]) if step.conditional else True
                if step is steps[-1] and self._is_active_after(step, frame, before, holds):
                    output.append(v)
                if not holds:
                    break
        for v in range(memory.num_vertices if kept else 0):
            memory.keep_old(v, {name: entry[name][v] for name in kept}, kept)
        if steps[0].shrinks:
            self._shrink(steps[0], frozenset(output))
        return Members(tuple(sorted(output)))

    def _shrink(self, step: Step, found: frozenset[int]) -> None:
        """Keep what a step that shrinks put out; raise if it was left out before."""
        again = set() if self._remaining is None else found - self._remaining
        if again:
            raise FaultError(
                f"{step.name} put out vertex {min(again)}, for which it returned False in a round "
                f"before. shrinks=True promises that this does not happen: return True for every "
                f"vertex that may be wanted later, or leave out shrinks=True."
            )
        self._remaining = found

    def _is_active_after(
        self, step: Step, frame: Frame, before: dict[str, object], holds: bool
    ) -> bool:
        if step.active is not None:
            return self._test_active(step, step.active, frame.v, before)
        if frame.changed is not None:
            return frame.changed
        if step.conditional:
            return holds
        names = stored_fields(step.body) - live_written_fields(step.body)
        return any(differs(before[name], self.memory.now[name][frame.v]) for name in names)
