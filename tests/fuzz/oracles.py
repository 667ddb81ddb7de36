"""Independent answers: algorithms in plain Python, NumPy and NetworkX, on the drawn edges alone."""

from __future__ import annotations

import math
from collections import Counter, deque

import networkx as nx
import numpy as np

from .cases import Difference
from .drawing import Drawn


def levels(drawn: Drawn, source: int) -> list[int]:
    """Return the number of edges from a source to every vertex, -1 where there is no path."""
    rows = [[] for _ in range(drawn.n)]
    for u, v, _ in drawn.arcs():
        rows[u].append(v)
    found = [-1] * drawn.n
    found[source] = 0
    queue = deque([source])
    while queue:
        u = queue.popleft()
        for v in rows[u]:
            if found[v] < 0:
                found[v] = found[u] + 1
                queue.append(v)
    return found


def distances(drawn: Drawn, source: int, dtype: np.dtype) -> list | None:
    """Return shortest distances in the arithmetic of a dtype; None for a negative cycle.

    Rounded sums are monotone, so that every order of relaxations ends with the same bits.
    """
    number = int if dtype.kind in "iu" else dtype.type
    arcs = [(u, v, number(w)) for u, v, w in drawn.arcs()]
    dist = [math.inf if dtype.kind in "iu" else number(math.inf)] * drawn.n
    dist[source] = number(0)
    with np.errstate(all="ignore"):
        for _ in range(drawn.n + 1):
            moved = False
            for u, v, w in arcs:
                if dist[u] + w < dist[v]:
                    dist[v], moved = dist[u] + w, True
            if not moved:
                return dist
    return None


def check_parents(drawn: Drawn, source: int, dist: list, parent: list[int]) -> None:
    """Parents are a tree of tight arcs that leads back to the source."""
    with np.errstate(all="ignore"):
        arcs = [(u, v, type(dist[u])(w)) for u, v, w in drawn.arcs()]
        tight = {(u, v) for u, v, w in arcs if dist[u] + w == dist[v]}
    if parent[source] != source:
        raise Difference(f"the parent of the source {source} is {parent[source]}")
    for v in range(drawn.n):
        reached = v == source or dist[v] < math.inf
        if (parent[v] >= 0) != reached:
            raise Difference(f"vertex {v}: distance {dist[v]}, but parent {parent[v]}")
        if reached and v != source and (parent[v], v) not in tight:
            raise Difference(f"vertex {v}: no arc from its parent {parent[v]} is tight")
        steps = 0
        while parent[v] >= 0 and v != source:
            v, steps = parent[v], steps + 1
            if steps > drawn.n:
                raise Difference("the parents form a cycle")


def components(drawn: Drawn) -> list[int]:
    """Return the smallest vertex of the weak component of each vertex."""
    label = list(range(drawn.n))

    def root(v: int) -> int:
        while label[v] != v:
            label[v] = label[label[v]]
            v = label[v]
        return v

    for u, v in drawn.pairs():
        a, b = root(u), root(v)
        label[max(a, b)] = min(a, b)
    return [root(v) for v in range(drawn.n)]


def simple_graph(drawn: Drawn, *, directed: bool = False):
    """Return the graph in NetworkX without weights, self-loops and parallel edges."""
    result = nx.DiGraph() if directed and drawn.directed else nx.Graph()
    result.add_nodes_from(range(drawn.n))
    result.add_edges_from((u, v) for u, v in drawn.pairs() if u != v)
    return result


def values_of(result: dict[int, float]) -> np.ndarray:
    """Return a dictionary over vertices as an array."""
    return np.array([result[v] for v in range(len(result))])


def propagated_labels(drawn: Drawn, iterations: int) -> list[int]:
    """Return labels after each vertex took the most frequent one around it, several times."""
    rows: list[list[int]] = [[] for _ in range(drawn.n)]
    for u, v in drawn.pairs():
        rows[v].append(u)
        if drawn.directed or u != v:
            rows[u].append(v)
    labels = list(range(drawn.n))
    for _ in range(iterations):
        counts = [Counter(labels[u] for u in row) for row in rows]
        labels = [
            min(count, key=lambda x, count=count: (-count[x], x)) if count else own
            for count, own in zip(counts, labels, strict=True)
        ]
    return labels


def ranks(drawn: Drawn, damping: float, home: np.ndarray, *, weighted: bool) -> np.ndarray:
    """Return PageRank as the solution of its linear system."""
    n = drawn.n
    follow = np.zeros((n, n))
    arcs = drawn.arcs()
    largest = np.zeros(n)
    for u, _, w in arcs:
        largest[u] = max(largest[u], w if weighted else 1)
    for u, v, w in arcs:
        if largest[u]:
            follow[v, u] += (w if weighted else 1) / largest[u]
    strength = follow.sum(axis=0)
    follow /= np.where(strength > 0, strength, 1)
    follow[:, strength == 0] = home[:, None]
    return np.linalg.solve(np.eye(n) - damping * follow, (1 - damping) * home)


def betweenness(drawn: Drawn, **options) -> np.ndarray:
    """Return betweenness by NetworkX."""
    graph = simple_graph(drawn, directed=True)
    return values_of(nx.betweenness_centrality(graph, **options))
