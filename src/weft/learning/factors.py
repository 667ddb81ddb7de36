"""Alternating least squares (ALS): factors of a matrix of ratings.

Method: the vertices of a bipartite graph are users and items, an edge is a rating. Each vertex has
a vector lf of latent factors; with one side fixed, the best factors of the other are the solution
of a small linear system at every vertex:

    sc(v) = Σ w(u, v) lf(u),   IC(v) = Σ lf(u)ᵀ lf(u)   over the edges of v,
    lf(v) = (IC(v) + λ I)^-1 sc(v),

first for all users, then for all items. For implicit feedback (Hu, Koren, Volinsky) a weight r is
no rating but a count; every pair that is not an edge is a 0 in which there is little confidence:

    lf(v) = (Y + Σ (c - 1) lf(u)ᵀ lf(u) + λ I)^-1 Σ c lf(u),   c = 1 + a r,   Y = Σ lf(x)ᵀ lf(x)

over all x of the other side. With Cholesky's factor Y + λ I = L Lᵀ and lf(u) L^-T in place of
lf(u), the same system has the matrix I + Σ (c - 1) lf(u)ᵀ lf(u), so that Y stays out of the sweep.

Y. Zhou, D. Wilkinson, R. Schreiber, R. Pan: Large-scale parallel collaborative filtering (2008).
Y. Hu, Y. Koren, C. Volinsky: Collaborative filtering for implicit feedback datasets (ICDM 2008).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from weft.algorithms.support.guarding import on_its_device
from weft.arrays.checks import check_integer, check_tolerance
from weft.arrays.device import as_array
from weft.arrays.reduce import any_true
from weft.config import Config
from weft.engine.state import State, full, scalar
from weft.errors import ConfigError, GraphError
from weft.graph import Graph
from weft.graph.subgraph import members_mask
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.learning.inputs import (
    check_column,
    check_count,
    check_finite,
    check_positive,
    check_real,
    vertex_features,
    weight_of,
)
from weft.program import edge, vertex

Array = np.ndarray[Any, Any]


class Factors(NamedTuple):
    """What `als` found.

    Attributes
    ----------
    factors
        The latent factors of every vertex, 0 where it has no ratings; the product of two is the
        predicted rating.
    rmse
        The root of the mean squared error over the edges after each sweep; with implicit feedback
        weighted by the confidence, against a preference of 1.
    converged
        Whether the error stopped falling before the last sweep.
    """

    factors: Array
    rmse: Array
    converged: bool


def refitting(direction: str, ridge: float, dtype: Any) -> Any:
    """Return the vertex function that solves for the factors of one side."""

    @vertex
    def refit(v: Any) -> None:
        scale, gram = v.gather(
            lambda u, e: (weight_of(e, "weight", dtype) * u.factor, fn.outer(u.factor, u.factor)),
            monoids.sum,
            direction=direction,
        )
        v.factor = fn.solve(gram + ridge * fn.eye(v.factor.size), scale, assume="spd")
        v.changed = True

    return refit


def in_turn(refit: Any) -> list[Any]:
    """Return a superstep that solves for the users, then for the items, and so on."""

    @vertex(on="all")
    def take_turns(v: Any) -> None:
        v.changed = v.side == 1 + fn.superstep() % 2

    return [take_turns, refit]


def refitting_implicit(direction: str, trust: float, dtype: Any) -> Any:
    """Return the same for implicit feedback, in coordinates in which Y + λ I is I."""

    @vertex
    def refit(v: Any) -> None:
        def messages(u: Any, e: Any) -> Any:
            extra = trust * weight_of(e, "weight", dtype)
            return (1 + extra) * u.factor, extra * fn.outer(u.factor, u.factor)

        scale, gram = v.gather(messages, monoids.sum, direction=direction)
        v.factor = fn.solve(gram + fn.eye(v.factor.size), scale, assume="spd")

    return refit


def measuring(trust: float | None, dtype: Any) -> Any:
    """Return the edge function that adds up squared errors, and their weights."""

    @edge
    def measure(u: Any, v: Any, e: Any) -> None:
        rating = weight_of(e, "weight", dtype)
        confidence = 1 if trust is None else 1 + trust * rating
        missed = (rating if trust is None else 1) - fn.dot(u.factor, v.factor)
        fn.reduce("error", fn.cast(confidence * missed * missed, np.float64), monoids.sum)
        fn.reduce("weight", fn.cast(confidence + 0 * rating, np.float64), monoids.sum)

    return measure


@on_its_device
def als(
    g: Graph,
    k: int = 16,
    ridge: float = 0.1,
    max_sweeps: int = 20,
    tol: float = 1e-4,
    *,
    users: Any = None,
    implicit: float | None = None,
    start: Any = None,
    seed: int = 0,
    track: bool = True,
    dtype: Any = np.float64,
    config: Config | None = None,
) -> Factors:
    """Return latent factors of users and items such that their products are the ratings.

    Parameters
    ----------
    g
        A bipartite graph whose edges run from users to items, or an undirected one. The weights are
        the ratings (1 each without weights).
    k
        The number of latent factors, from 1 to 64.
    ridge
        λ, which keeps factors small: a positive number.
    max_sweeps
        How often both sides are solved for, at most.
    tol
        Stop when a sweep lowers the error by less than this share of it.
    users
        The users, as a mask or vertices (by their labels if the graph has labels). By default the
        sources of a directed graph; an undirected one must say it.
    implicit
        Take weights as counts of implicit feedback with the confidence 1 + implicit · weight.
    start
        Factors to begin with, of shape (n, k); random ones by default.
    seed
        Of the random factors.
    track
        Whether to measure the error after each sweep, and to stop by it. Without, all sweeps are
        made.
    dtype
        float64 or float32.
    config
        How to run it.

    Returns
    -------
    Factors
        The factors of all vertices, the error after each sweep, whether it came to rest.

    Raises
    ------
    ConfigError
        If an option is out of range.
    GraphError
        If an edge does not run between a user and an item, or a weight cannot be used.

    Examples
    --------
    Users 0 and 1, items 2 to 4; user 1 gives twice the stars that user 0 gives.

    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1, 1, 1], [2, 3, 2, 3, 4], [1.0, 2.0, 2.0, 4.0, 6.0])
    >>> found = weft.learning.als(g, 1, ridge=1e-6)
    >>> float((found.factors[0] @ found.factors[4]).round(2))
    3.0
    """
    k = check_count("k", k, 1)
    kind = check_real(np.float64, dtype)
    if k > 64:
        raise ConfigError(f"k={k} is too large to solve for. Expected 1 to 64.")
    ridge = check_positive("ridge", ridge)
    implicit = None if implicit is None else check_positive("implicit", implicit)
    check_count("max_sweeps", max_sweeps)
    tol = check_tolerance("tol", tol)
    sides = _sides(g, users)
    check_column(g, "weight", negative=implicit is None)
    state = g.state(
        factor=_begin(g, k, start, seed, kind), side=full(0, np.int8), error=scalar(0.0),
        weight=scalar(0.0),
    )  # fmt: skip
    state.factor[~_rated(g)] = 0
    for number, side in enumerate(sides, start=1):
        state.side[side.items] = number
    direction = "both" if g.directed else "in"
    measure = measuring(implicit, kind)
    if implicit is None:
        refit = refitting(direction, ridge, kind)
    else:
        refit = refitting_implicit(direction, implicit, kind)
    errors: list[float] = []
    converged = False
    if implicit is None and not track:
        g.iterate(in_turn(refit), state, max_iter=2 * max_sweeps, config=config)
        return Factors(state.factor, np.array(errors), converged)
    for _ in range(max_sweeps):
        if implicit is None:
            g.iterate(in_turn(refit), state, max_iter=2, config=config)
        else:
            for side, other in (sides, sides[::-1]):
                _run_scaled(g, refit, state, side, other, ridge, config)
        if not track:
            continue
        g.run(measure, state, config=config)
        errors.append(float(np.sqrt(state.error / max(state.weight, 1e-300))))
        if len(errors) > 1 and errors[-2] - errors[-1] <= tol * errors[-2]:
            converged = True
            break
    return Factors(state.factor, np.array(errors), converged)


def _run_scaled(
    g: Graph, refit: Any, state: State, side: Any, other: Any, ridge: float, config: Config | None
) -> None:
    """Solve for one side in the coordinates of the other's Gram matrix, and come back."""
    factor = state.factor
    with g.topology.device.current():
        xp = g.topology.xp
        fixed = factor[other.items]
        gram = (fixed.T @ fixed).astype(np.float64) + ridge * xp.eye(factor.shape[1])
        lower = xp.linalg.cholesky(gram)
        inverse = xp.linalg.inv(lower).astype(factor.dtype)
        factor[other.items] = fixed @ inverse.T
    g.run(refit, state, side, config=config)
    with g.topology.device.current():
        factor[side.items] = factor[side.items] @ inverse
        factor[other.items] = fixed


def _sides(g: Graph, users: Any) -> tuple[Any, Any]:
    """Return users and items as frontiers, after a check that edges run between them."""
    if users is None:
        if not g.directed:
            raise ConfigError("users=None: say who the users of an undirected graph are.")
        mask = as_array(g.out_degree) > 0
    else:
        mask = members_mask(g.topology, g._labels, users)
    src, dst = g.topology.edge_endpoints()
    bad = mask[src] == mask[dst]
    if any_true(bad):
        i = int(bad.argmax())
        both = "users" if bool(mask[src[i]]) else "items"
        raise GraphError(
            f"edge {i} ({src[i]} -> {dst[i]}) joins two {both}. Expected edges between users and "
            f"items; say by users= which vertices are users."
        )
    rated = _rated(g)
    return g.frontier(mask & rated), g.frontier(~mask & rated)


def _rated(g: Graph) -> Any:
    return (g.out_degree > 0) | (g.in_degree > 0)


def _begin(g: Graph, k: int, start: Any, seed: int, dtype: np.dtype[Any]) -> Any:
    if start is None:
        rng = np.random.default_rng(check_integer("seed", seed, 0))
        return rng.standard_normal((g.num_vertices, k)).astype(dtype) / np.sqrt(k).astype(dtype)
    factors = vertex_features(g, start, "start", dtype=dtype, vectors=True)
    if factors.shape[1] != k:
        raise GraphError(f"start has shape {factors.shape}. Expected ({g.num_vertices}, {k}).")
    check_finite(factors, "start")
    return factors
