"""The community order by array operations on a GPU; gives the same result as `community`.

Sorts replace the tables of the compiled loops: the arcs of a class of vertices are sorted by
(vertex, community of the target), so that the arcs from a vertex to a community form a run. Weights
are integers in float64 and all sums exact, so the order does not depend on the device.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from weft.arrays.device import module_of
from weft.topology.adjacency_gpu import greatest_of_keys, row_of_slots, sums_of_keys
from weft.topology.orders.community import CLASSES, FEW, SWEEPS, class_of, unfolded

Array = Any

_SIGN: Final = np.int64(-(2**63))


@dataclass
class _Arcs:
    """A set of arcs: both ends, and weights unless all are 1."""

    rows: Array
    targets: Array
    weights: Array | None

    def chosen(self, keep: Array) -> _Arcs:
        """Return the arcs selected by a mask."""
        found = module_of(keep).flatnonzero(keep)
        weights = None if self.weights is None else self.weights[found]
        return _Arcs(self.rows[found], self.targets[found], weights)


def community_order(offsets: Array, targets: Array, directed: bool) -> Array:
    """Return a permutation that places communities together, on the device of the arcs."""
    xp, n = module_of(targets), int(offsets.size) - 1
    rows = row_of_slots(offsets, targets.size, targets.dtype)
    if directed:
        rows, targets = xp.concatenate((rows, targets)), xp.concatenate((targets, rows))
    total = float(rows.size)
    arcs = _added_up(_Arcs(rows, targets, None), n, xp)
    steps: list[Array] = []
    while arcs.rows.size:
        community = _communities(arcs, n, total, xp)
        held = xp.zeros(n, np.int64)
        held[community] = 1
        count = int(held.sum())
        if count == n:
            break
        step = (xp.cumsum(held) - 1)[community]
        steps.append(step)
        n = count
        arcs = _added_up(_Arcs(step[arcs.rows], step[arcs.targets], arcs.weights), n, xp)
    return unfolded(steps, int(offsets.size) - 1, xp)


def _added_up(arcs: _Arcs, n: int, xp: Any) -> _Arcs:
    """Return arcs sorted by their ends, with parallel arcs merged and their weights summed."""
    bits = max(n - 1, 1).bit_length()
    keys, weights = _sorted_keys(arcs.rows, arcs.targets, arcs.weights, bits, xp)
    starts, sums = _runs(keys, weights, xp)
    keys = keys[starts]
    # Weights need not be stored if all are 1.
    plain = arcs.weights is None and int(starts.size) == int(arcs.rows.size)
    dtype = arcs.rows.dtype
    rows, targets = (keys >> bits).astype(dtype), (keys & ((1 << bits) - 1)).astype(dtype)
    return _Arcs(rows, targets, None if plain else sums)


def _sorted_keys(
    rows: Array, columns: Array, weights: Array | None, bits: int, xp: Any
) -> tuple[Array, Array | None]:
    """Return pairs as sorted packed keys, and the weights in that order."""
    keys = rows.astype(np.int64)
    keys <<= bits
    keys |= columns
    if weights is None:
        keys.sort()
        return keys, None
    order = xp.argsort(keys, kind="stable")
    return keys[order], weights[order]


def _runs(keys: Array, weights: Array | None, xp: Any) -> tuple[Array, Array]:
    """Return the start of each run of equal keys, and the sum of its weights."""
    first = xp.ones(keys.size, np.bool_)
    first[1:] = keys[1:] != keys[:-1]
    starts = xp.flatnonzero(first)
    ends = xp.concatenate((starts[1:], xp.full(min(1, int(keys.size)), keys.size, starts.dtype)))
    if weights is None:
        return starts, (ends - starts).astype(np.float64)
    before = xp.zeros(int(keys.size) + 1)
    before[1:] = xp.cumsum(weights)
    return starts, before[ends] - before[starts]


def _communities(arcs: _Arcs, n: int, total: float, xp: Any) -> Array:
    """Return a community for each vertex; see `community._communities`."""
    ones = xp.ones(arcs.rows.size) if arcs.weights is None else arcs.weights
    weight = sums_of_keys(arcs.rows, ones, n)
    del ones
    community, volume = xp.arange(n, dtype=np.int64), weight.copy()
    kind = class_of(n, xp)
    outward = arcs.rows != arcs.targets
    classes = [arcs.chosen(outward & (kind[arcs.rows] == k)) for k in range(CLASSES)]
    for _ in range(SWEEPS):
        moved = 0
        for part in classes:
            if part.rows.size:
                rows, chosen = _better(part, community, weight, volume, total, n, xp)
                community[rows] = chosen
                moved += int(rows.size)
                volume = sums_of_keys(community, weight, n)
        if moved <= FEW * n:
            break
    return community


def _better(
    part: _Arcs, community: Array, weight: Array, volume: Array, total: float, n: int, xp: Any
) -> tuple[Array, Array]:
    """Return the vertices of a class that gain by moving, and their new communities."""
    bits = max(n - 1, 1).bit_length()
    keys, weights = _sorted_keys(part.rows, community[part.targets], part.weights, bits, xp)
    starts, sums = _runs(keys, weights, xp)
    keys = keys[starts]
    rows, others = keys >> bits, keys & ((1 << bits) - 1)
    own = others == community[rows]
    gains = sums - weight[rows] * volume[others] / total
    gains[own] = -np.inf
    best = _first_best(rows, gains, n, xp)
    present = rows[best]
    to_own = xp.zeros(n)
    to_own[rows[own]] = sums[own]
    mine, home = weight[present], volume[community[present]]
    staying = to_own[present] - mine * (home - mine) / total
    moves = gains[best] > staying
    return present[moves], others[best][moves]


def _first_best(rows: Array, gains: Array, n: int, xp: Any) -> Array:
    """Return the first position of the best gain in each of `n` ascending rows."""
    rank = _rank_of(gains, xp)
    most = greatest_of_keys(rows, rank, n)
    reached = xp.flatnonzero(rank == most[rows])
    first = xp.ones(reached.size, np.bool_)
    first[1:] = rows[reached[1:]] != rows[reached[:-1]]
    return reached[first]


def _rank_of(values: Array, xp: Any) -> Array:
    """Return nonzero 64-bit integers in the same order as the given floats; no NaN allowed."""
    bits = values.view(np.int64)
    # The order of negative floats is opposite to that of their bits; positive ones come after.
    return xp.where(bits < 0, ~bits, bits ^ _SIGN).view(np.uint64)
