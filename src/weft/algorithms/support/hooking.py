"""Components by hooking and pointer jumping, without walks along chains of parents.

Every superstep sends the parents of vertices over all arcs, hooks the parent of each vertex to the
smallest one that arrived, and halves the chains of parents. Arcs are only swept, so they may be in
blocks, and state is only accessed at vertices (Y. Zhang, A. Azad, Z. Hu: FastSV: a
distributed-memory connected component algorithm with fast convergence, 2020).
"""

from __future__ import annotations

from typing import Any

import numpy as np

import weft

Array = np.ndarray[Any, Any]


@weft.edge(into="least", reduce=weft.min, on="all")
def offer(u: Any, v: Any, e: Any) -> Any:
    """Offer v the parent of u."""
    return u.parent


@weft.edge(into="least", reduce=weft.min, on="all", along="in")
def offer_back(u: Any, v: Any, e: Any) -> Any:
    """Offer the source of an edge the parent of its destination."""
    return u.parent


@weft.vertex(on="all", order_free=True)
def hook(v: Any) -> None:
    """Hook the parent of v under the smallest parent among its neighbours."""
    v.root.at(v.parent).min(v.least)
    v.root.at(v.id).min(v.least)


@weft.vertex(on="all")
def jump(v: Any) -> None:
    """Move v to the parent of its parent."""
    above = v.root.at(v.root.at(v.root.at(v.id).load()).load()).load()
    weft.reduce("moved", weft.cast(above != v.parent, np.int64), weft.sum)
    v.parent, v.least = above, above


@weft.vertex(on="all")
def settle(v: Any) -> None:
    """Make the parents that jumping found the input of the next hooking."""
    v.root = v.parent


def _is_settled(moved: Any) -> Any:
    return moved == 0


def hooked_components(g: weft.Graph, config: weft.Config | None) -> Array:
    """Return the smallest vertex of the component of every vertex."""
    own = weft.full(lambda v: v.id, weft.vertex_id)
    state = g.state(parent=own, root=own, least=own, moved=weft.scalar(1))
    offers = [offer, offer_back] if g.directed else [offer]
    if g.num_vertices:
        g.iterate([*offers, hook, jump, settle], state, until=_is_settled, config=config)
    return state.parent
