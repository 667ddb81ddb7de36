"""Graph methods that convert from and to SciPy, NetworkX, pandas, Arrow and DLPack tensors.

Libraries are imported when first needed; all but SciPy are optional.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from weft.arrays.device import Device, to_host
from weft.errors import ConfigError, GraphError, unknown
from weft.graph.build import Duplicates, SelfLoops
from weft.graph.columns import EdgeColumns, VertexColumns
from weft.graph.interop.dlpack import read_tensor, tensor_ends
from weft.graph.interop.networkx import read_network, write_network
from weft.graph.interop.scipy import adjacency_matrix, matrix_entries, upper_triangle
from weft.graph.interop.tables import (
    ArrowTable,
    PandasTable,
    TableLike,
    check_free,
    check_there,
    fields_of,
    numbered_edges,
    optional,
    per_vertex,
    read_columns,
    spread,
)
from weft.graph.labels import Labels
from weft.topology.adjacency import Array
from weft.topology.topology import Keep, Topology


class BuildOptions(TypedDict, total=False):
    """Options shared by all builders; see `Graph.from_edges`."""

    duplicates: Duplicates
    self_loops: SelfLoops
    keep: Keep
    index_dtype: DTypeLike | None
    device: str | Device | None


class TableLayout(NamedTuple):
    """Which columns of the edge and vertex tables to use; see `Graph.from_pandas`."""

    source: Any
    target: Any
    weight: Any
    vertex: Any
    vertex_columns: Iterable[str] | None
    edge_columns: Iterable[str] | None


class Interchange:
    """The conversion methods of a graph."""

    _topology: Topology
    _vertex: VertexColumns
    _edge: EdgeColumns
    _labels: Labels | None

    if TYPE_CHECKING:

        @classmethod
        def from_edges(cls, *args: Any, **options: Any) -> Self: ...
        @classmethod
        def _from_numbered(cls, *args: Any, **options: Any) -> Self: ...
        def to_edges(self, *, labels: bool = False) -> Any: ...

    @classmethod
    def from_scipy(
        cls,
        matrix: Any,
        *,
        directed: bool = True,
        weighted: bool = True,
        duplicates: Duplicates = "sum",
        self_loops: SelfLoops = "keep",
        keep: Keep = "both",
        index_dtype: DTypeLike | None = None,
        device: str | Device | None = None,
        labels: ArrayLike | None = None,
    ) -> Self:
        """Build a graph from a square sparse matrix: entry (i, j) is the edge i -> j.

        Parameters
        ----------
        matrix : scipy.sparse matrix or array
            Every stored entry is an edge, including explicit zeros.
        directed : bool
            If False, the matrix must be symmetric; only its upper triangle is used.
        weighted : bool
            Whether the entries become weights. Boolean entries never do.
        duplicates : {"keep", "first", "sum", "min", "max"}
            How to treat entries stored more than once; by default they are summed, as in SciPy.
        self_loops, keep, index_dtype, device
            As in `from_edges`.
        labels : array_like, optional
            The label of each row.

        Returns
        -------
        Graph

        Raises
        ------
        GraphError
            Unless the matrix is sparse, square and, with `directed=False`, symmetric.

        Examples
        --------
        >>> import scipy.sparse
        >>> import weft
        >>> weft.Graph.from_scipy(scipy.sparse.csr_array([[0, 2.5], [1.0, 0]])).edge["weight"]
        array([2.5, 1. ])
        """
        src, dst, data, n = matrix_entries(matrix)
        weight: Array | None = data if weighted and data.dtype.kind != "b" else None
        if weight is None and duplicates == "sum":
            duplicates = "first"
        if not directed:
            src, dst, weight = upper_triangle(src, dst, weight, n, duplicates)
        return cls.from_edges(
            src,
            dst,
            weight,
            num_vertices=n,
            directed=directed,
            duplicates=duplicates,
            self_loops=self_loops,
            keep=keep,
            index_dtype=index_dtype,
            device=device,
            labels=False if labels is None else labels,
        )

    def to_scipy(self) -> Any:
        """Return the adjacency matrix: entry (i, j) is the weight of the edge i -> j, or 1.0.

        An undirected graph gives a symmetric matrix. Parallel edges stay separate entries, which
        SciPy treats as their sum; `sum_duplicates()` on the result merges them.

        Returns
        -------
        scipy.sparse.csr_array
            Always in host memory.

        Examples
        --------
        >>> import weft
        >>> weft.Graph.from_edges([0, 1], [1, 2], [5, 7]).to_scipy().toarray()
        array([[0, 5, 0],
               [0, 0, 7],
               [0, 0, 0]])
        """
        return adjacency_matrix(
            self._topology, self._edge.storage("weight") if "weight" in self._edge else None
        )

    @classmethod
    def from_networkx(
        cls,
        network: Any,
        *,
        weight: str | None = "weight",
        vertex_columns: Iterable[str] | None = None,
        edge_columns: Iterable[str] | None = None,
        **options: Unpack[BuildOptions],
    ) -> Self:
        """Build a graph from a NetworkX graph, with isolated nodes, self-loops and parallel edges.

        Nodes 0, 1, 2, ... become vertex numbers; any other nodes become labels.

        Parameters
        ----------
        network : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
        weight : str, optional
            The edge attribute to use as weight, if any edge has it; edges without it get weight 1.
            None ignores weights.
        vertex_columns, edge_columns : list of str, optional
            The attributes that become columns. By default all numeric ones, with NaN for missing
            values; others, such as text, are skipped.
        **options
            `duplicates`, `self_loops`, `keep`, `index_dtype` and `device`, as in `from_edges`.

        Returns
        -------
        Graph

        Raises
        ------
        GraphError
            If it is not a NetworkX graph, or a selected attribute is not numeric.

        Examples
        --------
        >>> import networkx as nx
        >>> import weft
        >>> network = nx.Graph([("Ada", "Bob", {"weight": 2.5})])
        >>> network.add_node("Eve", age=31)
        >>> g = weft.Graph.from_networkx(network)
        >>> g.labels.tolist(), g.edge["weight"], g.vertex["age"]
        (['Ada', 'Bob', 'Eve'], array([2.5]), array([nan, nan, 31.]))
        """
        numbered, vertex, edge = read_network(network, weight, vertex_columns, edge_columns)
        return cls._from_numbered(
            numbered, edge, vertex=vertex, directed=network.is_directed(), **_built(options)
        )

    def to_networkx(self, *, multigraph: bool | None = None) -> Any:
        """Return the graph as a NetworkX graph, with labels as nodes and columns as attributes.

        Parameters
        ----------
        multigraph : bool, optional
            Whether to return a multigraph; by default only if there are parallel edges. With False,
            only the last of several parallel edges is kept.

        Returns
        -------
        networkx.Graph, DiGraph, MultiGraph or MultiDiGraph

        Examples
        --------
        >>> import weft
        >>> g = weft.Graph.from_edges(["Ada", "Bob"], ["Bob", "Eve"], [1, 2], directed=False)
        >>> g.to_networkx()["Bob"]
        AtlasView({'Ada': {'weight': 1}, 'Eve': {'weight': 2}})
        """
        return write_network(self, multigraph)

    @classmethod
    def from_pandas(
        cls,
        edges: Any,
        source: Any = "source",
        target: Any = "target",
        weight: Any = "weight",
        *,
        vertices: Any = None,
        vertex: Any = None,
        vertex_columns: Iterable[str] | None = None,
        edge_columns: Iterable[str] | None = None,
        directed: bool = True,
        labels: bool | None = None,
        **options: Unpack[BuildOptions],
    ) -> Self:
        """Build a graph from a data frame with one row per edge.

        Non-negative integers are vertex numbers, unless they are too sparse (see `from_edges`).
        Any other ids (text, keys, dates, tuples) become labels, in order of appearance.

        Parameters
        ----------
        edges : pandas.DataFrame
            One row per edge.
        source, target : str
            The columns with the ends of the edges.
        weight : str, optional
            The column with the weights; the default may be missing. None ignores weights.
        vertices : pandas.DataFrame, optional
            One row per vertex, including isolated ones; determines the vertex order.
        vertex : str, optional
            The column of `vertices` with the ids; by default the first.
        vertex_columns, edge_columns : list of str, optional
            The columns to keep; by default all other numeric ones.
        directed : bool
            If False, each row is an undirected edge.
        labels : bool, optional
            True turns all ids into labels, False none.
        **options
            `duplicates`, `self_loops`, `keep`, `index_dtype` and `device`, as in `from_edges`.

        Returns
        -------
        Graph

        Raises
        ------
        GraphError
            If a column or an id is missing.

        Examples
        --------
        >>> import pandas as pd
        >>> import weft
        >>> edges = pd.DataFrame({"source": ["Ada", "Bob"], "target": ["Bob", "Eve"]})
        >>> g = weft.Graph.from_pandas(edges)
        >>> g.frame(weft.bfs(g, "Ada"))
          label  level  parent
        0   Ada      0       0
        1   Bob      1       0
        2   Eve      2       1
        """
        table = PandasTable(edges, "edges")
        known = None if vertices is None else PandasTable(vertices, "vertices")
        layout = TableLayout(source, target, weight, vertex, vertex_columns, edge_columns)
        return cls._from_tables(table, known, layout, directed, labels, options)

    @classmethod
    def from_arrow(
        cls,
        edges: Any,
        source: str = "source",
        target: str = "target",
        weight: str | None = "weight",
        *,
        vertices: Any = None,
        vertex: str | None = None,
        vertex_columns: Iterable[str] | None = None,
        edge_columns: Iterable[str] | None = None,
        directed: bool = True,
        labels: bool | None = None,
        **options: Unpack[BuildOptions],
    ) -> Self:
        """Build a graph from a table of edges with the Arrow PyCapsule interface.

        PyArrow, Polars, DuckDB, pandas and others provide it (`__arrow_c_stream__`).

        Parameters
        ----------
        edges : object with `__arrow_c_stream__`
            One row per edge.
        source, target, weight, vertices, vertex, vertex_columns, edge_columns, directed, labels
            As in `from_pandas`.
        **options
            `duplicates`, `self_loops`, `keep`, `index_dtype` and `device`, as in `from_edges`.

        Returns
        -------
        Graph

        Raises
        ------
        GraphError
            If it is not such a table, or a column or an id is missing.

        Examples
        --------
        >>> import pyarrow as pa
        >>> import weft
        >>> table = pa.table({"source": ["Ada", "Bob"], "target": ["Bob", "Eve"], "weight": [2, 3]})
        >>> weft.Graph.from_arrow(table).edge["weight"]
        array([2, 3])
        """
        table = ArrowTable(edges, "edges")
        known = None if vertices is None else ArrowTable(vertices, "vertices")
        layout = TableLayout(source, target, weight, vertex, vertex_columns, edge_columns)
        return cls._from_tables(table, known, layout, directed, labels, options)

    @classmethod
    def _from_tables(
        cls,
        edges: TableLike,
        vertices: TableLike | None,
        layout: TableLayout,
        directed: bool,
        labels: bool | None,
        options: BuildOptions,
    ) -> Self:
        """Build a graph from tables of any library."""
        source, target, weight, vertex, vertex_columns, edge_columns = layout
        held: dict[str, Array] = {}
        if vertices is not None:
            if vertex is None and not vertices.names:
                raise GraphError("vertices has no columns. Expected at least one with the ids.")
            vertex = vertices.names[0] if vertex is None else vertex
            check_there(vertices.names, vertex, "vertices")
            held = read_columns(
                vertices, vertex_columns, (vertex,), VertexColumns, "vertex_columns"
            )
        numbered, rows = numbered_edges(edges, source, target, labels, vertices, vertex)
        if rows is not None:
            held = {name: values[rows] for name, values in held.items()}
        columns: dict[str, Array] = {}
        if weight is not None and (weight != "weight" or weight in edges.names):
            columns["weight"] = _weights(edges, weight)
        leave = (source, target, weight, "weight")
        columns |= read_columns(edges, edge_columns, leave, EdgeColumns, "edge_columns")
        return cls._from_numbered(
            numbered, columns, vertex=held, directed=bool(directed), **_built(options)
        )

    def to_pandas(self, source: str = "source", target: str = "target") -> Any:
        """Return a data frame with one row per edge: both ends (as labels, if any) and all columns.

        A vector column x becomes the columns x[0], x[1], ...; `from_pandas` joins them again. For
        the vertices, see `frame`.

        Parameters
        ----------
        source, target : str
            Names of the columns with the ends.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        GraphError
            If an edge column has one of these names.

        Examples
        --------
        >>> import weft
        >>> weft.Graph.from_edges(["Ada", "Bob"], ["Bob", "Eve"], [0.5, 2.0]).to_pandas()
          source target  weight
        0    Ada    Bob     0.5
        1    Bob    Eve     2.0
        """
        pandas = optional("pandas", "pandas", "Data frames")
        src, dst, _ = self.to_edges(labels=True)
        columns = spread(self._edge)
        for name in (source, target):
            check_free(name, columns, "source= or target=")
        return pandas.DataFrame({source: to_host(src), target: to_host(dst), **columns})

    def frame(self, result: Any = None, /, *, name: str | None = None, **fields: Any) -> Any:
        """Return a data frame with one row per vertex: its label (or number), and values.

        Row i is vertex i.

        Parameters
        ----------
        result : array, named tuple, mapping or State, optional
            The result of an algorithm: arrays with one row per vertex. A plain array gets the
            column name `"value"`. Without `result` and `fields`, the vertex columns are used.
        name : str, optional
            Name of the first column; by default `"label"` or `"vertex"`.
        **fields
            Further arrays by name.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        GraphError
            If an array does not have one row per vertex, or the names collide.

        Examples
        --------
        >>> import weft
        >>> g = weft.Graph.from_edges(["Ada", "Bob"], ["Bob", "Eve"])
        >>> g.frame(level=weft.bfs(g, "Ada").level, degree=g.out_degree)
          label  level  degree
        0   Ada      0       1
        1   Bob      1       1
        2   Eve      2       0
        """
        pandas = optional("pandas", "pandas", "Data frames")
        n, labels = self._topology.num_vertices, self._labels
        given = dict(self._vertex) if result is None and not fields else fields_of(result)
        arrays = spread({k: per_vertex(k, v, n) for k, v in (given | fields).items()})
        first = name or ("vertex" if labels is None else "label")
        check_free(first, arrays, "name=")
        ids = np.arange(n) if labels is None else labels.values
        return pandas.DataFrame({first: ids, **arrays})

    @classmethod
    def from_dlpack(
        cls,
        edge_index: Any,
        weight: Any = None,
        *,
        num_vertices: int | None = None,
        directed: bool = True,
        labels: ArrayLike | None = None,
        **options: Unpack[BuildOptions],
    ) -> Self:
        """Build a graph from a tensor of shape (2, m): row 0 has the sources, row 1 the targets.

        Accepts tensors of PyTorch, JAX, TensorFlow, CuPy, NumPy and any library that provides
        `__dlpack__`. A tensor on a GPU gives a graph on that GPU, without a detour via the host.

        Parameters
        ----------
        edge_index : tensor of int, shape (2, m)
        weight : tensor of shape (m,), optional
        num_vertices, directed, labels
            As in `from_edges`.
        **options
            `duplicates`, `self_loops`, `keep`, `index_dtype` and `device`, as in `from_edges`.

        Returns
        -------
        Graph

        Raises
        ------
        GraphError
            If the tensors cannot be read, or have another shape.

        Examples
        --------
        >>> import numpy as np
        >>> import weft
        >>> weft.Graph.from_dlpack(np.array([[0, 1, 1], [1, 2, 0]])).num_edges
        3
        """
        src, dst = tensor_ends(edge_index)
        _built(options)
        return cls.from_edges(
            src,
            dst,
            None if weight is None else read_tensor(weight, "weight"),
            num_vertices=num_vertices,
            directed=directed,
            labels=False if labels is None else labels,
            **options,
        )

    @classmethod
    def from_torch(
        cls,
        edge_index: Any,
        edge_weight: Any = None,
        *,
        num_nodes: int | None = None,
        directed: bool = True,
        labels: ArrayLike | None = None,
        **options: Unpack[BuildOptions],
    ) -> Self:
        """Build a graph from `edge_index` and `edge_weight` in the style of PyTorch Geometric.

        Works like `from_dlpack`; tensors that require a gradient are detached. PyTorch Geometric
        stores an undirected edge in both directions, which gives a directed graph here;
        `to_undirected` merges each pair into one edge.

        Examples
        --------
        >>> import numpy as np
        >>> import weft
        >>> edge_index = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])  # or a torch.Tensor
        >>> weft.Graph.from_torch(edge_index, num_nodes=4).to_undirected()
        Graph(4 vertices, 2 edges, undirected, 56 B)
        """
        return cls.from_dlpack(
            edge_index,
            edge_weight,
            num_vertices=num_nodes,
            directed=directed,
            labels=labels,
            **options,
        )


def _built(options: BuildOptions) -> dict[str, Any]:
    """Return the options with their defaults; raise if one is unknown."""
    known = {
        "duplicates": "keep",
        "self_loops": "keep",
        "keep": "both",
        "index_dtype": None,
        "device": None,
    }
    for name in options:
        if name not in known:
            raise ConfigError(unknown("option", name, known))
    return {**known, **options}


def _weights(edges: TableLike, name: Any) -> Array:
    check_there(edges.names, name, "edges")
    values = edges.numbers(name)
    if values is None:
        raise GraphError(
            f"The column {name!r} is not numeric. Expected integers, float32 or float64 as "
            "weights; convert it, or pass weight=None."
        )
    return values
