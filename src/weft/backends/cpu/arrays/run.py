"""Runs programs on small graphs without compiling them, for as long as that pays.

A kernel takes about a second to compile, a superstep on some thousand arcs a few tenths of a
millisecond to evaluate with NumPy. So a program is evaluated until it has taken as much time as
its kernel would cost; a run that gets there is undone and handed to the kernel.
"""

from __future__ import annotations

import time

import numpy as np

from weft.backends.cpu.arrays.blocks import OutOfRangeError, knows
from weft.backends.cpu.arrays.rows import Array, rows_of
from weft.backends.cpu.arrays.steps import Steps, knows_step
from weft.ir.check.facts import program_facts
from weft.ir.ops import Program, Step
from weft.ir.reference.evaluate import holds_outside
from weft.ir.request import Data, Outcome, Request
from weft.plan.prepare import has_converged

_UNTIL_LOADS = frozenset({"scalar", "parameter", "superstep", "num_vertices"})


class TooLongError(Exception):
    """The time that was allowed is over."""


def knows_program(program: Program) -> bool:
    """Whether a program can be evaluated here."""
    known: bool | None = program.findings.get("evaluates")
    if known is None:
        known = program.findings["evaluates"] = _knows_program(program)
    return known


def _knows_program(program: Program) -> bool:
    if program.wide or program.renew or program.next_threshold is not None:
        return False
    if program.observed and any(step.priority is not None for step in program.all_steps()):
        return False
    loads = program.until.walk() if program.until is not None else ()
    if any(value.op == "load" and value.attr[0] not in _UNTIL_LOADS for value in loads):
        return False
    if program.until is not None and not knows(program.until):
        return False
    fields = {name: (dtype, shape) for name, dtype, shape in program.signature.fields}
    return all(knows_step(step, fields) for step in program.all_steps())


def may_evaluate(request: Request) -> bool:
    """Whether a request can be evaluated here with the result that its kernel would have."""
    topology, config = request.topology, request.options.config
    if topology.numbering is not None or request.start.arcs or config.deterministic:
        return False
    if request.report is not None or request.limit is not None:
        return False
    needed = {way for facts in program_facts(request.program) for way in facts.gathers}
    needed |= {"in", "out"} if "both" in needed else set()
    stored = {"both": {"in", "out", "both"}, "out": {"out"}, "in": {"in"}}[topology.keep]
    return needed <= stored and knows_program(request.program)


def evaluate(request: Request, seconds: float) -> Outcome | None:
    """Run a request to its end; None, with all arrays as they were, if that takes too long."""
    saved = _copies(request.data)
    try:
        with np.errstate(all="ignore"):
            return _Run(request, time.perf_counter() + seconds).drive()
    except (TooLongError, OutOfRangeError):
        for array, copy in saved:
            array[...] = copy
        return None


def _copies(data: Data) -> list[tuple[Array, Array]]:
    groups = (data.fields, data.edge_fields, data.scalars)
    return [(array, array.copy()) for group in groups for array in group.values()]


class _Run:
    """One request being carried out."""

    def __init__(self, request: Request, deadline: float) -> None:
        self.request, self.program, self.deadline = request, request.program, deadline
        self.rows = rows_of(request.topology)
        self.steps = Steps(self.rows, request.data)
        self.taken = 0  # supersteps
        self.trail: list[Array] = []

    def drive(self) -> Outcome:
        """Run once, to the fixed point, or over a trail."""
        request = self.request
        frontier = request.start.frontier
        if self.program.mode == "iterate":
            return self._iterate(frontier)
        if self.program.mode == "replay":
            for members in reversed(request.start.trail or []):
                self._superstep(members)
            return self._outcome(np.zeros(0, np.intp), True)
        frontier = self._superstep(frontier)
        return self._outcome(frontier, self._is_empty(frontier))

    def _is_empty(self, frontier: Array | None) -> bool:
        return (self.rows.num_vertices if frontier is None else len(frontier)) == 0

    def _outcome(self, frontier: Array | None, converged: bool) -> Outcome:
        members = None if frontier is None else self._members(frontier)
        return Outcome(self.taken, converged, members, self.trail)

    def _members(self, frontier: Array | None) -> Array:
        chosen = self.steps.everything if frontier is None else frontier
        return chosen.astype(self.request.topology.index_dtype)

    def _superstep(self, frontier: Array | None) -> Array | None:
        if time.perf_counter() > self.deadline:
            raise TooLongError
        if self.program.trail:
            self.trail.append(self._members(frontier))
        self.steps.blocks.superstep = self.taken
        output = self.steps.run(self.program.steps, frontier)
        self.taken += 1
        if self.program.mode == "iterate" and not self._is_empty(output):
            return self._wake(output)
        return output

    def _wake(self, output: Array | None) -> Array | None:
        last = self.program.steps[-1]
        if last.wake == "changed":
            return output
        return None if last.wake == "all" else self._gatherers(last, output)

    def _gatherers(self, last: Step, output: Array | None) -> Array:
        """Return the vertices that gather from those that changed."""
        ways = {v.attr[0] for v in last.body.body if v.op == "gather"} or {"in"}
        source, target = self.rows.ends
        changed = np.zeros(self.rows.num_vertices, bool)
        changed[slice(None) if output is None else output] = True
        woken = np.zeros_like(changed)
        if ways & {"in", "both"}:
            woken[target[changed[source]]] = True
        if ways & {"out", "both"}:
            woken[source[changed[target]]] = True
        return np.flatnonzero(woken)

    def _iterate(self, frontier: Array | None) -> Outcome:
        program, most = self.program, self.request.max_iter
        persists = program.persists and self.rows.num_vertices > 0
        held = False
        while not held:
            if self._is_empty(frontier) and program.refill:
                frontier = self.steps.run(program.refill, None)
            if (self._is_empty(frontier) and not persists) or self.taken == most:
                break
            frontier = self._superstep(frontier)
            held = self._until()
        empty = self._is_empty(frontier)
        converged = has_converged(self.request, self.taken, empty=empty, held=held)
        return self._outcome(frontier, converged)

    def _until(self) -> bool:
        data, program = self.request.data, self.program
        return program.until is not None and holds_outside(
            program.until, data.scalars, data.parameters,
            superstep=self.taken, n=self.rows.num_vertices,
        )  # fmt: skip
