"""Alternating least squares (ALS): factors of a matrix of ratings.

Method: the vertices of a bipartite graph are users and items, an edge is a rating. Each vertex has
a vector lf of latent factors; with one side fixed, the best factors of the other are the solution
of a small linear system at every vertex:

    sc(v) = Σ w(u, v) lf(u),   IC(v) = Σ lf(u)ᵀ lf(u)   over the edges of v,
    lf(v) = (IC(v) + λ I)^-1 sc(v),

first for all users, then for all items. With ``alternate=False`` a superstep solves for all
vertices from the factors of the last one. That is two alternating runs in one, so users are
fitted to the first factors of the items before: then both runs are the same, and each superstep
moves one side. For implicit feedback (Hu, Koren, Volinsky) a weight r is
no rating but a count; every pair that is not an edge is a 0 in which there is little confidence:

    lf(v) = (Y + Σ (c - 1) lf(u)ᵀ lf(u) + λ I)^-1 Σ c lf(u),   c = 1 + a r,   Y = Σ lf(x)ᵀ lf(x)

over all x of the other side. With Cholesky's factor Y + λ I = L Lᵀ and lf(u) L^-T in place of
lf(u), the same system has the matrix I + Σ (c - 1) lf(u)ᵀ lf(u), so that Y stays out of the sweep.

Driven by changes, sc(v) and IC(v) are kept as hidden fields, and a vertex that moved sends the
difference of its messages. The alternating form does so once few vertices move: up to then it
solves for one side after the other, which looks at half the arcs.

Y. Zhou, D. Wilkinson, R. Schreiber, R. Pan: Large-scale parallel collaborative filtering (2008).
Y. Hu, Y. Koren, C. Volinsky: Collaborative filtering for implicit feedback datasets (ICDM 2008).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from weft.algorithms.support.guarding import on_its_device
from weft.arrays.checks import check_integer, check_tolerance
from weft.arrays.device import as_array
from weft.arrays.reduce import any_true
from weft.config import Config, check_config
from weft.engine.state import State, full, scalar
from weft.errors import ConfigError, GraphError
from weft.graph import Graph
from weft.graph.subgraph import members_mask
from weft.ir.ops import WIDE_SHARE
from weft.learning.factor_steps import (
    in_turn,
    measuring,
    refitting,
    refitting_all,
    refitting_counted,
    refitting_implicit,
)
from weft.learning.inputs import (
    check_column,
    check_count,
    check_finite,
    check_positive,
    check_real,
    vertex_features,
)

Array = np.ndarray[Any, Any]


class Factors(NamedTuple):
    """The result of `als`.

    Attributes
    ----------
    factors
        The latent factors of every vertex, 0 where it has no ratings; the product of two is the
        predicted rating.
    rmse
        The root of the mean squared error over the edges after each sweep; with implicit feedback
        weighted by the confidence, against a preference of 1. A run that is driven by changes
        measures it once, at the end.
    converged
        Whether the error stopped falling before the last sweep; in a run that is driven by changes,
        whether the factors came to rest.
    """

    factors: Array
    rmse: Array
    converged: bool


@on_its_device
def als(  # noqa: PLR0913
    g: Graph,
    k: int = 16,
    ridge: float = 0.1,
    max_sweeps: int = 20,
    tol: float = 1e-4,
    *,
    users: Any = None,
    alternate: bool = True,
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
        The maximum number of times that both sides are solved.
    tol
        Stop when a sweep lowers the error by less than this share of it. A run that is driven by
        changes stops when no factor would move by more than twice this much.
    users
        The users, as a mask or vertices (by their labels if the graph has labels). By default the
        sources of a directed graph; an undirected one must say it.
    alternate
        Whether to solve for the users, then for the items. Otherwise every sweep solves for all
        vertices from the factors of the last sweep; users are fitted to the items once before, so
        that after s sweeps the factors are those of s + 1 alternating halves.
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
        How to run it. With `change_driven` the sums of a vertex are kept (k² + k numbers) and only
        vertices that moved by more than twice `tol` send, once few of them do; not with
        `implicit`.

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
    driven, config = _is_driven(config, implicit, alternate)
    sides = _sides(g, users)
    check_column(g, "weight", negative=implicit is None)
    if driven and g.directed:
        g = _both_ways(g)
    state = g.state(
        factor=_begin(g, k, start, seed, kind), side=full(0, np.int8), error=scalar(0.0),
        weight=scalar(0.0), moving=scalar(0),
    )  # fmt: skip
    state.factor[~_rated(g)] = 0
    for number, side in enumerate(sides, start=1):
        state.side[side.items] = number
    direction = "both" if g.directed else "in"
    fit = _Fit(direction, ridge, kind, implicit, alternate)
    measure = measuring(implicit, kind)
    if not alternate and max_sweeps:
        g.run(refitting(direction, ridge, kind), state, sides[0], config=config)
    if driven:
        rests = _run_by_changes(g, state, fit, tol, max_sweeps, config)
        return Factors(state.factor, _measured(g, measure, state, track, config), rests)
    sweep = _sweeper(g, state, sides, fit, config)
    errors: list[float] = []
    if implicit is None and not track:
        sweep(max_sweeps)
        return Factors(state.factor, np.array(errors), False)
    for _ in range(max_sweeps):
        sweep(1)
        errors += _measured(g, measure, state, track, config).tolist()
        if len(errors) > 1 and errors[-2] - errors[-1] <= tol * errors[-2]:
            return Factors(state.factor, np.array(errors), True)
    return Factors(state.factor, np.array(errors), False)


def _is_driven(
    config: Config | None, implicit: float | None, alternate: bool
) -> tuple[bool, Config | None]:
    """Return whether the run is change-driven, and the configuration of all other runs."""
    if implicit is not None and not alternate:
        raise ConfigError(
            "alternate=False is not possible with implicit=: the systems of one side contain all "
            "factors of the other. Use alternate=True."
        )
    wanted = check_config(config).change_driven
    if not wanted or config is None:
        return False, config
    if implicit is not None and wanted is True:
        raise ConfigError(
            "change_driven=True is not possible with implicit=: every factor depends on all of the "
            "other side. Use change_driven=False or 'auto'."
        )
    return implicit is None, replace(config, change_driven=False)


def _measured(g: Graph, measure: Any, state: State, track: bool, config: Config | None) -> Array:
    """Return the error of the factors, or nothing if it is not tracked."""
    if not track:
        return np.array([])
    g.run(measure, state, config=config)
    return np.array([np.sqrt(state.error / max(state.weight, 1e-300))], float)


class _Fit(NamedTuple):
    """The parameters of the system at each vertex."""

    direction: str
    ridge: float
    dtype: Any
    implicit: float | None
    alternate: bool


def _sweeper(
    g: Graph, state: State, sides: tuple[Any, Any], fit: _Fit, config: Config | None
) -> Callable[[int], None]:
    """Return a function that solves for all vertices a number of times."""
    direction, ridge, dtype, implicit, alternate = fit
    if implicit is not None:
        scaled = refitting_implicit(direction, implicit, dtype)

        def sweep_scaled(times: int) -> None:
            for side, other in (sides, sides[::-1]) * times:
                _run_scaled(g, scaled, state, side, other, ridge, config)

        return sweep_scaled
    if alternate:
        steps: Any = in_turn(refitting(direction, ridge, dtype))
    else:
        steps = refitting_all(direction, ridge, dtype)
    supersteps = 2 if alternate else 1

    def sweep(times: int) -> None:
        g.iterate(steps, state, max_iter=supersteps * times, config=config)

    return sweep


def _run_by_changes(
    g: Graph, state: State, fit: _Fit, tol: float, max_sweeps: int, config: Config | None
) -> bool:
    """Solve until no factor moves further than twice `tol`; return whether that was reached.

    After the last half of an alternating sweep the factors of one side fit those of the other, so
    that solving for all vertices at once goes on as alternating sweeps would.
    """
    most, done, ridge, dtype = max_sweeps, 0, fit.ridge, fit.dtype
    if fit.alternate:
        most *= 2
        few = g.topology.num_arcs // WIDE_SHARE
        steps = in_turn(refitting_counted("in", ridge, dtype, tol))
        run = g.iterate(
            steps, state, until=lambda moving: moving <= few, max_iter=most, config=config
        )
        done = run.steps
    run = g.iterate(
        refitting_all("in", ridge, dtype), state, max_iter=most - done, change_driven=True,
        tolerance=tol, config=config,
    )  # fmt: skip
    return run.converged


def _both_ways(g: Graph) -> Graph:
    """Return the undirected graph of the same ratings: what changed is sent along out-edges."""
    src, dst, weight = g.to_edges()
    return Graph.from_edges(
        src, dst, weight, num_vertices=g.num_vertices, directed=False, device=g.device
    )


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
