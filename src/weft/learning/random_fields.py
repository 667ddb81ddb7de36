"""Priors and potentials of Markov random fields: checks, scales, and the arithmetic they need.

Scaling the priors of a vertex or the potential of an edge changes no belief. What counts is the
spread of an edge, log(max Ψ / min Ψ). Every element of a message lies between exp(-spread) and 1
times the largest one, so that a product over d messages is at least exp(-d · spread).
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np

from weft.algorithms.support.strengths import distribution, powers_to_one
from weft.arrays.device import as_array
from weft.arrays.reduce import all_true, any_true
from weft.errors import FieldError, GraphError
from weft.graph import Graph
from weft.learning.inputs import check_finite, edge_shape, vertex_features

Array = np.ndarray[Any, Any]
FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)

# A message is divided out of a belief: elements down to exp(-x) keep all digits that count.
WIDEST_SPREAD: Final = {FLOAT64: 600, FLOAT32: 50}
SAFE_PRODUCT: Final = {FLOAT64: 600, FLOAT32: 80}  # products down to exp(-x) do not underflow
SAFE_EXPONENT: Final = {FLOAT64: 100, FLOAT32: 40}  # potentials from 2**-x to 2**x need no scaling


class Potentials(NamedTuple):
    """The potentials of a field, scaled to fit the dtype that is computed in.

    `column` of `graph` holds one for each edge, or `shared` is the one of all edges (a stand-in
    that no function reads if there is a column). `turned` says whether one of them is asymmetric.
    """

    graph: Graph
    column: str | None
    shared: Array
    turned: bool
    spread: float


def check_priors(g: Graph, priors: Any) -> Array:
    """Return priors that add up to 1 at every vertex."""
    prior = vertex_features(g, priors, "priors", vectors=True)
    check_finite(prior, "priors", negative=False)
    with np.errstate(over="ignore"):
        total = prior.sum(axis=1, keepdims=True)
    if not all_true(total > 0):
        raise GraphError(
            f"the priors of vertex {int(total.argmin())} are all 0. Expected one possible state at "
            f"least."
        )
    if not all_true(total < np.inf):
        return distribution(prior.T).T.astype(prior.dtype)
    return prior / total


def check_potentials(g: Graph, potential: Any, k: int, dtype: np.dtype[Any]) -> Potentials:
    """Return potentials of k states that may be multiplied in a dtype."""
    if isinstance(potential, str):
        column, what = potential, f"edge column {potential!r}"
        shape = edge_shape(g, potential)
        if g.topology.carrier is not None:
            return _in_blocks(g, potential, shape == (k, k), SAFE_EXPONENT[dtype])
        values = g.edge.storage(potential)
    else:
        column, what = None, "potential"
        values = as_array(potential)
        shape = values.shape
    if shape != (k, k):
        raise FieldError(
            f"{what} has shape {shape}. Expected ({k}, {k}): the priors have {k} states."
        )
    check_finite(values, what)
    if not all_true(values > 0):
        raise GraphError(
            f"{what} holds {values.min()}. Expected positive numbers: messages are divided. Use a "
            f"very small one where two states exclude each other."
        )
    turned = any_true(values != values.swapaxes(-1, -2))
    spread, values, scaled = _scaled(values, SAFE_EXPONENT[dtype])
    if column is None:
        return Potentials(g, None, values, turned, spread)
    if scaled:
        g = Graph(g.topology, edge={column: values}, order=g.order)
    return Potentials(g, column, np.ones((1, 1)), turned, spread)


def _in_blocks(g: Graph, column: str, fits: bool, exponent: int) -> Potentials:
    """Return the potentials of a partitioned graph, of which only the range is known."""
    low, high = g.edge.extent(column)
    if not fits or not 2.0**-exponent <= low <= high <= 2.0**exponent:
        raise GraphError(
            f"edge column {column!r} holds {'' if fits else 'other than '}matrices of the states "
            f"from {low} to {high}. Expected one of each edge, with numbers from 2**-{exponent} to "
            f"2**{exponent}: those of a partitioned graph are not scaled."
        )
    spread = math.log(high) - math.log(low)
    return Potentials(g, column, np.ones((1, 1)), True, spread)


def _scaled(values: Array, exponent: int) -> tuple[float, Array, bool]:
    """Return a bound of the spread, potentials near 1, and whether these are others."""
    if not values.size:
        return 0.0, values, False
    least, most = float(values.min()), float(values.max())
    if 2.0**-exponent <= least and most <= 2.0**exponent:
        return math.log(most) - math.log(least), values, False
    each = values.reshape(-1, values.shape[-1] ** 2).astype(np.float64)
    least_of, most_of = each.min(axis=1), each.max(axis=1)
    spread = float((np.log(most_of) - np.log(least_of)).max())
    each *= powers_to_one(most_of)[:, None]
    return spread, np.maximum(each, np.finfo(np.float64).tiny).reshape(values.shape), True


def arithmetic(
    g: Graph, potentials: Potentials, k: int, dtype: np.dtype[Any]
) -> tuple[np.dtype[Any], str]:
    """Return the dtype and the form of arithmetic (see `passing`) that beliefs need."""
    spread = potentials.spread
    kind = FLOAT64 if spread > WIDEST_SPREAD[dtype] else dtype
    if spread > WIDEST_SPREAD[kind]:
        return kind, "logarithms"
    degree = int(g.out_degree.max()) if g.num_vertices else 0
    safe = degree * spread + math.log(k) <= SAFE_PRODUCT[kind]
    return kind, "products" if safe else "sums"
