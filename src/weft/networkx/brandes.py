"""Betweenness of edges, and of nodes for some pairs alone.

From each source, a breadth-first sweep counts shortest paths; a sweep back over its levels sums
what each vertex owes to the marked vertices beyond it (see `weft.betweenness`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import networkx as nx
import numpy as np

from weft.algorithms.betweenness import count_paths, search
from weft.algorithms.support.simple import simple
from weft.arrays.device import to_host
from weft.engine.state import full
from weft.ir.trace import monoids
from weft.ir.trace.proxies import send
from weft.networkx import kernels
from weft.networkx.flows import by_edge, marked, path_flows, rows_of
from weft.networkx.network import Network
from weft.networkx.ranking import betweenness_centrality
from weft.program import vertex

Array = np.ndarray[Any, Any]


@vertex
def owe_marked(v: Any) -> None:
    """Gather the shares of the next level; only marked vertices have a share of their own."""
    beyond = v.gather(
        lambda u, e: send(u.share, when=u.level == v.level + 1), monoids.sum, direction="out"
    )
    v.share = v.mark / v.paths + beyond
    v.owed = v.paths * beyond


class Sweeps:
    """The two sweeps over a simple graph, source by source."""

    def __init__(self, G: Network) -> None:
        self.graph = simple(G.graph(), directed=True, both=True)
        zeros = full(0.0)
        with self.graph.topology.device.current():
            self.state = self.graph.state(
                level=full(-1, np.int32), paths=zeros, share=zeros, owed=zeros, mark=zeros
            )

    def run(self, source: int, mark: Array) -> Any:
        """Sweep from a source to marked vertices and back; return the state."""
        state = self.state
        state.mark, state.owed = mark, full(0.0)
        trail = search(self.graph, state, source)
        if not count_paths(self.graph, state, source, trail):
            raise NotImplementedError("more shortest paths than float64 can count")
        state.paths = abs(state.paths)
        self.graph.replay(owe_marked, state, trail)
        return state


def _sources(G: Network, k: Any, seed: Any) -> list[int]:
    if k is None:
        return list(range(G.size))
    return [G.structure.place[node] for node in seed.sample(list(G.nodes), k)]


def edge_betweenness_centrality(
    G: Network,
    k: Any = None,
    normalized: bool = True,
    weight: Any = None,
    seed: Any = None,
) -> dict[Any, float]:
    """The share of shortest paths that run along each edge."""
    if G.is_multigraph():
        raise NotImplementedError("flows along parallel edges are NetworkX's own")
    if weight is not None:
        G.weights(weight)  # refuses before anything is drawn
        rows = np.array(_sources(G, k, seed), np.int64)
        _, along = path_flows(G, rows, weight)
        return by_edge(G, along * _edge_scale(G.size, None if k is None else k, normalized, G))
    sources = _sources(G, k, seed)
    sweeps = Sweeps(G)
    topology = sweeps.graph.topology
    ones = np.ones(G.size)
    with topology.device.current():
        tail, head = topology.endpoints()
        flow = topology.xp.zeros(tail.size)
        for source in sources:
            state = sweeps.run(source, ones)
            down = state.level[head] == state.level[tail] + 1
            down &= state.level[tail] >= 0
            flow += topology.xp.where(down, state.paths[tail] * state.share[head], 0)
    total = _by_edge(G, to_host(tail), to_host(head), to_host(flow))
    scale = _edge_scale(G.size, len(sources) if k is not None else None, normalized, G)
    structure = G.structure
    first = slice(None) if structure.first is None else structure.first
    ends = G.at(structure.sources[first]), G.at(structure.targets[first])
    return dict(zip(zip(*ends, strict=True), (total * scale).tolist(), strict=True))


def _by_edge(G: Network, tail: Array, head: Array, flow: Array) -> Array:
    """Return the flow along each edge of the graph, in both directions if undirected."""
    structure = G.structure
    if not np.isfinite(flow).all():
        raise NotImplementedError("more shortest paths than float64 can count")
    key = tail.astype(np.int64) * G.size + head
    order = np.argsort(key)
    first = slice(None) if structure.first is None else structure.first
    us, vs = structure.sources[first].astype(np.int64), structure.targets[first].astype(np.int64)
    total = _looked_up(key[order], flow[order], us * G.size + vs)
    if not structure.directed:
        total += _looked_up(key[order], flow[order], vs * G.size + us)
    return total


def _looked_up(keys: Array, values: Array, wanted: Array) -> Array:
    if not keys.size:
        return np.zeros(wanted.size)
    at = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
    return np.where(keys[at] == wanted, values[at], 0.0)


def _edge_scale(n: int, k: int | None, normalized: bool, G: Network) -> float:
    """Return NetworkX's factor for sums over sources, counting the ends of paths."""
    if n < 2:
        return 1.0
    count = n if k is None else k
    if normalized:
        return 1 / (count * (n - 1))
    return n / (count * (1 if G.is_directed() else 2))


def betweenness_centrality_subset(
    G: Network,
    sources: Iterable[Any],
    targets: Iterable[Any],
    normalized: bool = False,
    weight: Any = None,
) -> dict[Any, float]:
    """The share of shortest paths between two sets that lead through each node."""
    rows, ends = rows_of(G, sources), marked(G, targets)
    if weight is not None:
        total, _ = path_flows(G, rows, weight, ends, kernels.BUT_SOURCE)
    else:
        total = _swept(G, rows.tolist(), ends)
    if not np.isfinite(total).all():
        raise NotImplementedError("more shortest paths than float64 can count")
    n = G.size - 1
    if n >= 2:
        total *= 1 / (n * (n - 1)) if normalized else (1.0 if G.is_directed() else 0.5)
    return G.named(total)


def _swept(G: Network, sources: list[int], ends: Array) -> Array:
    """Return the flow through each row from sources to marked rows, by weft's sweeps."""
    if G.is_multigraph():
        raise NotImplementedError("flows along parallel edges are NetworkX's own")
    total, sweeps = np.zeros(G.size), Sweeps(G)
    for row in sources:
        mark = ends.copy()
        mark[row] = 0.0
        owed = to_host(sweeps.run(row, mark).owed).copy()
        owed[row] = 0.0
        total += owed
    return total


def bipartite_betweenness_centrality(G: Network, nodes: Any) -> dict[Any, float]:
    """Betweenness by the most that a node of its side can have."""
    top = set(nodes)
    bottom = set(G) - top
    n, m = len(top), len(bottom)
    found = betweenness_centrality(G, normalized=False)
    for side, own, other in ((top, n, m), (bottom, m, n)):
        most = _most_between(own, other)
        for node in side:
            found[node] /= most
    return found


def _most_between(own: int, other: int) -> float:
    s, t = divmod(own - 1, other)
    return (
        (other**2) * ((s + 1) ** 2) + other * (s + 1) * (2 * t - s - 1) - t * (2 * s - t + 3)
    ) / 2.0


def global_reaching_centrality(G: Network, weight: Any = None, normalized: bool = True) -> float:
    """Return the lead of the node that reaches the most nodes."""
    if weight is not None:
        raise NotImplementedError("weighted reach is NetworkX's own")
    if not G.number_of_edges():
        raise nx.NetworkXError("Size of G must be positive")
    found = [_reach(G, row) for row in range(G.size)]
    most = max(found)
    return sum(most - value for value in found) / (G.size - 1)


def local_reaching_centrality(
    G: Network, v: Any, paths: Any = None, weight: Any = None, normalized: bool = True
) -> float:
    """The share of the other nodes that a node reaches, nearer ones counting more."""
    if weight is not None or paths is not None or v not in G:
        raise NotImplementedError("weighted reach is NetworkX's own")
    if not G.number_of_edges():
        raise nx.NetworkXError("Size of G must be positive")
    return _reach(G, G.structure.place[v])


def _reach(G: Network, row: int) -> float:
    from weft.networkx.searches import levels

    if G.size == 1:
        raise nx.NetworkXError(
            "local_reaching_centrality of a single node with self-loop not well-defined"
        )
    _, level = levels(G, row)
    if G.is_directed():
        return (level.size - 1) / (G.size - 1)
    away = level[level > 0]
    return math.fsum((1 / away).tolist()) / (G.size - 1)
