"""Operators of a value, its place and a parameter: to apply, and to select by."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.graphblas.dtypes import ALL, BOOL, INT32, INT64
from weft.graphblas.operators.base import (
    Namespace,
    Operator,
    Parameterized,
    TypedOp,
    check_function,
    place,
    refuse_unparsable,
    udf_types,
    vectorized,
)

Array = Any
indexunary = Namespace("indexunary", "Operators of a value, its place and a parameter.")


class TypedIndexUnaryOp(TypedOp):
    """An index-unary operator for one type."""

    __slots__ = ()
    opclass = "IndexUnaryOp"

    @property
    def thunk_type(self) -> Any:
        """The type of its parameter."""
        return self.type2


class ParameterizedIndexUnaryOp(Parameterized):
    """An index-unary operator with parameters."""

    _modname = "indexunary"


class IndexUnaryOp(Operator):
    """An operator of a value, its row, its column and a parameter (the thunk)."""

    _modname = "indexunary"
    opclass = "IndexUnaryOp"
    typed_class = TypedIndexUnaryOp
    module = indexunary
    in_op = False
    # What makes of the operator's result type one that may be used.
    returns: Any = None

    @property
    def is_select(self) -> bool:
        """Whether it selects."""
        return False

    @classmethod
    def register_anonymous(
        cls,
        func: Any,
        name: str | None = None,
        *,
        parameterized: bool = False,
        is_udt: bool = False,
    ) -> Any:
        """Return an operator made of a Python function ``f(value, row, column, thunk)``."""
        check_function(func, "an index-unary operator")
        name = str(name or getattr(func, "__name__", "<anonymous>"))
        if parameterized:
            return ParameterizedIndexUnaryOp(name, func, cls, anonymous=True)
        made = cls(name, anonymous=True)
        made.orig_func = func
        made._numba_func = func
        raw = vectorized(func, 4)
        for type_, found in udf_types(raw, 4):
            made.add(type_, found, raw)
        if not made.types:
            refuse_unparsable(name)
        cls._check(made)
        return made

    @classmethod
    def _check(cls, made: Any) -> None:
        """Raise unless the operator may be one of this kind."""

    @classmethod
    def register_new(
        cls,
        name: str,
        func: Any,
        *,
        parameterized: bool = False,
        is_udt: bool = False,
        lazy: bool = False,
    ) -> Any:
        """Make an operator and keep it as ``gb.indexunary.<name>``; boolean ones select too."""
        module, last = place(cls.module, name)
        check_function(func, f"{cls._modname}.{name}")

        def make() -> Any:
            made = cls.register_anonymous(func, name, parameterized=parameterized)
            made._anonymous = False
            keep_both(name, made)
            return made

        if lazy:
            module._delayed[last] = make
            if cls is not IndexUnaryOp:
                other, last = place(indexunary, name, strict=False)
                other._delayed.setdefault(last, lambda: IndexUnaryOp.register_anonymous(func, name))
            return None
        made = make()
        setattr(module, last, made)
        return made


def keep_both(name: str, made: Any) -> None:
    """Register a boolean operator both for apply and for select."""
    from weft.graphblas.operators.select import SelectOp, as_select, select

    if isinstance(made, Parameterized):
        other: Any = SelectOp if made.kind is IndexUnaryOp else IndexUnaryOp
        twin = other.register_anonymous(made.func, name, parameterized=True)
        twin._anonymous = False
        if other is IndexUnaryOp:
            _keep(indexunary, name, twin)
        return
    if isinstance(made, SelectOp):
        _keep(indexunary, name, made.indexunary)
    elif all(found is BOOL for found in made.types.values()):
        _keep(select, name, as_select(made))


def _keep(module: Namespace, name: str, made: Any) -> None:
    inner, last = place(module, name, strict=False)
    inner._delayed.pop(last, None)
    setattr(inner, last, made)


def builtin(name: str, func: Any, types: Any, returns: Any = None, thunk: Any = None) -> Any:
    """Register a built-in operator for some types."""
    made = IndexUnaryOp(name)
    for type_ in types:
        made._typed_ops[type_] = TypedIndexUnaryOp(
            made, type_, returns or type_, func, thunk or type_
        )
        made.types[type_] = returns or type_
    made.is_positional = thunk is not None
    setattr(indexunary, name, made)
    return made


for _name, _func in {
    "colgt": lambda x, i, j, k: j > k,
    "colle": lambda x, i, j, k: j <= k,
    "diag": lambda x, i, j, k: j - i == k,
    "indexgt": lambda x, i, j, k: i > k,
    "indexle": lambda x, i, j, k: i <= k,
    "offdiag": lambda x, i, j, k: j - i != k,
    "rowgt": lambda x, i, j, k: i > k,
    "rowle": lambda x, i, j, k: i <= k,
    "tril": lambda x, i, j, k: j - i <= k,
    "triu": lambda x, i, j, k: j - i >= k,
}.items():
    builtin(_name, _func, (*ALL,), BOOL, INT64)
for _name, _func in {
    "colindex": lambda x, i, j, k: j + k,
    "diagindex": lambda x, i, j, k: j - i + k,
    "index": lambda x, i, j, k: i + k,
    "rowindex": lambda x, i, j, k: i + k,
}.items():
    _made = builtin(_name, _func, (*ALL,), INT64, INT64)
    _made._typed_ops[INT32] = TypedIndexUnaryOp(_made, INT32, INT32, _func, INT64)
    _made.types[INT32] = INT32
for _name, _ufunc in {
    "valueeq": np.equal,
    "valuege": np.greater_equal,
    "valuegt": np.greater,
    "valuele": np.less_equal,
    "valuelt": np.less,
    "valuene": np.not_equal,
}.items():
    builtin(_name, lambda x, i, j, k, ufunc=_ufunc: ufunc(x, k), ALL, BOOL)

indexunary.register_new = IndexUnaryOp.register_new
indexunary.register_anonymous = IndexUnaryOp.register_anonymous
