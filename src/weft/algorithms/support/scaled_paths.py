"""Dependencies of sources on vertices where path counts exceed the range of float64.

Method: Brandes' sweeps over the levels of a search (see `betweenness`) with every path count held
as a fraction and an exponent, σ(v) = f(v) · 2^p(v) with 1 <= f(v) < 2. Forward, a vertex takes the
largest exponent among its predecessors, then sums the counts relative to it:

    q(v) = max p(u),    s = Σ f(u) · 2^(p(u) - q(v)),    σ(v) = s · 2^q(v)   over u -> v.

Backward only ratios of counts along an edge occur, and σ(w) >= σ(v) keeps them at most 1:

    share(v) = 1 / f(v) + Σ share(w) · 2^(p(v) - p(w)) over edges v -> w to the next level,
    betweenness(v) += f(v) · share(v) - 1    for v other than the source.

Fractions and shares of odd levels are kept with a minus, as in `betweenness`. Powers of two are
built from bits, so that scaling is exact on every device.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.backends import backend_of
from weft.config import Config
from weft.engine.state import full
from weft.graph import Graph
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.ir.trace.proxies import send
from weft.program import vertex

Array = np.ndarray[Any, Any]

FRACTION_BITS = 52
BIAS = 1023
SMALLEST = -1100  # 2 to the power of this is 0 in float64


def sign(v: Any) -> Any:
    """Return the sign of what v holds, by the parity of its level."""
    return fn.where((v.level & 1) == 0, 1.0, -1.0)


def keeps_at_once(g: Graph) -> bool:
    """Whether what a vertex stores may be seen at once, which saves a copy; else it is stored late.

    It makes no difference to the result: a level reads only the levels beside it.
    """
    return g.topology.carrier is None and backend_of(g.topology.device).updates_at_once


def store(v: Any, name: str, value: Any, at_once: bool) -> None:
    """Store a value of v."""
    if at_once:
        getattr(v, name).at(v.id).set(value)
    else:
        setattr(v, name, value)


def beside(v: Any, value: Any) -> Any:
    """Return what a neighbour holds if it is of a level next to that of v, else 0."""
    return fn.maximum(-sign(v) * value, 0.0)


@functools.cache
def sweeps(at_once: bool) -> tuple[Any, Any]:
    """Return the functions of both sweeps."""

    @vertex(order_free=True)
    def count(v: Any) -> None:
        """Add up the shortest paths to the level before."""
        power = v.gather(lambda u, e: send(u.power, when=beside(v, u.fraction) > 0), monoids.max)
        paths = v.gather(
            lambda u, e: send(
                beside(v, u.fraction) * power_of_two(u.power - power),
                when=beside(v, u.fraction) > 0,
            ),
            monoids.sum,
        )
        exponent = (fn.bitcast(paths, np.int64) >> FRACTION_BITS) - BIAS
        store(v, "fraction", sign(v) * paths * power_of_two(-exponent), at_once)
        store(v, "power", power + exponent, at_once)

    @vertex(order_free=True)
    def owe(v: Any) -> None:
        """Gather the shares of the next level."""
        beyond = v.gather(
            lambda u, e: send(
                beside(v, u.share) * power_of_two(v.power - u.power), when=beside(v, u.share) > 0
            ),
            monoids.sum,
            direction="out",
        )
        fraction = abs(v.fraction)
        store(v, "share", sign(v) * (1 / fraction + beyond), at_once)
        v.total = v.total + fn.where(v.level > 0, fraction * beyond, 0)

    return count, owe


def power_of_two(exponent: Any) -> Any:
    """Return 2 to the power of an int64 up to 0, as a float64, by two exact halves."""
    exponent = fn.maximum(exponent, SMALLEST)
    half = exponent >> 1
    return _normal_power(half) * _normal_power(exponent - half)


def _normal_power(exponent: Any) -> Any:
    return fn.bitcast((exponent + BIAS) << FRACTION_BITS, np.float64)


class ScaledSweeps:
    """The sweeps over a simple graph with both directions at hand."""

    def __init__(self, g: Graph, config: Config | None) -> None:
        zeros = full(0.0)
        self.g, self.config = g, config
        self.state = g.state(
            level=full(-1, np.int32), power=full(0), fraction=zeros, share=zeros, total=zeros
        )

    def add_owed(self, source: int, level: Array, trail: Sequence[Array]) -> None:
        """Add what vertices owe to the paths beyond them, given the levels around a source."""
        g, state = self.g, self.state
        state.level, state.power, state.share = level, full(0), full(0.0)
        state.fraction = full(0.0).but(source, 1.0)
        count, owe = sweeps(keeps_at_once(g))
        g.replay(count, state, trail[:0:-1], config=self.config)
        g.replay(owe, state, trail, config=self.config)
