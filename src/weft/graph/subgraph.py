"""Induced subgraphs: some vertices of a topology, and all edges between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from weft.arrays.device import as_array, move
from weft.engine.frontier import Frontier, make_frontier
from weft.errors import GraphError
from weft.graph.build import BuildRules, assemble
from weft.graph.labels import Labels, vertex_numbers
from weft.topology.adjacency import Array
from weft.topology.topology import Topology


def members_mask(topology: Topology, labels: Labels | None, vertices: Any) -> Array:
    """Return a boolean mask of the given vertices, on the topology's device.

    Raises
    ------
    GraphError
        If a vertex does not exist, or a mask has the wrong length.
    """
    n, device = topology.num_vertices, topology.device
    if isinstance(vertices, Frontier):
        frontier = make_frontier(vertices, n, topology.index_dtype, arcs=False, device=device)
        return frontier.mask()
    plain = isinstance(vertices, list | tuple | range) or hasattr(vertices, "dtype")
    array = as_array(vertices) if plain and _is_mask(vertices) else None
    if array is not None:
        if array.shape != (n,):
            raise GraphError(
                f"The mask has shape {array.shape}. Expected ({n},): one boolean per vertex."
            )
        return move(array, device)
    wanted = list(vertices) if isinstance(vertices, tuple | set | frozenset | range) else vertices
    numbers = vertex_numbers(labels, n, wanted)
    with device.current():
        mask = topology.xp.zeros(n, np.bool_)
        mask[numbers if np.ndim(numbers) == 0 else move(numbers, device)] = True
    return mask


def induced(
    topology: Topology, columns: Mapping[str, Array], mask: Array
) -> tuple[Topology, dict[str, Array], Array]:
    """Return the subgraph induced by a mask of vertices.

    Returns
    -------
    topology : Topology
        The vertices of the mask, renumbered in order.
    columns : dict
        The edge columns of the remaining edges.
    kept : ndarray of int
        The old number of each vertex.
    """
    xp = topology.xp
    with topology.device.current():
        kept = xp.flatnonzero(mask)
        number = xp.cumsum(mask, dtype=topology.index_dtype) - 1
        src, dst = topology.edge_endpoints()
        inside = mask[src] & mask[dst]
        part, moved = assemble(
            number[src[inside]],
            number[dst[inside]],
            {name: values[inside] for name, values in columns.items()},
            int(kept.size),
            BuildRules(
                topology.directed,
                keep=topology.keep,
                index_dtype=topology.index_dtype,
                device=topology.device,
            ),
        )
        return part, moved, kept


def _is_mask(vertices: Any) -> bool:
    """Whether all values are booleans, and there is at least one."""
    if hasattr(vertices, "dtype"):
        return bool(vertices.dtype == np.bool_)
    return len(vertices) > 0 and all(isinstance(value, bool | np.bool_) for value in vertices)
