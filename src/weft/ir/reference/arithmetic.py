"""The meaning of each op, as NumPy functions of single numbers and whole arrays.

Integers wrap and x // 0 and x % 0 of them are 0 (floats give NumPy's infinities and NaN). Shift
counts are taken modulo the width, float to integer saturates and NaN gives 0, min and max ignore
NaN. Sums over features run from left to right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from weft.ir.elementwise import OPS
from weft.ir.ops import FEATURE, Reduction, Value, identity_of


class Fault(Exception):
    """An undefined computation; the caller adds the function and the vertex."""

    line = ""  # the user's


def cast(x: Any, dtype: np.dtype[Any]) -> Any:
    """Return numbers in another dtype: integers wrap, floats saturate, NaN gives 0."""
    x = np.asarray(x)
    if dtype.kind == "b":
        return x != 0
    if x.dtype.kind != "f" or dtype.kind == "f":
        return x.astype(dtype)
    info = np.iinfo(dtype)
    low, high = float(info.min), float(info.max) + 1 if dtype.itemsize < 8 else float(info.max)
    whole = np.trunc(x.astype(np.float64))
    inside = (whole > low) & (whole < high)
    result = np.where(inside, whole, 0).astype(dtype)
    result = np.where(whole >= high, dtype.type(info.max), result)
    return np.where(whole <= low, dtype.type(info.min), result)


def elementwise(value: Value, args: Sequence[Any], axes: int = 0) -> Any:
    """Compute an elementwise op; operands have `axes` leading axes before their features."""
    rank = len(value.shape)
    operands = [np.asarray(x) for x in args]
    if rank:
        for k, (operand, x) in enumerate(zip(value.args, operands, strict=True)):
            filler = (1,) * (rank - len(operand.shape))
            operands[k] = x.reshape(x.shape[:axes] + filler + x.shape[axes:])
    if value.op == "cast":
        return cast(operands[0], value.dtype)[()]
    if value.op == "bitcast":
        return operands[0].view(value.dtype)[()]
    if value.op == "broadcast":
        front = operands[0].shape[:axes]
        return np.broadcast_to(operands[0], front + value.shape)
    meaning = np.where if value.op == "select" else OPS[value.op].meaning
    return np.asarray(meaning(*operands)).astype(value.dtype, copy=False)[()]


# -- reductions

_COMBINE: dict[str, Callable[..., Any]] = {
    "sum": np.add, "prod": np.multiply, "min": np.fmin, "max": np.fmax,
    "or": np.bitwise_or, "and": np.bitwise_and,
}  # fmt: skip


def combine(name: str, a: Any, b: Any) -> Any:
    """Return a ⊕ b under a monoid that is neither selecting nor user-made."""
    return _COMBINE[name](a, b)


def start_of(reduction: Reduction, dtype: np.dtype[Any], shape: tuple[int, ...] = ()) -> Any:
    """Return the identity of a reduction in a dtype and shape."""
    return np.full(shape, identity_of(reduction, dtype), dtype)[()]


def improves(name: str, key: Any, best: Any) -> bool:
    """Whether a key of argmin or argmax is strictly better than the best one so far."""
    return bool(key < best) if name.startswith("argmin") else bool(key > best)


def most_frequent(messages: Sequence[Any]) -> Any:
    """Return the most frequent message, the smallest one on ties; NaNs are one, the greatest."""
    counts: dict[Any, int] = {}
    for message in messages:
        number = message.item()
        number = number if number == number else np.nan
        counts[number] = counts.get(number, 0) + 1
    best = max(counts.values())
    winners = [number for number, count in counts.items() if count == best]
    return messages[0].dtype.type(min(winners, key=lambda x: (x != x, x)))


def heaviest(messages: Sequence[tuple[Any, Any]]) -> tuple[Any, Any]:
    """Return the key of the greatest total weight, the smallest on ties, and that weight.

    A total that is NaN is the least.
    """
    totals: dict[Any, Any] = {}
    for key, weight in messages:
        totals[key] = np.add(totals[key], weight) if key in totals else weight
    best = min(totals)
    for key in sorted(totals):
        if totals[key] > totals[best] or (np.isnan(totals[best]) and not np.isnan(totals[key])):
            best = key
    return best, totals[best]


# -- features of one value


def _dot(_: Value, a: Any, b: Any) -> Any:
    return _sum_left(a * b)


def _sum_left(terms: Any) -> Any:
    """Add along the first axis from left to right, in the dtype of the terms."""
    total = np.zeros(terms.shape[1:], terms.dtype)[()]
    for term in terms:
        total = np.add(total, term)
    return total


def _matvec(_: Value, a: Any, x: Any) -> Any:
    return _sum_left(a.T * x[:, None])


def _matvec_max(value: Value, a: Any, x: Any) -> Any:
    start = start_of(Reduction("max"), value.dtype)
    return np.fmax.reduce(a * x, axis=1, initial=start)


def _matmul(_: Value, a: Any, b: Any) -> Any:
    return _sum_left(a.T[:, :, None] * b[:, None, :])


def _eliminate(matrix: Any, right: Any) -> Any:
    """Solve by Gauss-Jordan elimination with partial pivoting, in the dtype of the matrix."""
    a, x = np.array(matrix), np.array(right)
    for column in range(len(a)):
        pivot = column + int(np.argmax(np.abs(a[column:, column])))
        if not abs(a[pivot, column]) > 0:
            raise Fault("singular matrix")
        a[[column, pivot]], x[[column, pivot]] = a[[pivot, column]], x[[pivot, column]]
        x[column] = x[column] / a[column, column]
        a[column] = a[column] / a[column, column]
        for row in range(len(a)):
            if row != column:
                x[row] = x[row] - a[row, column] * x[column]
                a[row] = a[row] - a[row, column] * a[column]
    return x


def _solve(value: Value, a: Any, b: Any) -> Any:
    if value.attr != "spd":
        return _eliminate(a, b)
    lower, x = np.tril(a), np.array(b)
    for j in range(len(a)):  # A = L Lᵀ column by column, and L y = b on the way
        for k in range(j):
            lower[j:, j] = lower[j:, j] - lower[j:, k] * lower[j, k]
            x[j] = x[j] - lower[j, k] * x[k]
        if not lower[j, j] > 0:
            raise Fault("matrix not positive definite")
        lower[j:, j] = lower[j:, j] / np.sqrt(lower[j, j])
        x[j] = x[j] / lower[j, j]
    for i in reversed(range(len(a))):  # Lᵀ x = y
        for k in range(i + 1, len(a)):
            x[i] = x[i] - lower[k, i] * x[k]
        x[i] = x[i] / lower[i, i]
    return x


def _normalize(value: Value, x: Any) -> Any:
    if value.attr == "softmax":
        x = np.exp(x - np.fmax.reduce(x))
    if value.attr == "l2":
        divisor = np.sqrt(_sum_left(x * x))
    else:
        divisor = np.fmax.reduce(x) if value.attr == "max" else _sum_left(x)
    return x if divisor == 0 else x / divisor


def _feature_reduce(value: Value, x: Any) -> Any:
    total = start_of(Reduction(value.attr), value.dtype)
    for feature in x.reshape(-1):
        total = combine(value.attr, total, feature)
    return total


def _best_feature(value: Value, x: Any) -> Any:
    name = value.op.removesuffix("_feature")
    position, best = 0, start_of(Reduction(name), x.dtype)
    for i, feature in enumerate(x):
        if improves(name, feature, best):
            position, best = i, feature
    return position


def _index(_: Value, x: Any, position: Any) -> Any:
    if not 0 <= position < len(x):
        raise Fault(f"index out of range: feature {position} of {len(x)}")
    return x[int(position)]


def _take(value: Value, x: Any, places: Any) -> Any:
    return np.array([_index(value, x, place) for place in places])


def _scatter(value: Value, x: Any, places: Any, values: Any) -> Any:
    x = np.array(x)
    for place, new in zip(places, values, strict=True):
        _index(value, x, place)
        x[place] = new
    return x


_FEATURE: dict[str, Callable[..., Any]] = {
    "outer": lambda _, a, b: a[:, None] * b[None, :],
    "dot": _dot,
    "matvec": _matvec,
    "matvec_max": _matvec_max,
    "matmul": _matmul,
    "transpose": lambda _, a: a.T,
    "solve": _solve,
    "inverse": lambda _, a: _eliminate(a, np.eye(len(a), dtype=a.dtype)),
    "normalize": _normalize,
    "feature_reduce": _feature_reduce,
    "argmin_feature": _best_feature,
    "argmax_feature": _best_feature,
    "eye": lambda value: np.eye(value.attr),
    "stack": lambda _, *parts: np.stack(parts),
    "index": _index,
    "iota": lambda value: np.arange(value.attr),
    "take": _take,
    "scatter": _scatter,
}


def features(value: Value, args: Sequence[Any]) -> Any:
    """Compute a feature op on the operands of one vertex or arc."""
    return np.array(_FEATURE[value.op](value, *args)).astype(value.dtype)[()]


assert set(_FEATURE) == FEATURE
