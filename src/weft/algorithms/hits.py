"""Hubs and authorities.

Method: power iteration. Good hubs point to an authority, and a hub points to good authorities:

    a(v) = Σ w(u, v) · h(u) over u -> v,    h(v) = Σ w(v, u) · a(u) over v -> u,

both scaled to the sum 1. An iteration is two gathers, O(m).

J. Kleinberg: Authoritative sources in a hyperlinked environment (J. ACM 46, 1999).
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

import weft
from weft.algorithms.registry import BOTH, Fields, Needs, algorithm
from weft.algorithms.support.power import check_convergence, moved_little
from weft.algorithms.support.weights import check_weights
from weft.arrays.checks import check_steps, check_tolerance

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

        return v.gather(message, weft.sum, direction=direction, dtype=np.float64)

    @weft.vertex(on="all")
    def judge(v: Any) -> None:
        v.authority = arrived(v, "in", "hub")
        weft.reduce("authorities", v.authority, weft.sum)

    @weft.vertex(on="all")
    def point(v: Any) -> None:
        v.pointed = arrived(v, "out", "authority")
        weft.reduce("hubs", v.pointed, weft.sum)

    @weft.vertex(on="all", wake="all")
    def normalize(v: Any, hubs: Any, authorities: Any) -> None:
        hub = v.pointed / weft.where(hubs > 0, hubs, 1)
        weft.reduce("moved", abs(hub - v.hub), weft.sum)
        v.hub = hub
        v.authority = v.authority / weft.where(authorities > 0, authorities, 1)

    return [judge, point, normalize]


@algorithm(
    group="centrality",
    summary="hub and authority scores of every vertex",
    weights="optional",
    reference="J. Kleinberg: Authoritative sources in a hyperlinked environment (1999)",
    needs=Needs(
        BOTH, Fields(lambda i, w: 24, lambda i, w: 8, lambda i, w: 24), frontier=False,
        weighted=True, by_place=True,
    ),
)  # fmt: skip
def hits(
    g: weft.Graph,
    tol: float = 1e-8,
    max_iter: int = 100,
    *,
    weighted: bool = False,
    config: weft.Config | None = None,
) -> HITS:
    """Return the hub score and the authority score of every vertex.

    Parameters
    ----------
    g
        A graph. Each parallel edge counts.
    tol
        The iteration ends once the hub scores change by at most `tol` in total.
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
        hub=weft.full(1 / max(g.num_vertices, 1)), authority=weft.full(0.0), pointed=weft.full(0.0),
        hubs=weft.scalar(0.0), authorities=weft.scalar(0.0), moved=weft.scalar(np.inf),
    )  # fmt: skip
    run = g.iterate(
        iteration(weighted), state, until=moved_little(limit), max_iter=most, config=config
    )
    check_convergence(run, "hubs and authorities", limit)
    return HITS(state.hub, state.authority)
