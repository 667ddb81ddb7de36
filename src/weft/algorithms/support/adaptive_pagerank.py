"""PageRank by residuals: long steps while most vertices move, pushes once few of them do.

Method: with damping d, home distribution h and the mass δ(x) of the vertices without out-edges,
PageRank solves A x = (1 - d) h for

    A x = x - d · (Σ x(u) · w(u, v) / W(u) over u -> v  +  h · δ(x)).

The residual r = (1 - d) h - A x is signed. A *sweep* gathers A r and takes a step of the conjugate
residual method, whose direction p and step length minimise a norm of the residual.

In an undirected graph δ is omitted, which only scales the solution: its sum is then
1 - d · h(vertices without edges). A is symmetric for the inner product that divides by W, so the
short recurrence finds the smallest residual in that norm that as many sweeps can reach, and the run
starts at x = 0. In a directed graph there is no such norm. The run starts at x = h with δ, so r
adds up to 0, and a sweep takes the shorter of two residuals in the L1 norm: that of the method, and
that of a plain iteration, x + r, which is at most d times as long. So a sweep reduces the residual
at least as much as the bound of a plain iteration, and usually several times as much.

Once the vertices with |r(v)| > ε · out-degree(v) have less than a sixteenth of the arcs, only these
*push* their residual, until none is left or the frontier has grown to an eighth of the arcs, beyond
which sweeps are cheaper. Pushes omit δ too: scaled to the sum 1, a vector x with residual r has the
residual (r - h Σ r) / Σ x.

The run ends when |r| of ranks scaled to the sum 1 adds up to at most `tol`, as plain PageRank does,
and returns x + r: ranks that differ from the exact ones by at most tol · d / (1 - d) in all. For
pushes, ε = tol / 4(m + n) with m arcs ensures it.

S. Eisenstat, H. Elman, M. Schultz: Variational iterative methods for nonsymmetric systems of linear
equations (SIAM Journal on Numerical Analysis 20, 1983).
S. Kamvar, T. Haveliwala, G. Golub: Adaptive methods for the computation of PageRank (Linear Algebra
and its Applications 386, 2004).
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import weft
from weft.algorithms.support.ranking import Ranking
from weft.arrays.device import move
from weft.arrays.reduce import count_true, total
from weft.config import check_config

Array = np.ndarray[Any, Any]

FEW, MANY = 16, 8  # pushes start below one in this many arcs, and end above one in this many


def _share(weighted: bool, u: Any, e: Any, amount: Any, dtype: Any) -> Any:
    """Return the part of an amount at u that flows along e."""
    if weighted:
        return weft.cast(e.weight, dtype) * (amount / weft.where(u.strength > 0, u.strength, 1))
    return amount / weft.maximum(u.out_degree, 1)


def _total(name: str, value: Any) -> None:
    weft.reduce(name, weft.cast(value, np.float64), weft.sum)


@functools.lru_cache(maxsize=16)
def conjugate_sweeping(weighted: bool, dtype: Any) -> list[Any]:
    """Return the steps of a sweep of an undirected graph: gather A r, step along p.

    `turn` is A p; both are updated from the last ones by the scalars.
    """

    def metric(v: Any) -> Any:
        size = v.strength if weighted else v.out_degree
        return weft.cast(weft.where(size > 0, size, 1), np.float64)

    @weft.vertex(on="all")
    def apply(v: Any, damping: Any) -> None:
        arrived = v.gather(
            lambda u, e: _share(weighted, u, e, u.residue, dtype), weft.sum, dtype=dtype
        )
        image = weft.cast(v.residue - damping * arrived, dtype)
        residue, turn = (weft.cast(x, np.float64) / metric(v) for x in (v.residue, v.turn))
        _total("r_image", residue * image)
        _total("r_turn", turn * v.residue)
        _total("image_image", weft.cast(image, np.float64) * image / metric(v))
        _total("image_turn", turn * image)
        _total("turn_turn", turn * v.turn)
        v.image = image

    @weft.vertex(on="all", wake="all")
    def go(
        v: Any, r_image: Any, r_turn: Any, image_image: Any, image_turn: Any, turn_turn: Any,
        least: Any,
    ) -> None:  # fmt: skip
        length, bend = _step(r_image, r_turn, image_image, image_turn, turn_turn)
        turn = weft.cast(v.image - bend * v.turn, dtype)
        way = weft.cast(v.residue - bend * v.way, dtype)
        residue = weft.cast(v.residue - length * turn, dtype)
        v.rank = weft.cast(v.rank + length * way, dtype)
        v.turn = turn
        v.way = way
        v.residue = residue
        _total("error", abs(residue))
        _total("drift", residue)
        _count_moving(v, residue, least)
        v.changed = True

    return [apply, go]


def _step(r_image: Any, r_turn: Any, image_image: Any, image_turn: Any, turn_turn: Any) -> Any:
    """Return the step length, and the share of the last direction in the next one."""
    bend = weft.where(turn_turn > 0, image_turn / weft.where(turn_turn > 0, turn_turn, 1), 0)
    size = image_image - bend * image_turn  # of the new turn = A way, squared
    length = weft.where(size > 0, (r_image - bend * r_turn) / weft.where(size > 0, size, 1), 0)
    return length, bend


def _count_moving(v: Any, residue: Any, least: Any) -> None:
    """Count the arcs of the vertices whose residual is significant."""
    moves = abs(residue) > least * weft.maximum(v.out_degree, 1)
    weft.reduce("moving", weft.where(moves, weft.cast(v.out_degree, np.int64), 0), weft.sum)


@functools.lru_cache(maxsize=16)
def sweeping(weighted: bool, personal: bool, dtype: Any) -> list[Any]:
    """Return the steps of a sweep of a directed graph: gather A r, then take the better step.

    The first sweep computes the residual of the initial ranks, which `residue` then holds.
    """

    @weft.vertex(on="all")
    def apply(v: Any, damping: Any, dangling: Any) -> None:
        home = v.home if personal else 1 / weft.num_vertices()
        arrived = v.gather(
            lambda u, e: _share(weighted, u, e, u.residue, dtype), weft.sum, dtype=dtype
        )
        image = weft.cast(v.residue - damping * (arrived + dangling * home), dtype)
        _total("plain", abs(v.residue - image))
        _total("r_image", v.residue * image)
        _total("r_turn", v.residue * v.turn)
        _total("image_image", image * image)
        _total("image_turn", image * v.turn)
        _total("turn_turn", v.turn * v.turn)
        v.image = image

    @weft.vertex(on="all")
    def aim(v: Any, r_image: Any, r_turn: Any, image_image: Any, image_turn: Any,
            turn_turn: Any, first: Any) -> None:  # fmt: skip
        length, bend = _step(r_image, r_turn, image_image, image_turn, turn_turn)
        v.turn = weft.where(first == 0, weft.cast(v.image - bend * v.turn, dtype), 0)
        _total("bent", abs(v.residue - length * v.turn))
        weft.reduce("length", length, weft.max)
        weft.reduce("bend", bend, weft.max)

    @weft.vertex(on="all", wake="all")
    def go(  # noqa: PLR0913, PLR0917 -- the scalars of the state
        v: Any, damping: Any, bent: Any, plain: Any, length: Any, bend: Any, least: Any, first: Any,
    ) -> None:  # fmt: skip
        home = v.home if personal else 1 / weft.num_vertices()
        bends = (bent <= plain) & (first == 0)
        way = weft.where(first == 0, weft.cast(v.residue - bend * v.way, dtype), 0)
        step = weft.where(bends, length * way, weft.where(first == 0, v.residue, 0))
        begun = weft.where(first == 0, v.residue, (1 - damping) * home)
        residue = weft.cast(begun - weft.where(bends, length * v.turn, v.image), dtype)
        v.rank = weft.cast(v.rank + step, dtype)
        v.way = way
        v.residue = residue
        sink = v.strength <= 0 if weighted else v.out_degree == 0
        _total("error", abs(residue))
        _total("dangling", weft.where(sink, residue, 0))
        _count_moving(v, residue, least)
        weft.reduce("first", 0, weft.max)
        v.changed = True

    return [apply, aim, go]


@functools.lru_cache(maxsize=16)
def pushing(weighted: bool, dtype: Any) -> list[Any]:
    """Return the steps of a push: significant residuals become rank and are passed on."""

    @weft.vertex
    def release(v: Any) -> bool:
        v.rank = v.rank + v.residue
        v.passed = v.residue
        v.residue = 0
        weft.reduce("moving", weft.cast(v.out_degree, np.int64), weft.sum)
        return True

    def counts(v: Any, old: Any, least: Any) -> Any:
        return abs(v.residue) > least * weft.maximum(v.out_degree, 1)

    @weft.edge(into="residue", reduce=weft.sum, active=counts)
    def pass_on(u: Any, v: Any, e: Any, damping: Any) -> Any:
        return weft.cast(damping * _share(weighted, u, e, u.passed, dtype), dtype)

    return [release, pass_on]


@functools.lru_cache(maxsize=16)
def _swept(goal: float, few: int) -> Any:
    return lambda error, drift, moving: (error + abs(drift) <= goal) | (moving <= few)


@functools.lru_cache(maxsize=16)
def _grown(many: int) -> Any:
    return lambda moving: moving > many


def _sum(values: Array) -> float:
    return float(values.astype(np.float64, copy=False).sum())


class _Solver:
    """One ranking being computed."""

    def __init__(
        self, g: weft.Graph, home: Array | None, strength: Array | None, wanted: Ranking
    ) -> None:
        self.home = None if home is None else move(home, g.topology.device)
        self.g, self.damping = g, wanted.damping
        self.dtype, self.config, self.weighted = wanted.dtype, wanted.config, strength is not None
        topology, chosen = g.topology, check_config(wanted.config)
        arcs, self.degree = topology.num_arcs, topology.out_degree
        self.sinks = (self.degree if strength is None else strength) <= 0
        held = self._held()
        self.goal = wanted.tol if g.directed else wanted.tol * (1 - wanted.damping * held)
        self.least = self.goal / (4 * max(arcs + g.num_vertices, 1))
        pushes = topology.keep == "both" and chosen.direction != "pull"
        self.few = arcs // FEW if pushes and not chosen.deterministic else -1
        self.state = self._state(strength, held)
        self.error = np.inf if g.num_vertices else 0.0  # the sum of all residuals' sizes

    def _held(self) -> float:
        """Return the fraction of jumps that goes to vertices without out-edges."""
        if self.home is None:
            return count_true(self.sinks) / max(self.g.num_vertices, 1)
        return float(self.home[self.sinks].sum())

    def _state(self, strength: Array | None, held: float) -> weft.State:
        """Return the initial state: no ranks, or ranks like `home` (see above)."""
        n, home = max(self.g.num_vertices, 1), self.home
        self.local = home is not None and total(self.degree[home > 0]) <= self.few
        begin: Any = weft.full(1 / n, self.dtype) if home is None else home.astype(self.dtype)
        fields: dict[str, Any] = {"rank": begin, "residue": begin}
        fields |= {name: weft.full(0, self.dtype) for name in ("way", "turn", "image", "passed")}
        if self.local or not self.g.directed:
            jumps: Any = weft.full((1 - self.damping) / n, self.dtype)
            fields["residue"] = jumps if home is None else (1 - self.damping) * begin
            fields["rank"] = weft.full(0, self.dtype)
        if home is not None:
            fields["home"] = home
        if strength is not None:
            fields["strength"] = strength
        totals = ["r_image", "r_turn", "image_image", "image_turn", "turn_turn", "drift"]
        if self.g.directed:
            fields |= {"dangling": weft.scalar(held), "first": weft.scalar(0 if self.local else 1)}
            totals += ["plain", "bent", "length", "bend"]
        return self.g.state(
            **fields,
            **{name: weft.scalar(0.0) for name in totals},
            damping=weft.scalar(self.damping, float),
            error=weft.scalar(np.inf),
            moving=weft.scalar(0),
            least=weft.scalar(self.least),
        )

    def advance(self, most: int) -> int:
        """Push or sweep for at most this many iterations; return their number."""
        if self.local and self.few >= 0:
            floor = self.least * (self.degree + (self.degree == 0))
            movers = abs(self.state.residue) > floor
            if total(self.degree[movers]) <= self.few:
                return -(-self.push(self.g.frontier(movers), MANY * most) // MANY)
        self.local = True
        return self.sweep(most)

    def sweep(self, most: int) -> int:
        """Sweep until the residual is small or few vertices change."""
        steps = (
            sweeping(self.weighted, self.home is not None, self.dtype)
            if self.g.directed
            else conjugate_sweeping(self.weighted, self.dtype)
        )
        until = _swept(self.goal, self.few)
        run = self.g.iterate(steps, self.state, until=until, max_iter=most, config=self.config)
        if run.steps:
            self.error = float(self.state.error) + abs(float(self.state.drift))
        return run.steps

    def push(self, movers: weft.Frontier, most: int) -> int:
        """Push until no residual is significant or the frontier has grown."""
        state = self.state
        run = self.g.iterate(
            pushing(self.weighted, self.dtype), state, movers,
            until=_grown(self.g.topology.num_arcs // MANY), max_iter=most, direction="push",
            config=self.config,
        )  # fmt: skip
        state.way[...] = state.turn[...] = 0
        if self.g.directed:
            self._scale()
        drift = 0.0 if self.g.directed else _sum(state.residue)
        self.error = _sum(abs(state.residue)) + abs(drift)
        return run.steps

    def _scale(self) -> None:
        """Scale ranks to the sum 1, and their residuals to those with δ."""
        state = self.state
        mass = _sum(state.rank) or 1.0
        lost = _sum(state.residue)
        home = 1 / self.g.num_vertices if self.home is None else self.home
        state.residue[...] = (state.residue - lost * home) / mass
        state.rank[...] = state.rank / mass
        state.dangling = _sum(state.residue[self.sinks])

    def result(self) -> Array:
        """Return x + r, at least the share of jumps, as ranks that add up to 1."""
        state, xp = self.state, self.g.topology.xp
        home = 1 / max(self.g.num_vertices, 1) if self.home is None else self.home
        rank = xp.maximum(state.rank + state.residue, (1 - self.damping) * home)
        return (rank / (_sum(rank) or 1)).astype(self.dtype, copy=False)


def adaptive_ranks(
    g: weft.Graph, home: Array | None, strength: Array | None, wanted: Ranking
) -> tuple[Array, weft.Run]:
    """Return ranks that add up to 1, and how the run ended.

    `home` is the distribution of jumps (uniform if None), `strength` the weight of the out-edges.
    Pushes that may visit as many arcs as one sweep count as one iteration.
    """
    solver, max_iter = _Solver(g, home, strength, wanted), wanted.max_iter
    steps = solver.advance(max_iter)
    while solver.error > solver.goal and steps < max_iter:
        steps += solver.advance(max_iter - steps)
    converged, totals = bool(solver.error <= solver.goal), {"error": solver.error}
    return solver.result(), weft.Run(steps, converged, g.frontier([]), totals, [])
