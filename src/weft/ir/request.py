"""Requests and outcomes of runs, the same for every backend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from weft.config import Config
from weft.ir.ops import Program
from weft.topology.topology import Topology

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Degrees:
    """Degrees from which a warp, a block or the whole grid shares a row; None: the default."""

    warp: int | None = None
    block: int | None = None
    grid: int | None = None


@dataclass(frozen=True)
class RunOptions:
    """A configuration checked for a device: the options that shape the code.

    Requests of one program over one topology with equal options run the same code.
    """

    config: Config = field(default_factory=Config)
    schedule: Any = None  # one name, or one per side; None leaves it to the backend
    recorded: bool = False  # runs also count quantities that only a profile shows
    degrees: Degrees = Degrees()


@dataclass(slots=True)
class Data:
    """The arrays that a program works on; it changes them in place."""

    fields: dict[str, Array]  # name -> (n, *shape); "old.name" where old values are kept
    edge_fields: dict[str, Array]  # name -> (arcs, *shape), by canonical arc
    column: Callable[[str, str], Array]  # (name, "out" | "in" | "edge") -> slot or edge order
    scalars: dict[str, Array]  # name -> array of one element
    parameters: dict[str, Array] = field(default_factory=dict)  # name -> vector or matrix
    known_edges: frozenset[str] = frozenset()  # facts about edge state, see `State.known_to_be`
    # Of a program that emits: the record counts of every item, or offsets, then the records' parts.
    emitted: tuple[Array, ...] = ()

    @property
    def nbytes(self) -> int:
        """Bytes of the fields, the edge state and the parameters."""
        held = (self.fields, self.edge_fields, self.scalars, self.parameters)
        return sum(int(array.nbytes) for arrays in held for array in arrays.values())


class Deferred:
    """An array that is computed on demand: the last frontier of most runs is never looked at.

    Its size may be known without it.
    """

    def __init__(self, make: Callable[[], Array], size: int | None = None) -> None:
        self._make, self.size = make, size

    def get(self) -> Array:
        """Return the array."""
        return self._make()


@dataclass(slots=True)
class Start:
    """The start of a run."""

    # Sorted vertices or arcs; None stands for all. Backends that take members in any order get the
    # `Deferred` that one of their runs returned as it is.
    frontier: Any = None
    arcs: bool = False  # the frontier holds canonical arcs
    trail: Sequence[Array] | None = None  # the frontiers to replay, first to last
    window: float = 0.0  # of priorities reached by the previous run; 0 if unknown
    pairs: tuple[Array, Array] | None = None  # u and v of pairs in place of arcs


@dataclass(slots=True)
class Request:
    """A program, the graph and state it runs on, and how."""

    program: Program
    topology: Topology
    options: RunOptions
    data: Data
    start: Start = field(default_factory=Start)
    max_iter: int | None = None
    report: Callable[..., None] | None = None  # receives the records of the supersteps
    limit: Any = None  # a `TimeLimit` on the runs of a tuner
    constants: Sequence[Any] = ()  # values of lifted constants, for the interpreter
    # Copies the fields after the run. A device may queue this while the run is in progress, since
    # it works in order; `Outcome.followed` tells whether that sufficed.
    follow: Callable[[], None] | None = None


@dataclass(slots=True)
class Outcome:
    """The outcome of a run. `frontier` is sorted and without duplicates; None stands for all."""

    steps: int
    converged: bool
    frontier: Array | Deferred | None
    trail: Sequence[Array] = ()
    followed: bool = False
    window: float = 0.0  # of priorities, reached by an ordered run
