"""Shared by community algorithms: vertex weights, labels, graphs of communities."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import weft
from weft.algorithms.support.weights import check_weights
from weft.arrays.device import as_array, module_of, move
from weft.arrays.reduce import count_true
from weft.errors import GraphError
from weft.ir.ops import FLOAT64
from weft.topology.adjacency_gpu import greatest_of_keys, sums_of_keys

Array = np.ndarray[Any, Any]


def weighted_copy(g: weft.Graph, weighted: bool, what: str) -> weft.Graph:
    """Return an undirected graph with one float64 weight for every pair of adjacent vertices."""
    src, dst = g.topology.edge_endpoints()
    if check_weights(g, weighted, what):
        weight = g.edge.storage("weight").astype(np.float64)
    else:
        weight = None
    return joined(g, src, dst, weight, g.num_vertices)


def joined(g: weft.Graph, src: Array, dst: Array, weight: Array | None, count: int) -> weft.Graph:
    """Return an undirected graph of these edges, with the weights of parallel ones summed.

    Without weights every edge has the weight 1, and parallel ones are counted.
    """
    whole = weft.Graph.from_edges(
        src, dst, weight, num_vertices=count, directed=False, duplicates="sum",
        device=g.topology.device,
    )  # fmt: skip
    if weight is None:
        whole.edge.adopt("weight", whole.edge.storage("weight").astype(np.float64))
    return whole


def contracted(g: weft.Graph, weighted: bool, label: Array, count: int) -> weft.Graph:
    """Return the graph of the communities 0 to count - 1; edges inside become self-loops."""
    src, dst = g.topology.edge_endpoints()
    weight = g.edge.storage("weight").astype(np.float64, copy=False) if weighted else None
    return joined(g, label[src], label[dst], weight, count)


def weight_of(e: Any, weighted: bool) -> Any:
    """Return the weight of an edge in a traced function: 1 if weights are not used."""
    return weft.cast(e.weight, FLOAT64) if weighted else 1.0


@functools.cache
def _add_up(weighted: bool) -> Any:
    @weft.vertex
    def add_up(v: Any) -> None:
        v.strength = v.gather(
            lambda u, e: weight_of(e, weighted) * weft.where(u.id == v.id, 2.0, 1.0), weft.sum
        )

    return add_up


def strengths(g: weft.Graph, weighted: bool, config: weft.Config | None = None) -> Array:
    """Return the total weight at every vertex of an undirected graph.

    The weight of a self-loop counts twice.
    """
    state = g.state(strength=weft.full(0.0))
    g.run(_add_up(weighted), state, config=config)
    return state.strength


def sums_of(number: Array, values: Array, count: int) -> Array:
    """Return the sum of the values of each group number, as float64 even if empty."""
    return sums_of_keys(number, values, count).astype(np.float64, copy=False)


def numbered(label: Array) -> tuple[Array, int]:
    """Return labels from 0 to n - 1 as consecutive numbers in the same order, and their count."""
    xp = module_of(label)
    used = xp.zeros(label.size, bool)
    used[label] = True
    number = xp.cumsum(used, dtype=label.dtype) - 1
    return number[label], count_true(used)


def first_members(number: Array, count: int) -> Array:
    """Return the smallest vertex of each group 0 to count - 1; groups must not be empty."""
    xp = module_of(number)
    if xp is np:
        first = np.empty(count, number.dtype)
        first[number[::-1]] = np.arange(number.size, dtype=number.dtype)[::-1]  # the last one wins
        return first
    behind = number.size - xp.arange(number.size, dtype=np.uint64)
    return (number.size - greatest_of_keys(number, behind, count)).astype(number.dtype)


def check_labels(g: weft.Graph, labels: Any) -> tuple[Array, int]:
    """Return a partition given by any integers as consecutive numbers, and their count."""
    given = move(as_array(labels), g.topology.device)
    if given.shape != (g.num_vertices,) or given.dtype.kind not in "iub":
        raise GraphError(
            f"labels have {given.dtype} of the shape {given.shape}. Expected one integer for each "
            f"of the {g.num_vertices} vertices."
        )
    names, number = g.topology.xp.unique(given, return_inverse=True)
    return number.reshape(given.shape), int(names.size)
