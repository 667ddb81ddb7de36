"""Random walks: uniform, weighted, and node2vec's.

Method: all walks take a step together. A uniform step takes a random out-edge. A weighted one looks
up a random number in the prefix sums of the weights, O(log d). The walks of node2vec propose such a
step from t over v to x and accept it with a probability in proportion to

    1/p if x = t,    1 if there is an edge t -> x,    1/q otherwise,

until one is accepted. The random bits depend only on the seed, the number of the walk and the step.

A. Grover, J. Leskovec: node2vec: scalable feature learning for networks (KDD 2016).
K. Yang et al.: KnightKing: a fast distributed graph random walk engine (SOSP 2019).
"""

from __future__ import annotations

import functools
from typing import Any, Final

import numpy as np

import weft
from weft.algorithms.registry import Fields, Needs, algorithm
from weft.algorithms.support.carrier import carrier
from weft.algorithms.support.sources import check_each
from weft.algorithms.support.weights import check_weights
from weft.arrays.checks import check_integer, real_of
from weft.arrays.device import move
from weft.errors import ConfigError, shortened
from weft.ir.ops import INT64, UINT64

Array = np.ndarray[Any, Any]

TRIES: Final = 1 << 20  # maximum number of proposals per step
NEEDS = Needs(
    ("out",), Fields(lambda i, w: 2 * i + 8, own=16), frontier=False, weighted=True,
    degrees=("out",),
)  # fmt: skip


def _uniform(key: Any, place: Any, counter: Any) -> Any:
    """Return a random out-neighbour."""
    count = weft.cast(weft.degree(place), UINT64)
    return weft.neighbor(place, weft.cast(weft.random_bits(key, counter) % count, INT64))


def _by_weight(key: Any, place: Any, counter: Any) -> Any:
    """Return an out-neighbour in proportion to the weight of the edge; -1 if all are 0."""

    def upto(i: Any) -> Any:
        return weft.edge_at(weft.neighbor_edge(place, i)).upto

    last = weft.cast(weft.degree(place), INT64) - 1
    end, begin = upto(last), weft.edge_at(weft.neighbor_edge(place, 0)).before
    drawn = begin + weft.random(key, counter) * (end - begin)
    drawn = weft.where(drawn < end, drawn, begin)

    def halve(low: Any, high: Any) -> Any:
        middle = (low + high) >> 1
        beyond = upto(middle) > drawn
        return weft.where(beyond, low, middle + 1), weft.where(beyond, middle, high)

    low, _ = weft.while_loop(
        lambda low, high: low < high, halve, weft.cast(0, INT64), weft.cast(last, INT64)
    )
    return weft.where(end > begin, weft.neighbor(place, low), -1)


def _biased(draw: Any, key: Any, place: Any, back: Any, base: Any, inverse: Any) -> Any:
    """Propose steps until one is accepted."""
    inverse_p, inverse_q = inverse
    most = weft.maximum(weft.maximum(inverse_p, inverse_q), 1.0)

    def propose(step: Any, tries: Any, accepted: Any) -> Any:
        counter = base + 2 * tries
        step = weft.cast(draw(key, place, counter), INT64)
        bias = weft.where(
            step == back,
            inverse_p,
            weft.where(weft.has_edge(back, weft.maximum(step, 0)), 1.0, inverse_q),
        )
        accepted = (step < 0) | (weft.random(key, counter + 1) * most < bias)
        return step, tries + 1, accepted

    found, _, _ = weft.while_loop(
        lambda step, tries, accepted: ~accepted,
        propose,
        weft.cast(0, INT64), weft.cast(0, INT64), weft.cast(False, np.bool_), bound=TRIES,
    )  # fmt: skip
    return found


@functools.cache
def stepping(weighted: bool, biased: bool) -> Any:
    """Return the vertex function that takes one step of a walk."""
    draw = _by_weight if weighted else _uniform

    def advance(v: Any, seed: Any, turn: Any, inverse: Any) -> None:
        place, back = weft.cast(v.place, INT64), weft.cast(v.back, INT64)
        key = weft.random_bits(seed, v.id)
        base = turn * (2 * TRIES)
        moves = (place >= 0) & (weft.degree(weft.maximum(place, 0)) > 0)

        def step(_: Any, last: Any) -> Any:
            return weft.cast(draw(key, place, base), INT64)

        def second(_: Any, last: Any) -> Any:
            return _biased(draw, key, place, back, base, inverse)

        gone = weft.cast(-1, INT64)
        if biased:
            first = weft.for_range(0, weft.where(moves & (back < 0), 1, 0), step, gone)
            found = weft.for_range(0, weft.where(moves & (back >= 0), 1, 0), second, first)
        else:
            found = weft.for_range(0, weft.where(moves, 1, 0), step, gone)
        v.back = weft.cast(place, weft.vertex_id)
        v.place = weft.cast(found, weft.vertex_id)

    if biased:

        @weft.vertex
        def walk_on(v: Any, seed: Any, turn: Any, inverse_p: Any, inverse_q: Any) -> None:
            advance(v, seed, turn, (inverse_p, inverse_q))

        return walk_on

    @weft.vertex
    def walk(v: Any, seed: Any, turn: Any) -> None:
        advance(v, seed, turn, None)

    return walk


@algorithm(
    group="sampling",
    summary="random walks from some vertices",
    weights="optional",
    per="result",
    reference=(
        "K. Yang et al.: KnightKing: a fast distributed graph random walk engine (SOSP 2019)"
    ),
    needs=NEEDS,
)
def random_walks(
    g: weft.Graph,
    sources: Any = None,
    length: int = 80,
    *,
    weighted: bool = False,
    seed: int = 0,
    config: weft.Config | None = None,
) -> Array:
    """Return random walks.

    Parameters
    ----------
    g
        A graph; in a directed one, walks follow the edges. Each parallel edge counts.
    sources
        The first vertex of each walk, by label if the graph has labels; by default one walk from
        every vertex.
    length
        The number of steps.
    weighted
        Whether an edge is taken in proportion to its weight, which must be finite and not negative.
    seed
        Chooses the walks.
    config
        How to run it.

    Returns
    -------
    ndarray
        A row for each walk with the ``length + 1`` vertices on it; -1 after a vertex that has no
        edge to follow.

    Raises
    ------
    GraphError
        If a source does not exist, or weights are negative or not finite.

    Examples
    --------
    >>> import weft
    >>> weft.random_walks(weft.Graph.from_edges([0, 1, 2], [1, 2, 0]), [1, 2], 3).tolist()
    [[1, 2, 0, 1], [2, 0, 1, 2]]
    """
    return _walked(g, sources, length, weighted, seed, None, config)


@algorithm(
    group="sampling",
    summary="random walks that prefer to stay near or to move away",
    weights="optional",
    per="result",
    reference="A. Grover, J. Leskovec: node2vec: scalable feature learning for networks (KDD 2016)",
    needs=NEEDS,
)
def node2vec_walks(  # noqa: PLR0913
    g: weft.Graph,
    sources: Any = None,
    length: int = 80,
    p: float = 1.0,
    q: float = 1.0,
    *,
    weighted: bool = False,
    seed: int = 0,
    config: weft.Config | None = None,
) -> Array:
    """Return the random walks of node2vec, whose steps depend on the vertex before.

    Parameters
    ----------
    g
        A graph; in a directed one walks follow the edges.
    sources
        The first vertex of each walk, by label if the graph has labels; by default one walk from
        every vertex.
    length
        The number of steps.
    p
        The larger, the less likely a step back to the previous vertex.
    q
        The larger, the less likely a step to a vertex that the previous one has no edge to.
    weighted
        Whether an edge is taken in proportion to its weight as well.
    seed
        Chooses the walks.
    config
        How to run it.

    Returns
    -------
    ndarray
        A row for each walk with the ``length + 1`` vertices on it; -1 after a vertex that has no
        edge to follow.

    Raises
    ------
    ConfigError
        If p or q is not positive.
    GraphError
        If a source does not exist, or weights are negative or not finite.

    Examples
    --------
    >>> import weft
    >>> walks = weft.node2vec_walks(weft.generators.cycle(9), length=4, p=1e9)
    >>> (abs(walks[:, 2] - walks[:, 0]) % 9).min()  # no walk turns back
    np.int32(2)
    """
    for name, value in (("p", p), ("q", q)):
        if not 0 < real_of(value) < float("inf"):
            raise ConfigError(f"{name}={shortened(value)} is not possible. Expected a number > 0.")
    return _walked(g, sources, length, weighted, seed, (1 / p, 1 / q), config)


def _walked(
    g: weft.Graph, sources: Any, length: int, weighted: bool, seed: int,
    inverse: tuple[float, float] | None, config: weft.Config | None,
) -> Array:  # fmt: skip
    """Run all steps of all walks."""
    weighted = check_weights(g, weighted, "random walks")
    steps = check_integer("length", length, 0)
    begin = np.arange(g.num_vertices) if sources is None else check_each(g, sources)
    count, xp, device = begin.size, g.topology.xp, g.topology.device
    held = carrier(g, count)
    if weighted:
        held = _with_sums(g, held)
    nowhere, bias = weft.full(-1, weft.vertex_id), inverse or (1.0, 1.0)
    state = held.state(
        place=nowhere,
        back=nowhere,
        seed=weft.scalar(check_integer("seed", seed, 0)),
        turn=weft.scalar(0),
        inverse_p=weft.scalar(bias[0], float),
        inverse_q=weft.scalar(bias[1], float),
    )
    state.place[:count] = move(begin, device)
    walks = xp.empty((steps + 1, count), g.topology.index_dtype)
    walks[0] = state.place[:count]
    step, walkers = stepping(weighted, inverse is not None), xp.arange(count)
    frontier = held.frontier(walkers)
    for turn in range(steps):
        state.turn = turn
        held.run(step, state, frontier, config=config)
        walks[turn + 1] = state.place[:count]
    return walks.T


def _with_sums(g: weft.Graph, held: weft.Graph) -> weft.Graph:
    """Return a carrier with the prefix sums of the weights, including and excluding each edge."""
    weight = g.topology.slot_values(g.edge.storage("weight"), "out").astype(np.float64)
    upto = g.topology.xp.cumsum(weight)
    before = g.topology.xp.zeros_like(upto)
    before[1:] = upto[:-1]
    return weft.Graph(held.topology, edge={"upto": upto, "before": before})
