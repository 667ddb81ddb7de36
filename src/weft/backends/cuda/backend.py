"""GPUs, and their emulation on the host, as a backend: generated CUDA C++."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.arrays.device import Device, module_of
from weft.arrays.fill import fill
from weft.backends.base import Start
from weft.backends.cuda.host import describe, initial_fields, reorder_fields, run, workspace
from weft.backends.cuda.host.defaults import Shape, default_schedule, describe_shape
from weft.config import NARROW, SIDES, Config, each_choice, of_side
from weft.errors import ConfigError
from weft.formats import DEFAULT_FORMAT
from weft.formats import format as format_named
from weft.ir.request import Outcome, Request
from weft.plan.prepare import Form
from weft.schedules import SCALAR_LANES
from weft.schedules import schedule as schedule_named
from weft.topology.topology import Topology


class CudaBackend:
    """Runs programs on NVIDIA GPUs, or in the emulation of one."""

    sorts_frontiers = False
    starts_are_read = False  # the kernel itself checks the proofs
    looks_at_degrees = True
    runs_on_threads = False
    takes_kernels = True
    updates_at_once = True
    untunable = ""

    def check(self, config: Config, topology: Topology) -> Any:
        """Return the schedules of a configuration, or raise if one is not possible."""
        if config.format is None and config.schedule is None:
            return None
        for name in each_choice(config.format):
            if name is not None:
                format_named(name)
        for side in (*SIDES, NARROW):
            name = of_side(config.schedule, side)
            if name is None:
                continue
            swept = "push" if side == NARROW else side
            format_ = format_named(of_side(config.format, swept) or DEFAULT_FORMAT)
            reason = schedule_named(name).refuse(format_, SCALAR_LANES)
            if reason:
                raise ConfigError(
                    f"schedule={name!r} is not possible over format={format_.name!r}: {reason}. "
                    f"Choose another of either."
                )
        return config.schedule

    def refuse_schedule(self, name: str) -> str:
        """Return nothing: a GPU has every schedule."""
        return ""

    def likely_schedule(self, topology: Topology, side: str, ordered: bool) -> str:
        """Return the default schedule of a side for the most skewed degrees."""
        m = topology.num_arcs
        return default_schedule(Shape(topology.num_vertices, m, m, 0.0), side, ordered=ordered)

    def compile_ahead(self, device: Device) -> Any:
        """Return a background compiler of requests."""
        from weft.backends.cuda.host.compile_ahead import Ahead

        return Ahead(device.kind, device.index)

    def compile_seconds(self, request: Request) -> float:
        """Return 0: what is compiled ahead holds no run up."""
        return 0.0

    def compile(self, request: Request) -> Form:
        """Return the compiled form that runs of a request's kind try first."""
        return run.compile_program(request)

    def prove(self, request: Request, form: Form) -> Form:
        """Return the form itself: the kernel checks its proofs when it starts."""
        return form

    def run(self, request: Request, form: Form) -> Outcome:
        """Run a request to its end."""
        return run.run_request(request, form)

    def held_bytes(self, topology: Topology) -> int:
        """Return the bytes that finished runs keep on the device."""
        return workspace.held_bytes(topology)

    def fill(self, device: Device, starts: Sequence[Start]) -> None:
        """Write the first values of new fields, by as few launches as possible."""
        if device.on_host:
            for start in starts:
                fill(*start)
        else:
            initial_fields.fill_fields(device, starts)

    def carry(self, device: Device, places: Any, pairs: Sequence[tuple[Any, Any]]) -> None:
        """Copy elements at some indices from the first array of each pair to the second."""
        together: list[tuple[Any, Any]] = []
        if not device.on_host and pairs:
            can_carry = reorder_fields.can_carry
            together = [pair for pair in pairs if can_carry(pair[0]) and can_carry(pair[1])]
            reorder_fields.carry(device, places, together)
        done = {id(target) for _, target in together}
        for source, target in pairs:
            if id(target) not in done:
                xp = module_of(source)
                more = {"mode": "clip"} if xp is np else {}
                xp.take(source, places, axis=0, out=target, **more)

    def describe(self, request: Request, form: Form) -> dict[str, Any]:
        """Return the phases, kernels, launches and the shape of the graph."""
        compiled = form[0]
        return {
            "phases": tuple(compiled.rendered.phases),
            "kernels": describe.describe_kernels(request, compiled),
            "launches": describe.launches_text(compiled.options.fuse),
            "shape": describe_shape(request.topology),
        }


BACKEND = CudaBackend()
