"""Belief propagation in logarithms, in which every vertex sends in every superstep.

b(v) = log prior(v) + sum over u -> v of log(exp(b(u)) Ψ), each b shifted so that its largest entry
is 0. A message thus includes the receiver's own earlier contribution: this is the simpler scheme of
the paper, which stores beliefs only, unlike `weft.learning.belief_propagation`, which stores one
message per arc.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.acc.model import Program
from weft.algorithms.support.guarding import on_its_device
from weft.config import Config
from weft.engine.state import full, parameter, scalar
from weft.errors import ConfigError, GraphError
from weft.graph import Graph
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids


def _prepare(v: Any) -> None:
    """Save the belief to send, and reset the next one to the prior."""
    v.sent = v.belief - monoids.max(v.belief)
    v.belief = v.prior


def _moves(v: Any, tol: Any) -> Any:
    return monoids.max(abs(v.belief - monoids.max(v.belief) - v.sent)) > tol


# Beliefs are rows of k numbers, where k is known only at the call.
PROGRAM = Program(
    fields={
        "belief": full(0.0), "prior": full(0.0), "sent": full(0.0),
        "potential": parameter(np.ones((1, 1))), "tol": scalar(0.0),
    },
    prepare=_prepare,
    compute=lambda u, v, e, potential: fn.log(fn.matvec(potential.T, fn.exp(u.sent))),
    combine=monoids.sum,
    into="belief",
    active=_moves,
    senders="all",
)  # fmt: skip


@on_its_device
def belief_propagation(
    g: Graph,
    priors: Any,
    potential: Any,
    *,
    tol: float = 1e-6,
    max_iter: int = 100,
    config: Config | None = None,
) -> Any:
    """Return the beliefs of every vertex: for each state a probability.

    Parameters
    ----------
    g
        The graph; messages run along its arcs.
    priors
        Positive numbers, one row of k per vertex.
    potential
        A positive matrix (k, k): row i is the influence of a sender in state i on the receiver's
        states.
    tol
        The largest change of a logarithm at which a vertex counts as settled.
    max_iter
        The largest number of supersteps; the beliefs after them are returned, settled or not.

    Examples
    --------
    >>> import weft
    >>> g = weft.generators.path(3)
    >>> weft.acc.belief_propagation(g, [[9, 1], [1, 1], [1, 1]], [[2, 1], [1, 2]]).round(2).tolist()
    [[0.92, 0.08], [0.65, 0.35], [0.55, 0.45]]
    """
    rows = np.asarray(priors, np.float64)
    matrix = np.asarray(potential, np.float64)
    if rows.ndim != 2 or len(rows) != g.num_vertices or rows.shape[1] < 1:
        raise GraphError(
            f"priors has the shape {rows.shape}. Expected ({g.num_vertices}, k): a row of k states "
            "for every vertex."
        )
    k = rows.shape[1]
    if matrix.shape != (k, k):
        raise ConfigError(
            f"potential has the shape {matrix.shape}. Expected ({k}, {k}): priors has {k} states."
        )
    if not (np.all(rows > 0) and np.all(np.isfinite(rows))):
        raise GraphError("priors must be positive and finite. Use a small number in place of 0.")
    if not (np.all(matrix > 0) and np.all(np.isfinite(matrix))):
        raise ConfigError(
            "potential must be positive and finite. Use a small number in place of 0."
        )
    prior = np.log(rows)
    result = PROGRAM.run(
        g, max_iter=max_iter, config=config, belief=prior, prior=prior, sent=np.zeros_like(prior),
        potential=parameter(matrix), tol=float(tol),
    )  # fmt: skip
    xp = g.topology.xp
    log = result.state.belief
    odds = xp.exp(log - log.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)
