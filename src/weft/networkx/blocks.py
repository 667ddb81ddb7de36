"""Biconnected components, articulation points and bridges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from weft.networkx import kernels
from weft.networkx.network import Network
from weft.networkx.searches import hops

Array = np.ndarray[Any, Any]


class Blocks(NamedTuple):
    """Ends of the edges of one component after another, where each ends, and what cuts them."""

    tails: Array
    heads: Array
    ends: list[int]
    cuts: Array


def _blocks(G: Network) -> Blocks:
    offsets, targets = G.structure.neighbors
    room, size = targets.size, G.size
    tails, heads = np.empty(room, np.int64), np.empty(room, np.int64)
    ends, cuts = np.empty(size, np.int64), np.empty(2 * size, np.int64)
    edges, count, apart = kernels.biconnected(offsets, targets, tails, heads, ends, cuts)
    return Blocks(tails[:edges], heads[:edges], ends[:count].tolist(), cuts[:apart])


def biconnected_component_edges(G: Network) -> Iterator[list[tuple[Any, Any]]]:
    """Lists of edges, in the order of a depth-first search."""
    blocks = _blocks(G)
    edges = list(zip(G.at(blocks.tails), G.at(blocks.heads), strict=True))
    begin = 0
    for end in blocks.ends:
        yield edges[begin:end]
        begin = end


def biconnected_components(G: Network) -> Iterator[set[Any]]:
    """Sets of nodes that no single node separates."""
    blocks = _blocks(G)
    tails, heads = G.at(blocks.tails), G.at(blocks.heads)
    begin = 0
    for end in blocks.ends:
        yield {*tails[begin:end], *heads[begin:end]}
        begin = end


def articulation_points(G: Network) -> Iterator[Any]:
    """Nodes whose removal separates others."""
    yield from dict.fromkeys(G.at(_blocks(G).cuts))


def is_biconnected(G: Network) -> bool:
    """Whether no single node separates any two."""
    blocks = _blocks(G)
    if len(blocks.ends) != 1:
        return False
    return np.union1d(blocks.tails, blocks.heads).size == G.size


def _bridges(G: Network, root: Any) -> tuple[Array, Array]:
    """Return the rows of both ends of each bridge, in the order of the edges."""
    structure, blocks = G.structure, _blocks(G)
    proper = blocks.tails != blocks.heads
    counts = np.add.reduceat(proper, np.array([0, *blocks.ends[:-1]])) if blocks.ends else proper
    alone = np.repeat(counts == 1, np.diff(np.array([0, *blocks.ends]))) & proper
    low = np.minimum(blocks.tails[alone], blocks.heads[alone])
    high = np.maximum(blocks.tails[alone], blocks.heads[alone])
    first = structure.first
    us, vs = structure.sources[first], structure.targets[first]
    key = us.astype(np.int64) * G.size + vs
    keep = np.isin(key, low * G.size + high)
    if structure.multigraph:
        values, number = np.unique(key, return_counts=True)
        keep &= np.isin(key, values[number == 1])
    if root is not None:
        reached = hops(G, [structure.place[root]]).parent >= 0
        keep &= reached[us]
    return us[keep], vs[keep]


def bridges(G: Network, root: Any = None) -> Iterator[tuple[Any, Any]]:
    """Edges whose removal separates their ends."""
    _check_root(G, root)
    return _found(G, root)


def _found(G: Network, root: Any) -> Iterator[tuple[Any, Any]]:
    us, vs = _bridges(G, root)
    yield from zip(G.at(us), G.at(vs), strict=True)


def has_bridges(G: Network, root: Any = None) -> bool:
    """Whether there is such an edge."""
    _check_root(G, root)
    return _bridges(G, root)[0].size > 0


def _check_root(G: Network, root: Any) -> None:
    if root is not None and root not in G:
        raise NotImplementedError("a root that is not there is an error of NetworkX's search")
