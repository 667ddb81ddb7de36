"""estimate_memory: the bytes that an algorithm needs on a graph's device, before it runs.

The formulas are here, but for the arrays of schedules, which these tell themselves. With n
vertices, m arcs, e edges and ids of i bytes (4 below 2³¹ vertices):

- a direction of the arcs: 8 (n + 1) + i m; undirected graphs have one that serves as both;
- degrees: i n; a column in the order of one direction: its bytes per value × m, unless that is
  the order of edge ids;
- a simple copy of a graph that is not simple: a direction for at most 2 e arcs; the oriented one
  for triangles: a direction for half of the arcs;
- state: the bytes of all fields × n, and of what an algorithm computes with them by itself;
- workspace of a frontier on a CPU: two queues (2 i n), two reverse queues for pulling (2 i n),
  stamps (4 n), two bitmaps (n / 4); on a GPU: two queues, stamps, three bitmaps, and the last
  frontier as a list ((9 + 2 i) n while it is made);
- second buffers: on a CPU the bytes of what is gathered × n, and the list of the vertices that got
  something (i n); on a GPU also packed pairs, values computed ahead, locks and stamps;
- the buckets of ordered processing: two more queues (2 i n) and flags (n);
- a trail of frontiers: i n on a CPU; on a GPU 32 n, since it is kept, cut, sorted and laid out;
- labels of neighbours: i m on a CPU; on a GPU room for those of both directions;
- another order of the vertices: a direction, the map and its inverse, the fields once more, and
  weights with two maps of the arcs;
- control blocks, records of supersteps and what threads hold for themselves: 1 MB;
- while a direction is made: two arrays of 8 bytes per arc for a sort of keys alone; three ids and
  two numbers for one that carries values along. Copies and degrees are made before the run, the
  other direction and columns in its order when all else is there.

`tests/gpu_host/test_memory.py` and `tests/cuda/test_memory.py` compare with what runs take.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.algorithms import algorithm_names
from weft.algorithms.registry import BOTH, Needs, algorithms
from weft.arrays.device import bytes_text, free_bytes, out_of_memory
from weft.backends import backend_of
from weft.config import SIDES
from weft.errors import ConfigError, unknown
from weft.graph import Graph
from weft.topology.topology import Direction, Topology

CONTROL_BYTES = 1_000_000
SORTED_BYTES = 2 * 8  # per arc, of a sort of keys alone
COPIED_BYTES = 28  # per arc of a copy that is sorted, mirrored and sorted again
REORDERED_BYTES = 56  # per arc of a column that is brought into another order of vertices
PART_BYTES = 32  # per vertex, where rows are counted and laid out


@dataclass(frozen=True)
class Part:
    """One item of an estimate.

    Attributes
    ----------
    group
        "graph", "state", "workspace" or "building".
    name
        What it is.
    nbytes
        How large it is.
    held
        Whether it is in memory already.
    early
        Whether it is gone before state and workspace come.
    """

    group: str
    name: str
    nbytes: int
    held: bool = False
    early: bool = False


@dataclass(frozen=True)
class MemoryEstimate:
    """What a run of an algorithm needs; printed, it shows every part.

    Attributes
    ----------
    algorithm, device
        What was asked for.
    parts
        The items that add up to it.
    free_bytes
        What is free on a GPU; None where the graph is in host memory.
    """

    algorithm: str
    device: str
    parts: tuple[Part, ...]
    free_bytes: int | None

    @property
    def total_bytes(self) -> int:
        """All bytes when most are in use."""
        return sum(part.nbytes for part in self.parts if part.held) + self.needed_bytes

    @property
    def needed_bytes(self) -> int:
        """The bytes that are not in memory yet."""
        new = [part for part in self.parts if not part.held]
        kept = sum(part.nbytes for part in new if part.group == "graph")
        early = sum(part.nbytes for part in new if part.early)
        return kept + max(early, sum(part.nbytes for part in new if not part.early) - kept)

    @property
    def fits(self) -> bool | None:
        """Whether what is needed is free; None where that is not known."""
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


def estimate_memory(g: Graph, algorithm: str | Callable[..., Any]) -> MemoryEstimate:
    """Return how much memory an algorithm needs on the device of a graph.

    An upper estimate for a run without a `Config`: directions that it may look at are counted even
    if it does not come to it.

    Parameters
    ----------
    g
        The graph, where it is to run (`g.to("cuda")` needs the memory of the graph itself).
    algorithm
        A function of weft or its name: "bfs", "sssp", "pagerank", "connected_components", ...

    Returns
    -------
    MemoryEstimate
        ``total_bytes``, ``needed_bytes`` (what is not there yet), ``free_bytes``, ``fits``, and the
        ``parts``; it prints as a table.

    Raises
    ------
    ConfigError
        If the algorithm is not one of them.

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
    topology = g.topology
    return MemoryEstimate(
        name, str(topology.device), tuple(p for p in parts if p.nbytes), free_bytes(topology.device)
    )


def check_memory(g: Graph, algorithm: str | Callable[..., Any]) -> MemoryEstimate:
    """Return the estimate, or raise if the device has not that much free.

    Raises
    ------
    DeviceMemoryError
        Says what is needed, what is free and what needs less.
    """
    estimate = estimate_memory(g, algorithm)
    if estimate.fits is False:
        assert estimate.free_bytes is not None
        raise out_of_memory(g.topology.device, estimate.needed_bytes, estimate.free_bytes)
    return estimate


def _direction_bytes(n: int, arcs: int, index: int) -> int:
    return 8 * (n + 1) + index * arcs


def _graph_parts(g: Graph, needs: Needs) -> list[Part]:
    """Return the arrays of the graph that a run uses, and what is needed while they are made."""
    topology = g.topology
    n, m, i = topology.num_vertices, topology.num_arcs, topology.index_dtype.itemsize
    primary, directions = topology.primary_direction, _directions(g, needs)
    parts = [Part("graph", _NAMES[primary], _direction_bytes(n, m, i), held=True)]
    early = building = 0
    other = needs.oriented  # the run is not on this graph, but on one made from it
    if needs.simple and not _is_simple(g):
        other, m = True, 2 * g.num_edges
        parts.append(Part("graph", "simple copy, at most", _direction_bytes(n, m, i)))
        early = COPIED_BYTES * m + PART_BYTES * n
    if needs.oriented:
        m //= 2
        parts.append(Part("graph", "oriented arcs", _direction_bytes(n, m, i)))
        early = max(early, 2 * (3 * i + 1 + 4) * m + PART_BYTES * n)
    second: Direction = "in" if primary == "out" else "out"
    if topology.directed and second in directions and topology.keep == "both":
        held = topology._secondary is not None and not other
        parts.append(Part("graph", _NAMES[second], _direction_bytes(n, m, i), held))
        building = 0 if held else SORTED_BYTES * m + PART_BYTES * n
    # A GPU looks at the degrees of every graph, to choose its schedules.
    asked = BOTH if backend_of(topology.device).looks_at_degrees else needs.degrees
    for side in asked if topology.directed else asked[:1]:
        held = side in topology._degrees and not other
        parts.append(Part("graph", f"{side}-degrees", i * n, held))
        early = max(early, 0 if held else PART_BYTES * n)
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
    """Return the directions that a run may look at: distances are pushed if they are ordered."""
    topology = g.topology
    packed = _distance_bytes(g) + topology.index_dtype.itemsize <= 8
    if needs.ordered and packed and topology.primary_direction == "out":
        return ("out",)
    return needs.directions


def _distance_bytes(g: Graph) -> int:
    """Return the bytes of a distance, 8 where paths may be long or weights are not in order."""
    low, high = (1, 1)
    if g.weighted and g.num_edges:
        weight = g.edge.storage("weight").dtype
        low, high = g.edge.extent("weight")
        if weight.kind == "f":
            return int(weight.itemsize) if low >= 0 else 8
    return 4 if low >= 0 and high * max(1, g.num_vertices) < 2**31 - 1 else 8


def _weight_parts(g: Graph, directions: tuple[Direction, ...]) -> list[Part]:
    """Return the weights by edge, and again in the order of each direction that differs."""
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
    """Return what another order of the vertices takes; an algorithm's own copies have none."""
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
    """Return what the run itself holds."""
    topology = g.topology
    n, i = topology.num_vertices, topology.index_dtype.itemsize
    wide = _distance_bytes(g) if needs.weighted else 8
    on_gpu = backend_of(topology.device).looks_at_degrees
    workspace = _gpu_workspace if on_gpu else _cpu_workspace
    return [
        Part("state", "fields of the vertices", needs.fields.state(i, wide) * n),
        Part("state", "arrays beside the programs", needs.fields.own * n),
        Part("workspace", "control blocks and records", CONTROL_BYTES),
        *(Part("workspace", *part) for part in workspace(topology, needs, i, wide)),
        Part("workspace", "buckets", (2 * i + 1) * n if needs.ordered else 0),
    ]


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
        ("labels of neighbours", 2 * i * topology.num_arcs if needs.keys else 0),
        ("queues, stamps and bitmaps", (2 * i + 4) * n + maps),
        ("last frontier", (1 + 8 + 2 * i) * n),
        ("rows sorted by schedules", _schedule_bytes(topology, needs.ordered)),
    ]


def _schedule_bytes(topology: Topology, ordered: bool) -> int:
    """Return what the default schedules of the most uneven graph take; equal names are shared."""
    from weft.backends.cuda.host.defaults import Shape, default_schedule
    from weft.schedules import schedule

    n, m = topology.num_vertices, topology.num_arcs
    arrays: dict[str, int] = {}
    for side in SIDES:
        chosen = default_schedule(Shape(n, m, m, 0.0), side, ordered=ordered)
        for name, dtype, size in schedule(chosen).workspace(n, m):
            kind = topology.index_dtype if dtype == "vertex" else np.dtype(dtype)
            arrays[name] = max(arrays.get(name, 0), kind.itemsize * size)
    return sum(arrays.values())


_NAMES = {"out": "arcs by source", "in": "arcs by destination"}
