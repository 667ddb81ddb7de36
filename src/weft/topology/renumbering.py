"""Numberings: translate between the user's vertices and those of a reordered topology.

A reordered topology numbers its vertices by *place* in memory; `order[place]` is the user's vertex.
Its arcs are numbered by places too. Fields, frontiers and the ids that a program reads are
translated; see ``docs/design/reordering.md``.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from weft.arrays.device import Device, module_of, move, to_host
from weft.topology.adjacency import Adjacency, Array, fitting_dtype, sort_arcs, spread_over_mirrored


class Numbering:
    """The user's numbering of the vertices, arcs and edges of a reordered topology.

    Parameters
    ----------
    order : ndarray of int
        The user's vertex at each place.
    rows : Adjacency
        The canonical arcs in the user's numbering.
    directed : bool
        Whether every arc is an edge of its own.

    Attributes
    ----------
    order, place : ndarray of int
        The user's vertex at each place, and the place of each of the user's vertices.
    """

    def __init__(self, order: Array, rows: Adjacency, directed: bool) -> None:
        xp = module_of(order)
        self.order = order.astype(rows.targets.dtype, copy=False)
        self.place = xp.empty(order.size, self.order.dtype)
        self.place[self.order] = xp.arange(order.size, dtype=self.order.dtype)
        self._rows = rows
        self._directed = directed
        self._arcs: Array | None = None
        self._host: np.ndarray[Any, Any] | None = None
        self._lock = threading.RLock()

    def moved(self, device: Device) -> Numbering:
        """Return the same numbering on another device."""
        rows = Adjacency(move(self._rows.offsets, device), move(self._rows.targets, device))
        return Numbering(move(self.order, device), rows, self._directed)

    def arranged(self) -> Adjacency:
        """Return the arcs in the new order; parallel arcs keep their order."""
        rows, columns = self._ends()
        offsets, targets, _ = sort_arcs(rows, columns, self.order.size)
        return Adjacency(offsets, targets)

    @property
    def place_on_host(self) -> np.ndarray[Any, Any]:
        """The place of each of the user's vertices, as a host array cached on first use.

        For a few vertices, a look-up on the host is faster than a GPU kernel.
        """
        with self._lock:
            if self._host is None:
                self._host = to_host(self.place)
            return self._host

    @property
    def arcs(self) -> Array:
        """The user's canonical arc for each canonical arc here; cached on first use."""
        with self._lock:
            if self._arcs is None:
                count = self._rows.targets.size
                numbers = module_of(self.order).arange(count, dtype=fitting_dtype(count))
                _, _, self._arcs = sort_arcs(*self._ends(), self.order.size, numbers)
            assert self._arcs is not None
            return self._arcs

    def edges(self, num_edges: int) -> Array:
        """Return the user's edge id for each canonical arc here."""
        if self._directed:
            return self.arcs
        ids = module_of(self.order).arange(num_edges, dtype=fitting_dtype(num_edges))
        return spread_over_mirrored(self._rows, ids)[self.arcs]

    @property
    def nbytes(self) -> int:
        """Bytes of the maps, excluding the user's arcs, which belong to another topology."""
        held = self.order.nbytes + self.place.nbytes
        return int(held + (0 if self._arcs is None else self._arcs.nbytes))

    def _ends(self) -> tuple[Array, Array]:
        return self._rows.spread(self.place), self.place[self._rows.targets]

    def __getstate__(self) -> dict[str, object]:
        unsaved = ("_lock", "_host")
        return {name: value for name, value in self.__dict__.items() if name not in unsaved}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._host = None
        self._lock = threading.RLock()
