"""A maximal independent set.

Method: vertices have a fixed order: fewest neighbours first, then by random bits. A vertex joins
the set once all neighbours before it are out, and is out once one of these joined; both are decided
by vertices that never change again, so that the result is the one that a sequential pass in this
order gives, in any order of execution, and whether a decision is seen at once or later. O(m) work
in O(log² n) rounds, with high probability, for a random order.

G. Blelloch, J. Fineman, J. Shun: Greedy sequential maximal independent set and matching are
parallel on average (SPAA 2012).
M. Burtscher, S. Devale, S. Azimi, J. Jaiganesh, E. Powers: A high-quality and fast maximal
independent set implementation for GPUs (ACM TOPC 5, 2018).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from weft.algorithms.registry import Fields, Needs, algorithm
from weft.algorithms.support.order import comes_before, place
from weft.algorithms.support.simple import simple
from weft.arrays.checks import check_integer
from weft.config import Config
from weft.engine.state import full, scalar
from weft.graph import Graph
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.ir.trace.proxies import send
from weft.program import vertex

Array = np.ndarray[Any, Any]

# Places of decided vertices: before all that have neighbours, and behind all.
IN: Final = 0
OUT: Final = np.iinfo(np.int64).max
WAITS, LOST = 1, 2


@vertex(wake="changed", order_free=True)
def decide(v: Any) -> Any:
    """Join the set if all neighbours before v are out; the first that is not ends the search.

    Whether that one is in the set or still waits may change meanwhile, but only once.
    """
    found = v.gather(
        lambda u, e: send(
            fn.where(u.place == IN, fn.cast(LOST, np.int8), fn.cast(WAITS, np.int8)),
            when=comes_before(u, v),
        ),
        monoids.any,
    )
    decided = fn.where(found == LOST, fn.cast(OUT, np.int64), fn.cast(IN, np.int64))
    v.place.at(v.id).set(fn.where(found == WAITS, v.place, decided))
    return found == WAITS


@algorithm(
    group="structure",
    summary="a set of vertices that are no neighbours, to which none can be added",
    directed="ignored",
    column="independent",
    reference=(
        "G. Blelloch, J. Fineman, J. Shun: Greedy sequential maximal independent set and matching "
        "are parallel on average (SPAA 2012)"
    ),
    needs=Needs(
        ("out",), Fields(lambda i, w: 8, lambda i, w: 1, lambda i, w: 8), simple=True,
        degrees=("out",),
    ),
)  # fmt: skip
def maximal_independent_set(g: Graph, *, seed: int = 0, config: Config | None = None) -> Array:
    """Return a set of vertices no two of which are adjacent, and to which none can be added.

    Parameters
    ----------
    g
        A graph. Self-loops are ignored, and directed edges are taken to run both ways.
    seed
        Chooses the order among vertices with equally many neighbours; the set is determined by it.
    config
        How to run it.

    Returns
    -------
    ndarray of bool
        Whether each vertex is in the set.

    Examples
    --------
    >>> import weft
    >>> weft.maximal_independent_set(weft.generators.star(4)).tolist()
    [False, True, True, True]
    """
    g = simple(g)
    state = g.state(place=full(0), seed=scalar(check_integer("seed", seed, 0)))
    g.run(place, state, config=config)
    g.iterate(decide, state, config=config)
    return state.place == IN
