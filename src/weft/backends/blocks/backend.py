"""Partitioned graphs as a backend: programs are cut into stages, which a carrier sweeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.arrays.device import Device
from weft.backends.base import Unscheduled
from weft.backends.blocks.loop import Loop
from weft.backends.blocks.refusals import refuse
from weft.backends.blocks.split import split
from weft.backends.blocks.stages import Staged
from weft.backends.cpu.backend import BACKEND as CPU
from weft.backends.cpu.host import workspace
from weft.config import Config
from weft.errors import ConfigError
from weft.ir.ops import Step
from weft.ir.request import Outcome, Request
from weft.plan.prepare import Form
from weft.topology.topology import Topology


class BlocksBackend(Unscheduled):
    """Runs programs over the blocks of a partitioned graph."""

    starts_are_read = True
    runs_on_threads = True
    takes_kernels = False
    untunable = "its carrier decides how blocks are swept. Tune in memory, on g.to('cpu')"

    def check(self, config: Config, topology: Topology) -> str:
        """Return the schedule of a configuration, or raise if it is not possible."""
        if config.deterministic:
            raise ConfigError(
                "deterministic=True is not possible on a partitioned graph: messages meet block by "
                "block. Leave it out, or use g.to('cpu') if the arcs fit into memory."
            )
        return CPU.check(config, topology)

    def refuse_schedule(self, name: str) -> str:
        """Return why a schedule is not possible here, or nothing."""
        return CPU.refuse_schedule(name)

    def likely_schedule(self, topology: Topology, side: str, ordered: bool) -> str:
        """Return the only default schedule."""
        return CPU.likely_schedule(topology, side, ordered)

    def compile(self, request: Request) -> Form:
        """Return a program as stages; raise ConfigError if it cannot run over blocks."""
        shared = request.topology.carrier.shares_state
        found: Staged | None = request.program.findings.get(("stages", shared))
        if found is None:
            found = split(request.program, shared)
            request.program.findings["stages", shared] = found
        if request.start.arcs or request.start.pairs is not None:
            raise refuse(
                request.program.steps[0], "the first frontier holds arcs, which lie in many blocks",
                "Start from vertices.",
            )  # fmt: skip
        self._check_stored(found, request.topology)
        return found, []

    def _check_stored(self, staged: Staged, topology: Topology) -> None:
        """Raise unless there are blocks of every direction that is swept."""
        needed: list[tuple[Step, str]] = []
        for stages in staged.stages.values():
            for stage in stages:
                if stage.arcs is not None:
                    topology.carrier.check(stage.arcs)
                    needed += [(stage.step, way) for way in stage.arcs.ways]
        needed += [(staged.program.steps[-1], way) for part in staged.wakes for way in part.ways]
        for step, way in needed:
            if topology.directed and topology.keep not in ("both", way):
                raise refuse(
                    step, f"it needs blocks by {'source' if way == 'out' else 'destination'}, and "
                    f"there are only those of keep={topology.keep!r}",
                    "Partition the edges with keep='both'.",
                )  # fmt: skip

    def run(self, request: Request, form: Form) -> Outcome:
        """Run a request to its end."""
        loop = Loop(request, form[0], request.topology.carrier)
        if request.program.mode == "iterate":
            return loop.iterate()
        return loop.replay() if request.program.mode == "replay" else loop.once()

    def held_bytes(self, topology: Topology) -> int:
        """Return the bytes that finished runs keep."""
        return workspace.held_bytes(topology.carrier.vertices)

    def carry(self, device: Device, places: Any, pairs: Sequence[tuple[Any, Any]]) -> None:
        """Copy elements at some indices from the first array of each pair to the second."""
        CPU.carry(device, places, pairs)


BACKEND = BlocksBackend()
