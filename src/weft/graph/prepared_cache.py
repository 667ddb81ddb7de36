"""What a graph remembers of the programs that ran on it, and as long as which it holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.config import Config
from weft.engine.prepared import Columns, Prepared
from weft.engine.tuned import changes
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
class Expected:
    """A loop that may recur: its functions, kept alive, and everything it depends on."""

    functions: Any
    kinds: tuple[Any, ...]
    columns: tuple[int, int]
    reads: Any
    kept: Kept
    priority: Any


class PreparedCache:
    """The prepared programs of a graph, its loops that may recur, and how runs read its columns."""

    def __init__(self) -> None:
        self.programs: Cache[Any, Kept] = Cache("prepared programs", 64)
        self.loops: Cache[Any, Expected] = Cache("prepared programs", 64)
        self.columns: Columns | None = None

    def drop_orders_but(self, wanted: tuple[Topology, ...]) -> None:
        """Drop what was prepared for other topologies."""
        for key, kept in list(self.programs.items()):
            if kept.prepared.topology not in wanted:
                self.programs.pop(key, None)
        for key, found in list(self.loops.items()):
            if found.kept.prepared.topology not in wanted:
                self.loops.pop(key, None)
