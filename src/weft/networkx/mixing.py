"""Correlations of the degrees of neighbours."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import networkx as nx
import numpy as np

from weft.networkx.arguments import bunch
from weft.networkx.degrees import degrees, in_degrees, out_degrees
from weft.networkx.network import Network

Array = np.ndarray[Any, Any]


def _degrees(G: Network, side: str, weight: Any = None) -> Array:
    if not G.is_directed() or side == "in+out":
        return degrees(G, weight)
    return in_degrees(G, weight) if side == "in" else out_degrees(G, weight)


def _simple(G: Network) -> None:
    if G.is_multigraph():
        raise NotImplementedError("parallel edges are NetworkX's own here")


def _gathered(G: Network, values: Array, along: str, weight: Any) -> Array:
    """Return the weighted sum of a value over the neighbours in a direction."""
    structure = G.structure
    ends = structure.sources, structure.targets
    near, far = ends if along == "out" else ends[::-1]
    weights = G.entry_weights(weight)
    found = values[far] if weights is None else values[far] * weights
    if found.dtype.kind == "f":
        return np.bincount(near, found, minlength=G.size)
    total = np.zeros(G.size, np.int64)
    np.add.at(total, near, found)
    return total


def average_neighbor_degree(
    G: Network,
    source: str = "out",
    target: str = "out",
    nodes: Any = None,
    weight: Any = None,
) -> dict[Any, float]:
    """The mean degree of the neighbours of each node."""
    if G.is_directed():
        for name, side in (("source", source), ("target", target)):
            if side not in ("in", "out", "in+out"):
                raise nx.NetworkXError(f"{name} argument {side} must be 'in', 'out' or 'in+out'")
    elif source != "out" or target != "out":
        raise nx.NetworkXError("source and target arguments are only supported for directed graphs")
    _simple(G)
    degree = _degrees(G, target)
    sides = source.split("+") if G.is_directed() else ["out"]
    total: Any = sum(_gathered(G, degree, side, weight) for side in sides)
    norm, total = _degrees(G, source, weight).tolist(), total.tolist()
    place = G.structure.place
    rows = {node: place[node] for node in bunch(G, nodes)}
    return {node: total[r] / norm[r] if norm[r] else 0.0 for node, r in rows.items()}


def average_degree_connectivity(
    G: Network,
    source: str = "in+out",
    target: str = "in+out",
    nodes: Any = None,
    weight: Any = None,
) -> dict[Any, float]:
    """The mean degree of the neighbours of the nodes of each degree."""
    if G.is_directed():
        for name, side in (("source", source), ("target", target)):
            if side not in ("in", "out", "in+out"):
                raise nx.NetworkXError(f'{name} must be one of "in", "out", or "in+out"')
    elif source != "in+out" or target != "in+out":
        raise nx.NetworkXError("source and target arguments are only supported for directed graphs")
    _simple(G)
    along = "in" if source == "in" and G.is_directed() else "out"
    total = _gathered(G, _degrees(G, target), along, weight).tolist()
    key, norm = _degrees(G, source).tolist(), _degrees(G, source, weight).tolist()
    place = G.structure.place
    sums: dict[int, Any] = {}
    norms: dict[int, Any] = {}
    for node in bunch(G, nodes):
        row = place[node]
        sums[key[row]] = sums.get(key[row], 0) + total[row]
        norms[key[row]] = norms.get(key[row], 0) + norm[row]
    return {k: value if norms[k] == 0 else value / norms[k] for k, value in sums.items()}


def _pairs(G: Network, x: str, y: str, weight: Any, nodes: Any) -> tuple[Array, Array]:
    """Return the degrees at both ends of every entry."""
    if nodes is not None:
        raise NotImplementedError("degrees of some nodes alone")
    structure = G.structure
    if G.is_directed() and (x not in ("in", "out") or y not in ("in", "out")):
        raise KeyError(x if x not in ("in", "out") else y)
    if G.is_multigraph():
        raise NotImplementedError("parallel edges are NetworkX's own here")
    near, far = _degrees(G, x, weight), _degrees(G, y, weight)
    return near[structure.sources], far[structure.targets]


def degree_pearson_correlation_coefficient(
    G: Network, x: str = "out", y: str = "in", weight: Any = None, nodes: Any = None
) -> float:
    """The correlation of the degrees at both ends of an edge."""
    from scipy.stats import pearsonr

    near, far = _pairs(G, x, y, weight, nodes)
    return float(pearsonr(near, far)[0])


def degree_assortativity_coefficient(
    G: Network, x: str = "out", y: str = "in", weight: Any = None, nodes: Any = None
) -> float:
    """The same correlation, by sums over the pairs of degrees."""
    near, far = (side.astype(np.float64) for side in _pairs(G, x, y, weight, nodes))
    if not near.size:
        raise NotImplementedError("a graph without edges warns in NetworkX")
    a, b = near - near.mean(), far - far.mean()
    spread = np.sqrt((a * a).mean() * (b * b).mean())
    if spread == 0:
        raise NotImplementedError("equal degrees warn in NetworkX")
    return float((a * b).mean() / spread)


def s_metric(G: Network) -> float:
    """The sum of the products of degrees over the edges."""
    structure, degree = G.structure, degrees(G)
    first = slice(None) if structure.first is None else structure.first
    ends = degree[structure.sources[first]], degree[structure.targets[first]]
    return float((ends[0] * ends[1]).sum())


def rich_club_coefficient(
    G: Network, normalized: bool = True, Q: Any = 100, seed: Any = None
) -> dict[int, float]:
    """Return the fraction of possible edges that exist among the nodes above each degree."""
    if normalized:
        raise NotImplementedError("the random graph of comparison is NetworkX's own")
    if G.structure.num_loops:
        raise Exception("rich_club_coefficient is not implemented for graphs with self loops.")
    if not G.number_of_edges():
        return {}
    structure, degree = G.structure, degrees(G)
    first = structure.first
    least = np.minimum(degree[structure.sources[first]], degree[structure.targets[first]])
    inside = np.bincount(least, minlength=int(degree.max()) + 1)
    edges = G.number_of_edges() - np.cumsum(inside)
    counts = np.bincount(degree).tolist()
    found = {}
    for d, below in enumerate(accumulate(counts)):
        rich = G.size - below
        if rich <= 1:
            break
        found[d] = 2 * int(edges[d]) / (rich * (rich - 1))
    return found


def is_regular(G: Network) -> bool:
    """Whether all degrees are equal."""
    if not G.size:
        raise nx.NetworkXPointlessConcept("Graph has no nodes.")
    sides = [in_degrees(G), out_degrees(G)] if G.is_directed() else [degrees(G)]
    return all(bool((side == side[0]).all()) for side in sides)


def is_k_regular(G: Network, k: Any) -> bool:
    """Whether all degrees are k."""
    return bool((degrees(G) == k).all())
