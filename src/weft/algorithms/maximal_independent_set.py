"""A maximal independent set.

Method: vertices have a fixed order: fewest neighbours first, where numbers that differ by less than
a quarter may count as equal, then by nine random bits, then by number. A vertex joins the set once
all neighbours before it are out, and is out once a neighbour joined; both are decided by vertices
that never change again, so that the result is the one that a sequential pass in this order gives,
in any order of execution. O(m) work in O(log² n) rounds, with high probability, for a random order.

Place and decision of a vertex share 16 bits, since most of the time goes into looking at those of
neighbours all over memory.

G. Blelloch, J. Fineman, J. Shun: Greedy sequential maximal independent set and matching are
parallel on average (SPAA 2012).
M. Burtscher, S. Devale, S. Azimi, J. Jaiganesh, E. Powers: A high-quality and fast maximal
independent set implementation for GPUs (ACM TOPC 5, 2018).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import weft
from weft.algorithms.registry import Fields, Needs, algorithm
from weft.algorithms.support.simple import simple
from weft.arrays.checks import check_integer

Array = np.ndarray[Any, Any]

IN: Final = 0xFFFE  # what is open has a smaller mark: its place
OUT: Final = 0xFFFF
BITS: Final = 9  # random ones of a place
NONE: Final = (127 << 2) - 1  # below exponent and two bits of 1.0


@weft.vertex(on="all")
def place(v: Any, seed: Any) -> None:
    """Mark v with its place: exponent and two more bits of its degree, then random bits."""
    bits = weft.bitcast(weft.cast(v.out_degree, np.float32), np.int32)
    length = weft.maximum((bits >> 21) - NONE, 0)  # 0 for a vertex alone, 1 for one neighbour
    drawn = weft.cast(weft.random_bits(seed, v.id) >> (64 - BITS), np.int32)
    v.mark = weft.cast((length << BITS) | drawn, np.uint16)


@weft.vertex
def join(v: Any) -> Any:
    """Join the set if no open neighbour comes before v; the first one found ends the search."""
    waits = v.gather(
        lambda u, e: weft.send(
            weft.cast(1, np.int8), when=(u.mark < v.mark) | ((u.mark == v.mark) & (u.id < v.id))
        ),
        weft.any,
    )
    v.mark = weft.where(waits > 0, v.mark, weft.cast(IN, np.uint16))
    return waits == 0


@weft.edge(into="mark", reduce=weft.any, accept=lambda v: v.mark < IN)
def exclude(u: Any, v: Any, e: Any) -> Any:
    """Exclude the neighbours of a vertex that joined."""
    return weft.cast(OUT, np.uint16)


@weft.vertex(on="all")
def is_open(v: Any) -> Any:
    """Whether v is undecided."""
    return v.mark < IN


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
        ("out",), Fields(lambda i, w: 2, lambda i, w: 2, lambda i, w: 2), simple=True,
        degrees=("out",),
    ),
)  # fmt: skip
def maximal_independent_set(
    g: weft.Graph, *, seed: int = 0, config: weft.Config | None = None
) -> Array:
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
    state = g.state(mark=weft.full(0, np.uint16), seed=weft.scalar(check_integer("seed", seed, 0)))
    g.run(place, state, config=config)
    g.iterate([join, exclude, is_open], state, config=config)
    return state.mark == IN
