"""What an executor is asked to do and what it answers; the same for every backend."""

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
    """A configuration as checked for a device: whatever, besides the program, shapes the code.

    Requests of one program over one topology with equal options run the same code.
    """

    config: Config = field(default_factory=Config)
    schedule: Any = None  # one name, or one per side; None leaves it to the backend
    recorded: bool = False  # runs also count what only a profile shows
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
    # Of a program that emits: the records of every item, or where they begin; then their parts.
    emitted: tuple[Array, ...] = ()

    @property
    def nbytes(self) -> int:
        """Bytes of the fields, the edge state and the parameters."""
        held = (self.fields, self.edge_fields, self.scalars, self.parameters)
        return sum(int(array.nbytes) for arrays in held for array in arrays.values())


@dataclass(slots=True)
class Start:
    """Where a run begins."""

    frontier: Array | None = None  # sorted vertices or arcs; None stands for all
    arcs: bool = False  # the frontier holds canonical arcs
    trail: Sequence[Array] | None = None  # the frontiers to replay, first to last
    window: float = 0.0  # of priorities that the run before had come to; 0: not known
    pairs: tuple[Array, Array] | None = None  # u and v of what runs in place of arcs, by number


@dataclass(slots=True)
class Request:
    """A program, the graph and state it runs on, and how."""

    program: Program
    topology: Topology
    options: RunOptions
    data: Data
    start: Start = field(default_factory=Start)
    max_iter: int | None = None
    report: Callable[..., None] | None = None  # takes the records of the supersteps
    limit: Any = None  # a `TimeLimit` on the runs of a tuner
    constants: Sequence[Any] = ()  # values of lifted constants, for the interpreter
    # Copies fields as the run leaves them. A device may be asked to do so while the run is under
    # way, since it does one thing after another; `Outcome.followed` says whether that was enough.
    follow: Callable[[], None] | None = None


class Deferred:
    """An array that is computed on demand: the last frontier of most runs is never looked at."""

    def __init__(self, make: Callable[[], Array]) -> None:
        self._make = make

    def get(self) -> Array:
        """Return the array."""
        return self._make()


@dataclass(slots=True)
class Outcome:
    """How a run ended. `frontier` is sorted and without duplicates; None stands for all."""

    steps: int
    converged: bool
    frontier: Array | Deferred | None
    trail: Sequence[Array] = ()
    followed: bool = False
    window: float = 0.0  # of priorities, that an ordered run had come to
