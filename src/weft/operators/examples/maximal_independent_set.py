"""A maximal independent set (Luby): local maxima join, their neighbours leave."""

from typing import Any

from weft.engine.state import full, scalar
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.ir.trace.proxies import send
from weft.operators import advance, compute, filter, neighbor_reduce


def maximal_independent_set(g: Any, seed: int = 0) -> Any:
    """Return a mask of vertices of an undirected graph, no two of them joined by an edge.

    Examples
    --------
    >>> import weft
    >>> from weft.operators.examples.maximal_independent_set import maximal_independent_set
    >>> int(maximal_independent_set(weft.generators.complete(4)).sum())
    1
    """
    state = g.state(open=full(True), inside=full(False), hash=full(0.0), best=full(0.0),
                    turn=scalar(0), seed=scalar(seed))  # fmt: skip
    frontier = g.frontier()
    while frontier:
        compute(g, frontier, draw, state)
        neighbor_reduce(g, frontier, rival, monoids.max, state, into="best", identity=-1.0)
        winners = filter(g, frontier, joins, state)
        advance(g, winners, leave, state, output=None)
        frontier = filter(g, frontier, remains, state)
        state.turn += 1
    return state.inside


def draw(v: Any, turn: Any, seed: Any) -> None:
    """Draw a new hash."""
    v.hash = fn.random(v.id, turn * 65536 + seed)


def rival(u: Any, v: Any, e: Any) -> Any:
    """Return the hash of a neighbour that has not decided."""
    return send(v.hash, when=v.open & (v.id != u.id))


def joins(v: Any) -> Any:
    """Join the set if the own hash is the largest around."""
    v.inside, v.open = v.hash > v.best, v.hash <= v.best
    return v.inside


def leave(u: Any, v: Any, e: Any) -> None:
    """Leave, beside a vertex of the set."""
    v.open &= u.open


def remains(v: Any) -> Any:
    """Hold for vertices that have not decided."""
    return v.open
