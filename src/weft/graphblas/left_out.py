"""Parts of python-graphblas that weft.graphblas omits, each with its reason."""

from __future__ import annotations

from typing import Any, NoReturn

from weft.graphblas.exceptions import NotImplementedException

COMPLEX = "kernels compute with booleans, integers and real floats"
REASONS = {
    "ss": "it gives access to the storage of SuiteSparse, which is not used; positional operators "
    "and aggregators stand without it, as gb.binary.firsti does",
    "FC32": COMPLEX,
    "FC64": COMPLEX,
    "conj": COMPLEX,
    "creal": COMPLEX,
    "cimag": COMPLEX,
    "carg": COMPLEX,
    "cmplx": COMPLEX,
    "from_awkward": "Awkward Array has no form for kernels; use to_coo and from_coo",
    "to_awkward": "Awkward Array has no form for kernels; use to_coo and from_coo",
    "from_pydata_sparse": "go through SciPy: from_scipy_sparse(array.to_scipy_sparse())",
    "to_pydata_sparse": "go through SciPy: sparse.COO.from_scipy_sparse(to_scipy_sparse(A))",
    "datashade": "drawing millions of points needs Datashader; use gb.viz.spy",
    "indexbinary": "operators see one value and its place, or two values; apply an index-unary "
    "operator to each operand first",
}


class LeftOut(NotImplementedException, AttributeError):
    """A name of python-graphblas that is left out."""


def refuse(owner: str, name: str) -> NoReturn:
    """Raise the error about a name that is left out, or is not known."""
    if name not in REASONS:
        raise AttributeError(f"module {owner!r} has no attribute {name!r}")
    raise LeftOut(
        f"{owner}.{name} is left out: {REASONS[name]}. "
        "weft.graphblas has the names of python-graphblas without those of its backend suitesparse."
    )


class WithoutStorage:
    """Explains to users of ``A.ss`` why it is missing."""

    __slots__ = ()

    @property
    def ss(self) -> Any:
        """Raise: import, export and iteration of SuiteSparse are left out."""
        refuse(type(self).__name__, "ss")
