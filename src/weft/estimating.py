"""estimate_memory: the bytes that an algorithm needs on a graph's device, before it runs.

All formulas are here. With n vertices, m arcs, e edges and ids of i bytes (4 below 2³¹ vertices):

- a direction of the arcs: 8 (n + 1) + i m; undirected graphs have one that serves as both;
- degrees: i n; a column in the order of one direction: its bytes per value × m, unless that is
  the order of edge ids;
- a simple copy of a graph that is not simple: a direction for at most 2 e arcs; the oriented one
  for triangles: a direction for half of the arcs;
- state: the bytes of all fields × n;
- workspace of a frontier: two queues (2 i n), two reverse queues for pulling (2 i n), stamps
  (4 n), two bitmaps (n / 4);
- inboxes: the bytes of what is gathered in a second buffer × n, and the list of the vertices that
  got something (i n); a trail of frontiers: i n;
- the buckets of ordered processing: two more queues (2 i n) and flags (n);
- control blocks, records of supersteps and what threads hold for themselves: 1 MB;
- while a direction is made: three arrays of 8 bytes per arc for a sort of keys alone, five for one
  that carries numbers along. They are gone before the run begins.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.devices import bytes_text, free_bytes, out_of_memory
from weft.errors import ConfigError, unknown
from weft.graph import Graph
from weft.topology import Direction

CONTROL_BYTES = 1_000_000
SORTED_KEYS_BYTES = 3 * 8  # per arc
SORTED_PAYLOAD_BYTES = 5 * 8


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
    """

    group: str
    name: str
    nbytes: int
    held: bool = False


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
        """All bytes when most are in use; those of building are gone when the run begins."""
        return sum(part.nbytes for part in self.parts if part.held) + self.needed_bytes

    @property
    def needed_bytes(self) -> int:
        """The bytes that are not in memory yet."""
        kept = self._new("graph")
        return kept + max(self._new("building"), self._new("state") + self._new("workspace"))

    @property
    def fits(self) -> bool | None:
        """Whether what is needed is free; None where that is not known."""
        return None if self.free_bytes is None else self.needed_bytes <= self.free_bytes

    def _new(self, group: str) -> int:
        return sum(part.nbytes for part in self.parts if part.group == group and not part.held)

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


@dataclass(frozen=True)
class Needs:
    """What an algorithm asks of memory; sizes are given in bytes per vertex.

    `fields` and `inbox` take the bytes of an id and of a distance or rank.
    """

    directions: tuple[Direction, ...]
    fields: Callable[[int, int], int]
    inbox: Callable[[int, int], int] = lambda i, w: 0
    frontier: bool = True
    weighted: bool = False
    degrees: tuple[Direction, ...] = ()
    simple: bool = False
    oriented: bool = False
    trail: bool = False
    ordered: bool = False
    keys: bool = False  # sorts the labels of neighbours


BOTH: tuple[Direction, ...] = ("out", "in")
ALGORITHMS = {
    "bfs": Needs(BOTH, lambda i, w: 4 + i),
    "sssp": Needs(BOTH, lambda i, w: w + i, lambda i, w: 2 * w, weighted=True, ordered=True),
    "pagerank": Needs(("in",), lambda i, w: 8, lambda i, w: 16, degrees=("out",)),
    "connected_components": Needs(("out",), lambda i, w: i),
    "core_number": Needs(
        ("out",), lambda i, w: 2 * i, lambda i, w: i, simple=True, degrees=("out",)
    ),
    "triangle_count": Needs((), lambda i, w: 0, frontier=False, simple=True, oriented=True),
    "clustering": Needs((), lambda i, w: 24, frontier=False, simple=True, oriented=True),
    "betweenness": Needs(BOTH, lambda i, w: 28, lambda i, w: 12, simple=True, trail=True),
    "label_propagation": Needs(BOTH, lambda i, w: i, lambda i, w: i, degrees=BOTH, keys=True),
}


def estimate_memory(g: Graph, algorithm: str | Callable[..., Any]) -> MemoryEstimate:
    """Return how much memory an algorithm needs on the device of a graph.

    An upper estimate: directions that a run may look at are counted even if it does not come to it.

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
    connected_components on cpu: 4.2 MB in all, 2.6 MB of it new
      graph      arcs by source                        1.6 MB  in memory
      state      fields of the vertices              400.0 kB  new
      workspace  control blocks and records            1.0 MB  new
      workspace  queues, stamps and bitmaps            1.2 MB  new
    """
    name = algorithm if isinstance(algorithm, str) else getattr(algorithm, "__name__", "")
    if name not in ALGORITHMS:
        raise ConfigError(unknown("algorithm", name or algorithm, ALGORITHMS))
    needs = ALGORITHMS[name]
    parts = [*_graph_parts(g, needs), *_run_parts(g, needs)]
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
    primary = topology.primary_direction
    parts = [Part("graph", _NAMES[primary], _direction_bytes(n, m, i), held=True)]
    building = 0
    if needs.simple:
        copied, sorted_arcs = _simple_arcs(g)
        if sorted_arcs:
            parts.append(Part("graph", "simple copy, at most", _direction_bytes(n, copied, i)))
            building = SORTED_KEYS_BYTES * sorted_arcs
            if g.directed and len(needs.directions) > 1:
                parts.append(Part("graph", "its other direction", 8 * (n + 1)))
        m = copied
    if needs.oriented:
        parts.append(Part("graph", "oriented arcs", _direction_bytes(n, m // 2, i)))
        building = max(building, (3 * i + 1 + 4) * m)
    directed = topology.directed and not needs.simple
    second: Direction = "in" if primary == "out" else "out"
    if directed and second in needs.directions and topology.keep == "both":
        held = topology._secondary is not None
        parts.append(Part("graph", _NAMES[second], _direction_bytes(n, m, i), held))
        building = max(building, 0 if held else SORTED_KEYS_BYTES * m)
    for side in needs.degrees if directed else needs.degrees[:1]:
        held = side in topology._degrees and not needs.simple
        parts.append(Part("graph", f"{side}-degrees", i * n, held))
    if needs.weighted and g.weighted:
        parts += _weight_parts(g, needs)
        if any(not part.held for part in parts):
            building = max(building, SORTED_PAYLOAD_BYTES * m)
    return [*parts, Part("building", "sorting of arcs", building)]


def _weight_parts(g: Graph, needs: Needs) -> list[Part]:
    """Return the weights by edge, and again in the order of each direction that differs."""
    topology, weight = g.topology, g.edge.storage("weight")
    parts = [Part("graph", "weights", int(weight.nbytes), held=True)]
    for direction in needs.directions if topology.directed else needs.directions[:1]:
        if topology.keep in ("both", direction) and (
            not topology.directed or direction != topology.primary_direction
        ):
            held = g.edge.has_slots("weight", direction)
            copied = weight.dtype.itemsize * topology.num_arcs
            parts.append(Part("graph", f"weights, {_NAMES[direction]}", copied, held))
    return parts


def _simple_arcs(g: Graph) -> tuple[int, int]:
    """Return how many arcs the simple graph has at most, and how many are sorted to make it."""
    from weft.algorithms.simple import is_simple

    if not g.directed and is_simple(g.topology):
        return g.topology.num_arcs, 0
    return 2 * g.num_edges, 2 * g.num_edges


def _run_parts(g: Graph, needs: Needs) -> list[Part]:
    """Return what the run itself holds."""
    topology = g.topology
    n, i = topology.num_vertices, topology.index_dtype.itemsize
    weight = g.edge.storage("weight").dtype if g.weighted else np.dtype(np.int32)
    wide = weight.itemsize if weight.kind == "f" else 8
    inbox = needs.inbox(i, wide)
    parts = [
        Part("state", "fields of the vertices", needs.fields(i, wide) * n),
        Part("workspace", "control blocks and records", CONTROL_BYTES),
        Part("workspace", "inboxes", (inbox + i) * n if inbox else 0),
        Part("workspace", "buckets", (2 * i + 1) * n if needs.ordered else 0),
        Part("workspace", "trail of frontiers", i * n if needs.trail else 0),
        Part("workspace", "labels of neighbours", i * topology.num_arcs if needs.keys else 0),
    ]
    if needs.frontier:
        pulling = 2 * i * n if len(needs.directions) > 1 else 0
        frontier = 2 * i * n + pulling + 4 * n + 2 * 8 * ((n + 63) // 64)
        parts.append(Part("workspace", "queues, stamps and bitmaps", frontier))
    return parts


_NAMES = {"out": "arcs by source", "in": "arcs by destination"}
