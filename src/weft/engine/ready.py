"""Programs that ran on a graph before, ready to run again from new values.

An algorithm that is called again and again makes a state of the same kind each time and runs the
same functions on it. What does not hang on the values (the trace, the configuration, what it asks
of a backend) is found in the first call, and kept for one version of one graph. What could have
changed since without being another version is compared: the columns, the store of the tuner.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.backends.planning import asked_of, known_form
from weft.config import Config
from weft.engine import profile, watching
from weft.engine.remembered import changes
from weft.engine.run import make_options, old_names, run_again
from weft.engine.state import State
from weft.ir.ops import Program
from weft.ir.request import Request
from weft.topology import Topology

MOST_READY = 64  # of one version of a graph


@dataclass(eq=False)
class Ready:
    """One program as it ran on one version of a graph; does not hold the graph."""

    functions: Any
    given: Config | None  # both are kept alive, since they are found by their identity
    program: Program
    options: dict[str, Any] | None  # None: it is to go the whole way every time
    kinds: tuple[Any, ...]
    changes: int

    def run(self, topology: Topology, state: State, edge_columns: Any, source: int) -> None:
        """Run the program from a new state, on a frontier of one vertex."""

        def column(name: str, direction: str) -> Any:
            if direction == "edge":
                return edge_columns.storage(name)
            return edge_columns.in_slots(name, direction, topology)

        assert self.options is not None
        frontier = np.array([source], topology.index_dtype)
        request = Request(
            self.program, topology, state.fields, {}, column, state.scalars, frontier,
            options=self.options,
        )  # fmt: skip
        run_again(request)
        if "form" not in request.options:  # the one that was found for it
            request.options["form"] = known_form(request)


_ready: weakref.WeakKeyDictionary[Any, dict[Any, Ready]] = weakref.WeakKeyDictionary()


def find(
    version: Any, functions: Any, config: Config | None, state: State, columns: Any
) -> Ready | None:
    """Return what is known about a program on a version of a graph, if that still holds."""
    known = _ready.get(version)
    found = None if known is None else known.get((id(functions), id(config)))
    if found is None or found.changes != changes[0] or found.kinds != _kinds(state, columns):
        return None
    return found


def is_watched() -> bool:
    """Whether somebody records runs or looks on: those go the whole way."""
    return profile.active() is not None or watching.active() is not None


def keep(
    version: Any, functions: Any, given: Config | None, config: Config, program: Program,
    topology: Topology, state: State, columns: Any,
) -> None:  # fmt: skip
    """Keep a program that ran from a frontier of one vertex on a topology."""
    plain = not old_names(program) and topology.numbering is None and topology.num_vertices > 0
    # Names are looked up in every run, and runs by changes are put together otherwise.
    named = config.format is not None or config.schedule is not None or config.change_driven
    options: dict[str, Any] | None = None
    if plain and not named:
        options = make_options(config, topology) | {"report": None}
        asking = Request(program, topology, {}, {}, _no_column, {}, options=options)
        options["asked"] = asked_of(asking)
    known = _ready.setdefault(version, {})
    if len(known) >= MOST_READY:
        known.clear()
    known[id(functions), id(given)] = Ready(
        functions, given, program, options, _kinds(state, columns), changes[0]
    )


def _kinds(state: State, columns: dict[str, Any]) -> tuple[Any, ...]:
    fields = [array.dtype for array in state.fields.values()]
    return (*fields, *[(name, array.dtype, array.shape[1:]) for name, array in columns.items()])


def _no_column(name: str, direction: str) -> Any:
    raise AssertionError(name)
