"""Decides whether a vertex tests its neighbor of highest degree before all others.

These neighbors are one id per vertex, cached in the topology (`weft.topology.best_neighbors`). A
pull that ends at the first message usually finds one there, without reading offsets and targets;
and trees that link every vertex to that neighbor contain most of a large component.
"""

from __future__ import annotations

import weakref

from weft.config import Config
from weft.topology.best_neighbors import MOST_VERTICES
from weft.topology.topology import Topology

BY_DEFAULT = False  # whether it is the default on GPUs
LEAST_ARCS = 1 << 20  # with fewer, the rows themselves are in a near cache
LONG_ROW, UNEVEN = 32, 4.0  # minimum slots of the longest row, and its minimum ratio to the average

_uneven: weakref.WeakKeyDictionary[Topology, bool] = weakref.WeakKeyDictionary()


def looks_first(topology: Topology, config: Config | None, on_gpu: bool) -> bool:
    """Whether the best neighbor of a vertex is tested first in programs that can use it.

    Examples
    --------
    >>> import weft
    >>> topology = weft.generators.star(5).topology
    >>> looks_first(topology, weft.Config(best_neighbor=True), True)
    True
    >>> looks_first(topology, None, True)
    False
    """
    config = config or Config()
    if config.deterministic or topology.carrier is not None:
        return False
    if topology.num_vertices > MOST_VERTICES:
        return False
    if config.best_neighbor is not None:
        return config.best_neighbor
    return BY_DEFAULT and on_gpu and is_uneven(topology)


def is_uneven(topology: Topology) -> bool:
    """Whether some rows of a large graph are much longer than the average."""
    found = _uneven.get(topology)
    if found is None:
        arcs, found = topology.num_arcs, False
        if arcs >= LEAST_ARCS:
            degrees = topology.in_degree if topology.keep == "in" else topology.out_degree
            longest = int(degrees.max())
            found = longest > max(LONG_ROW, UNEVEN * arcs / topology.num_vertices)
        _uneven[topology] = found
    return found
