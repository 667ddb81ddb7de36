"""Conversion from and to SciPy sparse matrices: entry (i, j) is the edge i -> j."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.arrays.device import to_host
from weft.errors import GraphError
from weft.graph.build import BuildRules, Duplicates, assemble
from weft.topology.adjacency import Array
from weft.topology.topology import Topology


def matrix_edges(
    matrix: Any, directed: bool, weighted: bool, duplicates: Duplicates
) -> tuple[Array, Array, Array | None, int, Duplicates]:
    """Return the edges that a matrix describes, the number of vertices, and how to merge edges.

    Entries without a weight are merged by keeping the first, since there is nothing to sum.
    """
    src, dst, data, n = _entries(matrix)
    weight: Array | None = data if weighted and data.dtype.kind != "b" else None
    if weight is None and duplicates == "sum":
        duplicates = "first"
    if not directed:
        src, dst, weight = _upper_triangle(src, dst, weight, n, duplicates)
    return src, dst, weight, n, duplicates


def _entries(matrix: Any) -> tuple[Array, Array, Array, int]:
    """Return the row, column and value of every stored entry, and the number of rows.

    Raises
    ------
    GraphError
        Unless it is a square SciPy sparse matrix or array.
    """
    from scipy.sparse import issparse

    if not issparse(matrix):
        raise GraphError(
            f"A {type(matrix).__name__} is not a sparse matrix. Expected one from scipy.sparse; "
            "convert a dense one with scipy.sparse.csr_array(matrix)."
        )
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise GraphError(
            f"The matrix has shape {matrix.shape}. Expected a square one: row i and column i "
            "are both vertex i. For a bipartite graph, number the columns after the rows."
        )
    entries = matrix.tocoo()
    return entries.row, entries.col, entries.data, int(matrix.shape[0])


def _upper_triangle(
    row: Array, column: Array, weight: Array | None, num_vertices: int, duplicates: Duplicates
) -> tuple[Array, Array, Array | None]:
    """Return the entries of a symmetric matrix on and above the diagonal.

    Raises
    ------
    GraphError
        If the matrix is not symmetric; the message names an entry.
    """
    wrong = "The matrix is not symmetric, which directed=False requires: "
    topology, columns = assemble(
        row,
        column,
        {} if weight is None else {"weight": weight},
        num_vertices,
        BuildRules(directed=True, duplicates=duplicates),
    )
    unpaired = topology.unpaired_arc()
    if unpaired is not None:
        u, v = unpaired
        raise GraphError(
            f"{wrong}entry ({u}, {v}) has no counterpart at ({v}, {u}). "
            "Pass directed=True, or store both."
        )
    src, dst = topology.endpoints()
    upper = src <= dst
    if weight is None:
        return src[upper], dst[upper], None
    values = columns["weight"]
    mirrored = values[topology.reverse_arcs()]
    # NaN is not equal to itself, but two NaNs count as equal here.
    differs = (values != mirrored) & ((values == values) | (mirrored == mirrored))
    if differs.any():
        arc = int(np.argmax(differs))
        u, v = int(src[arc]), int(dst[arc])
        raise GraphError(
            f"{wrong}entry ({u}, {v}) is {values[arc]}, entry ({v}, {u}) is {mirrored[arc]}. "
            "Pass directed=True, or make them equal."
        )
    return src[upper], dst[upper], values[upper]


def adjacency_matrix(topology: Topology, weight: Array | None) -> Any:
    """Return the adjacency as a `csr_array` in host memory, with edge weights or 1.0."""
    from scipy.sparse import csc_array, csr_array

    direction = topology.primary_direction
    adjacency = topology.adjacency(direction)
    if weight is None:
        data = np.ones(topology.num_arcs)
    else:
        data = _host_copy(topology.slot_values(weight, direction))
    parts = (data, _host_copy(adjacency.targets), _host_copy(adjacency.offsets))
    shape = (topology.num_vertices, topology.num_vertices)
    if direction == "out":
        return csr_array(parts, shape=shape)
    return csc_array(parts, shape=shape).tocsr()


def _host_copy(array: Array) -> Array:
    """Return a NumPy array that shares no memory with the graph."""
    host = to_host(array)
    return host.copy() if host is array else host
