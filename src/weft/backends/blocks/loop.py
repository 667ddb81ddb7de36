"""The loop of a staged program: supersteps of stages, each a sweep over blocks and a vertex run."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from weft.backends.blocks.carrier import Carrier, Resumed, Swept, Work
from weft.backends.blocks.kernels import at_vertices
from weft.backends.blocks.stages import SUPERSTEP, Stage, Staged
from weft.backends.blocks.streamed import union
from weft.ir.ops import Program
from weft.ir.reference.evaluate import holds_outside
from weft.ir.request import Outcome, Request, RunOptions
from weft.plan.directions import wanted_direction
from weft.plan.prepare import has_converged
from weft.plan.queries import END_ROW, LEAST_ROW

Array = np.ndarray[Any, Any]
Members = Array | None  # sorted vertices; None for all

_options: dict[RunOptions, RunOptions] = {}


def plain_options(request: Request) -> RunOptions:
    """Return options without those that do not apply to blocks."""
    asked, schedule = request.options.config, request.options.schedule
    off = asked.passes_off
    if request.topology.device.streams:  # degrees are those of the whole graph, rows are not there
        off, schedule = frozenset(off) | {"degree_classes"}, None
    config = replace(
        asked, direction="push", format=None, reorder=None, schedule=schedule, ordering=False,
        change_driven=False, frontier_in=None, frontier_out=None, passes_off=off,
    )  # fmt: skip
    options = RunOptions(config, schedule)
    return _options.setdefault(options, options)  # a GPU's plans are found by its identity


class Loop:
    """The execution of one request on a carrier."""

    def __init__(self, request: Request, staged: Staged, carrier: Carrier) -> None:
        self.request, self.staged, self.carrier = request, staged, carrier
        self.program: Program = request.program
        self.n = request.topology.num_vertices
        scalars = dict(request.data.scalars)
        for name in (SUPERSTEP, LEAST_ROW, END_ROW):
            scalars[name] = np.zeros(1, np.int64)
        self.xp = request.topology.xp
        hidden = self._hidden(staged)
        fields = {**request.data.fields, **hidden}
        data = replace(request.data, fields=fields, scalars=scalars, known_edges=frozenset())
        wanted = wanted_direction(request.options.config)
        # A single write-once step only writes to the next frontier, which then accepts nothing.
        alone = len(self.program.steps) == 1 and not self.program.refill
        lasting = alone and self.program.mode == "iterate"
        self.work = Work(data, plain_options(request), wanted, lasting=lasting)
        self.trail: list[Array] = []
        self.records: list[tuple[int, int, int, bool]] = []
        self._pulled = False  # whether a sweep of the current superstep pulled

    def _hidden(self, staged: Staged) -> dict[str, Array]:
        """Return the hidden fields of all stages, with their neutral values."""
        fields: dict[str, Array] = {}
        for stages in staged.stages.values():
            for stage in stages:
                parts = dict(stage.arcs.hidden) if stage.arcs is not None else {}
                sources = stage.arcs.sources if stage.arcs is not None else {}
                parts |= {name: (kind, 0) for name, kind in sources.items()}
                for name, ((dtype, shape), start) in parts.items():
                    fields[name] = self._filled((self.n, *shape), dtype, start, fields.get(name))
        return fields

    def _filled(self, shape: Any, dtype: Any, start: Any, held: Array | None) -> Array:
        if held is not None and held.dtype == dtype and held.shape == shape:
            return held
        filled: Array = self.xp.full(shape, start, dtype)
        return filled

    @property
    def taken(self) -> int:
        """The number of supersteps so far."""
        return int(self.work.data.scalars[SUPERSTEP][0])

    # -- modes

    def once(self) -> Outcome:
        """Run one superstep."""
        output = self._superstep(self.request.start.frontier)
        return self._outcome(output, self._empty(output))

    def replay(self) -> Outcome:
        """Run one superstep for each frontier of a trail, last to first."""
        output: Members = self.xp.zeros(0, self.request.topology.index_dtype)
        for members in reversed(self.request.start.trail or []):
            output = self._superstep(self.xp.asarray(members))
        return self._outcome(output, True)

    def iterate(self) -> Outcome:
        """Run supersteps until the frontier is empty, `until` holds or `max_iter` is reached."""
        frontier = self.request.start.frontier
        resumed = self.carrier.begin(self.program, self.work)
        if resumed is not None:
            frontier = resumed.frontier
            if resumed.ended:
                return self._outcome(frontier, resumed.converged)
        persists = self.program.persists and self.n > 0
        held = resumed is not None and self.taken > 0 and self._until()
        while not held:
            if self._empty(frontier) and self.program.refill:
                frontier = self._run("refill", None)
            if (self._empty(frontier) and not persists) or self.taken == self.request.max_iter:
                break
            frontier = self._superstep(frontier)
            held = self._until()
        empty = self._empty(frontier)
        converged = has_converged(self.request, self.taken, empty=empty, held=held)
        self.carrier.end(self.work, Resumed(frontier, True, converged))
        return self._outcome(frontier, converged)

    def _until(self) -> bool:
        data, program = self.request.data, self.program
        fields = {name: data.fields[name] for name in program.until_fields}
        return program.until is not None and holds_outside(
            program.until, data.scalars, data.parameters, superstep=self.taken, n=self.n,
            fields=fields,
        )  # fmt: skip

    def _empty(self, frontier: Members) -> bool:
        return (self.n if frontier is None else len(frontier)) == 0

    def _outcome(self, frontier: Members, converged: bool) -> Outcome:
        self._report()
        if frontier is None and self.program.mode != "iterate":
            frontier = self.xp.arange(self.n, dtype=self.request.topology.index_dtype)
        return Outcome(self.taken, converged, frontier, self.trail)

    def _report(self) -> None:
        """Report the supersteps to a profile."""
        if self.request.report is None:
            return
        count = len(self.records)
        columns = {
            "step": list(range(count)), "phase": [0] * count,
            "direction": [int(pulled) for *_, pulled in self.records],
            "frontier": [size for size, *_ in self.records],
            "edges": [arcs for _, arcs, *_ in self.records],
            "ns": [ns for _, _, ns, _ in self.records],
        }  # fmt: skip
        self.request.report(columns, {"device": "blocks", **self.carrier.counters}, 0)

    # -- supersteps

    def _superstep(self, frontier: Members) -> Members:
        began, self._pulled = time.perf_counter_ns(), False
        if self.program.trail:
            chosen = self.xp.arange(self.n) if frontier is None else frontier
            self.trail.append(chosen.astype(self.request.topology.index_dtype))
        size = self.n if frontier is None else len(frontier)
        arcs = (
            self.request.topology.num_arcs
            if frontier is None
            else int(self.request.topology.out_degree[frontier].sum())
        )
        output = self._run("steps", frontier)
        if self.program.mode == "iterate" and not self._empty(output):
            output = self._wake(output)
        self.work.data.scalars[SUPERSTEP][0] += 1
        self.records.append((size, arcs, time.perf_counter_ns() - began, self._pulled))
        self.carrier.superstep(self.taken, self.work, output)
        return output

    def _wake(self, output: Members) -> Members:
        how = self.program.steps[-1].wake
        if how == "all":
            return None
        if how == "changed":
            return output
        parts = [self.carrier.sweep(part, self.work, output)[0] for part in self.staged.wakes]
        return union(parts, self.request.topology.index_dtype, self.n, self.xp)

    def _run(self, role: str, frontier: Members) -> Members:
        for stage in self.staged.stages[role]:
            places = None if stage.step.everywhere else frontier
            frontier = self._stage(stage, places)
        return frontier

    def _stage(self, stage: Stage, frontier: Members) -> Members:
        if stage.before is not None:
            self._at_vertices(stage.before, None)
        if stage.arcs is None:
            return self._at_vertices(stage.after, frontier)
        if self._empty(frontier):
            swept = Swept(self.xp.zeros(0, self.request.topology.index_dtype))
        else:
            swept = self.carrier.sweep(stage.arcs, self.work, frontier)
            self._pulled |= swept.pulled
        if stage.after is None or swept.direct:
            return swept.output
        if stage.step.kind == "vertex":
            return self._at_vertices(stage.after, frontier)
        output = self._at_vertices(stage.after, swept.output)
        for name, (_, start) in stage.arcs.hidden.items():
            self.work.data.fields[name][swept.output] = start
        return output

    def _at_vertices(self, program: Program | None, frontier: Members) -> Members:
        """Run a program without arcs on all of the state."""
        assert program is not None
        output: Members = at_vertices(program, self.carrier.vertices, self.work, frontier)
        self.carrier.settle(self.work)
        return output
