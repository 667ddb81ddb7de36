"""PageRank by residuals: long steps while most vertices move, pushes once few of them do.

Method: with damping d, home distribution h and the mass δ(x) of the vertices without out-edges,
PageRank solves A x = (1 - d) h for

    A x = x - d · (Σ x(u) · w(u, v) / W(u) over u -> v  +  h · δ(x)).

The residual r = (1 - d) h - A x is signed. A *sweep* gathers A r and goes a step of the conjugate
residual method, whose direction p and step length minimise a norm of the residual.

In an undirected graph δ is left out, which only scales the solution: its sum is then
1 - d · h(vertices without edges). A is symmetric for the inner product that divides by W, so that
the short recurrence finds the least residual in that norm of all that lie in reach of as many
sweeps, and the run begins at x = 0. In a directed graph there is no such norm. The run begins at
x = h with δ, so that r adds up to 0, and a sweep takes the shorter of two residuals in the L1 norm:
that of the method, and that of a plain iteration, x + r, which is at most d times as long. So a
sweep gains at least what the bound of a plain iteration promises, and usually several times as
much.

Once the vertices with |r(v)| > ε · out-degree(v) have less than a sixteenth of the arcs, only these
*push* their residual, until none is left or the frontier has grown to an eighth of the arcs, where
sweeps are cheaper. Pushes leave out δ too: scaled to the sum 1, a vector x with residual r has the
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

from weft.algorithms.support.ranking import Ranking
from weft.arrays.device import move
from weft.arrays.reduce import count_true, total
from weft.config import check_config
from weft.engine.frontier import Frontier
from weft.engine.run import Run
from weft.engine.state import State, full, scalar
from weft.graph import Graph
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.program import edge, vertex

Array = np.ndarray[Any, Any]

FEW, MANY = 16, 8  # pushes begin below one in so many arcs, and end above one in so many


def _share(weighted: bool, u: Any, e: Any, amount: Any, dtype: Any) -> Any:
    """Return the part of an amount at u that goes along e."""
    if weighted:
        return fn.cast(e.weight, dtype) * (amount / fn.where(u.strength > 0, u.strength, 1))
    return amount / fn.maximum(u.out_degree, 1)


def _total(name: str, value: Any) -> None:
    fn.reduce(name, fn.cast(value, np.float64), monoids.sum)


@functools.lru_cache(maxsize=16)
def conjugate_sweeping(weighted: bool, dtype: Any) -> list[Any]:
    """Return the steps of a sweep of an undirected graph: gather A r, go along p.

    `turn` is A p; both follow from the last ones, as the scalars tell.
    """

    def metric(v: Any) -> Any:
        size = v.strength if weighted else v.out_degree
        return fn.cast(fn.where(size > 0, size, 1), np.float64)

    @vertex(on="all")
    def apply(v: Any, damping: Any) -> None:
        arrived = v.gather(
            lambda u, e: _share(weighted, u, e, u.residue, dtype), monoids.sum, dtype=dtype
        )
        image = fn.cast(v.residue - damping * arrived, dtype)
        residue, turn = (fn.cast(x, np.float64) / metric(v) for x in (v.residue, v.turn))
        _total("r_image", residue * image)
        _total("r_turn", turn * v.residue)
        _total("image_image", fn.cast(image, np.float64) * image / metric(v))
        _total("image_turn", turn * image)
        _total("turn_turn", turn * v.turn)
        v.image = image

    @vertex(on="all", wake="all")
    def go(
        v: Any, r_image: Any, r_turn: Any, image_image: Any, image_turn: Any, turn_turn: Any,
        least: Any,
    ) -> None:  # fmt: skip
        length, bend = _step(r_image, r_turn, image_image, image_turn, turn_turn)
        turn = fn.cast(v.image - bend * v.turn, dtype)
        way = fn.cast(v.residue - bend * v.way, dtype)
        residue = fn.cast(v.residue - length * turn, dtype)
        v.rank = fn.cast(v.rank + length * way, dtype)
        v.turn = turn
        v.way = way
        v.residue = residue
        _total("error", abs(residue))
        _total("drift", residue)
        _count_moving(v, residue, least)
        v.changed = True

    return [apply, go]


def _step(r_image: Any, r_turn: Any, image_image: Any, image_turn: Any, turn_turn: Any) -> Any:
    """Return how far to go, and how much of the last direction is taken out of the next one."""
    bend = fn.where(turn_turn > 0, image_turn / fn.where(turn_turn > 0, turn_turn, 1), 0)
    size = image_image - bend * image_turn  # of the new turn = A way, squared
    length = fn.where(size > 0, (r_image - bend * r_turn) / fn.where(size > 0, size, 1), 0)
    return length, bend


def _count_moving(v: Any, residue: Any, least: Any) -> None:
    """Add up the arcs of the vertices whose residual counts."""
    moves = abs(residue) > least * fn.maximum(v.out_degree, 1)
    fn.reduce("moving", fn.where(moves, fn.cast(v.out_degree, np.int64), 0), monoids.sum)


@functools.lru_cache(maxsize=16)
def sweeping(weighted: bool, personal: bool, dtype: Any) -> list[Any]:
    """Return the steps of a sweep of a directed graph: gather A r, aim, go the shorter way.

    The first sweep finds the residual of the ranks at the start, which `residue` holds then.
    """

    @vertex(on="all")
    def apply(v: Any, damping: Any, dangling: Any) -> None:
        home = v.home if personal else 1 / fn.num_vertices()
        arrived = v.gather(
            lambda u, e: _share(weighted, u, e, u.residue, dtype), monoids.sum, dtype=dtype
        )
        image = fn.cast(v.residue - damping * (arrived + dangling * home), dtype)
        _total("plain", abs(v.residue - image))
        _total("r_image", v.residue * image)
        _total("r_turn", v.residue * v.turn)
        _total("image_image", image * image)
        _total("image_turn", image * v.turn)
        _total("turn_turn", v.turn * v.turn)
        v.image = image

    @vertex(on="all")
    def aim(v: Any, r_image: Any, r_turn: Any, image_image: Any, image_turn: Any,
            turn_turn: Any, first: Any) -> None:  # fmt: skip
        length, bend = _step(r_image, r_turn, image_image, image_turn, turn_turn)
        v.turn = fn.where(first == 0, fn.cast(v.image - bend * v.turn, dtype), 0)
        _total("bent", abs(v.residue - length * v.turn))
        fn.reduce("length", length, monoids.max)
        fn.reduce("bend", bend, monoids.max)

    @vertex(on="all", wake="all")
    def go(  # noqa: PLR0913, PLR0917 -- the scalars of the state
        v: Any, damping: Any, bent: Any, plain: Any, length: Any, bend: Any, least: Any, first: Any,
    ) -> None:  # fmt: skip
        home = v.home if personal else 1 / fn.num_vertices()
        bends = (bent <= plain) & (first == 0)
        way = fn.where(first == 0, fn.cast(v.residue - bend * v.way, dtype), 0)
        step = fn.where(bends, length * way, fn.where(first == 0, v.residue, 0))
        begun = fn.where(first == 0, v.residue, (1 - damping) * home)
        residue = fn.cast(begun - fn.where(bends, length * v.turn, v.image), dtype)
        v.rank = fn.cast(v.rank + step, dtype)
        v.way = way
        v.residue = residue
        sink = v.strength <= 0 if weighted else v.out_degree == 0
        _total("error", abs(residue))
        _total("dangling", fn.where(sink, residue, 0))
        _count_moving(v, residue, least)
        fn.reduce("first", 0, monoids.max)
        v.changed = True

    return [apply, aim, go]


@functools.lru_cache(maxsize=16)
def pushing(weighted: bool, dtype: Any) -> list[Any]:
    """Return the steps of a push: residuals become rank and are passed on where they count."""

    @vertex
    def release(v: Any) -> bool:
        v.rank = v.rank + v.residue
        v.passed = v.residue
        v.residue = 0
        fn.reduce("moving", fn.cast(v.out_degree, np.int64), monoids.sum)
        return True

    def counts(v: Any, old: Any, least: Any) -> Any:
        return abs(v.residue) > least * fn.maximum(v.out_degree, 1)

    @edge(into="residue", reduce=monoids.sum, active=counts)
    def pass_on(u: Any, v: Any, e: Any, damping: Any) -> Any:
        return fn.cast(damping * _share(weighted, u, e, u.passed, dtype), dtype)

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
        self, g: Graph, home: Array | None, strength: Array | None, wanted: Ranking
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
        """Return how much of all jumps goes to vertices without out-edges."""
        if self.home is None:
            return count_true(self.sinks) / max(self.g.num_vertices, 1)
        return float(self.home[self.sinks].sum())

    def _state(self, strength: Array | None, held: float) -> State:
        """Return the state at the start: no ranks, or ranks like `home` (see above)."""
        n, home = max(self.g.num_vertices, 1), self.home
        self.local = home is not None and total(self.degree[home > 0]) <= self.few
        begin: Any = full(1 / n, self.dtype) if home is None else home.astype(self.dtype)
        fields: dict[str, Any] = {"rank": begin, "residue": begin}
        fields |= {name: full(0, self.dtype) for name in ("way", "turn", "image", "passed")}
        if self.local or not self.g.directed:
            jumps: Any = full((1 - self.damping) / n, self.dtype)
            fields["residue"] = jumps if home is None else (1 - self.damping) * begin
            fields["rank"] = full(0, self.dtype)
        if home is not None:
            fields["home"] = home
        if strength is not None:
            fields["strength"] = strength
        totals = ["r_image", "r_turn", "image_image", "image_turn", "turn_turn", "drift"]
        if self.g.directed:
            fields |= {"dangling": scalar(held), "first": scalar(0 if self.local else 1)}
            totals += ["plain", "bent", "length", "bend"]
        return self.g.state(
            **fields, **{name: scalar(0.0) for name in totals},
            damping=scalar(self.damping, float), error=scalar(np.inf), moving=scalar(0),
            least=scalar(self.least),
        )  # fmt: skip

    def advance(self, most: int) -> int:
        """Push or sweep for at most so many iterations; return how many were made."""
        if self.local and self.few >= 0:
            floor = self.least * (self.degree + (self.degree == 0))
            movers = abs(self.state.residue) > floor
            if total(self.degree[movers]) <= self.few:
                return -(-self.push(self.g.frontier(movers), MANY * most) // MANY)
        self.local = True
        return self.sweep(most)

    def sweep(self, most: int) -> int:
        """Sweep until the residual is small or few vertices move."""
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

    def push(self, movers: Frontier, most: int) -> int:
        """Push until no residual counts or the frontier has grown."""
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
        """Return x + r, at least what jumps home alone give, as ranks that add up to 1."""
        state, xp = self.state, self.g.topology.xp
        home = 1 / max(self.g.num_vertices, 1) if self.home is None else self.home
        rank = xp.maximum(state.rank + state.residue, (1 - self.damping) * home)
        return (rank / (_sum(rank) or 1)).astype(self.dtype, copy=False)


def adaptive_ranks(
    g: Graph, home: Array | None, strength: Array | None, wanted: Ranking
) -> tuple[Array, Run]:
    """Return ranks that add up to 1, and how the run ended.

    `home` is where jumps go to (everywhere alike if None), `strength` the weight of the out-edges.
    As many pushes as may look at the arcs of one sweep count as one iteration.
    """
    solver, max_iter = _Solver(g, home, strength, wanted), wanted.max_iter
    steps = solver.advance(max_iter)
    while solver.error > solver.goal and steps < max_iter:
        steps += solver.advance(max_iter - steps)
    converged, totals = bool(solver.error <= solver.goal), {"error": solver.error}
    return solver.result(), Run(steps, converged, g.frontier([]), totals, [])
