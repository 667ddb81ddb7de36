"""The programs prepared for a graph, and what they depend on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.config import Config
from weft.engine.prepared import Columns, Prepared
from weft.engine.tuned import changes
from weft.graph.columns import EdgeColumns, VertexColumns
from weft.storage.memory import Cache
from weft.topology.topology import Topology

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Kept:
    """A cached prepared program, with what it was prepared for."""

    prepared: Prepared
    config: Config | None  # as given; kept alive, since the cache key is its id
    topology: Topology
    order: Array | None
    tunings: int

    def holds(self, topology: Topology, order: Array | None) -> bool:
        """Whether the graph, its order and, where used, the stored tunings are unchanged."""
        tuned = self.config is not None or self.tunings == changes[0]
        return self.topology is topology and self.order is order and tuned


@dataclass(frozen=True, eq=False)
class Recurring:
    """A plain loop or superstep that may recur: its functions, and all that it depends on."""

    functions: Any  # kept alive, since the cache key is their id
    kinds: tuple[Any, ...]
    changes: tuple[int, int]  # of the columns
    reads: Any
    kept: Kept
    priority: Any


class PreparedCache:
    """The prepared programs of a graph, what may recur, and how runs read its columns."""

    def __init__(self, vertex: VertexColumns, edge: EdgeColumns) -> None:
        self.programs: Cache[Any, Kept] = Cache("prepared programs", 64)
        self.recurring: Cache[Any, Recurring] = Cache("recurring programs", 64)
        # What calls of operators ran by, see `weft.operators.standing`.
        self.operators: Cache[Any, Any] = Cache("operators", 64)
        # Arrays that hold one value everywhere, for combining messages (`sparse.py`).
        self.accumulators: dict[Any, Array] = {}
        self.columns = Columns(vertex.stored(), edge)

    def drop_orders_but(self, wanted: tuple[Topology, ...]) -> None:
        """Drop runs prepared for other topologies."""
        for key, kept in list(self.programs.items()):
            if kept.prepared.topology not in wanted:
                self.programs.pop(key, None)
        for key, found in list(self.recurring.items()):
            if found.kept.prepared.topology not in wanted:
                self.recurring.pop(key, None)
