"""Aggregators: reductions that are more than a monoid, such as mean and variance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.graphblas.dtypes import (
    ALL,
    BOOL,
    FLOATS,
    FP32,
    FP64,
    INT32,
    INT64,
    INTEGERS,
    NUMBERS,
    UINT64,
    DataType,
    lookup_dtype,
)
from weft.graphblas.operators.base import Namespace
from weft.graphblas.operators.monoid import monoid
from weft.graphblas.storage.cast import cast

Array = Any
agg = Namespace("agg", "Aggregators.")


class TypedAggregator:
    """An aggregator for one type."""

    opclass = "Aggregator"
    is_positional = False

    def __init__(self, parent: Aggregator, type_: DataType, return_type: DataType) -> None:
        self.parent, self.name = parent, parent.name
        self.type, self.return_type = type_, return_type

    def __repr__(self) -> str:
        return f"agg.{self.name}[{self.type}]"

    def segments(self, values: Array, starts: Array, places: Array = None) -> Array:
        """Aggregate runs of values, none empty; `places` says where each value stands."""
        return self.parent._segments(self, values, starts, places)

    def typed(self, dtype: Any) -> TypedAggregator:
        """Return itself."""
        return self

    def __call__(self, val: Any, *, rowwise: bool = False, columnwise: bool = False) -> Any:
        return _call(self, val, rowwise, columnwise)


class Aggregator:
    """A reduction of values to one.

    Parameters
    ----------
    name
        Its name.
    composite
        Aggregators whose results `finalize` combines.
    finalize
        A function of their results, and of options, that returns an expression.
    types
        Aggregators, the first of which says what types there are.
    """

    opclass = "Aggregator"
    is_positional = False

    def __init__(  # noqa: PLR0913 -- options of a public class, by keyword
        self,
        name: str,
        *,
        composite: Any = None,
        finalize: Any = None,
        types: Any = None,
        monoid: Any = None,
        any_dtype: DataType | None = None,
        compute: Callable[[Array, Array, Array], Array] | None = None,
        table: dict[DataType, DataType] | None = None,
    ) -> None:
        self.name = name
        self.monoid = monoid
        self._composite, self._finalize = composite, finalize
        self._compute, self._any_dtype = compute, any_dtype
        if table is None and types:
            first = types[0]
            table = dict(first.types)
        self.types: dict[DataType, DataType] = table or {}
        self._typed: dict[DataType, TypedAggregator] = {}

    def __repr__(self) -> str:
        return f"agg.{self.name}"

    def __getitem__(self, key: Any) -> TypedAggregator:
        type_ = lookup_dtype(key)
        if type_ not in self.types:
            raise KeyError(f"{self.name} does not work with {type_}.")
        if type_ not in self._typed:
            self._typed[type_] = TypedAggregator(self, type_, self.types[type_])
        return self._typed[type_]

    def __contains__(self, key: Any) -> bool:
        return lookup_dtype(key) in self.types

    def typed(self, dtype: Any) -> TypedAggregator:
        """Return the form for values of a type; counts have a type of their own."""
        return self[dtype if self._any_dtype is None else self._any_dtype]

    def __call__(self, val: Any, *, rowwise: bool = False, columnwise: bool = False) -> Any:
        return _call(self, val, rowwise, columnwise)

    def __reduce__(self) -> Any:
        return _named, (self.name,)

    def _segments(
        self, typed: TypedAggregator, values: Array, starts: Array, places: Array
    ) -> Array:
        np_type = typed.return_type.np_type
        with np.errstate(all="ignore"):
            if self._composite is not None:
                return cast(self._combined(typed, values, starts), np_type)
            if self.monoid is not None:
                of = self.monoid[typed.type]
                found = of.segments(cast(values, of.type.np_type), starts)
            else:
                lengths = np.diff(np.append(starts, len(values)))
                if self._any_dtype is None:
                    values = cast(values, typed.type.np_type)
                found = self._compute(values, starts, lengths)  # type: ignore[misc]
        return cast(np.asarray(found), np_type)

    def _combined(self, typed: TypedAggregator, values: Array, starts: Array) -> Array:
        from weft.graphblas.vector import Vector

        parts = []
        for each in self._composite:
            part = each.typed(typed.type)
            parts.append(Vector.from_dense(part.segments(values, starts), dtype=part.return_type))
        made = self._finalize(*parts, {})
        return made.new().to_dense()


class Picker(Aggregator):
    """An aggregator that picks one value of each run, or the place where it stands.

    Parameters
    ----------
    name
        Its name.
    pick
        A function of values, starts and lengths of runs that returns where the picked ones are.
    table
        Result types by input types.
    of_places
        Whether the result is the place instead of the value.
    """

    def __init__(
        self, name: str, pick: Any, table: dict[DataType, DataType], of_places: bool
    ) -> None:
        super().__init__(name, table=table)
        self._pick, self.is_positional = pick, of_places

    def _segments(
        self, typed: TypedAggregator, values: Array, starts: Array, places: Array
    ) -> Array:
        at = self._pick(values, starts, np.diff(np.append(starts, len(values))))
        found = places if self.is_positional else values
        return cast(found[at], typed.return_type.np_type)


def _named(name: str) -> Aggregator:
    return getattr(agg, name)


def _call(op: Any, val: Any, rowwise: bool, columnwise: bool) -> Any:
    """Reduce a vector or matrix, by row or column if asked for."""
    kind = getattr(val, "_output", None)
    if rowwise and columnwise:
        raise ValueError("rowwise and columnwise arguments cannot both be True.")
    if kind == "Vector":
        for name, given in (("rowwise", rowwise), ("columnwise", columnwise)):
            if given:
                raise ValueError(f"{name} aggregation is for matrices; got a Vector.")
        return val.reduce(op)
    if kind in {"Matrix", "TransposedMatrix"}:
        if rowwise:
            return val.reduce_rowwise(op)
        return val.reduce_columnwise(op) if columnwise else val.reduce_scalar(op)
    raise TypeError(
        f"Bad type when calling {op!r}: {type(val).__name__}. Expected a Vector or Matrix."
    )


def _sum(values: Array, starts: Array) -> Array:
    return np.add.reduceat(values, starts)


def _floats(values: Array) -> Array:
    return values if values.dtype.kind == "f" else values.astype(np.float64)


def _mean(values: Array, starts: Array, lengths: Array) -> Array:
    return _sum(_floats(values), starts) / lengths


def _moments(values: Array, starts: Array, lengths: Array) -> Array:
    """Return the sum of squared deviations from the mean of each run."""
    values = _floats(values)
    mean = _sum(values, starts) / lengths
    return _sum((values - np.repeat(mean, lengths)) ** 2, starts)


def _log_sum(values: Array, starts: Array, lengths: Array, exp: Any, log: Any) -> Array:
    values = _floats(values).astype(np.float64)
    top = np.maximum.reduceat(values, starts)
    return log(_sum(exp(values - np.repeat(top, lengths)), starts)) + top


def _squares(values: Array) -> Array:
    return values * values


NORMS = {
    "L0norm": lambda v, s, n: _sum((v != 0).astype(np.int64), s),
    "L1norm": lambda v, s, n: _sum(np.abs(v), s),
    "L2norm": lambda v, s, n: np.sqrt(_sum(_squares(v.astype(np.float64)), s)),
    "Linfnorm": lambda v, s, n: np.fmax.reduceat(v if v.dtype.kind in "bu" else np.abs(v), s),
}
COUNTS = {
    "count": lambda v, s, n: n,
    "count_nonzero": lambda v, s, n: _sum((v != 0).astype(np.int64), s),
    "count_zero": lambda v, s, n: _sum((v == 0).astype(np.int64), s),
}
TO_FP64 = dict.fromkeys(NUMBERS, FP64)
MEANS = {**dict.fromkeys((BOOL, *INTEGERS), FP64), FP32: FP32, FP64: FP64}
SAME = {type_: type_ for type_ in ALL}
NUMERIC = {type_: type_ for type_ in NUMBERS}
SQUARES = {
    **dict.fromkeys(INTEGERS, INT64),
    UINT64: FP64,
    **dict.fromkeys(FLOATS, FP64),
}

TABLES: dict[str, tuple[Any, dict[DataType, DataType]]] = {
    **{name: (func, NUMERIC) for name, func in COUNTS.items()},
    "L0norm": (NORMS["L0norm"], NUMERIC),
    "L1norm": (NORMS["L1norm"], NUMERIC),
    "L2norm": (NORMS["L2norm"], TO_FP64),
    "Linfnorm": (NORMS["Linfnorm"], SAME),
    "hypot": (NORMS["L2norm"], TO_FP64),
    "exists": (lambda v, s, n: np.ones(len(s)), SAME),
    "peak_to_peak": (lambda v, s, n: _peaks(v, s), SAME),
    "sum_of_squares": (lambda v, s, n: _sum(_squares(_wide(v)), s), SQUARES),
    "sum_of_inverses": (lambda v, s, n: _sum(1.0 / v.astype(np.float64), s), TO_FP64),
    "harmonic_mean": (lambda v, s, n: n / _sum(1.0 / v.astype(np.float64), s), TO_FP64),
    "logaddexp": (lambda v, s, n: _log_sum(v, s, n, np.exp, np.log), TO_FP64),
    "logaddexp2": (lambda v, s, n: _log_sum(v, s, n, np.exp2, np.log2), TO_FP64),
    "mean": (_mean, MEANS),
    "geometric_mean": (lambda v, s, n: np.multiply.reduceat(_floats(v), s) ** (1.0 / n), MEANS),
    "root_mean_square": (lambda v, s, n: np.sqrt(_sum(_squares(_floats(v)), s) / n), MEANS),
    "varp": (lambda v, s, n: _moments(v, s, n) / n, MEANS),
    "vars": (lambda v, s, n: _moments(v, s, n) / (n - 1), MEANS),
    "stdp": (lambda v, s, n: np.sqrt(_moments(v, s, n) / n), MEANS),
    "stds": (lambda v, s, n: np.sqrt(_moments(v, s, n) / (n - 1)), MEANS),
}


def _wide(values: Array) -> Array:
    return values.astype(np.int64) if values.dtype.kind in "iu" else values.astype(np.float64)


def _peaks(values: Array, starts: Array) -> Array:
    high, low = np.fmax.reduceat(values, starts), np.fmin.reduceat(values, starts)
    return high ^ low if values.dtype.kind == "b" else high - low


for _name, (_func, _table) in TABLES.items():
    _counts = INT64 if _name in {"count", "exists"} else None
    setattr(agg, _name, Aggregator(_name, compute=_func, table=_table, any_dtype=_counts))
for _name, _monoid in (
    ("sum", "plus"),
    ("prod", "times"),
    ("all", "land"),
    ("any", "lor"),
    ("min", "min"),
    ("max", "max"),
    ("any_value", "any"),
    ("bitwise_all", "band"),
    ("bitwise_any", "bor"),
):
    _of = getattr(monoid, _monoid)
    setattr(agg, _name, Aggregator(_name, monoid=_of, table=dict(_of.types)))


def _extreme(ufunc: Any) -> Callable[[Array, Array, Array], Array]:
    """Return the function that finds the first of the largest or smallest values of each run."""

    def pick(values: Array, starts: Array, lengths: Array) -> Array:
        best = np.repeat(ufunc.reduceat(values, starts), lengths)
        hits = np.flatnonzero(values == best)
        if len(hits) == 0:
            return starts
        at = hits[np.minimum(hits.searchsorted(starts), len(hits) - 1)]
        return np.where((at >= starts) & (at < starts + lengths), at, starts)

    return pick


PLACES = dict.fromkeys(ALL, INT64)
for _name, _pick, _table in (
    ("argmax", _extreme(np.fmax), {**PLACES, INT32: INT32}),
    ("argmin", _extreme(np.fmin), {**PLACES, INT32: INT32}),
    ("first", lambda v, s, n: s, SAME),
    ("first_index", lambda v, s, n: s, PLACES),
    ("last", lambda v, s, n: s + n - 1, SAME),
    ("last_index", lambda v, s, n: s + n - 1, PLACES),
):
    setattr(agg, _name, Picker(_name, _pick, _table, of_places=_table is not SAME))

agg.Aggregator = Aggregator
agg.TypedAggregator = TypedAggregator
