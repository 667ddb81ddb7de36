"""The interpreter as a backend: `g.to("reference")` runs every program by its definition."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from weft.backends.base import Unscheduled
from weft.ir.ops import Program
from weft.ir.reference.interpret import interpret
from weft.ir.request import Outcome, Request
from weft.plan.prepare import Form

# What executes requests in place of the interpreter: a model of a machine, within a context.
EXECUTOR: ContextVar[Callable[[Request], Outcome] | None] = ContextVar("EXECUTOR", default=None)


@dataclass
class Source:
    """Stands in for generated code."""

    source: str = "# No code is generated: the interpreter executes the IR.\n"


@dataclass
class Interpreted:
    """A program as it is interpreted: unchanged."""

    program: Program
    rendered: Source = field(default_factory=Source)
    sweeps: tuple[Any, ...] = ()
    fired: tuple[str, ...] = ()


class ReferenceBackend(Unscheduled):
    """Executes programs in plain Python, arc by arc."""

    def compile(self, request: Request) -> Form:
        """Return the program itself."""
        return Interpreted(request.program), []

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
        self.report_sizes(request, sizes, time.perf_counter_ns() - began, "reference")
        return outcome


BACKEND = ReferenceBackend()
