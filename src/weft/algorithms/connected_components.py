"""Connected components (weak ones of a directed graph).

Method: Afforest. Every vertex starts as a child of its first neighbour, if that has a smaller id.
Trees of parents are joined by hooking the root with the larger id under the smaller one, by
compare-and-swap; pointer jumping then makes every vertex a child of its root. Two neighbours of
each vertex, or its neighbour of highest degree, suffice to find most of the largest component, so
that afterwards only the edges of vertices outside it are visited. A root is always the smallest id
of its tree. Earlier labels are such trees: if edges were added, only these are linked.

M. Sutton, T. Ben-Nun, A. Barak: Optimizing parallel graph connectivity computation via subgraph
sampling (IPDPS 2018).
"""

from __future__ import annotations

from typing import Any

import numpy as np

import weft
from weft.algorithms.registry import Fields, Needs, algorithm
from weft.algorithms.support.hooking import hooked_components
from weft.algorithms.support.warm import Insertions, continued_labels, insertions
from weft.backends import backend_of
from weft.ir.ops import INT64, UINT64
from weft.plan.first_looks import is_uneven, looks_first
from weft.topology.best_neighbors import best_neighbors

Array = np.ndarray[Any, Any]

SHORT_ROWS = 4  # arcs per vertex, on average
VOTERS = 1024  # the same where the arcs are in blocks
SAMPLED = 32  # vertices that vote for the largest component


def link(parent: Any, a: Any, b: Any) -> None:
    """Join the trees of two vertices, given their parents a and b."""

    def climb(a: Any, b: Any) -> Any:
        low, high = weft.minimum(a, b), weft.maximum(a, b)
        above = weft.while_loop(  # runs at most once: hook `high` while it is still a root
            lambda above: above == high,
            lambda above: _hooked(parent.at(high).cas(high, low), high, low),
            parent.at(high).load(),
        )
        done = above == low  # then both next values are read where `high` was just hooked
        higher = parent.at(weft.where(done, high, above)).load()
        lower = parent.at(weft.where(done, high, low)).load()  # both are under way at once
        parent.at(high).min(higher)  # path halving: later climbs along this path are shorter
        return higher, lower

    weft.while_loop(lambda a, b: a != b, climb, a, b)


def _hooked(before: Any, high: Any, low: Any) -> Any:
    return weft.where(before == high, low, before)


@weft.vertex(on="all")
def adopt(v: Any) -> None:
    """Make v a child of its first neighbour, which is the smallest, since rows are sorted."""
    v.parent = weft.for_range(
        0,
        weft.minimum(v.out_degree, 1),
        lambda i, parent: weft.minimum(parent, weft.cast(weft.neighbor(v.id, i), weft.vertex_id)),
        weft.cast(v.id, weft.vertex_id),
    )


@weft.vertex(on="all", order_free=True)
def link_second(v: Any) -> None:
    """Link v with its second neighbour, if it has one."""

    def join(i: Any) -> None:
        link(v.parent, v.parent.at(v.id).load(), v.parent.at(weft.neighbor(v.id, i)).load())

    weft.for_range(1, weft.minimum(v.out_degree, 2), join)


@weft.vertex(on="all", order_free=True)
def link_two(v: Any) -> None:
    """Link v with its first two neighbours."""

    def join(i: Any) -> None:
        link(v.parent, v.parent.at(v.id).load(), v.parent.at(weft.neighbor(v.id, i)).load())

    weft.for_range(0, weft.minimum(v.out_degree, 2), join)


@weft.vertex(on="all", order_free=True)
def guess_largest(v: Any) -> None:
    """Set `common` to the parent of the majority of some vertices, if there is one.

    A single vertex visits them, by the majority vote of R. Boyer and J. Moore.
    """

    def count(i: Any, candidate: Any, votes: Any) -> Any:
        place = weft.cast(weft.random_bits(0, i) % weft.cast(weft.num_vertices(), UINT64), INT64)
        label = v.parent.at(place).load()
        voice = weft.cast(weft.degree(place) > 0, INT64)
        agrees = (votes == 0) | (label == candidate)
        elected = weft.where((votes == 0) & (voice > 0), label, candidate)
        return elected, weft.where(agrees, votes + voice, votes - voice)

    none = weft.cast(0, weft.vertex_id)
    first, _ = weft.for_range(
        0, weft.where(v.id == 0, SAMPLED, 0), count, none, weft.cast(0, INT64)
    )
    weft.reduce("common", first, weft.max)


@weft.vertex(on="all")
def adopt_best(v: Any) -> None:
    """Make v a child of its neighbour of highest degree, if that has a smaller id."""
    there = (v.best >= 0) & (v.best < v.id)
    v.parent = weft.cast(weft.where(there, v.best, v.id), weft.vertex_id)


@weft.vertex(on="all", order_free=True)
def link_best(v: Any) -> None:
    """Link v with its neighbour of highest degree, if that has a larger id."""

    def join(i: Any) -> None:
        link(v.parent, v.parent.at(v.id).load(), v.parent.at(v.best).load())

    weft.for_range(0, weft.cast(v.best > v.id, INT64), join)


@weft.vertex(on="all")
def lies_apart(v: Any, common: Any) -> Any:
    """Whether v has neighbours and is not yet known to be in the largest component."""
    return (v.parent != common) & (v.best >= 0)


@weft.vertex(on="all")
def lies_outside(v: Any, common: Any) -> Any:
    """Whether v is not yet known to be in the largest component."""
    return v.parent != common


@weft.edge(order_free=True)
def link_all(u: Any, v: Any, e: Any) -> bool:
    """Link the two ends of an edge."""
    link(u.parent, u.parent.at(u.id).load(), v.parent.at(v.id).load())
    return False


@weft.edge(order_free=True, along="in")
def link_back(u: Any, v: Any, e: Any) -> bool:
    """Link the two ends of an edge, seen from its destination."""
    link(u.parent, u.parent.at(u.id).load(), v.parent.at(v.id).load())
    return False


@weft.vertex(on="all", order_free=True)
def shorten(v: Any) -> None:
    """Make v a child of its root."""
    parent = v.parent
    _, root = weft.while_loop(
        lambda x, above: x != above,
        lambda x, above: (above, parent.at(above).load()),
        weft.cast(v.id, weft.vertex_id),
        parent.at(v.id).load(),
    )
    parent.at(v.id).set(root)


@algorithm(
    group="structure",
    summary="the weakly connected component of every vertex",
    directed="ignored",
    column="component",
    reference=(
        "M. Sutton, T. Ben-Nun, A. Barak: Optimizing parallel graph "
        "connectivity computation via subgraph sampling (IPDPS 2018)"
    ),
    needs=Needs(("out",), Fields(lambda i, w: i, own=16)),
)
def connected_components(
    g: weft.Graph,
    *,
    warm_start: Array | None = None,
    since: weft.Graph | int | None = None,
    config: weft.Config | None = None,
) -> Array:
    """Return the component of every vertex: the smallest vertex id in it.

    Parameters
    ----------
    g
        A graph; the edges of a directed one are taken to run both ways (weak components).
    warm_start
        The labels before edges were added; only the new edges are visited.
    since
        The graph of that earlier result, or the value of ``g.version`` at the time.
    config
        How to run it.

    Returns
    -------
    ndarray
        One label per vertex, equal for vertices that are connected.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([4, 1, 3], [1, 2, 5], num_vertices=7)
    >>> weft.connected_components(g).tolist()
    [0, 1, 1, 3, 1, 3, 6]

    After a change, continue from the earlier labels:

    >>> more = g.add_edges([6], [5])
    >>> weft.connected_components(
    ...     more, warm_start=weft.connected_components(g), since=g
    ... ).tolist()
    [0, 1, 1, 3, 1, 3, 3]
    """
    came = insertions(g, warm_start, since)
    carrier = g.topology.carrier
    if carrier is not None and carrier.shares_state:
        return _linked_by_blocks(g, config)
    if carrier is not None or g.topology.device.in_tables:
        return hooked_components(g, config)
    if g.topology.keep == "in":
        g = g.reverse()
        came = came and came._replace(src=came.dst, dst=came.src)
    common = weft.scalar(0, weft.vertex_id)
    if came is not None:
        state = g.state(parent=weft.full(lambda v: v.id, weft.vertex_id), common=common)
        state.parent[: came.num_vertices] = continued_labels(g, warm_start, came)
        g.run([link_all, shorten], state, _nearer(g, came), direction="push", config=config)
        return state.parent
    on_gpu = backend_of(g.topology.device).looks_at_degrees
    if not g.directed and looks_first(g.topology, config, on_gpu):
        return _linked_by_best(g, config)
    state = g.state(
        parent=weft.full(0, weft.vertex_id), common=common
    )  # the first step sets all parents
    first, rest = [adopt, link_second, shorten], [link_all, shorten]
    if g.topology.num_arcs < SHORT_ROWS * g.num_vertices:
        first.insert(1, shorten)  # first neighbours alone form long chains there
    if g.directed:  # edges are seen from their sources only, so none may be skipped
        g.run(first, state, config=config)
    else:
        rest = [*first, guess_largest, lies_outside, *rest]
    g.run(rest, state, direction="push", config=config)
    return state.parent


def _linked_by_best(g: weft.Graph, config: weft.Config | None) -> Array:
    """Link every vertex with its neighbour of highest degree, then those of smaller trees."""
    best = g.topology.found("best", "out", best_neighbors)
    state = g.state(
        parent=weft.full(0, weft.vertex_id), best=best, common=weft.scalar(0, weft.vertex_id)
    )
    first = [adopt_best, shorten, link_best, shorten]
    if is_uneven(g.topology):
        first.remove(shorten)  # the first neighbour: chains are short there
    rest = [guess_largest, lies_apart, link_all, shorten]
    g.run([*first, *rest], state, direction="push", config=config)
    return state.parent


def _linked_by_blocks(g: weft.Graph, config: weft.Config | None) -> Array:
    """Link two neighbours of each vertex in one sweep, then all neighbours of vertices outside.

    Blocks are read once, then the rows outside the largest component.
    """
    state = g.state(
        parent=weft.full(lambda v: v.id, weft.vertex_id), common=weft.scalar(0, weft.vertex_id)
    )
    if g.directed and g.topology.keep != "both":
        g.run([link_all, shorten], state, config=config)
        return state.parent
    g.run([link_two, shorten], state, config=config)
    if g.num_vertices:
        xp, apart = g.topology.xp, max(1, g.num_vertices // VOTERS)
        parents, votes = xp.unique(state.parent[::apart], return_counts=True)
        state.common = int(parents[votes.argmax()])
    outside = g.run(lies_outside, state, config=config)
    g.run(link_all, state, outside, config=config)
    if g.directed:
        g.run(link_back, state, outside, config=config)
    g.run(shorten, state, config=config)
    return state.parent


def _nearer(g: weft.Graph, came: Insertions) -> Array:
    """Return the end of each new edge that has fewer edges."""
    if g.directed:
        return came.src
    degree = g.topology.out_degree
    fewer = degree[came.src] <= degree[came.dst]
    return g.topology.xp.where(fewer, came.src, came.dst)
