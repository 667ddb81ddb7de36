"""The interpreter as a backend: `g.to("reference")` runs every program by its definition."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from weft.arrays.device import Device
from weft.arrays.fill import fill
from weft.backends.base import Start
from weft.config import Config, each_choice
from weft.formats import format as format_named
from weft.ir.ops import Program
from weft.ir.reference.interpret import interpret
from weft.ir.request import Outcome, Request
from weft.plan.prepare import Form
from weft.schedules import schedule as schedule_named
from weft.topology.topology import Topology

# What executes requests in place of the interpreter: a model of a machine, within a context.
EXECUTOR: ContextVar[Callable[[Request], Outcome] | None] = ContextVar("EXECUTOR", default=None)
VERTEX = 2  # the direction of a record that looks at no edges of its own


@dataclass
class Source:
    """What stands for generated code."""

    source: str = "# No code is generated: the interpreter executes the IR.\n"


@dataclass
class Interpreted:
    """A program as it is interpreted: unchanged."""

    program: Program
    rendered: Source = field(default_factory=Source)
    sweeps: tuple[Any, ...] = ()
    fired: tuple[str, ...] = ()


class ReferenceBackend:
    """Executes programs in plain Python, arc by arc."""

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
        """Return 0: nothing is compiled."""
        return 0.0

    def compile(self, request: Request) -> Form:
        """Return the program itself."""
        return Interpreted(request.program), []

    def prove(self, request: Request, form: Form) -> Form:
        """Return the form itself."""
        return form

    def run(self, request: Request, form: Form) -> Outcome:
        """Interpret a request."""
        executor = EXECUTOR.get()
        if executor is not None:
            return executor(request)
        if request.report is None:
            return interpret(request)
        sizes: list[int] = []
        began = time.perf_counter_ns()
        outcome = interpret(request, trace_sizes=sizes)
        share = (time.perf_counter_ns() - began) // max(len(sizes), 1)
        steps = list(range(len(sizes)))
        zeros = [0] * len(sizes)
        columns = {
            "step": steps, "phase": zeros, "direction": [VERTEX] * len(sizes), "frontier": sizes,
            "edges": zeros, "ns": [share] * len(sizes),
        }  # fmt: skip
        request.report(columns, {"device": "reference"}, 0)
        return outcome

    def held_bytes(self, topology: Topology) -> int:
        """Return 0: nothing is kept between runs."""
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
        """Return nothing: there are no kernels."""
        return {}


BACKEND = ReferenceBackend()
