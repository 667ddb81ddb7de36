"""Square clustering coefficients.

Method: the vertices two edges away from v are gathered by key, with the number c(x) of ways to each
x; two of these close a square. With d the number of neighbours, over the pairs a < b of neighbours
of v, the squares are compared with the number possible if every edge of a and b were part of one:

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

import weft
from weft.algorithms.registry import Fields, Needs, algorithm
from weft.algorithms.support.simple import simple
from weft.algorithms.triangles import triangles

Array = np.ndarray[Any, Any]


@weft.vertex
def look_twice(v: Any) -> None:
    """Count the squares at v."""
    ways = v.gather_by(
        lambda u, e, w, f: w.id, lambda u, e, w, f: weft.cast(1, np.int64), weft.sum,
        direction="out",
    )  # fmt: skip
    v.squares = ways.reduce(
        lambda x, count: weft.send(count * (count - 1) // 2, when=x != v.id), weft.sum
    )


@weft.vertex
def look_around(v: Any) -> None:
    """Sum the numbers of further neighbours of the neighbours of v."""
    v.further = v.gather(
        lambda u, e: weft.cast(u.out_degree, np.int64) - 1, weft.sum, direction="out"
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
def square_clustering(g: weft.Graph, *, config: weft.Config | None = None) -> Array:
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
    state = plain.state(squares=weft.full(0), further=weft.full(0))
    plain.run(look_twice, state, config=config)
    plain.run(look_around, state, config=config)
    closed = triangles(plain, config=config)
    squares = state.squares
    possible = (plain.out_degree - 1) * state.further - squares - 2 * closed
    return squares / xp.maximum(possible, 1)
