"""Minimum spanning forest.

Method: Borůvka's, over a list of edges. In each round every edge looks for the components of its
ends; one that joins two is offered to both. Each component takes the lightest it was offered and
hooks itself under the other; of a pair of components that take the same edge, the one with the
smaller name stays. Edges within a component drop out of the frontier. Edges are ranked by (weight,
number), so that ranks are distinct and the forest is unique. Components at least halve in number,
which makes O(m log n) work. Where there are many edges, the lightest are taken first: most of the
others then lie within a component when they are first looked at.

Where weights have 32 bits, the rank is the weight above the number of the edge; else weights are
sorted once.

O. Borůvka: O jistém problému minimálním (1926).
A. Fallin, A. Gonzalez, J. Seo, M. Burtscher: A high-performance MST implementation for GPUs (SC
2023).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from weft.algorithms.registry import BOTH, Fields, Needs, algorithm
from weft.arrays.device import to_host
from weft.config import Config
from weft.engine.state import full, scalar
from weft.errors import GraphError
from weft.graph import Graph
from weft.ir.trace import functions as fn
from weft.ir.types import vertex_id
from weft.program import vertex
from weft.topology.adjacency import Adjacency, index_dtype_for
from weft.topology.topology import Topology

Array = np.ndarray[Any, Any]

NONE: Final = np.iinfo(np.int64).max  # the rank of no edge
LIGHT: Final = 3  # times the vertices: edges that are taken first where there are many
SAMPLES: Final = 4096


class Forest(NamedTuple):
    """The edges of a spanning forest, by their numbers, and their total weight."""

    edge: Array
    weight: float | int


def _rank_of(v: Any, kind: str) -> Any:
    """Return the rank of an edge: a field, its number, or its weight above its number."""
    number = fn.cast(v.id, np.int64)
    if kind == "number":
        return number
    if kind == "sorted":
        return v.weight
    weight = v.weight
    if kind == "float":
        bits = fn.bitcast(fn.cast(weight, np.float32) + np.float32(0), np.int32)
        weight = bits ^ ((bits >> 31) & 0x7FFFFFFF)  # in the order of the floats
    return (fn.cast(weight, np.int64) << 32) | number


def _root(parent: Any, x: Any) -> Any:
    """Return the root above x; who comes this way later climbs less."""

    def climb(x: Any, above: Any) -> Any:
        higher = parent.at(above).load()
        parent.at(x).set(higher)
        return above, higher

    root, _ = fn.while_loop(lambda x, above: x != above, climb, x, parent.at(x).load())
    return root


def _if(condition: Any, then: Callable[[], Any]) -> None:
    """Do something to a field where a condition holds."""

    def once(_: Any) -> None:
        then()

    fn.for_range(0, fn.where(condition, 1, 0), once)


@functools.cache
def round_of(kind: str) -> list[Any]:
    """Return the steps of a round, over the edges that may still join two components."""

    @vertex(order_free=True)
    def offer(v: Any, limit: Any) -> Any:
        """Offer the edge v to the components of its ends, unless that is one."""
        a, b = _root(v.parent, v.a), _root(v.parent, v.b)
        v.a, v.b = a, b
        rank = _rank_of(v, kind)
        joins = (a != b) & (rank <= limit)
        for end in (a, b):  # most offers to a large component are no better than one before
            better = joins & (rank < v.best.at(end).load())
            _if(better, functools.partial(lambda end: v.best.at(end).min(rank), end))
        return joins

    @vertex(order_free=True)
    def hook(v: Any) -> bool:
        """Hook the component that took the edge v under the other one.

        Where both took it, it is the best of the root that stays, which is free to choose again:
        no other edge has that rank, so that it does not matter who sees it.
        """
        a, b, rank = v.a, v.b, _rank_of(v, kind)
        by_a = v.best.at(a).load() == rank
        by_b = v.best.at(b).load() == rank
        low, high = fn.minimum(a, b), fn.maximum(a, b)
        both = by_a & by_b
        below = fn.where(both, high, fn.where(by_a, a, b))
        above = fn.where(both, low, fn.where(by_a, b, a))

        _if(by_a | by_b, lambda: v.parent.at(below).set(above))
        _if(both, lambda: v.best.at(above).set(NONE))
        v.taken = v.taken | by_a | by_b
        return True

    return [offer, hook]


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
        Fields(lambda i, w: 3 * i + 17, lambda i, w: i, lambda i, w: 2 * i, per_edge=56),
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
    topology, count = g.topology, g.num_edges
    kind, weight = _ranked(g)
    if not count:
        return Forest(topology.xp.zeros(0, np.int64), 0)
    held = _items(topology, max(count, g.num_vertices))
    state = held.state(
        a=full(0, vertex_id), b=full(0, vertex_id), parent=full(lambda v: v.id, vertex_id),
        best=full(NONE), taken=full(False), limit=scalar(NONE),
        **({} if weight is None else {"weight": full(0, weight.dtype)}),
    )  # fmt: skip
    state.a[:count], state.b[:count] = topology.edge_endpoints()
    if weight is not None:
        state.weight[:count] = weight
    light = LIGHT * g.num_vertices
    if count > 2 * light:
        state.limit = _limit(kind, weight, light, count)
        held.iterate(round_of(kind), state, config=config)
        state.limit = NONE
    held.iterate(round_of(kind), state, config=config)
    edge = topology.xp.flatnonzero(state.taken[:count])
    if not g.weighted:
        return Forest(edge, int(edge.size))
    total = g.edge.storage("weight")[edge]
    wide = np.int64 if total.dtype.kind in "iu" else np.float64
    return Forest(edge, total.astype(wide).sum().item())


def _items(topology: Topology, count: int) -> Graph:
    """Return a graph of so many vertices and no edges, on the same device."""
    kind = index_dtype_for(count, topology.index_dtype)
    rows = Adjacency(topology.xp.zeros(count + 1, np.int64), topology.xp.zeros(0, kind))
    return Graph(Topology.from_sorted(rows, directed=True, keep="out", device=topology.device))


def _limit(kind: str, weight: Array | None, light: int, count: int) -> int:
    """Return a rank that about so many of the edges have, or less; judged by a sample."""
    if weight is None or kind == "sorted":
        return light
    sample = np.sort(to_host(weight[:: max(1, count // SAMPLES)]))
    least = sample[min(sample.size - 1, sample.size * light // count)]
    if kind == "float":
        bits = int((np.float32(least) + np.float32(0)).view(np.int32))
        least = bits ^ ((bits >> 31) & 0x7FFFFFFF)
    return (int(least) << 32) | 0xFFFFFFFF


def _ranked(g: Graph) -> tuple[str, Array | None]:
    """Return how edges are ranked, and by which values."""
    if not g.weighted or g.num_edges == 0:
        return "number", None
    low, _ = g.edge.extent("weight")
    if low != low:
        raise GraphError(
            "some weights are NaN. Expected numbers: remove those edges or give them a weight."
        )
    weight = g.edge.storage("weight")
    narrow = weight.dtype.itemsize < 4 or weight.dtype in (np.int32, np.float32)
    if narrow and g.num_edges < 2**31:
        return "float" if weight.dtype.kind == "f" else "int", weight
    xp = g.topology.xp
    order = xp.argsort(weight, kind="stable")
    rank = xp.empty(order.size, np.int64)
    rank[order] = xp.arange(order.size)
    return "sorted", rank
