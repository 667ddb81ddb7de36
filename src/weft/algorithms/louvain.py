"""Communities of high modularity: Louvain and Leiden.

Method: vertices move to the neighbouring community where they add most to the modularity

    Q = Σ L(c) / m - γ · (S(c) / 2m)²

(see `modularity`); then every community becomes one vertex of a smaller graph, in which the same is
done, until nothing moves. In each superstep a random half of the vertices that are due moves, all
at once: two neighbours that change places for ever are soon parted. Due are vertices next to one
that moved. The weights towards the communities around a vertex are gathered by key: O(m) work per
superstep at most, far less once few vertices are due.

Leiden refines the communities before they become vertices. Each falls apart into single vertices,
and those of a random half join a neighbour of the other half, or what others joined before: nothing
that was joined ever leaves, so that every part is connected. The parts become vertices, which start
in the communities found. At the end communities are split into what is connected.

V. Blondel, J. Guillaume, R. Lambiotte, E. Lefebvre: Fast unfolding of communities in large networks
(J. Statistical Mechanics 2008).
V. Traag, L. Waltman, N. van Eck: From Louvain to Leiden: guaranteeing well-connected communities
(Scientific Reports 9, 2019).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from weft.algorithms.connected_components import link, shorten
from weft.algorithms.registry import BOTH, Fields, Needs, algorithm
from weft.algorithms.support.communities import (
    contracted,
    first_members,
    numbered,
    strengths,
    sums_of,
    weight_of,
    weighted_copy,
)
from weft.algorithms.support.weights import check_weights
from weft.arrays.checks import check_integer, real_of
from weft.config import Config
from weft.engine.state import State, full, scalar
from weft.errors import ConfigError, shortened
from weft.graph import Graph
from weft.ir.ops import INT64
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.ir.trace.proxies import send
from weft.ir.types import vertex_id
from weft.program import edge, vertex

Array = np.ndarray[Any, Any]

ROUNDS: Final = 40  # supersteps of moves on one graph, at most
FEW: Final = 1000  # the moves on one graph end when fewer than one in so many vertices moves
LEVELS: Final = 30
REFINED: Final = 6  # supersteps of a refinement
LIKES_OWN: Final = 1e-9  # part of its strength that a vertex gains by staying
FIELDS = Fields(lambda i, w: 4 * i + 25, lambda i, w: i + 8, lambda i, w: 2 * i + 32, own=64)
NEEDS = Needs(BOTH, FIELDS, weighted=True, keys=True)


def _flip(v: Any, turn: Any) -> Any:
    """Return a random bit of v in a turn."""
    return (fn.random_bits(turn, v.id) & 1) == 1


@vertex(on="all")
def pick(v: Any, turn: Any) -> Any:
    """Let a random half of the vertices that are due take their turn."""
    fn.reduce("left", fn.cast(v.due, INT64), monoids.sum)
    return v.due & _flip(v, turn + fn.superstep())


@functools.cache
def decide(weighted: bool) -> Any:
    """Return the function that chooses the community where v adds most to the modularity."""

    @vertex
    def choose(v: Any, density: Any) -> Any:
        own, strength = v.community, v.strength
        own_total = v.total.at(own).load() - strength

        def score(c: Any, weight: Any) -> Any:
            others = v.total.at(c).load() - fn.where(c == own, strength, 0)
            likes = fn.where(c == own, LIKES_OWN * strength, 0)
            return weight - density * strength * others + likes

        around = v.gather_by(
            lambda u, e: u.community,
            lambda u, e: send(weight_of(e, weighted), when=u.id != v.id),
            monoids.sum,
        )
        best, gain = around.argmax(score)
        alone = LIKES_OWN * strength - density * strength * own_total  # no neighbours in there
        moves = (best >= 0) & (best != own) & (gain > alone)
        v.wanted = fn.where(moves, fn.cast(best, vertex_id), own)
        v.due = False
        return moves

    return choose


@vertex(order_free=True)
def go(v: Any) -> bool:
    """Move v where it wants to be."""
    v.total.at(v.community).add(-v.strength)
    v.total.at(v.wanted).add(v.strength)
    fn.reduce("moved", fn.cast(1, INT64), monoids.sum)
    v.community = v.wanted
    return True


@edge(into="due", reduce=monoids.or_)
def awaken(u: Any, v: Any, e: Any) -> Any:
    """Make the neighbours of a vertex that moved due."""
    return True


@vertex(on="all")
def pick_alone(v: Any, turn: Any) -> Any:
    """Let a random half of the vertices that are parts of their own take their turn."""
    return v.alone & _flip(v, turn + fn.superstep())


@functools.cache
def choose_part(weighted: bool) -> Any:
    """Return the function that chooses a part of the same community that stays in this turn."""

    @vertex
    def choose(v: Any, density: Any, turn: Any) -> Any:
        here = turn + fn.superstep()
        parts = v.gather_by(
            lambda u, e: u.part,
            lambda u, e: send(
                weight_of(e, weighted),
                when=(u.id != v.id) & (u.bound == v.bound) & ~(u.alone & _flip(u, here)),
            ),
            monoids.sum,
        )
        best, gain = parts.argmax(
            lambda c, weight: weight - density * v.strength * v.total.at(c).load()
        )
        joins = (best >= 0) & (gain > 0)
        v.wanted = fn.where(joins, fn.cast(best, vertex_id), v.part)
        return joins

    return choose


@vertex(order_free=True)
def join(v: Any) -> bool:
    """Join a part, which then holds more than the vertex that it began with."""
    v.total.at(v.part).add(-v.strength)
    v.total.at(v.wanted).add(v.strength)
    v.alone.at(v.id).set(False)
    v.alone.at(v.wanted).set(False)
    v.part = v.wanted
    return True


def _has_settled(left: Any, moved: Any, few: Any) -> Any:
    return (left == 0) | (moved < few)


class _Levels:
    """A graph, its vertices' strengths, and where the vertices of the first graph went."""

    def __init__(
        self, g: Graph, weighted: bool, resolution: float, seed: int, config: Config | None
    ) -> None:
        self.g, self.weighted = g, weighted
        self.seed, self.config, self.xp = seed, config, g.topology.xp
        self.strength = strengths(g, weighted, config)
        self.member, self.depth = _own(g), 0
        total = float(self.strength.sum())
        self.density = resolution / total if total else 0.0

    def state(self, start: Array) -> State:
        """Return the state of moves from a partition."""
        n = self.g.num_vertices
        total = sums_of(start, self.strength, n)
        self.seed += ROUNDS
        return self.g.state(
            community=start, wanted=full(0, vertex_id), strength=self.strength, total=total,
            due=full(True), density=scalar(self.density), turn=scalar(self.seed),
            left=scalar(0), moved=scalar(0), few=scalar(n // FEW - 1),
        )  # fmt: skip

    def moved(self, start: Array) -> Array:
        """Return the communities after moves from a partition."""
        state = self.state(start)
        self.g.iterate(
            [pick, decide(self.weighted), go, awaken], state, until=_has_settled, max_iter=ROUNDS,
            config=self.config,
        )  # fmt: skip
        return state.community

    def refined(self, community: Array) -> Array:
        """Return connected parts of communities."""
        self.seed += ROUNDS
        state = self.g.state(
            part=full(lambda v: v.id, vertex_id), bound=community, wanted=full(0, vertex_id),
            strength=self.strength, total=self.strength.copy(), alone=full(True),
            density=scalar(self.density), turn=scalar(self.seed),
        )  # fmt: skip
        self.g.iterate(
            [pick_alone, choose_part(self.weighted), join], state, max_iter=REFINED,
            config=self.config,
        )  # fmt: skip
        return state.part

    def contract(self, part: Array) -> bool:
        """Make every part one vertex; return whether there are fewer vertices then."""
        number, count = numbered(part)
        fewer = count < self.g.num_vertices
        if fewer:
            self.g = contracted(self.g, self.weighted, number, count)
            self.weighted = True
            self.strength = sums_of(number, self.strength, count)
            self.member = number[self.member]
            self.depth += 1
        return fewer


@algorithm(
    group="communities",
    summary="communities of high modularity, by the method of Louvain",
    weights="optional",
    directed="ignored",
    column="label",
    reference="V. Blondel et al.: Fast unfolding of communities in large networks (2008)",
    needs=NEEDS,
)
def louvain(
    g: Graph,
    resolution: float = 1.0,
    *,
    weighted: bool = True,
    seed: int = 0,
    config: Config | None = None,
) -> Array:
    """Return communities of high modularity.

    Parameters
    ----------
    g
        A graph. Directed edges are taken to run both ways, and parallel ones are added up.
    resolution
        Larger values favour smaller communities; see `modularity`.
    weighted
        Whether to use the weights, which must be finite and not negative.
    seed
        Chooses the vertices that move together.
    config
        How to run it.

    Returns
    -------
    ndarray
        One label per vertex: the smallest vertex of its community.

    Raises
    ------
    ConfigError
        If the resolution is negative.
    GraphError
        If weights are negative or not finite.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1, 3, 3, 4, 2], [1, 2, 2, 4, 5, 5, 3], directed=False)
    >>> weft.louvain(g).tolist()
    [0, 0, 0, 3, 3, 3]
    """
    levels = _begun(g, resolution, weighted, seed, config)
    for _ in range(LEVELS):
        if not levels.contract(levels.moved(_own(levels.g))):
            break
    return first_members(levels.member, levels.g.num_vertices)[levels.member]


@algorithm(
    group="communities",
    summary="connected communities of high modularity, by the method of Leiden",
    weights="optional",
    directed="ignored",
    column="label",
    reference=(
        "V. Traag, L. Waltman, N. van Eck: From Louvain to Leiden: guaranteeing well-connected "
        "communities (2019)"
    ),
    needs=NEEDS,
)
def leiden(
    g: Graph,
    resolution: float = 1.0,
    *,
    weighted: bool = True,
    seed: int = 0,
    config: Config | None = None,
) -> Array:
    """Return communities of high modularity, each of which is connected.

    Parameters
    ----------
    g
        A graph. Directed edges are taken to run both ways, and parallel ones are added up.
    resolution
        Larger values favour smaller communities; see `modularity`.
    weighted
        Whether to use the weights, which must be finite and not negative.
    seed
        Chooses the vertices that move together.
    config
        How to run it.

    Returns
    -------
    ndarray
        One label per vertex: the smallest vertex of its community.

    Raises
    ------
    ConfigError
        If the resolution is negative.
    GraphError
        If weights are negative or not finite.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1, 3, 3, 4, 2], [1, 2, 2, 4, 5, 5, 3], directed=False)
    >>> weft.leiden(g).tolist()
    [0, 0, 0, 3, 3, 3]
    """
    *_, label = leiden_levels(g, resolution, weighted=weighted, seed=seed, config=config)
    return connected_parts(g, label, config=config)


def leiden_levels(
    g: Graph,
    resolution: float = 1.0,
    *,
    weighted: bool = True,
    seed: int = 0,
    config: Config | None = None,
) -> Iterator[Array]:
    """Yield the communities at each level of Leiden's method, not yet split by connection."""
    levels = _begun(g, resolution, weighted, seed, config)
    start, fewer = _own(levels.g), True
    while fewer and levels.depth < LEVELS:
        community = levels.moved(start)
        flat = community[levels.member]
        part = levels.refined(community)
        first = levels.xp.flatnonzero(part == _own(levels.g))  # in the order of their numbers
        fewer = levels.contract(part)
        if fewer:
            start = numbered(community)[0][first].astype(levels.g.topology.index_dtype)
        yield flat


@edge(order_free=True)
def link_inside(u: Any, v: Any, e: Any) -> bool:
    """Link the two ends of an edge if they are in one community."""
    own = u.parent.at(u.id).load()
    link(u.parent, own, fn.where(u.label == v.label, v.parent.at(v.id).load(), own))
    return False


def connected_parts(g: Graph, label: Array, *, config: Config | None = None) -> Array:
    """Return communities split into what is connected; each is named after its smallest vertex."""
    g = g.reverse() if g.topology.keep == "in" else g
    state = g.state(parent=full(lambda v: v.id, vertex_id), label=label)
    g.run([link_inside, shorten], state, direction="push", config=config)
    return state.parent


def _begun(
    g: Graph, resolution: float, weighted: bool, seed: int, config: Config | None
) -> _Levels:
    if not real_of(resolution) >= 0:
        raise ConfigError(
            f"resolution={shortened(resolution)} is not possible. Expected a number from 0 on."
        )
    weighted = check_weights(g, weighted, "communities")
    if g.directed:
        g, weighted = weighted_copy(g, weighted, "communities"), True
    return _Levels(g, weighted, float(resolution), check_integer("seed", seed, 0), config)


def _own(g: Graph) -> Array:
    """Return every vertex as a community of its own."""
    return g.topology.xp.arange(g.num_vertices, dtype=g.topology.index_dtype)
