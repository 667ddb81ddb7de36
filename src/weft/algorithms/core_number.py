"""Core numbers.

Method: peeling. The k-core is what is left after vertices with fewer than k neighbours have been
taken away again and again; the core number of v is the largest k whose core holds v. Vertices of
degree k or less are taken away, with core number k, until there are none; then k rises to the
smallest degree that is left.

On request (``combine="in_place"``) degrees are lowered in place: the message that takes a degree
to k settles the core number at once and queues the vertex. Vertices are still there as long as
their degree is above k, so that nothing else is read.

V. Batagelj, M. Zaversnik: An O(m) algorithm for cores decomposition of networks (2003).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.algorithms.registry import Fields, Needs, algorithm
from weft.algorithms.support.simple import simple
from weft.backends import backend_of
from weft.config import Config
from weft.engine.state import full, scalar
from weft.graph import Graph
from weft.ir.ops import INT64
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.ir.types import vertex_id
from weft.plan.counting import counts_in_place
from weft.program import edge, vertex

Array = np.ndarray[Any, Any]


@vertex
def take_away(v: Any, k: Any) -> None:
    """Settle the core number of v."""
    v.core = k


@edge(
    into="degree",
    reduce=monoids.sum,
    accept=lambda v: v.core < 0,
    active=lambda v, old, k: v.degree <= k,
)
def lose_neighbor(u: Any, v: Any, e: Any) -> Any:
    """Lower the degree of v, which is still there, by the neighbour u."""
    return -1


@vertex
def find_lowest(v: Any) -> None:
    """Set k to the smallest degree that is left."""
    fn.reduce("k", fn.where(v.core < 0, v.degree, fn.num_vertices()), monoids.min)


@vertex(on="all")
def has_lowest(v: Any, k: Any) -> Any:
    """Whether v is to be taken away next."""
    return (v.core < 0) & (v.degree <= k)


@edge(order_free=True)
def drop_neighbor(u: Any, v: Any, e: Any, k: Any) -> Any:
    """Lower the degree of v if it is above k; settle v and go on from it when it falls to k."""
    degree, core = v.degree, v.core
    there = fn.cast(degree.at(v.id).load() > k, INT64)

    def lower(i: Any, falls: Any) -> Any:
        return fn.cast(degree.at(v.id).add(-1) == k + 1, INT64)

    falls = fn.for_range(0, there, lower, fn.cast(0, INT64))
    fn.for_range(0, falls, lambda i: core.at(v.id).set(k))
    return falls > 0


@vertex
def find_next(v: Any, k: Any) -> None:
    """Set k to the smallest degree above it, and `below` to what k was."""
    fn.reduce("k", fn.where(v.degree > k, v.degree, fn.num_vertices()), monoids.min)
    fn.reduce("below", k, monoids.max)


@vertex(on="all")
def has_next(v: Any, k: Any, below: Any) -> Any:
    """Settle v if it is still there and has that degree; then it is taken away next."""
    taken = (v.degree > below) & (v.degree <= k)
    v.core = fn.where(taken, k, v.core)
    return taken


@algorithm(
    group="structure",
    summary="the largest k of a k-core that holds each vertex",
    directed="ignored",
    column="core",
    reference=(
        "V. Batagelj, M. Zaversnik: An O(m) algorithm for cores decomposition of networks (2003)"
    ),
    needs=Needs(
        ("out",),
        Fields(lambda i, w: 2 * i, lambda i, w: i, lambda i, w: 2 * i + 4, own=8),
        simple=True,
        degrees=("out",),
    ),
)
def core_number(g: Graph, *, config: Config | None = None) -> Array:
    """Return the core number of every vertex.

    Parameters
    ----------
    g
        A graph. Self-loops are ignored, parallel edges count once, and directed edges are taken to
        run both ways.
    config
        How to run it.

    Returns
    -------
    ndarray
        One integer per vertex: the largest k such that it has k neighbours or more within some
        subgraph in which all vertices do.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1, 2, 3], [1, 2, 2, 3, 4], num_vertices=6, directed=False)
    >>> weft.core_number(g).tolist()
    [2, 2, 2, 1, 1, 0]
    """
    g = simple(g)
    if _in_place(g, config):
        fields = {"core": full(-1, vertex_id), "degree": lambda v: v.out_degree}
        state = g.state(**fields, k=scalar(-1, vertex_id), below=scalar(-1, vertex_id))
        g.iterate(drop_neighbor, state, [], refill=[find_next, has_next], config=config)
        return state.core
    state = g.state(core=full(-1, vertex_id), degree=lambda v: v.out_degree, k=scalar(0, vertex_id))
    g.iterate(
        [take_away, lose_neighbor], state, [], refill=[find_lowest, has_lowest], config=config
    )
    return state.core


def _in_place(g: Graph, config: Config | None) -> bool:
    """Whether degrees are lowered in place: on request, where one device holds all of them."""
    topology = g.topology
    apart = topology.carrier is not None or not backend_of(topology.device).updates_at_once
    on_gpu = backend_of(topology.device).looks_at_degrees
    return not apart and not topology.device.in_tables and counts_in_place(config, on_gpu)
