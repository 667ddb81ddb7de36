"""The state of a program that is driven by changes (see `weft.ir.passes.delta`)."""

from __future__ import annotations

from weft.engine.state import State
from weft.ir.passes.delta import Delta
from weft.topology.topology import Topology


def hidden_state(delta: Delta, state: State, topology: Topology) -> State:
    """Return the state with the hidden fields of a rewritten program; arrays are shared."""
    n = topology.num_vertices
    with topology.device.current():
        hidden = {
            name: topology.xp.empty((n, *shape), dtype)
            for name, (dtype, shape) in delta.hidden.items()
        }
    made = State(state.fields | hidden, state.scalars, state.parameters)
    return made.belonging_to(state._version)


def take_results(delta: Delta, held: State, topology: Topology) -> None:
    """Let fields hold what they were when a run that came to rest found that nothing moves far."""
    with topology.device.current():
        for name, kept in delta.results.items():
            held.fields[name][...] = held.fields[kept]
