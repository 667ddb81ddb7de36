"""Expressions: operations that are not computed yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.graphblas.checks import HINT
from weft.graphblas.exceptions import EmptyObject
from weft.graphblas.options import checked, current, options
from weft.graphblas.settings import config


def operand(x: Any) -> tuple[Any, bool]:
    """Return the object that holds an operand's values, and whether to transpose them."""
    return (x._matrix, True) if x._output == "TransposedMatrix" else (x, False)


class Operation:
    """The computation of an expression.

    Parameters
    ----------
    kernel
        ``kernel(mask, *stores)`` returns the result's entries; a mask is a hint that places outside
        of it are not needed.
    inputs
        The objects whose entries the kernel gets. Scalars come as their values.
    node
        A name and parameters for kernels that are compiled.
    """

    __slots__ = ("inputs", "kernel", "node")

    def __init__(
        self, kernel: Callable[..., Any], inputs: tuple[Any, ...], node: tuple[Any, ...] = ()
    ) -> None:
        self.kernel, self.inputs, self.node = kernel, inputs, node

    @property
    def optional(self) -> bool:
        """Whether scalar operands may be empty, as those of element-wise operations."""
        return bool(self.node) and str(self.node[0]).startswith("ewise")

    def cells(self) -> list[tuple[Any, bool]]:
        """Return a snapshot of the inputs."""
        found = []
        for each in self.inputs:
            if each._output == "TransposedMatrix":
                found.append((each._matrix._current, True))
            else:
                found.append((each._current, False))
        return found

    def run(self, mask: Any, cells: list[tuple[Any, bool]]) -> Any:
        """Compute the result from a snapshot of the inputs."""
        stores = [cell.get().twin if flip else cell.get() for cell, flip in cells]
        return self.kernel(self.hint(mask), *stores)

    def now(self, mask: Any) -> Any:
        """Compute the result from the inputs as they are."""
        stores = [
            each._matrix._store.twin if each._output == "TransposedMatrix" else each._store
            for each in self.inputs
        ]
        return self.kernel(self.hint(mask), *stores)

    @staticmethod
    def hint(mask: Any) -> Any:
        """Return the hint about the mask for a kernel."""
        return None if current["mask"] == "after" else mask

    def check(self) -> None:
        """Raise where a scalar operand has no value."""
        for each in self.inputs[1:]:
            if each._output == "Scalar" and each._store is None and not self.optional:
                raise EmptyObject(
                    f"The scalar {each.name} has no value, but the operation needs one. "
                    "Assign one to it first."
                )


class BaseExpression:
    """An operation with its arguments; `new` computes it.

    Attributes
    ----------
    method_name : str
        The method that made it.
    args : tuple
        The operands.
    op
        The typed operator, or None.
    dtype : DataType
        The type of the result.
    """

    __slots__ = (
        "__weakref__",
        "_operation",
        "_value",
        "args",
        "dtype",
        "method_name",
        "op",
        "shape",
    )
    _output = ""
    _lazy = True
    _is_scalar = False
    ndim = 0

    def __init__(
        self,
        method_name: str,
        args: tuple[Any, ...],
        op: Any,
        dtype: Any,
        shape: tuple[int, ...],
        operation: Operation,
    ) -> None:
        self.method_name = method_name
        self.args = args
        self.op = op
        self.dtype = dtype
        self.shape = shape
        self._operation = operation
        self._value: Any = None

    def _format_expr(self) -> str:
        names = [getattr(each, "name", None) or repr(each) for each in self.args]
        rest = [*names[1:], *([repr(self.op)] if self.op is not None else [])]
        return f"{names[0]}.{self.method_name}({', '.join(rest)})"

    def __repr__(self) -> str:
        from weft.graphblas import formatting

        return formatting.expression_text(self)

    def _repr_html_(self) -> str:
        from weft.graphblas import formatting

        return formatting.expression_html(self)

    def _to_expr(self) -> BaseExpression:
        return self

    def _get_value(self, attr: str | None = None) -> Any:
        if self._value is None:
            if not config["autocompute"]:
                raise TypeError(not_computed(self, attr))
            self._value = self._compute()
        return self._value

    def _compute(self, dtype: Any = None, mask: Any = None, name: str | None = None) -> Any:
        raise NotImplementedError

    def new(
        self, dtype: Any = None, *, mask: Any = None, name: str | None = None, **opts: Any
    ) -> Any:
        """Compute the expression into a new object.

        Parameters
        ----------
        dtype
            The type of the result; the expression's own if not given.
        mask
            Which places may get a value.
        name
            The name of the result.
        **opts
            Choices of execution; see `gb.options`.
        """
        if isinstance(mask, str):  # when to apply a mask, not which
            opts, mask = {**opts, "mask": mask}, None
        if opts:
            with options(**opts):
                return self.new(dtype, mask=mask, name=name)
        kept = self._value
        if mask is None and kept is not None and (dtype is None or kept.dtype == dtype):
            if name is not None:
                kept.name = name
            self._value = None
            return kept
        return self._compute(dtype, mask, name)


def not_computed(expression: Any, attr: str | None) -> str:
    """Return the message for a value that is needed while autocompute is off."""
    what = f" as `.{attr}`" if attr else ""
    return (
        f"Automatic computation is not enabled, so the value of this "
        f"{type(expression).__name__} is not available{what}. {HINT}"
    )


def check_options(opts: dict[str, Any]) -> None:
    """Raise for options that are not known, where none makes a difference."""
    if opts:
        checked(opts)


def delegate(cls: type, names: tuple[str, ...]) -> None:
    """Add attributes to an expression that compute it and read the result's."""
    for name in names:
        if name in cls.__dict__:
            continue

        def get(self: Any, name: str = name) -> Any:
            return getattr(self._get_value(name), name)

        setattr(cls, name, property(get))


def delegate_calls(cls: type, names: tuple[str, ...]) -> None:
    """Add special methods to an expression that compute it and call the result's."""
    for name in names:
        if name in cls.__dict__:
            continue

        def call(self: Any, *args: Any, name: str = name) -> Any:
            return getattr(self._get_value(name), name)(*args)

        call.__name__ = name
        setattr(cls, name, call)


class InfixExpression:
    """``x | y``, ``x & y`` or ``x @ y``: an operation whose operator is yet to be given.

    Calling an operator with it gives an expression; without one, the default operator counts.
    """

    __slots__ = ("__weakref__", "_expr", "left", "right", "shape")
    _output = ""
    _lazy = True
    _is_scalar = False
    ndim = 0
    method_name = ""
    _infix = ""

    def __init__(self, left: Any, right: Any, shape: tuple[int, ...]) -> None:
        self.left, self.right, self.shape = left, right, shape
        self._expr: Any = None

    def _format_expr(self) -> str:
        names = (getattr(each, "name", None) or repr(each) for each in (self.left, self.right))
        return f" {self._infix} ".join(names)

    __repr__ = BaseExpression.__repr__
    _repr_html_ = BaseExpression._repr_html_

    @property
    def dtype(self) -> Any:
        """The type of the result with the default operator."""
        return self._to_expr().dtype

    @property
    def _value(self) -> Any:
        return None if self._expr is None else self._expr._value

    @_value.setter
    def _value(self, value: Any) -> None:
        self._to_expr()._value = value

    def _to_expr(self) -> Any:
        if self._expr is None:
            self._expr = self._with_default()
        return self._expr

    def _with_default(self) -> Any:
        method = getattr(self.left, f"_{self.method_name}")
        return method(self.right, is_infix=True)

    def _get_value(self, attr: str | None = None) -> Any:
        if not config["autocompute"]:
            raise TypeError(not_computed(self, attr))
        return self._to_expr()._get_value(attr)

    def new(
        self, dtype: Any = None, *, mask: Any = None, name: str | None = None, **opts: Any
    ) -> Any:
        """Compute with the default operator into a new object. See `BaseExpression.new`."""
        return self._to_expr().new(dtype, mask=mask, name=name, **opts)
