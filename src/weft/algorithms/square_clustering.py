"""Square clustering coefficients.

Method: the vertices two edges away from v are gathered by key, with the number c(x) of ways to each
x; two of these close a square. With d the number of neighbours, over the pairs a < b of neighbours
of v, the squares are compared with those that would be there if no edge of a and b led elsewhere:

    squares(v) = Σ c(x) (c(x) - 1) / 2    over x other than v,
    possible(v) = (d(v) - 1) · Σ (d(a) - 1) - squares(v) - 2 · triangles(v)    over neighbours a,
    coefficient(v) = squares(v) / possible(v).

O(Σ d(a)²) work at most.

P. Lind, M. González, H. Herrmann: Cycles and clustering in bipartite networks (Physical Review E
72, 2005).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.algorithms.registry import Fields, Needs, algorithm
from weft.algorithms.support.simple import simple
from weft.algorithms.triangles import triangles
from weft.config import Config
from weft.engine.state import full
from weft.graph import Graph
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.ir.trace.proxies import send
from weft.program import vertex

Array = np.ndarray[Any, Any]


@vertex
def look_twice(v: Any) -> None:
    """Count the squares at v."""
    ways = v.gather_by(
        lambda u, e, w, f: w.id, lambda u, e, w, f: fn.cast(1, np.int64), monoids.sum,
        direction="out",
    )  # fmt: skip
    v.squares = ways.reduce(
        lambda x, count: send(count * (count - 1) // 2, when=x != v.id), monoids.sum
    )


@vertex
def look_around(v: Any) -> None:
    """Add up how many further neighbours the neighbours of v have."""
    v.further = v.gather(
        lambda u, e: fn.cast(u.out_degree, np.int64) - 1, monoids.sum, direction="out"
    )


@algorithm(
    group="structure",
    summary="the share of possible squares that each vertex belongs to",
    directed="ignored",
    reference="P. Lind, M. González, H. Herrmann: Cycles and clustering (2005)",
    needs=Needs(
        ("out",), Fields(lambda i, w: 24, own=40), frontier=False, simple=True, oriented=True,
        degrees=("out",), keys=True,
    ),
)  # fmt: skip
def square_clustering(g: Graph, *, config: Config | None = None) -> Array:
    """Return the share of possible squares that exist, for every vertex.

    Parameters
    ----------
    g
        A graph. Self-loops are ignored, parallel edges count once, and directed edges are taken to
        run both ways.
    config
        How to run it.

    Returns
    -------
    ndarray of float64
        One coefficient from 0 to 1 per vertex; 0 where no square is possible.

    Examples
    --------
    >>> import weft
    >>> weft.square_clustering(weft.generators.cycle(4)).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    plain, xp = simple(g), g.topology.xp
    state = plain.state(squares=full(0), further=full(0))
    plain.run(look_twice, state, config=config)
    plain.run(look_around, state, config=config)
    closed = triangles(plain, config=config)
    squares = state.squares
    possible = (plain.out_degree - 1) * state.further - squares - 2 * closed
    return squares / xp.maximum(possible, 1)
