"""Maximum matching of a bipartite graph.

Method: phases as in Hopcroft and Karp's. A greedy matching is the start. In a phase, alternating
trees grow from all free vertices of one side at once: over any edge to the other side, and over
matched edges back. A vertex of the other side belongs to the first tree that reaches it, so that
trees are disjoint; one whose tree reaches a free vertex stops growing. At the end of the phase all
these trees are augmented along their paths, each by one edge. The matching is maximum when no tree
reaches a free vertex. O(m) per phase, O(√n) phases in practice.

J. Hopcroft, R. Karp: An n^(5/2) algorithm for maximum matchings in bipartite graphs (SIAM J.
Computing 2, 1973).
A. Azad, A. Buluç, A. Pothen: Computing maximum cardinality matchings in parallel on bipartite
graphs via tree-grafting (IEEE TPDS 28, 2017).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.algorithms.bipartite_sets import bipartite_sets
from weft.algorithms.maximal_matching import maximal_matching
from weft.algorithms.registry import BOTH, Fields, Needs, algorithm
from weft.algorithms.support.simple import simple
from weft.arrays.checks import check_integer
from weft.config import Config
from weft.engine.state import State, full
from weft.graph import Graph
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.ir.trace.control import while_loop
from weft.ir.types import vertex_id
from weft.program import edge, vertex

Array = np.ndarray[Any, Any]


@edge(
    into=("parent", "root"), reduce=monoids.argmax, accept=lambda v: (v.parent < 0) & v.far,
)  # fmt: skip
def reach(u: Any, v: Any, e: Any) -> Any:
    """Reach v, on the other side, from u, which belongs to a tree."""
    return u.id, u.root


@vertex(order_free=True)
def look(v: Any) -> Any:
    """Note a free vertex for its tree, or hand the tree on to the vertex matched with v."""
    free = v.mate < 0
    v.leaf.at(v.root).max(fn.where(free, fn.cast(v.id, vertex_id), fn.cast(-1, vertex_id)))
    v.root.at(fn.where(free, v.id, fn.cast(v.mate, np.int64))).set(v.root)
    return ~free


@vertex(order_free=True)
def augment(v: Any) -> bool:
    """Swap the matched and the other edges of the path from the leaf of the tree to its root v."""

    def swap(far: Any, near: Any) -> Any:
        above = v.mate.at(near).load()
        v.mate.at(near).set(far)
        v.mate.at(far).set(near)
        after = fn.where(above >= 0, above, far)
        return above, fn.where(above >= 0, v.parent.at(after).load(), near)

    leaf = v.leaf.at(v.id).load()
    while_loop(lambda far, near: far >= 0, swap, leaf, v.parent.at(leaf).load())
    return False


@algorithm(
    group="matching",
    summary="a largest matching of a bipartite graph",
    directed="ignored",
    column="mate",
    reference=(
        "A. Azad, A. Buluç, A. Pothen: Computing maximum cardinality matchings in parallel (2017)"
    ),
    needs=Needs(
        BOTH, Fields(lambda i, w: 5 * i + 2, lambda i, w: 2 * i, lambda i, w: 4 * i, own=24),
        simple=True,
    ),
)  # fmt: skip
def bipartite_matching(g: Graph, *, seed: int = 0, config: Config | None = None) -> Array:
    """Return a matching with as many edges as possible of a bipartite graph.

    Parameters
    ----------
    g
        A bipartite graph; directed edges are taken to run both ways.
    seed
        Chooses the order in which the greedy matching at the start takes edges.
    config
        How to run it.

    Returns
    -------
    ndarray
        The vertex that each one is matched with, -1 for those that are free.

    Raises
    ------
    GraphError
        If the graph is not bipartite.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1, 2], [3, 4, 3, 4], directed=False)
    >>> int((weft.bipartite_matching(g) >= 0).sum()) // 2
    2
    """
    far = bipartite_sets(g, config=config) == 1
    plain, xp = simple(g), g.topology.xp
    mate = maximal_matching(plain, seed=check_integer("seed", seed, 0), config=config)
    nothing = full(-1, vertex_id)
    state = plain.state(mate=mate, far=far, parent=nothing, root=nothing, leaf=nothing)
    while True:
        free = xp.flatnonzero((state.mate < 0) & ~far)
        grown = _grow(plain, state, free, config)
        if not grown.size:
            return state.mate
        plain.run(augment, state, grown, config=config)


def _grow(g: Graph, state: State, free: Array, config: Config | None) -> Array:
    """Grow trees from free vertices; return those that reached a free vertex."""
    nothing = full(-1, vertex_id)
    state.parent, state.root, state.leaf = nothing, nothing, nothing
    state.root[free] = free
    near = free
    while near.size:
        reached = g.run(reach, state, near, config=config)
        passed = g.run(look, state, reached, config=config).members
        near = state.mate[passed]
        near = near[state.leaf[state.root[near]] < 0]  # trees that still grow
    return free[state.leaf[free] >= 0]
