"""Hubs and authorities.

Method: power iteration. An authority is pointed to by good hubs, a hub points to good authorities:

    a(v) = Σ w(u, v) · h(u) over u -> v,    h(v) = Σ w(v, u) · a(u) over v -> u,

both scaled to add up to 1. An iteration is two gathers, O(m).

J. Kleinberg: Authoritative sources in a hyperlinked environment (J. ACM 46, 1999).
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from weft.algorithms.registry import BOTH, Fields, Needs, algorithm
from weft.algorithms.support.power import check_convergence, moved_little
from weft.algorithms.support.weights import check_weights
from weft.arrays.checks import check_steps, check_tolerance
from weft.config import Config
from weft.engine.state import full, scalar
from weft.graph import Graph
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.program import vertex

Array = np.ndarray[Any, Any]


class HITS(NamedTuple):
    """Scores of vertices as hubs and as authorities."""

    hub: Array
    authority: Array


@functools.cache
def iteration(weighted: bool) -> list[Any]:
    """Return the three steps of an iteration."""

    def arrived(v: Any, direction: str, name: str) -> Any:
        def message(u: Any, e: Any) -> Any:
            value = getattr(u, name)
            return value * e.weight if weighted else value

        return v.gather(message, monoids.sum, direction=direction, dtype=np.float64)

    @vertex(on="all")
    def judge(v: Any) -> None:
        v.authority = arrived(v, "in", "hub")
        fn.reduce("authorities", v.authority, monoids.sum)

    @vertex(on="all")
    def point(v: Any) -> None:
        v.pointed = arrived(v, "out", "authority")
        fn.reduce("hubs", v.pointed, monoids.sum)

    @vertex(on="all", wake="all")
    def normalize(v: Any, hubs: Any, authorities: Any) -> None:
        hub = v.pointed / fn.where(hubs > 0, hubs, 1)
        fn.reduce("moved", abs(hub - v.hub), monoids.sum)
        v.hub = hub
        v.authority = v.authority / fn.where(authorities > 0, authorities, 1)

    return [judge, point, normalize]


@algorithm(
    group="centrality",
    summary="hub and authority scores of every vertex",
    weights="optional",
    reference="J. Kleinberg: Authoritative sources in a hyperlinked environment (1999)",
    needs=Needs(
        BOTH, Fields(lambda i, w: 24, lambda i, w: 8, lambda i, w: 24), frontier=False,
        weighted=True,
    ),
)  # fmt: skip
def hits(
    g: Graph,
    tol: float = 1e-8,
    max_iter: int = 100,
    *,
    weighted: bool = False,
    config: Config | None = None,
) -> HITS:
    """Return how good a hub and how good an authority every vertex is.

    Parameters
    ----------
    g
        A graph. Parallel edges count each.
    tol
        The iteration ends when the hub scores moved by at most `tol` in all.
    max_iter
        Maximum number of iterations.
    weighted
        Whether to multiply by the weights, which must be finite and not negative.
    config
        How to run it.

    Returns
    -------
    HITS
        ``hub`` and ``authority``, each adding up to 1 (all 0 in a graph without edges).

    Raises
    ------
    ConvergenceError
        If `tol` is not reached within `max_iter` iterations.

    Examples
    --------
    >>> import weft
    >>> found = weft.hits(weft.Graph.from_edges([0, 1, 2, 0], [2, 2, 3, 3]))
    >>> found.hub.round(2).tolist(), found.authority.round(2).tolist()
    ([0.5, 0.25, 0.25, 0.0], [0.0, 0.0, 0.5, 0.5])
    """
    weighted = check_weights(g, weighted, "hubs and authorities")
    limit, most = check_tolerance("tol", tol), check_steps("max_iter", max_iter)
    state = g.state(
        hub=full(1 / max(g.num_vertices, 1)), authority=full(0.0), pointed=full(0.0),
        hubs=scalar(0.0), authorities=scalar(0.0), moved=scalar(np.inf),
    )  # fmt: skip
    run = g.iterate(
        iteration(weighted), state, until=moved_little(limit), max_iter=most, config=config
    )
    check_convergence(run, "hubs and authorities", limit)
    return HITS(state.hub, state.authority)
