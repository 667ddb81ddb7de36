"""Manifold ranking with several modalities (MMR).

Method: scores spread over the edges and return to where they started. For every feature apart,
with a weight of its own on every edge (∘ is the product feature by feature, ^∘-1 its inverse),

    mm(v) = α · (Σ w(u, v) ∘ mm(u)) ∘ (Σ w(u, v))^∘-1 + (1 - α) · mm0(v),

both sums over the edges u -> v. The sums of weights are the same in every iteration and are
gathered once. For α < 1 the iteration contracts: it has one fixed point.

D. Zhou, J. Weston, A. Gretton, O. Bousquet, B. Schölkopf: Ranking on data manifolds (NIPS 2003).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.algorithms.support.guarding import on_its_device
from weft.arrays.checks import check_tolerance
from weft.config import Config
from weft.engine.state import full
from weft.graph import Graph
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.learning.inputs import (
    check_column,
    check_end,
    check_finite,
    check_fraction,
    check_weights,
    settle,
    tolerances,
    vertex_features,
)
from weft.learning.weighing import incoming_scales, scaled_weight
from weft.program import vertex

Array = np.ndarray[Any, Any]


def ranking(
    weight: str, alpha: float, tol: float | None, dtype: Any, scaled: bool = False
) -> tuple[Any, Any]:
    """Return the vertex functions that weigh the neighbours and that spread scores."""

    @vertex
    def weigh(v: Any) -> None:
        total = v.gather(lambda u, e: scaled_weight(v, e, weight, dtype, scaled), monoids.sum)
        v.share = fn.hadamard_inverse(total)
        v.changed = False  # the next frontier is not used

    @vertex(wake="all")
    def spread(v: Any) -> None:
        arrived = v.gather(
            lambda u, e: scaled_weight(v, e, weight, dtype, scaled) * u.score, monoids.sum
        )
        score = alpha * arrived * v.share + (1 - alpha) * v.start
        if tol is not None:
            v.changed = fn.any_changed(score, v.score, tol)
        v.score = score

    return weigh, spread


@on_its_device
def manifold_ranking(  # noqa: PLR0913
    g: Graph,
    start: Any,
    alpha: float = 0.85,
    tol: float = 1e-6,
    max_iter: int = 200,
    *,
    weight: str = "weight",
    on_unconverged: str = "raise",
    config: Config | None = None,
) -> Array:
    """Return the scores of all vertices after they spread from the starting scores.

    Parameters
    ----------
    g
        A graph. Scores run along the edges, both ways over undirected ones.
    start
        The starting scores mm0: an array of shape (n,), or (n, k) for k features.
    alpha
        How much of a score comes from the neighbours, from 0 to 1.
    tol
        Stop when no feature of any vertex moves by more than this.
    max_iter
        The largest number of iterations.
    weight
        The edge column with the weights from 0 on: a number per edge for all features, or one per
        feature.
        A feature without weight at a vertex gets nothing from the neighbours.
    on_unconverged
        ``"raise"``, or ``"return"`` to take the scores after `max_iter` iterations as they are.
    config
        How to run it.

    Returns
    -------
    ndarray
        Scores in the shape of `start`; float32 if that is, else float64.

    Raises
    ------
    ConvergenceError
        If `tol` is not reached within `max_iter` iterations.
    ConfigError
        If an option is out of range.
    GraphError
        If the starting scores do not fit the graph or are not finite, or a weight is negative or
        not finite.
    FieldError
        If the weights do not fit the scores.

    Examples
    --------
    >>> import weft
    >>> g = weft.generators.path(4)
    >>> g.edge["near"] = [[1.0, 1.0], [1.0, 3.0], [1.0, 1.0]]
    >>> start = [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    >>> weft.learning.manifold_ranking(g, start, 0.5, weight="near").round(3).tolist()
    [[0.578, 0.54], [0.156, 0.079], [0.044, 0.032], [0.022, 0.016]]
    """
    alpha, tol = check_fraction("alpha", alpha), check_tolerance("tol", tol)
    check_end(on_unconverged)
    begin = vertex_features(g, start, "start")
    features = begin.shape[1:]
    check_finite(begin, "start")
    shape = check_weights(g, weight, ((), features))
    check_column(g, weight, negative=False)
    fields: dict[str, Any] = {
        "start": begin, "score": begin, "share": full(0, begin.dtype, shape),
    }  # fmt: skip
    scales = incoming_scales(g, weight, begin.dtype, config)
    if scales is not None:
        fields["scale"] = scales
    state = g.state(**fields)
    own, told = tolerances(config, tol)
    weigh, spread = ranking(weight, alpha, own, begin.dtype, scales is not None)
    g.run(weigh, state, config=config)
    run = g.iterate(spread, state, max_iter=max_iter, tolerance=told, config=config)
    settle(run, "manifold ranking", tol, on_unconverged)
    return state.score
