"""The result of `iterate`, and the signature of a graph and a state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.engine.frontier import Frontier
from weft.engine.state import State
from weft.ir.ops import Signature
from weft.report.html import table_html
from weft.storage.memory import Cache
from weft.topology.topology import Topology

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Run:
    """The result of `iterate`.

    Attributes
    ----------
    steps
        Number of supersteps.
    converged
        With `until`, whether it holds at the end; otherwise whether the frontier is empty.
    frontier
        The last frontier.
    scalars
        Final values of the state's scalars.
    trail
        The frontiers of all supersteps, first to last, with ``trail=True``.
    """

    steps: int
    converged: bool
    frontier: Frontier
    scalars: dict[str, Any]
    trail: Sequence[Array]

    def _repr_html_(self) -> str:
        rows = [
            ("supersteps", f"{self.steps:,}"),
            ("converged", "yes" if self.converged else "no"),
            ("last frontier", f"{len(self.frontier):,} of {self.frontier.length:,}"),
            *self.scalars.items(),
        ]
        return table_html("Run", rows)


def _kinds(arrays: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the name, dtype and item shape of each array."""
    return tuple([(n, a.dtype, a.shape[1:]) for n, a in arrays.items()]) if arrays else ()


def kinds_of(state: State) -> tuple[Any, ...]:
    """Return the names, dtypes and shapes of a state, which determine a program."""
    found = []
    for name, array in state.fields.items():
        found.append((name, array.dtype, array.shape[1:]))
    kinds = tuple(found)
    if not (state.scalars or state.parameters):
        return kinds
    parameters = tuple([(n, a.dtype, a.shape) for n, a in state.parameters.items()])
    return kinds, _kinds(state.scalars), parameters


_signatures: Cache[Any, Signature] = Cache("signatures of states", 1024)


def signature_of(
    topology: Topology,
    state: State,
    edge_state: State | None,
    vertex_columns: dict[str, Array],
    edge_columns: Mapping[str, Any],
) -> Signature:
    """Return the names and types available to a program; equal signatures are one object."""
    fields = {**vertex_columns, **state.fields} if vertex_columns else state.fields
    edge_fields = edge_state.fields if edge_state is not None else {}
    parts = (
        _kinds(fields),
        _kinds(edge_fields),
        _kinds(edge_columns),
        tuple([(n, a.dtype) for n, a in state.scalars.items()]) if state.scalars else (),
        topology.index_dtype,
        tuple([(n, a.dtype, a.shape) for n, a in state.parameters.items()])
        if state.parameters
        else (),
    )
    known = _signatures.get(parts)
    if known is None:
        known = _signatures[parts] = Signature(*parts)
    return known
