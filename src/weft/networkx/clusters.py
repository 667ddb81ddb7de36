"""Triangles, clustering and cores."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from weft.algorithms.clustering import credit
from weft.algorithms.core_number import core_number as engine_cores
from weft.algorithms.support.simple import simple
from weft.algorithms.triangle_count import oriented
from weft.arrays.device import to_host
from weft.engine.state import full
from weft.networkx import kernels
from weft.networkx.arguments import bunch, refuse
from weft.networkx.degrees import both_ways
from weft.networkx.network import Network

Array = np.ndarray[Any, Any]


def triangle_counts(G: Network) -> tuple[Array, Array]:
    """Return the triangles at each row, and its number of neighbours other than itself."""
    g = simple(G.graph())
    with g.topology.device.current():
        arcs = oriented(g)
        state = arcs.state(triangles=full(0))
        arcs.run(credit, state)
        return to_host(state.triangles), to_host(g.out_degree).astype(np.int64)


def _at(G: Network, nodes: Any, values: Array) -> Any:
    found = values.tolist()
    if nodes is None:
        return dict(zip(G.nodes, found, strict=True))
    place = G.structure.place
    named = {node: found[place[node]] for node in bunch(G, nodes)}
    return named[nodes] if nodes in G else named


def triangles(G: Network, nodes: Any = None) -> Any:
    """The number of triangles at each node."""
    if nodes is not None:
        refuse(G, multigraph=True)
    return _at(G, nodes, triangle_counts(G)[0])


def _coefficients(G: Network) -> Array:
    refuse(G, multigraph=True)
    count, degree = triangle_counts(G)
    pairs = degree * (degree - 1)
    values = 2 * count / np.maximum(pairs, 1)
    exact = values.astype(object)
    exact[count == 0] = 0
    return exact


def clustering(G: Network, nodes: Any = None, weight: Any = None) -> Any:
    """The share of pairs of neighbours that are adjacent."""
    if G.is_directed() or weight is not None:
        return _at(G, nodes, _weighted_coefficients(G, weight))
    return _at(G, nodes, _coefficients(G))


def _weighted_coefficients(G: Network, weight: Any) -> Array:
    """Return the coefficients of directed edges, by the cube roots of triangles' weights."""
    refuse(G, multigraph=True)
    structure = G.structure
    weights = G.entry_weights(weight)
    values = np.ones(structure.targets.size) if weights is None else weights.astype(np.float64)
    if values.size:
        values /= values.max()
    us, vs = structure.sources.astype(np.int64), structure.targets.astype(np.int64)
    proper = us != vs
    us, vs, values = us[proper], vs[proper], values[proper]
    keys = us * G.size + vs
    if not G.is_directed():
        order = np.argsort(keys)
        keys, ahead, back = keys[order], values[order], np.full(keys.size, np.nan)
    else:
        opposite = vs * G.size + us
        every = np.union1d(keys, opposite)
        ahead, back = np.full(every.size, np.nan), np.full(every.size, np.nan)
        ahead[np.searchsorted(every, keys)] = values
        back[np.searchsorted(every, opposite)] = values
        keys = every
    rows, targets = keys // max(G.size, 1), (keys % max(G.size, 1)).astype(np.int32)
    offsets = np.append(0, np.cumsum(np.bincount(rows, minlength=G.size)))
    total = kernels.weighted_triangles(offsets, targets, ahead, back)
    degree = np.diff(offsets)
    pairs = degree * (degree - 1.0)
    if G.is_directed():
        both = np.bincount(rows, ~np.isnan(ahead) & ~np.isnan(back), minlength=G.size)
        degree = degree + both
        pairs = 2 * (degree * (degree - 1.0) - 2 * both)
    exact = (total / np.where(pairs > 0, pairs, 1)).astype(object)
    exact[total == 0] = 0
    return exact


def average_clustering(
    G: Network, nodes: Any = None, weight: Any = None, count_zeros: bool = True
) -> float:
    """The mean of the coefficients."""
    values = clustering(G, nodes, weight).values()
    if not count_zeros:
        values = [value for value in values if abs(value) > 0]
    return sum(values) / len(values)


def transitivity(G: Network) -> float:
    """The share of open and closed triples that are closed."""
    refuse(G, multigraph=True)
    if G.is_directed():
        raise NotImplementedError("transitivity of a directed graph is NetworkX's own")
    count, degree = triangle_counts(G)
    closed, all_triples = 2 * int(count.sum()), int((degree * (degree - 1)).sum())
    return 0 if closed == 0 else closed / all_triples


def core_numbers(G: Network) -> Array:
    """Return the core number of each row."""
    if G.structure.num_loops:
        raise nx.NetworkXNotImplemented(
            "Input graph has self loops which is not permitted; "
            "Consider using G.remove_edges_from(nx.selfloop_edges(G))."
        )
    if G.is_directed() and (G.is_multigraph() or both_ways(G).any()):
        raise NotImplementedError("opposite edges count twice in NetworkX's core numbers")
    return to_host(engine_cores(G.graph()))


def core_number(G: Network) -> dict[Any, int]:
    """The largest k of a k-core around each node."""
    return G.named(core_numbers(G))
