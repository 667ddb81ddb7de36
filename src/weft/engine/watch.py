"""Watches let a tuner limit the time of the runs inside a block and collect their requests."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace

from weft.backends import backend_of
from weft.backends.limits import TimeLimit
from weft.engine.tuned import program_digest
from weft.ir.request import Request


@dataclass
class Watch:
    """The time limit and the requests of the runs inside a block.

    Attributes
    ----------
    limit
        Limit on the total time of the runs.
    keeping
        Whether to keep their requests.
    requests
        The first request of every program, before compiler passes, by program digest.
    """

    limit: TimeLimit = field(default_factory=TimeLimit)
    keeping: bool = False
    requests: dict[str, Request] = field(default_factory=dict)

    def note(self, request: Request) -> None:
        """Check the time limit and record a run that is about to start."""
        self.limit.check()
        if not self.keeping:
            return
        digest = program_digest(request.program)
        if digest not in self.requests:
            program = copy.deepcopy(request.program)  # passes rewrite the one that runs
            data = request.data
            if backend_of(request.topology.device).starts_are_read:
                # Proofs about the start read the fields, which the run is about to change.
                fields = {name: array.copy() for name, array in data.fields.items()}
                data = replace(data, fields=fields)
            self.requests[digest] = replace(request, program=program, data=data)


current: ContextVar[Watch | None] = ContextVar("weft_open_watch", default=None)


@contextmanager
def watching(watch: Watch) -> Iterator[Watch]:
    """Watch the runs inside the block."""
    token = current.set(watch)
    try:
        yield watch
    finally:
        current.reset(token)
