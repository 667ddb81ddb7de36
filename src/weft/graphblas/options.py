"""Choices of execution, which never change a result: where, in which direction, by what."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from weft.errors import unknown

CHOICES = {
    "direction": ("auto", "push", "pull"),
    "kernel": ("auto", "numpy", "compiled"),
    "device": ("cpu", "cuda", "emulated"),
}
current: dict[str, Any] = {"direction": "auto", "kernel": "auto", "device": "cpu"}


@contextmanager
def options(**choices: Any) -> Iterator[None]:
    """Choose how products are computed, within a ``with`` block.

    Parameters
    ----------
    direction : {"auto", "push", "pull"}
        Whether a product of a matrix and a vector spreads the vector's values along columns, or
        sums up along rows. By default the cheaper one.
    kernel : {"auto", "numpy", "compiled"}
        Whether products run in NumPy or in kernels that weft compiles. By default matrices of more
        than ``gb.config["small"]`` values use compiled kernels where the operators allow.
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
    for name, choice in choices.items():
        if name not in CHOICES:
            raise ValueError(unknown("option", name, CHOICES))
        if choice not in CHOICES[name]:
            raise ValueError(unknown(name, choice, CHOICES[name]))
    old = dict(current)
    current.update(choices)
    try:
        yield
    finally:
        current.update(old)


def memory() -> dict[str, Any]:
    """Return what is kept: the entries that objects hold are theirs, compiled kernels are cached.

    Returns
    -------
    dict
        ``policy``, in words, and ``kernels``, the number of compiled products in use.
    """
    from weft.graphblas.compiled import multiply

    return {
        "policy": "entries are immutable and shared by copies; transposes are kept once made",
        "kernels": len(multiply.kernels),
    }
