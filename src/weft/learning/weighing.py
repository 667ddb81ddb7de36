"""Weights of edges that are divided by their sum, safe from overflow and underflow.

Dividing by the sum of the weights into a vertex leaves only their proportions. Where the weights
lie far from 1, each vertex scales those of its incoming edges by a power of two first.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from weft.algorithms.support.strengths import powers_to_one
from weft.arrays.reduce import all_true
from weft.config import Config
from weft.engine.state import full
from weft.graph import Graph
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.learning.inputs import edge_shape, weight_of
from weft.program import vertex

Array = np.ndarray[Any, Any]

# The weights into a vertex may be added and multiplied by scores if the largest of them lies
# between 2**-x and 2**x.
SAFE_EXPONENT: Final = {np.dtype(np.float64): 400, np.dtype(np.float32): 40}


def incoming_scales(g: Graph, name: str, dtype: Any, config: Config | None) -> Array | None:
    """Return powers of two for the weights into each vertex, as float64; None if none is needed."""
    if (name == "weight" and not g.weighted) or not g.edge.storage(name).size:
        return None
    bound = 2.0 ** SAFE_EXPONENT[np.dtype(dtype)]
    least, largest = g.edge.extent(name)
    if least >= 1 / bound and largest <= bound:
        return None

    @vertex
    def weigh(v: Any) -> None:
        v.most = v.gather(lambda u, e: weight_of(e, name, np.float64), monoids.max)
        v.changed = False

    state = g.state(most=full(0.0, np.float64, edge_shape(g, name)))
    g.run(weigh, state, config=config)
    most = state.most
    if all_true((most <= 0) | ((most >= 1 / bound) & (most <= bound))):
        return None
    return powers_to_one(most)


def scaled_weight(v: Any, e: Any, name: str, dtype: Any, scaled: bool) -> Any:
    """Return the weight of an edge into v in a dtype, times `v.scale` if there are scales."""
    if not scaled:
        return weight_of(e, name, dtype)
    return fn.cast(weight_of(e, name, np.float64) * v.scale, dtype)
