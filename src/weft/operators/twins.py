"""States that share the arrays of another one and have hidden fields beside them."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.engine.state import State
from weft.operators.functions import ITERATION


def twin(g: Any, state: State, marks: tuple[str, ...], iteration: int | None) -> State:
    """Return a state that shares the arrays of another one and has the hidden fields as well."""
    if not (marks or iteration is not None):
        return state
    return hidden_twin(g, state, marks, iteration)


def hidden_twin(g: Any, state: State, marks: tuple[str, ...], iteration: int | None) -> State:
    """Return another state with the same arrays, and with hidden fields."""
    if not marks and iteration is None:
        made = object.__new__(State)
        vars(made).update(vars(state), _watch=None, _standing=None)
        return made
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
