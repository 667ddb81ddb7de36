"""The arcs of a small graph as arrays, laid out once per topology."""

from __future__ import annotations

import functools
import weakref
from typing import Any

import numpy as np

from weft.topology.topology import Direction, Topology

Array = np.ndarray[Any, Any]


class Rows:
    """Ends and rows of the canonical arcs of a topology."""

    def __init__(self, topology: Topology) -> None:
        self._topology = weakref.ref(topology)
        self.num_vertices, self.num_arcs = topology.num_vertices, topology.num_arcs
        self.primary: Direction = topology.primary_direction

    @property
    def topology(self) -> Topology:
        """The topology, which lives as long as anything runs over it."""
        found = self._topology()
        assert found is not None
        return found

    @functools.cached_property
    def ends(self) -> tuple[Array, Array]:
        """Source and target of each canonical arc."""
        return self.topology.endpoints()

    @functools.cached_property
    def edge_ids(self) -> Array:
        """The edge of each canonical arc."""
        edges = self.topology.edges(self.primary)
        return np.arange(self.num_arcs) if edges is None else edges

    @functools.cached_property
    def ranks(self) -> Array:
        """The position of each canonical arc in its row."""
        adjacency = self.topology.adjacency(self.primary)
        return np.arange(self.num_arcs) - adjacency.spread(adjacency.offsets[:-1])

    @functools.cached_property
    def reverse(self) -> Array:
        """The opposite arc of each canonical arc."""
        return self.topology.reverse_arcs()

    @functools.cached_property
    def degrees(self) -> dict[str, Array]:
        """Degrees by direction."""
        return {"out": self.topology.out_degree, "in": self.topology.in_degree}

    def expand(self, direction: Direction, vertices: Array | None) -> tuple[Array, Array, Array]:
        """Return the slots in the rows of some vertices, as (position in `vertices`, far end, arc).

        None stands for all vertices.
        """
        adjacency = self.topology.adjacency(direction)
        if vertices is None:
            owner, slots = adjacency.rows(), slice(None)
        else:
            first = adjacency.offsets[vertices]
            counts = adjacency.offsets[vertices + 1] - first
            owner = np.repeat(np.arange(len(vertices)), counts)
            slots = np.arange(len(owner)) + np.repeat(first - (np.cumsum(counts) - counts), counts)
        arcs = self.topology.arcs(direction)
        far = adjacency.targets[slots]
        places = np.arange(self.num_arcs)[slots] if arcs is None else arcs[slots]
        return owner, far, places


_rows: weakref.WeakKeyDictionary[Topology, Rows] = weakref.WeakKeyDictionary()


def rows_of(topology: Topology) -> Rows:
    """Return the rows of a topology, laid out when they are first used."""
    found = _rows.get(topology)
    if found is None:
        found = _rows[topology] = Rows(topology)
    return found
