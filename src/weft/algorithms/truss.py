"""Trusses: subgraphs whose edges all close many triangles.

Method: peeling. The support of an edge is the number of its triangles. Edges whose support is at
most k - 2 are removed, all at once, with truss number k, until there are none; then k rises to the
smallest remaining support plus 2. A triangle that loses an edge in a round lowers the support of
its remaining edges; if it loses two, the one with the smaller number does so. Supports are counted
once over oriented edges, O(m^1.5); each edge is removed once, in O(d(u) + d(v)).

J. Cohen: Trusses: cohesive subgraphs for social network analysis (2008).
H. Kabir, K. Madduri: Parallel k-truss decomposition on multicore systems (HPEC 2017).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import weft
from weft.algorithms.registry import Fields, Needs, algorithm
from weft.algorithms.support.carrier import carrier
from weft.algorithms.support.simple import simple
from weft.algorithms.support.simple_edges import pair_numbers
from weft.algorithms.triangle_list import supports
from weft.arrays.checks import check_integer

Array = np.ndarray[Any, Any]

STAYS: Final = np.iinfo(np.int64).max  # the round of remaining edges
REFERENCE = "H. Kabir, K. Madduri: Parallel k-truss decomposition on multicore systems (HPEC 2017)"
NEEDS = Needs(("out",), Fields(own=200), simple=True, oriented=True)


@weft.vertex
def take_away(v: Any, floor: Any) -> None:
    """Settle the truss number of the edge v."""
    v.truss = floor + 2
    v.turn = weft.cast(weft.superstep(), np.int64)


@weft.vertex(order_free=True)
def lower(v: Any) -> bool:
    """Lower the support of the edges that lose a triangle with the edge v."""

    def lose(w: Any, ea: Any, eb: Any) -> Any:
        a, b = ea.edge, eb.edge
        turn_a, turn_b = v.turn.at(a).load(), v.turn.at(b).load()
        whole = (turn_a >= v.turn) & (turn_b >= v.turn)
        from_a = whole & (turn_a > v.turn) & ((turn_b > v.turn) | (v.edge < b))
        from_b = whole & (turn_b > v.turn) & ((turn_a > v.turn) | (v.edge < a))
        v.support.at(a).add(weft.where(from_a, weft.cast(-1, np.int64), 0))
        v.support.at(b).add(weft.where(from_b, weft.cast(-1, np.int64), 0))
        return weft.cast(1, np.int64)

    v.seen = weft.common(v.a, v.b, lose, weft.sum)
    return False


@weft.vertex
def find_least(v: Any) -> None:
    """Find the smallest remaining support; a larger one than before starts a new k."""
    support = weft.where(v.turn == STAYS, weft.maximum(v.support, 0), STAYS)
    weft.reduce("lowest", support, weft.min)


@weft.vertex(on="all")
def is_due(v: Any, lowest: Any, floor: Any) -> Any:
    """Whether the edge v is removed next."""
    weft.reduce("floor", weft.maximum(lowest, floor), weft.max)
    return (v.turn == STAYS) & (v.support <= weft.maximum(lowest, floor))


@algorithm(
    group="structure",
    summary="the largest k of a k-truss that holds each edge",
    directed="ignored",
    column="truss",
    per="result",
    reference=REFERENCE,
    needs=NEEDS,
)
def truss_number(g: weft.Graph, *, config: weft.Config | None = None) -> Array:
    """Return the truss number of every edge.

    Parameters
    ----------
    g
        A graph. Parallel edges count once and have the same number, and directed edges are taken to
        run both ways.
    config
        How to run it.

    Returns
    -------
    ndarray of int64
        One number per edge, in the order of `Graph.to_edges`: the largest k such that the edge
        belongs to a subgraph in which every edge is in at least k - 2 triangles; at least 2, and 0
        for self-loops.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1, 2], [1, 2, 2, 3], directed=False)
    >>> weft.truss_number(g).tolist()
    [3, 3, 3, 2]
    """
    plain, xp = simple(g), g.topology.xp
    number = pair_numbers(g, plain)
    if not plain.num_edges:
        return xp.zeros(number.size, np.int64)
    return xp.where(number >= 0, _peeled(plain, config)[xp.maximum(number, 0)], 0)


def _peeled(plain: weft.Graph, config: weft.Config | None) -> Array:
    """Return the truss number of each edge of a simple graph."""
    xp, count = plain.topology.xp, plain.num_edges
    numbered = weft.Graph(plain.topology, edge={"edge": xp.arange(count)})
    held = carrier(numbered, count, "edge")
    src, dst = plain.topology.edge_endpoints()
    state = held.state(
        a=weft.full(0, weft.vertex_id),
        b=weft.full(0, weft.vertex_id),
        edge=weft.full(lambda v: v.id, np.int64),
        support=weft.full(0),
        turn=weft.full(-1),
        truss=weft.full(0),
        seen=weft.full(0),
        lowest=weft.scalar(0),
        floor=weft.scalar(0),
    )
    state.a[:count], state.b[:count] = src, dst
    state.support[:count], state.turn[:count] = supports(plain, config), STAYS
    held.iterate([take_away, lower], state, [], refill=[find_least, is_due], config=config)
    return state.truss[:count]


@algorithm(
    group="structure",
    summary="the subgraph of the edges that keep k - 2 triangles",
    directed="ignored",
    per="result",
    reference=REFERENCE,
    needs=NEEDS,
)
def k_truss(
    g: weft.Graph, k: int | None = None, *, config: weft.Config | None = None
) -> weft.Graph:
    """Return the largest subgraph in which every edge is in at least k - 2 triangles.

    Parameters
    ----------
    g
        A graph. To find the truss, parallel edges count once, and directed edges are taken to run
        both ways.
    k
        The number of triangles plus 2; by default the largest that has a truss.
    config
        How to run it.

    Returns
    -------
    Graph
        The edges of the truss and the vertices that they join, with the columns and labels of g, as
        `Graph.subgraph` returns it; without self-loops.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1, 2], [1, 2, 2, 3], directed=False)
    >>> weft.k_truss(g, 3).num_vertices
    3
    """
    truss, xp = truss_number(g, config=config), g.topology.xp
    if k is None:
        k = int(truss.max()) if truss.size else 2
    kept = truss >= max(check_integer("k", k, 0), 2)
    src, dst = g.topology.edge_endpoints()
    inside = xp.zeros(g.num_vertices, bool)
    inside[src[kept]] = inside[dst[kept]] = True
    # Parallel edges have the same number, so all edges of a pair stay or go together.
    return g.remove_edges(src[~kept], dst[~kept], missing="ignore").subgraph(inside)
