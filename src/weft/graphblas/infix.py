"""The kinds of expressions: by what they give, and how they were written."""

from __future__ import annotations

from typing import Any

from weft.graphblas.arithmetic import Arithmetic, Unassignable
from weft.graphblas.expressions import (
    BaseExpression,
    InfixExpression,
    delegate,
    delegate_calls,
)
from weft.graphblas.matrix import Matrix
from weft.graphblas.scalar import Scalar, new_scalar
from weft.graphblas.updates import IndexExpression
from weft.graphblas.vector import Vector

VECTOR_NAMES = [
    "S",
    "V",
    "apply",
    "diag",
    "ewise_add",
    "ewise_mult",
    "ewise_union",
    "get",
    "inner",
    "isclose",
    "isequal",
    "name",
    "nvals",
    "_nvals",
    "outer",
    "reduce",
    "reposition",
    "select",
    "to_coo",
    "to_dense",
    "to_dict",
    "vxm",
    "wait",
    "_as_matrix",
    "_name_html",
    "_store",
    "_current",
]
MATRIX_NAMES = [
    "S",
    "T",
    "V",
    "apply",
    "diag",
    "ewise_add",
    "ewise_mult",
    "ewise_union",
    "get",
    "isclose",
    "isequal",
    "kronecker",
    "mxm",
    "mxv",
    "name",
    "nvals",
    "_nvals",
    "power",
    "reduce_columnwise",
    "reduce_rowwise",
    "reduce_scalar",
    "reposition",
    "select",
    "to_coo",
    "to_csc",
    "to_csr",
    "to_dcsc",
    "to_dcsr",
    "to_dense",
    "to_dicts",
    "to_edgelist",
    "wait",
    "_as_vector",
    "_name_html",
    "_store",
    "_current",
]
SCALAR_NAMES = [
    "apply",
    "ewise_add",
    "ewise_mult",
    "ewise_union",
    "get",
    "is_empty",
    "_is_empty",
    "isclose",
    "isequal",
    "name",
    "nvals",
    "_nvals",
    "select",
    "value",
    "wait",
    "_as_vector",
    "_name_html",
    "_store",
    "_current",
    "__index__",
]


class VectorLike(Arithmetic, Unassignable):
    """Methods of expressions whose result is a vector."""

    __slots__ = ()
    _output = "Vector"
    ndim = 1
    __bool__ = Vector.__bool__
    __array__ = Vector.__array__

    shape: Any

    @property
    def size(self) -> int:
        """The number of places."""
        return int(self.shape[0])

    def dup(
        self,
        dtype: Any = None,
        *,
        clear: bool = False,
        mask: Any = None,
        name: str | None = None,
        **opts: Any,
    ) -> Any:
        """Compute into a new object; with `clear`, return an empty one of the same shape."""
        if clear:
            dtype = self.dtype if dtype is None else dtype  # type: ignore[attr-defined]
            return Vector(dtype, self.size, name=name)
        return self.new(dtype, mask=mask, name=name, **opts)  # type: ignore[attr-defined]


class MatrixLike(Arithmetic, Unassignable):
    """Methods of expressions whose result is a matrix."""

    __slots__ = ()
    _output = "Matrix"
    ndim = 2
    _is_transposed = False
    __bool__ = Matrix.__bool__
    __array__ = Matrix.__array__

    shape: Any

    @property
    def nrows(self) -> int:
        """The number of rows."""
        return int(self.shape[0])

    @property
    def ncols(self) -> int:
        """The number of columns."""
        return int(self.shape[1])

    def dup(
        self,
        dtype: Any = None,
        *,
        clear: bool = False,
        mask: Any = None,
        name: str | None = None,
        **opts: Any,
    ) -> Any:
        """Compute into a new object; with `clear`, return an empty one of the same shape."""
        if clear:
            dtype = self.dtype if dtype is None else dtype  # type: ignore[attr-defined]
            return Matrix(dtype, self.nrows, self.ncols, name=name)
        return self.new(dtype, mask=mask, name=name, **opts)  # type: ignore[attr-defined]


class ScalarLike(Arithmetic, Unassignable):
    """Methods of expressions whose result is a scalar."""

    __slots__ = ()
    _output = "Scalar"
    _is_scalar = True
    ndim = 0
    is_cscalar = False
    is_grbscalar = True

    def __imatmul__(self, other: Any) -> Any:
        raise TypeError("'__imatmul__' is not supported for Scalar expressions.")

    def new(
        self,
        dtype: Any = None,
        *,
        is_cscalar: bool | None = None,
        name: str | None = None,
        **opts: Any,
    ) -> Scalar:
        """Compute into a new scalar."""
        if "mask" in opts:
            raise ValueError("Descriptor and mask options are not known for scalars.")
        return new_scalar(self, dtype, is_cscalar, name, **opts)

    def dup(
        self,
        dtype: Any = None,
        *,
        clear: bool = False,
        is_cscalar: bool | None = None,
        name: str | None = None,
        **opts: Any,
    ) -> Scalar:
        """Compute into a new scalar; with `clear`, return an empty one."""
        if clear:
            dtype = self.dtype if dtype is None else dtype  # type: ignore[attr-defined]
            return Scalar(dtype, is_cscalar=bool(is_cscalar), name=name)
        return self.new(dtype, is_cscalar=is_cscalar, name=name, **opts)


class VectorExpression(VectorLike, BaseExpression):
    """An operation that gives a vector."""

    __slots__ = ()

    def _compute(self, dtype: Any = None, mask: Any = None, name: str | None = None) -> Vector:
        made = Vector(self.dtype if dtype is None else dtype, self.shape[0], name=name)
        made._write(self, mask, None, False)
        return made


class MatrixExpression(MatrixLike, BaseExpression):
    """An operation that gives a matrix."""

    __slots__ = ()

    def _compute(self, dtype: Any = None, mask: Any = None, name: str | None = None) -> Matrix:
        made = Matrix(self.dtype if dtype is None else dtype, *self.shape, name=name)
        made._write(self, mask, None, False)
        return made


class ScalarExpression(ScalarLike, BaseExpression):
    """An operation that gives a scalar."""

    __slots__ = ()

    def _compute(self, dtype: Any = None, mask: Any = None, name: str | None = None) -> Scalar:
        return new_scalar(self, dtype, None, name)


class VectorIndexExpr(VectorLike, IndexExpression):
    """A region of a vector, or a row or column of a matrix."""

    __slots__ = ()


class MatrixIndexExpr(MatrixLike, IndexExpression):
    """A region of a matrix."""

    __slots__ = ()


class ScalarIndexExpr(ScalarLike, IndexExpression):
    """An element of a vector or matrix."""

    __slots__ = ()

    def new(
        self,
        dtype: Any = None,
        *,
        is_cscalar: bool | None = None,
        name: str | None = None,
        **opts: Any,
    ) -> Scalar:
        """Extract into a new scalar."""
        if "input_mask" in opts:
            raise ValueError("input_mask is not known for single elements.")
        return super().new(dtype, is_cscalar=is_cscalar, name=name, **opts)


def _infix(base: type, method: str, sign: str, name: str) -> Any:
    made = type(
        name,
        (base, InfixExpression),
        {
            "__slots__": (),
            "__doc__": f"``x {sign} y``, yet without an operator.",
            "method_name": method,
            "_infix": sign,
            "__module__": __name__,
        },
    )
    return made


VectorEwiseAddExpr = _infix(VectorLike, "ewise_add", "|", "VectorEwiseAddExpr")
VectorEwiseMultExpr = _infix(VectorLike, "ewise_mult", "&", "VectorEwiseMultExpr")
MatrixEwiseAddExpr = _infix(MatrixLike, "ewise_add", "|", "MatrixEwiseAddExpr")
MatrixEwiseMultExpr = _infix(MatrixLike, "ewise_mult", "&", "MatrixEwiseMultExpr")
ScalarEwiseAddExpr = _infix(ScalarLike, "ewise_add", "|", "ScalarEwiseAddExpr")
ScalarEwiseMultExpr = _infix(ScalarLike, "ewise_mult", "&", "ScalarEwiseMultExpr")
ScalarMatMulExpr = _infix(ScalarLike, "inner", "@", "ScalarMatMulExpr")
MatrixMatMulExpr = _infix(MatrixLike, "mxm", "@", "MatrixMatMulExpr")
_VectorMxv = _infix(VectorLike, "mxv", "@", "VectorMatMulExpr")
_VectorVxm = _infix(VectorLike, "vxm", "@", "VectorMatMulExpr")


class _MethodCall:
    """Gives an infix expression the hidden methods that nested ones ask for."""

    def __init__(self, method: str) -> None:
        self.method = method

    def __get__(self, instance: Any, owner: Any) -> Any:
        if instance is None:
            return self
        from weft.graphblas.elementwise import ewise
        from weft.graphblas.products import product

        method = self.method

        def call(other: Any, op: Any = None, *, is_infix: bool = False) -> Any:
            if method.startswith("ewise"):
                return ewise(method, instance, other, op, is_infix=is_infix)
            return product(method, instance, other, op, is_infix=is_infix)

        return call


CLASSES = {
    ("ewise_add", 1): VectorEwiseAddExpr,
    ("ewise_mult", 1): VectorEwiseMultExpr,
    ("ewise_add", 2): MatrixEwiseAddExpr,
    ("ewise_mult", 2): MatrixEwiseMultExpr,
    ("ewise_add", 0): ScalarEwiseAddExpr,
    ("ewise_mult", 0): ScalarEwiseMultExpr,
    ("inner", 0): ScalarMatMulExpr,
    ("mxm", 2): MatrixMatMulExpr,
    ("mxv", 1): _VectorMxv,
    ("vxm", 1): _VectorVxm,
}
_EXPRESSIONS = (ScalarExpression, VectorExpression, MatrixExpression)
_INDEXES = (ScalarIndexExpr, VectorIndexExpr, MatrixIndexExpr)


def expression_class(ndim: int) -> Any:
    """Return the kind of expression that gives a result of so many dimensions."""
    return _EXPRESSIONS[ndim]


def index_class(ndim: int) -> Any:
    """Return the kind of a region of so many dimensions."""
    return _INDEXES[ndim]


for _class in (*_EXPRESSIONS, *_INDEXES, *CLASSES.values()):
    if _class._output == "Scalar":
        delegate(_class, tuple(SCALAR_NAMES))
        delegate_calls(
            _class,
            ("__eq__", "__ne__", "__bool__", "__int__", "__float__", "__complex__", "__array__"),
        )
    else:
        names = VECTOR_NAMES if _class._output == "Vector" else MATRIX_NAMES
        delegate(_class, tuple(names))
        delegate_calls(_class, ("__contains__", "__iter__", "__getitem__"))
    _class.__hash__ = None
    for _method in ("ewise_add", "ewise_mult", "mxm", "mxv", "vxm", "inner"):
        setattr(_class, f"_{_method}", _MethodCall(_method))


def _set_name(self: Any, name: str) -> None:
    self._get_value("name").name = name


for _class in (*_EXPRESSIONS, *CLASSES.values()):
    _class.name = _class.__dict__["name"].setter(_set_name)
