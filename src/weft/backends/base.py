"""The protocol of a backend, through which the engine runs programs on a kind of device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from weft.arrays.device import Device
from weft.arrays.fill import fill
from weft.config import Config, each_choice
from weft.formats import format as format_named
from weft.ir.request import Outcome, Request
from weft.plan.prepare import Form
from weft.schedules import schedule as schedule_named
from weft.topology.topology import Topology

Start = tuple[Any, Any, Sequence[tuple[int, Any]]]
"""A new field, its initial value, and other values at some items."""

LOOKS_AT_NO_EDGES = 2  # the direction of a profile record without one


class Backend(Protocol):
    """Runs requests on one kind of device.

    Attributes
    ----------
    sorts_frontiers
        Whether sweeps expect the members of a frontier in rising order. Otherwise runs also start
        from the `Deferred` frontiers that they return.
    starts_are_read
        Whether proofs about the start read the fields before the run changes them.
    looks_at_degrees
        Whether choosing defaults reads the degrees of the graph in both directions.
    runs_on_threads
        Whether programs run on `Config.threads` threads of this machine.
    takes_kernels
        Whether `device_functions` compiles kernels that front ends write for it.
    updates_at_once
        Whether functions may read concurrent updates through ``.at(i)`` in the same superstep.
    untunable
        Why `weft.tune` cannot tune here, with a remedy; empty if it can.
    """

    sorts_frontiers: bool
    starts_are_read: bool
    looks_at_degrees: bool
    runs_on_threads: bool
    takes_kernels: bool
    updates_at_once: bool
    untunable: str

    def check(self, config: Config, topology: Topology) -> Any:
        """Return the schedule of a configuration; raise ConfigError if something is not possible.

        One name, one per side (`weft.config.BySide`), or None to choose by the graph.
        """

    def refuse_schedule(self, name: str) -> str:
        """Return why a schedule is not possible here, or an empty string."""

    def likely_schedule(self, topology: Topology, side: str, ordered: bool) -> str:
        """Return the default schedule of a side, assuming the most skewed degrees.

        `ordered` says whether a step has a priority.
        """

    def compile_ahead(self, device: Device) -> Any:
        """Return a background compiler of requests, or None if that is not worthwhile."""

    def compile_seconds(self, request: Request) -> float:
        """Return the approximate seconds of compiling a run's kernel; 0 if it is cached."""

    def compile(self, request: Request) -> Form:
        """Return the compiled form that runs of a request try first."""

    def prove(self, request: Request, form: Form) -> Form:
        """Return the form that a run would use, as far as the host can determine it."""

    def run(self, request: Request, form: Form) -> Outcome:
        """Run a request to its end, starting from a form that `compile` returned."""

    def held_bytes(self, topology: Topology) -> int:
        """Return the bytes that finished runs keep for later ones on a topology."""

    def fill(self, device: Device, starts: Sequence[Start]) -> None:
        """Write the initial values of new fields."""

    def carry(self, device: Device, places: Any, pairs: Sequence[tuple[Any, Any]]) -> None:
        """Copy elements at some indices from the first array of each pair to the second."""

    def describe(self, request: Request, form: Form) -> dict[str, Any]:
        """Return the facts that `weft.explain` reports about the kernels of a form."""


class Unscheduled:
    """Base class of backends without schedules, whose arrays are NumPy's.

    A subclass adds `compile` and `run`.
    """

    sorts_frontiers = True
    starts_are_read = False
    looks_at_degrees = False
    runs_on_threads = False
    takes_kernels = False
    updates_at_once = True
    untunable = (
        "no choice of a configuration changes how programs run there. Tune the graph on the device "
        "that it is to run on"
    )

    def check(self, config: Config, topology: Topology) -> Any:
        """Look up names, so that unknown ones are errors here too; the choices have no effect."""
        for name in each_choice(config.format):
            if name is not None:
                format_named(name)
        for name in each_choice(config.schedule):
            if name is not None:
                schedule_named(name)
        return config.schedule

    def refuse_schedule(self, name: str) -> str:
        """Return an empty string: schedules have no effect here."""
        return ""

    def likely_schedule(self, topology: Topology, side: str, ordered: bool) -> str:
        """Return the only default schedule."""
        return "vertex"

    def compile_ahead(self, device: Device) -> Any:
        """Return None: nothing is compiled ahead."""
        return None

    def compile_seconds(self, request: Request) -> float:
        """Return 0: the time of compiling is negligible or unknown."""
        return 0.0

    def prove(self, request: Request, form: Form) -> Form:
        """Return the form itself: a run never changes its form."""
        return form

    def held_bytes(self, topology: Topology) -> int:
        """Return 0: nothing is kept in memory between runs."""
        return 0

    def fill(self, device: Device, starts: Sequence[Start]) -> None:
        """Write the initial values of new fields."""
        for start in starts:
            fill(*start)

    def carry(self, device: Device, places: Any, pairs: Sequence[tuple[Any, Any]]) -> None:
        """Copy elements at some indices from the first array of each pair to the second."""
        for source, target in pairs:
            source.take(places, axis=0, out=target, mode="clip")

    def describe(self, request: Request, form: Form) -> dict[str, Any]:
        """Return an empty dictionary: there are no kernels to report."""
        return {}

    def report_sizes(self, request: Request, sizes: list[int], ns: int, device: str) -> None:
        """Report the frontier of each superstep to `weft.profile`, dividing the time equally."""
        if request.report is None:
            return
        count, zeros = len(sizes), [0] * len(sizes)
        columns = {
            "step": list(range(count)), "phase": zeros, "direction": [LOOKS_AT_NO_EDGES] * count,
            "frontier": sizes, "edges": zeros, "ns": [ns // max(count, 1)] * count,
        }  # fmt: skip
        request.report(columns, {"device": device}, 0)
