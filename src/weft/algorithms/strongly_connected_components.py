"""Strongly connected components, and the graph of these components.

Method: three steps alternate on the vertices that have no component yet.

- *Trim*: a vertex without predecessors or without successors is a component by itself.
- *Pivot* (once): all vertices that both reach the vertex with the most paths through it and are
reached from it are one component, usually the largest by far.
- *Colour*: every vertex takes the smallest key of all vertices that reach it. A vertex that keeps
its own key is a root, and its component consists of the vertices of its colour that reach it.

If every edge has a reverse edge, these are the connected components. Keys are random, so about log
n rounds of colouring suffice. All steps are traversals of the graph and of its reverse: O((m + n)
log n) expected work.

S. Hong, N. Rodia, K. Olukotun: On fast parallel detection of strongly connected components (SCC)
in small-world graphs (SC 2013).
S. Orzan: On distributed verification and verified distribution (2004).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import weft
from weft.algorithms.connected_components import connected_components
from weft.algorithms.registry import BOTH, Fields, Needs, algorithm
from weft.arrays.reduce import any_true, count_true
from weft.ir.ops import INT64
from weft.topology.topology import Topology

Array = np.ndarray[Any, Any]

CHOSEN = -1  # the colour of the vertices that the pivot reaches
TRIMMED_AGAIN = 3  # rounds of trimming in both directions, at most


@weft.edge(
    into="before",
    reduce=weft.sum,
    accept=lambda v: v.component < 0,
    active=lambda v, old: v.before == 0,
)
def lose_predecessor(u: Any, v: Any, e: Any) -> Any:
    """Count u, which has a component, out of the predecessors of v."""
    return -1


@weft.edge(
    into="after",
    reduce=weft.sum,
    accept=lambda v: v.component < 0,
    active=lambda v, old: v.after == 0,
)
def lose_successor(u: Any, v: Any, e: Any) -> Any:
    """Count u, which has a component, out of the successors of v."""
    return -1


@weft.vertex
def settle(v: Any) -> None:
    """Make v a component by itself."""
    v.component = v.id


@weft.edge(into="color", reduce=weft.any, accept=lambda v: (v.color != CHOSEN) & (v.component < 0))
def reach(u: Any, v: Any, e: Any) -> Any:
    """Reach v from the pivot."""
    return u.color


@weft.vertex
def mix(v: Any) -> None:
    """Assign v a unique random key: 23 random bits above its number."""
    bits = weft.cast(weft.random_bits(0, v.id) >> 41, INT64)
    v.color = (bits << 40) | weft.cast(v.id, INT64)


@weft.edge(into="color", reduce=weft.min, accept=lambda v: v.component < 0)
def spread(u: Any, v: Any, e: Any) -> Any:
    """Pass the smallest key on to v."""
    return u.color


@weft.edge(into="component", reduce=weft.any, accept=lambda v: v.component < 0)
def collect(u: Any, v: Any, e: Any) -> Any:
    """Add v to the component of u if it has the same colour."""
    return weft.send(u.component, when=u.color == v.color)


@weft.vertex(on="all", order_free=True)
def find_least(v: Any) -> None:
    """Find the smallest vertex of each component."""
    v.least.at(v.component).min(weft.cast(v.id, weft.vertex_id))


@weft.vertex(on="all")
def name_by_least(v: Any) -> None:
    """Name the component of v after its smallest vertex."""
    v.component = v.least.at(v.component).load()


def _runs_both_ways(topology: Topology) -> bool:
    """Whether every arc of a directed graph has a reverse arc: rows then equal in-rows."""
    if topology.keep != "both":
        return False
    out, into = topology.adjacency("out"), topology.adjacency("in")
    pairs = (out.offsets, into.offsets), (out.targets, into.targets)
    return not any(any_true(ways[0] != ways[1]) for ways in pairs)


class Condensation(NamedTuple):
    """The graph of the strongly connected components, and the component number of every vertex."""

    graph: weft.Graph
    member: Array


class _Search:
    """The components of a directed graph found so far."""

    def __init__(self, g: weft.Graph, config: weft.Config | None) -> None:
        self.g, self.back, self.config = g, g.reverse(), config
        topology = g.topology
        self.xp, n = topology.xp, g.num_vertices
        self.state: weft.State = g.state(
            component=weft.full(-1, weft.vertex_id),
            least=weft.full(n, weft.vertex_id),
            color=weft.full(0),
            before=topology.in_degree.copy(),
            after=topology.out_degree.copy(),
        )
        # Components whose vertices are no longer counted by their successors and predecessors.
        self.told = {True: self.xp.zeros(n, bool), False: self.xp.zeros(n, bool)}

    def rest(self) -> Array:
        """Return the vertices without a component."""
        return self.xp.flatnonzero(self.state.component < 0)

    def trim(self) -> None:
        """Settle vertices without predecessors or successors among the rest, and so on."""
        state = self.state
        alone = (state.component < 0) & ((state.before == 0) | (state.after == 0))
        self.g.run(settle, state, self.g.frontier(alone), config=self.config)
        for _ in range(TRIMMED_AGAIN):
            for forward in (True, False):
                new = (state.component >= 0) & ~self.told[forward]
                if not count_true(new):
                    return
                g, lose = (self.g, lose_predecessor) if forward else (self.back, lose_successor)
                g.iterate([lose, settle], state, g.frontier(new), config=self.config)
                self.told[forward] = state.component >= 0

    def take_pivot(self) -> None:
        """Find the component of the vertex with most pairs of a predecessor and a successor."""
        state, xp = self.state, self.xp
        pairs = state.before.astype(np.float64) * state.after
        pivot = int(xp.where(state.component < 0, pairs, -1).argmax())
        state.color[pivot] = CHOSEN
        self.g.iterate(reach, state, [pivot], config=self.config)
        state.component[pivot] = pivot
        self.back.iterate(collect, state, [pivot], config=self.config)

    def color_rest(self) -> None:
        """Find the components of the roots of a colouring."""
        state = self.state
        rest = self.g.frontier(self.rest())
        self.g.run(mix, state, rest, config=self.config)
        own = state.color.copy()
        self.g.iterate(spread, state, rest, config=self.config)
        members = rest.items
        roots = members[state.color[members] == own[members]]
        state.component[roots] = roots
        self.back.iterate(collect, state, roots, config=self.config)


@algorithm(
    group="structure",
    summary="the strongly connected component of every vertex",
    column="component",
    reference=(
        "S. Hong, N. Rodia, K. Olukotun: On fast parallel detection of strongly connected "
        "components (SC 2013)"
    ),
    needs=Needs(
        BOTH,
        Fields(lambda i, w: 4 * i + 8, lambda i, w: i + 8, lambda i, w: i + 16, own=40),
        degrees=BOTH,
    ),
)
def strongly_connected_components(g: weft.Graph, *, config: weft.Config | None = None) -> Array:
    """Return the strongly connected component of every vertex: the smallest vertex id in it.

    Parameters
    ----------
    g
        A graph; in an undirected one these are the connected components.
    config
        How to run it.

    Returns
    -------
    ndarray
        One label per vertex, equal for vertices that can be reached from one another.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 1, 2, 2, 3, 4], [1, 2, 1, 3, 4, 3], num_vertices=6)
    >>> weft.strongly_connected_components(g).tolist()
    [0, 1, 1, 3, 3, 5]
    """
    if not g.directed or _runs_both_ways(g.topology):
        return connected_components(g, config=config)
    search = _Search(g, config)
    search.trim()
    if search.rest().size:
        search.take_pivot()
        search.trim()
    while search.rest().size:
        search.color_rest()
        search.trim()
    g.run([find_least, name_by_least], search.state, config=config)
    return search.state.component


@algorithm(
    group="structure",
    summary="the acyclic graph of the strongly connected components",
    per="result",
    reference=(
        "F. Harary, R. Norman, D. Cartwright: Structural models: an introduction to the theory of "
        "directed graphs (1965)"
    ),
    needs=Needs(
        BOTH,
        Fields(lambda i, w: 4 * i + 8, lambda i, w: i + 8, lambda i, w: i + 16, own=56),
        degrees=BOTH,
    ),
)
def condensation(g: weft.Graph, *, config: weft.Config | None = None) -> Condensation:
    """Return the graph in which every strongly connected component is one vertex.

    Parameters
    ----------
    g
        A directed graph.
    config
        How to run it.

    Returns
    -------
    Condensation
        ``graph``: the components, numbered in the order of their smallest vertices, with one edge
        from a component to another if g has such an edge; it has no cycle. ``member``: the
        component of every vertex.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 1, 2, 2, 3, 4], [1, 2, 1, 3, 4, 3])
    >>> graph, member = weft.condensation(g)
    >>> member.tolist(), graph.to_edges().src.tolist(), graph.to_edges().dst.tolist()
    ([0, 1, 1, 2, 2], [0, 1], [1, 2])
    """
    label = strongly_connected_components(g, config=config)
    topology = g.topology
    xp, n = topology.xp, g.num_vertices
    first = label == xp.arange(n, dtype=label.dtype)
    member = (xp.cumsum(first, dtype=label.dtype) - 1)[label]
    src, dst = topology.edge_endpoints()
    graph = weft.Graph.from_edges(
        member[src], member[dst], num_vertices=count_true(first), directed=g.directed,
        duplicates="first", self_loops="drop", index_dtype=topology.index_dtype,
        device=topology.device,
    )  # fmt: skip
    return Condensation(graph, member)
