"""SQL engines as a backend: every superstep of a program is one query or a few."""

from __future__ import annotations

import time

from weft.backends.base import Unscheduled
from weft.backends.relational.compile import compiled, with_columns
from weft.backends.relational.run import Loop
from weft.backends.relational.store import store_of
from weft.ir.request import Outcome, Request
from weft.plan.prepare import Form


class RelationalBackend(Unscheduled):
    """Runs programs as SQL, on the connection of a graph."""

    updates_at_once = False  # all updates of a superstep become visible together
    untunable = (
        "its queries do not depend on a configuration, and plan='auto' chooses their form by the "
        "size of each frontier. Leave tuning out; weft.sql.graph(..., plan=...) forces a form"
    )

    def compile(self, request: Request) -> Form:
        """Return the queries of a program; raise ConfigError if it has none."""
        store = store_of(request.topology)
        store.read(request.program.signature, request.data.column)
        return compiled(request, store.engine.dialect, store.columns), []

    def run(self, request: Request, form: Form) -> Outcome:
        """Run a request, superstep by superstep."""
        store = store_of(request.topology)
        store.read(request.program.signature, request.data.column)
        with_columns(form[0].schema, store.columns)
        loop = Loop(request, form[0], store)
        began = time.perf_counter_ns()
        outcome = loop.carry_out()
        ns = time.perf_counter_ns() - began
        self.report_sizes(request, loop.sizes, ns, store.engine.dialect.name)
        return outcome


BACKEND = RelationalBackend()
