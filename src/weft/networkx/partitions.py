"""Communities: Louvain's and Leiden's methods, and label propagation.

Louvain's method takes vertices one after another, so one thread does it as NetworkX does, with its
order, ties and random numbers. NetworkX has no Leiden of its own: it is `weft.leiden`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from weft.algorithms.louvain import connected_parts, leiden_levels
from weft.arrays.device import to_host
from weft.errors import WeftError
from weft.networkx import kernels
from weft.networkx.arguments import refuse
from weft.networkx.greedy import greedy_color
from weft.networkx.insertion import add_edges
from weft.networkx.network import Network

Array = np.ndarray[Any, Any]
Partition = list[set[Any]]


class Edges(NamedTuple):
    """Edges in NetworkX's order of iteration, with one weight for each pair of vertices."""

    tails: Array
    heads: Array
    weights: Array
    order: int
    directed: bool


def _added(edges: Edges) -> tuple[Edges, Array, Array, Array]:
    """Return the contents of a graph after adding edges: its edges, and rows without self-loops.

    The weights of equal pairs are summed. The rows of a directed graph have the entries that leave
    a vertex, then those that enter it.
    """
    added = add_edges(edges.tails, edges.heads, edges.order, edges.directed)
    weights = np.bincount(added.number, edges.weights, minlength=added.tails.size)
    rows, targets, values = added.sources, added.targets, weights[added.edges]
    if edges.directed:
        rows, targets = np.append(rows, added.heads), np.append(targets, added.tails)
        values = np.append(values, weights)
        by_row = np.argsort(rows, kind="stable")
        rows, targets, values = rows[by_row], targets[by_row], values[by_row]
    proper = rows != targets
    offsets = np.append(0, np.cumsum(np.bincount(rows[proper], minlength=edges.order)))
    listed = added.listed
    tails, heads = (added.tails, added.heads)
    if not edges.directed:  # from the end that NetworkX comes to first
        tails, heads = np.minimum(tails, heads), np.maximum(tails, heads)
    held = Edges(tails[listed], heads[listed], weights[listed], edges.order, edges.directed)
    return held, offsets, targets[proper], values[proper]


def _begun(G: Network, weight: Any) -> Edges:
    """Return the edges of a graph in the order in which NetworkX lists them."""
    structure = G.structure
    first = slice(None) if structure.first is None else structure.first
    us = structure.sources[first].astype(np.int64)
    values = G.weights(weight)
    weights = np.ones(us.size) if values is None else values.astype(np.float64)
    return Edges(us, structure.targets[first].astype(np.int64), weights, G.size, G.is_directed())


def _sides(edges: Edges) -> Array:
    """Return the weighted degrees, of a directed graph the outgoing and the incoming ones."""
    sums = [
        np.bincount(ends, edges.weights, minlength=edges.order)
        for ends in (edges.tails, edges.heads)
    ]
    return np.stack(sums if edges.directed else [sums[0] + sums[1]])


def _quality(edges: Edges, label: Array, resolution: float) -> float:
    """Return the modularity of a partition."""
    sides = _sides(edges)
    total = sides[0].sum().item()
    if total == 0:
        raise ZeroDivisionError("division by zero")
    inside = label[edges.tails] == label[edges.heads]
    within = edges.weights[inside].sum().item() / (total if edges.directed else total / 2)
    sums = [np.bincount(label, side) for side in (sides[0], sides[-1])]
    return within - resolution * (sums[0] * sums[1]).sum().item() / total**2


def _louvain(G: Network, weight: Any, resolution: float, threshold: float, seed: Any) -> Any:
    """Yield the community of each row, level by level; NetworkX numbers them so too."""
    member = np.arange(G.size)
    if not G.number_of_edges():
        yield member
        return
    edges = _begun(G, weight)
    quality = _quality(edges, member, resolution)
    size = _sides(edges).sum().item() / 2
    first = True
    while True:
        edges, *rows = _added(edges)
        order = list(range(edges.order))
        seed.shuffle(order)
        community = np.arange(edges.order)
        improved = kernels.move_all(
            *rows, _sides(edges), size, float(resolution), np.array(order), community
        )  # fmt: skip
        if not (improved or first):
            return
        first = False
        _, community = np.unique(community, return_inverse=True)
        member = community[member]
        yield member
        better = _quality(edges, community, resolution)
        if better - quality <= threshold:
            return
        quality = better
        edges = Edges(
            community[edges.tails], community[edges.heads], edges.weights,
            int(community.max()) + 1, edges.directed,
        )  # fmt: skip


def _sets(G: Network, label: Array) -> Partition:
    """Return the nodes of each label, in the order of the labels."""
    found: Partition = [set() for _ in range(int(label.max()) + 1 if label.size else 0)]
    for node, number in zip(G.nodes, label.tolist(), strict=True):
        found[number].add(node)
    return found


def louvain_partitions(
    G: Network,
    weight: Any = "weight",
    resolution: float = 1,
    threshold: float = 0.0000001,
    seed: Any = None,
) -> Iterator[Partition]:
    """The partition at each level of Louvain's method."""
    return (_sets(G, label) for label in _louvain(G, weight, resolution, threshold, seed))


def louvain_communities(
    G: Network,
    weight: Any = "weight",
    resolution: float = 1,
    threshold: float = 0.0000001,
    max_level: Any = None,
    seed: Any = None,
) -> Partition:
    """The partition at the last level of Louvain's method."""
    return _sets(G, _last(_louvain(G, weight, resolution, threshold, seed), max_level))


def _last(levels: Iterator[Array], max_level: Any) -> Array:
    if max_level is not None:
        if max_level <= 0:
            raise ValueError("max_level argument must be a positive integer or None")
        levels = islice(levels, max_level)
    return deque(levels, maxlen=1).pop()


def _leiden(G: Network, weight: Any, resolution: float, seed: Any) -> Iterator[Array]:
    """Yield the community of each row, level by level, numbered by first rows."""
    refuse(G, directed=True)
    g, weighted = G.graph(weight), G.weights(weight) is not None
    try:
        for label in leiden_levels(g, resolution, weighted=weighted, seed=_dice(seed)):
            yield _by_first(to_host(connected_parts(g, label)))
    except WeftError as error:
        raise NotImplementedError(str(error)) from error


def _by_first(label: Array) -> Array:
    _, first, number = np.unique(label, return_index=True, return_inverse=True)
    rank = np.empty(first.size, np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    return rank[number]


def leiden_partitions(
    G: Network, weight: Any = "weight", resolution: float = 1, seed: Any = None
) -> Iterator[Partition]:
    """The partition at each level of Leiden's method; every community is connected."""
    return (_sets(G, label) for label in _leiden(G, weight, resolution, seed))


def leiden_communities(
    G: Network,
    weight: Any = "weight",
    resolution: float = 1,
    max_level: Any = None,
    seed: Any = None,
) -> Partition:
    """The partition at the last level of Leiden's method."""
    return _sets(G, _last(_leiden(G, weight, resolution, seed), max_level))


def label_propagation_communities(G: Network) -> Any:
    """Labels that spread colour by colour, until each is a most frequent one around its node."""
    refuse(G, directed=True)
    color = greedy_color(G)
    order = np.argsort([color[node] for node in G.nodes], kind="stable").astype(np.int64)
    offsets, targets = G.structure.neighbors
    label = np.arange(G.size)
    while kernels.spread_in_turn(offsets, targets, np.ones(targets.size), order, -1, label):
        pass
    return dict(enumerate(_sets(G, _by_first(label)))).values()


def _positive(G: Network, weight: Any) -> Array:
    weights = G.entry_weights(weight)
    if weights is None:
        return np.ones(G.structure.targets.size)
    if weights.size and weights.min() <= 0:
        raise NotImplementedError("labels of no or negative weight are counted by NetworkX")
    return weights.astype(np.float64)


def asyn_lpa_communities(G: Network, weight: Any = None, seed: Any = None) -> Iterator[set[Any]]:
    """Labels that spread node by node in random order."""
    structure = G.structure
    rows = structure.neighbors if weight is None else (structure.offsets, structure.targets)
    weights = np.ones(rows[1].size) if weight is None else _positive(G, weight)

    def spread(label: Array) -> None:
        while kernels.spread_in_turn(*rows, weights, _shuffled(G, seed), _dice(seed), label):
            pass

    return _spread(G, spread)


def fast_label_propagation_communities(
    G: Network, *, weight: Any = None, seed: Any = None
) -> Iterator[set[Any]]:
    """Labels that spread from a queue, which nodes enter when a neighbour has changed."""
    structure, weights = G.structure, _positive(G, weight)
    offsets, targets = structure.offsets, structure.targets
    if structure.directed:
        starts, sources, entries = structure.turned
        rows = np.concatenate([structure.sources, np.repeat(np.arange(G.size), np.diff(starts))])
        order = np.argsort(rows, kind="stable")
        targets = np.concatenate([targets, sources])[order]
        weights = np.concatenate([weights, weights[entries]])[order]
        offsets = offsets + starts

    def spread(label: Array) -> None:
        kernels.spread_by_queue(
            offsets, targets, weights, _shuffled(G, seed), _dice(seed), label
        )  # fmt: skip

    return _spread(G, spread)


def _shuffled(G: Network, seed: Any) -> Array:
    order = list(range(G.size))
    seed.shuffle(order)
    return np.array(order, np.int64)


def _dice(seed: Any) -> int:
    return int(seed.getrandbits(31))


def _spread(G: Network, spread: Callable[[Array], None]) -> Iterator[set[Any]]:
    label = np.arange(G.size)
    if G.size:
        spread(label)
    yield from _sets(G, _by_first(label))
