"""Eigenvector centrality.

Method: power iteration with A + I, which has the eigenvectors of A and converges on bipartite
graphs too:

    x(v) = x(v) + Σ w(u, v) · x(u) over u -> v,    then x = x / |x|.

An iteration is one gather over all arcs, O(m).

P. Bonacich: Power and centrality: a family of measures (American J. Sociology 92, 1987).
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import weft
from weft.algorithms.registry import Fields, Needs, algorithm
from weft.algorithms.support.power import check_convergence, moved_little
from weft.algorithms.support.weights import check_weights
from weft.arrays.checks import check_steps, check_tolerance

Array = np.ndarray[Any, Any]


@functools.cache
def iteration(weighted: bool) -> list[Any]:
    """Return the two steps of an iteration."""

    @weft.vertex(on="all")
    def multiply(v: Any) -> None:
        arrived = v.gather(
            lambda u, e: u.score * e.weight if weighted else u.score, weft.sum, dtype=np.float64
        )
        v.raised = v.score + arrived
        weft.reduce("square", v.raised * v.raised, weft.sum)

    @weft.vertex(on="all", wake="all")
    def normalize(v: Any, square: Any) -> None:
        score = v.raised / weft.sqrt(square)
        weft.reduce("moved", abs(score - v.score), weft.sum)
        v.score = score

    return [multiply, normalize]


@algorithm(
    group="centrality",
    summary="the eigenvector centrality of every vertex",
    weights="optional",
    column="eigenvector",
    reference="P. Bonacich: Power and centrality: a family of measures (1987)",
    needs=Needs(
        ("in",), Fields(lambda i, w: 16, lambda i, w: 8, lambda i, w: 16), frontier=False,
        weighted=True, by_place=True,
    ),
)  # fmt: skip
def eigenvector(
    g: weft.Graph,
    tol: float = 1e-6,
    max_iter: int = 100,
    *,
    weighted: bool = False,
    config: weft.Config | None = None,
) -> Array:
    """Return the eigenvector centrality of every vertex; the sum of squares is 1.

    Parameters
    ----------
    g
        A graph; in a directed one, importance flows along the edges. Each parallel edge counts.
    tol
        The iteration ends once the values change by at most `tol` per vertex on average.
    max_iter
        Maximum number of iterations.
    weighted
        Whether to multiply by the weights, which must be finite and not negative.
    config
        How to run it.

    Returns
    -------
    ndarray of float64

    Raises
    ------
    ConvergenceError
        If `tol` is not reached within `max_iter` iterations, as in graphs without cycles.

    Examples
    --------
    >>> import weft
    >>> weft.eigenvector(weft.generators.path(3)).round(3).tolist()
    [0.5, 0.707, 0.5]
    """
    weighted = check_weights(g, weighted, "eigenvector centrality")
    limit = check_tolerance("tol", tol) * g.num_vertices
    most = check_steps("max_iter", max_iter)
    state = g.state(
        score=weft.full(1 / max(g.num_vertices, 1) ** 0.5),
        raised=weft.full(0.0),
        square=weft.scalar(0.0),
        moved=weft.scalar(np.inf),
    )
    run = g.iterate(
        iteration(weighted), state, until=moved_little(limit), max_iter=most, config=config
    )
    check_convergence(run, "eigenvector centrality", limit)
    return state.score
