"""Strengths: the total weight of the edges that leave each vertex, safe from overflow.

A rank is divided by the strength of its vertex and multiplied by a weight, so both must stay well
within the range of the dtype. If they do not, the weights of each vertex are scaled by a power of
two, which preserves their proportions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import weft
from weft.arrays.device import module_of
from weft.arrays.reduce import all_true
from weft.errors import GraphError
from weft.topology.adjacency_gpu import sums_of_keys

Array = np.ndarray[Any, Any]

# Strengths from 2**-x to 2**x leave room for the ranks that are divided by them.
SAFE_EXPONENT = {np.dtype(np.float64): 900, np.dtype(np.float32): 60}
MOST_SCALED = 1000  # the largest power of two to scale by; twice that would not be a float64


def usable_strengths(g: weft.Graph, dtype: Any) -> tuple[weft.Graph, Array]:
    """Return a graph with usable edge weights, and the strength of each vertex, in a dtype.

    The graph is g itself unless a strength is too large or too small for the dtype.
    """
    strength = _strengths(g)
    if not g.weighted or _is_safe(strength, SAFE_EXPONENT[np.dtype(dtype)]):
        return g, strength.astype(dtype)
    topology = g.topology
    src, dst = topology.endpoints()
    weight = topology.slot_values(g.edge.storage("weight"), topology.primary_direction)
    weight = weight * powers_to_one(strength)[src]
    if topology.directed:
        scaled = weft.Graph(topology, edge={"weight": weight}, order=g.order)
    else:  # the weight is scaled at both ends of an edge
        scaled = weft.Graph.from_edges(
            src, dst, weight, num_vertices=g.num_vertices, index_dtype=topology.index_dtype,
            device=topology.device,
        )  # fmt: skip
    return scaled, _strengths(scaled).astype(dtype)


def powers_to_one(totals: Array) -> Array:
    """Return powers of two that bring positive totals near 1; totals may have overflowed."""
    xp = module_of(totals)
    bounded = xp.minimum(xp.where(totals > 0, totals, 1), np.finfo(np.float64).max)
    return xp.exp2(-xp.clip(xp.floor(xp.log2(bounded)), -MOST_SCALED, MOST_SCALED))


def distribution(values: Array) -> Array:
    """Return non-negative values as parts of their sum, column by column; their sum may overflow.

    Columns of zeros stay as they are.
    """
    values = values * powers_to_one(values.max(axis=0))
    total = values.sum(axis=0)
    return values / (total + (total == 0))


def _is_safe(strength: Array, exponent: int) -> bool:
    inside = (strength >= 2.0**-exponent) & (strength <= 2.0**exponent)
    return all_true(inside | (strength == 0))


def _strengths(g: weft.Graph) -> Array:
    """Return the total weight of the edges that leave each vertex; infinity where it overflows."""
    if not g.weighted:
        return g.out_degree.astype(np.float64)
    src, dst = g.topology.edge_endpoints()
    weight = g.edge.storage("weight")
    usable = (weight >= 0) & (weight < np.inf)
    if not all_true(usable):
        bad = int(usable.argmin())
        raise GraphError(
            f"the weight of edge {bad} ({src[bad]} -> {dst[bad]}) is {weight[bad]}. Expected "
            f"finite weights from 0 on; PageRank follows edges in proportion to them."
        )
    total = _summed(src, weight, g.num_vertices)
    if not g.directed:
        proper = src != dst
        with np.errstate(over="ignore"):
            total += _summed(dst[proper], weight[proper], g.num_vertices)
    return total


def _summed(vertices: Array, values: Array, n: int) -> Array:
    """Return the sum of the values at each of n vertices."""
    xp = module_of(vertices)
    if not vertices.size:
        return xp.zeros(n)
    return sums_of_keys(vertices, values.astype(np.float64, copy=False), n)
