"""Link prediction: scores of pairs by the neighbours that they share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final

import networkx as nx
import numpy as np

from weft.networkx import kernels
from weft.networkx.degrees import degrees
from weft.networkx.network import Network, read_node_values
from weft.networkx.paths import single_source_shortest_path_length

Array = np.ndarray[Any, Any]
Pairs = Iterator[tuple[Any, Any, Any]]

_CHUNK: Final = 1 << 14  # pairs that are scored at a time


def shared(G: Network, us: Array, vs: Array, value: Array, group: Array | None = None) -> Array:
    """Return the sum of a value over the common neighbours of each pair.

    With groups, only over those in the group of both.
    """
    offsets, targets = G.structure.sorted_neighbors
    labels = np.empty(0, np.int64) if group is None else group
    return kernels.shared_sums(offsets, targets, us, vs, value, labels)


def _scored(G: Network, ebunch: Any, score: Callable[[Array, Array], Array]) -> Pairs:
    """Yield pairs with their scores; without a bunch all pairs that are not adjacent."""
    if ebunch is None:
        return _in_chunks(G, _non_edges(G), score)
    pairs = list(ebunch)
    for pair in pairs:
        u, v = pair
        for node in (u, v):
            if node not in G:
                raise nx.NodeNotFound(f"Node {node} not in G.")
    return _in_chunks(G, iter(pairs), score)


def _in_chunks(G: Network, pairs: Iterator[Any], score: Callable[[Array, Array], Array]) -> Pairs:
    place = G.structure.place
    while chunk := list(islice(pairs, _CHUNK)):
        us = np.array([place[u] for u, _ in chunk])
        vs = np.array([place[v] for _, v in chunk])
        for (u, v), value in zip(chunk, score(us, vs).tolist(), strict=True):
            yield u, v, value


def _non_edges(G: Network) -> Iterator[tuple[Any, Any]]:
    """Yield pairs that are not adjacent, in the order of `nx.non_edges`."""
    structure, nodes = G.structure, set(G.nodes)
    while nodes:
        u = nodes.pop()
        row = structure.place[u]
        begin, end = structure.offsets[row], structure.offsets[row + 1]
        for v in nodes - set(G.at(structure.targets[begin:end])):
            yield u, v


def jaccard_coefficient(G: Network, ebunch: Any = None) -> Pairs:
    """Common neighbours by all neighbours."""
    ones, loops = np.ones(G.size), _loops(G)
    lengths = np.diff(G.structure.sorted_neighbors[0])

    def score(us: Array, vs: Array) -> Array:
        common = shared(G, us, vs, ones)
        # NetworkX leaves u and v out of the intersection alone.
        offsets, targets = G.structure.sorted_neighbors
        touching = kernels.adjacent(offsets, targets, us, vs)
        same = us == vs
        both = common + np.where(touching, loops[us] + loops[vs], 0)
        union = np.where(
            same, lengths[us] + loops[us], lengths[us] + loops[us] + lengths[vs] + loops[vs] - both
        )
        values = np.zeros(us.size, object)
        some = union > 0
        values[some] = (common[some] / union[some]).tolist()
        return values

    return _scored(G, ebunch, score)


def _loops(G: Network) -> Array:
    structure = G.structure
    own = structure.targets[structure.sources == structure.targets]
    return np.bincount(own, minlength=G.size)


def resource_allocation_index(G: Network, ebunch: Any = None) -> Pairs:
    """Inverse degrees of the common neighbours."""
    value = _inverse(degrees(G))
    return _scored(G, ebunch, lambda us, vs: _zero_as_integer(shared(G, us, vs, value)))


def adamic_adar_index(G: Network, ebunch: Any = None) -> Pairs:
    """Inverse logarithms of the degrees of the common neighbours."""
    degree = np.maximum(degrees(G), 1)
    value = _inverse(np.log(degree))
    return _scored(G, ebunch, lambda us, vs: _zero_as_integer(shared(G, us, vs, value)))


def _inverse(values: Array) -> Array:
    with np.errstate(divide="ignore"):
        return 1 / values.astype(np.float64)


def _zero_as_integer(values: Array) -> Array:
    """Return an empty sum as Python's, which is the integer 0."""
    exact = values.astype(object)
    exact[values == 0] = 0
    return exact


def preferential_attachment(G: Network, ebunch: Any = None) -> Pairs:
    """The product of the degrees."""
    degree = degrees(G)
    return _scored(G, ebunch, lambda us, vs: degree[us] * degree[vs])


def common_neighbor_centrality(G: Network, ebunch: Any = None, alpha: Any = 0.8) -> Pairs:
    """Common neighbours and inverse distance, weighed against each other."""
    ones = np.ones(G.size)

    def score(us: Array, vs: Array) -> Array:
        if (us == vs).any():
            raise nx.NetworkXAlgorithmError("Self loops are not supported")
        common = shared(G, us, vs, ones).astype(np.int64)
        if alpha == 1:
            return common
        distance = np.full(us.size, np.inf)
        for u in np.unique(us).tolist():
            found = single_source_shortest_path_length(G, G.nodes[u])
            for i in np.flatnonzero(us == u).tolist():
                distance[i] = found.get(G.nodes[vs[i]], np.inf)
        return alpha * common + (1 - alpha) * G.size / distance

    return _scored(G, ebunch, score)


def _groups(G: Network, community: Any) -> Array:
    """Return a number for the community of each row."""
    names = read_node_values(G.origin, community)
    if any(name is None for name in names):
        raise NotImplementedError("a node without community is an error of its pairs alone")
    try:
        number = {name: i for i, name in enumerate(dict.fromkeys(names))}
    except TypeError:
        raise NotImplementedError("communities that cannot be hashed") from None
    return np.array([number[name] for name in names], np.int64)


def cn_soundarajan_hopcroft(G: Network, ebunch: Any = None, community: Any = "community") -> Pairs:
    """Common neighbours, those of the same community twice."""
    group, ones = _groups(G, community), np.ones(G.size)

    def score(us: Array, vs: Array) -> Array:
        return (shared(G, us, vs, ones) + shared(G, us, vs, ones, group)).astype(np.int64)

    return _scored(G, ebunch, score)


def ra_index_soundarajan_hopcroft(
    G: Network, ebunch: Any = None, community: Any = "community"
) -> Pairs:
    """Inverse degrees of the common neighbours in the community of both."""
    group, value = _groups(G, community), _inverse(degrees(G))
    return _scored(G, ebunch, lambda us, vs: _zero_as_integer(shared(G, us, vs, value, group)))


def within_inter_cluster(
    G: Network, ebunch: Any = None, delta: Any = 0.001, community: Any = "community"
) -> Pairs:
    """Common neighbours inside the community of both by those outside."""
    if delta <= 0:
        raise nx.NetworkXAlgorithmError("Delta must be greater than zero")
    group, ones = _groups(G, community), np.ones(G.size)

    def score(us: Array, vs: Array) -> Array:
        within = shared(G, us, vs, ones, group)
        ratio = within / (shared(G, us, vs, ones) - within + delta)
        return np.where(group[us] == group[vs], ratio, 0)

    return _scored(G, ebunch, score)
