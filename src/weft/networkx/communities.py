"""Quality measures of partitions into communities."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from weft.networkx.degrees import in_degrees, out_degrees
from weft.networkx.network import Network

Array = np.ndarray[Any, Any]


def _labels(G: Network, communities: list[Any]) -> Array | None:
    """Return the community of each row; None unless each row is in exactly one."""
    label = np.full(G.size, -1, np.int64)
    place = G.structure.place
    members = 0
    for number, community in enumerate(communities):
        inside = [place[node] for node in set(community) if node in place]
        members += len(set(community))
        label[inside] = number
    return label if members == G.size and (label >= 0).all() else None


def modularity(
    G: Network, communities: Any, weight: Any = "weight", resolution: float = 1
) -> float:
    """The weight of edges within communities, less what degrees alone would give."""
    communities = communities if isinstance(communities, list) else list(communities)
    label = _labels(G, communities)
    if label is None:
        raise nx.community.quality.NotAPartition(G, communities)
    count, structure = len(communities), G.structure
    out = out_degrees(G, weight)
    into = in_degrees(G, weight) if G.is_directed() else out
    total = out.sum().item()
    if total == 0:
        raise ZeroDivisionError("division by zero")
    edges = total if G.is_directed() else total / 2
    weights = G.entry_weights(weight)
    if weights is None:
        weights = np.ones(structure.targets.size, np.int64)
    inside = label[structure.sources] == label[structure.targets]
    if structure.first is not None:
        inside &= structure.first
    within = np.bincount(label[structure.sources[inside]], weights[inside], minlength=count)
    sums = [np.bincount(label, side, minlength=count) for side in (out, into)]
    share = within / edges - resolution * sums[0] * sums[1] / total**2
    return float(sum(share.tolist()))


def _inside(G: Network, partition: Any) -> tuple[int, list[Any]]:
    """Return the number of edges within the blocks, and the blocks."""
    blocks = [set(block) for block in partition]
    label = _labels(G, blocks)
    if label is None:
        raise NotImplementedError("blocks that overlap or leave nodes out")
    structure = G.structure
    same = label[structure.sources] == label[structure.targets]
    if structure.first is not None:
        same &= structure.first
    return int(np.count_nonzero(same)), blocks


def intra_community_edges(G: Network, partition: Any) -> int:
    """Return the number of edges within a block."""
    return _inside(G, partition)[0]


def inter_community_edges(G: Network, partition: Any) -> int:
    """Return the number of edges between blocks."""
    if G.is_multigraph():
        raise NotImplementedError("parallel edges with equal keys are one to NetworkX")
    return G.number_of_edges() - _inside(G, partition)[0]


def partition_quality(G: Network, partition: Any) -> tuple[float, float]:
    """The share of edges within blocks, and of pairs that are as they should be."""
    inside, blocks = _inside(G, partition)
    edges = G.number_of_edges()
    coverage = inside / edges
    if G.is_multigraph():
        return coverage, -1.0
    sizes = np.array([len(block) for block in blocks])
    apart = int(sizes.sum() ** 2 - (sizes * sizes).sum()) // 2
    pairs = G.size * (G.size - 1)
    if G.is_directed():
        apart *= 2
    else:
        pairs //= 2
    return coverage, (inside + apart - (edges - inside)) / pairs
