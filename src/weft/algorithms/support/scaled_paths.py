"""Betweenness of vertices when path counts exceed the range of float64.

Method: Brandes' sweeps over the levels of a search (see `betweenness`) with every path count held
as a fraction and an exponent, σ(v) = f(v) · 2^p(v) with 1 <= f(v) < 2. Forward, a vertex takes the
largest exponent among its predecessors, then sums the counts relative to it:

    q(v) = max p(u),    s = Σ f(u) · 2^(p(u) - q(v)),    σ(v) = s · 2^q(v)   over u -> v.

Backward only ratios of counts along an edge occur, and σ(w) >= σ(v) keeps them at most 1:

    share(v) = 1 / f(v) + Σ share(w) · 2^(p(v) - p(w)) over edges v -> w to the next level,
    betweenness(v) += f(v) · share(v) - 1    for v other than the source.

Fractions and shares of odd levels are stored negated, as in `betweenness`. Powers of two are
built from bits, so that scaling is exact on every device.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

import weft
from weft.backends import backend_of

Array = np.ndarray[Any, Any]

FRACTION_BITS = 52
BIAS = 1023
SMALLEST = -1100  # 2 to the power of this is 0 in float64


def sign(v: Any) -> Any:
    """Return the sign of the values of v, by the parity of its level."""
    return weft.where((v.level & 1) == 0, 1.0, -1.0)


def keeps_at_once(g: weft.Graph) -> bool:
    """Whether stores of a vertex may be visible at once, which saves a copy.

    The result is the same either way: a level reads only adjacent levels.
    """
    return g.topology.carrier is None and backend_of(g.topology.device).updates_at_once


def store(v: Any, name: str, value: Any, at_once: bool) -> None:
    """Store a value of v."""
    if at_once:
        getattr(v, name).at(v.id).set(value)
    else:
        setattr(v, name, value)


def beside(v: Any, value: Any) -> Any:
    """Return the value of a neighbour if it is on a level next to that of v, else 0."""
    return weft.maximum(-sign(v) * value, 0.0)


@functools.cache
def sweeps(at_once: bool) -> tuple[Any, Any]:
    """Return the functions of both sweeps."""

    @weft.vertex(order_free=True)
    def count(v: Any) -> None:
        """Count the shortest paths to v from the previous level."""
        power = v.gather(lambda u, e: weft.send(u.power, when=beside(v, u.fraction) > 0), weft.max)
        paths = v.gather(
            lambda u, e: weft.send(
                beside(v, u.fraction) * power_of_two(u.power - power),
                when=beside(v, u.fraction) > 0,
            ),
            weft.sum,
        )
        exponent = (weft.bitcast(paths, np.int64) >> FRACTION_BITS) - BIAS
        store(v, "fraction", sign(v) * paths * power_of_two(-exponent), at_once)
        store(v, "power", power + exponent, at_once)

    @weft.vertex(order_free=True)
    def owe(v: Any) -> None:
        """Gather the shares of the next level."""
        beyond = v.gather(
            lambda u, e: weft.send(
                beside(v, u.share) * power_of_two(v.power - u.power), when=beside(v, u.share) > 0
            ),
            weft.sum,
            direction="out",
        )
        fraction = abs(v.fraction)
        store(v, "share", sign(v) * (1 / fraction + beyond), at_once)
        v.total = v.total + weft.where(v.level > 0, fraction * beyond, 0)

    return count, owe


def power_of_two(exponent: Any) -> Any:
    """Return 2 to the power of an int64 up to 0, as a float64, by two exact halves."""
    exponent = weft.maximum(exponent, SMALLEST)
    half = exponent >> 1
    return _normal_power(half) * _normal_power(exponent - half)


def _normal_power(exponent: Any) -> Any:
    return weft.bitcast((exponent + BIAS) << FRACTION_BITS, np.float64)


class ScaledSweeps:
    """The sweeps over a simple graph that stores both directions."""

    def __init__(self, g: weft.Graph, config: weft.Config | None) -> None:
        zeros = weft.full(0.0)
        self.g, self.config = g, config
        self.state = g.state(
            level=weft.full(-1, np.int32),
            power=weft.full(0),
            fraction=zeros,
            share=zeros,
            total=zeros,
        )

    def add_owed(self, source: int, level: Array, trail: Sequence[Array]) -> None:
        """Add each vertex's share of the paths beyond it, given the levels of a search."""
        g, state = self.g, self.state
        state.level, state.power, state.share = level, weft.full(0), weft.full(0.0)
        state.fraction = weft.full(0.0).but(source, 1.0)
        count, owe = sweeps(keeps_at_once(g))
        g.replay(count, state, trail[:0:-1], config=self.config)
        g.replay(owe, state, trail, config=self.config)
