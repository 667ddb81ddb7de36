"""The CPU as a backend: Numba kernels run by gangs of threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.arrays.device import Device
from weft.arrays.fill import fill
from weft.backends.base import Start
from weft.backends.cpu.codegen.parts import refusal as format_refusal
from weft.backends.cpu.codegen.schedules import SCHEDULES
from weft.backends.cpu.codegen.schedules import refusal as schedule_refusal
from weft.backends.cpu.host import run, workspace
from weft.backends.cpu.host.cache import is_cached
from weft.backends.cpu.host.evaluate_small import COMPILE_S
from weft.config import Config, each_choice
from weft.errors import ConfigError, listed
from weft.formats import format as format_named
from weft.ir.request import Outcome, Request
from weft.plan.prepare import Form, proven_form
from weft.schedules import schedule as schedule_named
from weft.topology.topology import Topology

DEFAULT_SCHEDULE = "vertex"


class CpuBackend:
    """Runs programs on the threads of this machine."""

    sorts_frontiers = True
    starts_are_read = True
    looks_at_degrees = False
    runs_on_threads = True
    takes_kernels = False
    updates_at_once = True
    untunable = ""

    def check(self, config: Config, topology: Topology) -> str:
        """Return the schedule of a configuration, or raise if a format or it is not possible."""
        for name in each_choice(config.format):
            reason = "" if name is None else format_refusal(format_named(name))
            if reason:
                raise ConfigError(
                    f"format={name!r} is not possible on a CPU: {reason}. Use another, or a GPU."
                )
        chosen = config.schedule
        if chosen is None:
            return DEFAULT_SCHEDULE
        for name in each_choice(chosen):
            if name is not None:
                schedule_named(name)
        one = isinstance(chosen, str)
        reason = schedule_refusal(str(chosen)) if one else "it takes one for all sides"
        if reason:
            raise ConfigError(
                f"schedule={chosen!r} is not possible on a CPU: {reason}. Expected one of "
                f"{listed(SCHEDULES)}."
            )
        return str(chosen)

    def refuse_schedule(self, name: str) -> str:
        """Return why a schedule is not possible here, or nothing."""
        return schedule_refusal(name)

    def likely_schedule(self, topology: Topology, side: str, ordered: bool) -> str:
        """Return the only default schedule."""
        return DEFAULT_SCHEDULE

    def compile_ahead(self, device: Device) -> Any:
        """Return None: nothing is compiled ahead."""
        return None

    def compile_seconds(self, request: Request) -> float:
        """Return the usual seconds of compiling; 0 for a cached kernel."""
        source = self.prove(request, self.compile(request))[0].rendered.source
        return 0.0 if is_cached(source, "weft") else COMPILE_S

    def compile(self, request: Request) -> Form:
        """Return the compiled form of a request's program."""
        return run.compile_program(request)

    def prove(self, request: Request, form: Form) -> Form:
        """Return a form whose proofs about the start hold for a request."""
        return proven_form(request, form, run.prepare)

    def run(self, request: Request, form: Form) -> Outcome:
        """Run a request to its end."""
        return run.run_request(request, form)

    def held_bytes(self, topology: Topology) -> int:
        """Return the bytes that finished runs keep."""
        return workspace.held_bytes(topology)

    def fill(self, device: Device, starts: Sequence[Start]) -> None:
        """Write the initial values of new fields."""
        for start in starts:
            fill(*start)

    def carry(self, device: Device, places: Any, pairs: Sequence[tuple[Any, Any]]) -> None:
        """Copy elements at some indices from the first array of each pair to the second."""
        for source, target in pairs:
            source.take(places, axis=0, out=target, mode="clip")

    def describe(self, request: Request, form: Form) -> dict[str, Any]:
        """Return nothing beside the source, which is all there is to report."""
        return {}


BACKEND = CpuBackend()
