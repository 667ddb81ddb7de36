"""A maximal independent set.

Method: vertices have a fixed order: fewest neighbours first, then by random bits. A vertex joins
the set once all neighbours before it are out, and is out once a neighbour joined; both are decided
by vertices that never change again, so that the result is the one that a sequential pass in this
order gives, in any order of execution. O(m) work in O(log² n) rounds, with high probability, for a
random order.

G. Blelloch, J. Fineman, J. Shun: Greedy sequential maximal independent set and matching are
parallel on average (SPAA 2012).
M. Burtscher, S. Devale, S. Azimi, J. Jaiganesh, E. Powers: A high-quality and fast maximal
independent set implementation for GPUs (ACM TOPC 5, 2018).
"""

from __future__ import annotations

from typing import Any

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
from weft.program import edge, vertex

Array = np.ndarray[Any, Any]

OPEN, IN, OUT = 0, 1, 2


@vertex
def join(v: Any) -> Any:
    """Join the set if no open neighbour comes before v; the first one found ends the search."""
    waits = v.gather(
        lambda u, e: send(fn.cast(1, np.int8), when=(u.status == OPEN) & comes_before(u, v)),
        monoids.any,
    )
    v.status = fn.where(waits > 0, fn.cast(OPEN, np.int8), fn.cast(IN, np.int8))
    return waits == 0


@edge(into="status", reduce=monoids.max, accept=lambda v: v.status == OPEN)
def exclude(u: Any, v: Any, e: Any) -> Any:
    """Exclude the neighbours of a vertex that joined."""
    return fn.cast(OUT, np.int8)


@vertex(on="all")
def is_open(v: Any) -> Any:
    """Whether v is undecided."""
    return v.status == OPEN


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
        ("out",), Fields(lambda i, w: 9, lambda i, w: 1, lambda i, w: 9), simple=True,
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
    state = g.state(
        status=full(OPEN, np.int8), place=full(0), seed=scalar(check_integer("seed", seed, 0))
    )
    g.run(place, state, config=config)
    g.iterate([join, exclude, is_open], state, config=config)
    return state.status == IN
