"""The one way of a call of an operator: into a recording, or to the engine at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from weft.config import Config
from weft.engine.frontier import Frontier
from weft.engine.prepared import Inputs
from weft.engine.state import State
from weft.errors import ConfigError, TraceError, unknown
from weft.graph import execution
from weft.ir.ops import Program
from weft.ir.trace.cache import kept_trace
from weft.ir.trace.steps import Fold
from weft.operators import recording
from weft.operators.balance import schedule_for
from weft.operators.functions import MARK
from weft.operators.standing import clear, keep_recorded, stand, turn_of
from weft.operators.twins import twin
from weft.report.tracebacks import hides_frames


@dataclass(eq=False)
class Call:
    """One call of an operator, ready to run.

    `steps` run one after another. `output` is None, "vertices", "arcs" or "same", the input itself.
    """

    who: str
    graph: Any
    steps: tuple[Any, ...]
    state: State
    frontier: Frontier
    output: str | None
    edge_state: State | None = None
    config: Config | None = None
    direction: str | None = None
    marks: tuple[str, ...] = ()
    counts: bool = False  # whether a function asks for the number of the iteration
    advances: bool = False  # whether the output is one iteration further
    key: Any = ()  # what two calls have in common that do the same
    recurs: Any = None  # the same by identity, see `weft.operators.standing`
    owner: State | None = None  # the state of the user, where `state` is a twin of it
    functions: tuple[Any, ...] = ()  # of the user

    @cached_property
    def everywhere(self) -> bool:
        """Whether a step runs at all vertices."""
        return any(_is_everywhere(step) for step in self.steps)

    def on(self, g: Any, state: Any, frontier: Any) -> Call:
        """Return the same call on another graph, state and frontier."""
        other = object.__new__(Call)
        vars(other).update(vars(self), graph=g, state=state, frontier=frontier)
        return other


def _is_everywhere(step: Any) -> bool:
    if isinstance(step, Fold):
        return any(part.everywhere for part in step.parts)
    return bool(step.everywhere)


def perform(call: Call) -> Frontier:
    """Run a call, or record it."""
    recorder = recording.current()
    if recorder is not None:
        keep_recorded(call)
        found: Frontier = recorder.record(call)
        return found
    return run_now(call)


def run_now(call: Call) -> Frontier:
    """Run a call and return its output."""
    g, state = call.graph, call.state
    held = twin(g, state, call.marks, call.frontier.iteration if call.counts else None)
    steps = call.steps[0] if len(call.steps) == 1 else list(call.steps)
    if call.output == "arcs":
        found: Frontier = g.run(
            steps, held, call.frontier, edge_state=call.edge_state, output="arcs",
            direction=call.direction, config=call.config,
        )  # fmt: skip
    else:
        program, found = _superstep(call, held, steps)
        for name in call.marks:
            clear(held.fields[name], found)
        if call.recurs is not None:
            stand(g, state, held, program, call)
    return finished(g, call.frontier, found, call.output, call.advances)


@hides_frames
def _superstep(call: Call, held: State, steps: Any) -> tuple[Program, Frontier]:
    """Run the steps of a call; return their program and what it puts out."""
    g = call.graph
    held.settle()
    program = kept_trace(steps, execution.signature_for(g, held, call.edge_state), "run")
    turn = turn_of(call.owner or call.state, call.frontier)
    inputs = Inputs(held, call.edge_state, call.frontier, turn=turn)
    outcome = execution.run_program(g, program, call.config, inputs, call.direction)
    return program, execution._frontier_of(g, outcome.frontier)


def finished(
    g: Any, first: Frontier, found: Frontier, output: str | None, advances: bool
) -> Frontier:
    """Return the output of an operator, with the iteration that it belongs to."""
    if output == "same":
        return first
    if output is None:
        topology = g._topology
        nothing = np.empty(0, topology.index_dtype)  # on a GPU, making one there would take longer
        found = Frontier(nothing, topology.num_vertices, device=topology.device)
    found.version = g._history.version
    found.iteration = first.iteration + advances
    return found


def mark_of(steps: tuple[Any, ...]) -> tuple[str, ...]:
    """Return the hidden fields that steps mark vertices in."""
    parts = [part for step in steps for part in (step.parts if isinstance(step, Fold) else [step])]
    names = [name for part in parts for name in getattr(part, "into", ())]
    return tuple(name for name in names if name.startswith(MARK))


def check_choice(name: str, value: Any, known: tuple[Any, ...]) -> None:
    """Raise unless an option has one of its values."""
    if value not in known:
        raise ConfigError(unknown(name, value, known))


def check_state(who: str, state: Any) -> None:
    """Raise unless this is a state."""
    if not isinstance(state, State):
        raise TraceError(
            f"{who} got {type(state).__name__} as its state. Expected a state made by g.state(...)."
        )


def scheduled(
    g: Any, frontier: Frontier, config: Config | None, schedule: Any, along: str
) -> Config | None:
    """Return the configuration of a call with the schedule that its frontier asks for."""
    if schedule is None:
        return config
    return with_choices(config, schedule_for(g, frontier, schedule, along), None)


@lru_cache(maxsize=256)
def with_choices(config: Config | None, schedule: Any, dedup: str | None) -> Config | None:
    """Return a configuration with other choices; the same object for the same ones."""
    if schedule is None and dedup is None:
        return config
    made = Config() if config is None else config
    if schedule is not None:
        made = replace(made, schedule=schedule)
    return made if dedup is None else replace(made, dedup=dedup)
