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


def draw(M: Any, *, ax: Any = None, weights: bool = True) -> Any:
    """Draw a square matrix as a graph, with NetworkX and matplotlib; return the axes.

    Parameters
    ----------
    M
        The matrix.
    ax
        Axes to draw into; new ones if not given.
    weights
        Whether to write the values beside the arcs.

    Examples
    --------
    >>> import weft.graphblas as gb
    >>> gb.viz.draw(gb.Matrix.from_coo([0, 1], [1, 0]))  # doctest: +SKIP
    """
    import matplotlib.pyplot as plt
    import networkx as nx

    from weft.graphblas.io import to_networkx

    if ax is None:
        _, ax = plt.subplots()
    graph = to_networkx(M)
    places = nx.spring_layout(graph, seed=0)
    nx.draw_networkx(graph, places, ax=ax)
    if weights:
        labels = nx.get_edge_attributes(graph, "weight")
        nx.draw_networkx_edge_labels(graph, places, edge_labels=labels, ax=ax)
    return ax


def __getattr__(name: str) -> Any:
    from weft.graphblas.left_out import refuse

    refuse("weft.graphblas.viz", name)
