"""Borůvka's rounds over vertices, where rows are long.

In each round every vertex looks for its lightest edge to another component, every component takes
the lightest of its vertices, and components joined by a chosen edge become one. Rows are read in
order, and vertices without edges to other components drop out with all of theirs.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from weft.algorithms.support.edge_ranks import NONE, Ranks, rank_of
from weft.config import Config
from weft.engine.state import State, full
from weft.graph import Graph
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.ir.trace.proxies import send
from weft.ir.types import vertex_id
from weft.program import vertex

Array = np.ndarray[Any, Any]


@functools.cache
def choosing(kind: str, direction: str) -> Any:
    """Return the vertex function that finds the lightest edge to another component."""

    def rank(e: Any) -> Any:
        if kind == "number":
            return rank_of(kind, None, e.id)
        return rank_of(kind, e.rank_of_edge if kind == "sorted" else e.weight, e.id)

    @vertex(order_free=True)
    def choose(v: Any) -> Any:
        least, other = v.gather(
            lambda u, e: send((rank(e), u.component), when=u.component != v.component),
            monoids.argmin,
            direction=direction,
        )
        v.rank, v.other = least, other
        v.best.at(v.component).min(least)
        return least < NONE

    return choose


@vertex
def is_chosen(v: Any) -> Any:
    """Whether the edge of v is the lightest of its component."""
    return v.rank == v.best.at(v.component).load()


@vertex(order_free=True)
def hook(v: Any) -> None:
    """Hook the component of v under the other one, unless that hooks itself under this."""
    mutual = v.best.at(v.other).load() == v.rank
    stays = mutual & (v.component < v.other)
    v.parent.at(v.component).set(fn.where(stays, v.component, v.other))


@vertex(on="all")
def climb(v: Any) -> None:
    """Move v to the root of its component."""
    parent = v.parent
    root, _ = fn.while_loop(
        lambda x, above: x != above,
        lambda x, above: (above, parent.at(above).load()),
        v.component,
        parent.at(v.component).load(),
    )
    v.component = root


def forest_by_rows(g: Graph, ranks: Ranks, config: Config | None) -> Array:
    """Return for each edge whether it is in the forest."""
    if ranks.kind == "sorted" and ranks.values is not None:
        g = Graph(g.topology, edge={"rank_of_edge": ranks.values}, order=g.order)
    identity = full(lambda v: v.id, vertex_id)
    state = g.state(
        component=identity, parent=identity, other=full(-1, vertex_id), rank=full(NONE),
        best=full(NONE),
    )  # fmt: skip
    choose = choosing(ranks.kind, "both" if g.directed else "in")
    taken = g.topology.xp.zeros(g.num_edges, bool)
    frontier: Any = None
    while True:
        frontier = g.run(choose, state, frontier, config=config)
        if not len(frontier):
            return taken
        best = state.best
        taken[ranks.edges(best[best < NONE])] = True
        _merge(g, state, frontier, config)


def _merge(g: Graph, state: State, frontier: Any, config: Config | None) -> None:
    """Join the components along the chosen edges."""
    g.run([is_chosen, hook, climb], state, frontier, config=config)
    state.best = full(NONE)
