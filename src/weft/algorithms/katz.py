"""Katz centrality.

Method: Jacobi iteration for the sum over all walks that end in a vertex, each damped by α per edge:

    x(v) = α · Σ w(u, v) · x(u) over u -> v  +  β.

It converges if α is below the reciprocal of the largest eigenvalue. An iteration is O(m).

L. Katz: A new status index derived from sociometric analysis (Psychometrika 18, 1953).
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import weft
from weft.algorithms.registry import Fields, Needs, algorithm
from weft.algorithms.support.power import check_convergence, moved_little
from weft.algorithms.support.weights import check_weights
from weft.arrays.checks import check_steps, check_tolerance, real_of
from weft.errors import ConfigError, shortened

Array = np.ndarray[Any, Any]


@functools.cache
def iteration(weighted: bool) -> Any:
    """Return the vertex function of one iteration."""

    @weft.vertex(on="all", wake="all")
    def attenuate(v: Any, alpha: Any, beta: Any) -> None:
        arrived = v.gather(
            lambda u, e: u.score * e.weight if weighted else u.score, weft.sum, dtype=np.float64
        )
        score = alpha * arrived + beta
        weft.reduce("moved", abs(score - v.score), weft.sum)
        v.score = score

    return attenuate


@algorithm(
    group="centrality",
    summary="the Katz centrality of every vertex",
    weights="optional",
    column="katz",
    reference="L. Katz: A new status index derived from sociometric analysis (1953)",
    needs=Needs(
        ("in",), Fields(lambda i, w: 8, lambda i, w: 8, lambda i, w: 8, own=8), frontier=False,
        weighted=True, by_place=True,
    ),
)  # fmt: skip
def katz(
    g: weft.Graph,
    alpha: float = 0.1,
    beta: float = 1.0,
    tol: float = 1e-6,
    max_iter: int = 1000,
    *,
    weighted: bool = False,
    config: weft.Config | None = None,
) -> Array:
    """Return the Katz centrality of every vertex; the sum of squares is 1.

    Parameters
    ----------
    g
        A graph; in a directed one, importance flows along the edges. Each parallel edge counts.
    alpha
        The damping per edge, below the reciprocal of the largest eigenvalue.
    beta
        The importance that every vertex has by itself.
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
        If `tol` is not reached within `max_iter` iterations, as where `alpha` is too large.

    Examples
    --------
    >>> import weft
    >>> weft.katz(weft.generators.path(3)).round(3).tolist()
    [0.56, 0.611, 0.56]
    """
    weighted = check_weights(g, weighted, "Katz centrality")
    for name, value in (("alpha", alpha), ("beta", beta)):
        if not np.isfinite(real_of(value)):
            raise ConfigError(f"{name}={shortened(value)} is not possible. Expected a number.")
    limit = check_tolerance("tol", tol) * g.num_vertices
    most = check_steps("max_iter", max_iter)
    state = g.state(
        score=weft.full(0.0),
        alpha=weft.scalar(alpha, float),
        beta=weft.scalar(beta, float),
        moved=weft.scalar(np.inf),
    )
    run = g.iterate(
        iteration(weighted), state, until=moved_little(limit), max_iter=most, config=config
    )
    check_convergence(run, "Katz centrality", limit)
    length = float((state.score * state.score).sum()) ** 0.5
    return state.score / (length or 1.0)
