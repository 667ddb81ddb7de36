"""A topology whose arcs lie in tables, and are read into memory only where something needs them."""

from __future__ import annotations

import functools
import threading
import weakref
from typing import Any

import numpy as np

from weft.arrays.device import Device
from weft.backends.relational.store import Store
from weft.topology.adjacency import Adjacency, Array, index_dtype_for
from weft.topology.topology import Topology


class TableTopology(Topology):
    """The structure of a graph in the tables of a store.

    Parameters
    ----------
    store : Store
        The tables.
    device : Device
        Their connection.
    counts : tuple of int
        The numbers of vertices, arcs and edges.
    directed : bool
        Whether every arc is an edge of its own.
    """

    def __init__(
        self, store: Store, device: Device, counts: tuple[int, int, int], directed: bool
    ) -> None:
        self.store, self.device, self.directed = store, device, directed
        self.num_vertices, self.num_arcs, self.num_edges = counts
        self.keep, self.primary_direction = "both", "out"
        self.index_dtype = index_dtype_for(self.num_vertices, None)
        self._check = None
        self._unread: Any = None
        self.numbering = None
        self._secondary = self._secondary_arcs = self._reverse = None
        self._edges = self._secondary_edges = None
        self._degrees: dict[str, Array] = {}
        self._owners: dict[str, Array] = {}
        self._found: dict[tuple[str, str], Array] = {}
        self._lock = threading.RLock()
        self._copies: weakref.WeakValueDictionary[Device, Topology] = weakref.WeakValueDictionary()

    @functools.cached_property
    def _primary(self) -> Adjacency:
        """The arcs, read from their table."""
        engine = self.store.engine
        text = f"SELECT dst FROM {engine.dialect.quote(self.store.arcs)} ORDER BY arc"
        targets = engine.arrays(text)["dst"].astype(self.index_dtype)
        offsets = np.zeros(self.num_vertices + 1, np.int64)
        np.cumsum(self._degree("out"), out=offsets[1:])
        return Adjacency(offsets, targets)

    def _degree(self, direction: Any) -> Array:
        """Return the degrees, counted where the arcs are."""
        key = direction if self.directed else "out"
        with self._lock:
            if key not in self._degrees:
                self._degrees[key] = self._counted("src" if key == "out" else "dst")
            return self._degrees[key]

    def _counted(self, end: str) -> Array:
        engine = self.store.engine
        arcs = engine.dialect.quote(self.store.arcs)
        found = engine.arrays(f"SELECT {end} AS id, COUNT(*) AS k FROM {arcs} GROUP BY {end}")
        degrees = np.zeros(self.num_vertices, self.index_dtype)
        degrees[found["id"]] = found["k"]
        return degrees
