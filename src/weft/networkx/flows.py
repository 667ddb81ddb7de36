"""Betweenness by weight, with ends of paths, and of edges between two sets.

One thread counts paths in NetworkX's order. Unweighted betweenness of nodes and of edges over all
targets are programs of weft (see `ranking` and `brandes`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from weft.networkx import kernels
from weft.networkx.equal_paths import weighted_rows
from weft.networkx.network import Network

Array = np.ndarray[Any, Any]


def path_flows(
    G: Network,
    sources: Array,
    weight: Any,
    targets: Array | None = None,
    ends: int = kernels.EVERYWHERE,
    endpoints: bool = False,
) -> tuple[Array, Array]:
    """Return the flow of shortest paths through each row, and along each entry of a simple graph.

    `targets` says where paths end, `ends` how they do (see the kernel).
    """
    if G.is_multigraph():
        raise NotImplementedError("flows along parallel edges are NetworkX's own")
    rows = weighted_rows(G, weight)
    through, along = np.zeros(G.size), np.zeros(rows.targets.size)
    mark = np.ones(G.size) if targets is None else targets
    sound = kernels.path_flows(
        rows.offsets, rows.targets, rows.sources, rows.weights, sources, mark,
        ends, endpoints, through, along,
    )  # fmt: skip
    if not sound or not np.isfinite(through).all():
        raise NotImplementedError("negative weights, or more paths than float64 can count")
    return through, along


def factors(
    G: Network, sampled: Array | None, normalized: bool, endpoints: bool, count: int
) -> Any:
    """Return NetworkX's factor for sums over sources, for that many values."""
    n = G.size if endpoints else G.size - 1
    if n < 2:
        return 1.0
    correction = 1 if G.is_directed() else 2
    starts = n if sampled is None else sampled.size
    if sampled is None or endpoints:
        return 1 / (starts * (n - 1)) if normalized else n / (starts * correction)
    share = 1 / (n - 1) if normalized else n / correction
    scale = np.full(count, share / starts)
    scale[sampled] = share / (starts - 1) if starts > 1 else math.nan
    return scale


def by_edge(G: Network, along: Array) -> dict[tuple[Any, Any], float]:
    """Return the flow along each edge, of an undirected one in both directions."""
    structure = G.structure
    total = np.bincount(structure.edge_of_entry, along, minlength=structure.num_edges)
    first = slice(None) if structure.first is None else structure.first
    ends = G.at(structure.sources[first]), G.at(structure.targets[first])
    return dict(zip(zip(*ends, strict=True), total.tolist(), strict=True))


def marked(G: Network, nodes: Iterable[Any]) -> Array:
    """Return 1 at some nodes and 0 at the others."""
    place = G.structure.place
    found = np.zeros(G.size)
    found[[place[node] for node in nodes if node in place]] = 1.0
    return found


def rows_of(G: Network, nodes: Iterable[Any]) -> Array:
    """Return the rows of sources."""
    try:
        return np.array([G.structure.place[node] for node in nodes], np.int64)
    except KeyError:
        raise NotImplementedError(
            "a source that is not there is an error of NetworkX's own"
        ) from None


def edge_betweenness_centrality_subset(
    G: Network,
    sources: Iterable[Any],
    targets: Iterable[Any],
    normalized: bool = False,
    weight: Any = None,
) -> dict[tuple[Any, Any], float]:
    """The share of shortest paths between two sets that run along each edge."""
    _, along = path_flows(G, rows_of(G, sources), weight, marked(G, targets), kernels.EVEN)
    n = G.size
    if n >= 2:
        along *= 1 / (n * (n - 1)) if normalized else 1.0 if G.is_directed() else 0.5
    return by_edge(G, along)
