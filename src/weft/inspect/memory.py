"""estimate_memory: estimate the memory that an algorithm needs on a graph's device.

This module holds all formulas except those of schedules, which report their own workspace. With n
vertices, m arcs, e edges and ids of i bytes (4 below 2³¹ vertices):

- one direction of the arcs: 8 (n + 1) + i m; an undirected graph stores only one;
- degrees: i n; a column in slot order: its bytes per value × m, unless slots are in the order of
  edge ids;
- the simple copy of a graph that is not simple: one direction of at most 2 e arcs; the oriented
  graph for triangles: one direction of half the arcs;
- state: the bytes of all fields × n, and of the arrays that an algorithm computes outside programs;
- frontier workspace on a CPU: two queues (2 i n), two reverse queues for pulling (2 i n), stamps
  (4 n), two bitmaps (n / 4); on a GPU: two queues, stamps, three bitmaps, and the last frontier as
  a list ((9 + 2 i) n while it is built);
- second buffers: on a CPU the bytes of the gathered values × n, and a list of the vertices that
  received any (i n); on a GPU also packed pairs, precomputed values, locks and stamps;
- buckets of ordered processing: two more queues (2 i n) and flags (n);
- a trail of frontiers: i n on a CPU; 32 n on a GPU, which stores, splits, sorts and copies it;
- messages sorted by target (``combine="radix"``): per arc 16 bytes and its values;
- labels of neighbours: i m on a CPU; on a GPU space for both directions;
- reordered vertices: one direction, the map and its inverse, a second copy of the fields, and
  weights with two maps of the arcs;
- control blocks, superstep records and per-thread storage: 1 MB;
- building a direction: two arrays of 8 bytes per arc for a sort of keys only; three ids and two
  numbers for a sort that carries values. Copies and degrees are built before the run; the other
  direction and columns in its order are built while everything else is in memory.

`tests/gpu_host/test_memory.py` and `tests/cuda/test_memory.py` compare the estimates with actual
runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.algorithms import algorithm_names
from weft.algorithms.registry import BOTH, Needs, algorithms
from weft.arrays.device import bytes_text, free_bytes, out_of_memory
from weft.arrays.threads import num_threads
from weft.backends import backend_of
from weft.config import SIDES, Config
from weft.errors import ConfigError, unknown
from weft.graph import Graph
from weft.plan.first_looks import looks_first
from weft.plan.hub_table import reads_places
from weft.topology.best_neighbors import AT_ONCE as RANKED_AT_ONCE
from weft.topology.hub_places import has_places
from weft.topology.row_bits import AT_ONCE
from weft.topology.topology import Direction, Topology

CONTROL_BYTES = 1_000_000
THREAD_COUNTERS, WARP_COUNTERS = 2 * 8 << 11, 8 << 8  # bytes, of one that sorts by digits
MOST_SORTERS, SORTED_EACH = 1 << 14, 256  # warps that sort, and what each sorts at least
SORTED_BYTES = 2 * 8  # per arc, in a sort of keys only
COPIED_BYTES = 28  # per arc, in a copy that is sorted, mirrored and sorted again
REORDERED_BYTES = 56  # per arc, for a column that is permuted to a new vertex order
ROW_BYTES = 32 + 24  # per vertex, for the dense rows as bits and their index
BIT_BYTES = 4  # per arc, for the bits themselves
PLACED_BYTES = 56  # per slot that is processed together with others, to find dense rows
RANKED_BYTES = 8 + 8  # per vertex, while neighbors of highest degree are found
ORDERED_BYTES = 4 * 8  # per vertex, while vertices are sorted by degree
PART_BYTES = 32  # per vertex, while row offsets are computed


@dataclass(frozen=True)
class Part:
    """One item of an estimate.

    Attributes
    ----------
    group
        "graph", "state", "workspace" or "building".
    name
        Description for the table.
    nbytes
        Size in bytes.
    held
        Whether it is already in memory.
    early
        Whether it is freed before state and workspace are allocated.
    """

    group: str
    name: str
    nbytes: int
    held: bool = False
    early: bool = False


@dataclass(frozen=True)
class MemoryEstimate:
    """The memory that a run of an algorithm needs; prints as a table.

    Attributes
    ----------
    algorithm, device
        The subject of the estimate.
    parts
        The individual items.
    free_bytes
        Free memory of the GPU; None for a graph in host memory.
    """

    algorithm: str
    device: str
    parts: tuple[Part, ...]
    free_bytes: int | None

    @property
    def total_bytes(self) -> int:
        """Peak memory in bytes, including what is already in memory."""
        return sum(part.nbytes for part in self.parts if part.held) + self.needed_bytes

    @property
    def needed_bytes(self) -> int:
        """Bytes that are not in memory yet."""
        new = [part for part in self.parts if not part.held]
        kept = sum(part.nbytes for part in new if part.group == "graph")
        early = sum(part.nbytes for part in new if part.early)
        return kept + max(early, sum(part.nbytes for part in new if not part.early) - kept)

    @property
    def fits(self) -> bool | None:
        """Whether enough memory is free; None if that is not known."""
        return None if self.free_bytes is None else self.needed_bytes <= self.free_bytes

    def __str__(self) -> str:
        free = "" if self.free_bytes is None else f", {bytes_text(self.free_bytes)} free"
        lines = [
            f"{self.algorithm} on {self.device}: {bytes_text(self.total_bytes)} in all, "
            f"{bytes_text(self.needed_bytes)} of it new{free}"
        ]
        for part in self.parts:
            note = "in memory" if part.held else "temporary" if part.group == "building" else "new"
            lines.append(f"  {part.group:<10} {part.name:<34} {bytes_text(part.nbytes):>9}  {note}")
        return "\n".join(lines)

    __repr__ = __str__


def estimate_memory(
    g: Graph, algorithm: str | Callable[..., Any], *, config: Config | None = None
) -> MemoryEstimate:
    """Estimate the memory that an algorithm needs on the device of a graph.

    The estimate is an upper bound for a run without a `Config`: it includes every direction that
    the run may use.

    Parameters
    ----------
    g
        The graph, already on the device (`g.to("cuda")` itself needs memory for the graph).
    algorithm
        A weft algorithm or its name: "bfs", "sssp", "pagerank", "connected_components", ...
    config
        Only ``combine="radix"`` matters, which stores the messages of all arcs.

    Returns
    -------
    MemoryEstimate
        Has ``total_bytes``, ``needed_bytes`` (not in memory yet), ``free_bytes``, ``fits``, and the
        individual ``parts``; prints as a table.

    Raises
    ------
    ConfigError
        If the algorithm is unknown.

    Examples
    --------
    >>> import weft
    >>> weft.estimate_memory(weft.generators.path(100_000), "connected_components")
    connected_components on cpu: 5.8 MB in all, 4.2 MB of it new
      graph      arcs by source                        1.6 MB  in memory
      state      fields of the vertices              400.0 kB  new
      state      arrays beside the programs            1.6 MB  new
      workspace  control blocks and records            1.0 MB  new
      workspace  queues, stamps and bitmaps            1.2 MB  new
    """
    name = algorithm if isinstance(algorithm, str) else getattr(algorithm, "__name__", "")
    if name not in algorithm_names():
        raise ConfigError(unknown("algorithm", name or algorithm, algorithm_names()))
    needs = algorithms()[name].needs
    parts = [*_graph_parts(g, needs), *_order_parts(g, needs), *_run_parts(g, needs)]
    if config is not None and config.combine == "radix":
        parts.append(Part("workspace", "messages sorted by target", _sorted_bytes(g, needs)))
    topology = g.topology
    return MemoryEstimate(
        name, str(topology.device), tuple(p for p in parts if p.nbytes), free_bytes(topology.device)
    )


def check_memory(g: Graph, algorithm: str | Callable[..., Any]) -> MemoryEstimate:
    """Return the estimate, or raise if the device has too little free memory.

    Raises
    ------
    DeviceMemoryError
        States what is needed and what is free, and lists options that need less.
    """
    estimate = estimate_memory(g, algorithm)
    if estimate.fits is False:
        assert estimate.free_bytes is not None
        raise out_of_memory(g.topology.device, estimate.needed_bytes, estimate.free_bytes)
    return estimate


def _direction_bytes(n: int, arcs: int, index: int) -> int:
    return 8 * (n + 1) + index * arcs


def _graph_parts(g: Graph, needs: Needs) -> list[Part]:
    """Return the graph arrays that a run uses, and the memory needed to build them."""
    topology = g.topology
    n, m, i = topology.num_vertices, topology.num_arcs, topology.index_dtype.itemsize
    primary, directions = topology.primary_direction, _directions(g, needs)
    parts = [Part("graph", _NAMES[primary], _direction_bytes(n, m, i), held=True)]
    on_gpu = backend_of(topology.device).looks_at_degrees
    early = building = 0
    other = needs.oriented  # the run uses a graph derived from this one
    # The lightest of the weighted edges between two vertices is copied, even if it is the only one.
    if needs.simple and ((needs.weighted and g.weighted) or not _is_simple(g)):
        other, m = True, 2 * g.num_edges
        parts.append(Part("graph", "simple copy, at most", _direction_bytes(n, m, i)))
        if needs.weighted and g.weighted:  # by edge, float64 slots
            parts.append(Part("graph", "weights of the copy, at most", 8 * m))
        early = COPIED_BYTES * m + PART_BYTES * n
    if needs.oriented:
        m //= 2
        parts.append(Part("graph", "oriented arcs", _direction_bytes(n, m, i)))
        early = max(early, 2 * (3 * i + 1 + 4) * m + PART_BYTES * n)
        if on_gpu:
            parts.append(Part("graph", "dense rows as bits", ROW_BYTES * n + BIT_BYTES * m))
            building = SORTED_BYTES * m + PLACED_BYTES * min(m, AT_ONCE)
    second: Direction = "in" if primary == "out" else "out"
    if topology.directed and second in directions and topology.keep == "both":
        held = topology._secondary is not None and not other
        parts.append(Part("graph", _NAMES[second], _direction_bytes(n, m, i), held))
        building = 0 if held else SORTED_BYTES * m + PART_BYTES * n
    # A GPU reads the degrees of every graph, to choose schedules.
    sides = BOTH if on_gpu else needs.degrees
    for side in sides if topology.directed else sides[:1]:
        held = side in topology._degrees and not other
        parts.append(Part("graph", f"{side}-degrees", i * n, held))
        early = max(early, 0 if held else PART_BYTES * n)
    if looks_first(topology, None, on_gpu):
        parts.append(Part("graph", "neighbors of highest degree", i * n))
        building = max(building, i * m + RANKED_BYTES * n + PLACED_BYTES * min(m, RANKED_AT_ONCE))
    if needs.by_place and on_gpu and reads_places(topology, Config()):
        for direction in directions if topology.directed else directions[:1]:
            held = has_places(topology, direction)
            parts.append(Part("graph", f"{_NAMES[direction]} by place", i * (m + n), held))
        building = max(building, ORDERED_BYTES * n)
    if needs.weighted and g.weighted:
        weights = _weight_parts(g, directions)
        parts += weights
        if not all(part.held for part in weights):
            building = max(building, (3 * i + 2 * 8) * m + PART_BYTES * n)
    return [
        *parts,
        Part("building", "copies and degrees", early, early=True),
        Part("building", "sorting of arcs", building),
    ]


def _directions(g: Graph, needs: Needs) -> tuple[Direction, ...]:
    """Return the directions that a run may use; ordered processing of distances only pushes."""
    topology = g.topology
    packed = _distance_bytes(g) + topology.index_dtype.itemsize <= 8
    if needs.ordered and packed and topology.primary_direction == "out":
        return ("out",)
    return needs.directions


def _distance_bytes(g: Graph) -> int:
    """Return the bytes of a distance: 8 if a path may overflow 4, or weights may be negative."""
    low, high = (1, 1)
    if g.weighted and g.num_edges:
        weight = g.edge.storage("weight").dtype
        low, high = g.edge.extent("weight")
        if weight.kind == "f":
            return int(weight.itemsize) if low >= 0 else 8
    return 4 if low >= 0 and high * max(1, g.num_vertices) < 2**31 - 1 else 8


def _weight_parts(g: Graph, directions: tuple[Direction, ...]) -> list[Part]:
    """Return the weights by edge id, and their copies in slot order where that differs."""
    topology, weight = g.topology, g.edge.storage("weight")
    parts = [Part("graph", "weights", int(weight.nbytes), held=True)]
    for direction in directions if topology.directed else directions[:1]:
        if topology.keep in ("both", direction) and (
            not topology.directed or direction != topology.primary_direction
        ):
            held = g.edge.has_slots("weight", direction)
            copied = weight.dtype.itemsize * topology.num_arcs
            parts.append(Part("graph", f"weights, {_NAMES[direction]}", copied, held))
    return parts


def _is_simple(g: Graph) -> bool:
    from weft.algorithms.support.simple import is_simple

    return not g.directed and is_simple(g.topology)


def _order_parts(g: Graph, needs: Needs) -> list[Part]:
    """Return what reordered vertices need; graphs derived by an algorithm are not reordered."""
    if g._order is None or needs.oriented:
        return []
    topology = g.topology
    n, m, i = topology.num_vertices, topology.num_arcs, topology.index_dtype.itemsize
    held = g._arrangement is not None and g._arrangement[0] is topology
    arcs = _direction_bytes(n, m, i) + 2 * i * n
    parts = [
        Part("graph", "arcs in the chosen order", arcs, held),
        Part("state", "fields in the chosen order", needs.fields.state(i, 8) * n),
        Part("building", "sorting by the order", 0 if held else COPIED_BYTES * m, early=True),
    ]
    if needs.weighted and g.weighted:
        weight = g.edge.storage("weight").dtype.itemsize
        parts.append(Part("graph", "weights in the chosen order", (2 * i + weight) * m))
        parts.append(Part("building", "sorting of weights", REORDERED_BYTES * m))
    return parts


def _run_parts(g: Graph, needs: Needs) -> list[Part]:
    """Return the memory that the run itself allocates."""
    topology = g.topology
    n, i = topology.num_vertices, topology.index_dtype.itemsize
    wide = _distance_bytes(g) if needs.weighted else 8
    on_gpu = backend_of(topology.device).looks_at_degrees
    workspace = _gpu_workspace if on_gpu else _cpu_workspace
    own = needs.fields.own * n + needs.fields.per_edge * g.num_edges
    return [
        Part("state", "fields of the vertices", needs.fields.state(i, wide) * n),
        Part("state", "arrays beside the programs", own),
        Part("workspace", "control blocks and records", CONTROL_BYTES),
        *(Part("workspace", *part) for part in workspace(topology, needs, i, wide)),
        Part("workspace", "buckets", (2 * i + 1) * n if needs.ordered else 0),
    ]


def _sorted_bytes(g: Graph, needs: Needs) -> int:
    """Return the bytes of messages that wait to be sorted: keys twice, counters, and a value.

    The values of a message go into fields, which are as wide.
    """
    topology = g.topology
    n, i = topology.num_vertices, topology.index_dtype.itemsize
    arcs = 2 * g.num_edges if needs.simple and not _is_simple(g) else topology.num_arcs
    wide = _distance_bytes(g) if needs.weighted else 8
    if backend_of(topology.device).runs_on_threads:
        counters = THREAD_COUNTERS * num_threads()
    else:
        counters = WARP_COUNTERS * min(MOST_SORTERS, max(arcs, n) // SORTED_EACH + 1)
    listed = 8 * (n + arcs // SORTED_EACH + 1)  # offsets of the rows, and targets of many arcs
    return (SORTED_BYTES + needs.fields.state(i, wide)) * arcs + listed + counters


def _cpu_workspace(topology: Topology, needs: Needs, i: int, wide: int) -> list[tuple[str, int]]:
    n = topology.num_vertices
    inbox = needs.fields.cpu_buffers(i, wide)
    pulling = 2 * i * n if len(needs.directions) > 1 else 0
    frontier = 2 * i * n + pulling + 4 * n + 2 * 8 * ((n + 63) // 64)
    return [
        ("second buffers", (inbox + i) * n if inbox else 0),
        ("trail of frontiers", i * n if needs.trail else 0),
        ("labels of neighbours", i * topology.num_arcs if needs.keys else 0),
        ("queues, stamps and bitmaps", frontier if needs.frontier else 0),
    ]


def _gpu_workspace(topology: Topology, needs: Needs, i: int, wide: int) -> list[tuple[str, int]]:
    n = topology.num_vertices
    maps = 3 * 4 * (n // 32 + 2)
    return [
        ("second buffers", needs.fields.gpu_buffers(i, wide) * n),
        ("trail of frontiers", 4 * 8 * n if needs.trail else 0),
        ("labels of neighbours", _entry_bytes(topology, i) if needs.keys else 0),
        ("queues, stamps and bitmaps", (2 * i + 4) * n + maps),
        ("last frontier", (1 + 8 + 2 * i) * n),
        ("rows sorted by schedules", _schedule_bytes(topology, needs.ordered)),
    ]


def _entry_bytes(topology: Topology, i: int) -> int:
    """Return the bytes of gathers by key: tables for the longest rows, results, lists of rows.

    Tables have an entry for each arc in all, or one of them is as large as the longest row needs.
    """
    n, arcs = topology.num_vertices, topology.num_arcs
    sides = (topology.out_degree, topology.in_degree) if topology.directed else ()
    longest = sum(int(side.max()) for side in sides or (topology.out_degree,)) if arcs else 0
    return (i + 8) * (max(arcs, 8 * longest // 3) + 512) + (2 * i + 2 * 8) * n


def _schedule_bytes(topology: Topology, ordered: bool) -> int:
    """Return the workspace of the default schedules, assuming the most skewed degrees.

    Arrays of the same name are shared.
    """
    from weft.schedules import schedule

    backend = backend_of(topology.device)

    n, m = topology.num_vertices, topology.num_arcs
    arrays: dict[str, int] = {}
    for side in SIDES:
        chosen = backend.likely_schedule(topology, side, ordered)
        for name, dtype, size in schedule(chosen).workspace(n, m):
            kind = topology.index_dtype if dtype == "vertex" else np.dtype(dtype)
            arrays[name] = max(arrays.get(name, 0), kind.itemsize * size)
    return sum(arrays.values())


_NAMES = {"out": "arcs by source", "in": "arcs by destination"}
