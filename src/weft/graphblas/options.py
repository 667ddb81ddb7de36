"""Choices of execution, which never change a result: how products are computed, and where."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from weft.errors import unknown

CHOICES: dict[str, tuple[str, ...]] = {
    "direction": ("auto", "push", "pull"),
    "mask": ("auto", "before", "after"),
    "schedule": ("auto",),
    "combine": ("auto", "atomic", "radix"),
    "store": ("both", "csr", "csc"),
    "kernel": ("auto", "numpy", "compiled", "row", "merge"),
    "device": ("cpu", "cuda", "emulated"),
}
DEFAULTS: dict[str, Any] = {"switch": "auto", **{name: known[0] for name, known in CHOICES.items()}}
current: dict[str, Any] = dict(DEFAULTS)


def checked(choices: dict[str, Any]) -> dict[str, Any]:
    """Return choices, or raise a ValueError for a name or a value that is not known."""
    for name, choice in choices.items():
        if name == "switch":
            if choice != "auto" and not (
                isinstance(choice, int | float) and not isinstance(choice, bool) and 0 < choice < 1
            ):
                raise ValueError(
                    f"switch={choice!r} is not a share of a vector's places. Expected a number "
                    "between 0 and 1, such as 0.01, or 'auto'."
                )
            continue
        if name not in CHOICES:
            raise ValueError(
                f"Descriptor options {sorted(choices)} are not known. "
                + unknown("option", name, ["switch", *CHOICES])
            )
        known = CHOICES[name]
        if name == "schedule":
            from weft.schedules import schedules

            known = (*known, *schedules())
        if choice not in known:
            raise ValueError(unknown(name, choice, known))
    return choices


@contextmanager
def options(**choices: Any) -> Iterator[None]:
    """Choose how operations are computed within a ``with`` block: GraphBLAS's descriptor.

    The same names may be given to one operation, as in ``w(direction="push") << A @ v`` and
    ``expression.new(direction="push")``. Assignments that are computed later keep the choices that
    held when they were made.

    Parameters
    ----------
    direction : {"auto", "push", "pull"}
        Whether a product of a matrix and a vector spreads the vector's values along columns, or
        sums up along rows. By default the cheaper one by the number of products.
    switch : float or "auto"
        Choose the direction by the vector's form instead: dense vectors pull, sparse ones push. A
        vector becomes dense only while its number of values grows past this share of its places,
        and sparse only while it shrinks below. GraphBLAST uses 0.1 and 0.01.
    mask : {"auto", "before", "after"}
        Whether a product leaves out what its mask does not admit, or the mask acts on the finished
        product alone. "auto" is "before". To one operation it is given as
        ``w(M, mask="after") << ...``.
    schedule : str
        The schedule of compiled products, one of `weft.Config`'s.
    combine : {"auto", "atomic", "radix"}
        How values that a push brings to the same place meet on a GPU: by atomic operations, or
        sorted by place first.
    store : {"both", "csr", "csc"}
        Whether matrices keep rows and columns, or products with vectors use one of them alone:
        rows only pull in ``A @ v`` and push in ``v @ A``, columns the other way round.
    kernel : {"auto", "numpy", "compiled", "row", "merge"}
        Whether operations run in NumPy or in kernels that weft compiles. By default operands of
        more than ``gb.config["small"]`` values use compiled kernels where the operators allow.
        "row" and "merge" are compiled, too: on a GPU a product with a dense matrix takes a warp for
        each row, or shares all entries out evenly. By default short rows are merged, and very
        unequal ones; see ``merge_below`` of `gb.config`.
    device : {"cpu", "cuda", "emulated"}
        Where compiled kernels run. Operands are moved there and results back.

    Raises
    ------
    ValueError
        A name or a choice is not known.

    Examples
    --------
    >>> import weft.graphblas as gb
    >>> A = gb.Matrix.from_coo([0, 1], [1, 0], [1, 2])
    >>> with gb.options(direction="push"):
    ...     w = (A @ gb.Vector.from_coo([0], [3], size=2)).new()
    >>> w.to_dict()
    {1: 6}
    """
    with applied(checked(choices)):
        yield


@contextmanager
def applied(choices: dict[str, Any]) -> Iterator[None]:
    """Use choices that were checked within a ``with`` block."""
    old = dict(current)
    current.update(choices)
    try:
        yield
    finally:
        current.update(old)


def is_compiled() -> bool:
    """Return whether the choices ask for compiled kernels."""
    return current["kernel"] not in {"auto", "numpy"}


def captured() -> dict[str, Any] | None:
    """Return the choices that hold now; None if they are the defaults."""
    return None if current == DEFAULTS else dict(current)


def memory() -> dict[str, Any]:
    """Return the memory in use: entries held by objects, caches and compiled kernels.

    Returns
    -------
    dict
        ``policy``, in words; ``kernels``, the number of compiled kernels in use; ``workspace``, the
        bytes of accumulators and of room for products that are kept for the next operation; and
        ``peak``, the most bytes that they took.
    """
    from weft.graphblas.compiled import arena, multiply, rows

    return {
        "policy": "entries are immutable and shared by copies; transposes are kept once made; "
        "accumulators and the room of products are kept for the next operation of a thread",
        "kernels": len(multiply.kernels) + rows.loaded(),
        "workspace": arena.held(),
        "peak": arena.peak(),
    }
