"""Binds the parameters of a kernel to the arrays of a request."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from weft.arrays.trail import Trail
from weft.backends.cpu.codegen.horizon import SAMPLES
from weft.backends.cpu.codegen.pairs import pack, unpack
from weft.backends.cpu.codegen.program import Rendered
from weft.backends.cpu.host.workspace import Workspace
from weft.backends.cpu.runtime.loops import LOCAL, STRIDE
from weft.backends.cpu.runtime.radix import DIGITS
from weft.backends.cpu.runtime.rounds import ROUND_ROWS
from weft.backends.layouts import (
    Ordered,
    ordered,
    out_of_entries,
    out_of_messages,
    too_many_arcs,
)
from weft.config import entries_of, of_side
from weft.formats import choose
from weft.ir.ops import Reduction, neutral_of, total_dtype
from weft.ir.request import Request
from weft.plan.horizon import share_within
from weft.topology.row_bits import BLOCK_BITS, BLOCK_WORDS, RowBits
from weft.topology.topology import Direction

Array = np.ndarray[Any, Any]

STEERED = 5  # numbers that steer an ordered run

# Bindings to arrays of the topology, and to buffers that nothing is written to before a run.
STEADY = frozenset({
    "offsets", "targets", "edge_ids", "degree", "vertex_ids", "vertex_places", "reverse",
    "partial", "shares", "local", "local_touched", "touched",
    "row_ends", "row_sums", "weaver_table", "weaver_sums", "keys", "table", "totals", "counts",
    "scratch", "far", "local_far", "remaining",
    "own", "spread", "hidden", "marker_slots", "row_bits", "row_words",
    "samples", "kept", "by_keys", "by_values", "by_table", "paths",
    "radix_keys", "radix_messages", "radix_table",
})  # fmt: skip


def unsigned(array: Array) -> Array:
    """Return integers as unsigned ones: Numba then need not look for negative indices."""
    return alike(array).view(np.dtype(f"u{array.dtype.itemsize}"))


class _Writable:
    """The memory of a read-only array under a flag that says otherwise."""

    def __init__(self, array: Array) -> None:
        self._array = array  # keeps the memory
        address = array.__array_interface__["data"][0]
        self.__array_interface__ = {**array.__array_interface__, "data": (address, False)}


def alike(array: Array) -> Array:
    """Return an array that a kernel only reads as one that is not read-only.

    To Numba these are two types. A graph that is mapped from a file then needs no machine code of
    its own.
    """
    return array if array.flags.writeable else np.asarray(_Writable(array))


def flat(array: Array) -> Array:
    """Return an array as a kernel sees it: one axis, truth values as bytes."""
    array = array.reshape(-1)
    return array.view(np.uint8) if array.dtype == bool else array


def _element(dtype: Any) -> np.dtype[Any]:
    """Return the dtype of array elements that hold values of a dtype."""
    return np.dtype(np.uint8) if dtype.kind == "b" else dtype


class Steady(NamedTuple):
    """The constant arguments of one program on one workspace."""

    arguments: list[Any]  # None in place of those that change
    changing: list[tuple[int, str, tuple[Any, ...]]]  # position and binding of these
    queues: list[Array]
    bits: list[Array]
    inboxes: dict[int, tuple[Any, int, Array]]  # by position: for which dtype and size, and it


class Binder:
    """Makes the arguments of one run."""

    def __init__(
        self,
        request: Request,
        rendered: Rendered,
        workspace: Workspace,
        constants: list[Any],
        nt: int,
    ) -> None:
        self.request = request
        self.rendered = rendered
        self.workspace = workspace
        self.constants = constants
        self.nt = nt
        self.topology = request.topology
        self.n = request.topology.num_vertices
        self.pairs: list[tuple[Array, int, tuple[Array, Array]]] = []
        self.trail_size = max(self.n, 1)
        self.trail_steps = 1024

    def steady(self) -> Steady:
        """Return the arguments that stay constant on a workspace."""
        arguments: list[Any] = []
        changing: list[tuple[int, str, tuple[Any, ...]]] = []
        for position, (kind, *rest) in enumerate(self.rendered.bindings.values()):
            held = kind in STEADY
            arguments.append(self._bind(kind, *rest) if held else None)
            if not held:
                changing.append((position, kind, tuple(rest)))
        get = self.workspace.get
        return Steady(
            arguments,
            changing,
            [get(("queue", which), self.n, self._index()) for which in (0, 1)],
            [get(("bits", which), (self.n + 63) // 64, np.uint64) for which in (0, 1)],
            {},
        )

    def arguments(self, steady: Steady) -> list[Any]:
        """Return the arguments that the code asked for, in order."""
        arguments = steady.arguments.copy()
        fields = self.request.data.fields
        for position, kind, rest in steady.changing:
            if kind == "field" and (held := fields[rest[0]]).ndim == 1 and held.dtype != bool:
                arguments[position] = held
            elif kind == "inbox":
                arguments[position] = self._held_inbox(steady, position, rest)
            else:
                arguments[position] = self._bind(kind, *rest)
        return arguments

    def _held_inbox(self, steady: Steady, position: int, rest: tuple[Any, ...]) -> Array:
        """Return the inbox at a position; the one of the run before if the field is alike."""
        field = self.request.data.fields[rest[0]]
        held = steady.inboxes.get(position)
        if held is None or held[0] is not field.dtype or held[1] != field.size:
            held = field.dtype, field.size, self._inbox(*rest)
            steady.inboxes[position] = held
        return held[2]

    def _bind(self, kind: str, *rest: Any) -> Any:
        return getattr(self, f"_{kind}")(*rest)

    def _constant(self, position: int, dtype: Any) -> Any:
        return self.constants[position]

    def _field(self, name: str) -> Array:
        return flat(self.request.data.fields[name])

    def _origin(self, name: str) -> Array:
        """Return the value of a field at the first frontier, where it is uniform."""
        first = self.request.start.frontier
        chosen: Any = slice(0, 1) if first is None else first[:1]
        held = self._field(name)[chosen]
        return np.array([held[0] if held.size else 0], np.int64)

    def _next(self, name: str) -> Array:
        field = self._field(name)
        buffer = self.workspace.get(("next", name), field.size, field.dtype)
        np.copyto(buffer, field)
        return buffer

    def _inbox(self, name: str, monoid: str, identity: Any = None, apart: int = 0) -> Array:
        """Return the inbox of a field; a commit restores its neutral values."""
        field, reduction = self._field(name), Reduction(monoid, None, identity)
        dtype = total_dtype(reduction, field.dtype)
        neutral = neutral_of(reduction, self.request.data.fields[name].dtype)
        return self.workspace.filled(("inbox", name, monoid, apart), field.size, dtype, neutral)

    def _old(self, name: str) -> Array:
        return flat(self.request.data.fields["old." + name])

    def _old_next(self, name: str) -> Array:
        field = self._old(name)
        return self.workspace.get(("old_next", name), field.size, field.dtype)

    def _snapshot(self, name: str) -> Array:
        field = self._field(name)
        return self.workspace.get(("snapshot", name), field.size, field.dtype)

    def _old_snapshot(self, name: str) -> Array:
        field = self._field(name)
        return self.workspace.get(("old_snapshot", name), field.size, field.dtype)

    def _frozen(self, name: str) -> Array:
        field = self._field(name)
        return self.workspace.get(("frozen", name), field.size, field.dtype)

    def _hidden(self, name: str, dtype: Any, size: int, which: str = "") -> Array:
        kind = _element(dtype)
        return self.workspace.get(("hidden", name, which), self.n * size, kind)

    def _parameter(self, name: str) -> Array:
        return flat(self.request.data.parameters[name])

    def _column(self, name: str, direction: Direction, side: str = "") -> Array:
        column = self.request.data.column(name, direction)
        return flat(alike(self._ordered(side, direction).column(name, column) if side else column))

    def _edge_state(self, name: str) -> Array:
        return flat(self.request.data.edge_fields[name])

    def _edge_next(self, name: str) -> Array:
        field = self._edge_state(name)
        buffer = self.workspace.get(("edge_next", name), field.size, field.dtype)
        np.copyto(buffer, field)
        return buffer

    def _offsets(self, direction: Direction) -> Array:
        return unsigned(self.topology.adjacency(direction).offsets)

    def _targets(self, direction: Direction) -> Array:
        return unsigned(self.topology.adjacency(direction).targets)

    def _arcs(self, direction: Direction, side: str = "") -> Array:
        arcs = self.topology.arcs(direction)
        if side:
            arcs = self._ordered(side, direction).numbers("arcs", arcs)
        assert arcs is not None
        return unsigned(arcs)

    def _edges(self, direction: Direction, side: str = "") -> Array:
        edges = self.topology.edges(direction)
        if side:
            edges = self._ordered(side, direction).numbers("edges", edges)
        assert edges is not None
        return unsigned(edges)

    # -- formats

    def _ordered(self, side: str, direction: Direction) -> Ordered:
        """Return the format of a side, built for a direction."""
        chosen = choose(of_side(self.request.options.config.format, side))
        return ordered(self.topology, chosen, direction)

    def _part(self, side: str, direction: Direction, position: int, name: str) -> Array:
        layout = self._ordered(side, direction).layout
        kinds = [kind for kind in layout.format.kinds for _ in range(kind.copies)]
        (dtype,) = [array.dtype for array in kinds[position].arrays if array.name == name]
        array = layout.parts[position].arrays[name]
        return unsigned(array if dtype == "vertex" else array.view(dtype))

    def _part_number(self, side: str, direction: Direction, position: int, name: str) -> Any:
        part = self._ordered(side, direction).layout.parts[position]
        return np.uint64({"rows": part.rows, "slots": part.slots, **part.numbers}[name])

    def _part_rows(self, side: str, direction: Direction, name: str) -> Array:
        return unsigned(self._ordered(side, direction).rows_of_vertices(self.n)[name])

    def _edge_ids(self, direction: Direction) -> Array:
        edges = self.topology.edges(direction)
        if edges is None:
            edges = np.arange(self.topology.num_arcs, dtype=np.int64)
        return unsigned(edges)

    def _num_edges(self) -> Any:
        return np.uint64(self.topology.num_edges)

    def _degree(self, direction: str) -> Array:
        return self.topology.out_degree if direction == "out" else self.topology.in_degree

    def _vertex_ids(self) -> Array:
        assert self.topology.numbering is not None
        return unsigned(self.topology.numbering.order)

    def _vertex_places(self) -> Array:
        assert self.topology.numbering is not None
        return unsigned(self.topology.numbering.place)

    def _reverse(self) -> Array:
        return unsigned(self.topology.reverse_arcs())

    def _scalar(self, name: str) -> Array:
        return flat(self.request.data.scalars[name])

    def _partial(self, name: str, dtype: Any) -> Array:
        kind = _element(dtype)
        return self.workspace.get(("partial", name), 3 * self.nt * STRIDE, kind)

    def _shares(self, name: str, dtype: Any) -> Array:
        kind = _element(dtype)
        pairs = self.request.start.pairs
        arcs = self.topology.num_arcs if pairs is None else max(len(pairs[0]), self.n)
        shares = max(self.n, arcs // 64) + 1
        return self.workspace.get(("shares", name), 3 * shares, kind)

    def _stamp(self, function: int = 0) -> Array:
        return self.workspace.stamps(self.n, 2**30, function)

    def _locks(self) -> Array:
        return self.workspace.get("locks", self.n, np.uint8)  # each run opens those it closes

    def _local(self) -> Array:
        return self.workspace.get("local", self.nt * LOCAL, self._index())

    def _local_touched(self) -> Array:
        return self.workspace.get("local_touched", self.nt * LOCAL, self._index())

    def _touched(self) -> Array:
        return self.workspace.get("touched", self.n, self._index())

    def _index(self) -> Any:
        return np.dtype(f"u{self.topology.index_dtype.itemsize}")

    def _row_ends(self) -> Array:
        return self.workspace.get("row_ends", self.n, np.int64)

    def _row_sums(self) -> Array:
        return self.workspace.get("row_sums", self.nt * STRIDE, np.int64)

    def _weaver_table(self) -> Array:
        entries = entries_of(self.request.options.config) or ROUND_ROWS
        return self.workspace.get("weaver_table", 2 * self.nt * entries, np.int64)

    def _weaver_sums(self) -> Array:
        return self.workspace.get("weaver_sums", 2 * self.nt * STRIDE, np.int64)

    def _arc_queue(self) -> Array:
        frontier = self.request.start.frontier
        if frontier is None:
            frontier = np.arange(self.topology.num_arcs, dtype=np.int64)
        return unsigned(np.ascontiguousarray(frontier, dtype=np.int64))

    def _arc_source(self) -> Array:
        ends = self.request.start.pairs or self.topology.endpoints()
        return unsigned(np.ascontiguousarray(ends[0]))

    def _arc_target(self) -> Array:
        ends = self.request.start.pairs or self.topology.endpoints()
        return unsigned(np.ascontiguousarray(ends[1]))

    def _marker(self) -> Array:
        # Whole blocks, as `row_bits` has them, and apart, so that threads share no cache line.
        words = ((self.n >> BLOCK_BITS) + 3) * BLOCK_WORDS
        marker = self.workspace.get("marker", self.nt * words, np.uint64)
        marker[:] = 0
        return marker

    def _marker_slots(self) -> Array:
        kind = np.uint32 if self.topology.num_arcs < 2**32 else np.uint64
        return self.workspace.get("marker_slots", self.nt * (self.n + 32), kind)

    def _row_bits(self) -> Array:
        return self._heads().rows

    def _row_words(self) -> Array:
        return self._heads().words

    def _heads(self) -> RowBits:
        heads = self.topology.row_bits()
        assert heads is not None
        return heads

    def _longest_row(self) -> int:
        """Return the maximum number of messages that a vertex can gather, at least one."""
        return max(1, *(int(self._degree(way).max(initial=0)) for way in ("in", "out")))

    def _keys(self, dtype: Any, number: int | str) -> Array:
        room = 2 * self._longest_row()  # a gather may go both ways
        return self.workspace.get(("keys", number), self.nt * room, _element(dtype))

    def _table_size(self) -> int:
        """Return the entries of a hash table for the messages of any row, twice as many."""
        return 1 << (4 * self._longest_row() - 1).bit_length()

    def _table(self, dtype: Any) -> Array:
        return self.workspace.get("table", self.nt * self._table_size(), _element(dtype))

    def _totals(self, dtype: Any) -> Array:
        return self.workspace.get("totals", self.nt * self._table_size(), dtype)

    def _counts(self) -> Array:
        return self.workspace.get("counts", self.nt * self._table_size(), np.uint32)

    def _emit_places(self) -> Array:
        return self.request.data.emitted[0]

    def _emit_part(self, number: int) -> Array:
        return flat(self.request.data.emitted[1 + number])

    # -- messages that are sorted

    def _places(self) -> int:
        """Return the maximum number of arcs that a superstep can push; pairs push none."""
        return max(1, self.topology.num_arcs)

    def _place_bits(self) -> Any:
        bits = self._places().bit_length()
        if bits + self.n.bit_length() > 64:
            raise too_many_arcs(self.n, self._places())
        return np.uint64(bits)

    def _radix_array(self, name: Any, size: int, dtype: Any) -> Array:
        try:
            return self.workspace.get(name, size, dtype)
        except MemoryError:
            raise out_of_messages(self.topology, size * np.dtype(dtype).itemsize) from None

    def _radix_keys(self, which: int, alone: bool) -> Array:
        kind = self._index() if alone else np.uint64
        return self._radix_array(("radix_keys", which), self._places(), kind)

    def _radix_messages(self, number: int, dtype: Any, size: int) -> Array:
        name = ("radix_messages", number)
        return self._radix_array(name, self._places() * size, _element(dtype))

    def _radix_table(self) -> Array:
        return self.workspace.get("radix_table", 2 * self.nt * DIGITS, np.int64)

    # -- gathers by key

    def _paths(self, direction: Direction) -> Array:
        """Return how many paths of two arcs go on from each vertex in a direction."""
        return np.asarray(self.topology.paths_of_two(direction))

    def _entries(self, direction: Any, hops: int, vertices: bool) -> int:
        """Return the maximum number of entries of a row of a gather by key, at least one."""
        if hops == 1:
            ways = ("in", "out") if direction == "both" else (direction,)
            most = sum(int(self._degree(way).max(initial=0)) for way in ways)
        else:
            most = int(self.topology.paths_of_two(direction).max(initial=0))
        return max(1, min(most, self.n) if vertices else most)

    def _by_array(self, name: str, dtype: Any, room: Any, places: int) -> Array:
        size = places * self._entries(*room) + 32  # apart, so that threads share no cache line
        try:
            return self.workspace.get((name, *room), self.nt * size, dtype)
        except MemoryError:
            raise out_of_entries(self.topology, self.nt * size * dtype.itemsize) from None

    def _by_keys(self, dtype: Any, *room: Any) -> Array:
        return self._by_array("by_keys", _element(dtype), room, 1)

    def _by_values(self, dtype: Any, *room: Any) -> Array:
        return self._by_array("by_values", _element(dtype), room, 1)

    def _by_table(self, *room: Any) -> Array:
        kind = np.uint32 if self._entries(*room) < 2**31 else np.uint64
        return self._by_array("by_table", np.dtype(kind), room, 2)

    def _scratch(self, dtype: Any) -> Array:
        size = self.rendered.scratch.get(dtype.name, 1)
        kind = _element(dtype)
        # Truth values and uint8 are both bytes, but places of their own.
        return self.workspace.get(("scratch", dtype.name), self.nt * size, kind)

    def _flags(self) -> Array:
        flags = self.workspace.get("flags", self.n, np.uint8)
        flags[:] = 0
        return flags

    def _far(self, which: int) -> Array:
        return self.workspace.get(("far", which), self.n, self._index())

    def _remaining(self) -> Array:
        return self.workspace.get("remaining", self.n, self._index())

    def _local_far(self) -> Array:
        return self.workspace.get("local_far", self.nt * LOCAL, self._index())

    def _own(self) -> Array:
        return self.workspace.get("own", self.nt * LOCAL, self._index())

    def _spread(self) -> Array:
        return self.workspace.get("spread", 3 * self.nt * STRIDE, np.float64)

    def _steering(self) -> Array:
        """Return threshold, delta, horizon, the share of messages within it, and its choice.

        Without a delta it is measured when first needed; the horizon is NaN until it is chosen.
        """
        steering = self.workspace.get("steering", STEERED, np.float64)
        delta = self.request.options.config.delta or self.request.start.window
        steering[:] = -np.inf, delta, np.nan, share_within(self.request), np.nan
        return steering

    def _samples(self) -> Array:
        return self.workspace.get("samples", SAMPLES, np.float64)

    def _kept(self) -> Array:
        return self.workspace.get("kept", self.nt * LOCAL, np.uint64)

    def _trail(self) -> Array:
        if self.request.start.trail is not None:
            return self._replayed().flat.astype(np.int64, copy=False)
        return self.workspace.get("trail", self.trail_size, np.int64)

    def _trail_begins(self) -> Array:
        return self._replayed().begins[::-1].copy()

    def _trail_ends(self) -> Array:
        if self.request.start.trail is not None:
            return self._replayed().ends[::-1].copy()
        return self.workspace.get("trail_ends", self.trail_steps, np.int64)

    def _replayed(self) -> Trail:
        """Return the trail that is replayed, from its end."""
        given = self.request.start.trail
        assert given is not None
        trail = Trail.of_parts(given, self.n, np)
        return trail.in_order() if self.request.options.config.deterministic else trail

    def trail_of(self, steps: int) -> Trail:
        """Return the frontiers that a run has left."""
        ends = self._trail_ends()[: steps + 1].copy()
        return Trail.of_ends(self._trail()[: ends[-1]].copy(), ends, self.n)

    def _pair(self, key: str, payload: str, width: int) -> Array:
        pair = self.workspace.get(("pair", key), self.n * width // 64, np.uint64)
        fields = (self.request.data.fields[key], self.request.data.fields[payload])
        pack(pair, width, fields)
        self.pairs.append((pair, width, fields))
        return pair

    def unpack(self) -> None:
        """Write packed pairs back into their fields."""
        for pair, width, fields in self.pairs:
            unpack(pair, width, fields)
