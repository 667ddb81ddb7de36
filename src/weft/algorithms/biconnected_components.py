"""Biconnected components, articulation points and bridges.

Method: FAST-BCC. A breadth-first tree of every component is numbered in preorder, so that a subtree
is an interval [first(v), first(v) + size(v)). From the deepest level up, every vertex finds the
smallest and the largest number that non-tree edges reach from its subtree. The edge from v to its
parent p is a *fence* if none leaves the subtree of p:

    first(p) <= low(v)  and  high(v) < first(p) + size(p).

The tree edges that are no fences, and the other edges between vertices that are not ancestors of
one another, connect what belongs together: its connected components, each with the parent of its
topmost vertex, are the biconnected components. The edge from v to p is a bridge if nothing leads
out of the subtree of v. O(m) work; as many supersteps as the tree has levels.

X. Dong, L. Wang, Y. Gu, Y. Sun: Provably fast and space-efficient parallel biconnectivity (PPoPP
2023).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import weft
from weft.algorithms.bfs import discover
from weft.algorithms.connected_components import connected_components
from weft.algorithms.registry import Fields, Needs, algorithm
from weft.algorithms.support.simple import simple
from weft.arrays.distinct import distinct
from weft.topology.adjacency import count_keys

Array = np.ndarray[Any, Any]

NEEDS = Needs(
    ("out",), Fields(lambda i, w: 4 + 6 * i, lambda i, w: 2 * i, lambda i, w: 6 * i, own=64),
    simple=True, trail=True,
)  # fmt: skip
REFERENCE = "X. Dong et al.: Provably fast and space-efficient parallel biconnectivity (PPoPP 2023)"


@weft.vertex(order_free=True)
def add_size(v: Any) -> None:
    """Add the size of the subtree of v to that of its parent."""
    own = v.size.at(v.id).load()
    v.size.at(v.parent).add(weft.where(v.level > 0, own, weft.cast(0, weft.vertex_id)))


@weft.vertex(order_free=True)
def number(v: Any) -> None:
    """Assign v the next free interval of its parent; siblings may be in any order."""
    first = weft.where(
        v.level > 0, v.free.at(v.parent).add(weft.where(v.level > 0, v.size, 0)), v.first
    )
    v.first = first
    v.free.at(v.id).set(first + 1)


@weft.vertex
def look(v: Any) -> None:
    """Find the smallest and the largest number next to v, except along tree edges."""
    low, high = v.gather(
        lambda u, e: weft.send((u.first, u.first), when=(u.parent != v.id) & (v.parent != u.id)),
        (weft.min, weft.max),
        direction="out",
    )
    v.low, v.high = weft.minimum(low, v.first), weft.maximum(high, v.first)


@weft.vertex(order_free=True)
def pass_up(v: Any) -> None:
    """Pass the bounds of the subtree of v on to its parent."""
    low, high = v.low.at(v.id).load(), v.high.at(v.id).load()
    v.low.at(v.parent).min(low)
    v.high.at(v.parent).max(high)


class BiconnectedComponents(NamedTuple):
    """The biconnected component of every edge, and the vertices that lie in several."""

    component: Array
    articulation: Array


class _Blocks:
    """The biconnected components of a simple graph: one per vertex label, except of roots."""

    def __init__(self, g: weft.Graph, config: weft.Config | None) -> None:
        self.g, self.xp = simple(g), g.topology.xp
        self.state = _tree(self.g, config)
        state, xp = self.state, self.xp
        parent, first, size = state.parent, state.first, state.size
        top = (state.low >= first[parent]) & (state.high < (first + size)[parent])
        src, dst = self.g.topology.edge_endpoints()
        self.src, self.dst = src, dst
        in_tree = (parent[src] == dst) | (parent[dst] == src)
        child = xp.where(parent[dst] == src, dst, src)
        nested = self._contains(src, dst) | self._contains(dst, src)
        kept = xp.where(in_tree, ~top[child] & (state.level[parent[child]] > 0), ~nested)
        skeleton = weft.Graph.from_edges(
            src[kept], dst[kept], num_vertices=self.g.num_vertices, directed=False,
            index_dtype=g.topology.index_dtype, device=g.topology.device,
        )  # fmt: skip
        self.label = connected_components(skeleton, config=config)

    def _contains(self, a: Array, b: Array) -> Array:
        """Whether b lies in the subtree of a."""
        first, size = self.state.first, self.state.size
        return (first[a] <= first[b]) & (first[b] < first[a] + size[a])

    def of_edges(self, src: Array, dst: Array) -> Array:
        """Return the label of each edge: the label of its deeper end."""
        level = self.state.level
        return self.label[self.xp.where(level[src] > level[dst], src, dst)]

    def articulation(self) -> Array:
        """Return the vertices that are the top of one component and also belong to another."""
        state, xp = self.state, self.xp
        n = self.g.num_vertices
        below = state.level > 0
        leaves = below & (self.label[state.parent] != self.label) | (
            below & (state.level[state.parent] == 0)
        )
        member = xp.flatnonzero(leaves)
        # A component has one parent above it, so the pairs (parent, label) are its tops.
        keys = distinct(state.parent[member].astype(np.int64) * n + self.label[member])
        tops = count_keys(keys // max(n, 1), n)
        return tops >= xp.where(state.level == 0, 2, 1)


def _tree(g: weft.Graph, config: weft.Config | None) -> weft.State:
    """Return a breadth-first tree with intervals, and the bounds that each subtree reaches."""
    xp, n = g.topology.xp, g.num_vertices
    label = connected_components(g, config=config)
    roots = xp.flatnonzero(label == xp.arange(n, dtype=label.dtype))
    zero = weft.full(0, weft.vertex_id)
    state = g.state(
        level=weft.full(-1, np.int32),
        parent=weft.full(-1, weft.vertex_id),
        size=weft.full(1, weft.vertex_id),
        first=zero,
        free=zero,
        low=zero,
        high=zero,
    )
    state.level[roots], state.parent[roots] = 0, roots
    trail = list(g.iterate(discover, state, roots, trail=True, config=config).trail)
    g.replay(add_size, state, trail, config=config)
    state.first[roots] = xp.cumsum(state.size[roots]) - state.size[roots]
    g.replay(number, state, trail[::-1], config=config)
    g.run(look, state, config=config)
    g.replay(pass_up, state, trail, config=config)
    return state


@algorithm(
    group="structure",
    summary="the biconnected component of every edge",
    directed="ignored",
    per="result",
    reference=REFERENCE,
    needs=NEEDS,
)
def biconnected_components(
    g: weft.Graph, *, config: weft.Config | None = None
) -> BiconnectedComponents:
    """Return the biconnected component of every edge, and the articulation points.

    Two edges are in the same component if they lie on a common cycle.

    Parameters
    ----------
    g
        A graph. Parallel edges count as one, and directed edges are taken to run both ways.
    config
        How to run it.

    Returns
    -------
    BiconnectedComponents
        ``component``: for each edge in the order of `Graph.to_edges`, the number of the first edge
        of its component; -1 for self-loops. ``articulation``: whether each vertex belongs to more
        than one component, so that its removal disconnects some of its neighbours.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1, 2], [1, 2, 2, 3], directed=False)
    >>> found = weft.biconnected_components(g)
    >>> found.component.tolist(), found.articulation.tolist()
    ([0, 0, 0, 3], [False, False, True, False])
    """
    blocks, xp = _Blocks(g, config), g.topology.xp
    src, dst = g.topology.edge_endpoints()
    label = blocks.of_edges(src, dst)
    proper = src != dst
    _, first, place = xp.unique(label[proper], return_index=True, return_inverse=True)
    component = xp.full(src.size, -1, np.int64)
    component[proper] = xp.flatnonzero(proper)[first][place.ravel()]
    return BiconnectedComponents(component, blocks.articulation())


@algorithm(
    group="structure",
    summary="the vertices whose removal disconnects their component",
    directed="ignored",
    column="articulation",
    reference=REFERENCE,
    needs=NEEDS,
)
def articulation_points(g: weft.Graph, *, config: weft.Config | None = None) -> Array:
    """Return which vertices would disconnect some of their neighbours if they were removed.

    Parameters
    ----------
    g
        A graph; directed edges are taken to run both ways.
    config
        How to run it.

    Returns
    -------
    ndarray of bool

    Examples
    --------
    >>> import weft
    >>> weft.articulation_points(weft.generators.path(4)).tolist()
    [False, True, True, False]
    """
    return _Blocks(g, config).articulation()


@algorithm(
    group="structure",
    summary="the edges whose removal disconnects their component",
    directed="ignored",
    column="edge",
    per="result",
    reference=REFERENCE,
    needs=NEEDS,
)
def bridges(g: weft.Graph, *, config: weft.Config | None = None) -> Array:
    """Return the edges that lie on no cycle.

    Parameters
    ----------
    g
        A graph. Parallel edges are not bridges; directed edges are taken to run both ways.
    config
        How to run it.

    Returns
    -------
    ndarray of int64
        The numbers of the edges in the order of `Graph.to_edges`, ascending.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1, 2], [1, 2, 2, 3], directed=False)
    >>> weft.bridges(g).tolist()
    [3]
    """
    xp, state = g.topology.xp, _tree(simple(g), config)
    parent, end = state.parent, state.first + state.size
    alone = (state.level > 0) & (state.low >= state.first) & (state.high < end)
    src, dst = g.topology.edge_endpoints()
    edge = xp.flatnonzero(alone[src] | alone[dst])
    src, dst = src[edge], dst[edge]
    down, up = alone[dst] & (parent[dst] == src), alone[src] & (parent[src] == dst)
    edge, child = edge[down | up], xp.where(down, dst, src)[down | up]
    return edge[count_keys(child, g.num_vertices)[child] == 1]
