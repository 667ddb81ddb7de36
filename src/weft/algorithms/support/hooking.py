"""Components by hooking, looking and jumping, without walks along chains of parents.

Every superstep sends the parents of vertices over all arcs, hooks the parent of each vertex to the
least one that arrived, and halves the chains of parents. Arcs are only swept, so that they may lie
in blocks, and state is only read and written at vertices (Y. Zhang, A. Azad, Z. Hu: FastSV: a
distributed-memory connected component algorithm with fast convergence, 2020).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.config import Config
from weft.engine.state import full, scalar
from weft.graph import Graph
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.ir.types import vertex_id
from weft.program import edge, vertex

Array = np.ndarray[Any, Any]


@edge(into="least", reduce=monoids.min, on="all")
def offer(u: Any, v: Any, e: Any) -> Any:
    """Offer v the parent of u."""
    return u.parent


@edge(into="least", reduce=monoids.min, on="all", along="in")
def offer_back(u: Any, v: Any, e: Any) -> Any:
    """Offer the source of an edge the parent of its destination."""
    return u.parent


@vertex(on="all", order_free=True)
def hook(v: Any) -> None:
    """Hang the parent of v under the least parent among its neighbours."""
    v.root.at(v.parent).min(v.least)
    v.root.at(v.id).min(v.least)


@vertex(on="all")
def jump(v: Any) -> None:
    """Move v to the parent of its parent."""
    above = v.root.at(v.root.at(v.root.at(v.id).load()).load()).load()
    fn.reduce("moved", fn.cast(above != v.parent, np.int64), monoids.sum)
    v.parent, v.least = above, above


@vertex(on="all")
def settle(v: Any) -> None:
    """Let hooking go on from the parents that jumping found."""
    v.root = v.parent


def _is_settled(moved: Any) -> Any:
    return moved == 0


def hooked_components(g: Graph, config: Config | None) -> Array:
    """Return the least vertex of the component of every vertex."""
    own = full(lambda v: v.id, vertex_id)
    state = g.state(parent=own, root=own, least=own, moved=scalar(1))
    offers = [offer, offer_back] if g.directed else [offer]
    if g.num_vertices:
        g.iterate([*offers, hook, jump, settle], state, until=_is_settled, config=config)
    return state.parent
