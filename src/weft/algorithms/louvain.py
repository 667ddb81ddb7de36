"""Communities of high modularity: Louvain and Leiden.

Method: vertices move to the neighbouring community where they add most to the modularity

    Q = Σ L(c) / m - γ · (S(c) / 2m)²

(see `modularity`); then every community becomes one vertex of a smaller graph, in which the same is
done, until that brings little. In the end the vertices of the first graph move once more, from the
communities found, which brings more than to let them move on at first.

Vertices are dealt out to eight classes, in a new way every eight supersteps. In each superstep
those of one class that are due move, all at once: with fewer moves at a time most of them are still
right when they are made, and two neighbours that change places for ever are soon parted. Due are
vertices next to one that moved into another community than theirs. The weights towards the
communities around a vertex are gathered by key: O(m) work in eight supersteps at most, far less
once few vertices are due.

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
from copy import copy
from typing import Any, Final

import numpy as np

import weft
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
from weft.errors import ConfigError, shortened
from weft.ir.ops import INT64

Array = np.ndarray[Any, Any]

CLASSES: Final = 8  # of vertices that move in turn; a power of two
ROUNDS: Final = 8 * CLASSES  # supersteps of moves on one graph, at most
FEW: Final = 200  # the moves on one graph end when fewer than one in so many vertices moves
GAIN: Final = 1e-4  # of modularity; levels end after one that brings less
LEVELS: Final = 30
REFINED: Final = 6  # supersteps of a refinement
LIKES_OWN: Final = 1e-9  # part of its strength that a vertex gains by staying
FIELDS = Fields(lambda i, w: 4 * i + 25, lambda i, w: i + 8, lambda i, w: 2 * i + 32, own=64)
NEEDS = Needs(BOTH, FIELDS, weighted=True, keys=True)


def _flip(v: Any, turn: Any) -> Any:
    """Return a random bit of v in a turn."""
    return (weft.random_bits(turn, v.id) & 1) == 1


@weft.vertex(on="all")
def pick(v: Any, turn: Any) -> Any:
    """Let one class of the vertices that are due take its turn."""
    weft.reduce("left", weft.cast(v.due, INT64), weft.sum)
    step = weft.cast(weft.superstep(), np.uint64)
    drawn = weft.random_bits(turn + weft.superstep() // CLASSES, v.id)
    return v.due & ((drawn ^ step) & (CLASSES - 1) == 0)


@functools.cache
def decide(weighted: bool) -> Any:
    """Return the function that chooses the community where v adds most to the modularity."""

    @weft.vertex
    def choose(v: Any, density: Any) -> Any:
        own, strength = v.community, v.strength
        own_total = v.total.at(own).load() - strength

        def score(c: Any, weight: Any) -> Any:
            others = v.total.at(c).load() - weft.where(c == own, strength, 0)
            likes = weft.where(c == own, LIKES_OWN * strength, 0)
            return weight - density * strength * others + likes

        around = v.gather_by(
            lambda u, e: u.community,
            lambda u, e: weft.send(weight_of(e, weighted), when=u.id != v.id),
            weft.sum,
        )
        best, gain = around.argmax(score)
        alone = LIKES_OWN * strength - density * strength * own_total  # no neighbours in there
        moves = (best >= 0) & (best != own) & (gain > alone)
        v.wanted = weft.where(moves, weft.cast(best, weft.vertex_id), own)
        v.due = False
        return moves

    return choose


@weft.vertex(order_free=True)
def go(v: Any) -> bool:
    """Move v where it wants to be."""
    v.total.at(v.community).add(-v.strength)
    v.total.at(v.wanted).add(v.strength)
    weft.reduce("moved", weft.cast(1, INT64), weft.sum)
    v.community = v.wanted
    return True


@weft.edge(into="due", reduce=weft.or_)
def awaken(u: Any, v: Any, e: Any) -> Any:
    """Make the neighbours of a vertex that moved due, unless it came to them."""
    return weft.send(True, when=u.community != v.community)


@weft.vertex(on="all")
def pick_alone(v: Any, turn: Any) -> Any:
    """Let a random half of the vertices that are parts of their own take their turn."""
    return v.alone & _flip(v, turn + weft.superstep())


@functools.cache
def choose_part(weighted: bool) -> Any:
    """Return the function that chooses a part of the same community that stays in this turn."""

    @weft.vertex
    def choose(v: Any, density: Any, turn: Any) -> Any:
        here = turn + weft.superstep()
        parts = v.gather_by(
            lambda u, e: u.part,
            lambda u, e: weft.send(
                weight_of(e, weighted),
                when=(u.id != v.id) & (u.bound == v.bound) & ~(u.alone & _flip(u, here)),
            ),
            weft.sum,
        )
        best, gain = parts.argmax(
            lambda c, weight: weight - density * v.strength * v.total.at(c).load()
        )
        joins = (best >= 0) & (gain > 0)
        v.wanted = weft.where(joins, weft.cast(best, weft.vertex_id), v.part)
        return joins

    return choose


@weft.vertex(order_free=True)
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
        self,
        g: weft.Graph,
        weighted: bool,
        resolution: float,
        seed: int,
        config: weft.Config | None,
    ) -> None:
        self.g, self.weighted = g, weighted
        self.seed, self.config, self.xp = seed, config, g.topology.xp
        self.strength = strengths(g, weighted, config)
        self.member, self.count, self.depth = _own(g), g.num_vertices, 0
        self.total = float(self.strength.sum())
        self.density = resolution / self.total if self.total else 0.0
        self.quality = -np.inf

    def state(self, start: Array) -> weft.State:
        """Return the state of moves from a partition."""
        n = self.g.num_vertices
        total = sums_of(start, self.strength, n)
        self.seed += ROUNDS
        return self.g.state(
            community=start,
            wanted=weft.full(0, weft.vertex_id),
            strength=self.strength,
            total=total,
            due=weft.full(True),
            density=weft.scalar(self.density),
            turn=weft.scalar(self.seed),
            left=weft.scalar(0),
            moved=weft.scalar(0),
            few=weft.scalar(n // FEW - 1),
        )

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
            part=weft.full(lambda v: v.id, weft.vertex_id),
            bound=community,
            wanted=weft.full(0, weft.vertex_id),
            strength=self.strength,
            total=self.strength.copy(),
            alone=weft.full(True),
            density=weft.scalar(self.density),
            turn=weft.scalar(self.seed),
        )
        self.g.iterate(
            [pick_alone, choose_part(self.weighted), join], state, max_iter=REFINED,
            config=self.config,
        )  # fmt: skip
        return state.part

    def contract(self, part: Array) -> bool:
        """Make every part one vertex; return whether that brought enough to go on."""
        before = self.count
        number, self.count = numbered(part)
        self.member = number[self.member]
        if self.count == before:
            return False
        self.g = contracted(self.g, self.weighted, number, self.count)
        self.weighted = True
        self.strength = sums_of(number, self.strength, self.count)
        self.depth += 1
        last, self.quality = self.quality, self._modularity()
        return self.quality - last >= GAIN

    def _modularity(self) -> float:
        """Return the modularity of the vertices as communities of the first graph."""
        src, dst = self.g.topology.edge_endpoints()
        inside = float(self.g.edge.storage("weight")[src == dst].sum())
        return 2 * inside / self.total - self.density / self.total * float((self.strength**2).sum())


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
    g: weft.Graph,
    resolution: float = 1.0,
    *,
    weighted: bool = True,
    seed: int = 0,
    config: weft.Config | None = None,
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
    first = copy(levels)
    for _ in range(LEVELS):
        if not levels.contract(levels.moved(_own(levels.g))):
            break
    return _moved_on(first, levels, levels.member)


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
    g: weft.Graph,
    resolution: float = 1.0,
    *,
    weighted: bool = True,
    seed: int = 0,
    config: weft.Config | None = None,
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
    levels = _begun(g, resolution, weighted, seed, config)
    first = copy(levels)
    *_, label = _refined_levels(levels)
    return connected_parts(g, _moved_on(first, levels, label), config=config)


def leiden_levels(
    g: weft.Graph,
    resolution: float = 1.0,
    *,
    weighted: bool = True,
    seed: int = 0,
    config: weft.Config | None = None,
) -> Iterator[Array]:
    """Yield the communities at each level of Leiden's method, not yet split by connection."""
    yield from _refined_levels(_begun(g, resolution, weighted, seed, config))


def _refined_levels(levels: _Levels) -> Iterator[Array]:
    """Yield the communities at each level, of which the first graph is given."""
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


@weft.edge(order_free=True)
def link_inside(u: Any, v: Any, e: Any) -> bool:
    """Link the two ends of an edge if they are in one community."""
    own = u.parent.at(u.id).load()
    link(u.parent, own, weft.where(u.label == v.label, v.parent.at(v.id).load(), own))
    return False


def connected_parts(g: weft.Graph, label: Array, *, config: weft.Config | None = None) -> Array:
    """Return communities split into what is connected; each is named after its smallest vertex."""
    g = g.reverse() if g.topology.keep == "in" else g
    state = g.state(parent=weft.full(lambda v: v.id, weft.vertex_id), label=label)
    g.run([link_inside, shorten], state, direction="push", config=config)
    return state.parent


def _begun(
    g: weft.Graph, resolution: float, weighted: bool, seed: int, config: weft.Config | None
) -> _Levels:
    if not real_of(resolution) >= 0:
        raise ConfigError(
            f"resolution={shortened(resolution)} is not possible. Expected a number from 0 on."
        )
    weighted = check_weights(g, weighted, "communities")
    if g.directed:
        g, weighted = weighted_copy(g, weighted, "communities"), True
    return _Levels(g, weighted, float(resolution), check_integer("seed", seed, 0), config)


def _moved_on(first: _Levels, last: _Levels, number: Array) -> Array:
    """Return the communities after more moves on the first graph, from those of the last one."""
    first.seed = last.seed
    number = numbered(number)[0].astype(first.g.topology.index_dtype, copy=False)
    return _named(*numbered(first.moved(number)))


def _named(number: Array, count: int) -> Array:
    """Return for every vertex the smallest one of its group, of those from 0 to count - 1."""
    return first_members(number, count)[number]


def _own(g: weft.Graph) -> Array:
    """Return every vertex as a community of its own."""
    return g.topology.xp.arange(g.num_vertices, dtype=g.topology.index_dtype)
