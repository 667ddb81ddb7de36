"""Heavy matching of a bipartite graph by auction.

Method: the vertices of one side bid for those of the other, whose prices start at 0. In each round
every free bidder finds the neighbour j with the largest gain w(i, j) - p(j). If that is above 0, it
bids the price at which the second best one, or staying free, would be as good, plus ε:

    p(j) + (largest gain) - max(second largest gain, 0) + ε.

Each vertex goes to its highest bidder and frees the previous one. Prices only rise, so the auction
ends; then no bidder could gain more than ε elsewhere, and the total weight is below the maximum by
at most ε per matched pair. O(m w / ε) work at most for weights up to w.

D. Bertsekas: The auction algorithm: a distributed relaxation method for the assignment problem
(Annals of Operations Research 14, 1988).
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import weft
from weft.algorithms.bipartite_sets import bipartite_sets
from weft.algorithms.registry import BOTH, Fields, Needs, algorithm
from weft.algorithms.support.weights import check_weights
from weft.arrays.checks import real_of
from weft.errors import ConfigError, shortened

Array = np.ndarray[Any, Any]


@functools.cache
def bidding(direction: str, weighted: bool) -> list[Any]:
    """Return the steps of a round."""

    def gain(u: Any, e: Any) -> Any:
        return (weft.cast(e.weight, np.float64) if weighted else 1.0) - u.price

    @weft.vertex
    def choose(v: Any, epsilon: Any) -> Any:
        best, wish = v.gather(lambda u, e: (gain(u, e), u.id), weft.argmax, direction=direction)
        second = v.gather(
            lambda u, e: weft.send(gain(u, e), when=u.id != wish), weft.max, direction=direction
        )
        bids = (wish >= 0) & (best > 0)
        v.wish = weft.cast(weft.where(bids, wish, -1), weft.vertex_id)
        v.rise = weft.where(bids, best - weft.maximum(second, 0.0) + epsilon, 0.0)
        return bids

    @weft.vertex
    def offer(v: Any) -> bool:
        v.bid = v.price.at(v.wish).load() + v.rise
        return True

    @weft.vertex(order_free=True)
    def contend(v: Any) -> bool:
        v.price.at(v.wish).max(v.bid)
        return True

    @weft.vertex(order_free=True)
    def claim(v: Any) -> Any:
        highest = v.price.at(v.wish).load() == v.bid
        mine = weft.where(highest, weft.cast(v.id, weft.vertex_id), weft.cast(-1, weft.vertex_id))
        v.winner.at(v.wish).max(mine)
        return highest

    @weft.vertex(order_free=True)
    def take(v: Any) -> bool:
        wins = v.winner.at(v.wish).load() == weft.cast(v.id, weft.vertex_id)
        before = v.mate.at(v.wish).load()
        loser = weft.where(wins & (before >= 0), before, weft.cast(v.id, weft.vertex_id))
        v.mate.at(loser).set(weft.cast(-1, weft.vertex_id))
        single, me = weft.cast(-1, weft.vertex_id), weft.cast(v.id, weft.vertex_id)
        v.mate.at(weft.where(wins, v.wish, me)).set(weft.where(wins, me, single))
        v.wins = wins
        return wins

    return [choose, offer, contend, claim, take]


@algorithm(
    group="matching",
    summary="a matching of a bipartite graph of almost the largest weight",
    weights="used",
    directed="ignored",
    column="mate",
    reference="D. Bertsekas: The auction algorithm (1988)",
    needs=Needs(
        BOTH, Fields(lambda i, w: 3 * i + 25, lambda i, w: i + 16, lambda i, w: 2 * i + 32, own=16),
        weighted=True,
    ),
)  # fmt: skip
def auction_matching(
    g: weft.Graph, epsilon: float | None = None, *, config: weft.Config | None = None
) -> Array:
    """Return a matching of a bipartite graph of nearly maximum total weight.

    Parameters
    ----------
    g
        A bipartite graph; directed edges are taken to run both ways. Weights must be finite and not
        negative; without weights every edge counts 1.
    epsilon
        The weight that may be lost per matched pair; by default a hundredth of the largest weight.
        Smaller values take longer. With integer weights, a value below 1 / n makes the result
        exact.
    config
        How to run it.

    Returns
    -------
    ndarray
        The vertex that each one is matched with, -1 for those that are free.

    Raises
    ------
    ConfigError
        If `epsilon` is not above 0.
    GraphError
        If the graph is not bipartite, or weights are negative or not finite.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1], [2, 3, 2], weight=[3, 2, 2], directed=False)
    >>> weft.auction_matching(g, 0.1).tolist()
    [3, 2, 1, 0]
    """
    weighted = check_weights(g, True, "a matching")
    if epsilon is None:
        epsilon = (float(g.edge.extent("weight")[1]) if weighted else 1.0) / 100 or 1.0
    if not 0 < real_of(epsilon) < np.inf:
        raise ConfigError(f"epsilon={shortened(epsilon)} is not possible. Expected a number > 0.")
    bidders = bipartite_sets(g, config=config) == 0
    xp = g.topology.xp
    single = weft.full(-1, weft.vertex_id)
    state = g.state(
        mate=single,
        wish=single,
        winner=single,
        price=weft.full(0.0),
        rise=weft.full(0.0),
        bid=weft.full(0.0),
        wins=weft.full(False),
        epsilon=weft.scalar(float(epsilon)),
    )
    choose, *settle = bidding("both" if g.directed else "in", weighted)
    free = xp.flatnonzero(bidders)
    while free.size:
        active = g.run(choose, state, free, config=config)
        asked = active.members
        if not asked.size:
            break
        state.winner, state.wins = single, weft.full(False)
        g.run(settle, state, active, config=config)
        _join(state, asked)
        free = xp.flatnonzero(bidders & (state.mate < 0) & (state.wish >= 0))
    return state.mate


def _join(state: Any, asked: Array) -> None:
    """Match the winners of a round with the vertices they won."""
    winners = asked[state.wins[asked]]
    state.mate[winners] = state.wish[winners]
