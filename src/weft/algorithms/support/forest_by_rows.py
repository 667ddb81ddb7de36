"""Borůvka's rounds over vertices, where rows are long.

In each round every vertex looks for its lightest edge to another component, every component takes
the lightest of its vertices, and components joined by a chosen edge become one. Rows are read in
order, and vertices without edges to other components drop out with all of theirs. Once a component
has a good part of all arcs, its vertices drop out too: the others join it by edges of their own.
"""

from __future__ import annotations

import functools
from typing import Any, Final

import numpy as np

import weft
from weft.algorithms.support.edge_ranks import NONE, Ranks, rank_of
from weft.arrays.device import to_host

Array = np.ndarray[Any, Any]


GIANT: Final = 8  # a component is given up to the others' choice if it has one in so many arcs
SAMPLES: Final = 1024


@functools.cache
def choosing(kind: str, direction: str, first: bool) -> Any:
    """Return the vertex function that finds the lightest edge to another component.

    At first every vertex is a component of its own.
    """

    def rank(e: Any) -> Any:
        if kind == "number":
            return rank_of(kind, None, e.id)
        return rank_of(kind, e.rank_of_edge if kind == "sorted" else e.weight, e.id)

    @weft.vertex(order_free=True)
    def choose(v: Any) -> Any:
        def offer(u: Any, e: Any) -> Any:
            there, here = (u.id, v.id) if first else (u.component, v.component)
            return weft.send((rank(e), weft.cast(there, weft.vertex_id)), when=there != here)

        least, other = v.gather(offer, weft.argmin, direction=direction)
        v.rank, v.other = least, other
        v.best.at(v.component).min(least)
        return least < NONE

    return choose


@weft.vertex
def is_chosen(v: Any) -> Any:
    """Whether the edge of v is the lightest of its component."""
    return v.rank == v.best.at(v.component).load()


@weft.vertex(order_free=True)
def hook(v: Any) -> None:
    """Hook the component of v under the other one, unless that hooks itself under this.

    It does so once, so that the edge has a place of its own.
    """
    mutual = v.best.at(v.other).load() == v.rank
    stays = mutual & (v.component < v.other)
    v.parent.at(v.component).set(weft.where(stays, v.component, v.other))
    v.taken.at(v.component).set(weft.where(stays, NONE, v.rank))


@weft.vertex(on="all")
def climb(v: Any) -> None:
    """Move v to the root of its component."""
    parent = v.parent
    root, _ = weft.while_loop(
        lambda x, above: x != above,
        lambda x, above: (above, parent.at(above).load()),
        v.component,
        parent.at(v.component).load(),
    )
    v.component = root


@weft.vertex
def is_outside(v: Any, giant: Any) -> Any:
    """Whether v is in another component than a vertex of the giant one."""
    return v.component != v.component.at(giant).load()


def forest_by_rows(g: weft.Graph, ranks: Ranks, config: weft.Config | None) -> Array:
    """Return the edges of the forest, in order."""
    if ranks.kind == "sorted" and ranks.values is not None:
        g = weft.Graph(g.topology, edge={"rank_of_edge": ranks.values}, order=g.order)
    identity = weft.full(lambda v: v.id, weft.vertex_id)
    state = g.state(
        component=identity,
        parent=identity,
        other=weft.full(-1, weft.vertex_id),
        rank=weft.full(NONE),
        best=weft.full(NONE),
        taken=weft.full(NONE),
        giant=weft.scalar(-1),
    )
    direction = "both" if g.directed else "in"
    frontier = g.run(choosing(ranks.kind, direction, True), state, config=config)
    while len(frontier):
        g.run([is_chosen, hook, climb], state, frontier, config=config)
        state.best = weft.full(NONE)
        if int(state.giant) < 0:
            state.giant = _giant(g, state.component)
        if int(state.giant) >= 0:
            frontier = g.run(is_outside, state, frontier, config=config)
        frontier = g.run(choosing(ranks.kind, direction, False), state, frontier, config=config)
    taken = state.taken
    return g.topology.xp.sort(ranks.edges(taken[taken < NONE]))


def _giant(g: weft.Graph, component: Array) -> int:
    """Return a vertex of the component with most arcs, by a sample; -1 if none has many."""
    ends = g.topology.adjacency(g.topology.primary_direction).targets
    sample = component[ends[:: max(1, ends.size // SAMPLES)]]
    names, counts = np.unique(to_host(sample), return_counts=True)
    most = int(counts.argmax())
    return int(names[most]) if counts[most] * GIANT >= sample.size else -1
