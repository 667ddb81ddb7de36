"""Centralities by power iteration."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from weft.arrays.device import to_host
from weft.engine.state import scalar
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.networkx.matrices import adjacency_matrix, to_scipy_sparse_array
from weft.networkx.network import Network
from weft.program import vertex

Array = np.ndarray[Any, Any]


@vertex(wake="all")
def spread(v: Any) -> None:
    """Add what flows in to the value of v."""
    fresh = v.rank + v.gather(lambda u, e: u.rank * e.weight, monoids.sum)
    fn.reduce("square", fresh * fresh, monoids.sum)
    v.fresh = fresh


@vertex(on="all", wake="all")
def scale(v: Any, square: Any) -> None:
    """Scale the values to length 1."""
    fresh = v.fresh / fn.where(square > 0, fn.sqrt(square), 1)
    fn.reduce("error", abs(fresh - v.rank), monoids.sum)
    v.rank = fresh


@vertex(wake="all")
def attenuate(v: Any, alpha: Any) -> None:
    """Add what flows in, less with every step, to what v has of its own."""
    fresh = alpha * v.gather(lambda u, e: u.rank * e.weight, monoids.sum) + v.own
    fn.reduce("error", abs(fresh - v.rank), monoids.sum)
    v.rank = fresh


def _finite_start(G: Network, given: Any, otherwise: float) -> Array:
    if given is None:
        return np.full(G.size, otherwise)
    if set(given) != set(G.nodes):
        raise NotImplementedError("start values of some nodes alone")
    return np.array([given[node] for node in G.nodes], dtype=float)


def eigenvector_centrality(
    G: Network,
    max_iter: int = 100,
    tol: float = 1e-06,
    nstart: Any = None,
    weight: Any = None,
) -> dict[Any, float]:
    """The leading eigenvector of the adjacency matrix, by iteration of A + I."""
    if not G.size:
        raise nx.NetworkXPointlessConcept("cannot compute centrality for the null graph")
    start = _finite_start(G, nstart, 1.0)
    if (start == 0).all():
        raise nx.NetworkXError("initial vector cannot have all zero values")
    g = G.graph(weight)
    with g.topology.device.current():
        state = g.state(
            rank=start / start.sum(), fresh=0.0, square=scalar(0.0), error=scalar(np.inf)
        )
        bound = tol * G.size
        run = g.iterate(
            [spread, scale], state, until=lambda error: error < bound, max_iter=max_iter
        )
    return _result(G, run, state, max_iter, 1.0)


def katz_centrality(  # noqa: PLR0913
    G: Network,
    alpha: float = 0.1,
    beta: Any = 1.0,
    max_iter: int = 1000,
    tol: float = 1e-06,
    nstart: Any = None,
    normalized: bool = True,
    weight: Any = None,
) -> dict[Any, float]:
    """Walks to a node, each step counting less."""
    if not G.size:
        return {}
    start = _finite_start(G, nstart, 0.0)
    try:
        own = np.full(G.size, float(beta))
    except (TypeError, ValueError):
        if set(beta) != set(G):
            raise nx.NetworkXError("beta dictionary must have a value for every node") from None
        own = np.array([beta[node] for node in G.nodes], dtype=float)
    g = G.graph(weight)
    with g.topology.device.current():
        state = g.state(rank=start, own=own, alpha=scalar(float(alpha)), error=scalar(np.inf))
        bound = tol * G.size
        run = g.iterate(attenuate, state, until=lambda error: error < bound, max_iter=max_iter)
    rank = to_host(state.rank)
    length = float(np.hypot.reduce(rank)) if normalized else 1.0
    return _result(G, run, state, max_iter, 1 / length if length else 1.0)


def _result(G: Network, run: Any, state: Any, max_iter: int, factor: float) -> dict[Any, float]:
    if not run.converged:
        raise nx.PowerIterationFailedConvergence(max_iter)
    return G.named(to_host(state.rank) * factor)


def eigenvector_centrality_numpy(
    G: Network, weight: Any = None, max_iter: int = 50, tol: float = 0
) -> dict[Any, float]:
    """The leading eigenvector, by ARPACK."""
    from scipy.sparse.linalg import eigs

    from weft.networkx.distances import connected

    if not G.size:
        raise nx.NetworkXPointlessConcept("cannot compute centrality for the null graph")
    if not connected(G):
        raise nx.AmbiguousSolution(
            "`eigenvector_centrality_numpy` does not give consistent results for "
            "disconnected graphs"
        )
    matrix = to_scipy_sparse_array(G, weight=weight, dtype=float)
    _, vector = eigs(matrix.T, k=1, which="LR", maxiter=max_iter, tol=tol)
    largest = vector.flatten().real
    return G.named(largest / (np.sign(largest.sum()) * np.linalg.norm(largest)))


def katz_centrality_numpy(
    G: Network,
    alpha: float = 0.1,
    beta: Any = 1.0,
    normalized: bool = True,
    weight: Any = None,
) -> dict[Any, float]:
    """The solution of the linear system of Katz' centrality."""
    if not G.size:
        return {}
    if hasattr(beta, "keys") or G.size == 1:
        raise NotImplementedError("beta= by node, or a single node")
    try:
        own = np.ones((G.size, 1)) * beta
    except (TypeError, ValueError, AttributeError) as error:
        raise nx.NetworkXError("beta must be a number") from error
    matrix = adjacency_matrix(G, weight=weight).todense().T
    found = np.linalg.solve(np.eye(G.size) - alpha * matrix, own).reshape(-1)
    norm = np.sign(sum(found)) * np.linalg.norm(found) if normalized else 1
    return G.named(found / norm)


def hits(
    G: Network,
    max_iter: int = 100,
    tol: float = 1e-08,
    nstart: Any = None,
    normalized: bool = True,
) -> tuple[dict[Any, float], dict[Any, float]]:
    """Hubs and authorities: the leading singular vectors, by ARPACK."""
    from scipy.sparse.linalg import ArpackNoConvergence, svds

    if not G.size:
        return {}, {}
    matrix = adjacency_matrix(G, dtype=float)
    start = None if nstart is None else np.array(list(nstart.values()))
    if max_iter <= 0:
        raise nx.PowerIterationFailedConvergence(max_iter)
    try:
        _, _, vectors = svds(matrix, k=1, v0=start, maxiter=max_iter, tol=tol)
    except ArpackNoConvergence as error:
        raise nx.PowerIterationFailedConvergence(max_iter) from error
    authority = vectors.flatten().real
    hub = matrix @ authority
    if normalized:
        hub, authority = hub / hub.sum(), authority / authority.sum()
    return G.named(hub), G.named(authority)
