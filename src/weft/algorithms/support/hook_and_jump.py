"""Connected components by supersteps alone, for engines without loops within a function.

Method: minimum hooking and pointer jumping. The parent of a vertex learns of the smallest parent
among its neighbours; then every vertex looks two parents further. Parents only fall, and at the end
each is the smallest id of its component.

Y. Shiloach, U. Vishkin: An O(log n) parallel connectivity algorithm (Journal of Algorithms, 1982).
"""

from __future__ import annotations

from typing import Any

from weft.engine.state import full
from weft.graph import Graph
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.ir.types import vertex_id
from weft.program import vertex


@vertex(on="all", order_free=True)
def hook(v: Any) -> None:
    """Tell the parent of v the smallest parent of its neighbours."""
    near = v.gather(lambda u, e: u.parent, monoids.min, direction="both")
    v.low.at(v.parent).min(near)


@vertex(on="all")
def jump(v: Any) -> None:
    """Look two parents further."""
    above = v.low.at(v.low.at(v.parent).load()).load()
    v.parent = fn.minimum(v.low, above)


@vertex(wake="all")
def settle(v: Any) -> None:
    """Begin the next round from the new parent."""
    v.low = v.parent
    v.changed = True


def hook_and_jump(g: Graph, config: Any) -> Any:
    """Return the smallest vertex of the component of each vertex."""
    own = full(lambda v: v.id, vertex_id)
    state = g.state(parent=own, low=own)
    g.iterate([hook, jump, settle], state, config=config)
    return state.parent
