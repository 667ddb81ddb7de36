"""Label propagation on distributions (LP): several properties, seeds that stay.

Method: each vertex holds, for every property p, a distribution over the labels of that property.
In each iteration it mixes its own with the weighted mean of its neighbours',

    aggr = Σ w_p(u, v) · lp(u)_p over u -> v,
    lp(v)_p = normalize(α · normalize(aggr) + (1 - α) · lp(v)_p),

where normalize divides by the sum. The seeds keep what they were given (semi-supervised learning).

X. Zhu, Z. Ghahramani: Learning from labeled and unlabeled data with label propagation (CMU 2002).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from weft.algorithms.support.guarding import on_its_device
from weft.algorithms.support.strengths import distribution
from weft.arrays.checks import check_tolerance
from weft.arrays.device import as_array
from weft.arrays.reduce import all_true
from weft.config import Config
from weft.errors import GraphError
from weft.graph import Graph
from weft.graph.subgraph import members_mask
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


class Weighing(NamedTuple):
    """The weighting of messages."""

    weight: str  # the column
    apart: bool  # it has a weight for each property
    scaled: bool  # weights are scaled by vertex


def propagation(
    names: tuple[str, ...], weighing: Weighing, seeded: bool, alpha: float, tol: float | None,
    dtype: Any,
) -> Any:  # fmt: skip
    """Return the vertex function of one iteration; all properties share one sweep."""
    weight, apart, scaled = weighing

    @vertex(wake="all")
    def mix(v: Any) -> None:
        def messages(u: Any, e: Any) -> Any:
            w = scaled_weight(v, e, weight, dtype, scaled)
            parts = tuple((w[p] if apart else w) * getattr(u, name) for p, name in enumerate(names))
            return parts if len(parts) > 1 else parts[0]

        gathered = v.gather(messages, monoids.sum)
        moved: Any = False
        for name, aggr in zip(names, gathered if len(names) > 1 else (gathered,), strict=True):
            own = getattr(v, name)
            mixed = fn.normalize(alpha * fn.normalize(aggr) + (1 - alpha) * own)
            mixed = fn.where(v.seed, own, mixed) if seeded else mixed
            if tol is not None:
                moved = moved | fn.any_changed(mixed, own, tol)
            setattr(v, name, mixed)
        if tol is not None:
            v.changed = moved

    return mix


@on_its_device
def label_propagation_features(  # noqa: PLR0913
    g: Graph,
    labels: Any,
    alpha: float = 0.9,
    tol: float = 1e-6,
    max_iter: int = 1000,
    *,
    seeds: Any = None,
    weight: str = "weight",
    on_unconverged: str = "raise",
    config: Config | None = None,
) -> Any:
    """Return the distributions over labels that spread over the edges.

    Parameters
    ----------
    g
        A graph. Labels run along the edges, both ways over undirected ones.
    labels
        What each vertex starts with: non-negative values of shape (n, k) for k labels, scaled to
        add up to 1 at every vertex; all zeros mean that nothing is known. For several properties
        a list of such arrays, which may differ in k.
    alpha
        How much comes from the neighbours, from 0 to 1.
    tol
        Stop when no value moves by more than this.
    max_iter
        The largest number of iterations. Labels spread as heat does: over a wide, sparse graph that
        takes thousands.
    seeds
        The vertices that keep what they start with: a mask, or vertices (by their labels if the
        graph has labels). None by default.
    weight
        The edge column with the weights from 0 on: a number per edge, or one per property.
    on_unconverged
        ``"raise"``, or ``"return"`` to take what there is after `max_iter` iterations.
    config
        How to run it.

    Returns
    -------
    ndarray or list of ndarray
        The distributions, as `labels` was given. Vertices that no label reaches have zeros.

    Raises
    ------
    ConvergenceError
        If `tol` is not reached within `max_iter` iterations.
    ConfigError
        If an option is out of range.
    GraphError
        If the labels or seeds do not fit the graph, or a label or weight is negative or not finite.
    FieldError
        If the weights do not fit the properties.

    Examples
    --------
    >>> import weft
    >>> g = weft.generators.path(5)
    >>> labels = [[1, 0], [0, 0], [0, 0], [0, 0], [0, 1]]
    >>> found = weft.learning.label_propagation_features(g, labels, seeds=[0, 4])
    >>> found.round(3).tolist()
    [[1.0, 0.0], [0.75, 0.25], [0.5, 0.5], [0.25, 0.75], [0.0, 1.0]]
    """
    alpha, tol = check_fraction("alpha", alpha), check_tolerance("tol", tol)
    check_end(on_unconverged)
    several = isinstance(labels, list | tuple) and len(labels) > 0 and as_array(labels[0]).ndim == 2
    given = [
        vertex_features(g, part, f"labels of property {p}" if several else "labels", vectors=True)
        for p, part in enumerate(labels if several else [labels])
    ]
    dtype = np.result_type(*given)
    shape = check_weights(g, weight, ((), (len(given),)))
    check_column(g, weight, negative=False)
    names = tuple(f"labels_{p}" for p in range(len(given)))
    fields: dict[str, Any] = {n: _scaled(a, dtype) for n, a in zip(names, given, strict=True)}
    if seeds is not None:
        fields["seed"] = _mask(g, seeds)
    scales = incoming_scales(g, weight, dtype, config)
    if scales is not None:
        fields["scale"] = scales
    state = g.state(**fields)
    own, told = tolerances(config, tol)
    weighing = Weighing(weight, shape != (), scales is not None)
    step = propagation(names, weighing, seeds is not None, alpha, own, dtype)
    run = g.iterate(step, state, max_iter=max_iter, tolerance=told, config=config)
    settle(run, "label propagation", tol, on_unconverged)
    found = [getattr(state, name) for name in names]
    return found if several else found[0]


def _scaled(labels: Array, dtype: Any) -> Array:
    """Return rows that add up to 1, or are 0 throughout."""
    check_finite(labels, "labels", negative=False)
    with np.errstate(over="ignore"):
        total = labels.sum(axis=1, keepdims=True)
    if not all_true(total < np.inf):
        return distribution(labels.T).T.astype(dtype)
    return (labels / (total + (total == 0))).astype(dtype)


def _mask(g: Graph, seeds: Any) -> Array:
    array = as_array(seeds)
    if array.dtype == bool and array.shape != (g.num_vertices,):
        raise GraphError(
            f"seeds is a mask of shape {array.shape}. Expected ({g.num_vertices},), or the numbers "
            f"of the vertices."
        )
    return members_mask(g.topology, g._labels, seeds)
