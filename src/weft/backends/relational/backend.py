"""SQL engines as a backend: every superstep of a program is one query or a few."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from weft.arrays.device import Device
from weft.arrays.fill import fill
from weft.backends.base import Start
from weft.backends.relational.compile import compiled, with_columns
from weft.backends.relational.run import Loop
from weft.backends.relational.store import store_of
from weft.config import Config, each_choice
from weft.formats import format as format_named
from weft.ir.request import Outcome, Request
from weft.plan.prepare import Form
from weft.schedules import schedule as schedule_named
from weft.topology.topology import Topology

VERTEX = 2  # the direction of a record that looks at no edges of its own


class RelationalBackend:
    """Runs programs as SQL, on the connection of a graph."""

    sorts_frontiers = True
    starts_are_read = False
    looks_at_degrees = False
    runs_on_threads = False

    def check(self, config: Config, topology: Topology) -> Any:
        """Look names up, so that a wrong one is an error here too; none of them matters."""
        for name in each_choice(config.format):
            if name is not None:
                format_named(name)
        for name in each_choice(config.schedule):
            if name is not None:
                schedule_named(name)
        return config.schedule

    def refuse_schedule(self, name: str) -> str:
        """Return nothing: a schedule has no meaning here."""
        return ""

    def likely_schedule(self, topology: Topology, side: str, ordered: bool) -> str:
        """Return the only default schedule."""
        return "vertex"

    def compile_ahead(self, device: Device) -> Any:
        """Return None: nothing is compiled ahead."""
        return None

    def compile_seconds(self, request: Request) -> float:
        """Return 0: queries are text, which takes no time worth counting."""
        return 0.0

    def compile(self, request: Request) -> Form:
        """Return the queries of a program; raise ConfigError if it has none."""
        store = store_of(request.topology)
        store.read(request.program.signature, request.data.column)
        return compiled(request, store.engine.dialect, store.columns), []

    def prove(self, request: Request, form: Form) -> Form:
        """Return the form itself."""
        return form

    def run(self, request: Request, form: Form) -> Outcome:
        """Run a request, superstep by superstep."""
        store = store_of(request.topology)
        store.read(request.program.signature, request.data.column)
        with_columns(form[0].schema, store.columns)
        loop = Loop(request, form[0], store)
        began = time.perf_counter_ns()
        outcome = loop.carry_out()
        if request.report is not None:
            steps = len(loop.sizes)
            share = (time.perf_counter_ns() - began) // max(steps, 1)
            zeros = [0] * steps
            columns = {
                "step": list(range(steps)), "phase": zeros, "direction": [VERTEX] * steps,
                "frontier": loop.sizes, "edges": zeros, "ns": [share] * steps,
            }  # fmt: skip
            request.report(columns, {"device": store.engine.dialect.name}, 0)
        return outcome

    def held_bytes(self, topology: Topology) -> int:
        """Return 0: nothing is kept in memory between runs."""
        return 0

    def fill(self, device: Device, starts: Sequence[Start]) -> None:
        """Write the first values of new fields."""
        for start in starts:
            fill(*start)

    def carry(self, device: Device, places: Any, pairs: Sequence[tuple[Any, Any]]) -> None:
        """Copy what the first array of each pair has at some places to the second one."""
        for source, target in pairs:
            source.take(places, axis=0, out=target, mode="clip")

    def describe(self, request: Request, form: Form) -> dict[str, Any]:
        """Return nothing: the queries are the source."""
        return {}


BACKEND = RelationalBackend()
