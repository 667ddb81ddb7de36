"""Set operations of two sorted frontiers, cut into equal shares by balanced path."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from weft.arrays.checks import integer_of
from weft.arrays.device import module_of
from weft.engine.frontier import Frontier
from weft.errors import ConfigError, shortened
from weft.operators.queue import checked
from weft.operators.running import check_choice
from weft.operators.values import recording_ends

Array = np.ndarray[Any, Any]
OPERATIONS = ("union", "intersection", "difference", "symmetric_difference")


def set_transform(
    g: Any, a: Any, b: Any, operation: str = "union", *, partitions: int = 1
) -> Frontier:
    """Return the union, intersection or difference of two frontiers.

    Parameters
    ----------
    g
        The graph.
    a, b
        Two frontiers of vertices; None for all.
    operation
        "union", "intersection", "difference" (in a but not in b) or "symmetric_difference".
    partitions
        Into how many shares of equal size the merged frontiers are cut. Each share is computed by
        itself; the result does not depend on their number.

    Examples
    --------
    >>> import weft
    >>> from weft.operators import set_transform
    >>> g = weft.generators.path(6)
    >>> set_transform(g, [0, 2, 4], [1, 2], "union", partitions=2).tolist()
    [0, 1, 2, 4]
    >>> set_transform(g, [0, 2, 4], [1, 2], "difference").tolist()
    [0, 4]
    """
    check_choice("operation", operation, OPERATIONS)
    count = integer_of(partitions)
    if count is None or count < 1:
        raise ConfigError(
            f"partitions={shortened(partitions)} is not possible. Expected an integer from 1 on."
        )
    recording_ends("set_transform")
    first, second = (checked(g, part, "set_transform") for part in (a, b))
    with g.topology.device.current():
        left, right = first.items, second.items
        ends = balanced_path(left, right, count)
        shares = [_share(left[i:k], right[j:m], operation) for (i, j), (k, m) in pairwise(ends)]
        found = shares[0] if count == 1 else module_of(left).concatenate(shares)
        made: Frontier = g.frontier(found.astype(g.topology.index_dtype))
    made.iteration = max(first.iteration, second.iteration)
    return made


def balanced_path(a: Array, b: Array, partitions: int) -> list[tuple[int, int]]:
    """Return the boundaries of shares of two sorted arrays of distinct numbers.

    The shares are cut on diagonals of the merge of both. A cut between two equal numbers moves past
    the second one, so that a share holds both or neither.

    Examples
    --------
    >>> import numpy as np
    >>> balanced_path(np.array([0, 2, 4]), np.array([1, 2]), 2)
    [(0, 0), (1, 1), (3, 2)]
    """
    total = a.size + b.size
    cuts = [total * share // partitions for share in range(partitions + 1)]
    return [_cut(a, b, diagonal) for diagonal in cuts]


def _cut(a: Array, b: Array, diagonal: int) -> tuple[int, int]:
    """Return how many numbers of either array come first on a diagonal of their merge."""
    low, high = max(0, diagonal - b.size), min(diagonal, a.size)
    while low < high:
        middle = (low + high) // 2
        if a[middle] <= b[diagonal - 1 - middle]:
            low = middle + 1
        else:
            high = middle
    i, j = low, diagonal - low
    if i and j < b.size and a[i - 1] == b[j]:
        j += 1
    return i, j


def _share(a: Array, b: Array, operation: str) -> Array:
    """Return one share of a set operation: sorted, without duplicates."""
    xp = module_of(a)
    if operation == "union":
        return xp.union1d(a, b)
    if operation == "symmetric_difference":
        parts = (_without(a, b, True), _without(b, a, True))
        return xp.sort(xp.concatenate(parts))
    return _without(a, b, operation == "difference")


def _without(a: Array, b: Array, dropped: bool) -> Array:
    """Return the numbers of a sorted array that are not in another one, or those that are."""
    if not b.size:
        return a if dropped else a[:0]
    xp = module_of(a)
    place = xp.minimum(xp.searchsorted(b, a), b.size - 1)
    return a[(b[place] != a) if dropped else (b[place] == a)]
