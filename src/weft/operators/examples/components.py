"""Connected components by hooking and pointer jumping, over arcs that still join two trees."""

from typing import Any

from weft.ir.trace import functions as fn
from weft.operators import advance, filter


def components(g: Any) -> Any:
    """Return the smallest vertex of the component of every vertex, ignoring directions.

    Examples
    --------
    >>> import weft
    >>> from weft.operators.examples.components import components
    >>> components(weft.Graph.from_edges([0, 3], [1, 2], num_vertices=5)).tolist()
    [0, 0, 2, 2, 4]
    """
    state = g.state(label=lambda v: v.id)
    arcs = g.edge_frontier()
    while arcs:
        advance(g, arcs, hook, state, output=None)
        while filter(g, None, jump, state):
            pass
        arcs = filter(g, arcs, joins, state)
    return state.label


def hook(u: Any, v: Any, e: Any) -> None:
    """Hang the tree with the larger root below the other one."""
    a, b = u.label.at(u.id).load(), v.label.at(v.id).load()
    v.label.at(fn.maximum(a, b)).min(fn.minimum(a, b))


def jump(v: Any) -> Any:
    """Replace the parent by its parent; v goes on if that is another one."""
    parent = v.label.at(v.label.at(v.id).load()).load()
    changed = parent != v.label.at(v.id).load()
    v.label = parent
    return changed


def joins(u: Any, v: Any, e: Any) -> Any:
    """Hold where an arc joins two trees."""
    return u.label != v.label
