"""Greedy colouring, largest degree first or in a random order.

Method: vertices have a fixed order: most neighbours first, then by random bits, the largest first;
or by random bits alone. The colours are those of a sequential pass in this order, each vertex with
the smallest colour that no neighbour before it has, whatever is done at once.

Waiting until all neighbours before it are coloured makes long chains where hubs are neighbours:
1 231 vertices on an R-MAT graph of scale 17 that takes 215 colours. So a vertex without a colour
keeps a *bound*, the smallest colour that none of its coloured neighbours before it has. It can take
that one as soon as the bounds of the others are larger, as they never fall: 241 supersteps then do.
Meanwhile it watches one neighbour whose bound is not larger, and looks at the others again only
when that one's bound has grown or become a colour. Edges are first cut down to those that lead to
the neighbours before a vertex. Where rows are short, chains are too, and it is less to look at all
neighbours until none before has no colour.

A few threads of a CPU are slower at this than one is at the sequential pass itself, which goes over
every row once, in its order.

M. Jones, P. Plassmann: A parallel graph coloring heuristic (SIAM J. Scientific Computing 14, 1993).
G. Alabandi, E. Powers, M. Burtscher: Increasing the parallelism of graph coloring via shortcutting
(PPoPP 2020).
W. Hasenplaugh, T. Kaler, T. Schardl, C. Leiserson: Ordering heuristics for parallel graph coloring
(SPAA 2014).
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any, Final

import numpy as np

import weft
from weft.algorithms.registry import Fields, Needs, algorithm
from weft.algorithms.support.order import place, place_at_random
from weft.algorithms.support.simple import simple
from weft.algorithms.triangle_count import rising
from weft.arrays.checks import check_integer
from weft.arrays.threads import num_threads
from weft.backends import backend_of
from weft.errors import ConfigError, unknown
from weft.ir.ops import UINT64

Array = np.ndarray[Any, Any]

COLORS: Final = 64  # that are looked at together
COLORED: Final = np.iinfo(np.int64).max
ORDERS: Final = ("largest_first", "random")
FEW: Final = 64  # most neighbours of a vertex for one word to be enough
FEW_THREADS: Final = 4  # that are slower with bounds than one is at the sequential pass
WORDS_IN_TURN: Final = 2


def lowest_free(used: Any, base: Any) -> Any:
    """Return the first colour from `base` on whose bit is not set in some words, or -1."""
    one = weft.cast(1, UINT64)
    color = weft.cast(-1, np.int32)
    for k in range(len(used) - 1, -1, -1):
        lowest = ~used[k] & (used[k] + one)  # the lowest bit that is not set
        bit = 63 - weft.cast(weft.clz(lowest), np.int32)
        color = weft.where(lowest != 0, base + (64 * k + bit), color)
    return color


@weft.vertex(on="all")
def watch_first(v: Any) -> None:
    """Let v watch the first neighbour before it, if it has any."""
    v.watched = weft.cond(
        weft.degree(v.id) > 0,
        lambda: weft.cast(weft.neighbor(v.id, 0), weft.vertex_id),
        lambda: weft.cast(v.id, weft.vertex_id),
    )


@weft.vertex(on="all")
def is_due(v: Any) -> Any:
    """Whether v has no colour yet, and nothing to wait for in the one that it watches.

    Those that begin, or looked at too few colours, watch themselves.
    """

    def waits_no_more() -> Any:
        watched = v.mark.at(v.watched).load()
        return (watched >= 0) | (watched < v.mark) | (v.watched == v.id)

    return weft.cond(v.mark < 0, waits_no_more, lambda: weft.cast(False, np.bool_))


@weft.vertex(order_free=True)
def look(v: Any) -> bool:
    """Take the smallest colour that is free, or raise the bound to it and watch a neighbour.

    A mark is a colour c, or -1 - c for the bound c. Marks may be seen before or after others are
    due in the same superstep: what they say is true in either case.
    """
    one, zero = weft.cast(1, UINT64), weft.cast(0, UINT64)

    def around(u: Any, e: Any) -> Any:
        mark = u.mark
        offset = mark - v.bound
        looked_at = (mark >= 0) & (offset >= 0) & (offset < COLORS)
        taken = weft.where(looked_at, one << weft.cast(offset & (COLORS - 1), UINT64), zero)
        bound = (weft.cast(-1 - mark, np.int64) << 32) | weft.cast(u.id, np.int64)
        return taken, weft.where(mark < 0, bound, COLORED)

    taken, least = v.gather(around, (weft.or_, weft.min), direction="out")
    offset = weft.cast(63 - weft.clz(~taken & (taken + one)), np.int32)
    all_taken = offset < 0
    bound = v.bound + weft.where(all_taken, COLORS, offset)
    waits = (least >> 32) <= bound
    v.watched = weft.where(all_taken | ~waits, v.id, weft.cast(least & 0xFFFFFFFF, weft.vertex_id))
    v.bound = bound
    v.mark.at(v.id).set(weft.where(all_taken | waits, -1 - bound, bound))
    return True


@weft.vertex(wake="changed", order_free=True)
def paint(v: Any) -> Any:
    """Take the smallest free colour of 64, unless a neighbour before v has none yet.

    A colour c takes the place of a vertex, as -1 - c.
    """
    one, zero = weft.cast(1, UINT64), weft.cast(0, UINT64)

    def look(u: Any, e: Any) -> Any:
        place = u.place
        taken = weft.where(place < 0, one << weft.cast(-1 - place, UINT64), zero)
        return taken, (place > v.place) | ((place == v.place) & (u.id > v.id))

    used, waits = v.gather(look, (weft.or_, weft.or_))
    free = 63 - weft.clz(~used & (used + one))
    v.place.at(v.id).set(weft.where(waits, v.place, -1 - weft.cast(free, np.int64)))
    return waits


@weft.vertex(wake="changed", order_free=True)
def paint_in_turn(v: Any) -> Any:
    """Take the smallest free colour of those that are looked at, with all colours as they are now.

    A colour c takes the place of a vertex, as -1 - c. Places rise in the order of vertices, so none
    waits in a run that takes them in that order.
    """
    one, zero = weft.cast(1, UINT64), weft.cast(0, UINT64)

    def look(u: Any, e: Any) -> Any:
        place = v.place.at(u.id).load()
        offset = -1 - place - v.base
        bit, word = one << weft.cast(offset & 63, UINT64), offset >> 6
        taken = tuple(weft.where(word == k, bit, zero) for k in range(WORDS_IN_TURN))
        return (*taken, (place >= 0) & (place < v.place))

    *used, waits = v.gather(look, (weft.or_,) * (WORDS_IN_TURN + 1))
    color = lowest_free(used, v.base)
    v.base = weft.where(color < 0, v.base + 64 * WORDS_IN_TURN, v.base)
    again = waits | (color < 0)
    v.place.at(v.id).set(weft.where(again, v.place, -1 - color))
    return again


@algorithm(
    group="structure",
    summary="a colour for every vertex that none of its neighbours has",
    directed="ignored",
    reference=(
        "M. Jones, P. Plassmann: A parallel graph coloring heuristic (1993); W. Hasenplaugh et "
        "al.: Ordering heuristics for parallel graph coloring (SPAA 2014)"
    ),
    needs=Needs(
        ("out",), Fields(lambda i, w: 2 * i + 16, lambda i, w: i + 12, lambda i, w: i + 12),
        simple=True, oriented=True, degrees=("out",),
    ),
)  # fmt: skip
def color(
    g: weft.Graph, order: str = "largest_first", *, seed: int = 0, config: weft.Config | None = None
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
    state = g.state(place=weft.full(0), seed=weft.scalar(check_integer("seed", seed, 0)))
    g.run(place if order == "largest_first" else place_at_random, state, config=config)
    most = int(g.out_degree.max()) if g.num_vertices else 0
    if most < FEW:
        g.iterate(paint, state, config=config)
        return (-1 - state.place).astype(np.int32)
    if _takes_turns(g, config):
        return _paint_in_turn(g, state.place, config)
    return _by_bounds(g, state.place, config)


def _by_bounds(g: weft.Graph, place: Array, config: weft.Config | None) -> Array:
    """Return the colours of vertices in the order of falling places."""
    xp = g.topology.xp
    rank = xp.empty(g.num_vertices, g.topology.index_dtype)
    rank[xp.argsort(place, kind="stable")] = xp.arange(g.num_vertices, dtype=rank.dtype)
    earlier = rising(g, rank)
    own = weft.full(lambda v: v.id, weft.vertex_id)
    state = earlier.state(mark=weft.full(-1, np.int32), bound=weft.full(0, np.int32), watched=own)
    earlier.run(watch_first, state, config=config)
    earlier.iterate([is_due, look], state, config=config)
    return state.mark


def _takes_turns(g: weft.Graph, config: weft.Config | None) -> bool:
    """Whether one thread goes over the vertices in turn."""
    topology = g.topology
    threads = (config and config.threads) or num_threads()
    on_threads = backend_of(topology.device).runs_on_threads and topology.carrier is None
    return on_threads and threads <= FEW_THREADS


def _paint_in_turn(g: weft.Graph, place: Array, config: weft.Config | None) -> Array:
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
    state = g.state(place=turns, base=weft.full(0, np.int32))
    in_turn = weft.Frontier(members.astype(g.topology.index_dtype), g.num_vertices)
    g.iterate(paint_in_turn, state, in_turn, config=_on_one_thread(config))
    return (-1 - state.place).astype(np.int32, copy=False)


@functools.lru_cache(maxsize=16)
def _on_one_thread(config: weft.Config | None) -> weft.Config:
    """Return a configuration for one thread, the same object every time."""
    return replace(config or weft.Config(), threads=1)
