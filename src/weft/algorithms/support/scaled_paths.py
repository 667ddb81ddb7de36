"""Dependencies of sources on vertices where path counts exceed the range of float64.

Method: Brandes' two sweeps (see `betweenness`) with every path count held as a fraction and an
exponent, σ(v) = f(v) · 2^p(v) with 1 <= f(v) < 2. Forward, a level first takes the largest exponent
among the predecessors, then sums the counts relative to it:

    q(v) = max p(u),    s = Σ f(u) · 2^(p(u) - q(v)),    σ(v) = s · 2^q(v)   over u -> v.

Backward only ratios of counts along an edge occur, and σ(w) >= σ(v) keeps them at most 1:

    share(v) = 1 / f(v) + Σ share(w) · 2^(p(v) - p(w)) over edges v -> w to the next level,
    betweenness(v) += f(v) · share(v) - 1    for v other than the source.

Powers of two are built from bits, so that scaling is exact on every device.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.config import Config
from weft.engine.state import full
from weft.graph import Graph
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.ir.trace.proxies import send
from weft.program import edge, vertex

Array = np.ndarray[Any, Any]

FRACTION_BITS = 52
BIAS = 1023
SMALLEST = -1100  # 2 to the power of this is 0 in float64


@edge(into=("level", "power"), reduce=(monoids.max, monoids.max), accept=lambda v: v.level < 0)
def reach(u: Any, v: Any, e: Any) -> Any:
    """Put v on the next level, and find the largest exponent among its predecessors."""
    return u.level + 1, u.power


@vertex(wake="changed")
def count(v: Any) -> None:
    """Add up the shortest paths that lead to v."""
    paths = v.gather(
        lambda u, e: send(
            u.fraction * power_of_two(u.power - v.power), when=u.level == v.level - 1
        ),
        monoids.sum,
    )
    exponent = (fn.bitcast(paths, np.int64) >> FRACTION_BITS) - BIAS
    v.fraction = paths * power_of_two(-exponent)
    v.power = v.power + exponent
    v.changed = True


@vertex
def owe(v: Any) -> None:
    """Gather the shares of the next level."""
    beyond = v.gather(
        lambda u, e: send(u.share * power_of_two(v.power - u.power), when=u.level == v.level + 1),
        monoids.sum,
        direction="out",
    )
    v.share = 1 / v.fraction + beyond
    v.total = v.total + fn.where(v.level > 0, v.fraction * beyond, 0)


def power_of_two(exponent: Any) -> Any:
    """Return 2 to the power of an int64 up to 0, as a float64, by two exact halves."""
    exponent = fn.maximum(exponent, SMALLEST)
    half = exponent >> 1
    return _normal_power(half) * _normal_power(exponent - half)


def _normal_power(exponent: Any) -> Any:
    return fn.bitcast((exponent + BIAS) << FRACTION_BITS, np.float64)


def scaled_dependencies(g: Graph, sources: Array, config: Config | None) -> Array:
    """Return the sums over the sources on a simple graph with both directions at hand."""
    zeros, powers = full(0.0), full(0, np.int64)
    state = g.state(
        level=full(-1, np.int32), fraction=zeros, power=powers, share=zeros, total=zeros
    )
    for source in sources.tolist():
        state.level, state.power = full(-1).but(source, 0), powers
        state.fraction = full(0.0).but(source, 1.0)
        run = g.iterate([reach, count], state, [source], trail=True, config=config)
        g.replay(owe, state, run.trail, config=config)
    return state.total
