"""Defaults from the shape of a graph: which schedule suits its degrees.

The rules come from measurements (benchmarks/RESULTS.md; `benchmarks/defaults.py` compares what they
choose with a list of configurations): rows of a few slots are best taken by threads side by side; a
few rows of many thousand slots must be spread over the device, or the thread, warp or block that
has one of them works alone.
"""

from __future__ import annotations

import math
import statistics
import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.arrays.device import to_host
from weft.topology.topology import Topology

FEW_SLOTS = 32  # rows of at most so many are no burden for one thread
EVEN = 4.0  # times the average: a largest row of at most so much is like the others
WARP = 32
HEAD = 16  # slots of a row that a first pull looks at, at most
SAMPLED_ROWS = 4096
SAMPLES = 5  # vertices around which it is looked how a graph grows
LEVELS = 6
MOST_SEEN = 1 << 14  # arcs that are looked at in one level
SHORT_ROW = 4  # slots: a thread has all of them under way at once (`batch` in sharing.cuh)
FEW_VERTICES = 1024  # of a graph that is not worth a kernel of its own
SMALL_FRONTIER = 1 << 13  # vertices, on average
VAST = 1 << 22  # vertices: two words of each fill half of the second-level cache of an H200
EXPANDS = 1.5  # from level to level: a lattice of any dimension soon grows by less


@dataclass(frozen=True)
class Shape:
    """The graph statistics that determine the defaults.

    Attributes
    ----------
    vertices, arcs
        How many there are.
    largest
        The largest degree.
    heads
        The average number of slots within the first `HEAD` of a row, of a sample of in-rows.
    """

    vertices: int
    arcs: int
    largest: int
    heads: float

    @property
    def average(self) -> float:
        """Return the average degree."""
        return self.arcs / max(1, self.vertices)

    @property
    def skew(self) -> float:
        """Return how many times the average the largest degree is."""
        return self.largest / self.average if self.arcs else 1.0

    @property
    def head_share(self) -> int:
        """Return the share of all arcs within the first `HEAD` of their rows, in 1024ths.

        So many does a pull look at that ends with the first message, from a frontier with one arc
        of `HEAD`: fewer than that are pushed.
        """
        return max(1, min(1024, round(1024 * self.heads / self.average))) if self.arcs else 1024

    @property
    def is_even(self) -> bool:
        """Whether no row is much longer than the others."""
        return self.largest <= FEW_SLOTS or self.skew <= EVEN


_shapes: weakref.WeakKeyDictionary[Topology, Shape] = weakref.WeakKeyDictionary()
_diameters: weakref.WeakKeyDictionary[Topology, float] = weakref.WeakKeyDictionary()


def shape_of(topology: Topology) -> Shape:
    """Return the shape of a topology; the largest degree is looked for once."""
    found = _shapes.get(topology)
    if found is None:
        degrees: Any = topology.out_degree if topology.keep != "in" else topology.in_degree
        largest = int(degrees.max()) if topology.num_vertices else 0
        if topology.directed and topology.keep == "both" and topology.num_vertices:
            degrees = topology.in_degree
            largest = max(largest, int(degrees.max()))
        sample = to_host(degrees[:: max(1, topology.num_vertices // SAMPLED_ROWS)])
        heads = float(np.minimum(sample, HEAD).mean()) if sample.size else 0.0
        found = Shape(topology.num_vertices, topology.num_arcs, largest, heads)
        _shapes[topology] = found
    return found


def default_schedule(
    shape: Shape, direction: str, *, ordered: bool = False, rounds: bool = False
) -> str:
    """Return the schedule that suits a graph and a side: push, pull or gather.

    A pull that ends with the first message seldom looks at more than a few slots of a row. Pushes
    in the order of priorities have frontiers of all sizes: equal shares suit all of them. A gather
    over all rows of about the same length needs no sharing out: PageRank on a graph with planted
    communities (degrees about 48) takes 8.6 ms by `row`, 21.4 ms by `warp`. Programs in rounds have
    hundreds of supersteps, each with a fixed cost: `block` has one phase where `twc` has two. Core
    numbers of a graph with 181 million arcs take 22.3 ms by `block`, 29.5 by `twc`.
    """
    if rounds and direction == "push" and not shape.is_even:
        return "block"
    if ordered and direction == "push" and not shape.is_even:
        return "strict"
    if direction == "pull" or (direction == "gather" and shape.largest <= FEW_SLOTS):
        return "vertex"
    if direction == "gather" and shape.is_even:
        return "row"
    return "warp" if shape.is_even else "twc"


def usual_compaction(shape: Shape, *, rounds: bool) -> str:
    """Return how a graph's frontiers are assembled by default.

    Rounds on a graph of even degrees begin with millions of vertices. Rebuilt from the state, such
    a queue is in order, so that rows side by side are read together: core numbers of a road network
    of 24 million vertices take 4.97 ms, and 10.3 in the order in which threads put them out.
    """
    return "jit" if rounds and shape.is_even else "online"


def joining_schedule(shape: Shape, direction: str) -> str:
    """Return the schedule by which the rows of a vertex are kept together, or "".

    That is where a format that splits vertices need not do so: where the degrees of a graph suit a
    thread for each of them or, of a push, 32 threads for 32 of them.
    """
    suited = "warp" if direction == "push" else "vertex"
    return suited if default_schedule(shape, direction) == suited else ""


def common_lanes(shape: Shape) -> int:
    """Return how many threads look for the common neighbours of one arc together."""
    lanes = 1
    while lanes < WARP and 2 * lanes <= shape.average:
        lanes *= 2
    return lanes


# -- how far a graph reaches


def estimated_diameter(topology: Topology) -> float:
    """Return about how many supersteps a search takes; found once, by a few array operations.

    Around some vertices it is looked how many others lie 1, 2, ... steps away. Where every level is
    larger than the one before by a factor, as many more follow as it takes to reach everything;
    where levels grow like a power of the distance, as in a road network, the ball around a vertex
    is scaled up to the whole graph. The median counts. Right within a factor of a few: enough to
    tell ten supersteps from a thousand.
    """
    found = _diameters.get(topology)
    if found is None:
        balls = _levels_around(topology) if topology.num_arcs else [[0]]
        found = statistics.median(_reach(levels, topology.num_vertices) for levels in balls)
        _diameters[topology] = found
    return found


def is_deep(topology: Topology) -> bool:
    """Whether a search takes so many supersteps that its frontiers are small: in a road network.

    There the latency of a superstep is all that counts, not how many warps are under way. Only of
    graphs with short rows, and not of the smallest, the diameter is estimated, which takes some
    milliseconds.
    """
    shape = shape_of(topology)
    short = shape.largest <= FEW_SLOTS and shape.average <= SHORT_ROW
    if topology.num_vertices < FEW_VERTICES or not short:
        return False
    return topology.num_vertices < SMALL_FRONTIER * estimated_diameter(topology)


def describe_shape(topology: Topology) -> str:
    """Return the statistics of a graph in words."""
    shape = shape_of(topology)
    return (
        f"{shape.vertices} vertices, {shape.arcs} arcs; degrees: average {shape.average:.3g}, "
        f"largest {shape.largest} (skew {shape.skew:.3g}); "
        f"estimated diameter {estimated_diameter(topology):.2g}"
    )


def _reach(levels: list[int], n: int) -> float:
    """Return the diameter of a graph of n vertices, given its growth around one of them."""
    if levels[-1] == 0:  # there is no more
        return float(len(levels) - 1)
    steps, seen = len(levels), 1 + sum(levels)
    factor = (levels[-1] / levels[0]) ** (1 / (steps - 1)) if steps > 1 else float(levels[0])
    last = levels[-1] / levels[-2] if steps > 1 else factor
    if min(factor, last) >= EXPANDS:
        return steps + math.log(n / seen) / math.log(factor)
    # The ball grows like r^d, d being the dimension; its radius is to be gone both ways.
    inner = levels[: max(1, steps // 2)]
    grown = math.log(sum(levels) / sum(inner)) / math.log(max(2.0, steps / len(inner)))
    dimension = min(3.0, max(1.0, grown))
    return 2 * steps * (n / seen) ** (1 / dimension)


def _levels_around(topology: Topology) -> list[list[int]]:
    """Return how many vertices lie 1, 2, ... steps from each of some vertices.

    A search ends where a level is empty (the last number is then 0), or has more arcs than are
    worth looking at.
    """
    xp = topology.xp
    rows = topology.adjacency("in" if topology.keep == "in" else "out")
    filled = xp.flatnonzero(rows.offsets[1:] > rows.offsets[:-1])
    places = (np.arange(SAMPLES) * 2 + 1) * int(filled.size) // (2 * SAMPLES)
    starts = filled[xp.asarray(np.unique(places))].astype(np.int64)
    found = []
    for start in range(int(starts.size)):
        front = seen = starts[start : start + 1]
        levels: list[int] = []
        while len(levels) < LEVELS:
            begin, end = rows.offsets[front], rows.offsets[front + 1]
            ends = xp.cumsum(end - begin)
            count = int(ends[-1])
            if count > MOST_SEEN and levels:
                break
            slot = xp.arange(min(count, MOST_SEEN), dtype=np.int64)
            row = xp.searchsorted(ends, slot, side="right")
            slot += begin[row] - (ends[row] - (end - begin)[row])
            near = xp.unique(rows.targets[slot].astype(np.int64))
            front = near[~xp.isin(near, seen)]
            levels.append(int(front.size))
            if not levels[-1]:
                break
            seen = xp.concatenate([seen, front])
        found.append(levels)
    return found
