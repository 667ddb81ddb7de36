"""Lookups around vertices: neighbours, edges between two vertices, samples of neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from weft.arrays.checks import check_integer
from weft.arrays.device import move, to_host
from weft.errors import GraphError, listed, shortened
from weft.graph.labels import Labels, vertex_numbers
from weft.topology.adjacency import Adjacency, Array
from weft.topology.topology import Direction, Topology

if TYPE_CHECKING:
    from weft.graph.graph import Graph

_NO_NEIGHBOR: Final = -1


def neighbors(g: Graph, vertex: Any, direction: str) -> Array:
    """Return the neighbours of one vertex, a new array; see `Graph.neighbors`."""
    topology = g._topology
    number = _one(g._labels, topology.num_vertices, vertex)
    with topology.device.current():
        if direction == "both" and topology.directed:
            xp = topology.xp
            found = [_neighbors(topology, number, side) for side in ("out", "in")]
            return xp.sort(xp.concatenate(found))
        return _neighbors(topology, number, _sides(topology, direction)[0])


def has_edge(g: Graph, sources: Any, targets: Any) -> Any:
    """Return whether edges exist, for one pair of vertices or for many; see `Graph.has_edge`."""
    topology, xp = g._topology, g._topology.xp
    n = topology.num_vertices
    ends = [np.asarray(to_host(vertex_numbers(g._labels, n, x))) for x in (sources, targets)]
    try:
        first, second = np.broadcast_arrays(*ends)
    except ValueError:
        raise GraphError(
            f"sources has {ends[0].size} vertices, but targets has {ends[1].size}. Expected as "
            "many, or one of either."
        ) from None
    stored = topology.primary_direction
    row, column = (first, second) if stored == "out" else (second, first)
    with topology.device.current():
        found = _searched(
            topology.adjacency(stored), move(row.ravel(), topology.device),
            move(column.ravel(), topology.device), xp,
        )  # fmt: skip
    return bool(found[0]) if not first.ndim else found.reshape(first.shape)


def degrees(topology: Topology) -> Array:
    """Return the number of edges at every vertex."""
    if not topology.directed:
        return topology.out_degree
    with topology.device.current():
        return topology.out_degree + topology.in_degree


def sample(g: Graph, vertices: Any, k: Any, replace: bool, seed: Any, direction: str) -> Array:
    """Return random neighbours of vertices, a row for each; see `Graph.sample_neighbors`."""
    topology, xp = g._topology, g._topology.xp
    k, seed = check_integer("k", k, 1), check_integer("seed", seed, 0)
    if direction not in ("out", "in"):
        raise GraphError(f"direction={direction!r} is not known. Expected 'out' or 'in'.")
    numbers = vertex_numbers(g._labels, topology.num_vertices, _as_list(vertices))
    rows = np.atleast_1d(to_host(numbers)).astype(np.int64)
    arcs = topology.adjacency("out" if direction == "out" else "in")
    with topology.device.current():
        places = move(rows, topology.device)
        begin = arcs.offsets[places].astype(np.int64)
        degree = arcs.offsets[places + 1].astype(np.int64) - begin
        rng = np.random.default_rng(seed)
        count = to_host(degree)
        chosen = _with_repeats(rng, count, k) if replace else _distinct(rng, count, k)
        picks = move(chosen, topology.device)
        slots = xp.where(picks < 0, 0, picks + begin[:, None])
        if not arcs.targets.size:
            return xp.full(picks.shape, _NO_NEIGHBOR, topology.index_dtype)
        return xp.where(picks < 0, topology.index_dtype.type(_NO_NEIGHBOR), arcs.targets[slots])


def _with_repeats(rng: np.random.Generator, count: Array, k: int) -> Array:
    """Return k positions below each count, drawn independently; -1 where the count is 0."""
    drawn = (rng.random((count.size, k)) * count[:, None]).astype(np.int64)
    return np.where(count[:, None] > 0, drawn, _NO_NEIGHBOR)


def _distinct(rng: np.random.Generator, count: Array, k: int) -> Array:
    """Return k different positions below each count; all positions and -1s if there are fewer.

    Every set of k positions is as likely: R. Floyd's rule draws t below j + 1 for j from count - k
    on, and takes j itself if t is already taken.
    """
    result = np.broadcast_to(np.arange(k), (count.size, k)).copy()
    few = count <= k
    result[few] = np.where(result[few] < count[few, None], result[few], _NO_NEIGHBOR)
    many = np.flatnonzero(~few)
    if not many.size:
        return result
    held = np.full((many.size, k), _NO_NEIGHBOR)
    for step in range(k):
        last = count[many] - k + step
        drawn = (rng.random(many.size) * (last + 1)).astype(np.int64)
        taken = (held[:, :step] == drawn[:, None]).any(axis=1)
        held[:, step] = np.where(taken, last, drawn)
    result[many] = held
    return result


def _neighbors(topology: Topology, number: int, side: Direction) -> Array:
    """Return the neighbours of a vertex on one side, from whichever direction is stored."""
    if topology.keep in ("both", side):
        arcs = topology.adjacency(side)
        begin, end = (int(x) for x in arcs.offsets[number : number + 2])
        found: Array = arcs.targets[begin:end].copy()
        return found
    stored = topology.primary_direction
    with_it = topology.adjacency(stored).targets == number
    return topology.owners(stored)[with_it].astype(topology.index_dtype)


def _searched(arcs: Adjacency, row: Array, column: Array, xp: Any) -> Array:
    """Return whether the sorted rows hold the columns, by one binary search for all of them."""
    low = arcs.offsets[row].astype(np.int64)
    end = arcs.offsets[row + 1].astype(np.int64)
    high, last = end.copy(), max(int(arcs.targets.size) - 1, 0)
    if not arcs.targets.size:
        return xp.zeros(row.size, np.bool_)
    for _ in range(int((end - low).max()).bit_length() if row.size else 0):
        middle = (low + high) // 2
        below = (arcs.targets[xp.minimum(middle, last)] < column) & (low < high)
        low, high = xp.where(below, middle + 1, low), xp.where(below, high, middle)
    return (low < end) & (arcs.targets[xp.minimum(low, last)] == column)


def _one(labels: Labels | None, n: int, vertex: Any) -> int:
    number = vertex_numbers(labels, n, vertex)
    if np.ndim(number):
        raise GraphError(
            f"{shortened(vertex)} is not one vertex. Expected a vertex number or a label; for many "
            "vertices use g.subgraph, g.sample_neighbors or a program."
        )
    return int(number)


def _sides(topology: Topology, direction: str) -> tuple[Direction, ...]:
    sides: dict[str, tuple[Direction, ...]] = {
        "out": ("out",), "in": ("in",), "both": ("out", "in")
    }  # fmt: skip
    if direction not in sides:
        raise GraphError(f"direction={direction!r} is not known. Expected one of {listed(sides)}.")
    return sides[direction]


def _as_list(vertices: Any) -> Any:
    plain = isinstance(vertices, tuple | set | frozenset | range)
    return list(vertices) if plain or hasattr(vertices, "is_all") else vertices
