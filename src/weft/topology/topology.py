"""Topology: adjacency in both directions, arc order, edge ids, degrees.

An *arc* is a stored connection `u -> v`. A directed edge is one arc. An undirected edge is two
opposite arcs; a self-loop is always one. There are three numberings:

- a *slot* is a position in the adjacency of one direction; the slots of a row are sorted by target;
- the *canonical arc* is the slot in the primary direction (out, or in if only that is kept);
- the *edge id* is the position in the user's list of edges.

A topology may be reordered (`arranged`). Vertices, slots and canonical arcs are then numbered by
their place in memory; edge ids stay the user's.

All derived data (the second direction, maps between the numberings, degrees) is computed on first
use, on the device that holds the arcs, and cached.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from weft.arrays.device import Device, device_of, module_of, move
from weft.arrays.reduce import count_true
from weft.errors import ConfigError, GraphError, unknown
from weft.topology.adjacency import (
    Adjacency,
    Array,
    count_keys,
    first_unpaired,
    fitting_dtype,
    index_dtype_for,
    mirror,
    paths_of_two,
    sort_arcs,
    spread_over_mirrored,
    transpose,
)
from weft.topology.merge import grown, insert_arcs, remove_arcs
from weft.topology.renumbering import Numbering
from weft.topology.row_bits import RowBits, row_bits

Direction: TypeAlias = Literal["out", "in"]
Keep: TypeAlias = Literal["both", "out", "in"]

DIRECTIONS: Final = ("out", "in")
KEEPS: Final = ("both", "out", "in")

# Attributes derived from the primary direction on demand, apart from the degrees.
_DERIVED: Final = ("_secondary", "_secondary_arcs", "_reverse", "_edges", "_secondary_edges")

__all__ = ["DIRECTIONS", "KEEPS", "Adjacency", "Direction", "Keep", "Topology"]


class Topology:
    """The structure of a graph, without any data on it.

    Build one with `Topology.from_arcs`, or with `Topology.from_sorted` from sorted arcs.

    Parameters
    ----------
    primary : Adjacency
        The direction that numbers the canonical arcs; all arcs of an undirected graph.
    directed : bool
        Whether every arc is an edge of its own.
    keep : {"both", "out", "in"}
        Which directions may be stored. Undirected graphs use one for both.
    num_edges : int
        The number of edges (undirected ones counted once).
    device : Device, optional
        Where it runs; by default the device that holds the arrays.
    check : callable, optional
        Raises if the arrays of `primary` are invalid. Called once, before their first use: opening
        a mapped file is immediate, and compiled code never follows a wrong offset or target.

    Attributes
    ----------
    device : Device
    xp : module
        The module of all arrays: NumPy or CuPy.
    numbering : Numbering or None
        The user's numbering of vertices and edges, if the topology is reordered.
    carrier
        What runs sweeps where the arcs are, if they are not in memory (`weft.blocks`), else None.
    """

    carrier: Any = None
    empty_arcs: Any = None  # allocates edge state that lies elsewhere than in memory

    def __init__(
        self,
        primary: Adjacency,
        *,
        directed: bool,
        keep: Keep = "both",
        num_edges: int,
        device: Device | None = None,
        check: Callable[[], None] | None = None,
    ) -> None:
        self.device = device or device_of(primary.targets)
        self.num_vertices = int(primary.offsets.size - 1)
        self.num_arcs = int(primary.targets.size)
        self.num_edges = int(num_edges)
        self.directed = directed
        self.keep: Keep = keep if directed else "both"
        self.index_dtype: np.dtype[Any] = primary.targets.dtype
        self._unread, self._check = primary, check
        if check is None:
            self._primary = primary
        self.primary_direction: Direction = "in" if self.keep == "in" else "out"
        self.numbering: Numbering | None = None
        self._secondary: Adjacency | None = None
        self._secondary_arcs: Array | None = None
        self._reverse: Array | None = None
        self._edges: Array | None = None
        self._secondary_edges: Array | None = None  # of a reordered topology
        self._degrees: dict[str, Array] = {}
        self._owners: dict[str, Array] = {}
        self._found: dict[tuple[str, str], Array] = {}  # of rows, by name and direction
        self._row_bits: tuple[RowBits | None] | None = None  # once they are known
        self._lock = threading.RLock()
        # Copies on other devices, for as long as they are in use.
        self._copies: weakref.WeakValueDictionary[Device, Topology] = weakref.WeakValueDictionary()

    @classmethod
    def from_arcs(
        cls,
        src: Array,
        dst: Array,
        num_vertices: int,
        *,
        directed: bool = True,
        keep: Keep = "both",
        index_dtype: DTypeLike | None = None,
    ) -> tuple[Topology, Array]:
        """Build from the ends of each edge, without checks (see `Graph.from_edges`).

        Returns
        -------
        topology : Topology
        order : ndarray of int
            The input position of each edge id.
        """
        dtype = index_dtype_for(num_vertices, index_dtype)
        src, dst = src.astype(dtype, copy=False), dst.astype(dtype, copy=False)
        xp = module_of(src)
        if not directed:
            src, dst = xp.minimum(src, dst), xp.maximum(src, dst)
        row, column = (dst, src) if directed and keep == "in" else (src, dst)
        positions = xp.arange(src.size, dtype=fitting_dtype(src.size))
        offsets, targets, order = sort_arcs(row, column, num_vertices, positions)
        assert order is not None
        return cls.from_sorted(Adjacency(offsets, targets), directed=directed, keep=keep), order

    @classmethod
    def from_sorted(
        cls,
        adjacency: Adjacency,
        *,
        directed: bool,
        keep: Keep = "both",
        device: Device | None = None,
    ) -> Topology:
        """Build from sorted rows.

        Parameters
        ----------
        adjacency : Adjacency
            Directed: the primary direction. Undirected: each edge once, in the row of its lower
            end.
        directed : bool
        keep : {"both", "out", "in"}
        device : Device, optional
            Where it runs; by default the device that holds the arrays.
        """
        num_edges = adjacency.targets.size
        primary = adjacency if directed else mirror(adjacency)
        return cls(primary, directed=directed, keep=keep, num_edges=num_edges, device=device)

    # -- devices --------------------------------------------------------------------------------

    @property
    def xp(self) -> Any:
        """The module of all arrays: NumPy or CuPy."""
        return self.device.xp

    def to(self, device: Device) -> Topology:
        """Return the same structure on an available device; itself if already there.

        Returns an earlier copy for as long as that is in use.
        """
        if device == self.device:
            return self
        with self._lock:
            there = self._copies.get(device)
            if there is None:
                there = self._moved(device)
                there._copies[self.device] = self
                self._copies[device] = there
            return there

    def _moved(self, device: Device) -> Topology:
        """Return a copy on another device; host devices share their arrays."""
        share = device.on_host and self.device.on_host
        primary = self._primary
        if not share:
            primary = Adjacency(move(primary.offsets, device), move(primary.targets, device))
        there = Topology(
            primary,
            directed=self.directed,
            keep=self.keep,
            num_edges=self.num_edges,
            device=device,
        )
        if self.numbering is not None:
            with device.current():
                there.numbering = self.numbering.moved(device)
        if share:
            for name in _DERIVED:
                setattr(there, name, getattr(self, name))
            there._degrees, there._owners = dict(self._degrees), dict(self._owners)
        return there

    # -- order ----------------------------------------------------------------------------------

    def arranged(self, order: Array) -> Topology:
        """Return a reordered copy of the structure, on the same device.

        Vertices, arcs and slots of the result are numbered by place; `edges` still gives the edge
        ids of this topology, and `numbering` maps places to vertices.

        Parameters
        ----------
        order : ndarray of int
            A permutation of the vertices; not checked.
        """
        with self.device.current():
            numbering = Numbering(order, self._primary, self.directed)
            arranged = Topology(
                numbering.arranged(),
                directed=self.directed,
                keep=self.keep,
                num_edges=self.num_edges,
                device=self.device,
            )
        arranged.numbering = numbering
        return arranged

    # -- adjacency ------------------------------------------------------------------------------

    @functools.cached_property
    def _primary(self) -> Adjacency:
        """The primary direction; the first access checks untrusted arrays."""
        with self._lock:
            if self._check is not None:
                self._check()
                self._check = None
            return self._unread

    @property
    def out(self) -> Adjacency:
        """The arcs by source."""
        return self.adjacency("out")

    @property
    def in_(self) -> Adjacency:
        """The arcs by destination; in an undirected graph, the same object as `out`."""
        return self.adjacency("in")

    def adjacency(self, direction: Direction) -> Adjacency:
        """Return the adjacency of a direction, built on first use."""
        self.check_stored(direction)
        if not self.directed or direction == self.primary_direction:
            return self._primary
        with self._lock, self.device.current():
            if self._secondary is None:
                self._secondary, _ = transpose(self._primary, None)
            return self._secondary

    def owners(self, direction: Direction) -> Array:
        """Return the row that owns each slot of a direction; cached."""
        arcs = self.adjacency(direction)
        key = direction if self.directed else "out"
        with self._lock, self.device.current():
            if key not in self._owners:
                self._owners[key] = arcs.rows()
            return self._owners[key]

    def endpoints(self) -> tuple[Array, Array]:
        """Return the source and the destination of each canonical arc.

        They may be stored arrays, so do not write to them.
        """
        rows = self._owners.get(self.primary_direction)
        if rows is None:
            with self.device.current():
                rows = self._primary.rows()
        targets = self._primary.targets
        return (rows, targets) if self.primary_direction == "out" else (targets, rows)

    def edge_endpoints(self) -> tuple[Array, Array]:
        """Return the ends of each edge in edge-id order; the lower end first if undirected."""
        src, dst = self.endpoints()
        if self.directed:
            return src, dst
        with self.device.current():
            upper = src <= dst
            return src[upper], dst[upper]

    # -- numberings -----------------------------------------------------------------------------

    def arcs(self, direction: Direction) -> Array | None:
        """Return the canonical arc of each slot of a direction; None if they are identical.

        In an undirected graph, the in-slot (row v, target u) is the arc u -> v, so the result maps
        each arc to its opposite.
        """
        self.check_stored(direction)
        if direction == self.primary_direction:
            return None
        with self._lock, self.device.current():
            if self._secondary_arcs is None:
                self._secondary_arcs = self._reverse
            if self._secondary_arcs is None:
                turned, self._secondary_arcs = self._transposed_arcs()
                if self.directed and self._secondary is None:
                    self._secondary = turned
            return self._secondary_arcs

    def edges(self, direction: Direction) -> Array | None:
        """Return the edge id of each slot of a direction; None if they are identical."""
        if self.numbering is not None:
            return self._users_edges(direction, self.numbering)
        if self.directed:
            return self.arcs(direction)
        self.check_stored(direction)
        with self._lock, self.device.current():
            if self._edges is None:
                ids = self.xp.arange(self.num_edges, dtype=fitting_dtype(self.num_edges))
                self._edges = self.slot_values(ids, direction)
            return self._edges

    def _users_edges(self, direction: Direction, numbering: Numbering) -> Array:
        arcs = self.arcs(direction) if self.directed else None
        with self._lock, self.device.current():
            if self._edges is None:
                self._edges = numbering.edges(self.num_edges)
            if arcs is None:
                return self._edges
            if self._secondary_edges is None:
                self._secondary_edges = self._edges[arcs]
            return self._secondary_edges

    def slot_values(self, values: Array, direction: Direction) -> Array:
        """Return values given by edge id in the slot order of a direction.

        Does not need `arcs` or `edges`. Returns `values` itself if the orders are identical.
        """
        self.check_stored(direction)
        if self.numbering is not None:
            edges = self._users_edges(direction, self.numbering)
            with self.device.current():
                return values[edges]
        if self.directed and direction == self.primary_direction:
            return values
        with self.device.current():
            known = self._secondary_arcs if self.directed else self._edges
            if known is None and values.ndim > 1:
                ids = self.xp.arange(self.num_edges, dtype=fitting_dtype(self.num_edges))
                known = self.slot_values(ids, direction)
            if known is not None:
                return values[known]
            if self.directed:
                _, turned = transpose(self._primary, values)
                assert turned is not None
                return turned
            return spread_over_mirrored(self._primary, values)

    def paths_of_two(self, direction: Direction) -> Array:
        """Return how many paths of two arcs begin at each vertex, forwards or backwards."""
        return self.found("paths", direction, paths_of_two)

    def found(self, name: str, direction: Direction, find: Callable[[Adjacency], Array]) -> Array:
        """Return `find` of the rows of a direction, cached under a name."""
        rows, key = self.adjacency(direction), (name, direction if self.directed else "out")
        with self._lock, self.device.current():
            if key not in self._found:
                self._found[key] = find(rows)
            return self._found[key]

    def row_bits(self) -> RowBits | None:
        """Return the dense beginnings of out-rows as bits, None if they do not pay; cached."""
        with self._lock, self.device.current():
            if self._row_bits is None:
                self._row_bits = (row_bits(self.out),)
            return self._row_bits[0]

    @property
    def has_row_bits(self) -> bool:
        """Whether `row_bits` has been found to pay."""
        return self._row_bits is not None and self._row_bits[0] is not None

    def reverse_arcs(self) -> Array:
        """Return the opposite arc of each canonical arc.

        Parallel arcs are paired in order; a self-loop is its own opposite.

        Raises
        ------
        GraphError
            If an arc has no opposite.
        """
        with self._lock, self.device.current():
            if self._reverse is None:
                unpaired = self.unpaired_arc()
                if unpaired is not None:
                    u, v = self.user_vertices(unpaired)
                    raise GraphError(
                        f"The arc {u} -> {v} has no opposite arc {v} -> {u}. Expected one for "
                        "every arc; make the graph undirected (directed=False, or "
                        "g.to_undirected())."
                    )
                if self._secondary_arcs is None:
                    _, self._reverse = self._transposed_arcs()
                else:
                    self._reverse = self._secondary_arcs
            return self._reverse

    def user_vertices(self, places: Sequence[int]) -> list[int]:
        """Return the user's numbers of some vertices."""
        held = self.numbering
        return list(places) if held is None else [int(held.order[place]) for place in places]

    def unpaired_arc(self) -> tuple[int, int] | None:
        """Return the source and destination of an arc without an opposite, or None."""
        if not self.directed:
            return None
        with self.device.current():
            pair = first_unpaired(self._primary, self._secondary)
        return pair if pair is None or self.primary_direction == "out" else pair[::-1]

    # -- changes --------------------------------------------------------------------------------

    def with_edges(self, src: Array, dst: Array, num_vertices: int) -> Topology:
        """Return a topology with additional edges and vertices; itself if there are none."""
        if not src.size and num_vertices == self.num_vertices:
            return self
        return self._edited(insert_arcs, src, dst, self.num_edges + src.size, num_vertices)

    def without_edges(self, src: Array, dst: Array) -> Topology:
        """Return a topology without some edges, listed one by one; all of them must exist."""
        if not src.size:
            return self
        return self._edited(remove_arcs, src, dst, self.num_edges - src.size, self.num_vertices)

    def primary_ends(self, src: Array, dst: Array) -> tuple[Array, Array]:
        """Return rows and targets in the primary direction; if undirected, rows are lower ends."""
        if not self.directed:
            return self.xp.minimum(src, dst), self.xp.maximum(src, dst)
        return (dst, src) if self.primary_direction == "in" else (src, dst)

    def resized(self, num_vertices: int, dtype: DTypeLike) -> Adjacency:
        """Return the primary direction extended to some number of rows, in another dtype."""
        return grown(self._primary, num_vertices, dtype)

    def _edited(
        self,
        edit: Callable[[Adjacency, Array, Array], Adjacency],
        src: Array,
        dst: Array,
        num_edges: int,
        num_vertices: int,
    ) -> Topology:
        dtype = max(self.index_dtype, index_dtype_for(num_vertices), key=lambda d: d.itemsize)
        with self.device.current():
            rows, targets = self.primary_ends(src, dst)
            if not self.directed:
                proper = rows != targets
                rows, targets = (
                    self.xp.concatenate((rows, targets[proper])),
                    self.xp.concatenate((targets, rows[proper])),
                )
            after = Topology(
                edit(grown(self._primary, num_vertices, dtype), rows, targets),
                directed=self.directed,
                keep=self.keep,
                num_edges=num_edges,
                device=self.device,
            )
            if self._secondary is not None:
                after._secondary = edit(grown(self._secondary, num_vertices, dtype), targets, rows)
        return after

    # -- degrees and memory ---------------------------------------------------------------------

    @property
    def out_degree(self) -> Array:
        """The number of arcs that leave each vertex."""
        return self._degree("out")

    @property
    def in_degree(self) -> Array:
        """The number of arcs that enter each vertex."""
        return self._degree("in")

    @functools.cached_property
    def num_sinks(self) -> int:
        """The number of vertices that no arc leaves."""
        with self.device.current():
            return count_true(self.out_degree == 0)

    def _degree(self, direction: Direction) -> Array:
        """Return the degrees; counts targets rather than building the other direction."""
        key = direction if self.directed else "out"
        with self._lock, self.device.current():
            if key not in self._degrees:
                if not self.directed or direction == self.primary_direction:
                    counts = self.xp.diff(self._primary.offsets)
                elif self._secondary is not None:
                    counts = self.xp.diff(self._secondary.offsets)
                else:
                    counts = count_keys(self._primary.targets, self.num_vertices)
                most = np.iinfo(self.index_dtype).max
                fits = self.num_arcs <= most or int(counts.max()) <= most
                self._degrees[key] = counts.astype(self.index_dtype if fits else np.int64)
            return self._degrees[key]

    @property
    def known_simple(self) -> bool | None:
        """Whether there are neither self-loops nor parallel arcs; None if that is to be found."""
        return None

    @property
    def memory_bytes(self) -> int:
        """Bytes of all arrays currently held."""
        held: list[Any] = [self._unread, self._secondary, self._secondary_arcs]
        held += [self._edges, self._secondary_edges, self.numbering, *(self._row_bits or ())]
        if self._reverse is not self._secondary_arcs:
            held.append(self._reverse)
        held.extend([*self._degrees.values(), *self._owners.values(), *self._found.values()])
        return sum(part.nbytes for part in held if part is not None)

    def reversed(self) -> Topology:
        """Return the topology with every arc reversed; shares the arrays of this one.

        A topology that keeps only one direction then keeps the other one, in the same arc order.
        """
        if not self.directed:
            return self
        if self.keep != "both":
            kept: Keep = "in" if self.keep == "out" else "out"
            return Topology(
                self._primary,
                directed=True,
                keep=kept,
                num_edges=self.num_edges,
                device=self.device,
            )
        turned = Topology(self.in_, directed=True, num_edges=self.num_edges, device=self.device)
        turned._secondary = self._primary
        return turned

    def _transposed_arcs(self) -> tuple[Adjacency, Array]:
        """Return the primary direction transposed, and the canonical arc of each of its slots."""
        arcs = self.xp.arange(self.num_arcs, dtype=fitting_dtype(self.num_arcs))
        turned, moved = transpose(self._primary, arcs)
        assert moved is not None
        return turned, moved

    def check_stored(self, direction: Direction) -> None:
        """Raise unless this topology may store a direction."""
        if direction not in DIRECTIONS:
            raise ConfigError(unknown("direction", direction, DIRECTIONS))
        if self.keep not in ("both", direction):
            raise GraphError(
                f"The {direction}-arcs are not stored: the graph was built with "
                f"keep={self.keep!r}. Rebuild it with keep='both' or keep={direction!r}."
            )

    def __getstate__(self) -> dict[str, Any]:
        self.adjacency(self.primary_direction)  # runs the check, which the copy could not
        return {k: value for k, value in self.__dict__.items() if k not in ("_lock", "_copies")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()
        self._copies = weakref.WeakValueDictionary()
