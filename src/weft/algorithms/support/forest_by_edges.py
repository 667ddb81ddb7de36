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

from weft.algorithms.support.edge_ranks import NONE, Ranks, rank_of
from weft.config import Config
from weft.engine.state import full
from weft.graph import Graph
from weft.ir.trace import functions as fn
from weft.ir.types import vertex_id
from weft.program import vertex
from weft.topology.adjacency import Adjacency, index_dtype_for
from weft.topology.topology import Topology

Array = np.ndarray[Any, Any]


def _root(parent: Any, x: Any) -> Any:
    """Return the root above x; who comes this way later climbs less."""

    def climb(x: Any, above: Any) -> Any:
        higher = parent.at(above).load()
        parent.at(x).set(higher)
        return above, higher

    root, _ = fn.while_loop(lambda x, above: x != above, climb, x, parent.at(x).load())
    return root


def _if(condition: Any, then: Callable[[], Any]) -> None:
    """Do something to a field where a condition holds."""

    def once(_: Any) -> None:
        then()

    fn.for_range(0, fn.where(condition, 1, 0), once)


@functools.cache
def round_of(kind: str) -> list[Any]:
    """Return the steps of a round, over the edges that may still join two components."""

    def rank(v: Any) -> Any:
        return rank_of(kind, None if kind == "number" else v.weight, v.id)

    @vertex(order_free=True)
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

    @vertex(order_free=True)
    def hook(v: Any) -> bool:
        """Hook the component that took the edge v under the other one.

        Where both took it, it is the best of the root that stays, which is free to choose again:
        no other edge has that rank, so that it does not matter who sees it.
        """
        a, b, own = v.a, v.b, rank(v)
        by_a = v.best.at(a).load() == own
        by_b = v.best.at(b).load() == own
        low, high = fn.minimum(a, b), fn.maximum(a, b)
        both = by_a & by_b
        below = fn.where(both, high, fn.where(by_a, a, b))
        above = fn.where(both, low, fn.where(by_a, b, a))

        _if(by_a | by_b, lambda: v.parent.at(below).set(above))
        _if(both, lambda: v.best.at(above).set(NONE))
        v.taken = v.taken | by_a | by_b
        return True

    return [offer, hook]


def forest_by_edges(g: Graph, ranks: Ranks, config: Config | None) -> Array:
    """Return for each edge whether it is in the forest."""
    topology, count = g.topology, g.num_edges
    held = _items(topology, max(count, g.num_vertices))
    state = held.state(
        a=full(0, vertex_id), b=full(0, vertex_id), parent=full(lambda v: v.id, vertex_id),
        best=full(NONE), taken=full(False),
        **({} if ranks.values is None else {"weight": full(0, ranks.values.dtype)}),
    )  # fmt: skip
    state.a[:count], state.b[:count] = topology.edge_endpoints()
    if ranks.values is not None:
        state.weight[:count] = ranks.values
    held.iterate(round_of(ranks.kind), state, config=config)
    taken: Array = state.taken[:count]
    return taken


def _items(topology: Topology, count: int) -> Graph:
    """Return a graph of so many vertices and no edges, on the same device."""
    kind = index_dtype_for(count, topology.index_dtype)
    rows = Adjacency(topology.xp.zeros(count + 1, np.int64), topology.xp.zeros(0, kind))
    return Graph(Topology.from_sorted(rows, directed=True, keep="out", device=topology.device))
