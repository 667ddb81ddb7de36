"""Runs a rewritten program that is driven by changes (see `weft.ir.delta`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from weft.devices import move
from weft.engine.state import State
from weft.ir.delta import Delta
from weft.ir.request import Outcome
from weft.topology import Topology

# Supersteps after which sums are gathered anew: rounding errors of differences do not pile up.
REFRESH = 64

Execute = Callable[[State, Any, int], Outcome]


def hidden_state(delta: Delta, state: State, topology: Topology) -> State:
    """Return the state with the hidden fields of a rewritten program; arrays are shared."""
    n, place = topology.num_vertices, topology.device
    hidden = {
        name: move(np.zeros((n, *shape), dtype), place)
        for name, (dtype, shape) in delta.hidden.items()
    }
    made = State(state.fields | hidden, state.scalars, state.parameters)
    return made.belonging_to(state._version)


def iterate_by_changes(
    execute: Execute, delta: Delta, state: State, topology: Topology, max_iter: int | None
) -> Outcome:
    """Run to the end; `execute(state, frontier, max_iter)` runs the rewritten program.

    Every stretch begins with an empty frontier, so with a refresh, which is a whole superstep.
    """
    held = hidden_state(delta, state, topology)
    steps = 0
    while True:
        left = REFRESH if max_iter is None else min(REFRESH, max_iter - steps)
        outcome = execute(held, [], left - 1)
        steps += outcome.steps + 1
        if outcome.converged or steps == max_iter:
            return replace(outcome, steps=steps)
