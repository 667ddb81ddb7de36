"""Traced expressions: what a user's function computes with instead of numbers."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from weft.errors import FieldError
from weft.ir.elementwise import OPS, ufuncs
from weft.ir.ops import Value
from weft.ir.trace import builder as tracing
from weft.ir.trace.builder import fail, no_number, user_line


def node(x: Any) -> Value:
    """Return the IR value of an expression, or a constant of a plain number."""
    if isinstance(x, Expr):
        value = x.node
        tracing.current().check_reachable(value)
        return value
    if isinstance(x, list | tuple):
        return tracing.current().stack([node(part) for part in x])
    return tracing.current().const(x)


def unary(op: str, x: Any) -> Expr:
    """Trace a unary op."""
    return Expr(tracing.current().unary(op, node(x)))


def binary(op: str, a: Any, b: Any) -> Expr:
    """Trace a binary op."""
    return Expr(tracing.current().binary(op, node(a), node(b)))


class Expr:
    """A value that is known only when the program runs."""

    __slots__ = ("node",)

    def __init__(self, value: Value) -> None:
        self.node = value

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype that the value has."""
        return self.node.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of its features: () for a scalar."""
        return self.node.shape

    @property
    def size(self) -> int:
        """The length of its first axis (1 for a scalar)."""
        return self.node.shape[0] if self.node.shape else 1

    @property
    def T(self) -> Expr:
        """The transpose of a matrix."""
        from weft.ir.trace.functions import transpose

        return transpose(self)

    def astype(self, dtype: Any) -> Expr:
        """Return the value in another dtype."""
        from weft.ir.trace.functions import cast

        return cast(self, dtype)

    def __add__(self, other: Any) -> Expr:
        return binary("add", self, other)

    def __radd__(self, other: Any) -> Expr:
        return binary("add", other, self)

    def __sub__(self, other: Any) -> Expr:
        return binary("sub", self, other)

    def __rsub__(self, other: Any) -> Expr:
        return binary("sub", other, self)

    def __mul__(self, other: Any) -> Expr:
        return binary("mul", self, other)

    def __rmul__(self, other: Any) -> Expr:
        return binary("mul", other, self)

    def __truediv__(self, other: Any) -> Expr:
        return binary("div", self, other)

    def __rtruediv__(self, other: Any) -> Expr:
        return binary("div", other, self)

    def __floordiv__(self, other: Any) -> Expr:
        return binary("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Expr:
        return binary("floordiv", other, self)

    def __mod__(self, other: Any) -> Expr:
        return binary("mod", self, other)

    def __rmod__(self, other: Any) -> Expr:
        return binary("mod", other, self)

    def __divmod__(self, other: Any) -> tuple[Expr, Expr]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Expr, Expr]:
        return other // self, other % self

    def __pow__(self, other: Any, modulus: Any = None) -> Expr:
        if modulus is not None:
            raise fail("pow(x, y, z) has no traced form. Write x ** y % z.")
        return binary("pow", self, other)

    def __rpow__(self, other: Any) -> Expr:
        return binary("pow", other, self)

    def __and__(self, other: Any) -> Expr:
        return binary("bit_and", self, other)

    def __rand__(self, other: Any) -> Expr:
        return binary("bit_and", other, self)

    def __or__(self, other: Any) -> Expr:
        return binary("bit_or", self, other)

    def __ror__(self, other: Any) -> Expr:
        return binary("bit_or", other, self)

    def __xor__(self, other: Any) -> Expr:
        return binary("bit_xor", self, other)

    def __rxor__(self, other: Any) -> Expr:
        return binary("bit_xor", other, self)

    def __lshift__(self, other: Any) -> Expr:
        return binary("shl", self, other)

    def __rlshift__(self, other: Any) -> Expr:
        return binary("shl", other, self)

    def __rshift__(self, other: Any) -> Expr:
        return binary("shr", self, other)

    def __rrshift__(self, other: Any) -> Expr:
        return binary("shr", other, self)

    def __lt__(self, other: Any) -> Expr:
        return binary("lt", self, other)

    def __le__(self, other: Any) -> Expr:
        return binary("le", self, other)

    def __gt__(self, other: Any) -> Expr:
        return binary("gt", self, other)

    def __ge__(self, other: Any) -> Expr:
        return binary("ge", self, other)

    def __eq__(self, other: object) -> Expr:  # type: ignore[override]
        return binary("eq", self, other)

    def __ne__(self, other: object) -> Expr:  # type: ignore[override]
        return binary("ne", self, other)

    def __neg__(self) -> Expr:
        return unary("neg", self)

    def __pos__(self) -> Expr:
        return self

    def __abs__(self) -> Expr:
        return unary("abs", self)

    def __invert__(self) -> Expr:
        return unary("invert", self)

    def __matmul__(self, other: Any) -> Expr:
        from weft.ir.trace.functions import matmul

        return matmul(self, other)

    def __rmatmul__(self, other: Any) -> Expr:
        from weft.ir.trace.functions import matmul

        return matmul(other, self)

    def __round__(self, digits: int | None = None) -> Expr:
        if digits is not None:
            raise fail("a traced value is rounded to whole numbers. Scale it: round(10 * x) / 10.")
        return unary("round", self)

    def __floor__(self) -> Expr:
        return unary("floor", self)

    def __ceil__(self) -> Expr:
        return unary("ceil", self)

    def __trunc__(self) -> Expr:
        return unary("trunc", self)

    def __getitem__(self, position: Any) -> Expr:
        from weft.ir.trace.functions import item

        return item(self, position)

    def replaced(self, i: Any, x: Any) -> Expr:
        """Return the vector with another feature i; see `weft.local`."""
        builder, value = tracing.current(), self.node
        if len(value.shape) != 1:
            raise fail(f"replaced() works on vectors, but got shape {value.shape}.")
        value = builder.strong(value)
        place = builder.stack([builder.index(node(i))])
        new = builder.stack([builder.fit(node(x), value.dtype, (), "a feature of the vector")])
        return Expr(builder.emit("scatter", (value, place, new), None, value.dtype, value.shape))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Expr:
        op = ufuncs().get(ufunc.__name__)
        if op is None or method != "__call__" or kwargs:
            raise fail(
                f"numpy.{ufunc.__name__} has no traced form here. Use the function of the same "
                f"name in weft, or plain operators."
            )
        if ufunc.__name__.startswith("logical_"):  # of numbers: whether they are not 0
            inputs = tuple(Expr(tracing.current().nonzero(node(x))) for x in inputs)
        if OPS[op].arity == 2:
            return binary(op, *inputs)
        return unary(op, *inputs)

    # Where Python would silently do something else, or name weft's own classes, say so.

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or hasattr(type(self), name):
            raise AttributeError(name)
        raise FieldError(
            f"a traced value has no attribute {name!r}. Use weft's functions, such as "
            f"weft.minimum(x, y), or v.field.at(i) for the field of a computed vertex."
            f"\n  at {user_line()}"
        )

    def __call__(self, *args: object, **options: object) -> NoReturn:
        raise fail("a traced value is not a function. Fields are read without brackets: v.level.")

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise fail(
            "a traced value cannot become a NumPy array, or index one: it has no number yet. Make "
            "an array of one value per vertex a field of the state, v.x, or a short table a "
            "weft.parameter; use weft.stack for vectors."
        )

    def __array_function__(self, function: Any, *args: Any) -> NoReturn:
        raise fail(
            f"numpy.{function.__name__} has no traced form. Use weft.where, weft.sum, weft.dot, "
            f"weft.stack or the like, or plain operators."
        )

    def __hash__(self) -> NoReturn:
        raise fail(
            "a traced value cannot be a key of a dictionary or a member of a set: it has no number "
            "yet. Use weft.where, or a field of the state with .at(i)."
        )

    def __bool__(self) -> NoReturn:
        raise fail(
            "the truth of a traced value is known only when the program runs, so `if`, `and`, "
            "`or`, `not` and `while` cannot decide on it. Use weft.where(condition, a, b), the "
            "operators & | ~, or weft.while_loop."
        )

    def __iter__(self) -> NoReturn:
        raise fail(
            "a traced value cannot be iterated. Use x[i] for one feature, or weft.for_range for a "
            "loop that runs in the program."
        )

    def __len__(self) -> NoReturn:
        raise fail("a traced value has no len(). Use x.size for its number of features.")

    def __contains__(self, item: object) -> NoReturn:
        raise fail("`in` cannot be traced. Compare with == and combine with weft.any.")

    def __index__(self) -> NoReturn:
        raise fail(
            "a traced value cannot index a Python object or bound a Python range. Make an array of "
            "one value per vertex a field of the state: v.x, or v.x.at(i) for a computed vertex; "
            "make a short table a weft.parameter. A loop is weft.for_range."
        )

    def __float__(self) -> NoReturn:
        raise no_number("weft.cast(x, weft.float64)")

    def __int__(self) -> NoReturn:
        raise no_number("weft.cast(x, weft.int64)")

    def __format__(self, spec: str) -> NoReturn:
        raise fail("a traced value cannot be formatted: it has no number yet.")

    def __setitem__(self, position: object, value: object) -> NoReturn:
        raise fail("a traced value cannot be changed in place. Build a new one and assign it.")

    def __repr__(self) -> str:
        features = str(list(self.shape)) if self.shape else ""
        return f"<traced {self.node.op}: {self.dtype}{features}>"
