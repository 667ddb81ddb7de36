"""Base class of vectors, matrices and scalars: names, assignment, masks."""

from __future__ import annotations

import itertools
from typing import Any

from weft.graphblas.arithmetic import Arithmetic, InPlace
from weft.graphblas.assignment import Assignment
from weft.graphblas.cells import Cell, recorded
from weft.graphblas.checks import is_scalar_like, output_kind
from weft.graphblas.exceptions import DimensionMismatch, DomainMismatch
from weft.graphblas.expressions import (
    BaseExpression,
    InfixExpression,
    Operation,
)
from weft.graphblas.kernels import assign as kernels
from weft.graphblas.kernels.write import plain
from weft.graphblas.left_out import WithoutStorage
from weft.graphblas.mask import check_mask
from weft.graphblas.options import current, options
from weft.graphblas.recorder import record
from weft.graphblas.settings import config, mode
from weft.graphblas.updates import Assigner, IndexExpression, Updater, updater_of


class BaseType(WithoutStorage, Arithmetic, InPlace):
    """A vector, matrix or scalar."""

    __slots__ = ("__weakref__", "_cell", "_pending", "dtype", "name")
    _output = ""
    _lazy = False
    _is_scalar = False
    _name_counter = itertools.count()
    _parent = None
    __hash__ = None  # type: ignore[assignment]

    dtype: Any
    name: str
    shape: Any

    @property
    def _current(self) -> Cell:
        """The cell that holds the entries, all single-element assignments included."""
        if self._pending:
            self._flush()
        return self._cell

    @property
    def _store(self) -> Any:
        if self._pending:
            self._flush()
        cell = self._cell
        return cell.store if cell.compute is None else cell.get()

    def _flush(self) -> None:
        raise NotImplementedError

    def _set(self, store: Any) -> None:
        self._cell = Cell(store)
        self._pending = None

    def __call__(
        self,
        *mask_accum_replace: Any,
        mask: Any = None,
        accum: Any = None,
        replace: bool = False,
        input_mask: Any = None,
        **opts: Any,
    ) -> Updater:
        """Specify how an assignment writes: ``C(mask, accum, replace) << expression``.

        Parameters
        ----------
        mask_accum_replace
            A mask, an accumulator and `gb.replace`, in any order.
        mask
            Which places may be written: ``M.S``, ``M.V``, ``~M.S``, ``~M.V`` or a boolean object.
        accum
            The operator that combines old values with new ones.
        replace
            Whether old values outside the mask are dropped.
        input_mask
            For extraction: which places of the source count.
        **opts
            Choices of execution; see `gb.options`.
        """
        return updater_of(self, mask_accum_replace, mask, accum, replace, input_mask, opts)

    def update(self, expr: Any, **opts: Any) -> None:
        """Assign an expression, as ``C << expr`` does, with choices of `gb.options`."""
        with options(**opts):
            self._update(expr)

    def __lshift__(self, expr: Any) -> None:
        self._update(expr)

    def _update(
        self,
        expr: Any,
        mask: Any = None,
        accum: Any = None,
        replace: bool = False,
        input_mask: Any = None,
    ) -> None:
        if isinstance(expr, InfixExpression):
            expr = expr._to_expr()
        elif isinstance(expr, IndexExpression):
            if input_mask is not None:
                mask = expr._region_mask(check_mask(input_mask, expr.parent))
                input_mask = None
            if accum is not None and self._is_scalar:
                expr = expr._get_value("value")
            else:
                expr = expr._to_expr()
        if isinstance(expr, BaseExpression):
            if expr._output == self._output:
                if input_mask is not None:
                    raise TypeError("`input_mask` argument may only be used for extract.")
                self._write(expr, mask, accum, replace)
                return
            if expr._output == "Scalar" and config["autocompute"]:
                expr = expr.new()
            else:
                from weft.graphblas.checks import HINT

                raise TypeError(
                    f"Bad type for argument `expr` in {type(self).__name__}.update(...): expected "
                    f"{self._output} or {self._output}Expression; got {type(expr).__name__}. {HINT}"
                )
        if input_mask is not None:
            raise TypeError("`input_mask` argument may only be used for extract.")
        self._update_object(expr, mask, accum, replace)

    def _update_object(self, value: Any, mask: Any, accum: Any, replace: bool) -> None:
        kind = output_kind(value)
        if kind == self._output or (kind == "TransposedMatrix" and self._output == "Matrix"):
            operation = Operation(_whole, (value,))
            self._write_operation(operation, value.shape, mask, accum, replace, repr_of(value))
            return
        if not is_scalar_like(value):
            raise TypeError(
                "Assignment value must be a valid expression type, not "
                f"{type(value).__name__}. Expected {self._output}, {self._output}Expression, an "
                "index expression or a scalar."
            )
        from weft.graphblas.indexing import Indexes

        Assigner(Updater(self, mask, accum, replace), Indexes(self, ...), False).update(value)

    def _write(self, expr: Any, mask: Any, accum: Any, replace: bool) -> None:
        self._write_operation(expr._operation, expr.shape, mask, accum, replace, expr)

    def _write_operation(
        self,
        operation: Operation,
        shape: tuple[int, ...],
        mask: Any,
        accum: Any,
        replace: bool,
        text: Any,
    ) -> None:
        """Compute and assign, or record both."""
        if shape != self.shape:
            raise DimensionMismatch(f"Cannot assign a shape of {shape} to one of {self.shape}.")
        if mask is not None:
            mask = check_mask(mask, self)
            self._check_mask_shape(mask)
        operation.check()
        record(self, mask, accum, replace, text)
        np_type = self.dtype.np_type
        is_plain = mask is None and accum is None and current["switch"] == "auto"
        if mode.blocking and is_plain and not operation.node:
            self._cell = Cell(operation.now(None).cast(np_type))
            self._pending = None
            return
        old = None if is_plain else self._current
        assignment = Assignment(operation, old, mask, accum, replace, np_type)
        if mode.blocking:
            self._cell = Cell(assignment.run())
        else:
            self._cell = recorded(assignment.run, *assignment.cells(), plan=assignment, owner=self)
        self._pending = None

    def _check_mask_shape(self, mask: Any) -> None:
        if mask.parent.shape != self.shape:
            raise DimensionMismatch(
                f"The mask has shape {mask.parent.shape}, the target {self.shape}."
            )

    def _change(self, compute: Any, *inputs: Any) -> None:
        """Replace the entries by ``compute(old, *input entries)``, at once or later."""
        if mode.blocking:
            self._cell = Cell(compute(self._store, *(each._store for each in inputs)))
        else:
            old = self._current
            cells = [each._current for each in inputs]
            self._cell = recorded(
                lambda: compute(old.get(), *(cell.get() for cell in cells)), old, *cells
            )
        self._pending = None

    def __bool__(self) -> bool:
        raise TypeError(
            f"__bool__ not defined for objects of type {type(self).__name__}. "
            "Perhaps use the .nvals attribute instead."
        )

    def __array__(self, dtype: Any = None, *, copy: Any = None) -> Any:
        raise TypeError(
            f"{type(self).__name__} can't be directly converted to a numpy array; perhaps use "
            "the .to_coo() or .to_dense() method instead."
        )

    def __sizeof__(self) -> int:
        raise TypeError(f"The size of a {type(self).__name__} is told by gb.memory().")

    @property
    def _name_html(self) -> str:
        head, _, tail = self.name.partition("_")
        return f"{head}<sub>{tail}</sub>" if tail else self.name

    @property
    def nvals(self) -> int:
        """The number of values."""
        return int(self._store.nvals)

    @property
    def _nvals(self) -> int:
        return self.nvals

    def swap(self, other: Any) -> None:
        """Exchange the values with another object of the same kind, type and shape.

        Examples
        --------
        >>> import weft.graphblas as gb
        >>> v, w = gb.Vector.from_coo([0], [1], size=2), gb.Vector(int, 2)
        >>> v.swap(w)
        >>> v.nvals, w.to_dict()
        (0, {0: 1})
        """
        if type(other) is not type(self):
            raise TypeError(
                f"Cannot swap a {type(self).__name__} with a {type(other).__name__}. "
                "Expected an object of the same kind."
            )
        if other.dtype is not self.dtype:
            raise DomainMismatch(f"Cannot swap values of {self.dtype} with those of {other.dtype}.")
        if other.shape != self.shape:
            raise DimensionMismatch(f"Cannot swap a shape of {self.shape} with {other.shape}.")
        mine = self._current
        self._cell = other._current
        other._cell = mine

    def wait(self, how: str = "materialize") -> Any:
        """Compute all recorded assignments to this object; return it.

        Parameters
        ----------
        how
            "materialize" or "complete"; both compute.
        """
        if how not in {"materialize", "complete"}:
            raise ValueError(f"`how` argument must be 'materialize' or 'complete'; got {how!r}.")
        self._store  # noqa: B018
        return self


def _whole(mask: Any, x: Any) -> Any:
    return x


def repr_of(value: Any) -> str:
    """Return how an operand is written."""
    return getattr(value, "name", None) or repr(value)


__all__ = ["BaseType", "kernels", "plain"]
