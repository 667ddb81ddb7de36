"""Runs weft's algorithms on the modelled GPU: `simulate`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

from weft.backends.reference.backend import EXECUTOR
from weft.errors import ConfigError, unknown
from weft.ir.request import Outcome, Request
from weft.weaver.execute import Execution, Mapping
from weft.weaver.machine import Counters, Machine


@dataclass
class Simulation:
    """The results and the counters of a run on the model.

    Attributes
    ----------
    result
        What the algorithm returned.
    counters : Counters
        Cycles by phase, stalls by cause, and counts of the whole run.
    supersteps : list of Counters
        The same for each superstep.
    streams : list of Kernel
        The instruction streams, each once.
    """

    result: Any
    counters: Counters
    supersteps: list[Counters] = field(default_factory=list)
    streams: list[Any] = field(default_factory=list)

    @property
    def cycles(self) -> int:
        """The cycles of all kernels, one after another."""
        return self.counters.cycles


def simulate(  # noqa: PLR0913
    g: Any, algorithm: Callable[[Any], Any], *, schedule: str = "weaver", format: str = "",
    direction: str = "pull", machine: Machine | None = None, traced: int = 0,
    max_steps: int | None = None, **parameters: Any,
) -> Simulation:  # fmt: skip
    """Run an algorithm on the modelled GPU, with values, cycle by cycle.

    Parameters
    ----------
    g
        The graph.
    algorithm
        Takes a graph and runs programs on it.
    schedule
        "vertex", "edge", "warp", "block", "weaver" or "eghw".
    format
        How the edges lie in memory; by default CSR, and COO for the schedule "edge".
    direction
        "push" or "pull".
    machine
        The parameters of the GPU; single ones may be given by name instead.
    traced
        How many instructions of each kernel to keep for a timeline.
    max_steps
        End a loop after so many supersteps.

    Examples
    --------
    >>> import weft
    >>> from weft.weaver import simulate
    >>> from weft.weaver.programs import bfs
    >>> g = weft.generators.path(4)
    >>> run = simulate(g, lambda g: bfs(g, 0), direction="push", warps=2, threads=4, entries=8)
    >>> run.result.tolist(), run.cycles > 0
    ([0, 1, 2, 3], True)

    Raises
    ------
    ConfigError
        If a program has no form as a stream, or a name is wrong.
    """
    if direction not in ("push", "pull"):
        raise ConfigError(unknown("direction", direction, ["push", "pull"]))
    if machine is None:
        known = [each.name for each in fields(Machine)]
        for name in parameters:
            if name not in known:
                raise ConfigError(unknown("parameter", name, known))
        machine = Machine(**parameters)
    mapping = Mapping(schedule, format, direction, machine, traced, max_steps)
    found = Simulation(None, Counters())

    def execute(request: Request) -> Outcome:
        run = Execution(request, mapping)
        outcome = run.run()
        found.counters += run.counters
        found.supersteps += run.steps
        found.streams += [kernel for pairs in run._kernels.values() for kernel, _ in pairs]
        return outcome

    token = EXECUTOR.set(execute)
    try:
        found.result = algorithm(g.to("reference"))
    finally:
        EXECUTOR.reset(token)
    return found
