"""Graphs made of matrices, data frames and lists; their edges stay arrays (see `unfilled`)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any, TypeVar

import networkx as nx
import numpy as np

from weft.graph.interop.tables import optional
from weft.networkx.insertion import add_edges
from weft.networkx.network import Network, Structure
from weft.networkx.unfilled import unfilled

Array = np.ndarray[Any, Any]
Function = TypeVar("Function", bound=Callable[..., Any])


def refused_by(check: Callable[[dict[str, Any]], str | None]) -> Callable[[Function], Function]:
    """Attach to a function what says of its arguments why weft cannot run it."""

    def attach(function: Function) -> Function:
        function.refusal = check  # type: ignore[attr-defined]
        return function

    return attach


def _kind_refusal(given: dict[str, Any]) -> str | None:
    create_using = given["create_using"]
    if create_using is None or create_using in (nx.Graph, nx.DiGraph):
        return None
    return "create_using= is neither nx.Graph nor nx.DiGraph"


def _built(
    us: Array,
    vs: Array,
    nodes: list[Any],
    attributes: dict[Any, Array],
    create_using: Any,
    node_data: list[dict[Any, Any]] | None = None,
) -> Any:
    added = add_edges(us, vs, len(nodes), create_using is nx.DiGraph)
    columns = {name: added.last(values) for name, values in attributes.items()}
    structure = Structure(added.rows(nodes))
    return unfilled(Network(structure, attributes=columns, node_data=node_data))


def _check_square(shape: tuple[int, int]) -> None:
    if shape[0] != shape[1]:
        raise nx.NetworkXError(f"Adjacency matrix not square: nx,ny={shape}")


def _entries(matrix: Any) -> tuple[Array, Array, Array]:
    """Return rows, columns and values of a sparse matrix in the order in which NetworkX does."""
    if matrix.format == "csr":
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        return rows, matrix.indices, matrix.data
    if matrix.format == "csc":
        columns = np.repeat(np.arange(matrix.shape[1]), np.diff(matrix.indptr))
        return matrix.indices, columns, matrix.data
    matrix = matrix.tocoo()
    return matrix.row, matrix.col, matrix.data


def _matrix_refusal(given: dict[str, Any]) -> str | None:
    if getattr(given["A"], "format", None) == "dok":
        return "the matrix is a dictionary of keys"
    return _kind_refusal(given)


@refused_by(_matrix_refusal)
def from_scipy_sparse_array(
    A: Any, parallel_edges: bool = False, create_using: Any = None, edge_attribute: Any = "weight"
) -> Any:
    """The graph of an adjacency matrix."""
    _check_square(A.shape)
    us, vs, values = _entries(A)
    return _built(us, vs, list(range(A.shape[0])), {edge_attribute: values}, create_using)


def _array_refusal(given: dict[str, Any]) -> str | None:
    matrix, nodes = given["A"], given["nodelist"]
    if getattr(matrix, "ndim", 0) == 2 and matrix.dtype.kind not in "fiub":
        return "the entries of the matrix are not numbers"
    if nodes is not None and len(set(nodes)) < len(nodes):
        return "a node is given twice"
    return _kind_refusal(given)


@refused_by(_array_refusal)
def from_numpy_array(
    A: Array,
    parallel_edges: bool = False,
    create_using: Any = None,
    edge_attr: Any = "weight",
    *,
    nodelist: Any = None,
) -> Any:
    """The graph of a dense adjacency matrix."""
    if A.ndim != 2:
        raise nx.NetworkXError(f"Input array must be 2D, not {A.ndim}")
    _check_square((A.shape[0], A.shape[1]))
    if nodelist is not None and len(nodelist) != A.shape[0]:
        raise ValueError("nodelist must have the same length as A.shape[0]")
    nodes = list(range(A.shape[0])) if nodelist is None else list(nodelist)
    us, vs = np.nonzero(A)
    plain = edge_attr is None or edge_attr is False
    return _built(us, vs, nodes, {} if plain else {edge_attr: np.asarray(A)[us, vs]}, create_using)


def _sides_refusal(given: dict[str, Any]) -> str | None:
    top, bottom = given["row_order"], given["column_order"]
    if (top is None) != (bottom is None):
        return "nodes are given for one side alone"
    if top is not None and len({*top, *bottom}) < len(top) + len(bottom):
        return "a node is given twice"
    return _matrix_refusal(given)


@refused_by(_sides_refusal)
def from_biadjacency_matrix(
    A: Any,
    create_using: Any = None,
    edge_attribute: Any = "weight",
    *,
    row_order: Any = None,
    column_order: Any = None,
) -> Any:
    """The bipartite graph of a matrix between two sets."""
    n, m = A.shape
    for given, size, side in ((row_order, n, "row"), (column_order, m, "column")):
        if given is not None and len(given) != size:
            number = "rows" if side == "row" else "columns"
            raise ValueError(
                f"Length of {side}_order does not match number of {number} in A ({size})"
            )
    top = range(n) if row_order is None else row_order
    bottom = range(n, n + m) if column_order is None else column_order
    nodes = [*top, *bottom]
    us, vs, values = _entries(A)
    sides = [{"bipartite": 0} for _ in range(n)] + [{"bipartite": 1} for _ in range(m)]
    return _built(us, vs.astype(np.int64) + n, nodes, {edge_attribute: values}, create_using, sides)


def _lists_refusal(given: dict[str, Any]) -> str | None:
    d = given["d"]
    if not isinstance(d, dict) or not all(isinstance(v, list | tuple | dict) for v in d.values()):
        return "the neighbours are no lists"
    return _kind_refusal(given)


@refused_by(_lists_refusal)
def from_dict_of_lists(d: Any, create_using: Any = None) -> Any:
    """The graph of lists of neighbours."""
    rows = list(d.values())
    place = {node: row for row, node in enumerate(dict.fromkeys(chain(d, *rows)))}
    targets = np.fromiter(map(place.__getitem__, chain.from_iterable(rows)), np.int64)
    sources = np.repeat(np.arange(len(rows)), np.fromiter(map(len, rows), np.int64, len(rows)))
    return _built(sources, targets, list(place), {}, create_using)


def _frame_refusal(given: dict[str, Any]) -> str | None:
    infer_dtype = optional("pandas", "pandas", "data frames").api.types.infer_dtype

    df, ends = given["df"], [given["source"], given["target"]]
    if not all(name in df.columns for name in ends):
        return "a column is missing"
    kinds = {infer_dtype(df[name], skipna=False) for name in ends}
    if kinds not in ({"integer"}, {"string"}):
        return "nodes are neither all integers nor all text"
    return _kind_refusal(given)


@refused_by(_frame_refusal)
def from_pandas_edgelist(
    df: Any,
    source: Any = "source",
    target: Any = "target",
    edge_attr: Any = None,
    create_using: Any = None,
    edge_key: Any = None,
) -> Any:
    """The graph of the rows of a data frame."""
    pd = optional("pandas", "pandas", "data frames")

    names = _attribute_columns(df, [source, target], edge_attr)
    ends = np.stack([np.asarray(df[name]) for name in (source, target)], axis=1).ravel()
    codes, nodes = pd.factorize(ends)
    attributes = {}
    for name in names:
        values = np.asarray(df[name])
        if values.dtype.kind not in "biuf":
            values = np.empty(len(df), object)
            values[:] = list(df[name])
        attributes[name] = values
    return _built(codes[::2], codes[1::2], nodes.tolist(), attributes, create_using)


def _attribute_columns(df: Any, ends: list[Any], edge_attr: Any) -> list[Any]:
    """Return the columns that become attributes."""
    if edge_attr is None:
        return []
    if edge_attr is True:
        names = [name for name in df.columns if name not in ends]
    else:
        names = list(edge_attr) if isinstance(edge_attr, list | tuple) else [edge_attr]
    if not names:
        raise nx.NetworkXError(f"Invalid edge_attr argument: No columns found with name: {names}")
    try:
        missing = [name for name in names if name not in df.columns]
    except TypeError:
        missing = names
    if missing:
        raise nx.NetworkXError(f"Invalid edge_attr argument: {edge_attr}")
    return names
