"""Graph classes, by degrees, triangles and spectra."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.linalg

from weft.arrays.distinct import distinct
from weft.networkx import kernels, matrices
from weft.networkx.arguments import bunch, refuse, rows_at
from weft.networkx.clusters import triangle_counts
from weft.networkx.components import is_connected, is_weakly_connected
from weft.networkx.degrees import degrees, in_degrees, out_degrees
from weft.networkx.links import shared
from weft.networkx.network import Network
from weft.networkx.strong import is_strongly_connected

Array = np.ndarray[Any, Any]


def is_tournament(G: Network) -> bool:
    """Whether every pair is joined by one edge in one direction."""
    size, structure = G.size, G.structure
    if structure.num_loops or structure.num_edges != size * (size - 1) // 2:
        return False
    low = np.minimum(structure.sources, structure.targets).astype(np.int64)
    high = np.maximum(structure.sources, structure.targets)
    return distinct(low * size + high).size == structure.num_edges


def score_sequence(G: Network) -> list[int]:
    """Sorted outgoing degrees."""
    return np.sort(out_degrees(G)).tolist()


def tournament_matrix(G: Network) -> Any:
    """The adjacency matrix, less its transpose."""
    matrix = matrices.adjacency_matrix(G)
    return matrix - matrix.T


def faster_could_be_isomorphic(G1: Network, G2: Network) -> bool:
    """Whether the degrees are the same."""
    return G1.size == G2.size and bool(np.array_equal(np.sort(degrees(G1)), np.sort(degrees(G2))))


def fast_could_be_isomorphic(G1: Network, G2: Network) -> bool:
    """Whether degrees and triangles are the same."""
    if G1.size != G2.size:
        return False
    for G in (G1, G2):
        refuse(G, directed=True)
        if G.is_multigraph():
            raise NotImplementedError("triangles among parallel edges are NetworkX's own")
    found = [sorted(zip(degrees(G), triangle_counts(G)[0], strict=True)) for G in (G1, G2)]
    return found[0] == found[1]


def is_eulerian(G: Network) -> bool:
    """Whether a closed walk takes every edge once."""
    if G.is_directed():
        return bool((in_degrees(G) == out_degrees(G)).all()) and is_strongly_connected(G)
    return bool((degrees(G) % 2 == 0).all()) and is_connected(G)


def has_eulerian_path(G: Network, source: Any = None) -> bool:
    """Whether a walk takes every edge once."""
    if source is not None:
        raise NotImplementedError("source= is looked up by NetworkX")
    if is_eulerian(G):
        return True
    if not G.is_directed():
        return int(np.count_nonzero(degrees(G) % 2)) == 2 and is_connected(G)
    excess = out_degrees(G) - in_degrees(G)
    return bool(
        (abs(excess) <= 1).all()
        and np.count_nonzero(excess == 1) <= 1
        and np.count_nonzero(excess == -1) <= 1
    ) and is_weakly_connected(G)


def is_semieulerian(G: Network) -> bool:
    """Whether a walk takes every edge once, but no closed one."""
    return has_eulerian_path(G) and not is_eulerian(G)


def number_of_walks(G: Network, walk_length: int) -> dict[Any, dict[Any, int]]:
    """Walks of a length between all pairs."""
    from scipy.sparse.linalg import matrix_power

    if walk_length < 0:
        raise ValueError(f"`walk_length` cannot be negative: {walk_length}")
    power = matrix_power(matrices.adjacency_matrix(G, weight=None), walk_length).toarray()
    rows = power.tolist()
    return {u: dict(zip(G.nodes, row, strict=True)) for u, row in zip(G.nodes, rows, strict=True)}


def adjacency_spectrum(G: Network, weight: Any = "weight") -> Array:
    """Eigenvalues of the adjacency matrix."""
    return scipy.linalg.eigvals(matrices.adjacency_matrix(G, weight=weight).todense())


def laplacian_spectrum(G: Network, weight: Any = "weight") -> Array:
    """Eigenvalues of the Laplacian."""
    return scipy.linalg.eigvalsh(matrices.laplacian_matrix(G, weight=weight).todense())


def normalized_laplacian_spectrum(G: Network, weight: Any = "weight") -> Array:
    """Eigenvalues of the normalised Laplacian."""
    return scipy.linalg.eigvalsh(matrices.normalized_laplacian_matrix(G, weight=weight).todense())


def modularity_spectrum(G: Network) -> Array:
    """Eigenvalues of the modularity matrix."""
    refuse(G, multigraph=True)
    if G.is_directed():
        return scipy.linalg.eigvals(matrices.directed_modularity_matrix(G))
    return scipy.linalg.eigvals(matrices.modularity_matrix(G))


def bethe_hessian_spectrum(G: Network, r: Any = None) -> Array:
    """Eigenvalues of the Bethe Hessian."""
    refuse(G, directed=True, multigraph=True)
    return scipy.linalg.eigvalsh(matrices.bethe_hessian_matrix(G, r).todense())


def square_clustering(G: Network, nodes: Any = None) -> Any:
    """The share of possible squares at each node."""
    if G.is_directed() or G.is_multigraph():
        raise NotImplementedError("squares of directed edges and multigraphs are NetworkX's own")
    chosen = bunch(G, nodes)
    offsets, targets = G.structure.sorted_neighbors
    found = kernels.squares(offsets, targets, rows_at(G, chosen)).tolist()
    values = [have / could if could > 0 else 0 for have, could in found]
    named = dict(zip(chosen, values, strict=True))
    return named[nodes] if nodes in G else named


def generalized_degree(G: Network, nodes: Any = None) -> Any:
    """Return how many edges of each node are in how many triangles."""
    refuse(G, multigraph=True)
    chosen = bunch(G, nodes)
    offsets, targets = G.structure.sorted_neighbors
    rows = np.repeat(np.arange(G.size), np.diff(offsets))
    common = shared(G, rows, targets, np.ones(G.size)).astype(np.int64).tolist()
    place, bounds = G.structure.place, offsets.tolist()
    named = {
        node: Counter(common[bounds[place[node]] : bounds[place[node] + 1]]) for node in chosen
    }
    return named[nodes] if nodes in G else named


def all_triangles(G: Network, nbunch: Any = None) -> Iterator[tuple[Any, Any, Any]]:
    """Triangles, each once."""
    if nbunch is not None or G.is_multigraph():
        raise NotImplementedError("triangles of some nodes alone")
    return _triangles(G)


def _triangles(G: Network) -> Iterator[tuple[Any, Any, Any]]:
    offsets, targets = G.structure.sorted_neighbors
    nodes = G.nodes
    order_offsets, order_targets = G.structure.neighbors
    for u in range(G.size):
        row = targets[offsets[u] : offsets[u + 1]]
        for v in order_targets[order_offsets[u] : order_offsets[u + 1]].tolist():
            if v > u:
                other = targets[offsets[v] : offsets[v + 1]]
                both = np.intersect1d(row[row > v], other, assume_unique=True)
                for w in both.tolist():
                    yield nodes[u], nodes[v], nodes[w]
