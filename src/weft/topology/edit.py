"""Insert and remove edges of a topology, together with their columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from weft.topology.adjacency import Adjacency, Array
from weft.topology.adjacency_gpu import offsets_of
from weft.topology.merge import insert_values, remove_values, slots_of, sorted_pairs, spread_ranges
from weft.topology.topology import Topology

Columns: TypeAlias = Mapping[str, Array]


@dataclass(frozen=True, eq=False)
class EdgeChange:
    """The edges by which two versions of a graph differ, as vertex numbers.

    `added` is in input order, `removed` in edge-id order; parallel edges are listed one by one.
    """

    added: tuple[Array, Array]
    removed: tuple[Array, Array]


Carrier: TypeAlias = Callable[[Topology, Topology, EdgeChange], None]

carriers: list[Carrier] = []
"""Called as ``carrier(before, after, change)`` when a graph changes in place.

Data derived from a topology (mainly formats) is cached for that topology only, and would be rebuilt
for the next one. A carrier that can update such data in place takes it from `before` and caches it
for `after`; `before` may still be in use elsewhere and must work without it.
"""


def insert_edges(
    topology: Topology, columns: Columns, src: Array, dst: Array, values: Columns, count: int
) -> tuple[Topology, dict[str, Array]]:
    """Return a topology with additional edges and `count` vertices, and its edge columns.

    Among parallel edges, new ones come last, in input order.
    """
    larger = topology.with_edges(src, dst, count)
    if not columns or not src.size:
        return larger, dict(columns)
    rows, targets = topology.primary_ends(src, dst)
    wide = topology.resized(count, larger.index_dtype)
    rows, targets, order = sorted_pairs(rows, targets, wide)
    at = _edge_ids(topology, wide, rows, slots_of(wide, rows, targets, "right"))
    return larger, {k: insert_values(old, at, values[k][order]) for k, old in columns.items()}


def remove_edges(
    topology: Topology, columns: Columns, src: Array, dst: Array, weight: Array | None
) -> tuple[Topology, dict[str, Array], tuple[Array, Array], Array]:
    """Return a topology without the edges of some pairs, and its edge columns.

    Parameters
    ----------
    topology : Topology
    columns : mapping of str to ndarray
    src, dst : ndarray of int
        The pairs, whose parallel edges are all removed.
    weight : ndarray, optional
        Remove only the edges of each pair with this weight; NaN matches NaN.

    Returns
    -------
    topology : Topology
    columns : dict
    removed : tuple of ndarray
        The ends of the removed edges.
    found : ndarray of bool
        Whether such an edge existed, for each pair.
    """
    xp = topology.xp
    arcs = topology.adjacency(topology.primary_direction)
    rows, targets = topology.primary_ends(src, dst)
    rows, targets, order = sorted_pairs(rows, targets, arcs)
    first, last = (slots_of(arcs, rows, targets, side) for side in ("left", "right"))
    slots, pair = spread_ranges(first, last)
    edges = _edge_ids(topology, arcs, rows[pair], slots)
    if weight is not None:
        there, wanted = columns["weight"][edges], weight[order][pair]
        alike = (there == wanted) | ((there != there) & (wanted != wanted))
        edges, pair = edges[alike], pair[alike]
    found = xp.zeros(rows.size, np.bool_)
    found[order[pair]] = True
    if not edges.size:
        return topology, dict(columns), (src[:0], dst[:0]), found
    # If a pair was given twice, its edges appear twice.
    by_edge = xp.argsort(edges, kind="stable")
    edges, pair = edges[by_edge], pair[by_edge]
    once = xp.ones(edges.size, np.bool_)
    once[1:] = edges[1:] != edges[:-1]
    edges, pair = edges[once], pair[once]
    gone = rows[pair], targets[pair]
    ends = gone[::-1] if topology.primary_direction == "in" else gone
    left = {name: remove_values(values, edges) for name, values in columns.items()}
    return topology.without_edges(*ends), left, ends, found


def _edge_ids(topology: Topology, arcs: Adjacency, rows: Array, slots: Array) -> Array:
    """Return the edge ids of slots in the primary direction, given their rows.

    An undirected edge is numbered by its arc to the higher end, so arcs to lower ends, in all rows
    up to this one, are subtracted.
    """
    if topology.directed:
        return slots
    every = topology.xp.arange(arcs.offsets.size - 1, dtype=arcs.targets.dtype)
    lower = slots_of(arcs, every, every, "left") - arcs.offsets[:-1]
    return slots - offsets_of(lower)[rows + 1]
