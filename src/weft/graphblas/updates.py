"""``C(mask, accum, replace)`` and ``C[I, J]``: where an assignment goes and how."""

from __future__ import annotations

from typing import Any

from weft.graphblas.checks import output_kind
from weft.graphblas.expressions import check_options, not_computed
from weft.graphblas.indexing import Indexes
from weft.graphblas.kernels.assign import extract
from weft.graphblas.mask import Mask, check_mask
from weft.graphblas.operators.lookup import find_opclass, get_typed_op
from weft.graphblas.options import applied, checked
from weft.graphblas.settings import config


class _Replace:
    """Singleton: drop values of the target outside the mask."""

    def __repr__(self) -> str:
        return "replace"

    def __reduce__(self) -> str:
        return "replace"


replace = _Replace()


def updater_of(
    target: Any,
    given: tuple[Any, ...],
    mask: Any,
    accum: Any,
    replaces: bool,
    input_mask: Any,
    opts: dict[str, Any] | None = None,
) -> Updater:
    """Return the target ``C(mask, accum, replace)``; mask and accum may be in any order."""
    scalar = target._is_scalar
    mask, opts = _chosen(mask, opts)
    for arg in given:
        if arg is replace:
            replaces = True
        elif isinstance(arg, Mask) or output_kind(arg) in {"Vector", "Matrix", "TransposedMatrix"}:
            if scalar:
                raise TypeError("Mask not allowed for Scalars.")
            if mask is not None:
                raise TypeError("Got multiple values for argument 'mask'.")
            mask = arg
        elif scalar and output_kind(arg) == "Scalar":
            raise TypeError("Mask not allowed for Scalars.")
        else:
            if accum is not None:
                raise TypeError("Got multiple values for argument 'accum'.")
            if not isinstance(arg, str) and find_opclass(arg)[1] == "UnknownOpClass":
                raise TypeError(f"Invalid item found in output params: {type(arg).__name__}.")
            accum = arg
    if scalar:
        _check_scalar_update(mask, replaces, input_mask)
    elif mask is not None:
        if input_mask is not None:
            raise TypeError("mask and input_mask arguments cannot both be given.")
        mask = check_mask(mask)
    elif input_mask is not None:
        input_mask = check_mask(input_mask)
    elif replaces:
        raise TypeError("'replace' argument may only be True if a mask is provided.")
    if accum is not None:
        accum = _accumulator(accum, target.dtype)
    return Updater(target, mask, accum, replaces, input_mask, opts)


def _chosen(mask: Any, opts: dict[str, Any] | None) -> tuple[Any, dict[str, Any] | None]:
    """Return the mask and the choices of execution; a word for the mask is one of those."""
    if isinstance(mask, str):
        opts, mask = {**(opts or {}), "mask": mask}, None
    return mask, (checked(opts) if opts else None)


def _accumulator(accum: Any, dtype: Any) -> Any:
    """Return the binary operator that old and new values meet in."""
    typed = get_typed_op(accum, dtype, kind="binary")
    if typed.opclass == "Monoid":
        return typed.binaryop
    if typed.opclass != "BinaryOp":
        raise TypeError(
            f"Bad type for keyword argument `accum`. Expected type: BinaryOp; got {typed.opclass}."
        )
    return typed


def _check_scalar_update(mask: Any, replaces: bool, input_mask: Any) -> None:
    if mask is not None:
        raise TypeError("Mask not allowed for Scalars.")
    if input_mask is not None:
        raise TypeError("input_mask not allowed for Scalars.")
    if replaces:
        raise TypeError(
            "'replace' argument may not be True for Scalars: it needs a mask, which they have not."
        )


class _Target:
    """An object that cannot be compared or converted to bool."""

    __slots__ = ("__weakref__",)

    def __eq__(self, other: object) -> bool:
        raise TypeError(f"__eq__ not defined for objects of type {type(self).__name__}.")

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise TypeError(f"__bool__ not defined for objects of type {type(self).__name__}.")


class Updater(_Target):
    """``C(mask, accum, replace)``, to be assigned to."""

    __slots__ = ("accum", "input_mask", "mask", "opts", "parent", "replace")

    def __init__(
        self,
        parent: Any,
        mask: Any = None,
        accum: Any = None,
        replace: bool = False,
        input_mask: Any = None,
        opts: dict[str, Any] | None = None,
    ) -> None:
        self.parent, self.mask, self.accum = parent, mask, accum
        self.replace, self.input_mask, self.opts = replace, input_mask, opts

    def update(self, expr: Any) -> None:
        """Assign, as ``C(...) << expr`` does."""
        if self.opts:
            with applied(self.opts):
                self.parent._update(expr, self.mask, self.accum, self.replace, self.input_mask)
            return
        self.parent._update(expr, self.mask, self.accum, self.replace, self.input_mask)

    __lshift__ = update

    def __getitem__(self, keys: Any) -> Assigner:
        self._refuse_scalar()
        return Assigner(self, Indexes(self.parent, keys), False)

    def __setitem__(self, keys: Any, value: Any) -> None:
        self._refuse_scalar()
        Assigner(self, Indexes(self.parent, keys), False).update(value)

    def __delitem__(self, keys: Any) -> None:
        self._refuse_scalar()
        Assigner(self, Indexes(self.parent, keys), False)._delete()

    def _refuse_scalar(self) -> None:
        if self.parent._is_scalar:
            raise TypeError("Indexing not supported for Scalars.")


class Assigner(_Target):
    """``C[I, J](mask)`` or ``C(mask)[I, J]``, to be assigned to.

    `is_submask` says that the mask has the shape of the region.
    """

    __slots__ = ("indexes", "is_submask", "updater")

    def __init__(self, updater: Updater, indexes: Indexes, is_submask: bool) -> None:
        if updater.input_mask is not None:
            raise TypeError("`input_mask` argument may only be used for extract.")
        self.updater, self.indexes, self.is_submask = updater, indexes, is_submask

    def update(self, value: Any) -> None:
        """Assign, as ``C[I, J](...) << value`` does."""
        self.updater.parent._assign(self.updater, self.indexes, value, self.is_submask)

    __lshift__ = update

    def _delete(self) -> None:
        self.updater.parent._assign(self.updater, self.indexes, None, self.is_submask, delete=True)


class IndexExpression:
    """``C[I, J]``: extracted from where a value is needed, assigned to on the left."""

    __slots__ = ("__weakref__", "_value", "indexes", "parent", "shape")
    _output = ""
    _lazy = True
    _is_scalar = False
    ndim = 0

    def __init__(self, parent: Any, indexes: Indexes) -> None:
        self.parent, self.indexes = parent, indexes
        self.shape = indexes.shape
        self._value: Any = None

    @property
    def resolved_indexes(self) -> Indexes:
        """The index."""
        return self.indexes

    @property
    def dtype(self) -> Any:
        """The type of the values."""
        return self.parent.dtype

    def _format_expr(self) -> str:
        return f"{self.parent.name}[{self.indexes!r}]"

    def __repr__(self) -> str:
        from weft.graphblas import formatting

        return formatting.expression_text(self)

    def _repr_html_(self) -> str:
        from weft.graphblas import formatting

        return formatting.expression_html(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Assigner:
        updater = self.parent(*args, **kwargs)
        return Assigner(updater, self.indexes, updater.mask is not None)

    def update(self, value: Any, **opts: Any) -> None:
        """Assign to the region, as ``C[I, J] << value`` does."""
        check_options(opts)
        if self.parent._output == "TransposedMatrix":
            raise TypeError("'TransposedMatrix' object does not support item assignment")
        self.parent._assign(Updater(self.parent), self.indexes, value, False)

    __lshift__ = update

    def _to_expr(self) -> Any:
        return self.parent._extracted(self.indexes)

    def _get_value(self, attr: str | None = None) -> Any:
        if self._value is None:
            if not config["autocompute"]:
                raise TypeError(not_computed(self, attr))
            self._value = self.new()
        return self._value

    def new(
        self,
        dtype: Any = None,
        *,
        mask: Any = None,
        input_mask: Any = None,
        name: str | None = None,
        **opts: Any,
    ) -> Any:
        """Extract into a new object.

        Parameters
        ----------
        dtype
            The type of the result.
        mask
            Which places of the result may get a value.
        input_mask
            Which places of the object that is extracted from count.
        name
            The name of the result.
        """
        if input_mask is not None:
            if mask is not None:
                raise TypeError("mask and input_mask arguments cannot both be given.")
            mask = self._region_mask(check_mask(input_mask, self.parent))
        return self._to_expr().new(dtype, mask=mask, name=name, **opts)

    def _region_mask(self, mask: Mask) -> Mask:
        """Return a mask of the region from one of the object."""
        parent, of = self.parent, mask.parent
        axes = self.indexes.axes
        if of._output == "Vector" and parent._output != "Vector":
            rows, cols = axes
            if rows.size is None:
                name, axis, dim = "ncols", cols, parent.ncols
            elif cols.size is None:
                name, axis, dim = "nrows", rows, parent.nrows
            else:
                raise TypeError(
                    "Got Vector `input_mask` when extracting a submatrix from a Matrix. Give a "
                    "Matrix mask, or extract from a single row or column."
                )
            if dim != of.size:
                raise ValueError(
                    f"Size of `input_mask` Vector does not match {name} of Matrix: "
                    f"{of.size} and {dim}."
                )
            axes = (axis,)
        elif of.shape != parent.shape:
            what = "size" if parent._output == "Vector" else "shape"
            raise ValueError(
                f"{what.capitalize()} of `input_mask` does not match {what} of input: "
                f"{of.shape} and {parent.shape}."
            )
        region = extract(of._store, axes)
        if of._output == "Matrix" and len(self.shape) == 1:
            from weft.graphblas.kernels.places import as_vector

            region = as_vector(region.twin if axes[0].size is None else region)
        from weft.graphblas.matrix import Matrix
        from weft.graphblas.vector import Vector

        made: Any = Vector if len(self.shape) == 1 else Matrix
        return type(mask)(made._from_store(region, of.dtype))
