"""The protocol of a backend: what the engine asks of whatever runs programs on a kind of device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from weft.arrays.device import Device
from weft.config import Config
from weft.ir.request import Outcome, Request
from weft.plan.prepare import Form
from weft.topology.topology import Topology

Start = tuple[Any, Any, Sequence[tuple[int, Any]]]
"""A new field, the value that it starts from, and other values at some items."""


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
    """

    sorts_frontiers: bool
    starts_are_read: bool
    looks_at_degrees: bool
    runs_on_threads: bool

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
