"""Defaults from the shape of a graph: which schedule suits its degrees.

The rules come from measurements (benchmarks/RESULTS.md): rows of a few slots are best taken by
threads side by side; a few rows of many thousand slots must be spread over the device, or the
thread, warp or block that has one of them works alone.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

from weft.topology import Topology

FEW_SLOTS = 32  # rows of at most so many are no burden for one thread
WARP = 32


@dataclass(frozen=True)
class Shape:
    """What the defaults are chosen by."""

    vertices: int
    arcs: int
    largest: int  # degree

    @property
    def average(self) -> float:
        """Return the average degree."""
        return self.arcs / max(1, self.vertices)

    @property
    def is_even(self) -> bool:
        """Whether no row is much longer than the others."""
        return self.largest <= max(FEW_SLOTS, 4 * self.average)


_shapes: weakref.WeakKeyDictionary[Topology, Shape] = weakref.WeakKeyDictionary()


def shape_of(topology: Topology) -> Shape:
    """Return the shape of a topology; the largest degree is looked for once."""
    found = _shapes.get(topology)
    if found is None:
        degrees: Any = topology.out_degree if topology.keep != "in" else topology.in_degree
        largest = int(degrees.max()) if topology.num_vertices else 0
        if topology.directed and topology.keep == "both" and topology.num_vertices:
            largest = max(largest, int(topology.in_degree.max()))
        found = Shape(topology.num_vertices, topology.num_arcs, largest)
        _shapes[topology] = found
    return found


def default_schedule(shape: Shape, direction: str) -> str:
    """Return the schedule that suits a graph and a side: push, pull or gather.

    A pull that ends with the first message seldom looks at more than a few slots of a row.
    """
    if direction == "pull" or (direction == "gather" and shape.largest <= FEW_SLOTS):
        return "vertex"
    return "warp" if shape.is_even else "twc"


def common_lanes(shape: Shape) -> int:
    """Return how many threads look for the common neighbours of one arc together."""
    lanes = 1
    while lanes < WARP and 2 * lanes <= shape.average:
        lanes *= 2
    return lanes
