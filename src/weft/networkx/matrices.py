"""Matrices of a graph, and its rows as lists."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import scipy.sparse

from weft.networkx.degrees import degrees
from weft.networkx.network import Network

Array = np.ndarray[Any, Any]


def _entries(G: Network, weight: Any) -> tuple[Array, Array, Array]:
    """Return row, column and value of every entry."""
    structure = G.structure
    values = G.entry_weights(weight)
    if values is None:
        values = np.ones(structure.targets.size, np.int64)
    return structure.sources, structure.targets, values


def _chosen(G: Network, nodelist: Any, row: Array, column: Array, data: Array) -> Any:
    """Return the entries between the nodes of a list, numbered by it."""
    if nodelist is None:
        return row, column, data
    number = np.full(G.size, -1, np.int64)
    number[[G.structure.place[node] for node in nodelist]] = np.arange(len(nodelist))
    row, column = number[row], number[column]
    kept = (row >= 0) & (column >= 0)
    return row[kept], column[kept], data[kept]


def to_scipy_sparse_array(
    G: Network,
    nodelist: Any = None,
    dtype: Any = None,
    weight: Any = "weight",
    format: str = "csr",
) -> Any:
    """The adjacency matrix; parallel edges are added up."""
    if not G.size:
        raise nx.NetworkXError("Graph has no nodes or edges")
    if nodelist is not None:
        if len(nodelist) == 0:
            raise nx.NetworkXError("nodelist has no nodes")
        for node in nodelist:
            if node not in G:
                raise nx.NetworkXError(f"Node {node} in nodelist is not in G")
        if len(set(nodelist)) != len(nodelist):
            raise nx.NetworkXError("nodelist contains duplicates.")
    row, column, data = _chosen(G, nodelist, *_entries(G, weight))
    size = G.size if nodelist is None else len(nodelist)
    if data.size == 0:
        data = data.astype(np.float64)
    matrix = scipy.sparse.coo_array((data, (row, column)), shape=(size, size), dtype=dtype)
    try:
        return matrix.asformat(format)
    except ValueError as error:
        raise nx.NetworkXError(f"Unknown sparse matrix format: {format}") from error


def adjacency_matrix(
    G: Network, nodelist: Any = None, dtype: Any = None, weight: Any = "weight"
) -> Any:
    """The adjacency matrix."""
    return to_scipy_sparse_array(G, nodelist, dtype, weight)


def to_numpy_array(
    G: Network,
    nodelist: Any = None,
    dtype: Any = None,
    order: Any = None,
    multigraph_weight: Any = sum,
    weight: Any = "weight",
    nonedge: Any = 0.0,
) -> Array:
    """The adjacency matrix as a dense array."""
    if multigraph_weight not in (sum, min, max):
        raise NotImplementedError("multigraph_weight= is another function")
    names = G.nodes if nodelist is None else list(nodelist)
    missing = set(names) - set(G.nodes)
    if missing:
        raise nx.NetworkXError(f"Nodes {missing} in nodelist is not in G")
    if len(set(names)) < len(names):
        raise nx.NetworkXError("nodelist contains duplicates.")
    matrix = np.full((len(names), len(names)), nonedge, dtype, order)
    if matrix.dtype.names:
        raise NotImplementedError("an array of records")
    if not names or not G.number_of_edges():
        return matrix
    row, column, data = _chosen(G, nodelist, *_entries(G, weight))
    if G.is_multigraph():
        # One value per pair, reduced in the dtype of the weights.
        key, inverse = np.unique(row.astype(np.int64) * len(names) + column, return_inverse=True)
        fold = {sum: np.add, min: np.minimum, max: np.maximum}[multigraph_weight]
        reduced = np.zeros(key.size, data.dtype)
        if multigraph_weight is not sum:
            reduced[inverse] = data
        fold.at(reduced, inverse, data)
        row, column, data = key // len(names), key % len(names), reduced
    matrix[row, column] = data
    return matrix


def _degree_matrix(values: Array) -> Any:
    return scipy.sparse.dia_array((values, 0), shape=(values.size, values.size)).tocsr()


def laplacian_matrix(G: Network, nodelist: Any = None, weight: Any = "weight") -> Any:
    """Degrees on the diagonal, less the adjacency matrix."""
    matrix = to_scipy_sparse_array(G, nodelist, None, weight)
    return _degree_matrix(matrix.sum(axis=1)) - matrix


def normalized_laplacian_matrix(G: Network, nodelist: Any = None, weight: Any = "weight") -> Any:
    """The Laplacian, scaled by the roots of the degrees."""
    matrix = to_scipy_sparse_array(G, nodelist, None, weight)
    diagonal = matrix.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        root = 1.0 / np.sqrt(diagonal)
    root[np.isinf(root)] = 0
    scale = _degree_matrix(root)
    return scale @ ((_degree_matrix(diagonal) - matrix) @ scale)


def bethe_hessian_matrix(G: Network, r: Any = None, nodelist: Any = None) -> Any:
    """(r² - 1) I - r A + D."""
    if r is None:
        degree = degrees(G)
        r = int((degree * degree).sum()) / int(degree.sum()) - 1
    matrix = to_scipy_sparse_array(G, nodelist)
    unit = scipy.sparse.eye_array(*matrix.shape, format="csr")
    return (r**2 - 1) * unit - r * matrix + _degree_matrix(matrix.sum(axis=1))


def modularity_matrix(G: Network, nodelist: Any = None, weight: Any = None) -> Array:
    """The adjacency matrix, less what degrees alone would give."""
    matrix = to_scipy_sparse_array(G, nodelist, None, weight)
    degree = matrix.sum(axis=1)
    return matrix - np.outer(degree, degree) / (2 * (degree.sum() * 0.5))


def directed_modularity_matrix(G: Network, nodelist: Any = None, weight: Any = None) -> Array:
    """The adjacency matrix, less what degrees alone would give."""
    matrix = to_scipy_sparse_array(G, nodelist, None, weight)
    incoming, outgoing = matrix.sum(axis=0), matrix.sum(axis=1)
    return matrix - np.outer(outgoing, incoming) / incoming.sum()


def google_matrix(
    G: Network,
    alpha: float = 0.85,
    personalization: Any = None,
    nodelist: Any = None,
    weight: Any = "weight",
    dangling: Any = None,
) -> Array:
    """The matrix that PageRank iterates."""
    names = G.nodes if nodelist is None else nodelist
    matrix = to_numpy_array(G, names, weight=weight)
    if not G.size:
        return matrix

    def shares(given: Any) -> Array:
        values = np.array([given.get(node, 0) for node in names], dtype=float)
        if values.sum() == 0 and given is personalization:
            raise ZeroDivisionError
        return values / values.sum()

    home = np.repeat(1.0 / G.size, G.size) if personalization is None else shares(personalization)
    matrix[matrix.sum(axis=1) == 0] = home if dangling is None else shares(dangling)
    matrix /= matrix.sum(axis=1)[:, np.newaxis]
    return alpha * matrix + (1 - alpha) * home


def incidence_matrix(
    G: Network,
    nodelist: Any = None,
    edgelist: Any = None,
    oriented: bool = False,
    weight: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    """One column per edge, with its ends."""
    if nodelist is not None or edgelist is not None:
        raise NotImplementedError("nodelist= and edgelist= choose rows and columns")
    structure = G.structure
    first = slice(None) if structure.first is None else structure.first
    tail, head = structure.sources[first], structure.targets[first]
    values = G.weights(weight)
    values = np.ones(tail.size) if values is None else values.astype(np.float64)
    edge = np.arange(tail.size)
    proper = tail != head
    tail, head, values, edge = tail[proper], head[proper], values[proper], edge[proper]
    data = np.concatenate((-values if oriented else values, values))
    ends = np.concatenate((tail, head)), np.concatenate((edge, edge))
    shape = G.size, structure.num_edges
    return scipy.sparse.coo_array((data, ends), shape=shape, dtype=dtype or float).tocsc()


def biadjacency_matrix(
    G: Network,
    row_order: Any,
    column_order: Any = None,
    dtype: Any = None,
    weight: Any = "weight",
    format: str = "csr",
) -> Any:
    """The entries between two sides of a bipartite graph."""
    if len(row_order) == 0:
        raise nx.NetworkXError("row_order is empty list")
    if len(row_order) != len(set(row_order)):
        raise nx.NetworkXError("Ambiguous ordering: `row_order` contained duplicates.")
    if column_order is None:
        column_order = list(set(G) - set(row_order))
    if len(column_order) != len(set(column_order)):
        raise nx.NetworkXError("Ambiguous ordering: `column_order` contained duplicates.")
    place = G.structure.place
    sides = []
    for names in (row_order, column_order):
        number = np.full(G.size, -1, np.int64)
        for i, node in enumerate(names):
            if node in place:
                number[place[node]] = i
        sides.append(number)
    row, column, data = _entries(G, weight)
    row, column = sides[0][row], sides[1][column]
    kept = (row >= 0) & (column >= 0)
    if not kept.any() and G.number_of_edges():
        raise ValueError("not enough values to unpack (expected 3, got 0)")
    if not data.size:
        data = data.astype(np.float64)
    shape = len(row_order), len(column_order)
    matrix = scipy.sparse.coo_array((data[kept], (row[kept], column[kept])), shape, dtype)
    try:
        return matrix.asformat(format)
    except ValueError as error:
        raise nx.NetworkXError(f"Unknown sparse array format: {format}") from error


def to_dict_of_lists(G: Network, nodelist: Any = None) -> dict[Any, list[Any]]:
    """The neighbours of each node."""
    if nodelist is not None:
        raise NotImplementedError("nodelist= is looked up by NetworkX")
    if G.is_multigraph():
        raise NotImplementedError("parallel edges give one neighbour")
    targets, offsets = G.at(G.structure.targets), G.structure.offsets.tolist()
    rows = pairwise(offsets)
    return {node: targets[begin:end] for node, (begin, end) in zip(G.nodes, rows, strict=True)}
