"""Reductions of messages by the row that they go to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.ir.ops import Reduction, total_dtype

Array = np.ndarray[Any, Any]

_SCATTER = {
    "sum": np.add, "prod": np.multiply, "min": np.fmin, "max": np.fmax,
    "or": np.bitwise_or, "and": np.bitwise_and,
}  # fmt: skip
REDUCTIONS = frozenset(_SCATTER) | {"any", "argmin", "argmax", "mode"}
"""The monoids that are known here: all but user-made ones."""


def reduce_rows(
    reduction: Reduction, totals: Sequence[Array], rows: Array, messages: Sequence[Array], ids: Any
) -> None:
    """Combine messages with the totals of their rows, in place.

    Parameters
    ----------
    reduction
        The monoid.
    totals
        What each row holds: its old value, or the identity; one array per part of a message.
    rows
        The row of each message.
    messages
        The parts of the messages.
    ids
        The edge of each message: where several could be chosen, the smallest is.
    """
    if not len(rows):
        return
    if reduction.name == "mode":
        _heaviest(totals, rows, messages)
    elif reduction.selecting:
        _select(reduction.name, totals, rows, messages, ids)
    else:
        _scatter(reduction, totals[0], rows, messages[0])


def _scatter(reduction: Reduction, total: Array, rows: Array, message: Array) -> None:
    combine = _SCATTER[reduction.name]
    wide = total_dtype(reduction, total.dtype)
    if wide == total.dtype:
        combine.at(total, rows, message)
        return
    summed = total.astype(wide)
    combine.at(summed, rows, message)
    total[...] = summed


def _select(
    name: str, totals: Sequence[Array], rows: Array, messages: Sequence[Array], ids: Any
) -> None:
    order = np.lexsort((ids, rows))
    rows, messages = rows[order], [message[order] for message in messages]
    first = _starts(rows)
    chosen = first
    if name != "any":
        fold = np.fmin if name == "argmin" else np.fmax
        best = fold.reduceat(messages[0], first)
        attains = np.flatnonzero(messages[0] == np.repeat(best, np.diff(first, append=len(rows))))
        chosen = attains[_starts(rows[attains])]
        held, key = totals[0][rows[chosen]], messages[0][chosen]
        chosen = chosen[key < held if name == "argmin" else key > held]
    for total, message in zip(totals, messages, strict=True):
        total[rows[chosen]] = message[chosen]


def _heaviest(totals: Sequence[Array], rows: Array, messages: Sequence[Array]) -> None:
    """Store the key of each row that is most frequent, or has the greatest total weight.

    On ties it is the smallest one; a total that is NaN is the least.
    """
    order = np.lexsort((messages[0], rows))
    rows, keys = rows[order], messages[0][order]
    runs = np.flatnonzero(np.append(True, (rows[1:] != rows[:-1]) | (keys[1:] != keys[:-1])))
    if len(messages) > 1:
        weight = np.add.reduceat(messages[1][order], runs, dtype=messages[1].dtype)
    else:
        weight = np.diff(runs, append=len(rows))
    rows, keys = rows[runs], keys[runs]
    _, place = np.unique(weight, return_inverse=True)  # NaN sorts last
    lightest = np.where(weight == weight, -place, 1)
    best = np.lexsort((keys, lightest, rows))
    best = best[_starts(rows[best])]
    for total, part in zip(totals, (keys, weight), strict=False):
        total[rows[best]] = part[best]


def _starts(rows: Array) -> Array:
    """Return where each new row begins, given ascending rows."""
    if not len(rows):
        return np.zeros(0, np.intp)
    return np.flatnonzero(np.append(True, rows[1:] != rows[:-1]))
