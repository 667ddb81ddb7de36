"""Random draws of arcs at some vertices: uniform or by weight, with or without replacement."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import weft
from weft.arrays.random import GAMMA, STEP, mix
from weft.topology.topology import Direction

Array = np.ndarray[Any, Any]


class Draw(NamedTuple):
    """The rule by which arcs are drawn.

    Attributes
    ----------
    replace
        Whether one may be drawn more than once.
    weight
        A weight for each slot of the rows; None for equal chances.
    seed
        Chooses the draws.
    """

    replace: bool
    weight: Array | None
    seed: int


def drawn_arcs(
    g: weft.Graph, vertices: Array, count: int, draw: Draw, hop: int, direction: Direction
) -> tuple[Array, Array, Array]:
    """Return drawn arcs: the position of the drawing vertex, the other end, the edge.

    They are in the order of the vertices, then of the slots; -1 draws all.
    """
    topology = g.topology
    xp, rows = topology.xp, topology.adjacency(direction)
    begin = rows.offsets[vertices]
    degree = rows.offsets[vertices + 1] - begin
    key = mix(mix(vertices.astype(np.uint64) + _word(GAMMA)) ^ _word((draw.seed << 16) + hop))
    if count < 0:
        owner, slot = _all_slots(xp, begin, degree)
        if draw.weight is not None:
            kept = draw.weight[slot] > 0
            owner, slot = owner[kept], slot[kept]
    elif draw.weight is None:
        choose = _repeated if draw.replace else _distinct
        owner, slot = choose(xp, begin, degree, key, count)
    else:
        weigh = _repeated_by_weight if draw.replace else _distinct_by_weight
        owner, slot = weigh(xp, begin, degree, key, count, draw.weight)
    numbers = topology.edges(direction)
    edge = slot if numbers is None else numbers[slot]
    other = rows.targets[slot].astype(np.int64)
    return owner.astype(np.int64), other, edge.astype(np.int64)


def _word(value: int) -> Any:
    return np.uint64(value % 2**64)


def _units(xp: Any, key: Array, counter: Array) -> Array:
    """Return random numbers in [0, 1), as `weft.random` defines them."""
    bits = mix(key ^ counter.astype(np.uint64) * _word(STEP))
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _all_slots(xp: Any, begin: Array, degree: Array) -> tuple[Array, Array]:
    """Return the slots of all rows, and the position of the row of each."""
    ends = xp.cumsum(degree)
    total = int(ends[-1]) if ends.size else 0
    place = xp.arange(total)
    owner = xp.searchsorted(ends, place, side="right")
    return owner, begin[owner] + place - (ends - degree)[owner]


def _below(units: Array, bound: Array) -> Array:
    """Return integers from 0 to bound - 1 from random numbers in [0, 1)."""
    return (units * bound).astype(np.int64)


def _distinct(xp: Any, begin: Array, degree: Array, key: Array, count: int) -> tuple[Array, Array]:
    """Draw distinct slots by Floyd's method; short rows are taken entirely."""
    few = degree <= count
    chosen = xp.full((degree.size, count), -1, np.int64)
    for turn in range(count):
        last = degree - count + turn  # the largest position of this round
        place = _below(_units(xp, key, xp.full(key.size, turn)), xp.maximum(last + 1, 1))
        taken = (chosen[:, :turn] == place[:, None]).any(axis=1)
        chosen[:, turn] = xp.where(few, xp.where(turn < degree, turn, -1),
                                   xp.where(taken, last, place))  # fmt: skip
    chosen = xp.sort(chosen, axis=1)
    owner, column = xp.nonzero(chosen >= 0)
    return owner, begin[owner] + chosen[owner, column]


def _repeated(xp: Any, begin: Array, degree: Array, key: Array, count: int) -> tuple[Array, Array]:
    """Draw slots of nonempty rows, the requested number of times."""
    owner = xp.repeat(xp.flatnonzero(degree > 0), count)
    turn = xp.arange(owner.size) % max(count, 1)
    place = _below(_units(xp, key[owner], turn), degree[owner])
    return _sorted(xp, owner, begin[owner] + place)


def _distinct_by_weight(
    xp: Any, begin: Array, degree: Array, key: Array, count: int, weight: Array
) -> tuple[Array, Array]:
    """Draw the slots with the smallest exponential times."""
    owner, slot = _all_slots(xp, begin, degree)
    kept = weight[slot] > 0
    owner, slot = owner[kept], slot[kept]
    unit = 1.0 - _units(xp, key[owner], slot - begin[owner])  # above 0
    time = -xp.log(unit) / weight[slot]
    order = xp.lexsort(xp.stack((time, owner.astype(np.float64))))
    held = owner[order]
    rank = xp.arange(held.size) - xp.searchsorted(held, held)
    chosen = order[rank < count]
    return _sorted(xp, owner[chosen], slot[chosen])


def _repeated_by_weight(
    xp: Any, begin: Array, degree: Array, key: Array, count: int, weight: Array
) -> tuple[Array, Array]:
    """Look up random numbers in the prefix sums of each row's weights."""
    owner, slot = _all_slots(xp, begin, degree)
    kept = weight[slot] > 0
    owner, slot = owner[kept], slot[kept]
    first = xp.searchsorted(owner, xp.arange(degree.size))
    end = xp.searchsorted(owner, xp.arange(degree.size), side="right")
    # Each row is scaled to the sum 1, so that heavy rows cost the others no precision.
    total = xp.bincount(owner, weights=weight[slot], minlength=degree.size)
    part = weight[slot] / total[owner]
    upto = xp.cumsum(part)
    base = xp.where(first > 0, upto[xp.maximum(first - 1, 0)], 0.0) if upto.size else part
    drawer = xp.repeat(xp.flatnonzero(end > first), count)
    turn = xp.arange(drawer.size) % max(count, 1)
    wanted = base[drawer] + _units(xp, key[drawer], turn)
    place = xp.searchsorted(upto, wanted, side="right")
    place = xp.clip(place, first[drawer], end[drawer] - 1)
    return _sorted(xp, drawer, slot[place])


def _sorted(xp: Any, owner: Array, slot: Array) -> tuple[Array, Array]:
    """Return draws in the order of the rows and of their slots."""
    order = xp.lexsort(xp.stack((slot, owner)))
    return owner[order], slot[order]
