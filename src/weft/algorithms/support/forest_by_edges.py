"""Borůvka's rounds over a list of edges, where rows are short.

In each round every edge looks for the components of its ends; one that joins two is offered to
both. Each component takes the lightest it was offered and hooks itself under the other. Edges
within a component drop out, so that late rounds look at few.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import weft
from weft.algorithms.support.edge_ranks import NONE, Ranks, rank_of
from weft.topology.adjacency import Adjacency, index_dtype_for
from weft.topology.topology import Topology

Array = np.ndarray[Any, Any]


def _root(parent: Any, x: Any) -> Any:
    """Return the root above x, shortening the path for later climbs."""

    def climb(x: Any, above: Any) -> Any:
        higher = parent.at(above).load()
        parent.at(x).set(higher)
        return above, higher

    root, _ = weft.while_loop(lambda x, above: x != above, climb, x, parent.at(x).load())
    return root


def _if(condition: Any, then: Callable[[], Any]) -> None:
    """Do something to a field where a condition holds."""

    def once(_: Any) -> None:
        then()

    weft.for_range(0, weft.where(condition, 1, 0), once)


@functools.cache
def round_of(kind: str) -> list[Any]:
    """Return the steps of a round, over the edges that may still join two components."""

    def rank(v: Any) -> Any:
        return rank_of(kind, None if kind == "number" else v.weight, v.id)

    @weft.vertex(order_free=True)
    def offer(v: Any) -> Any:
        """Offer the edge v to the components of its ends, unless that is one."""
        a, b = _root(v.parent, v.a), _root(v.parent, v.b)
        v.a, v.b = a, b
        own = rank(v)
        joins = a != b
        for end in (a, b):  # most offers to a large component are no better than one before
            better = joins & (own < v.best.at(end).load())
            _if(better, functools.partial(lambda end: v.best.at(end).min(own), end))
        return joins

    @weft.vertex(order_free=True)
    def hook(v: Any) -> bool:
        """Hook the component that took the edge v under the other one.

        If both took it, it is the best edge of the remaining root, which may choose again: no other
        edge has that rank, so either component may see it.
        """
        a, b, own = v.a, v.b, rank(v)
        by_a = v.best.at(a).load() == own
        by_b = v.best.at(b).load() == own
        low, high = weft.minimum(a, b), weft.maximum(a, b)
        both = by_a & by_b
        below = weft.where(both, high, weft.where(by_a, a, b))
        above = weft.where(both, low, weft.where(by_a, b, a))

        _if(by_a | by_b, lambda: v.parent.at(below).set(above))
        _if(both, lambda: v.best.at(above).set(NONE))
        v.taken = v.taken | by_a | by_b
        return True

    return [offer, hook]


def forest_by_edges(g: weft.Graph, ranks: Ranks, config: weft.Config | None) -> Array:
    """Return the edges of the forest, in order."""
    topology, count = g.topology, g.num_edges
    held = _items(topology, max(count, g.num_vertices))
    state = held.state(
        a=weft.full(0, weft.vertex_id),
        b=weft.full(0, weft.vertex_id),
        parent=weft.full(lambda v: v.id, weft.vertex_id),
        best=weft.full(NONE),
        taken=weft.full(False),
        **({} if ranks.values is None else {"weight": weft.full(0, ranks.values.dtype)}),
    )
    state.a[:count], state.b[:count] = topology.edge_endpoints()
    if ranks.values is not None:
        state.weight[:count] = ranks.values
    held.iterate(round_of(ranks.kind), state, config=config)
    return topology.xp.flatnonzero(state.taken[:count])


def _items(topology: Topology, count: int) -> weft.Graph:
    """Return a graph of so many vertices and no edges, on the same device."""
    kind = index_dtype_for(count, topology.index_dtype)
    rows = Adjacency(topology.xp.zeros(count + 1, np.int64), topology.xp.zeros(0, kind))
    return weft.Graph(Topology.from_sorted(rows, directed=True, keep="out", device=topology.device))
