"""Multimodal learning (MML): features that spread by a mixture of modalities.

Method: an edge has one weight per modality, a row vector w(u, v); α, a row vector too, says how
much each modality counts:

    AGGR(v) = Σ w(u, v)ᵀ · mmode(u) over u -> v   (one row per modality, one column per feature),
    mmode(v) = α · AGGR(v) + (1 - α · 1) · mmode0(v),

where α · 1 is the sum of α. Since α is the same everywhere, α · AGGR(v) = Σ (α · w(u, v)) mmode(u):
the matrix is never built. The iteration converges where the mixed weights α · w(u, v) into every
vertex add up to less than 1.

H. Tong, J. He, M. Li, C. Zhang, W.-Y. Ma: Graph based multi-modality learning
(ACM Multimedia, 2005).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.algorithms.support.guarding import on_its_device
from weft.arrays.checks import check_tolerance
from weft.config import Config
from weft.engine.state import parameter
from weft.errors import ConfigError, shortened
from weft.graph import Graph
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.learning.inputs import (
    check_column,
    check_end,
    check_finite,
    check_weights,
    settle,
    tolerances,
    vertex_features,
    weight_of,
)
from weft.program import vertex

Array = np.ndarray[Any, Any]


def mixing(weight: str, vectors: bool, tol: float | None, dtype: Any) -> Any:
    """Return the vertex function of one iteration."""

    @vertex(wake="all")
    def mix(v: Any, alpha: Any) -> None:
        def mixed(e: Any) -> Any:
            w = weight_of(e, weight, dtype)
            return fn.dot(alpha, w) if vectors else alpha[0] * w

        arrived = v.gather(lambda u, e: mixed(e) * u.mode, monoids.sum)
        mode = arrived + (1 - monoids.sum(alpha)) * v.start
        if tol is not None:
            v.changed = fn.any_changed(mode, v.mode, tol)
        v.mode = mode

    return mix


@on_its_device
def multimodal(  # noqa: PLR0913
    g: Graph,
    start: Any,
    alpha: Any,
    tol: float = 1e-6,
    max_iter: int = 200,
    *,
    weight: str = "weight",
    on_unconverged: str = "raise",
    config: Config | None = None,
) -> Array:
    """Return the features of all vertices after they spread over several modalities of edges.

    Parameters
    ----------
    g
        A graph. Features run along the edges, both ways over undirected ones.
    start
        The features mmode0 to begin with: an array of shape (n,) or (n, k).
    alpha
        How much each modality counts: one number per modality, together at most 1.
    tol
        Stop when no feature of any vertex moves by more than this.
    max_iter
        The largest number of iterations.
    weight
        The edge column with one weight per modality (a number per edge if there is one modality).
        Scale them so that the weights of a modality into a vertex add up to 1 at most.
    on_unconverged
        ``"raise"``, or ``"return"`` to take the features after `max_iter` iterations as they are.
    config
        How to run it.

    Returns
    -------
    ndarray
        Features in the shape of `start`; float32 if that is, else float64.

    Raises
    ------
    ConvergenceError
        If `tol` is not reached within `max_iter` iterations.
    ConfigError
        If an option is out of range.
    GraphError
        If the features do not fit the graph, or they or the weights are not finite.
    FieldError
        If the weights do not fit `alpha`.

    Examples
    --------
    Two modalities: the first knows both edges, the second only the edge between 1 and 2.

    >>> import weft
    >>> g = weft.generators.path(3)
    >>> g.edge["by"] = [[0.5, 0.0], [0.5, 1.0]]
    >>> start = [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]
    >>> weft.learning.multimodal(g, start, [0.4, 0.2], weight="by").round(3).tolist()
    [[0.42, 0.04], [0.1, 0.2], [0.04, 0.48]]
    """
    tol = check_tolerance("tol", tol)
    check_end(on_unconverged)
    begin = vertex_features(g, start, "start")
    check_finite(begin, "start")
    mixture = _mixture(alpha)
    shape = check_weights(g, weight, ((mixture.size,),) + (((),) if mixture.size == 1 else ()))
    check_column(g, weight)
    state = g.state(start=begin, mode=begin, alpha=parameter(mixture, begin.dtype))
    own, told = tolerances(config, tol)
    step = mixing(weight, shape != (), own, begin.dtype)
    run = g.iterate(step, state, max_iter=max_iter, tolerance=told, config=config)
    settle(run, "multimodal learning", tol, on_unconverged)
    return state.mode


def _mixture(alpha: Any) -> Array:
    try:
        given = np.atleast_1d(np.asarray(alpha))
    except (TypeError, ValueError):
        given = np.empty(0)
    mixture = given.astype(np.float64) if given.dtype.kind in "iuf" else np.empty(0)
    some = mixture.ndim == 1 and mixture.size > 0
    inside = some and bool((mixture >= 0).all()) and mixture.sum() <= 1 + 1e-9
    if not inside:
        raise ConfigError(
            f"alpha={shortened(alpha)} is not a mixture. Expected a number from 0 on for each "
            f"modality, together at most 1."
        )
    return mixture
