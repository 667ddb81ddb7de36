"""Community detection by label propagation.

Method: every vertex starts with its own id as its label, and takes the label that is most frequent
among its neighbours, or has the greatest weight. In a directed graph both ends of an edge are
neighbours of each other, and a pair with edges both ways counts twice.

*Synchronous*: in each round all vertices at once take the label, the smallest of several. This is
the deterministic form (CDLP) that the LDBC Graphalytics benchmark specifies. Since neighbours
influence each other equally, it ends in labels that stay or that alternate between two states.

*Asynchronous*: a round goes over the classes of a colouring, all vertices of a class at once, which
are no neighbours. A vertex keeps its label if no other is more frequent, and else takes the largest
of several. This ends, since every change leaves more edges between equal labels.

O(m) per round.

U. Raghavan, R. Albert, S. Kumara: Near linear time algorithm to detect community structures in
large-scale networks (Physical Review E 76, 2007).
G. Cordasco, L. Gargano: Community detection via semi-synchronous label propagation algorithms
(BASNA 2010).
S. Poljak, M. Sůra: On periodical behaviour in societies with symmetric influences (Combinatorica 3,
1983).
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from weft.algorithms.color import color
from weft.algorithms.registry import BOTH, Fields, Needs, algorithm
from weft.algorithms.support.weights import check_weights
from weft.arrays.checks import check_steps
from weft.arrays.device import to_host
from weft.config import Config
from weft.engine.state import State, full, scalar
from weft.errors import ConfigError, unknown
from weft.graph import Graph
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.ir.trace.proxies import send
from weft.ir.types import vertex_id
from weft.program import vertex

Array = np.ndarray[Any, Any]


METHODS = ("synchronous", "asynchronous")


@functools.cache
def adopt(direction: str, weighted: bool = False, ends: bool = False) -> Any:
    """Return the vertex function that takes the most frequent label of the neighbours.

    With `ends` it counts the labels that differ from those of one round and of two rounds before.
    """

    @vertex
    def follow(v: Any) -> None:
        def vote(u: Any, e: Any) -> Any:
            return (u.label, e.weight) if weighted else u.label

        frequent = v.gather(vote, monoids.mode, direction=direction)
        label = fn.where(v.in_degree + v.out_degree > 0, frequent, v.label)
        if ends:
            fn.reduce("moved", fn.cast(label != v.label, np.int64), monoids.sum)
            fn.reduce("turned", fn.cast(label != v.before, np.int64), monoids.sum)
            v.before = v.label
        v.label = label

    return follow


@functools.cache
def persuade(direction: str, weighted: bool) -> Any:
    """Return the vertex function that gives up a label only for one of greater weight."""

    @vertex
    def follow(v: Any) -> None:
        last = fn.cast(fn.num_vertices(), np.int64) - 1
        around = v.gather_by(
            lambda u, e: last - fn.cast(u.label, np.int64),  # ties go to the smallest key
            (lambda u, e: e.weight) if weighted else (lambda u, e: 1),
            monoids.sum,
            direction=direction,
        )
        own = last - fn.cast(v.label, np.int64)
        weight, key = around.reduce(lambda key, weight: (weight, key), monoids.argmax)
        kept = around.reduce(lambda key, weight: send(weight, when=key == own), monoids.sum)
        moves = (key >= 0) & (weight > kept)
        v.label = fn.where(moves, fn.cast(last - key, vertex_id), v.label)

    return follow


@algorithm(
    group="communities",
    weights="optional",
    summary="the community of every vertex by label propagation",
    directed="ignored",
    column="label",
    reference=(
        "U. N. Raghavan, R. Albert, S. Kumara: Near linear time algorithm to "
        "detect community structures (2007)"
    ),
    needs=Needs(
        BOTH,
        Fields(lambda i, w: 2 * i, lambda i, w: 2 * i, lambda i, w: 2 * i),
        degrees=BOTH,
        keys=True,
    ),
)
def label_propagation(
    g: Graph,
    iterations: int | None = 10,
    *,
    method: str = "synchronous",
    weighted: bool = False,
    config: Config | None = None,
) -> Array:
    """Return a community label for every vertex.

    Parameters
    ----------
    g
        A graph. Parallel edges count each.
    iterations
        How often labels are passed on, at most. None goes on to the end: until no label changes, or
        (synchronous) labels alternate between two states.
    method
        "synchronous", as in LDBC Graphalytics: all labels change at once. "asynchronous": those of
        one class of a colouring after another, which gives better communities in more time.
    weighted
        Whether labels count by the weights of the edges, which must be finite and not negative.
    config
        How to run it.

    Returns
    -------
    ndarray
        One label per vertex: the id of some vertex, equal within a community. Vertices without
        neighbours keep their own.

    Raises
    ------
    ConfigError
        If `iterations` is not a count, or the method is not known.
    GraphError
        If weights are to be used and some are negative or not finite.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1, 3, 3, 4], [1, 2, 2, 4, 5, 5], directed=False)
    >>> weft.label_propagation(g).tolist()
    [0, 0, 0, 3, 3, 3]
    >>> weft.label_propagation(weft.generators.path(4), None).tolist()
    [0, 1, 0, 1]
    >>> weft.label_propagation(weft.generators.path(4), None, method="asynchronous").tolist()
    [2, 2, 2, 2]
    """
    if method not in METHODS:
        raise ConfigError(unknown("method", method, METHODS))
    most = None if iterations is None else check_steps("iterations", iterations)
    weighted = check_weights(g, weighted, "label propagation")
    direction = "both" if g.directed else "in"
    label = full(lambda v: v.id, vertex_id)
    if method == "asynchronous":
        state = g.state(label=label)
        _pass_by_class(g, state, persuade(direction, weighted), most, config)
        return state.label
    if most is not None:
        state = g.state(label=label)
        g.iterate(adopt(direction, weighted), state, max_iter=most, config=config)
        return state.label
    state = g.state(label=label, before=full(-1, vertex_id), moved=scalar(1), turned=scalar(1))
    step = adopt(direction, weighted, ends=True)
    g.iterate(step, state, until=_repeats, config=config)
    return state.label


def _repeats(moved: Any, turned: Any) -> Any:
    return (moved == 0) | (turned == 0)


def _pass_by_class(
    g: Graph, state: State, step: Any, most: int | None, config: Config | None
) -> None:
    """Pass labels on, one class of a colouring after another, until none changes."""
    number = color(g, config=config)
    order = g.topology.xp.argsort(number, kind="stable")
    sizes = np.bincount(to_host(number)) if number.size else np.zeros(0, np.int64)
    ends = np.cumsum(sizes)
    classes = [
        g.frontier(order[end - size : end]) for end, size in zip(ends, sizes, strict=True) if size
    ]
    done = 0
    while most is None or done < most:
        moved = [len(g.run(step, state, members, config=config)) for members in classes]
        done += 1
        if not any(moved):
            return
