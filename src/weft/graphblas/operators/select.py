"""Operators that select entries, and selecting by a comparison."""

from __future__ import annotations

from typing import Any

from weft.graphblas.dtypes import BOOL
from weft.graphblas.operators.base import Namespace, Parameterized
from weft.graphblas.operators.indexunary import IndexUnaryOp, TypedIndexUnaryOp, indexunary

select = Namespace("select", "Operators that select entries by value or place.")


class TypedSelectOp(TypedIndexUnaryOp):
    """A select operator for one type."""

    __slots__ = ()
    opclass = "SelectOp"


class ParameterizedSelectOp(Parameterized):
    """A select operator with parameters."""

    _modname = "select"


class SelectOp(IndexUnaryOp):
    """An operator that says which entries to keep."""

    _modname = "select"
    opclass = "SelectOp"
    typed_class = TypedSelectOp
    module = select

    indexunary: Any = None

    @property
    def is_select(self) -> bool:
        """Whether it selects."""
        return True

    @classmethod
    def register_anonymous(
        cls,
        func: Any,
        name: str | None = None,
        *,
        parameterized: bool = False,
        is_udt: bool = False,
    ) -> Any:
        """Return an operator made of a boolean function ``f(value, row, column, thunk)``."""
        if parameterized:
            name = str(name or getattr(func, "__name__", "<anonymous>"))
            return ParameterizedSelectOp(name, func, cls, anonymous=True)
        of = IndexUnaryOp.register_anonymous(func, name)
        if any(found is not BOOL for found in of.types.values()):
            raise ValueError(f"SelectOp must have BOOL return type; {of.name} returns numbers.")
        made = as_select(of)
        made._anonymous = True
        return made


def as_select(of: IndexUnaryOp) -> SelectOp:
    """Return the select operator of a boolean index-unary one."""
    made = SelectOp(of.name)
    made.orig_func, made.is_positional = of.orig_func, of.is_positional
    made.indexunary = of
    made._numba_func = of.orig_func
    for type_, typed in of._typed_ops.items():
        made._typed_ops[type_] = TypedSelectOp(made, type_, BOOL, typed._raw, typed.type2)
        made.types[type_] = BOOL
    return made


for _name, _made in list(vars(indexunary).items()):
    if isinstance(_made, IndexUnaryOp) and all(x is BOOL for x in _made.types.values()):
        setattr(select, _name, as_select(_made))

COMPARED = {"eq": "eq", "ne": "ne", "le": "le", "lt": "lt", "ge": "ge", "gt": "gt"}
COMPARED.update({f"is{name}": name for name in list(COMPARED)})


def rewritten(parent: Any, expression: Any) -> Any:
    """Return ``parent.select(parent < 5)`` as a selection by value; None if it is none."""
    if getattr(expression, "method_name", None) != "apply" or len(expression.args) != 2:
        return None
    name = COMPARED.get(expression.op.parent.name)
    thunk = expression.args[1]
    if name is None or not getattr(thunk, "_is_scalar", False):
        return None
    if expression.args[0] is not parent and getattr(expression.args[0], "T", None) is not parent:
        return None
    return getattr(select, f"value{name}")(parent, thunk)


def _resolved(expression: Any, what: str, prefix: str) -> Any:
    """Return the selection that a comparison such as ``A <= 5`` stands for."""
    made_by = getattr(expression, "method_name", None)
    compares = made_by == "apply" or (made_by == "ewise_mult" and expression._is_scalar)
    if not compares or len(expression.args) != 2:
        raise TypeError(
            f"Expected a comparison of a Vector, Matrix or Scalar with a scalar, such as "
            f"select.{what}(x <= 5); got {type(expression).__name__}."
        )
    tensor, thunk = expression.args
    name = COMPARED.get(expression.op.parent.name, expression.op.parent.name)
    method = f"{prefix}{name}"
    if not hasattr(select, method):
        thunk = thunk.value
        if name in {"lt", "ge"}:
            method, thunk = f"{prefix}{'le' if name == 'lt' else 'gt'}", thunk - 1
        if not hasattr(select, method):
            raise ValueError(f"There is no select operator {method!r} for this comparison.")
    return getattr(select, method)(tensor, thunk)


def value(expr: Any) -> Any:
    """Select by a comparison of values: ``select.value(A > 0)``."""
    return _resolved(expr, "value", "value")


def row(expr: Any) -> Any:
    """Select by a comparison of rows: ``select.row(A <= 5)``."""
    return _resolved(expr, "row", "row")


def column(expr: Any) -> Any:
    """Select by a comparison of columns: ``select.column(A <= 5)``."""
    return _resolved(expr, "column", "col")


def index(expr: Any) -> Any:
    """Select by a comparison of places of a vector: ``select.index(v <= 5)``."""
    return _resolved(expr, "index", "index")


select.register_new = SelectOp.register_new
select.register_anonymous = SelectOp.register_anonymous
for _function in (value, row, column, index):
    setattr(select, _function.__name__, _function)
