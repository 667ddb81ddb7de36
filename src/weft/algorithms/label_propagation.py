"""Community detection by label propagation.

Method: every vertex starts with its own id as its label, and takes the label that is most frequent
among its neighbours, or has the greatest weight. In a directed graph both ends of an edge are
neighbours of each other, and a pair with edges both ways counts twice.

*Synchronous*: in each round all vertices at once take the label, the smallest of several. This is
the deterministic form (CDLP) that the LDBC Graphalytics benchmark specifies. Since neighbours
influence each other equally, it ends in labels that stay or that alternate between two states. A
label is new if it differs from that of two rounds before; once few are, a round looks only at their
neighbours, since labels around the others are those of two rounds before.

*Asynchronous*: a round goes over the classes of a colouring, all vertices of a class at once, which
are no neighbours. A vertex keeps its label if no other is more frequent, and else takes the largest
of several. This ends, since every change leaves more edges between equal labels. After the first
round only neighbours of vertices that changed are looked at.

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
from typing import Any, Final

import numpy as np

import weft
from weft.algorithms.color import color
from weft.algorithms.registry import BOTH, Fields, Needs, algorithm
from weft.algorithms.support.weights import check_weights
from weft.arrays.checks import check_steps
from weft.arrays.device import to_host
from weft.errors import ConfigError, unknown

Array = np.ndarray[Any, Any]


METHODS = ("synchronous", "asynchronous")
MANY: Final = 32  # rounds look at all vertices while more than one in so many has a new label


@functools.cache
def adopt(direction: str, weighted: bool = False, ends: bool = False) -> Any:
    """Return the vertex function that takes the most frequent label of the neighbours.

    With `ends` it counts the labels that differ from those of one round and of two rounds before.
    """

    @weft.vertex
    def follow(v: Any) -> None:
        def vote(u: Any, e: Any) -> Any:
            return (u.label, e.weight) if weighted else u.label

        frequent = v.gather(vote, weft.mode, direction=direction)
        label = weft.where(v.in_degree + v.out_degree > 0, frequent, v.label)
        if ends:
            weft.reduce("moved", weft.cast(label != v.label, np.int64), weft.sum)
            weft.reduce("turned", weft.cast(label != v.before, np.int64), weft.sum)
            v.before = v.label
        v.label = label

    return follow


@functools.cache
def alternate(weighted: bool) -> list[Any]:
    """Return two rounds: each writes what follows from the labels that the other one wrote."""

    def round_from(last: str, into: str, renewed: str) -> Any:
        def vote(u: Any, e: Any) -> Any:
            return (getattr(u, last), e.weight) if weighted else getattr(u, last)

        @weft.vertex
        def follow(v: Any) -> None:
            frequent = v.gather(vote, weft.mode)
            label = weft.where(v.in_degree > 0, frequent, v.id)
            is_new = label != getattr(v, into)
            weft.reduce(renewed, weft.cast(is_new, np.int64), weft.sum)
            v.changed = is_new
            setattr(v, into, label)
            v.due = False

        return follow

    return [
        round_from("even", "odd", "new_odd"), awaken, round_from("odd", "even", "new_even"), awaken,
    ]  # fmt: skip


@weft.edge(into="due", reduce=weft.or_)
def awaken(u: Any, v: Any, e: Any) -> Any:
    """Let the next round look at the neighbours of a vertex with a new label."""
    return True


@weft.edge(into="due", reduce=weft.or_, along="in")
def awaken_back(u: Any, v: Any, e: Any) -> Any:
    """Let the next round look at the source of an edge to a vertex with a new label."""
    return True


@functools.cache
def persuade(direction: str, weighted: bool) -> Any:
    """Return the vertex function that gives up a label only for one of greater weight."""

    @weft.vertex
    def follow(v: Any) -> None:
        last = weft.cast(weft.num_vertices(), np.int64) - 1
        around = v.gather_by(
            lambda u, e: last - weft.cast(u.label, np.int64),  # ties go to the smallest key
            (lambda u, e: e.weight) if weighted else (lambda u, e: 1),
            weft.sum,
            direction=direction,
        )
        own = last - weft.cast(v.label, np.int64)
        weight, key = around.reduce(lambda key, weight: (weight, key), weft.argmax)
        kept = around.reduce(lambda key, weight: weft.send(weight, when=key == own), weft.sum)
        moves = (key >= 0) & (weight > kept)
        v.label = weft.where(moves, weft.cast(last - key, weft.vertex_id), v.label)
        v.due, v.changed = False, moves

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
        Fields(lambda i, w: 4 * i + 1, lambda i, w: 2 * i + 1, lambda i, w: 2 * i + 1),
        degrees=BOTH,
        keys=True,
    ),
)
def label_propagation(
    g: weft.Graph,
    iterations: int | None = 10,
    *,
    method: str = "synchronous",
    weighted: bool = False,
    config: weft.Config | None = None,
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
    label = weft.full(lambda v: v.id, weft.vertex_id)
    if method == "asynchronous":
        state = g.state(label=label, due=weft.full(True))
        _pass_by_class(g, state, persuade(direction, weighted), most, config)
        return state.label
    if most is not None:
        state = g.state(label=label)
        g.iterate(adopt(direction, weighted), state, max_iter=most, config=config)
        return state.label
    return _to_the_end(g, label, weighted, config)


def _to_the_end(g: weft.Graph, label: Any, weighted: bool, config: weft.Config | None) -> Array:
    """Return the labels once none is new."""
    few = 1 if g.directed else max(1, g.num_vertices // MANY)  # new labels, from which on ...
    state = g.state(
        label=label,
        before=weft.full(-1, weft.vertex_id),
        moved=weft.scalar(1),
        turned=weft.scalar(1),
        few=weft.scalar(few),
    )
    step = adopt("both" if g.directed else "in", weighted, ends=True)
    g.iterate(step, state, until=_are_few, config=config)
    if state.moved == 0 or state.turned == 0:
        return state.label
    state = g.state(
        even=state.label,
        odd=state.before,
        due=weft.full(False),
        new_odd=weft.scalar(0),
        new_even=weft.scalar(0),
    )
    g.iterate(alternate(weighted), state, config=config)
    return state.odd if state.new_odd == 0 else state.even


def _are_few(moved: Any, turned: Any, few: Any) -> Any:
    return (moved == 0) | (turned < few)


def _pass_by_class(
    g: weft.Graph, state: weft.State, step: Any, most: int | None, config: weft.Config | None
) -> None:
    """Pass labels on, one class of a colouring after another, until none changes."""
    number = color(g, config=config)
    order = g.topology.xp.argsort(number, kind="stable")
    sizes = np.bincount(to_host(number)) if number.size else np.zeros(0, np.int64)
    ends = np.cumsum(sizes)
    classes = [order[end - size : end] for end, size in zip(ends, sizes, strict=True) if size]
    ways = [awaken, awaken_back] if g.directed else [awaken]
    done, moved = 0, True
    while moved and (most is None or done < most):
        moved, done = False, done + 1
        for members in classes:
            due = members[state.due[members]]
            changed = g.run(step, state, due, config=config) if due.size else due
            if len(changed):
                moved = True
                for way in ways:
                    g.run(way, state, changed, config=config)
