"""Combines partial results of two blocks: hidden fields and scalars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from weft.backends.blocks.stages import Group
from weft.ir.ops import Reduction, identity_of, total_dtype
from weft.ir.reference.evaluate import evaluate_arrays

Array = np.ndarray[Any, Any]

_MEANINGS = {
    "sum": np.add, "prod": np.multiply, "min": np.fmin, "max": np.fmax, "or": np.bitwise_or,
    "and": np.bitwise_and,
}  # fmt: skip


def combined(reduction: Reduction, a: Any, b: Any) -> Any:
    """Return a ⊕ b, element by element, for monoids that do not select."""
    with np.errstate(all="ignore"):
        if reduction.name in _MEANINGS:
            return _MEANINGS[reduction.name](a, b)
        assert reduction.combine is not None
        return _user(reduction, np.asarray(a), np.asarray(b))


def _user(reduction: Reduction, a: Array, b: Array) -> Array:
    """Return a ⊕ b of a user's monoid, whose parameters are evaluated like fields."""
    import copy

    block = copy.deepcopy(reduction.combine)
    assert block is not None
    for position, param in enumerate(block.params):
        param.op, param.attr = "load", ("side", position)
    shape = np.broadcast_shapes(a.shape, b.shape)
    sides = [np.broadcast_to(side, shape).reshape(-1) for side in (a, b)]
    block.body = [*block.params, *block.body]
    block.params = ()
    result = evaluate_arrays(block, lambda attr: sides[attr[1]])
    return np.broadcast_to(result, sides[0].shape).reshape(shape)


def merge(
    groups: tuple[Group, ...], fields: Mapping[str, Array], ids: Array, values: Mapping[str, Array]
) -> None:
    """Combine the messages of one block to some vertices with those of other blocks."""
    for group in groups:
        first = group.names[0]
        held, came = fields[first], values[first]
        if group.reduction.name == "any":
            for name in group.names:
                fields[name][ids] = values[name]
        elif group.reduction.name in ("argmin", "argmax"):
            present = held[ids]
            better = came < present if group.reduction.name == "argmin" else came > present
            for name in group.names:
                fields[name][ids[better]] = values[name][better]
        else:
            held[ids] = combined(group.reduction, held[ids], came)


def start_of_scalar(reduction: Reduction, dtype: np.dtype[Any]) -> Any:
    """Return the initial value of a scalar's total."""
    wide = total_dtype(reduction, dtype)
    return np.full(1, identity_of(reduction, wide), wide)[0]
