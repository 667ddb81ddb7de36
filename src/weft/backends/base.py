"""The protocol of a backend: what the engine asks of whatever runs programs on a kind of device."""

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
"""A new field, the value that it starts from, and other values at some items."""

LOOKS_AT_NO_EDGES = 2  # the direction of a profile record without one


class Backend(Protocol):
    """Runs requests on one kind of device.

    Attributes
    ----------
    sorts_frontiers
        Whether sweeps expect the members of a frontier in rising order.
    starts_are_read
        Whether proofs about the start look at the fields before the run changes them.
    looks_at_degrees
        Whether choosing a default looks at the degrees of the graph in both directions.
    runs_on_threads
        Whether programs run on the threads of this machine, as many as `Config.threads` says.
    takes_kernels
        Whether `device_functions` compiles kernels for it that a front end writes itself.
    updates_at_once
        Whether functions may read what others update through ``.at(i)`` in the same superstep.
    untunable
        Why `weft.tune` has nothing to choose here, with what to do; empty where it has.
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
        """Return why a schedule is not possible here, or nothing."""

    def likely_schedule(self, topology: Topology, side: str, ordered: bool) -> str:
        """Return the default schedule of a side for the most skewed degrees that a graph can have.

        `ordered` says whether a step has a priority.
        """

    def compile_ahead(self, device: Device) -> Any:
        """Return what compiles requests in the background, or None if that is not worthwhile."""

    def compile_seconds(self, request: Request) -> float:
        """Return about how long a run waits for its kernel to be compiled; 0 if that is there."""

    def compile(self, request: Request) -> Form:
        """Return the compiled form that runs of a request's kind try first."""

    def prove(self, request: Request, form: Form) -> Form:
        """Return the form that a run would end up with, as far as the host can tell."""

    def run(self, request: Request, form: Form) -> Outcome:
        """Run a request to its end, starting from a form that `compile` returned for its kind."""

    def held_bytes(self, topology: Topology) -> int:
        """Return the bytes that finished runs keep for the next ones on a topology."""

    def fill(self, device: Device, starts: Sequence[Start]) -> None:
        """Write the first values of new fields."""

    def carry(self, device: Device, places: Any, pairs: Sequence[tuple[Any, Any]]) -> None:
        """Copy what the first array of each pair has at some places to the second one."""

    def describe(self, request: Request, form: Form) -> dict[str, Any]:
        """Return what `weft.explain` reports about the kernels of a form, by its own names."""


class Unscheduled:
    """Answers that backends without schedules have in common; their arrays are NumPy's.

    A backend of this kind adds `compile` and `run`.
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
        """Return 0: compiling takes no time worth counting, or its time is not estimated."""
        return 0.0

    def prove(self, request: Request, form: Form) -> Form:
        """Return the form itself: a run never changes to another one."""
        return form

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
        """Return nothing: there are no kernels to report about."""
        return {}

    def report_sizes(self, request: Request, sizes: list[int], ns: int, device: str) -> None:
        """Report the frontier of each superstep of a run to `weft.profile`, its time shared out."""
        if request.report is None:
            return
        count, zeros = len(sizes), [0] * len(sizes)
        columns = {
            "step": list(range(count)), "phase": zeros, "direction": [LOOKS_AT_NO_EDGES] * count,
            "frontier": sizes, "edges": zeros, "ns": [ns // max(count, 1)] * count,
        }  # fmt: skip
        request.report(columns, {"device": device}, 0)
