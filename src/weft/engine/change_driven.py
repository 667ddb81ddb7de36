"""State of change-driven programs (see `weft.ir.passes.delta`)."""

from __future__ import annotations

from weft.engine.state import State
from weft.ir.passes.delta import Delta
from weft.topology.topology import Topology


def hidden_state(delta: Delta, state: State, topology: Topology) -> State:
    """Return a state that shares these arrays and adds the hidden fields of the program."""
    n = topology.num_vertices
    with topology.device.current():
        hidden = {
            name: topology.xp.empty((n, *shape), dtype)
            for name, (dtype, shape) in delta.hidden.items()
        }
    fields = state.fields | hidden
    return State(fields, state.scalars, state.parameters, version=state._version)


def take_results(delta: Delta, held: State, topology: Topology) -> None:
    """Copy the results of a converged run from the hidden fields to the user's fields."""
    with topology.device.current():
        for name, kept in delta.results.items():
            held.fields[name][...] = held.fields[kept]
