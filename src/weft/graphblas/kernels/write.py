"""C<M, replace> = C accum T: how a result enters its target."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from weft.graphblas.kernels.masks import MaskView
from weft.graphblas.kernels.merge import comparable, rebuilt, unite, weave
from weft.graphblas.options import current
from weft.graphblas.storage.cast import cast, take
from weft.graphblas.storage.matrix import MatrixStore, empty_matrix
from weft.graphblas.storage.vector import MOST_DENSE, VectorStore, empty_vector

Array = Any


class WritePlan(NamedTuple):
    """How a result T is written: C<mask, replace> = C accum T, cast to C's type.

    `accum` is an operator typed for the target, or None; `mask` a view, or None.
    """

    mask: MaskView | None
    accum: Any
    replace: bool
    np_type: np.dtype


PLAIN: dict[np.dtype, WritePlan] = {}


def plain(np_type: np.dtype) -> WritePlan:
    """Return the plan without mask and accumulator."""
    plan = PLAIN.get(np_type)
    if plan is None:
        plan = PLAIN[np_type] = WritePlan(None, None, False, np_type)
    return plan


def write(old: Any, result: Any, plan: WritePlan) -> Any:
    """Return the entries of a target after a result was written into it."""
    if plan.accum is None and (plan.mask is None or _is_all(old, result, plan)):
        made = result.cast(plan.np_type)
    elif (found := _write_away(old, result, plan)) is not None:
        made = found
    elif isinstance(old, VectorStore) and wants_map(old, result, plan):
        made = write_map(old, result, plan)
    else:
        made = write_list(old, result, plan)
    switch = current["switch"]
    if switch != "auto" and isinstance(old, VectorStore):
        return made.followed(old, switch)
    return made


def _write_away(old: Any, result: Any, plan: WritePlan) -> Any:
    """Return a vector that is written on a device; None for all others."""
    if not isinstance(old, VectorStore):
        return None
    read = (old, result) if plan.mask is None else (old, result, plan.mask.store)
    if not any(each.is_away for each in read):
        return None
    from weft.graphblas.gpu import places

    return places.attempt(places.write, old, result, plan) if places.is_away(*read) else None


def _is_all(old: Any, result: Any, plan: WritePlan) -> bool:
    """Return whether a result that its mask has been applied to is all that the target gets."""
    if result.masked_by is None or result.masked_by is not plan.mask:
        return False
    # A device is not waited for to find out that the target has no values.
    return plan.replace or (not old.is_away and old.nvals == 0)


def accumulate(plan: WritePlan) -> Any:
    """Return the function that combines a target's values with a result's."""
    op = plan.accum
    left, right = op.type.np_type, op.type2.np_type

    def combine(x: Array, y: Array) -> Array:
        return cast(op.evaluate(cast(x, left), cast(y, right)), plan.np_type)

    return combine


def write_list(old: Any, result: Any, plan: WritePlan) -> Any:
    """Write by merging sorted keys."""
    mask, accum, replace, np_type = plan
    stores = [old, result]
    if mask is None:
        keys = comparable(stores)
        out = unite((keys[0], old.values), (keys[1], result.values), accumulate(plan), np_type)
        return rebuilt(old, stores, keys, out)
    view = mask
    if isinstance(old, MatrixStore) and not old.has_keys:
        stores.append(mask.entries())
        keys = comparable(stores)
        view = MaskView(KeyList(keys[2]), True, mask.complement)
    else:
        keys = comparable(stores)
    new_keys, new_values = keys[1], result.values
    if len(new_keys):
        chosen = view.admits(new_keys)
        if not chosen.all():
            new_keys, new_values = new_keys[chosen], take(new_values, chosen)
    if accum is not None and not replace:
        # New values are inside of the mask: old ones outside meet none, and stay.
        mine = keys[0], old.values
        out = unite(mine, (new_keys, new_values), accumulate(plan), np_type)
        return rebuilt(old, stores, keys, out)
    inside = view.admits(keys[0])
    if accum is None:
        out = new_keys, cast(new_values, np_type)
    else:
        mine = keys[0][inside], take(old.values, inside)
        out = unite(mine, (new_keys, new_values), accumulate(plan), np_type)
    if not replace:
        outside = ~inside
        out = weave(keys[0][outside], take(old.values, outside), *out)
    return rebuilt(old, stores, keys, out)


class KeyList:
    """Bare keys in the place of a store, for masks."""

    __slots__ = ("keys", "nvals")

    def __init__(self, keys: Array) -> None:
        self.keys, self.nvals = keys, len(keys)


def wants_map(old: VectorStore, result: VectorStore, plan: WritePlan) -> bool:
    """Return whether a vector's write is better done place by place than by merging."""
    if old.size > MOST_DENSE or old.size < 256:
        return False
    most = max(old.nvals, result.nvals)
    if plan.mask is not None and not plan.mask.complement:
        most = max(most, plan.mask.store.nvals)
    return most * 8 > old.size


def write_map(old: VectorStore, result: VectorStore, plan: WritePlan) -> VectorStore:
    """Write place by place."""
    mask, accum, replace, np_type = plan
    there = result.there()
    admitted = None if mask is None else mask.map()
    if admitted is not None:
        there = there & admitted
    mine = old.there()
    if accum is None:
        if replace or admitted is None or old.nvals == 0:
            return VectorStore.from_map(cast(result.dense, np_type), there)
        chosen: Array = np.where(there, cast(result.dense, np_type), old.dense)
        return VectorStore.from_map(chosen, there | (mine & ~admitted))
    dense: Array = np.where(there, cast(result.dense, np_type), old.dense)
    both = there & mine
    if both.all():
        dense = accumulate(plan)(old.dense, result.dense)
    elif both.any():
        at = np.flatnonzero(both)
        dense[at] = accumulate(plan)(old.dense[at], result.dense[at])
    kept = there | (mine & admitted if replace and admitted is not None else mine)
    return VectorStore.from_map(dense, kept)


def empty_like(store: Any, np_type: np.dtype) -> Any:
    """Return a store of the same shape without values."""
    if isinstance(store, VectorStore):
        return empty_vector(store.size, np_type)
    return empty_matrix(store.shape, np_type)
