"""Between graphs and other libraries: SciPy, NetworkX, pandas, Arrow, and tensors by DLPack.

The libraries are imported when they are first needed; only SciPy is always there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack

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
    """The options that all builders share, see `Graph.from_edges`."""

    duplicates: Duplicates
    self_loops: SelfLoops
    keep: Keep
    index_dtype: DTypeLike | None
    device: str | Device | None


class Interchange:
    """The methods of a graph that take it from other libraries and hand it to them."""

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
            Stored entries are edges, zeros among them too.
        directed : bool
            If False, the matrix must be symmetric; its upper triangle is taken.
        weighted : bool
            Whether the entries become weights. Those of a matrix of bool never do.
        duplicates : {"keep", "first", "sum", "min", "max"}
            What becomes of entries stored more than once; they are summed as SciPy does.
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
            If the matrix is not sparse, square and, for `directed=False`, symmetric.

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
        SciPy takes as their sum; `sum_duplicates()` of the result merges them.

        Returns
        -------
        scipy.sparse.csr_array
            In host memory, wherever the graph is.

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
        """Build a graph from one of NetworkX; isolated nodes, self-loops, parallel edges included.

        Nodes that are the integers from 0 on are vertex numbers; all others become labels.

        Parameters
        ----------
        network : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
        weight : str, optional
            The edge attribute that becomes the weight, if an edge has it; edges without it have
            the weight 1. None for no weights.
        vertex_columns, edge_columns : list of str, optional
            The attributes that become columns. By default all that are numbers, with NaN where an
            item lacks one; what no column can hold (text) is left out.
        **options
            `duplicates`, `self_loops`, `keep`, `index_dtype` and `device`, as in `from_edges`.

        Returns
        -------
        Graph

        Raises
        ------
        GraphError
            If it is no graph of NetworkX, or an attribute that was asked for is not a number.

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
        """Return the graph as one of NetworkX, nodes named by the labels, columns as attributes.

        Parameters
        ----------
        multigraph : bool, optional
            Whether it is a multigraph; by default if there are parallel edges. With False the last
            of several parallel edges is left.

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

        Integers from 0 on are vertex numbers, unless they are too far apart (see `from_edges`). Any
        other ids (text, keys, dates, tuples) become labels, in the order in which they appear.

        Parameters
        ----------
        edges : pandas.DataFrame
            One row per edge.
        source, target : str
            The columns with the ends of the edges.
        weight : str, optional
            The column with the weights; `"weight"` may be missing. None for no weights.
        vertices : pandas.DataFrame, optional
            One row per vertex, isolated ones included; its order is that of the vertices.
        vertex : str, optional
            The column of `vertices` with the ids; by default its first.
        vertex_columns, edge_columns : list of str, optional
            The columns that are kept; by default all others that hold numbers.
        directed : bool
            If False, an edge runs both ways and is given once.
        labels : bool, optional
            True makes labels of all ids, False of none.
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
        return cls._from_tables(
            table, known, source, target, weight, vertex, vertex_columns, edge_columns,
            directed, labels, options,
        )  # fmt: skip

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

        Tables of PyArrow, Polars, DuckDB, pandas and others have it (`__arrow_c_stream__`).

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
            If it is no such table, or a column or an id is missing.

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
        return cls._from_tables(
            table, known, source, target, weight, vertex, vertex_columns, edge_columns,
            directed, labels, options,
        )  # fmt: skip

    @classmethod
    def _from_tables(
        cls,
        edges: TableLike,
        vertices: TableLike | None,
        source: Any,
        target: Any,
        weight: Any,
        vertex: Any,
        vertex_columns: Iterable[str] | None,
        edge_columns: Iterable[str] | None,
        directed: bool,
        labels: bool | None,
        options: BuildOptions,
    ) -> Self:
        """Build from tables of any library."""
        held: dict[str, Array] = {}
        if vertices is not None:
            if vertex is None and not vertices.names:
                raise GraphError("vertices has no columns. Expected one with the ids at least.")
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
        """Return a data frame with one row per edge: both ends (labels, if any) and all columns.

        A vector column x becomes the columns x[0], x[1], ...; `from_pandas` joins them again.
        `frame()` has the vertices.

        Parameters
        ----------
        source, target : str
            What the columns with the ends are called.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        GraphError
            If an edge column is called so as well.

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
            What an algorithm returned: arrays with one row per vertex. Those of a named tuple, a
            mapping or a state have their names, an array is called `"value"`. Without it, and
            without `fields`, the vertex columns.
        name : str, optional
            What the first column is called, if not `"label"` or `"vertex"`.
        **fields
            Arrays by name.

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

        Takes tensors of PyTorch, JAX, TensorFlow, CuPy, NumPy and all others that have
        `__dlpack__`. Those on a GPU give a graph on that GPU, and do not pass through the host.

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
        """Build a graph from `edge_index` and `edge_weight` as PyTorch Geometric names them.

        As `from_dlpack`; a tensor that needs a gradient is detached. An undirected graph of PyTorch
        Geometric holds every edge both ways: it is a directed one here, and `to_undirected` makes
        one edge of each pair.

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
    """Return the options with their defaults; says which one is not known."""
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
            f"The column {name!r} does not hold numbers. Expected integers, float32 or float64 as "
            "weights; convert it, or pass weight=None."
        )
    return values
