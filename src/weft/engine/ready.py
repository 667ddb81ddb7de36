"""Programs that ran on a graph before, ready to run again from new values.

An algorithm that is called again and again makes a state of the same kind each time and runs the
same functions on it. What does not hang on the values (the trace, the configuration, what it asks
of a backend) is found in the first call, and kept for one version of one graph. What could have
changed since without being another version is compared: the columns, the store of the tuner.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.config import Config
from weft.engine import profile
from weft.engine import watch as watching
from weft.engine.reorder import used_fields, users_fields
from weft.engine.run import make_options, old_names, run_again
from weft.engine.state import Full, State, make_state
from weft.engine.tuned import changes
from weft.ir.ops import Program
from weft.ir.request import Request
from weft.plan.prepare import asked_of, known_form
from weft.topology.topology import Topology

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
    held: weakref.ref[Topology]  # what it ran over, perhaps in another order than the user's

    def run(
        self, held: Topology, fields: Mapping[str, Full], edge_columns: Any, source: int
    ) -> State:
        """Run the program over `held` from first values, on a frontier of one vertex.

        In another order first values are written where they belong: nothing is carried there.
        """
        place = None if held.numbering is None else held.numbering.place_on_host
        if place is not None:
            fields = {name: what.moved(place) for name, what in fields.items()}
            source = int(place[source])
        state = make_state(held, dict(fields), {}, length=held.num_vertices, edges=False)

        def column(name: str, direction: str) -> Any:
            if direction == "edge":
                return edge_columns.storage(name)
            return edge_columns.in_slots(name, direction, held)

        assert self.options is not None
        frontier = np.array([source], held.index_dtype)
        request = Request(
            self.program, held, state.fields, {}, column, state.scalars, frontier,
            options=self.options,
        )  # fmt: skip
        if place is not None:
            users, request.follow = users_fields(request)
            state = State(users, {})
        outcome = run_again(request)
        if request.follow is not None and not outcome.followed:
            request.follow()
        if "form" not in request.options:  # the one that was found for it
            request.options["form"] = known_form(request)
        return state


_ready: weakref.WeakKeyDictionary[Any, dict[Any, Ready]] = weakref.WeakKeyDictionary()


def find(
    version: Any, functions: Any, config: Config | None, kinds: tuple[Any, ...]
) -> Ready | None:
    """Return what is known about a program on a version of a graph, if that still holds."""
    known = _ready.get(version)
    found = None if known is None else known.get((id(functions), id(config)))
    if found is None or found.changes != changes[0] or found.kinds != kinds:
        return None
    return None if found.held() is None else found


def is_watched() -> bool:
    """Whether somebody records runs or looks on: those go the whole way."""
    return profile.active() is not None or watching.active() is not None


def keep(
    version: Any, functions: Any, given: Config | None, config: Config, program: Program,
    held: Topology, fields: Iterable[str], kinds: tuple[Any, ...],
) -> None:  # fmt: skip
    """Keep a program that ran from a frontier of one vertex over a topology.

    `fields` are those of its state: it must use no column of the vertices.
    """
    options: dict[str, Any] | None = None
    own = used_fields(program) <= set(fields)
    # Runs by changes are put together otherwise.
    if own and not old_names(program) and held.num_vertices > 0 and not config.change_driven:
        options = make_options(config, held) | {"report": None}
        asking = Request(program, held, {}, {}, _no_column, {}, options=options)
        options["asked"] = asked_of(asking)
    known = _ready.setdefault(version, {})
    if len(known) >= MOST_READY:
        known.clear()
    known[id(functions), id(given)] = Ready(
        functions, given, program, options, kinds, changes[0], weakref.ref(held)
    )


def kinds_of(
    topology: Topology, fields: Mapping[str, Full], *columns: Mapping[str, Any]
) -> tuple[Any, ...]:
    """Return what of first values and of columns decides about a program."""
    dtypes = [what.settled(name, topology)[0] for name, what in fields.items()]
    told = [(n, a.dtype, a.shape[1:]) for some in columns for n, a in some.items()]
    return (*dtypes, *told)


def _no_column(name: str, direction: str) -> Any:
    raise AssertionError(name)
