"""Forest fire sampling.

Method: a fire starts at a random vertex. Each vertex that catches fire sets some of its neighbours
on fire that do not burn yet: a geometric number with the mean p / (1 - p), chosen at random. All
vertices of a front spread the fire at once. When it dies out, the next one starts, until as many
vertices have burned as are asked for. O(m) at most.

J. Leskovec, C. Faloutsos: Sampling from large graphs (KDD 2006).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.algorithms.registry import Fields, Needs, algorithm
from weft.algorithms.support.order import drawn_bits
from weft.algorithms.support.simple import simple
from weft.arrays.checks import check_integer, real_of
from weft.config import Config
from weft.engine.state import full, scalar
from weft.errors import ConfigError, shortened
from weft.graph import Graph
from weft.ir.ops import INT64
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.ir.trace.control import for_range
from weft.program import vertex

Array = np.ndarray[Any, Any]


@vertex(order_free=True)
def spread(v: Any, seed: Any, stop: Any) -> bool:
    """Set some of the neighbours of v on fire that do not burn."""
    key = fn.random_bits(seed, v.id)
    fresh = v.gather(
        lambda u, e: fn.where(u.burned, fn.cast(0, INT64), fn.cast(1, INT64)), monoids.sum,
        direction="out",
    )  # fmt: skip
    unit = 1.0 - fn.random(key, 0)
    drawn = fn.floor(fn.log(unit) / fn.log(stop))
    wanted = fn.cast(fn.minimum(drawn, fn.cast(fresh, np.float64)), INT64)

    def visit(i: Any, left: Any, needed: Any) -> Any:
        other = fn.neighbor(v.id, i)
        free = ~v.burned.at(other).load()
        chosen = fn.random(key, i + 1) * fn.cast(left, np.float64) < fn.cast(needed, np.float64)
        chosen = free & chosen
        v.caught.at(other).or_(chosen)
        one = fn.cast(1, INT64)
        return fn.where(free, left - one, left), fn.where(chosen, needed - one, needed)

    left, _ = for_range(0, fn.cast(v.out_degree, INT64), visit, fresh, wanted)
    v.left = left
    return False


@algorithm(
    group="sampling",
    summary="vertices that random fires spread to",
    column="burned",
    reference="J. Leskovec, C. Faloutsos: Sampling from large graphs (KDD 2006)",
    needs=Needs(("out",), Fields(lambda i, w: 10, own=32), simple=True, degrees=("out",)),
)
def forest_fire(
    g: Graph, size: int, p: float = 0.7, *, seed: int = 0, config: Config | None = None
) -> Array:
    """Return a sample of vertices that keeps the shape of a graph: those that fires spread to.

    ``g.subgraph(burned)`` is the sampled graph.

    Parameters
    ----------
    g
        A graph; in a directed one fires follow the edges. Self-loops are ignored, parallel edges
        count once.
    size
        How many vertices to take.
    p
        The probability to go on to one more neighbour, from 0 on and below 1.
    seed
        Chooses the fires.
    config
        How to run it.

    Returns
    -------
    ndarray of bool
        One value per vertex, `size` of them true.

    Raises
    ------
    ConfigError
        If the size or p is out of range.

    Examples
    --------
    >>> import weft
    >>> g = weft.generators.rmat(8, 8, seed=1)
    >>> weft.forest_fire(g, 40).sum()
    np.int64(40)
    """
    n, xp = g.num_vertices, g.topology.xp
    size = check_integer("size", size, 0, n)
    if not 0 <= real_of(p) < 1:
        raise ConfigError(f"p={shortened(p)} is not possible. Expected a number from 0 to below 1.")
    number = check_integer("seed", seed, 0)
    plain = simple(g, directed=True)
    state = plain.state(
        burned=full(False), caught=full(False), left=full(0), seed=scalar(number),
        stop=scalar(float(p) or 1e-300),
    )  # fmt: skip
    order = xp.argsort(drawn_bits(xp, n, number), kind="stable")
    burned, lit = 0, 0
    front = order[:0]
    while burned < size:
        if not front.size:  # the next fire
            lit += int((~state.burned[order[lit:]]).argmax())
            front = order[lit : lit + 1]
        front = front[: size - burned]
        state.burned[front] = True
        burned += int(front.size)
        if burned < size:
            state.caught = full(False)
            plain.run(spread, state, front, config=config)
            front = xp.flatnonzero(state.caught & ~state.burned)
            front = front[xp.argsort(drawn_bits(xp, n, number + 1)[front], kind="stable")]
    return state.burned
