"""Strongly connected components: trim, colour forwards by aggregation, vote backwards.

A vertex without arcs from (or to) other vertices is a component by itself and is removed, which may
trim further vertices. The rest take the largest id that reaches them as their colour. A vertex
whose colour is its own id is the root of a component: all vertices of that colour from which it can
be reached. One vote decides that, since all messages agree there. The remaining vertices are
coloured again.

G. Slota, S. Rajamanickam, K. Madduri: BFS and coloring-based parallel algorithms for strongly
connected components and related problems (IPDPS 2014).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.acc.model import Program
from weft.algorithms.support.guarding import on_its_device
from weft.config import Config
from weft.engine.state import full
from weft.graph import Graph
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.ir.trace.proxies import send


def _trimming(along: str) -> Program:
    """Return the program that removes vertices without arcs from (along "in": to) the rest."""

    def count(v: Any) -> Any:
        v.left = v.gather(
            lambda u, e: fn.where(u.component < 0, 1, 0),
            monoids.sum,
            direction="in" if along == "out" else "out",
        )
        alone = (v.component < 0) & (v.left == 0)
        v.component = fn.where(alone, v.id, v.component)
        return alone

    def settle(v: Any) -> None:
        v.component = v.id

    return Program(
        fields={"component": full(-1, np.int64), "left": full(0, np.int64)},
        init=count,
        prepare=settle,
        compute=lambda u, v, e: -1,
        combine=monoids.sum,
        into="left",
        accept=lambda v: (v.component < 0) & (v.left > 0),
        active=lambda v: v.left == 0,
        along=along,
    )


TRIMS = (_trimming("out"), _trimming("in"))
COLOUR = Program(
    fields={"component": full(-1, np.int64), "colour": lambda v: fn.cast(v.id, np.int64)},
    compute=lambda u, v, e: send(u.colour, when=u.component < 0),
    combine=monoids.max,
    into="colour",
    accept=lambda v: v.component < 0,
)


def _roots(v: Any) -> Any:
    root = (v.component < 0) & (v.colour == v.id)
    v.component = fn.where(root, v.colour, v.component)
    return root


VOTE = Program(
    fields={"component": full(-1, np.int64), "colour": full(-1, np.int64)},
    init=_roots,
    compute=lambda u, v, e: send(u.colour, when=u.colour == v.colour),
    combine="vote",
    into="component",
    accept=lambda v: v.component < 0,
    along="in",
)


@on_its_device
def strong_components(g: Graph, *, config: Config | None = None) -> Any:
    """Return the smallest vertex of each vertex's strongly connected component.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 1, 2, 2, 3], [1, 2, 0, 3, 4])
    >>> weft.acc.strong_components(g).tolist()
    [0, 0, 0, 3, 4]
    """
    found: Any = g.topology.xp.full(g.num_vertices, -1, np.int64)
    for trim in TRIMS:
        found = trim.run(g, component=found, config=config).state.component
    while bool((found < 0).any()):
        colour = COLOUR.run(g, component=found, config=config).state.colour
        found = VOTE.run(g, component=found, colour=colour, config=config).state.component
    return _least_member(g, found)


def _least_member(g: Graph, component: Any) -> Any:
    """Return labels that are the smallest vertices of their components, in place of any."""
    xp, n = g.topology.xp, g.num_vertices
    order = xp.lexsort(xp.stack([xp.arange(n), component]))
    sorted_ = component[order]
    first = xp.flatnonzero(xp.concatenate([xp.ones(min(n, 1), bool), sorted_[1:] != sorted_[:-1]]))
    least = xp.empty(n, np.int64)
    least[component[order[first]]] = order[first]
    return least[component].astype(g.topology.index_dtype)
