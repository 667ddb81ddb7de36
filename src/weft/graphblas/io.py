"""Vectors and matrices from and to other libraries and files."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.arrays.device import is_device_array
from weft.arrays.reduce import count_true
from weft.graphblas.building import dense_values
from weft.graphblas.dtypes import lookup_dtype
from weft.graphblas.exceptions import DimensionMismatch, NotImplementedException
from weft.graphblas.gpu.entries import DeviceMatrix
from weft.graphblas.matrix import Matrix
from weft.graphblas.matrix_forms import from_places
from weft.graphblas.storage.matrix import MatrixStore

PARALLEL = "The graph has parallel edges; a matrix has one entry at each place."


def from_networkx(
    G: Any, nodelist: Any = None, dtype: Any = None, weight: str | None = "weight", name: Any = None
) -> Matrix:
    """Return the adjacency matrix of a NetworkX graph.

    Parameters
    ----------
    G
        The graph.
    nodelist
        Its nodes in the order of rows and columns; as they come if not given.
    dtype
        The type of the values.
    weight
        The edge attribute that gives the values; an edge without it has 1.
    name
        The name of the matrix.
    """
    import networkx as nx

    array = nx.to_scipy_sparse_array(G, nodelist=nodelist, weight=weight)
    made = from_scipy_sparse(array, name=name)
    return made if dtype is None else made.dup(dtype, name=name)


def to_networkx(m: Any, edge_attribute: str | None = "weight") -> Any:
    """Return a directed NetworkX graph of a square matrix's entries."""
    import networkx as nx

    rows, cols, values = m.to_coo()
    G = nx.DiGraph()
    G.add_nodes_from(range(m.nrows))
    ends = zip(rows.tolist(), cols.tolist(), strict=True)
    if edge_attribute is None:
        G.add_edges_from(ends)
    else:
        pairs = zip(ends, values.tolist(), strict=True)
        G.add_weighted_edges_from(((u, v, w) for (u, v), w in pairs), weight=edge_attribute)
    return G


def from_scipy_sparse(A: Any, *, dup_op: Any = None, name: Any = None) -> Matrix:
    """Return a matrix of a SciPy sparse one; `dup_op` combines entries that stand twice."""
    coo = A.tocoo()
    dtype = lookup_dtype(coo.dtype)
    rows, cols = coo.coords if hasattr(coo, "coords") else (coo.row, coo.col)
    store = from_places(
        (coo.shape[0], coo.shape[1]),
        rows.astype(np.int64),
        cols.astype(np.int64),
        dense_values(coo.data, dtype, 1, "Vector")[0],
        dup_op,
        dtype,
    )
    return Matrix._from_store(store, dtype, name)


def to_scipy_sparse(A: Any, format: str = "csr") -> Any:
    """Return a SciPy sparse array.

    Parameters
    ----------
    A
        A vector (which becomes a row, or a column for "csc") or a matrix.
    format
        "bsr", "csr", "csc", "coo", "lil", "dia" or "dok".
    """
    import scipy.sparse as sp

    format = format.lower()
    if format not in {"bsr", "csr", "csc", "coo", "lil", "dia", "dok"}:
        raise ValueError(f"Invalid format: {format!r}. Expected 'csr', 'csc', 'coo' or another.")
    if A._output == "Vector":
        places, values = A.to_coo()
        zeros = np.zeros(len(places), np.int64)
        pairs = (places, zeros) if format == "csc" else (zeros, places)
        shape = (A.size, 1) if format == "csc" else (1, A.size)
        return sp.coo_array((values, tuple(p.astype(np.int64) for p in pairs)), shape).asformat(
            format
        )
    rows, cols, values = A.to_coo()
    where = rows.astype(np.int64), cols.astype(np.int64)
    return sp.coo_array((values, where), A.shape).asformat(format)


def mmread(source: Any, engine: str = "auto", *, dup_op: Any = None, name: Any = None) -> Matrix:
    """Return a matrix of a Matrix Market file.

    Parameters
    ----------
    source
        A path, or an open file.
    engine
        "auto" or "scipy".
    dup_op
        Combines entries that stand twice.
    name
        The name of the matrix.
    """
    import scipy.sparse as sp
    from scipy.io import mmread as read

    _check_engine(engine)
    found = read(source)
    if sp.issparse(found):
        return from_scipy_sparse(found, dup_op=dup_op, name=name)
    return Matrix.from_dense(found, name=name)


def mmwrite(
    target: Any,
    matrix: Any,
    engine: str = "auto",
    *,
    comment: str = "",
    field: Any = None,
    precision: Any = None,
    symmetry: Any = None,
) -> None:
    """Write a matrix as a Matrix Market file.

    Parameters
    ----------
    target
        A path, or an open file.
    matrix
        The matrix.
    engine
        "auto" or "scipy".
    comment, field, precision, symmetry
        As `scipy.io.mmwrite` takes them.
    """
    from scipy.io import mmwrite as write

    _check_engine(engine)
    array = to_scipy_sparse(matrix, "coo")
    write(target, array, comment=comment, field=field, precision=precision, symmetry=symmetry)


def _check_engine(engine: str) -> None:
    if engine.lower() not in {"auto", "scipy", "fmm", "fast_matrix_market"}:
        raise ValueError(f"Bad engine value: {engine!r}. Expected 'auto' or 'scipy'.")


__all__ = [
    "from_graph",
    "from_networkx",
    "from_scipy_sparse",
    "mmread",
    "mmwrite",
    "to_graph",
    "to_networkx",
    "to_scipy_sparse",
]


def from_graph(graph: Any, weight: str | None = "weight", *, name: Any = None) -> Matrix:
    """Return the adjacency matrix of a `weft.Graph`, sharing its arrays, also those on a GPU.

    Parameters
    ----------
    graph
        The graph, without parallel edges. An edge u -> v is the entry (u, v); one of an undirected
        graph is two entries.
    weight
        The edge column that gives the values; a graph without it has 1 everywhere.
    name
        The name of the matrix.

    Examples
    --------
    >>> import weft
    >>> import weft.graphblas as gb
    >>> g = weft.Graph.from_edges([0, 1], [1, 2], [5.0, 6.0])
    >>> gb.io.from_graph(g).to_dicts()
    {0: {1: 5.0}, 1: {2: 6.0}}
    """
    topology = graph.topology
    size = graph.num_vertices
    weighted = weight is not None and weight in graph.edge
    if topology.numbering is not None:
        raise NotImplementedException(
            "Reordered graphs cannot become matrices; build the matrix from graph.to_edges()."
        )
    rows = topology.out
    if is_device_array(rows.offsets):
        return _of_device(graph, weight if weighted else None, name)
    store = MatrixStore((size, size), rows.targets, rows.targets, indptr=rows.offsets)
    same = (rows.targets[1:] == rows.targets[:-1]) & (store.rows[1:] == store.rows[:-1])
    if bool(same.any()):
        raise ValueError(PARALLEL)
    if weighted:
        values = topology.slot_values(graph.edge[weight], "out")
    else:
        values = np.broadcast_to(np.ones(1, np.int64), rows.targets.shape)
    made = MatrixStore((size, size), rows.targets, values, indptr=rows.offsets)
    if not graph.directed:
        made._twin = made
    return Matrix._from_store(made, lookup_dtype(values.dtype), name)


def _of_device(graph: Any, weight: str | None, name: Any) -> Matrix:
    """Return the matrix of a graph on a GPU; its entries stay there."""
    topology, rows, size = graph.topology, graph.topology.out, graph.num_vertices
    xp = topology.xp
    if weight is None:
        values = xp.ones(rows.targets.size, np.int64)
    else:
        values = topology.slot_values(graph.edge[weight], "out")
    made = DeviceMatrix(xp, (size, size), values, rows.offsets, rows.targets)
    same = (rows.targets[1:] == rows.targets[:-1]) & (made.rows[1:] == made.rows[:-1])
    if count_true(same):
        raise ValueError(PARALLEL)
    store = MatrixStore.on_device(graph.device, made)
    if not graph.directed:
        store._twin = store
    return Matrix._from_store(store, lookup_dtype(np.dtype(values.dtype)), name)


def to_graph(A: Any, *, keep: Any = "both") -> Any:
    """Return a square matrix as a directed `weft.Graph` with the values as weights.

    Arrays are shared where the matrix has columns of 32 bits, as one made by `from_graph` has.

    Examples
    --------
    >>> import weft.graphblas as gb
    >>> gb.io.to_graph(gb.Matrix.from_coo([0, 1], [1, 0], [2.0, 3.0])).num_edges
    2
    """
    from weft.graph.graph import Graph
    from weft.topology.adjacency import Adjacency
    from weft.topology.topology import Topology

    if A.nrows != A.ncols:
        raise DimensionMismatch(f"A graph needs a square matrix; the shape is {A.shape}.")
    store = A._entries
    targets = np.asarray(store.cols).astype(np.int32, copy=False)
    offsets = np.asarray(store.indptr).astype(np.int64, copy=False)
    topology = Topology.from_sorted(Adjacency(offsets, targets), directed=True, keep=keep)
    graph = Graph(topology)
    graph.edge["weight"] = np.ascontiguousarray(store.values)
    return graph


def __getattr__(name: str) -> Any:
    from weft.graphblas.left_out import refuse

    refuse("weft.graphblas.io", name)
