"""Belief propagation as the ablations run it: its inputs, and the same beliefs by array operations.

A message depends on its sender alone, so the sums over in-arcs are a sparse product.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.gpu_checks import matrix_of

ITERATIONS = 10
POTENTIAL = ((0.55, 0.45), (0.45, 0.55))  # a weak pull towards the neighbours' state
SEED = 5


def inputs(n: int) -> tuple[Any, Any]:
    """Return priors of two states, drawn per vertex, and the potential."""
    first = np.random.default_rng(SEED).uniform(0.4, 0.6, n)
    return np.stack([first, 1 - first], axis=1), np.array(POTENTIAL)


def reference(arcs: Any) -> Any:
    """Return the beliefs after the iterations over the arcs of an undirected graph."""
    xp, matrix_of_arcs = arcs.xp, matrix_of(arcs)
    rows, matrix = inputs(arcs.n)
    prior, potential = xp.log(xp.asarray(rows)), xp.asarray(matrix)
    belief = prior
    for _ in range(ITERATIONS):
        sent = belief - belief.max(axis=1, keepdims=True)
        message = xp.log(xp.exp(sent) @ potential)
        belief = prior + matrix_of_arcs @ message
    odds = xp.exp(belief - belief.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)
