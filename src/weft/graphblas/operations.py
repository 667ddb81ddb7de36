"""Expressions of one operand: apply, select, reduce, extract, power, reposition."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.graphblas.checks import HINT, expect_op, is_scalar_like, output_kind
from weft.graphblas.dtypes import BOOL, INT64
from weft.graphblas.exceptions import DimensionMismatch
from weft.graphblas.expressions import BaseExpression, InfixExpression, Operation
from weft.graphblas.kernels import elementwise as kernels
from weft.graphblas.kernels.assign import extract as extract_region
from weft.graphblas.kernels.merge import comparable, locate
from weft.graphblas.kernels.places import (
    as_vector,
    element,
    extract_row,
    move_matrix,
    move_vector,
)
from weft.graphblas.mask import Mask, check_mask
from weft.graphblas.operators.lookup import find_opclass, get_typed_op
from weft.graphblas.operators.monoid import monoid
from weft.graphblas.operators.select import rewritten
from weft.graphblas.storage.cast import cast, iso
from weft.graphblas.storage.matrix import MatrixStore


def expression(
    method: str,
    args: tuple[Any, ...],
    op: Any,
    dtype: Any,
    shape: tuple[int, ...],
    operation: Operation,
) -> Any:
    """Return an expression of the kind that a shape has."""
    from weft.graphblas.infix import expression_class

    return expression_class(len(shape))(method, args, op, dtype, shape, operation)


def _thunk(self: Any, value: Any, within: str, argname: str) -> Any:
    """Return a scalar argument as a Scalar."""
    from weft.graphblas.scalar import as_scalar

    if output_kind(value) == "Scalar" or is_scalar_like(value):
        return as_scalar(value, within)
    raise TypeError(
        f"Bad type for keyword argument `{argname}=` in {type(self).__name__}.{within}(...): "
        f"expected Scalar; got {type(value).__name__}. Literal scalars also accepted."
    )


def apply(self: Any, op: Any, right: Any = None, left: Any = None) -> Any:
    """Return the expression of `apply`."""
    if isinstance(op, str):
        op = _string_to_apply(op, self, right, left)
    _, kind = find_opclass(op)
    if kind == "UnknownOpClass" and left is None and right is None:
        op = get_typed_op(op, self.dtype, kind="unary")
        kind = op.opclass
    if kind in {"IndexUnaryOp", "SelectOp"}:
        return _apply_index(self, op, right, left)
    if left is None and right is None:
        if kind != "UnaryOp":
            raise TypeError(
                f"Bad type for argument `op` in {type(self).__name__}.apply(...): apply only "
                "accepts UnaryOp with no scalars or BinaryOp with `left` or `right` scalar or "
                f"IndexUnaryOp; got {kind}."
            )
        op = get_typed_op(op, self.dtype, kind="unary")
        return expression(
            "apply",
            (self,),
            op,
            op.return_type,
            self.shape,
            Operation(
                lambda mask, x: _scalar_result(x, lambda s: kernels.apply_unary(s, op)),
                (self,),
                ("apply", op),
            ),
        )
    if left is not None and right is not None:
        raise TypeError("Cannot provide both `left` and `right` to apply.")
    return _apply_bound(self, op, right, left)


def _string_to_apply(op: str, self: Any, right: Any, left: Any) -> Any:
    from weft.graphblas.operators import lookup

    if left is not None:
        return lookup.binary_from_string(op)
    parsers = [lookup.unary_from_string, lookup.indexunary_from_string]
    if right is not None:
        parsers = [lookup.binary_from_string, lookup.indexunary_from_string]
        if output_kind(right) == "Scalar" or op in {"==", "!=", "<", "<=", ">", ">="}:
            parsers.reverse()
    for parse in parsers:
        try:
            return parse(op)
        except ValueError:
            continue
    raise ValueError(f"Unknown operator string {op!r} for apply.")


def _scalar_result(x: Any, compute: Any) -> Any:
    """Run a kernel of vectors on what may be a scalar's value."""
    if x is None:
        return None
    if isinstance(x, np.generic):
        from weft.graphblas.storage.vector import VectorStore

        made = compute(VectorStore(1, np.zeros(1, np.int64), np.asarray(x).reshape(1)))
        return made.values[0] if made.nvals else None
    return compute(x)


def _apply_bound(self: Any, op: Any, right: Any, left: Any) -> Any:
    is_left = left is not None
    name = "left" if is_left else "right"
    scalar = _thunk(self, left if is_left else right, "apply", name)
    types = (scalar.dtype, self.dtype) if is_left else (self.dtype, scalar.dtype)
    op = get_typed_op(op, *types, kind="binary")
    if op.opclass == "Monoid":
        op = op.binaryop
    expect_op(self, op, ("BinaryOp", "Monoid"), within="apply")
    args = (scalar, self) if is_left else (self, scalar)

    def kernel(mask: Any, x: Any, s: Any) -> Any:
        return _scalar_result(x, lambda v: kernels.apply_bound(v, op, s, is_left))

    return expression(
        "apply",
        args,
        op,
        op.return_type,
        self.shape,
        Operation(kernel, (self, scalar), ("bound", op, is_left)),
    )


def _apply_index(self: Any, op: Any, right: Any, left: Any) -> Any:
    if left is not None:
        raise TypeError("`left` is not accepted with an IndexUnaryOp; give the thunk as `right`.")
    from weft.graphblas.scalar import Scalar

    thunk = (
        Scalar.from_value(0, INT64 if self.dtype is not BOOL else BOOL)
        if right is None
        else (_thunk(self, right, "apply", "right"))
    )
    op = _typed_index_op(op, self, thunk)
    if op.opclass == "SelectOp":
        op = op.parent.indexunary[op.type] if op.parent.indexunary is not None else op

    def kernel(mask: Any, x: Any, k: Any) -> Any:
        return _scalar_result(x, lambda s: kernels.apply_index(s, op, k))

    return expression(
        "apply", (self, thunk), op, op.return_type, self.shape, Operation(kernel, (self, thunk))
    )


def _typed_index_op(op: Any, self: Any, thunk: Any) -> Any:
    """Return the form of an index operator for values and thunk."""
    op, _ = find_opclass(op)
    if hasattr(op, "parent"):
        return op
    if op.is_positional:
        return op[self.dtype if op.types[self.dtype] is BOOL else INT64]
    return get_typed_op(op, self.dtype, thunk.dtype)


def select(self: Any, op: Any, thunk: Any = None) -> Any:
    """Return the expression of `select`."""
    if isinstance(op, Mask) or (
        isinstance(op, BaseExpression | InfixExpression) or getattr(op, "_output", "") in _TENSORS
    ):
        return _select_mask(self, op, thunk)
    if isinstance(op, str):
        op = get_typed_op_string(op)
    found, kind = find_opclass(op)
    if kind == "UnknownOpClass":
        raise TypeError(
            f"Bad type for argument `op` in {type(self).__name__}.select(...): expected SelectOp; "
            f"got {type(op).__name__}."
        )
    from weft.graphblas.scalar import Scalar

    if thunk is None:
        thunk = Scalar.from_value(0, INT64 if self.dtype is not BOOL else BOOL)
    else:
        thunk = _thunk(self, thunk, "select", "thunk")
    if kind == "IndexUnaryOp" and not hasattr(found, "parent"):
        from weft.graphblas.operators.select import select as names

        found = getattr(names, found.name, found)
    typed = _typed_index_op(found, self, thunk)
    if typed.return_type is not BOOL or kind not in {"SelectOp", "IndexUnaryOp"}:
        expect_op(self, typed, ("SelectOp",), within="select")

    def kernel(mask: Any, x: Any, k: Any) -> Any:
        return _scalar_result(x, lambda s: kernels.select_index(s, typed, k))

    return expression(
        "select", (self, thunk), typed, self.dtype, self.shape, Operation(kernel, (self, thunk))
    )


_TENSORS = {"Vector", "Matrix", "TransposedMatrix", "Scalar"}


def get_typed_op_string(op: str) -> Any:
    """Return the select operator that a string names."""
    from weft.graphblas.operators.lookup import select_from_string

    return select_from_string(op)


def _select_mask(self: Any, mask: Any, thunk: Any) -> Any:
    """Return the entries where a mask, or a boolean object, is true."""
    if thunk is not None:
        raise TypeError("`thunk` is not accepted when selecting by a mask or a boolean object.")
    made = rewritten(self, mask)
    if made is not None:
        return made
    if not isinstance(mask, Mask) and output_kind(mask) == "Scalar":
        raise TypeError("Cannot select by a Scalar.")
    if not isinstance(mask, Mask) and mask.dtype is not BOOL:
        raise TypeError(f"Cannot select by values of type {mask.dtype}; expected BOOL. {HINT}")
    mask = check_mask(mask, self)
    parent = mask.parent
    if parent.ndim != self.ndim:
        raise TypeError(f"Mask object must be type {self._output}; got {type(parent).__name__}.")
    if parent.shape != self.shape:
        raise DimensionMismatch(f"The mask has shape {parent.shape}, the object {self.shape}.")

    def kernel(hint: Any, x: Any, m: Any) -> Any:
        view = mask.view(m)
        if isinstance(x, MatrixStore) and not x.has_keys:
            mine, theirs = comparable([x, view.entries()])
            found = locate(theirs, mine)[1]
            return kernels.chosen(x, ~found if mask.complement else found)
        return kernels.chosen(x, view.admits(x.keys))

    return expression(
        "select", (self, mask), None, self.dtype, self.shape, Operation(kernel, (self, parent))
    )


def reduce(self: Any, op: Any, *, allow_empty: bool, within: str) -> Any:
    """Return the expression of a reduction to a scalar."""
    op = get_typed_op(op, self.dtype, kind="binary|aggregator")
    if op.opclass == "Aggregator":
        if not allow_empty and op.parent.monoid is None:
            raise ValueError(
                f"allow_empty=False not allowed when using Aggregators without a monoid, as {op}."
            )
        if op.parent.is_positional and self.ndim == 2:
            raise ValueError(f"Aggregator {op.name} may not be used with Matrix.{within}.")
        identity = None if allow_empty else op.parent.monoid[op.type].identity

        def aggregate(mask: Any, x: Any) -> Any:
            found = kernels.aggregate_all(x, op)
            return identity if found is None else found

        return expression(within, (self,), op, op.return_type, (), Operation(aggregate, (self,)))
    op = _monoid_of(self, op, within)
    empty = None if allow_empty else op.type.np_type.type(op.identity)

    def kernel(mask: Any, x: Any) -> Any:
        found = kernels.reduce_all(x, op)
        return empty if found is None else found

    return expression(
        within,
        (self,),
        op,
        op.return_type,
        (),
        Operation(kernel, (self,), ("reduce", op, allow_empty)),
    )


def _monoid_of(self: Any, op: Any, within: str) -> Any:
    """Return the monoid of an operator that is to reduce."""
    if op.opclass == "BinaryOp" and op.monoid is not None:
        return op.monoid
    if op.name == "plus" and op.type is BOOL and within.startswith("reduce_") and "wise" in within:
        return monoid.lor[BOOL]  # the sum of booleans, of which there is no monoid `plus`
    if op.opclass == "BinaryOp" and op.parent.orig_func is not None and within != "reduce":
        from weft.graphblas.exceptions import NotImplementedException

        if op.parent.monoid is None:
            raise NotImplementedException(
                f"{op.parent!r} is not a monoid, so it cannot reduce. Make one with "
                "monoid.register_anonymous(op, identity)."
            )
    if op.opclass != "Monoid":
        hint = f"; use `{op.name}.monoid` to get the Monoid" if op.opclass == "Semiring" else ""
        raise TypeError(
            f"Bad type for argument `op` in {type(self).__name__}.{within}(...). Expected type: "
            f"Monoid, or a BinaryOp that is part of a Monoid for {op.type} datatype; "
            f"got {op!r}{hint}."
        )
    return op


def reduce_rows(self: Any, op: Any, *, columns: bool) -> Any:
    """Return the expression of a reduction of every row, or column, to a value."""
    within = "reduce_columnwise" if columns else "reduce_rowwise"
    op = get_typed_op(op, self.dtype, kind="binary|aggregator")
    source = self.T if columns else self
    shape = (self.shape[1 if columns else 0],)
    if op.opclass == "Aggregator":
        return expression(
            within,
            (self,),
            op,
            op.return_type,
            shape,
            Operation(lambda mask, x: kernels.aggregate_rows(x, op), (source,)),
        )
    op = _monoid_of(self, op, within)
    return expression(
        within,
        (self,),
        op,
        op.return_type,
        shape,
        Operation(lambda mask, x: kernels.reduce_rows(x, op), (source,), ("reduce_rows", op)),
    )


def extract(self: Any, indexes: Any) -> Any:
    """Return the expression of extracting a region or an element."""
    axes = indexes.axes
    shape = indexes.shape
    if not shape:
        place = tuple(axis.one for axis in axes)
        if self._output == "TransposedMatrix":

            def kernel(mask: Any, x: Any) -> Any:
                return element(x, *place)

        else:

            def kernel(mask: Any, x: Any) -> Any:
                return element(x, *place)

    elif len(axes) == 2 and len(shape) == 1:
        if axes[0].size is None:

            def kernel(mask: Any, x: Any) -> Any:
                return extract_row(x, axes[0].one, axes[1])

        else:

            def kernel(mask: Any, x: Any) -> Any:
                if x._twin is not None:
                    return extract_row(x.twin, axes[1].one, axes[0])
                return as_vector(extract_region(x, axes))

    else:

        def kernel(mask: Any, x: Any) -> Any:
            return extract_region(x, axes)

    return expression("extract", (self,), None, self.dtype, shape, Operation(kernel, (self,)))


def reposition(self: Any, offset: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """Return the expression of moving all values by an offset."""

    def kernel(mask: Any, x: Any) -> Any:
        if len(shape) == 1:
            return move_vector(x, offset[0], shape[0])
        return move_matrix(x, (offset[0], offset[1]), (shape[0], shape[1]))

    return expression("reposition", (self,), None, self.dtype, shape, Operation(kernel, (self,)))


def power(self: Any, n: Any, op: Any) -> Any:
    """Return the expression of a matrix multiplied `n` times with itself."""
    from weft.graphblas.execution import multiply_matrices

    if self.nrows != self.ncols:
        raise DimensionMismatch(f"power needs a square matrix; the shape is {self.shape}.")
    try:
        count = int(n)
        if count != n:
            raise TypeError
    except (TypeError, ValueError):
        raise TypeError(f"n must be a nonnegative integer; got {n!r}.") from None
    if count < 0:
        raise ValueError(f"n must be a nonnegative integer; got {n}.")
    op = get_typed_op(op, self.dtype, kind="semiring")
    expect_op(self, op, ("Semiring",), within="power")
    identity = None
    if count == 0:
        of = op.binaryop.monoid
        if of is None:
            raise ValueError(
                f"binaryop must be associated with a monoid for power 0; {op.binaryop!r} is not."
            )
        identity = of.identity

    def kernel(mask: Any, x: Any) -> Any:
        if count == 0:
            places = np.arange(x.nrows, dtype=np.int64)
            values = iso(identity, x.nrows, op.return_type.np_type)
            return MatrixStore(x.shape, places, values, rows=places)
        result, square, left = None, x, count
        while left:
            if left & 1:
                result = square if result is None else multiply_matrices(result, square, op, None)
            left >>= 1
            if left:
                square = multiply_matrices(square, square, op, None)
        return result

    return expression("power", (self,), op, op.return_type, self.shape, Operation(kernel, (self,)))


def equal(left: Any, right: Any, dtypes: Any) -> bool:
    """Return whether two stores have equal values at equal places."""
    if left.nvals != right.nvals:
        return False
    keys = comparable([left, right])
    if not (keys[0] == keys[1]).all():
        return False
    return bool((cast(left.values, dtypes) == cast(right.values, dtypes)).all())


def close(left: Any, right: Any, rel_tol: float, abs_tol: float) -> bool:
    """Return whether two stores have nearly equal values at equal places."""
    if left.nvals != right.nvals:
        return False
    keys = comparable([left, right])
    if not (keys[0] == keys[1]).all():
        return False
    x, y = np.asarray(left.values), np.asarray(right.values)
    if x.dtype.kind == "b" and y.dtype.kind == "b":
        return bool((x == y).all())
    x, y = x.astype(np.float64), y.astype(np.float64)
    with np.errstate(all="ignore"):
        near = np.maximum(rel_tol * np.maximum(np.abs(x), np.abs(y)), abs_tol)
        return bool(((x == y) | (np.abs(x - y) <= near)).all())
