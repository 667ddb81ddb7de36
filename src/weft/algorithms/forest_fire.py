"""Forest fire sampling.

Method: a fire starts at a random vertex. Each vertex that catches fire ignites a random number of
its unburned neighbours, chosen at random: a geometric number with mean p / (1 - p). All vertices of
a front spread the fire at once. When it dies out, the next one starts, until the requested number
of vertices have burned. O(m) at most.

J. Leskovec, C. Faloutsos: Sampling from large graphs (KDD 2006).
"""

from __future__ import annotations

from typing import Any

import numpy as np

import weft
from weft.algorithms.registry import Fields, Needs, algorithm
from weft.algorithms.support.order import drawn_bits
from weft.algorithms.support.simple import simple
from weft.arrays.checks import check_integer, real_of
from weft.errors import ConfigError, shortened
from weft.ir.ops import INT64

Array = np.ndarray[Any, Any]


@weft.vertex(order_free=True)
def spread(v: Any, seed: Any, stop: Any) -> bool:
    """Ignite some of the unburned neighbours of v."""
    key = weft.random_bits(seed, v.id)
    fresh = v.gather(
        lambda u, e: weft.where(u.burned, weft.cast(0, INT64), weft.cast(1, INT64)), weft.sum,
        direction="out",
    )  # fmt: skip
    unit = 1.0 - weft.random(key, 0)
    drawn = weft.floor(weft.log(unit) / weft.log(stop))
    wanted = weft.cast(weft.minimum(drawn, weft.cast(fresh, np.float64)), INT64)

    def visit(i: Any, left: Any, needed: Any) -> Any:
        other = weft.neighbor(v.id, i)
        free = ~v.burned.at(other).load()
        chosen = weft.random(key, i + 1) * weft.cast(left, np.float64) < weft.cast(
            needed, np.float64
        )
        chosen = free & chosen
        v.caught.at(other).or_(chosen)
        one = weft.cast(1, INT64)
        return weft.where(free, left - one, left), weft.where(chosen, needed - one, needed)

    left, _ = weft.for_range(0, weft.cast(v.out_degree, INT64), visit, fresh, wanted)
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
    g: weft.Graph, size: int, p: float = 0.7, *, seed: int = 0, config: weft.Config | None = None
) -> Array:
    """Return a sample of vertices that preserves the structure of a graph, burned by random fires.

    ``g.subgraph(burned)`` is the sampled graph.

    Parameters
    ----------
    g
        A graph; in a directed one, fires follow the edges. Self-loops are ignored, parallel edges
        count once.
    size
        The number of vertices to sample.
    p
        The probability of igniting one more neighbour, at least 0 and below 1.
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
        burned=weft.full(False),
        caught=weft.full(False),
        left=weft.full(0),
        seed=weft.scalar(number),
        stop=weft.scalar(float(p) or 1e-300),
    )
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
            state.caught = weft.full(False)
            plain.run(spread, state, front, config=config)
            front = xp.flatnonzero(state.caught & ~state.burned)
            front = front[xp.argsort(drawn_bits(xp, n, number + 1)[front], kind="stable")]
    return state.burned
