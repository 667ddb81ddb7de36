"""Core numbers.

Method: peeling. The k-core is what remains after repeatedly removing vertices with fewer than k
neighbours; the core number of v is the largest k whose core contains v. Vertices of degree k or
less are removed, with core number k, until there are none; then k rises to the smallest remaining
degree.

A GPU lowers degrees in place (``combine="in_place"``): the message that takes a degree to k settles
the core number at once and queues the vertex. A vertex remains while its degree is above k, so
nothing else is read.

V. Batagelj, M. Zaversnik: An O(m) algorithm for cores decomposition of networks (2003).
"""

from __future__ import annotations

from typing import Any

import numpy as np

import weft
from weft.algorithms.registry import Fields, Needs, algorithm
from weft.algorithms.support.simple import simple
from weft.backends import backend_of
from weft.ir.ops import INT64
from weft.plan.counting import counts_in_place

Array = np.ndarray[Any, Any]


@weft.vertex
def take_away(v: Any, k: Any) -> None:
    """Settle the core number of v."""
    v.core = k


@weft.edge(
    into="degree",
    reduce=weft.sum,
    accept=lambda v: v.core < 0,
    active=lambda v, old, k: v.degree <= k,
)
def lose_neighbor(u: Any, v: Any, e: Any) -> Any:
    """Lower the degree of v, which remains, by the neighbour u."""
    return -1


@weft.vertex(shrinks=True)
def find_lowest(v: Any) -> Any:
    """Whether v remains; set k to the smallest remaining degree."""
    weft.reduce("k", weft.where(v.core < 0, v.degree, weft.num_vertices()), weft.min)
    return v.core < 0


@weft.vertex
def has_lowest(v: Any, k: Any) -> Any:
    """Whether v, which remains, is removed next."""
    return v.degree <= k


@weft.edge(order_free=True)
def drop_neighbor(u: Any, v: Any, e: Any, k: Any) -> Any:
    """Lower the degree of v if it is above k; settle and activate v when it falls to k."""
    degree, core = v.degree, v.core
    there = weft.cast(degree.at(v.id).load() > k, INT64)

    def lower(i: Any, falls: Any) -> Any:
        return weft.cast(degree.at(v.id).add(-1) == k + 1, INT64)

    falls = weft.for_range(0, there, lower, weft.cast(0, INT64))
    weft.for_range(0, falls, lambda i: core.at(v.id).set(k))
    return falls > 0


@weft.vertex(shrinks=True)
def find_next(v: Any, k: Any) -> Any:
    """Whether v remains; set k to the smallest remaining degree."""
    weft.reduce("k", weft.where(v.degree > k, v.degree, weft.num_vertices()), weft.min)
    return v.degree > k


@weft.vertex
def has_next(v: Any, k: Any) -> Any:
    """Settle v, which remains, if it has that degree; then it is removed next."""
    taken = v.degree <= k
    v.core = weft.where(taken, k, v.core)
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
def core_number(g: weft.Graph, *, config: weft.Config | None = None) -> Array:
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
        One integer per vertex: the largest k such that it belongs to a subgraph in which every
        vertex has at least k neighbours.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1, 2, 3], [1, 2, 2, 3, 4], num_vertices=6, directed=False)
    >>> weft.core_number(g).tolist()
    [2, 2, 2, 1, 1, 0]
    """
    g = simple(g)
    if _in_place(g, config):
        fields = {"core": weft.full(-1, weft.vertex_id), "degree": lambda v: v.out_degree}
        state = g.state(**fields, k=weft.scalar(-1, weft.vertex_id))
        g.iterate(drop_neighbor, state, [], refill=[find_next, has_next], config=config)
        return state.core
    state = g.state(
        core=weft.full(-1, weft.vertex_id),
        degree=lambda v: v.out_degree,
        k=weft.scalar(0, weft.vertex_id),
    )
    g.iterate(
        [take_away, lose_neighbor], state, [], refill=[find_lowest, has_lowest], config=config
    )
    return state.core


def _in_place(g: weft.Graph, config: weft.Config | None) -> bool:
    """Whether degrees are lowered in place: on a GPU, where one device holds all of them."""
    topology = g.topology
    apart = topology.carrier is not None or not backend_of(topology.device).updates_at_once
    on_gpu = backend_of(topology.device).looks_at_degrees
    return not apart and not topology.device.in_tables and counts_in_place(config, on_gpu)
