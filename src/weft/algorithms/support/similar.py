"""Sums over the common neighbours of pairs of vertices."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

import weft
from weft.algorithms.support.carrier import carrier
from weft.algorithms.support.simple import simple
from weft.arrays.device import as_array, move
from weft.errors import GraphError

Array = np.ndarray[Any, Any]


class Pairs(NamedTuple):
    """Pairs of vertices, and for each the sum over common neighbours and both degrees."""

    total: Array
    first: Array
    second: Array


@functools.cache
def summing(kind: str) -> Any:
    """Return the vertex function that sums over the common neighbours of a pair."""

    def share(w: Any) -> Any:
        degree = weft.cast(weft.degree(w.id), np.float64)
        if kind == "log":
            return 1 / weft.log(degree)  # a common neighbour has two or more
        return 1 / degree if kind == "reciprocal" else weft.cast(1, np.float64)

    @weft.vertex
    def look(v: Any) -> None:
        v.total = weft.common(v.a, v.b, share, weft.sum)

    return look


def check_pairs(g: weft.Graph, pairs: Any) -> tuple[Array, Array]:
    """Return the two ends of each pair on the graph's device; those of all edges for None."""
    if pairs is None:
        return g.topology.edge_endpoints()
    if g.labels is not None:
        pairs = [g.vertex_of(list(pair)) for pair in pairs]
    given = as_array(pairs)
    if given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind not in "iu":
        raise GraphError(
            f"pairs have {given.dtype} of the shape {given.shape}. Expected two vertices in each "
            "row, or None for the ends of all edges."
        )
    if given.size and not 0 <= int(given.min()) <= int(given.max()) < g.num_vertices:
        bad = int(given.min()) if int(given.min()) < 0 else int(given.max())
        raise GraphError(
            f"pairs name the vertex {bad}, which does not exist. Expected 0 to "
            f"{g.num_vertices - 1}."
        )
    given = move(given, g.topology.device)
    return given[:, 0], given[:, 1]


def of_pairs(g: weft.Graph, pairs: Any, kind: str, config: weft.Config | None) -> Pairs:
    """Return sums over common neighbours: "count" of them, or of degrees "log" or "reciprocal"."""
    a, b = check_pairs(g, pairs)
    plain = simple(g)
    degree = plain.topology.out_degree.astype(np.float64)
    if not a.size:
        return Pairs(g.topology.xp.zeros(0), degree[:0], degree[:0])
    held = carrier(plain, a.size)
    state = held.state(
        a=weft.full(0, weft.vertex_id), b=weft.full(0, weft.vertex_id), total=weft.full(0.0)
    )
    state.a[: a.size], state.b[: a.size] = a, b
    held.run(summing(kind), state, g.topology.xp.arange(a.size), config=config)
    return Pairs(state.total[: a.size], degree[a], degree[b])


def ratio(total: Array, by: Array) -> Array:
    """Return a quotient, 0 where the divisor is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        found = total / by
    found[by == 0] = 0.0
    return found
