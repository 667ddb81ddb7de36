"""What an executor is asked to do, and what it answers: the same for every backend."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from weft.ir.ops import Program
from weft.topology.topology import Topology

Array = np.ndarray[Any, Any]


@dataclass
class Request:
    """A program with the graph, the state it works on (changed in place) and the first frontier."""

    program: Program
    topology: Topology
    fields: dict[str, Array]  # name -> (n, *shape); "old.name" where old values are kept
    edge_fields: dict[str, Array]  # name -> (arcs, *shape), by canonical arc
    column: Callable[[str, str], Array]  # (name, "out" | "in" | "edge") -> slot or edge order
    scalars: dict[str, Array]  # name -> array of one element
    frontier: Array | None = None  # sorted vertices or arcs; None stands for all
    arcs: bool = False  # the frontier holds canonical arcs
    max_iter: int | None = None
    trail: list[Array] | None = None  # the frontiers to replay, first to last
    options: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, Array] = field(default_factory=dict)  # name -> vector or matrix
    # Copies fields as the run leaves them. A device may be asked to do so while the run is under
    # way, since it does one thing after another; `Outcome.followed` tells whether that was enough.
    follow: Callable[[], None] | None = None


class Deferred:
    """An array that is made when somebody asks for it: most runs' last frontier never is."""

    def __init__(self, make: Callable[[], Array]) -> None:
        self._make = make

    def get(self) -> Array:
        """Return the array."""
        return self._make()


@dataclass
class Outcome:
    """How a run ended. `frontier` is sorted and without duplicates; None stands for all."""

    steps: int
    converged: bool
    frontier: Array | Deferred | None
    trail: list[Array] = field(default_factory=list)
    followed: bool = False
