"""Maximum matching of a bipartite graph.

Method: phases as in Hopcroft and Karp's. A greedy matching is the start, of edges between vertices
of few neighbours first, which leaves one vertex in a hundred to the phases. In a phase, alternating
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

import weft
from weft.algorithms.bipartite_sets import bipartite_sets
from weft.algorithms.maximal_matching import matched
from weft.algorithms.registry import BOTH, Fields, Needs, algorithm
from weft.algorithms.support.simple import simple
from weft.arrays.checks import check_integer

Array = np.ndarray[Any, Any]


@weft.edge(
    into=("parent", "root"), reduce=weft.argmax, accept=lambda v: (v.parent < 0) & v.far,
)  # fmt: skip
def reach(u: Any, v: Any, e: Any) -> Any:
    """Reach v, on the other side, from u, which belongs to a tree."""
    return u.id, u.root


@weft.vertex(order_free=True)
def look(v: Any) -> bool:
    """Note a free vertex for its tree, or hand the tree on to the vertex matched with v."""
    free = v.mate < 0
    v.leaf.at(v.root).max(
        weft.where(free, weft.cast(v.id, weft.vertex_id), weft.cast(-1, weft.vertex_id))
    )
    next_ = weft.where(free, v.id, weft.cast(v.mate, np.int64))
    v.root.at(next_).set(v.root)
    v.handed.at(next_).set(~free)
    return True


@weft.vertex(on="all")
def grows(v: Any) -> Any:
    """Whether v was handed a tree that has not reached a free vertex."""
    handed = v.handed
    v.handed = False
    v.changed = handed & (v.leaf.at(weft.where(handed, v.root, v.id)).load() < 0)


@weft.vertex(order_free=True)
def augment(v: Any) -> bool:
    """Swap the matched and the other edges of the path from the leaf of the tree to its root v."""

    def swap(far: Any, near: Any) -> Any:
        above = v.mate.at(near).load()
        v.mate.at(near).set(far)
        v.mate.at(far).set(near)
        after = weft.where(above >= 0, above, far)
        return above, weft.where(above >= 0, v.parent.at(after).load(), near)

    leaf = v.leaf.at(v.id).load()
    weft.while_loop(lambda far, near: far >= 0, swap, leaf, v.parent.at(leaf).load())
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
        BOTH, Fields(lambda i, w: 5 * i + 3, lambda i, w: 2 * i, lambda i, w: 4 * i, own=24),
        simple=True,
    ),
)  # fmt: skip
def bipartite_matching(g: weft.Graph, *, seed: int = 0, config: weft.Config | None = None) -> Array:
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
    mate = matched(plain, "degrees", check_integer("seed", seed, 0), config)
    nothing = weft.full(-1, weft.vertex_id)
    state = plain.state(
        mate=mate, far=far, parent=nothing, root=nothing, leaf=nothing, handed=weft.full(False)
    )
    while True:
        free = xp.flatnonzero((state.mate < 0) & ~far)
        grown = _grow(plain, state, free, config)
        if not grown.size:
            return state.mate
        plain.run(augment, state, grown, config=config)


def _grow(g: weft.Graph, state: weft.State, free: Array, config: weft.Config | None) -> Array:
    """Grow trees from free vertices; return those that reached a free vertex."""
    nothing = weft.full(-1, weft.vertex_id)
    state.parent, state.root, state.leaf = nothing, nothing, nothing
    state.root[free] = free
    g.iterate([reach, look, grows], state, free, config=config)
    return free[state.leaf[free] >= 0]
