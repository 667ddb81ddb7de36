"""Pictures of matrices."""

from __future__ import annotations

from typing import Any


def spy(M: Any, *, ax: Any = None, markersize: float = 1.0) -> Any:
    """Draw where a matrix has values, with matplotlib; return the axes.

    Parameters
    ----------
    M
        The matrix.
    ax
        Axes to draw into; new ones if not given.
    markersize
        The size of the dots.

    Examples
    --------
    >>> import weft.graphblas as gb
    >>> gb.viz.spy(gb.Matrix.from_coo([0, 1], [1, 0]))  # doctest: +SKIP
    """
    import matplotlib.pyplot as plt

    if ax is None:
        _, ax = plt.subplots()
    rows, cols, _ = M.to_coo(values=False)
    ax.plot(cols.astype(float), rows.astype(float), "s", markersize=markersize)
    ax.set_xlim(-0.5, M.ncols - 0.5)
    ax.set_ylim(M.nrows - 0.5, -0.5)
    ax.set_aspect("equal")
    return ax
