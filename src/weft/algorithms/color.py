"""Greedy colouring, largest degree first or in a random order.

Method: vertices have a fixed order: most neighbours first, then by random bits, the largest first;
or by random bits alone. A vertex takes the smallest colour that no neighbour before it has, as soon
as all of these are coloured: the colours are those of a sequential pass in this order, whether a
colour is seen at once or later. Each vertex counts the neighbours it waits for, and a coloured one
is counted out by those after it, so that every edge is looked at twice in all, O(m). The colours of
the neighbours are gathered as bits, `WORDS` times 64 colours at a time; a vertex that needs more
looks again. Where rows are short, it is less to look at them again than to count.

A few threads of a CPU are slower at counting than one is at the sequential pass itself, which goes
over every row once, in its order, and counts nothing.

M. Jones, P. Plassmann: A parallel graph coloring heuristic (SIAM J. Scientific Computing 14, 1993).
W. Hasenplaugh, T. Kaler, T. Schardl, C. Leiserson: Ordering heuristics for parallel graph coloring
(SPAA 2014).
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any, Final

import numpy as np

from weft.algorithms.registry import Fields, Needs, algorithm
from weft.algorithms.support.order import comes_before, place, place_at_random
from weft.algorithms.support.simple import simple
from weft.arrays.checks import check_integer
from weft.arrays.threads import num_threads
from weft.backends import backend_of
from weft.config import Config
from weft.engine.frontier import Frontier
from weft.engine.state import full, scalar
from weft.errors import ConfigError, unknown
from weft.graph import Graph
from weft.ir.ops import UINT64
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.program import edge, vertex

Array = np.ndarray[Any, Any]

WORDS: Final = 8
ORDERS: Final = ("largest_first", "random")
FEW: Final = 64  # most neighbours of a vertex for one word to be enough
FEW_THREADS: Final = 4  # that counting keeps busy for longer than the sequential pass takes
WORDS_IN_TURN: Final = 2


def lowest_free(used: Any, base: Any) -> Any:
    """Return the first colour from `base` on whose bit is not set in some words, or -1."""
    one = fn.cast(1, UINT64)
    color = fn.cast(-1, np.int32)
    for k in range(len(used) - 1, -1, -1):
        lowest = ~used[k] & (used[k] + one)  # the lowest bit that is not set
        bit = 63 - fn.cast(fn.clz(lowest), np.int32)
        color = fn.where(lowest != 0, base + (64 * k + bit), color)
    return color


@vertex(on="all")
def count_earlier(v: Any) -> Any:
    """Count the neighbours that come before v; those without any begin."""
    v.waits = v.gather(lambda u, e: fn.cast(comes_before(v, u), np.int32), monoids.sum)
    return v.waits == 0


@vertex(order_free=True)
def choose(v: Any) -> Any:
    """Take the smallest free colour of those that are looked at."""
    one, zero = fn.cast(1, UINT64), fn.cast(0, UINT64)

    def bits(u: Any, e: Any) -> Any:
        offset = u.color - v.base
        bit, word = one << fn.cast(offset & 63, UINT64), offset >> 6
        return tuple(fn.where((offset >= 0) & (word == k), bit, zero) for k in range(WORDS))

    color = lowest_free(v.gather(bits, (monoids.or_,) * WORDS), v.base)
    v.base = fn.where(color < 0, v.base + 64 * WORDS, v.base)
    v.color.at(v.id).set(color)
    return color >= 0


@edge(order_free=True)
def count_out(u: Any, v: Any, e: Any) -> Any:
    """Count u, which is coloured, out of those that v waits for; the last one lets v go on."""
    after = comes_before(v, u)
    waited = fn.for_range(
        0,
        fn.where(after, 1, 0),
        lambda _, before: v.waits.at(v.id).add(-1),
        fn.cast(0, np.int32),
    )
    return waited == 1


@vertex(wake="changed", order_free=True)
def paint(v: Any) -> Any:
    """Take the smallest free colour of 64, unless a neighbour before v has none yet.

    A colour c takes the place of a vertex, as -1 - c.
    """
    one, zero = fn.cast(1, UINT64), fn.cast(0, UINT64)

    def look(u: Any, e: Any) -> Any:
        place = u.place
        taken = fn.where(place < 0, one << fn.cast(-1 - place, UINT64), zero)
        return taken, (place > v.place) | ((place == v.place) & (u.id > v.id))

    used, waits = v.gather(look, (monoids.or_, monoids.or_))
    free = 63 - fn.clz(~used & (used + one))
    v.place.at(v.id).set(fn.where(waits, v.place, -1 - fn.cast(free, np.int64)))
    return waits


@vertex(wake="changed", order_free=True)
def paint_in_turn(v: Any) -> Any:
    """Take the smallest free colour of those that are looked at, with all colours as they are now.

    A colour c takes the place of a vertex, as -1 - c. Places rise in the order of vertices, so none
    waits in a run that takes them in that order.
    """
    one, zero = fn.cast(1, UINT64), fn.cast(0, UINT64)

    def look(u: Any, e: Any) -> Any:
        place = v.place.at(u.id).load()
        offset = -1 - place - v.base
        bit, word = one << fn.cast(offset & 63, UINT64), offset >> 6
        taken = tuple(fn.where(word == k, bit, zero) for k in range(WORDS_IN_TURN))
        return (*taken, (place >= 0) & (place < v.place))

    *used, waits = v.gather(look, (monoids.or_,) * (WORDS_IN_TURN + 1))
    color = lowest_free(used, v.base)
    v.base = fn.where(color < 0, v.base + 64 * WORDS_IN_TURN, v.base)
    again = waits | (color < 0)
    v.place.at(v.id).set(fn.where(again, v.place, -1 - color))
    return again


@vertex
def is_ready(v: Any) -> Any:
    """Whether v waits for nothing and found no free colour yet."""
    return (v.color < 0) & (v.waits == 0)


@algorithm(
    group="structure",
    summary="a colour for every vertex that none of its neighbours has",
    directed="ignored",
    reference=(
        "M. Jones, P. Plassmann: A parallel graph coloring heuristic (1993); W. Hasenplaugh et "
        "al.: Ordering heuristics for parallel graph coloring (SPAA 2014)"
    ),
    needs=Needs(
        ("out",), Fields(lambda i, w: 20, lambda i, w: 12, lambda i, w: 28), simple=True,
        degrees=("out",),
    ),
)  # fmt: skip
def color(
    g: Graph, order: str = "largest_first", *, seed: int = 0, config: Config | None = None
) -> Array:
    """Return a colour for every vertex, such that neighbours differ.

    Parameters
    ----------
    g
        A graph. Self-loops are ignored, and directed edges are taken to run both ways.
    order
        "largest_first": vertices with more neighbours take colours earlier, which needs few
        colours. "random": in a random order, which needs more, but has short chains of vertices
        that wait for each other, O(log n / log log n) where degrees are bounded.
    seed
        Chooses the order, or that among vertices with equally many neighbours; the colours are
        determined by it.
    config
        How to run it.

    Returns
    -------
    ndarray of int32
        Colours from 0 on, at most one more than the largest degree.

    Raises
    ------
    ConfigError
        If the order is not known.

    Examples
    --------
    >>> import weft
    >>> weft.color(weft.generators.star(4)).tolist()
    [0, 1, 1, 1]
    """
    if order not in ORDERS:
        raise ConfigError(unknown("order", order, ORDERS))
    g = simple(g)
    state = g.state(place=full(0), seed=scalar(check_integer("seed", seed, 0)))
    g.run(place if order == "largest_first" else place_at_random, state, config=config)
    most = int(g.out_degree.max()) if g.num_vertices else 0
    if most < FEW:
        g.iterate(paint, state, config=config)
        return (-1 - state.place).astype(np.int32)
    if _takes_turns(g, config):
        return _paint_in_turn(g, state.place, config)
    state = g.state(
        color=full(-1, np.int32), place=state.place, base=full(0, np.int32), waits=full(0, np.int32)
    )
    ready = g.run(count_earlier, state, config=config)
    g.iterate([choose, count_out], state, ready, refill=[is_ready], config=config)
    return state.color


def _takes_turns(g: Graph, config: Config | None) -> bool:
    """Whether one thread goes over the vertices in turn."""
    topology = g.topology
    threads = (config and config.threads) or num_threads()
    on_threads = backend_of(topology.device).runs_on_threads and topology.carrier is None
    return on_threads and threads <= FEW_THREADS


def _paint_in_turn(g: Graph, place: Array, config: Config | None) -> Array:
    """Return the colours that a sequential pass by falling places gives."""
    members = np.flatnonzero(g.out_degree)
    members = members[np.argsort(-place[members])]
    # Which of equal places, of bits that are equal by chance, comes first is a matter of ids.
    falling = place[members]
    tied = np.flatnonzero(falling[1:] == falling[:-1])
    if tied.size:
        members = members[np.lexsort((-members, -falling))]
    turns = np.full(g.num_vertices, -1, g.topology.index_dtype)
    turns[members] = np.arange(members.size)
    state = g.state(place=turns, base=full(0, np.int32))
    in_turn = Frontier(members.astype(g.topology.index_dtype), g.num_vertices)
    g.iterate(paint_in_turn, state, in_turn, config=_on_one_thread(config))
    return (-1 - state.place).astype(np.int32, copy=False)


@functools.lru_cache(maxsize=16)
def _on_one_thread(config: Config | None) -> Config:
    """Return a configuration for one thread, the same object every time."""
    return replace(config or Config(), threads=1)
