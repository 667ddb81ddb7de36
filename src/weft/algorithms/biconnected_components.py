"""Biconnected components, articulation points and bridges.

Method: FAST-BCC. A breadth-first tree of every component is numbered in preorder, so that a subtree
is an interval [first(v), first(v) + size(v)). Up the levels, every vertex learns the least and the
greatest number that an edge which is not of the tree leads to from its subtree. The edge from v to
its parent p is a *fence* if none leads out of the subtree of p:

    first(p) <= low(v)  and  high(v) < first(p) + size(p).

The tree edges that are no fences, and the other edges between vertices that are not ancestors of
one another, connect what belongs together: its connected components, each with the parent of its
topmost vertex, are the biconnected components. O(m) work; supersteps as the depth of the tree.

X. Dong, L. Wang, Y. Gu, Y. Sun: Provably fast and space-efficient parallel biconnectivity (PPoPP
2023).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from weft.algorithms.bfs import discover
from weft.algorithms.connected_components import connected_components
from weft.algorithms.registry import Fields, Needs, algorithm
from weft.algorithms.support.simple import simple
from weft.arrays.distinct import distinct
from weft.config import Config
from weft.engine.state import State, full
from weft.graph import Graph
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.ir.trace.proxies import send
from weft.ir.types import vertex_id
from weft.program import vertex
from weft.topology.adjacency import count_keys

Array = np.ndarray[Any, Any]

NEEDS = Needs(
    ("out",), Fields(lambda i, w: 4 + 6 * i, lambda i, w: 2 * i, lambda i, w: 6 * i, own=64),
    simple=True, trail=True,
)  # fmt: skip
REFERENCE = "X. Dong et al.: Provably fast and space-efficient parallel biconnectivity (PPoPP 2023)"


@vertex(order_free=True)
def add_size(v: Any) -> None:
    """Add the size of the subtree of v to that of its parent."""
    own = v.size.at(v.id).load()
    v.size.at(v.parent).add(fn.where(v.level > 0, own, fn.cast(0, vertex_id)))


@vertex(order_free=True)
def number(v: Any) -> None:
    """Give v the next free interval of its parent; any order of siblings will do."""
    first = fn.where(
        v.level > 0, v.free.at(v.parent).add(fn.where(v.level > 0, v.size, 0)), v.first
    )
    v.first = first
    v.free.at(v.id).set(first + 1)


@vertex
def look(v: Any) -> None:
    """Find the least and the greatest number next to v, but for its edges of the tree."""
    low, high = v.gather(
        lambda u, e: send((u.first, u.first), when=(u.parent != v.id) & (v.parent != u.id)),
        (monoids.min, monoids.max),
        direction="out",
    )
    v.low, v.high = fn.minimum(low, v.first), fn.maximum(high, v.first)


@vertex(order_free=True)
def pass_up(v: Any) -> None:
    """Pass what was found in the subtree of v on to its parent."""
    low, high = v.low.at(v.id).load(), v.high.at(v.id).load()
    v.low.at(v.parent).min(low)
    v.high.at(v.parent).max(high)


class BiconnectedComponents(NamedTuple):
    """The biconnected component of every edge, and the vertices that lie in several."""

    component: Array
    articulation: Array


class _Blocks:
    """The biconnected components of a simple graph: one for each label of a vertex but roots."""

    def __init__(self, g: Graph, config: Config | None) -> None:
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
        skeleton = Graph.from_edges(
            src[kept], dst[kept], num_vertices=self.g.num_vertices, directed=False,
            index_dtype=g.topology.index_dtype, device=g.topology.device,
        )  # fmt: skip
        self.label = connected_components(skeleton, config=config)

    def _contains(self, a: Array, b: Array) -> Array:
        """Whether b lies in the subtree of a."""
        first, size = self.state.first, self.state.size
        return (first[a] <= first[b]) & (first[b] < first[a] + size[a])

    def of_edges(self, src: Array, dst: Array) -> Array:
        """Return the label of each edge: that of its end on the deeper level."""
        level = self.state.level
        return self.label[self.xp.where(level[src] > level[dst], src, dst)]

    def articulation(self) -> Array:
        """Return the vertices that are the top of a component and belong to another one too."""
        state, xp = self.state, self.xp
        n = self.g.num_vertices
        below = state.level > 0
        leaves = below & (self.label[state.parent] != self.label) | (
            below & (state.level[state.parent] == 0)
        )
        member = xp.flatnonzero(leaves)
        # A component hangs below one parent, so that the pairs (parent, label) are its tops.
        keys = distinct(state.parent[member].astype(np.int64) * n + self.label[member])
        tops = count_keys(keys // max(n, 1), n)
        return tops >= xp.where(state.level == 0, 2, 1)


def _tree(g: Graph, config: Config | None) -> State:
    """Return a breadth-first tree with intervals, and what each subtree leads to."""
    xp, n = g.topology.xp, g.num_vertices
    label = connected_components(g, config=config)
    roots = xp.flatnonzero(label == xp.arange(n, dtype=label.dtype))
    zero = full(0, vertex_id)
    state = g.state(
        level=full(-1, np.int32), parent=full(-1, vertex_id), size=full(1, vertex_id),
        first=zero, free=zero, low=zero, high=zero,
    )  # fmt: skip
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
def biconnected_components(g: Graph, *, config: Config | None = None) -> BiconnectedComponents:
    """Return the biconnected component of every edge, and the articulation points.

    Two edges are in the same component if they lie on a common cycle.

    Parameters
    ----------
    g
        A graph. Parallel edges are one, and directed edges are taken to run both ways.
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
def articulation_points(g: Graph, *, config: Config | None = None) -> Array:
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
def bridges(g: Graph, *, config: Config | None = None) -> Array:
    """Return the edges that lie on no cycle.

    Parameters
    ----------
    g
        A graph. Edges with parallel ones are no bridges; directed edges are taken to run both ways.
    config
        How to run it.

    Returns
    -------
    ndarray of int64
        The numbers of the edges in the order of `Graph.to_edges`, rising.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1, 2], [1, 2, 2, 3], directed=False)
    >>> weft.bridges(g).tolist()
    [3]
    """
    blocks, xp = _Blocks(g, config), g.topology.xp
    src, dst = g.topology.edge_endpoints()
    label = xp.where(src != dst, blocks.of_edges(src, dst), g.num_vertices)
    held = count_keys(label, g.num_vertices + 1)
    held[-1] = 0
    return xp.flatnonzero(held[label] == 1)
