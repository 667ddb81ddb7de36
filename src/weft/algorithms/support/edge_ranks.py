"""Ranks of edges by weight, as distinct integers, for spanning forests."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

import weft
from weft.errors import GraphError

Array = np.ndarray[Any, Any]

NONE: Final = np.iinfo(np.int64).max
"""The rank of no edge."""


class Ranks(NamedTuple):
    """The ranks of edges by (weight, number).

    Attributes
    ----------
    kind
        ``"number"`` if all weights are equal, ``"int"`` and ``"float"`` if a 32-bit weight is
        combined with the number of its edge, ``"sorted"`` if ranks were computed by sorting.
    values
        By edge: the weights, or the ranks if sorted. None for ``"number"``.
    order
        The edges by rank, if sorted.
    """

    kind: str
    values: Array | None
    order: Array | None = None

    def edges(self, ranks: Array) -> Array:
        """Return the edges that have these ranks."""
        if self.kind == "number":
            return ranks
        return ranks & 0xFFFFFFFF if self.order is None else self.order[ranks]


def rank_edges(g: weft.Graph) -> Ranks:
    """Return the ranks of the edges of a graph.

    Raises
    ------
    GraphError
        If a weight is NaN.
    """
    if not g.weighted or g.num_edges == 0:
        return Ranks("number", None)
    low, _ = g.edge.extent("weight")
    if low != low:
        raise GraphError(
            "some weights are NaN. Expected numbers: remove those edges or give them a weight."
        )
    weight = g.edge.storage("weight")
    narrow = weight.dtype.itemsize < 4 or weight.dtype in (np.int32, np.float32)
    if narrow and g.num_edges < 2**31:
        return Ranks("float" if weight.dtype.kind == "f" else "int", weight)
    xp = g.topology.xp
    order = xp.argsort(weight, kind="stable")
    rank = xp.empty(order.size, np.int64)
    rank[order] = xp.arange(order.size)
    return Ranks("sorted", rank, order)


def rank_of(kind: str, value: Any, number: Any) -> Any:
    """Return the rank of an edge within a traced function."""
    number = weft.cast(number, np.int64)
    if kind == "number":
        return number
    if kind == "sorted":
        return value
    if kind == "float":
        bits = weft.bitcast(weft.cast(value, np.float32) + np.float32(0), np.int32)
        value = bits ^ ((bits >> 31) & 0x7FFFFFFF)  # in the order of the floats
    return (weft.cast(value, np.int64) << 32) | number
