"""Executes a program in plain Python, arc by arc: the definition of what the IR means.

Slow and simple on purpose. Every backend is compared with it. With `shuffle`, the arcs and vertices
of a step are visited in random order, which reveals dependence on it.
"""

from __future__ import annotations

import random as python_random
from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.ir.ops import REFRESH, WIDE_SHARE, Block, Step, Value
from weft.ir.reference.arithmetic import elementwise
from weft.ir.reference.evaluate import Evaluator, Frame, evaluate_arrays
from weft.ir.reference.memory import Memory
from weft.ir.reference.sweeps import Members, Sweeper, cut_into_sweeps
from weft.ir.request import Array, Outcome, Request

__all__ = ["evaluate_arrays", "evaluate_constant", "interpret"]


def evaluate_constant(value: Value) -> Any:
    """Return an elementwise op of constants as a Python number."""
    with np.errstate(all="ignore"):
        return elementwise(value, [arg.dtype.type(arg.attr) for arg in value.args]).item()


def interpret(
    request: Request,
    *,
    shuffle: python_random.Random | None = None,
    trace_sizes: list[int] | None = None,
) -> Outcome:
    """Run the program of a request on its state, in place.

    Parameters
    ----------
    request
        The program, the graph, the state and the first frontier.
    shuffle
        Visits arcs and vertices in random order, which then decides `any` and ties.
    trace_sizes
        Receives the size of the frontier at the start of each superstep.

    Raises
    ------
    FaultError
        If an index is out of range, a loop exceeds its bound or a matrix is singular.
    """
    with np.errstate(all="ignore"):
        run = _Run(request, shuffle, trace_sizes)
        if request.program.mode == "iterate":
            return run.iterate()
        if request.program.mode == "replay":
            return run.replay()
        return run.once()


class _Run:
    """The execution of one request."""

    def __init__(
        self, request: Request, shuffle: python_random.Random | None, sizes: list[int] | None
    ) -> None:
        self.request = request
        self.program = request.program
        self.memory = Memory(request)
        self.sweeper = Sweeper(self.memory, shuffle)
        self.sizes = sizes
        self.trail: list[Array] = []
        self.edges = request.topology.num_arcs  # of the vertices that changed last
        self.stale = True  # the hidden values of the steps are stale
        self.renewed = False  # in the last superstep

    def _members(self, frontier: Array | None, arcs: bool = False) -> Members:
        if frontier is None:
            return self.sweeper.all_vertices()
        return Members(tuple(int(x) for x in frontier), arcs)

    def _array(self, members: Members) -> Array:
        return np.array(members.items, self.request.topology.index_dtype)

    def _superstep(self, frontier: Members) -> Members:
        if self.sizes is not None:
            self.sizes.append(len(frontier))
        if self.program.trail:
            self.trail.append(self._array(frontier))
        steps = self._chosen_steps()
        output = self.sweeper.run(steps, frontier)
        self.memory.superstep += 1
        self.edges = self._out_edges(output) if self.program.wide else 0
        return wake(steps, output, self.memory) if self.program.mode == "iterate" else output

    def _chosen_steps(self) -> Sequence[Step]:
        """Return the steps of the next superstep, given the edges of the changed vertices."""
        if not self.program.wide:
            return self.program.steps
        if self.edges * WIDE_SHARE > self.request.topology.num_arcs:
            self.stale, self.renewed = True, False
            return self.program.wide
        self.renewed = self.stale or self.memory.superstep % REFRESH == 0
        self.stale = False
        return self.program.renew if self.renewed else self.program.steps

    def _out_edges(self, frontier: Members) -> int:
        offsets = self.request.topology.adjacency("out").offsets
        return sum(int(offsets[u + 1] - offsets[u]) for u in frontier.items)

    def once(self) -> Outcome:
        """Run one superstep."""
        request = self.request
        output = self._superstep(self._members(request.start.frontier, request.start.arcs))
        return Outcome(1, not len(output), self._array(output), self.trail)

    def replay(self) -> Outcome:
        """Run one superstep for each frontier of a trail, last to first."""
        trail = self.request.start.trail or []
        for frontier in reversed(trail):
            self._superstep(self._members(frontier))
        return Outcome(len(trail), True, self._array(Members(())))

    def iterate(self) -> Outcome:
        """Run supersteps until the frontier is empty, `until` holds or `max_iter` is reached.

        With `until` and a step that runs everywhere, an empty frontier does not end the loop.
        """
        request = self.request
        frontier = self._members(request.start.frontier, request.start.arcs)
        converged = False
        persists = self.program.persists and self.memory.num_vertices > 0
        while not converged:
            if not len(frontier):
                frontier = self._refill()
            if not (len(frontier) or persists) or self.memory.superstep == request.max_iter:
                break
            frontier = self._superstep(frontier)
            rests = self.renewed and self.program.rests_renewed and not len(frontier)
            converged = self._until(frontier) or rests
        # Refills reduce scalars too, so the condition may only hold now.
        told = self.program.until is not None
        converged = self._until(frontier) if told else not len(frontier)
        return Outcome(self.memory.superstep, converged, self._array(frontier), self.trail)

    def _evaluate(self, block: Block, v: int) -> Any:
        self.memory.begin = self.memory.now
        return Evaluator(self.memory).run(block, Frame(v=v))[0]

    def _refill(self) -> Members:
        steps = self.program.refill or self.program.renew
        if not steps:
            return Members(())
        self.memory.refreshing = 1
        found = self.sweeper.run(steps, self.sweeper.all_vertices())
        self.memory.refreshing = 0
        if self.program.wide:
            self.edges, self.stale = self._out_edges(found), False
        return found

    def _until(self, frontier: Members) -> bool:
        if self.program.until is None:
            return False
        priority = self.program.steps[0].priority
        if priority is not None:
            ranks = [self._evaluate(priority, v) for v in frontier.items]
            self.memory.least = min((float(r) for r in ranks), default=np.inf)
        return Evaluator(self.memory).holds(self.program.until, Frame())


def wake(steps: Sequence[Step], output: Members, memory: Memory) -> Members:
    """Return the next frontier, given the output of the last step of a superstep."""
    how = steps[-1].wake
    if how == "changed" or not len(output):
        return output
    if how == "all":
        return Members(tuple(range(memory.num_vertices)))
    last = [step for step in cut_into_sweeps(steps)[-1] if step.kind == "vertex"]
    directions = {
        value.attr[0]
        for step in last
        for value in step.body.body
        if value.op in ("gather", "gather_by")
    } or {"in"}
    woken: set[int] = set()
    for v in output.items:
        if directions & {"in", "both"}:  # the vertices that v points to gather from it
            woken.update(memory.target[arc] for arc in memory.out_row[v])
        if directions & {"out", "both"}:
            woken.update(memory.source[arc] for arc in memory.in_row[v])
    return Members(tuple(sorted(woken)))
