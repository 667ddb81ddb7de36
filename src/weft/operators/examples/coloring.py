"""Graph colouring by independent sets (Luby, Jones and Plassmann)."""

from typing import Any

from weft.engine.state import full, scalar
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.ir.trace.proxies import send
from weft.operators import compute, filter, neighbor_reduce


def coloring(g: Any, seed: int = 0) -> Any:
    """Return a colour for every vertex of an undirected graph; the ends of an edge differ.

    Examples
    --------
    >>> import weft
    >>> from weft.operators.examples.coloring import coloring
    >>> len(set(coloring(weft.generators.complete(4)).tolist()))
    4
    """
    state = g.state(color=full(-1), hash=full(0.0), best=full(0.0), turn=scalar(0),
                    seed=scalar(seed))  # fmt: skip
    frontier = g.frontier()
    while frontier:
        compute(g, frontier, draw, state)
        neighbor_reduce(g, frontier, rival, monoids.max, state, into="best", identity=-1.0)
        frontier = filter(g, frontier, loses, state)
        state.turn += 1
    return state.color


def draw(v: Any, turn: Any, seed: Any) -> None:
    """Draw a new hash."""
    v.hash = fn.random(v.id, turn * 65536 + seed)


def rival(u: Any, v: Any, e: Any) -> Any:
    """Return the hash of a neighbour without a colour."""
    return send(v.hash, when=(v.color < 0) & (v.id != u.id))


def loses(v: Any, turn: Any) -> Any:
    """Colour v if its hash is the largest around; the others try again."""
    v.color = fn.where(v.hash > v.best, turn, -1)
    return v.hash <= v.best
