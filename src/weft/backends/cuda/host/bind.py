"""Binds the parameters of kernels to the arrays of a request."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np

from weft.arrays.device import aligned, to_host
from weft.arrays.fill import fill
from weft.arrays.trail import Trail
from weft.backends.cuda.codegen.buffers import STEADY
from weft.backends.cuda.codegen.horizon import SAMPLES
from weft.backends.cuda.codegen.machine import Options
from weft.backends.cuda.codegen.pairs import pack, unpack
from weft.backends.cuda.codegen.program import Rendered
from weft.backends.cuda.host.key_tables import table_sizes
from weft.backends.cuda.host.workspace import Workspace
from weft.backends.layouts import (
    Ordered,
    ordered,
    out_of_entries,
    out_of_messages,
    too_many_arcs,
)
from weft.config import NARROW, SIDES, of_side
from weft.formats import DEFAULT_FORMAT, choose
from weft.ir.ops import Reduction, neutral_of
from weft.ir.request import Request
from weft.plan.horizon import share_within
from weft.topology.adjacency import count_keys, fitting_dtype
from weft.topology.adjacency_gpu import offsets_of
from weft.topology.best_neighbors import best_neighbors
from weft.topology.hub_places import hub_places, placed_targets
from weft.topology.row_bits import RowBits
from weft.topology.topology import Direction, Topology

# Priorities of a far list when nothing was looked at: the least, the sum of the finite ones and
# their number, three times in turn.
NO_SPREAD = np.array(3 * [np.inf, 0.0, 0.0])
DIGITS, LEAST_ITEMS = 256, 256  # digits of a sort, items of a warp at least: as in radix.cuh
TRAIL_STEPS = 1024  # supersteps that a trail has room for at first


def flat(array: Any) -> Any:
    """Return an array as a kernel sees it: one axis, truth values as bytes."""
    if array.ndim != 1:
        array = array.reshape(-1)
    return array.view(np.uint8) if array.dtype == bool else array


def element(dtype: Any) -> np.dtype[Any]:
    """Return the dtype of array elements that hold values of a dtype."""
    return np.dtype(np.uint8) if dtype.kind == "b" else np.dtype(dtype)


_by_target: weakref.WeakKeyDictionary[Topology, tuple[Any, Any]] = weakref.WeakKeyDictionary()


def arcs_by_target(topology: Topology) -> tuple[Any, Any]:
    """Return the arcs into each vertex, rising, of a graph that keeps out-edges only."""
    if topology not in _by_target:
        xp = topology.xp
        targets = topology.endpoints()[1]
        kind = fitting_dtype(topology.num_arcs)
        offsets = offsets_of(count_keys(targets, topology.num_vertices))
        arcs = xp.argsort(targets, kind="stable").astype(kind)
        _by_target[topology] = offsets, arcs
    return _by_target[topology]


_long: weakref.WeakKeyDictionary[Topology, dict[Any, Any]] = weakref.WeakKeyDictionary()


def long_rows(topology: Topology, way: Direction, warp_degree: int, block_degree: int) -> Any:
    """Return the vertices with long rows, those for blocks first, then those for warps.

    Two numbers stand before them: how many are for blocks, and how many there are.
    """
    known = _long.setdefault(topology, {})
    key = (way, warp_degree, block_degree)
    if key not in known:
        xp = topology.xp
        offsets = (
            arcs_by_target(topology)[0]
            if topology.keep == "out"
            else topology.adjacency(way).offsets
        )
        degrees = offsets[1:] - offsets[:-1]
        wide = degrees >= max(warp_degree, block_degree)
        for_block = xp.flatnonzero(wide)
        for_warp = xp.flatnonzero((degrees >= warp_degree) & ~wide)
        counts = xp.asarray([for_block.size, for_block.size + for_warp.size], dtype=np.int64)
        known[key] = xp.concatenate([counts, for_block, for_warp]).astype(np.int64)
    return known[key]


class Binder:
    """Makes the arguments of one run, after the fixed ones."""

    def __init__(
        self, request: Request, rendered: Rendered, options: Options, workspace: Workspace,
        constants: list[Any], knobs: Mapping[str, Any],
    ) -> None:  # fmt: skip
        self.knobs = knobs
        self.request = request
        self.rendered = rendered
        self.options = options
        self.workspace = workspace
        self.constants = constants
        self.xp = workspace.driver.xp
        self.topology = request.topology
        self.n = request.topology.num_vertices
        self.arcs = request.topology.num_arcs
        self.pairs: list[tuple[Any, tuple[Any, Any], bool]] = []
        self.turned: dict[Any, tuple[Any, Any]] = {}  # arrays and their second buffers
        self.sorted: dict[str, Any] = {}  # edge state by in-slots
        self.known = request.data.known_edges
        self.trail_room = max(self.n, 1)
        self.trail_steps = TRAIL_STEPS
        self._layouts: dict[tuple[str, str], Ordered] = {}

    def steady(self) -> list[Any]:
        """Return the arguments that stay the same run after run; None in place of the others."""
        bindings = self.rendered.bindings.values()
        return [self.bind(*b) if b[0] in STEADY else None for b in bindings]

    def bind(self, kind: str, *rest: Any) -> Any:
        """Return the argument of a binding."""
        return getattr(self, f"_{kind}")(*rest)

    def _constant(self, position: int, dtype: Any) -> Any:
        return self.constants[position]

    # -- fields and their copies

    def _field(self, name: str) -> Any:
        return flat(self.request.data.fields[name])

    def _copy(self, key: Any, field: Any) -> Any:
        buffer = self.workspace.get(key, field.size, field.dtype)
        buffer[: field.size] = field
        return buffer

    def _second(self, key: Any, field: Any) -> Any:
        """Return a second buffer: a copy, or what is written before anybody reads it."""
        if key not in self.rendered.turned:
            return self._copy(key, field)
        buffer = self.workspace.get(key, field.size, field.dtype)
        self.turned[key] = field, buffer
        return buffer

    def _next(self, name: str) -> Any:
        return self._second(("next", name), self._field(name))

    def _inbox(self, name: str, monoid: str, identity: Any = None, apart: int = 0) -> Any:
        """Return what gathers the messages into a field; a commit leaves it as it found it."""
        field = self._field(name)
        neutral = neutral_of(
            Reduction(monoid, None, identity), self.request.data.fields[name].dtype
        )
        return self.workspace.filled(
            ("inbox", name, monoid, apart), field.size, field.dtype, neutral
        )

    def _gathered(self, number: str, dtype: Any, size: int, start: Any) -> Any:
        buffer = self.workspace.get(("gathered", number), self.n * size, element(dtype))
        fill(buffer, start)
        return buffer

    def _old(self, name: str) -> Any:
        return flat(self.request.data.fields["old." + name])

    def _old_next(self, name: str) -> Any:
        field = self._old(name)
        return self.workspace.get(("old_next", name), field.size, field.dtype)

    def _like_field(self, key: str, name: str) -> Any:
        field = self._field(name)
        return self.workspace.get((key, name), field.size, field.dtype)

    def _snapshot(self, name: str) -> Any:
        return self._like_field("snapshot", name)

    def _old_snapshot(self, name: str) -> Any:
        return self._like_field("old_snapshot", name)

    def _frozen(self, name: str) -> Any:
        return self._like_field("frozen", name)

    def _hidden(self, name: str, dtype: Any, size: int, which: str = "") -> Any:
        return self.workspace.get(("hidden", name, which), self.n * size, element(dtype))

    def _pair(self, key: str, payload: str, wide: bool = False) -> Any:
        words = 2 * self.n if wide else self.n
        buffer = self.workspace.get(("pair", key), words, np.uint64)
        fields = (self.request.data.fields[key], self.request.data.fields[payload])
        pack(buffer, fields, wide)
        self.pairs.append((buffer, fields, wide))
        return buffer

    def _wide_pair(self, key: str, payload: str) -> Any:
        return self._pair(key, payload, wide=True)

    def _pair_locks(self) -> Any:
        """Return a lock for each vertex, all of them open: every run releases those it takes."""
        return self.workspace.get("pair_locks", self.n, np.uint32)

    def put_back(self, swapped: int) -> None:
        """Write back second buffers that took the place of arrays, and sorted edge state."""
        dropped = "dropped" in self.known
        if swapped:
            for key, (field, buffer) in self.turned.items():
                if key[0] != "edge_next" or not dropped:
                    field[:] = buffer[: field.size]
        for name, state in self.sorted.items() if not dropped else ():
            self._change_order(state, flat(self.request.data.edge_fields[name]))

    def unpack(self) -> None:
        """Write packed pairs back into their fields."""
        for buffer, fields, wide in self.pairs:
            unpack(buffer, fields, wide)

    def _parameter(self, name: str, how: str = "") -> Any:
        matrix = self.request.data.parameters[name]
        if how != "turned":
            return flat(matrix)
        buffer = self.workspace.get(("turned", name), matrix.size, matrix.dtype)
        buffer[: matrix.size].reshape(matrix.shape[::-1])[:] = matrix.T
        return buffer

    # -- edges

    def _column(self, name: str, direction: Direction, side: str = "") -> Any:
        column = self.request.data.column(name, direction)
        if side:
            column = self._ordered(side, direction).column(name, column)
        return flat(aligned(column))

    def _edge_state(self, name: str) -> Any:
        given = flat(self.request.data.edge_fields[name])
        if not self.rendered.states_by_in or self.arcs == 0:
            return given
        if {"uniform", "dropped"} <= set(self.known):
            return given  # as good in one order as in another
        if name not in self.sorted:
            buffer = self.workspace.get(("sorted", name), given.size, given.dtype)[: given.size]
            if "uniform" in self.known:
                buffer[:] = given
            else:
                self._change_order(given, buffer)
            self.sorted[name] = buffer
        return self.sorted[name]

    def _change_order(self, source: Any, target: Any) -> None:
        """Write states of arcs by in-slots, or those by arcs.

        The arc of an in-slot is the slot of the opposite arc, so this undoes itself.
        """
        rows, places = target.reshape(self.arcs, -1), self.topology.arcs("in")
        self.topology.xp.take(source.reshape(rows.shape), places, axis=0, out=rows)

    def _edge_next(self, name: str) -> Any:
        return self._second(("edge_next", name), self._edge_state(name))

    def _offsets(self, direction: Direction) -> Any:
        return self.topology.adjacency(direction).offsets

    def _targets(self, direction: Direction) -> Any:
        return self.topology.adjacency(direction).targets

    def _owners(self, direction: Direction) -> Any:
        return self.topology.owners(direction)

    def _arcs(self, direction: Direction, side: str = "") -> Any:
        arcs = self.topology.arcs(direction)
        if side:
            return self._ordered(side, direction).numbers("arcs", arcs)
        if arcs is None:  # the arcs into each vertex, where those are the slots
            arcs = self.xp.arange(self.arcs, dtype=fitting_dtype(self.arcs))
        return arcs

    def _edges(self, direction: Direction, side: str = "") -> Any:
        edges = self.topology.edges(direction)
        return self._ordered(side, direction).numbers("edges", edges) if side else edges

    # -- formats

    def _ordered(self, side: str, direction: Direction) -> Ordered:
        """Return the format of a side, built for a direction."""
        found = self._layouts.get((side, direction))
        if found is None:
            chosen = choose(of_side(self.request.options.config.format, side) or DEFAULT_FORMAT)
            found = self._layouts[side, direction] = ordered(self.topology, chosen, direction)
        return found

    def _part(self, side: str, direction: Direction, position: int, name: str) -> Any:
        return self._ordered(side, direction).layout.parts[position].arrays[name]

    def _part_number(self, side: str, direction: Direction, position: int, name: str) -> Any:
        part = self._ordered(side, direction).layout.parts[position]
        numbers = {"rows": part.rows, "slots": part.slots, **part.numbers}
        return np.int64(numbers[name])

    def _extents(self, side: str) -> tuple[int, int]:
        """Return the most rows that a sweep of a side's format goes through, and slots of a part.

        Of a queue, each vertex has as many places for rows as any has rows, if those are `few`.
        """
        ways = {b[2] for b in self.rendered.bindings.values() if b[:2] == ("part_number", side)}
        layouts = [self._ordered(side, way).layout for way in ways]
        return (
            max((max(layout.rows, layout.few * self.n) for layout in layouts), default=self.n),
            max((layout.slots for layout in layouts), default=self.arcs),
        )

    def _shard(self, number: str, way: Direction, dtype: Any, size: int) -> Any:
        slots = self._ordered("gather", way).layout.slots
        return self.workspace.get(("shard", number), slots * size, element(dtype))

    def _row_list(self) -> Any:
        rows = max(self._extents(side)[0] for side in SIDES)
        return self.workspace.get("row_list", rows, np.int64)

    def _edge_ids(self, direction: Direction) -> Any:
        edges = self.topology.edges(direction)
        if edges is None:
            edges = self.xp.arange(self.arcs, dtype=fitting_dtype(self.arcs))
        return edges

    def _num_edges(self) -> Any:
        return np.int64(self.topology.num_edges)

    def _degree(self, direction: str) -> Any:
        degree = self.topology.out_degree if direction == "out" else self.topology.in_degree
        return degree.astype(self.topology.index_dtype, copy=False)

    def _vertex_ids(self) -> Any:
        assert self.topology.numbering is not None
        return self.topology.numbering.order

    def _vertex_places(self) -> Any:
        assert self.topology.numbering is not None
        return self.topology.numbering.place

    def _reverse(self) -> Any:
        return self.topology.reverse_arcs()

    def _row_bits(self) -> Any:
        return self._heads().rows

    def _row_words(self) -> Any:
        return self._heads().words

    def _best_neighbor(self, direction: Direction) -> Any:
        return self.topology.found("best", direction, best_neighbors)

    def _hub_places(self, direction: Direction) -> Any:
        return hub_places(self.topology, direction)

    def _placed_targets(self, direction: Direction) -> Any:
        return placed_targets(self.topology, direction)

    def _heads(self) -> RowBits:
        heads = self.topology.row_bits()
        assert heads is not None
        return heads

    def _arc_queue(self) -> Any:
        frontier = self.request.start.frontier
        if frontier is None:
            return self.xp.arange(self.arcs, dtype=np.int64)
        return self.xp.asarray(frontier, dtype=np.int64)

    def _arc_source(self) -> Any:
        return (self.request.start.pairs or self.topology.endpoints())[0]

    def _arc_target(self) -> Any:
        return (self.request.start.pairs or self.topology.endpoints())[1]

    def _messages(self, number: int, dtype: Any, size: int) -> Any:
        return self.workspace.get(("messages", number), self.arcs * size, element(dtype))

    def _sorted_array(self, name: Any, size: int, dtype: Any) -> Any:
        try:
            return self.workspace.get(name, max(1, size), dtype)
        except MemoryError:
            raise out_of_messages(self.topology, size * np.dtype(dtype).itemsize) from None

    def _radix_keys(self, which: int, alone: bool) -> Any:
        kind = self._index() if alone else np.uint64
        return self._sorted_array(("radix_keys", which), self.arcs, kind)

    def _radix_hubs(self) -> Any:
        hubs = self.arcs // max(1, int(self.knobs["block_degree"])) + 1
        return self.workspace.get("radix_hubs", hubs, np.int64)

    def _radix_table(self) -> Any:
        """Return the counters of each digit and each warp that sorts."""
        items = max(self.arcs, self.n)
        sorters = min(int(self.knobs["sorters"]), items // LEAST_ITEMS + 1)
        return self.workspace.get("radix_table", DIGITS * sorters, np.int64)

    def _radix_totals(self) -> Any:
        return self.workspace.get("radix_totals", DIGITS, np.int64)

    def _laid_starts(self) -> Any:
        return self.workspace.get("laid_starts", self.n, np.int64)

    def _place_bits(self) -> Any:
        bits = self.arcs.bit_length()
        if bits + self.n.bit_length() > 64:
            raise too_many_arcs(self.n, self.arcs)
        return np.int64(bits)

    def _vertex_bits(self) -> Any:
        return np.int64(self.n.bit_length())

    def _long_rows(self, way: Direction) -> Any:
        degrees = (self.knobs["warp_degree"], self.knobs["block_degree"])
        return long_rows(self.topology, way, *degrees)

    def _sorted_offsets(self) -> Any:
        return arcs_by_target(self.topology)[0]

    def _sorted_arcs(self) -> Any:
        return arcs_by_target(self.topology)[1]

    # -- scratch

    def _index(self) -> Any:
        return self.topology.index_dtype

    def _stamp(self, number: int | str) -> Any:
        size = self.arcs if number == "arcs" else self.n
        stamps = self.workspace.get(("stamp", number), size, np.uint32)
        if self.options.ordered:
            stamps.fill(0)
        return stamps

    def _locks(self) -> Any:
        return self.workspace.get("locks", self.n, np.uint32)  # each run opens those it closes

    def _touched(self) -> Any:
        return self.workspace.get("touched", self.n, self._index())

    def _far(self, which: int) -> Any:
        return self.workspace.get(("far", which), self.n, self._index())

    def _remaining(self, which: int) -> Any:
        return self.workspace.get(("remaining", which), self.n, self._index())

    def _spread(self) -> Any:
        spread = self.workspace.get("spread", NO_SPREAD.size, np.float64)
        self.workspace.driver.upload(spread, NO_SPREAD)
        return spread

    def _held_back(self) -> Any:
        held = self.workspace.get("held_back", self.n, np.uint8)
        held.fill(0)  # none yet
        return held

    def _samples(self) -> Any:
        return self.workspace.get("samples", SAMPLES + 1, np.float64)

    def _within(self) -> Any:
        return np.int64(share_within(self.request) * SAMPLES)

    def _reverse_queue(self, which: int) -> Any:
        return self.workspace.get(("reverse_queue", which), self.n, self._index())

    def _batch(self) -> Any:
        return self.workspace.get("batch", max(self.arcs, self.n), self._index())

    def _keys(self, dtype: Any, number: int | str) -> Any:
        return self.workspace.get(("keys", number), 2 * self.arcs, element(dtype))

    def _emit_places(self) -> Any:
        return self.request.data.emitted[0]

    def _emit_part(self, number: int, dtype: Any) -> Any:
        return flat(self.request.data.emitted[1 + number])

    # -- gathers by key

    def _path_offsets(self, direction: Direction) -> Any:
        """Return where the entries of each vertex begin that it can reach by two arcs."""
        paths = self.topology.paths_of_two(direction)
        offsets = self.xp.zeros(self.n + 1, np.int64)
        self.xp.cumsum(paths, out=offsets[1:])
        return offsets

    def _by_array(self, name: str, dtype: Any, room: Any, places: int) -> Any:
        direction, hops = room
        most = self.arcs * (2 if direction == "both" else 1)
        if hops == 2:
            most = int(self.topology.paths_of_two(direction).sum())
        try:
            return self.workspace.get((name, *room), places * most, dtype)
        except MemoryError:
            raise out_of_entries(self.topology, places * most * np.dtype(dtype).itemsize) from None

    def _by_keys(self, dtype: Any, *room: Any) -> Any:
        return self._by_array("by_keys", element(dtype), room, 1)

    def _by_held(self, dtype: Any, *room: Any) -> Any:
        return self._by_array("by_held", element(dtype), room, 1)

    def _by_entries(self, *room: Any) -> Any:
        return self._by_array("by_entries", np.int64, room, 2)

    def _by_result(self, number: str, dtype: Any) -> Any:
        return self.workspace.get(("by_result", number), self.n, element(dtype))

    def _by_rows(self) -> Any:
        """Return the two lists of rows that are long."""
        return self.workspace.get("by_rows", 2 * self.n, self._index())

    def _by_words(self, key: Any, held: Any, *room: Any) -> Any:
        dtype = np.dtype(np.uint64 if key.itemsize == 8 else np.uint32)
        return self._by_tables_array("by_words", dtype, room)

    def _by_values(self, key: Any, held: Any, *room: Any) -> Any:
        return self._by_tables_array("by_values", element(held), room)

    def _by_tables_array(self, name: str, dtype: Any, room: Any) -> Any:
        tables, places = table_sizes(self.topology, *room)
        try:
            return self.workspace.get((name, *room), tables * (places + 1), dtype)
        except MemoryError:
            raise out_of_entries(self.topology, tables * (places + 1) * dtype.itemsize) from None

    def _by_tables(self, key: Any, held: Any, *room: Any) -> Any:
        return np.int64(table_sizes(self.topology, *room)[0])

    def _by_places(self, key: Any, held: Any, *room: Any) -> Any:
        return np.int64(table_sizes(self.topology, *room)[1])

    def _schedule(self, direction: str, name: str) -> Any:
        side = self.options.side(direction)
        swept = "push" if direction == NARROW else direction
        for known, dtype, size in side.schedule.workspace(*self._extents(swept)):
            if known == name:
                kind = self._index() if dtype == "vertex" else np.dtype(dtype)
                return self.workspace.get(("schedule", name), size, kind)
        raise AssertionError(f"{side.schedule.name} has no {name}")

    def _trail(self) -> Any:
        if self.request.start.trail is not None:
            flat = self.xp.asarray(self._replayed.flat, dtype=self._index())
            return flat if flat.size else self.xp.zeros(1, self._index())
        return self.workspace.get("trail", self.trail_room, self._index())

    def _trail_begins(self) -> Any:
        return self.xp.asarray(self._replayed.begins[::-1].copy())

    def _trail_ends(self) -> Any:
        if self.request.start.trail is not None:
            return self.xp.asarray(self._replayed.ends[::-1].copy())
        return self.workspace.get("trail_ends", self.trail_steps, np.int64)

    @functools.cached_property
    def _replayed(self) -> Trail:
        """The trail that is replayed, from its end."""
        given = self.request.start.trail
        assert given is not None
        trail = Trail.of_parts(given, self.n, self.xp)
        return trail.in_order() if self.options.deterministic else trail

    def trail_of(self, steps: int) -> Trail:
        """Return the frontiers that a run has left."""
        ends = to_host(self._trail_ends()[: steps + 1]).astype(np.int64)
        return Trail.of_ends(self._trail()[: int(ends[-1])].copy(), ends, self.n)
