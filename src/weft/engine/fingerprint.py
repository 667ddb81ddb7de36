"""Fingerprints identify graphs across processes: sizes, degrees, a sample of the arcs.

Two graphs with the same digest are considered equal. The sampled diameter is not part of the
digest; it only measures how similar two graphs are.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from weft.arrays.device import to_host
from weft.topology.topology import Topology

SAMPLED = 4096  # arcs and rows that the digest covers


@dataclass(frozen=True)
class Fingerprint:
    """Sizes, degree moments and approximate diameter of a graph.

    Attributes
    ----------
    vertices, arcs
        Number of vertices and arcs; an undirected edge is two arcs.
    directed
        Whether every arc is an edge of its own.
    largest
        The largest degree.
    variation, skew
        Standard deviation over mean, and third standardised moment, of the degrees.
    digest
        Equal for equal graphs.
    diameter
        Largest level found by sampled searches; None if there were none.
    """

    vertices: int
    arcs: int
    directed: bool
    largest: int
    variation: float
    skew: float
    digest: str
    diameter: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as a dictionary."""
        return asdict(self)

    def distance(self, other: Fingerprint) -> float:
        """Return the distance to another graph: 0 for equal sizes, 1 for about a factor of 2.

        Examples
        --------
        >>> small = Fingerprint(1000, 4000, False, 9, 0.5, 0.1, "a", 30)
        >>> large = Fingerprint(2000, 8000, False, 9, 0.5, 0.1, "b", 30)
        >>> small.distance(small), small.distance(large)
        (0.0, 1.0)
        """
        pairs = zip(self._features(), other._features(), strict=True)
        return math.sqrt(sum((a - b) ** 2 for a, b in pairs))

    def _features(self) -> tuple[float, ...]:
        average = self.arcs / max(1, self.vertices)
        return (
            math.log2(max(1, self.vertices)),
            2 * math.log2(1 + average),
            math.log2(1 + self.variation),
            math.log2(1 + self.largest / max(1.0, average)),
            math.log2(1 + (self.diameter or 0)),
        )


def sizes_of(topology: Topology) -> tuple[int, int, bool]:
    """Return the sizes of a topology, which are cheap to compare."""
    return topology.num_vertices, topology.num_arcs, topology.directed


def fingerprint_of(topology: Topology, diameter: int | None = None) -> Fingerprint:
    """Return the fingerprint of a topology; reads all degrees once."""
    n, arcs, directed = sizes_of(topology)
    degrees = topology.out_degree if topology.keep != "in" else topology.in_degree
    with topology.device.current():
        whole = degrees.astype(np.uint64)
        # Wrapping integer sums give the same bits on every device and in any order.
        powers = [int((whole * whole).sum()), int((whole * whole * whole).sum())]
        mean = arcs / max(1, n)
        apart = degrees.astype(np.float64) - mean
        spread = math.sqrt(float((apart * apart).mean())) if n else 0.0
        third = float((apart * apart * apart).mean()) if n else 0.0
        largest = int(degrees.max()) if n else 0
        parts: list[Any] = [
            n,
            arcs,
            directed,
            topology.keep,
            str(topology.index_dtype),
            largest,
            powers,
        ]
        adjacency = topology.adjacency(topology.primary_direction)
        for array in (adjacency.offsets, adjacency.targets):
            stride = max(1, array.size // SAMPLED)
            parts.append(to_host(array[::stride]).astype(np.int64).tobytes())
    return Fingerprint(
        n,
        arcs,
        directed,
        largest,
        spread / mean if mean else 0.0,
        third / spread**3 if spread else 0.0,
        hashlib.sha256(repr(parts).encode()).hexdigest()[:24],
        diameter,
    )
