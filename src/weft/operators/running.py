"""The one way of a call of an operator: into a recording, or to the engine at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from weft.config import Config
from weft.engine.frontier import Frontier
from weft.engine.state import State
from weft.errors import ConfigError, TraceError, unknown
from weft.operators import recording
from weft.operators.balance import schedule_for
from weft.operators.functions import ITERATION, MARK


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


def perform(call: Call) -> Frontier:
    """Run a call, or record it."""
    recorder = recording.current()
    if recorder is not None:
        found: Frontier = recorder.record(call)
        return found
    return run_now(call)


def run_now(call: Call) -> Frontier:
    """Run a call and return its output."""
    g = call.graph
    held = twin(g, call.state, call.marks, call.frontier.iteration if call.counts else None)
    steps = call.steps[0] if len(call.steps) == 1 else list(call.steps)
    output = "arcs" if call.output == "arcs" else "vertices"
    found: Frontier = g.run(
        steps, held, call.frontier, edge_state=call.edge_state, output=output,
        direction=call.direction, config=call.config,
    )  # fmt: skip
    return finished(call, found)


def finished(call: Call, found: Frontier) -> Frontier:
    """Return the output of a call, with the iteration that it belongs to."""
    g = call.graph
    if call.output == "same":
        return call.frontier
    if call.output is None:
        found = g.frontier([])
    found.version = g._history.version
    found.iteration = call.frontier.iteration + int(call.advances)
    return found


def twin(g: Any, state: State, marks: tuple[str, ...], iteration: int | None) -> State:
    """Return a state that shares the arrays of another one and has the hidden fields as well."""
    if not (marks or iteration is not None):
        return state
    return hidden_twin(g, state, marks, iteration)


def hidden_twin(g: Any, state: State, marks: tuple[str, ...], iteration: int | None) -> State:
    """Return another state with the same arrays, and with hidden fields."""
    fields = dict(state.fields)
    with g.topology.device.current():
        for name in marks:
            fields[name] = g.topology.xp.zeros(g.num_vertices, np.int32)
    return twin_of(state, fields, iteration)


def twin_of(state: State, fields: dict[str, Any], iteration: int | None = None) -> State:
    """Return a state of these fields that shares everything else with another one."""
    scalars = dict(state.scalars)
    if iteration is not None and ITERATION not in scalars:
        scalars[ITERATION] = np.array([iteration], np.int64)
    made = State(
        fields, scalars, state.parameters, version=state._version, untouched=state._untouched
    )
    vars(made)["old"] = state.old
    return made


def mark_of(steps: tuple[Any, ...]) -> tuple[str, ...]:
    """Return the hidden fields that steps mark vertices in."""
    names = [name for step in steps for name in getattr(step, "into", ())]
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


def config_of(
    g: Any, frontier: Frontier, config: Config | None, schedule: Any, dedup: str | None = None
) -> Config | None:
    """Return the configuration of a call with the schedule that its frontier asks for."""
    chosen = schedule_for(g, frontier, schedule)
    if chosen is None and dedup is None:
        return config
    return _with(config, chosen, dedup)


@lru_cache(maxsize=256)
def _with(config: Config | None, schedule: Any, dedup: str | None) -> Config:
    """Return a configuration with other choices; the same object for the same ones."""
    made = Config() if config is None else config
    if schedule is not None:
        made = replace(made, schedule=schedule)
    return made if dedup is None else replace(made, dedup=dedup)
