"""Minimum spanning forest.

Method: Borůvka's. In each round every vertex looks for its lightest edge to another component,
every component takes the lightest of its vertices, and components joined by a chosen edge become
one.
Edges are ranked by (weight, number), so that ranks are distinct and the forest is unique; of a pair
of components that choose the same edge, the one with the smaller name stays a root. Components at
least halve in number, which makes O(m log n) work; vertices without edges to other components drop
out of the frontier.

Where weights have 32 bits, the rank is the weight above the number of the edge; else weights are
sorted once.

O. Borůvka: O jistém problému minimálním (1926).
A. Fallin, A. Gonzalez, J. Seo, M. Burtscher: A high-performance MST implementation for GPUs (SC
2023).
"""

from __future__ import annotations

import functools
from typing import Any, Final, NamedTuple

import numpy as np

from weft.algorithms.registry import BOTH, Fields, Needs, algorithm
from weft.config import Config
from weft.engine.state import State, full
from weft.errors import GraphError
from weft.graph import Graph
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.ir.trace.proxies import send
from weft.ir.types import vertex_id
from weft.program import vertex

Array = np.ndarray[Any, Any]

NONE: Final = np.iinfo(np.int64).max  # the rank of no edge


class Forest(NamedTuple):
    """The edges of a spanning forest, by their numbers, and their total weight."""

    edge: Array
    weight: float | int


def _rank_of(e: Any, kind: str) -> Any:
    """Return the rank of an edge: its column, or its weight above its number."""
    if kind == "sorted":
        return e.rank_of_edge
    weight = e.weight
    if kind == "float":
        bits = fn.bitcast(fn.cast(weight, np.float32) + np.float32(0), np.int32)
        weight = bits ^ ((bits >> 31) & 0x7FFFFFFF)  # in the order of the floats
    return (fn.cast(weight, np.int64) << 32) | fn.cast(e.id, np.int64)


@functools.cache
def choosing(kind: str, direction: str) -> Any:
    """Return the vertex function that finds the lightest edge to another component."""

    @vertex(order_free=True)
    def choose(v: Any) -> Any:
        rank, other = v.gather(
            lambda u, e: send((_rank_of(e, kind), u.component), when=u.component != v.component),
            monoids.argmin,
            direction=direction,
        )
        v.rank, v.other = rank, other
        v.best.at(v.component).min(rank)
        return rank < NONE

    return choose


@vertex
def is_chosen(v: Any) -> Any:
    """Whether the edge of v is the lightest of its component."""
    return v.rank == v.best.at(v.component).load()


@vertex(order_free=True)
def hook(v: Any) -> None:
    """Hook the component of v under the other one, unless that hooks itself under this."""
    mutual = v.best.at(v.other).load() == v.rank
    stays = mutual & (v.component < v.other)
    v.parent.at(v.component).set(fn.where(stays, v.component, v.other))


@vertex(on="all")
def climb(v: Any) -> None:
    """Move v to the root of its component."""
    parent = v.parent
    root, _ = fn.while_loop(
        lambda x, above: x != above,
        lambda x, above: (above, parent.at(above).load()),
        v.component,
        parent.at(v.component).load(),
    )
    v.component = root


@algorithm(
    group="structure",
    summary="the edges of a spanning forest of least weight",
    weights="used",
    directed="ignored",
    per="result",
    reference=(
        "O. Borůvka: O jistém problému minimálním (1926); A. Fallin et al.: A high-performance MST "
        "implementation for GPUs (SC 2023)"
    ),
    needs=Needs(
        BOTH,
        Fields(lambda i, w: 3 * i + 16, lambda i, w: 2 * i + 16, lambda i, w: 4 * i + 32, own=40),
        weighted=True,
    ),
)
def minimum_spanning_forest(g: Graph, *, config: Config | None = None) -> Forest:
    """Return the edges of a spanning forest of least total weight.

    Parameters
    ----------
    g
        A graph. Without weights every edge counts 1. Directed edges are taken to run both ways.
        Among edges of equal weight, those with smaller numbers are preferred.
    config
        How to run it.

    Returns
    -------
    Forest
        ``edge``: the numbers of the edges in `Graph.to_edges`, rising: one fewer than vertices in
        every component. ``weight``: their total weight.

    Raises
    ------
    GraphError
        If a weight is NaN.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges(
    ...     [0, 0, 1, 2], [1, 2, 2, 3], weight=[1.0, 3.0, 2.0, 0.5], directed=False
    ... )
    >>> weft.minimum_spanning_forest(g)
    Forest(edge=array([0, 2, 3]), weight=3.5)
    """
    held, kind, order = _ranked(g)
    topology = g.topology
    xp = topology.xp
    identity = full(lambda v: v.id, vertex_id)
    state = held.state(
        component=identity, parent=identity, other=full(-1, vertex_id), rank=full(NONE),
        best=full(NONE),
    )  # fmt: skip
    choose = choosing(kind, "both" if g.directed else "in")
    taken = xp.zeros(g.num_edges, bool)
    frontier: Any = None
    while True:
        frontier = held.run(choose, state, frontier, config=config)
        if not len(frontier):
            break
        best = state.best
        chosen = best[best < NONE]
        taken[chosen & 0xFFFFFFFF if order is None else order[chosen]] = True
        _merge(held, state, frontier, config)
    edge = xp.flatnonzero(taken)
    if not g.weighted:
        return Forest(edge, int(edge.size))
    weight = g.edge.storage("weight")[edge]
    wide = np.int64 if weight.dtype.kind in "iu" else np.float64
    return Forest(edge, weight.astype(wide).sum().item())


def _merge(g: Graph, state: State, frontier: Any, config: Config | None) -> None:
    """Join the components along the chosen edges."""
    g.run([is_chosen, hook, climb], state, frontier, config=config)
    state.best = full(NONE)


def _ranked(g: Graph) -> tuple[Graph, str, Array | None]:
    """Return a graph to read ranks from, how, and the edges by rank if they had to be sorted."""
    if not g.weighted or g.num_edges == 0:
        return g, "int", None
    low, _ = g.edge.extent("weight")
    if low != low:
        raise GraphError(
            "some weights are NaN. Expected numbers: remove those edges or give them a weight."
        )
    weight = g.edge.storage("weight")
    narrow = weight.dtype.itemsize < 4 or weight.dtype in (np.int32, np.float32)
    if narrow and g.num_edges < 2**31:
        return g, "float" if weight.dtype.kind == "f" else "int", None
    xp = g.topology.xp
    order = xp.argsort(weight, kind="stable")
    rank = xp.empty(order.size, np.int64)
    rank[order] = xp.arange(order.size)
    return Graph(g.topology, edge={"rank_of_edge": rank}, order=g.order), "sorted", order
