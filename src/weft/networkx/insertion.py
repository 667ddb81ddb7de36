"""The contents of a NetworkX graph after adding edges one after another."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from weft.graph.interop.rows import Rows

Array = np.ndarray[Any, Any]


class Added(NamedTuple):
    """Distinct edges as they were first added, and the rows that they leave.

    `number` has the distinct edge of every given one, `edges` that of every entry of the rows. A
    self-loop has one entry.
    """

    tails: Array
    heads: Array
    number: Array
    offsets: Array
    targets: Array
    edges: Array
    directed: bool

    @property
    def sources(self) -> Array:
        """The row of each entry."""
        return np.repeat(np.arange(self.offsets.size - 1), np.diff(self.offsets))

    @property
    def listed(self) -> Array:
        """The distinct edges in the order in which NetworkX lists them."""
        return self.edges if self.directed else self.edges[self.sources <= self.targets]

    def rows(self, nodes: list[Any]) -> Rows:
        """Return the rows with their nodes."""
        entry = np.empty(self.tails.size, np.int32)
        if self.directed:
            entry[self.edges] = np.arange(self.edges.size, dtype=np.int32)
            partner = entry[np.argsort(self.heads, kind="stable")]
        else:
            first = self.sources <= self.targets
            entry[self.edges[first]] = np.flatnonzero(first)
            partner = np.where(first, np.int32(-1), entry[self.edges])
        targets = self.targets.astype(np.int32)
        return Rows(nodes, self.offsets, targets, partner, self.directed, False)

    def last(self, values: Array) -> Array:
        """Return the last of the values that each edge was given, in the listed order."""
        held = np.empty((self.tails.size, *values.shape[1:]), values.dtype)
        held[self.number] = values
        return held[self.listed]


def add_edges(us: Array, vs: Array, count: int, directed: bool) -> Added:
    """Add edges to a graph of that many nodes; an edge that is there already stays in its place."""
    us, vs = us.astype(np.int64, copy=False), vs.astype(np.int64, copy=False)
    key = us * count + vs if directed else np.minimum(us, vs) * count + np.maximum(us, vs)
    _, first, number = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(order.size, np.int64)
    rank[order] = np.arange(order.size)
    us, vs = us[first[order]], vs[first[order]]
    if directed:
        tails, heads, edges = us, vs, np.arange(us.size)
    else:
        tails, heads = np.stack([us, vs], 1).ravel(), np.stack([vs, us], 1).ravel()
        edges = np.repeat(np.arange(us.size), 2)
        again = np.zeros(tails.size, np.bool_)
        again[1::2] = us == vs
        tails, heads, edges = tails[~again], heads[~again], edges[~again]
    by_row = np.argsort(tails, kind="stable")
    offsets = np.append(0, np.cumsum(np.bincount(tails, minlength=count)))
    return Added(us, vs, rank[number], offsets, heads[by_row], edges[by_row], directed)
