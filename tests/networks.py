"""Graphs as NetworkX and SciPy hold them, for algorithms to be compared with."""

import functools

import networkx as nx
import numpy as np

import weft


def edge_pairs(g: weft.Graph) -> list[tuple[int, int]]:
    src, dst, _ = g.to_edges()
    return list(zip(src.tolist(), dst.tolist(), strict=True))


def multigraph(g: weft.Graph):
    """Return the same graph in NetworkX: parallel edges, self-loops and weights included."""
    result = nx.MultiDiGraph() if g.directed else nx.MultiGraph()
    result.add_nodes_from(range(g.num_vertices))
    weight = g.to_edges().weight
    values = np.ones(g.num_edges) if weight is None else weight
    pairs = edge_pairs(g)
    result.add_weighted_edges_from(
        (u, v, w) for (u, v), w in zip(pairs, values.tolist(), strict=True)
    )
    return result


def simple_graph(g: weft.Graph, *, directed: bool = False):
    """Return the graph in NetworkX without weights, self-loops and parallel edges."""
    result = nx.DiGraph() if directed and g.directed else nx.Graph()
    result.add_nodes_from(range(g.num_vertices))
    result.add_edges_from((u, v) for u, v in edge_pairs(g) if u != v)
    return result


def values_of(result: dict[int, float]) -> np.ndarray:
    """Return a dictionary over vertices as an array."""
    return np.array([result[v] for v in range(len(result))])


@functools.cache
def medium(directed: bool, weights: str | None = None) -> weft.Graph:
    """Return a graph large enough to be shared among threads, with multi-edges and self-loops."""
    return weft.generators.rmat(
        12, 10, seed=3, directed=directed, weights=weights, duplicates="keep", self_loops="keep"
    )


def wide(g: weft.Graph) -> weft.Graph:
    """Return a graph with ids of 64 bits."""
    src, dst, weight = g.to_edges()
    return weft.Graph.from_edges(
        src, dst, weight, num_vertices=g.num_vertices, directed=g.directed, index_dtype=np.int64
    )
