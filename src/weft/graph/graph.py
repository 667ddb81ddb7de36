"""Graph: vertices, edges and their named columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Unpack

from numpy.typing import ArrayLike, DTypeLike

from weft.arrays.device import Device, bytes_text, device_of, read_only, to_host
from weft.config import Config
from weft.engine.frontier import Frontier, Pairs
from weft.engine.run import Run
from weft.engine.state import State
from weft.graph import emitting, execution, neighborhood, several, sparse
from weft.graph.build import (
    BuildOptions,
    Duplicates,
    SelfLoops,
    check_directed,
    checked_options,
    ends_of_pairs,
)
from weft.graph.columns import EdgeColumns, VertexColumns
from weft.graph.contraction import contracted_parts
from weft.graph.execution import loop_of
from weft.graph.guesses import no_attribute, no_item, only_of_topology
from weft.graph.interop import frames
from weft.graph.interop.dlpack import read_tensor, tensor_ends
from weft.graph.interop.igraph import igraph_parts
from weft.graph.interop.networkx import network_parts, write_network
from weft.graph.interop.scipy import adjacency_matrix, matrix_edges
from weft.graph.interop.tables import ArrowTable, PandasTable
from weft.graph.labels import (
    Labels,
    LabelsLike,
    labels_at,
    labels_of,
    number_ends,
    vertex_numbers,
)
from weft.graph.mutation import Batch, Missing, added_since, edited, update
from weft.graph.pairs import pairs_of
from weft.graph.parts import (
    Parts,
    moved_parts,
    numbered_parts,
    ordered_parts,
    reversed_parts,
    subgraph_parts,
    undirected_parts,
)
from weft.graph.prepared_cache import PreparedCache
from weft.graph.stacking import stacked_parts
from weft.graph.version import History, Version
from weft.ir.trace import monoids
from weft.report.html import columns_text, few, table_html
from weft.report.tracebacks import hides_frames
from weft.topology.adjacency import Array
from weft.topology.topology import Keep, Topology


class Edges(NamedTuple):
    """The edges of a graph as parallel arrays.

    `weight` is None if the graph has no weights.

    Examples
    --------
    >>> import weft
    >>> src, dst, weight = weft.Graph.from_edges([0, 1], [1, 2]).to_edges()
    >>> weight is None
    True
    """

    src: Array
    dst: Array
    weight: Array | None


class Graph:
    """A directed or undirected graph with named columns on its vertices and edges.

    Build one with `Graph.from_edges`, another `Graph.from_...`, `weft.read`, or a function in
    `weft.generators`. The columns `g.vertex` and `g.edge` may be assigned at any time. `update`
    changes edges in place; `add_edges` and `remove_edges` return a new graph.

    Parameters
    ----------
    topology : Topology
        The structure.
    vertex, edge : mapping of str to ndarray, optional
        Columns, in vertex order and edge-id order.
    labels : array_like, optional
        The label of each vertex.
    order : ndarray, optional
        Order of the vertices in memory, as a permutation; see `reorder`.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1, 2], [1, 2, 2, 0], weight=[1.0, 4.0, 2.0, 1.0])
    >>> g
    Graph(3 vertices, 4 edges, directed, weighted, 80 B)
    >>> g.out_degree
    array([2, 1, 1], dtype=int32)
    """

    @only_of_topology
    def __init__(
        self,
        topology: Topology,
        *,
        vertex: Mapping[str, Array] | None = None,
        edge: Mapping[str, Array] | None = None,
        labels: Labels | ArrayLike | None = None,
        order: Array | None = None,
    ) -> None:
        self._topology = topology
        self._labels = None if labels is None else labels_of(labels, topology.num_vertices)
        self._vertex = VertexColumns(topology.num_vertices, vertex, topology.device)
        self._edge = EdgeColumns(topology, edge)
        self._order = order
        self._history = History(Version(topology.num_vertices))
        self._arrangement: tuple[Topology, Topology] | None = None
        self._prepared = PreparedCache(self._vertex, self._edge)

    @classmethod
    def _of(cls, parts: Parts, history: History | None = None) -> Graph:
        """Return the graph of some parts, at the end of a history."""
        g = cls(**vars(parts))
        if history is not None:
            g._history = history
        return g

    # -- from other representations ---------------------------------------------------------------

    @classmethod
    def from_edges(  # noqa: PLR0913
        cls,
        src: ArrayLike,
        dst: ArrayLike | None = None,
        weight: ArrayLike | None = None,
        *,
        num_vertices: int | None = None,
        directed: bool = True,
        duplicates: Duplicates = "keep",
        self_loops: SelfLoops = "keep",
        keep: Keep = "both",
        index_dtype: DTypeLike | None = None,
        device: str | Device | None = None,
        labels: LabelsLike = None,
    ) -> Graph:
        """Build a graph from the two ends of every edge.

        Takes time and memory linear in the number of edges. Edges are sorted by their ends, with
        parallel edges in the order given; `to_edges` returns them in that order.

        Parameters
        ----------
        src, dst : array_like
            The vertices that each edge leaves and enters, numbered from 0; or names, which become
            labels. Without `dst`, `src` is a list of pairs, or of triples with a weight.
        weight : array_like, optional
            One integer, float32 or float64 per edge; stored as `g.edge["weight"]` in its dtype.
        num_vertices : int, optional
            The number of vertices; by default one more than the largest id.
        directed : bool
            If False, each pair is an undirected edge, and (a, b) is the same as (b, a).
        duplicates : {"keep", "first", "sum", "min", "max"}
            How to treat parallel edges: keep all, or merge them into one with the first weight, the
            sum, the minimum or the maximum (ignoring NaN). Without weights, "sum" counts the edges.
        self_loops : {"keep", "drop"}
            How to treat edges from a vertex to itself.
        keep : {"both", "out", "in"}
            Which directions of a directed graph may be stored. With "both", in-edges are stored
            once a program needs them. With "in", edges are sorted by destination.
        index_dtype : dtype, optional
            int32 or int64 for vertex ids; by default the narrower one that fits.
        device : str, optional
            The device of the graph, see `to`; by default that of the arrays, so that CuPy arrays
            give a graph on their GPU.
        labels : array_like or bool, optional
            The label of every vertex: `src` and `dst` then contain vertex numbers, or labels from
            this list unless all are integers. By default, non-integer ids, and integers too sparse
            to be vertex numbers (above 2**24 and more than 64 per edge), become labels in order of
            first appearance, in `src` and then in `dst`. True turns all ids into labels, False
            none.

        Returns
        -------
        Graph

        Raises
        ------
        GraphError
            If the arrays do not describe the edges of a graph.
        ConfigError
            If an option has an unknown value.
        DeviceError
            If the device cannot be used.

        Examples
        --------
        >>> import weft
        >>> g = weft.Graph.from_edges([0, 1, 0], [1, 0, 2], [3, 4, 5], directed=False,
        ...                           duplicates="min", num_vertices=4)
        >>> g.to_edges()
        Edges(src=array([0, 0], dtype=int32), dst=array([1, 2], dtype=int32), weight=array([3, 5]))
        >>> weft.Graph.from_edges(["Ada", "Bob"], ["Bob", "Eve"]).labels.tolist()
        ['Ada', 'Bob', 'Eve']
        >>> weft.Graph.from_edges([(0, 1), (1, 2)]).num_edges
        2
        """
        if dst is None:
            src, dst, weight = ends_of_pairs(src, weight)
        with device_of(src, dst).current():
            numbered = number_ends(src, dst, num_vertices, labels)
        parts = numbered_parts(
            numbered,
            {} if weight is None else {"weight": weight},
            device=device_of(src, dst, weight) if device is None else device,
            directed=check_directed(directed),
            duplicates=duplicates,
            self_loops=self_loops,
            keep=keep,
            index_dtype=index_dtype,
        )
        return cls._of(parts)

    @classmethod
    def from_scipy(  # noqa: PLR0913
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
    ) -> Graph:
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
        src, dst, weight, n, duplicates = matrix_edges(matrix, directed, weighted, duplicates)
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

    @classmethod
    def from_networkx(
        cls,
        network: Any,
        *,
        weight: str | None = "weight",
        vertex_columns: Iterable[str] | None = None,
        edge_columns: Iterable[str] | None = None,
        **options: Unpack[BuildOptions],
    ) -> Graph:
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
            values; a warning names the others, such as text.
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
        return cls._of(network_parts(network, weight, vertex_columns, edge_columns, options))

    @classmethod
    def from_igraph(
        cls,
        network: Any,
        *,
        weight: str | None = "weight",
        vertex_columns: Iterable[str] | None = None,
        edge_columns: Iterable[str] | None = None,
        **options: Unpack[BuildOptions],
    ) -> Graph:
        """Build a graph from an igraph graph, with isolated vertices, self-loops, parallel edges.

        Vertices keep their numbers; the vertex attribute ``name``, if there is one, gives labels.

        Parameters
        ----------
        network : igraph.Graph
        weight, vertex_columns, edge_columns, **options
            As in `from_networkx`.

        Returns
        -------
        Graph

        Raises
        ------
        GraphError
            If it is not an igraph graph, or a selected attribute is not numeric.

        Warns
        -----
        UserWarning
            If attributes are not numeric and so are left out.

        Examples
        --------
        >>> import igraph
        >>> import weft
        >>> network = igraph.Graph([(0, 1), (1, 2)], edge_attrs={"weight": [2.5, 1.0]})
        >>> weft.Graph.from_igraph(network).edge["weight"]
        array([2.5, 1. ])
        """
        return cls._of(igraph_parts(network, weight, vertex_columns, edge_columns, options))

    @classmethod
    def from_pandas(  # noqa: PLR0913
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
    ) -> Graph:
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
            The columns to keep; by default all other numeric ones. A warning names the others.
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
          label  level parent
        0   Ada      0    Ada
        1   Bob      1    Ada
        2   Eve      2    Bob
        """
        table = PandasTable(edges, "edges")
        known = None if vertices is None else PandasTable(vertices, "vertices")
        layout = frames.TableLayout(source, target, weight, vertex, vertex_columns, edge_columns)
        return cls._of(frames.table_parts(table, known, layout, bool(directed), labels, options))

    @classmethod
    def from_arrow(  # noqa: PLR0913
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
    ) -> Graph:
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
        layout = frames.TableLayout(source, target, weight, vertex, vertex_columns, edge_columns)
        return cls._of(frames.table_parts(table, known, layout, bool(directed), labels, options))

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
    ) -> Graph:
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
        return cls.from_edges(
            src,
            dst,
            None if weight is None else read_tensor(weight, "weight"),
            num_vertices=num_vertices,
            directed=directed,
            labels=False if labels is None else labels,
            **checked_options(options),
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
    ) -> Graph:
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

    # -- to other representations -----------------------------------------------------------------

    def to_edges(self, *, labels: bool = False) -> Edges:
        """Return the edges in the order of the edge columns.

        Edges are sorted by source and destination (by destination and source with `keep="in"`),
        parallel edges in the order given. An undirected edge appears once, its lower end first.

        Parameters
        ----------
        labels : bool
            Whether to return labels (in host memory) as ends if the graph has labels.

        Returns
        -------
        Edges
            New arrays `src`, `dst` and `weight` (None without weights), on the graph's device.

        Examples
        --------
        >>> import weft
        >>> weft.Graph.from_edges([2, 0], [0, 1]).to_edges().src
        array([0, 2], dtype=int32)
        """
        with self._topology.device.current():
            src, dst = (ends.copy() for ends in self._topology.edge_endpoints())
            if labels and self._labels is not None:
                src, dst = (self._labels.values[to_host(ends)] for ends in (src, dst))
            return Edges(src, dst, self._edge.storage("weight").copy() if self.weighted else None)

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
        weight = self._edge.storage("weight") if self.weighted else None
        return adjacency_matrix(self._topology, weight)

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
        return frames.edge_frame(self, source, target)

    def to_arrow(self, source: str = "source", target: str = "target") -> Any:
        """Return an Arrow table with one row per edge, with the columns of `to_pandas`.

        Parameters
        ----------
        source, target : str
            Names of the columns with the ends: labels, if the graph has any.

        Returns
        -------
        pyarrow.Table

        Raises
        ------
        GraphError
            If an edge column has one of these names, or PyArrow has no type for the labels.

        Examples
        --------
        >>> import weft
        >>> table = weft.Graph.from_edges(["Ada", "Bob"], ["Bob", "Eve"], [0.5, 2.0]).to_arrow()
        >>> table.column_names, table["target"].to_pylist()
        (['source', 'target', 'weight'], ['Bob', 'Eve'])
        """
        return frames.edge_table(self, source, target)

    def frame(self, result: Any = None, /, *, name: str | None = None, **fields: Any) -> Any:
        """Return a data frame with one row per vertex: its label (or number), and values.

        Row i is vertex i. In a graph with labels, parents (a field `parent` of vertex numbers) are
        shown by theirs; a vertex without one has a missing value.

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
        return frames.vertex_frame(self, result, fields, name)

    # -- programs ---------------------------------------------------------------------------------

    def state(self, *unnamed: object, **fields: Any) -> State:
        """Create the state that programs work on: one array per field, aligned with the vertices.

        Parameters
        ----------
        **fields
            Each a constant (`weft.full`), an array with one row per vertex, a function of v, a
            scalar (`weft.scalar`) or a parameter (`weft.parameter`). A field hides the vertex
            column of the same name: programs read and write the field, and the column stays
            unchanged. To start from its values, pass them: ``g.state(rank=g.vertex["rank"])``.

        Examples
        --------
        >>> import weft
        >>> g = weft.generators.star(3)
        >>> g.state(rank=weft.full(0.25), degree=lambda v: v.out_degree, error=weft.scalar(0.0))
        State(rank: float64, degree: int32, error=0.0)
        """
        return execution.vertex_state(self, fields, *unnamed)

    def edge_state(self, **fields: Any) -> State:
        """Create edge state: one value per arc, which edge functions may assign (``e.msg = ...``).

        Pass it to `run` and `iterate` as ``edge_state=``. Arcs are numbered in the order of the
        stored rows; an undirected edge has two. A field hides the edge column of the same name,
        which stays unchanged.

        Examples
        --------
        >>> import weft
        >>> g = weft.generators.path(3)
        >>> g.edge_state(msg=weft.full(1.0)).msg.shape
        (4,)
        """
        return execution.edge_state(self, fields)

    def frontier(self, vertices: Any = None) -> Frontier:
        """Create a frontier of vertices from ids or a mask; without an argument, of all vertices.

        Integers are vertex numbers even if the labels are integers: use
        ``g.frontier(g.vertex_of(labels))`` for these. Other ids are labels; a tuple is one label.

        Examples
        --------
        >>> import weft
        >>> g = weft.Graph.from_edges(["Ada", "Bob"], ["Bob", "Eve"])
        >>> g.frontier(["Eve", "Ada"]).tolist(), g.frontier("Bob").tolist()
        ([0, 2], [1])
        """
        made = execution.vertex_frontier(self, vertices)
        if made is not vertices:
            made.version = self._history.version
        return made

    def edge_frontier(self, arcs: Any = None) -> Frontier:
        """Create a frontier of arcs from numbers or a mask; without an argument, of all arcs."""
        return execution.arc_frontier(self, arcs)

    def pairs(self, a: Any, b: Any) -> Pairs:
        """Create a list of vertex pairs, which need not be arcs, for an edge function to run over.

        The function sees the ends of each pair as u and v, and its values in ``pairs.state(...)``
        as e; it has no ``into=``. Pass the pairs as the frontier of `run` or `emit`. Vertices are
        given by numbers, or by non-integer labels.

        Examples
        --------
        The Jaccard similarity of given pairs:

        >>> import weft
        >>> @weft.edge
        ... def jaccard(u, v, e):
        ...     shared = weft.common(u, v, lambda w: 1, weft.sum)
        ...     e.score = shared / (u.out_degree + v.out_degree - shared)
        >>> g = weft.Graph.from_edges([0, 0, 1, 1, 2], [2, 3, 2, 3, 3], directed=False)
        >>> pairs = g.pairs([0, 0], [1, 2])
        >>> found = pairs.state(score=weft.full(0.0))
        >>> changed = g.run(jaccard, g.state(), pairs, edge_state=found)
        >>> found.score
        array([1.  , 0.25])
        """
        return pairs_of(self, a, b)

    @hides_frames
    def run(  # noqa: PLR0913
        self,
        functions: Any,
        state: State,
        frontier: Any = None,
        *,
        edge_state: Any = None,
        output: str = "vertices",
        graphs: Mapping[str, Graph] | None = None,
        direction: Any = None,
        config: Config | None = None,
    ) -> Frontier:
        """Run one superstep of a function, a fold or a list; return the vertices that changed.

        Parameters
        ----------
        functions
            A function made by `weft.edge`, `weft.vertex` or `weft.fold`, or a list of them. The
            functions of a list run one after another, each on the vertices that the previous one
            changed. A function with ``on="all"`` runs on all vertices.
        state
            Made by `state`; its arrays are changed in place.
        frontier
            Where to run; by default on all vertices.
        edge_state
            Made by `edge_state`, for functions that use edge fields; with `graphs`, a dictionary of
            those of other graphs by name, that of this graph under None.
        output
            What to return: the "vertices" that changed, or a frontier of the "arcs" at which the
            last function, an edge function, ran and its condition held (that of ``weft.send``, or
            what it returns without ``into=``).
        graphs
            Other graphs of the same vertices by name, for functions marked by `weft.over` and for
            `weft.common`.
        direction, config
            As for `iterate`.

        Examples
        --------
        >>> import weft
        >>> @weft.edge(into="count", reduce=weft.sum)
        ... def arrive(u, v, e):
        ...     return 1
        >>> g = weft.Graph.from_edges([0, 1, 1], [2, 2, 0])
        >>> state = g.state(count=weft.full(0))
        >>> g.run(arrive, state).tolist()
        [0, 2]
        >>> state.count
        array([1, 0, 2])
        """
        if graphs is None and output == "vertices":
            return execution.run(self, functions, state, frontier, edge_state, config, direction)
        how = (output, graphs, edge_state, config, direction)
        return several.run_as(self, functions, state, frontier, how)

    @hides_frames
    def collect(
        self,
        function: Any,
        state: State,
        frontier: Any = None,
        *,
        edge_state: State | None = None,
        direction: Any = None,
        config: Config | None = None,
    ) -> tuple[Any, ...]:
        """Send messages along edges; return their targets, ascending, and the combined messages.

        The messages to each vertex are combined in accumulators that start from the identity and
        are cleared only where touched. The fields named by ``into=`` only determine dtypes and
        shapes: they are neither read nor changed. So a call costs time in the arcs of its frontier,
        not in the size of the graph.

        Parameters
        ----------
        function
            An edge function made by `weft.edge` with ``into=``. Neither it nor its ``accept`` may
            read the fields that it sends into. Its ``active`` is ignored.
        state
            Made by `state`.
        frontier
            The sending vertices; by default all.
        edge_state, direction, config
            As for `run`.

        Returns
        -------
        tuple of arrays
            The vertices, then one array of values for each field of ``into=``.

        Examples
        --------
        A sparse vector times a matrix:

        >>> import weft
        >>> @weft.edge(into="y", reduce=weft.sum)
        ... def spread(u, v, e):
        ...     return u.x * e.weight
        >>> g = weft.Graph.from_edges([0, 0, 1, 3], [2, 4, 2, 0], [5.0, 1.0, 2.0, 7.0])
        >>> state = g.state(x=[1.0, 10.0, 0.0, 0.0, 0.0], y=weft.full(0.0))
        >>> g.collect(spread, state, [0, 1])
        (array([2, 4], dtype=int32), array([25.,  1.]))
        """
        return sparse.collect(self, function, state, frontier, edge_state, config, direction)

    @hides_frames
    def emit(
        self,
        function: Any,
        state: State | None = None,
        frontier: Any = None,
        *,
        edge_state: State | None = None,
        graphs: Mapping[str, Graph] | None = None,
        config: Config | None = None,
    ) -> tuple[Any, ...]:
        """Run a function that calls `weft.emit`; return its records, one array for every part.

        The function runs twice: first to count the records of every arc or vertex, then to write
        them at the resulting offsets. It may not write anything else. Records are in the order of
        arcs or vertices, then of the calls there, in every run and on every device.

        Parameters
        ----------
        function
            Made by `weft.edge` without ``into=``, or by `weft.vertex`.
        state
            Made by `state`; not needed by functions that read no fields.
        frontier
            Where to run: vertices or, for an edge function, arcs; by default everywhere.
        edge_state, config
            As for `run`.
        graphs
            Other graphs of the same vertices by name, whose rows `weft.common` reads.

        Raises
        ------
        DeviceMemoryError
            If the records do not fit into memory.

        Examples
        --------
        All triangles, each once, and the graph of the edges in triangles:

        >>> import weft
        >>> @weft.edge
        ... def triangles(u, v, e):
        ...     ordered = lambda w: weft.emit(u.id, v.id, w.id, when=(u.id < v.id) & (v.id < w.id))
        ...     weft.common(u, v, ordered)
        >>> g = weft.Graph.from_edges([0, 1, 0, 2, 3], [1, 2, 2, 3, 4], directed=False)
        >>> a, b, c = g.emit(triangles)
        >>> a, b, c
        (array([0]), array([1]), array([2]))
        """
        state = self.state() if state is None else state
        return emitting.emit(self, function, state, frontier, edge_state, config, graphs)

    @hides_frames
    def iterate(  # noqa: PLR0913
        self,
        functions: Any,
        state: State,
        frontier: Any = None,
        *,
        edge_state: Any = None,
        until: Callable[..., Any] | None = None,
        max_iter: int | None = None,
        refill: Any = (),
        trail: bool = False,
        next_threshold: Callable[..., Any] | None = None,
        change_driven: bool | str | None = None,
        tolerance: float = 0.0,
        graphs: Mapping[str, Graph] | None = None,
        direction: Any = None,
        config: Config | None = None,
    ) -> Run:
        """Run supersteps until nothing changes, `until` holds or `max_iter` is reached.

        The whole loop runs inside the backend. An empty frontier ends it, unless `until` is given
        and a function runs with ``on="all"``: then the loop continues until the condition holds. If
        it never does and there is no `max_iter`, the loop does not end; Ctrl-C stops it.

        Parameters
        ----------
        functions
            A function made by `weft.edge`, `weft.vertex` or `weft.fold`, or a list of them, each of
            which runs on the vertices that the previous one changed, as in `run`.
        state
            Made by `state`; its arrays are changed in place.
        frontier
            The first frontier; by default all vertices.
        edge_state
            Made by `edge_state`, for functions that use edge fields.
        until
            A condition on scalars of the state, tested after each superstep. ``Run.converged`` then
            says whether it holds at the end.
        max_iter
            Maximum number of supersteps. A superstep of an edge function with a priority processes
            the members of the frontier that are due, and those that become due during the run; the
            others stay in the frontier, so that iterating from ``Run.frontier`` continues in order
            and reaches the same result. Which members are due depends on the device and the
            threads: if intermediate states matter, use ``Config(ordering=False)`` or
            ``Config(deterministic=True)``.
        refill
            Steps to run over all vertices when the frontier is empty; the vertices where the last
            one returns true form the new frontier. The loop ends if there are none, even if `until`
            does not hold. See ``shrinks=`` of `weft.vertex` for rounds over what is left.
        trail
            Whether to keep the frontiers of all supersteps, for `replay`.
        next_threshold
            ``next_threshold(old, stats)`` returns the next threshold of a step with a priority.
        change_driven
            Short for ``Config(change_driven=...)``: keep the values that a vertex function gathers,
            and send only the differences of changed vertices. ``True`` raises where that is not
            possible; ``"auto"`` then runs normally. Messages must be finite, since an infinity
            cannot be subtracted again.
        tolerance
            Accuracy of a change-driven run: smaller changes are not sent on, and at the end another
            full step would move no feature by more than twice this value.
        graphs
            Other graphs of the same vertices by name, for functions marked by `weft.over`; then
            `edge_state` may be a dictionary, as for `run`. The loop then runs on the host:
            consecutive functions over one graph form a program of their own in every superstep.
        direction
            "push", "pull", "auto", a rule or ``fn(stats)``; short for ``Config(direction=...)``.
        config
            How to run it.

        Returns
        -------
        Run
            The number of supersteps, whether the run converged, the last frontier, the scalars.

        Raises
        ------
        TraceError
            If the last function only writes through ``.at(i)``, which puts no vertex into the next
            frontier, and neither `until` nor `refill` is given: set ``v.changed``.

        Examples
        --------
        Differences of integer sums are exact, so a change-driven run gives the same result:

        >>> import weft
        >>> @weft.vertex
        ... def count(v):
        ...     v.paths = v.own + v.gather(lambda u, e: u.paths, weft.sum)
        >>> g = weft.Graph.from_edges([0, 0, 1, 2], [1, 2, 3, 3])
        >>> state = g.state(own=[1, 0, 0, 0], paths=weft.full(0))
        >>> g.iterate(count, state, change_driven=True).steps
        4
        >>> state.paths
        array([1, 1, 1, 2])
        """
        loop = loop_of(
            edge_state, until, max_iter, refill, trail, next_threshold, change_driven, tolerance
        )
        if graphs is not None:
            parts = several.parts_of(self, functions, graphs, edge_state)
            return several.iterate(parts, state, frontier, loop, config, direction)
        return execution.iterate(self, functions, state, frontier, loop, config, direction)

    @hides_frames
    def replay(
        self,
        functions: Any,
        state: State,
        trail: Sequence[Array],
        *,
        edge_state: State | None = None,
        direction: Any = None,
        config: Config | None = None,
    ) -> None:
        """Run functions over the frontiers of a trail, last to first.

        With ``trail[::-1]``, they run first to last.
        """
        execution.replay(self, functions, state, trail, edge_state, config, direction)

    # -- changes ----------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """Number of changes made to the graph so far; `update` adds one."""
        return self._history.version.number

    def add_edges(
        self,
        src: ArrayLike,
        dst: ArrayLike | None = None,
        weight: ArrayLike | None = None,
        *,
        columns: Mapping[str, ArrayLike] | None = None,
        num_vertices: int | None = None,
    ) -> Graph:
        """Return a graph with additional edges; this graph is unchanged.

        Takes time linear in the vertices and edges, and sorts only the new edges. Both graphs share
        what did not change. Adding an existing edge creates a parallel one.

        Parameters
        ----------
        src, dst : array_like
            The ends of the new edges, by number, or by label if the graph has labels. An unknown
            label creates a new vertex after the existing ones. Instead of the two, one list of
            pairs (source, destination) or triples with a weight.
        weight : array_like, optional
            The weights of the new edges, or one for all: required if the graph has weights.
        columns : mapping of str to array_like, optional
            Values for every other edge column of the graph, per edge or one for all.
        num_vertices : int, optional
            The number of vertices afterwards, to add vertices to a graph without labels.

        Returns
        -------
        Graph
            Edges are renumbered in the order of `to_edges`; a new edge comes after those parallel
            to it. Vertex columns of new vertices hold 0, False or NaN.

        Raises
        ------
        GraphError
            If a vertex does not exist, or values for an edge column are missing.

        Examples
        --------
        >>> import weft
        >>> g = weft.Graph.from_edges([0, 1], [1, 2], weight=[1.0, 2.0])
        >>> more = g.add_edges([0, 2], [2, 0], weight=[5.0, 6.0])
        >>> more.to_edges().dst, more.edge["weight"], g.num_edges
        (array([1, 2, 2, 0], dtype=int32), array([1., 5., 2., 6.]), 2)

        >>> g = weft.Graph.from_edges(["Ada"], ["Bob"]).add_edges(["Bob"], ["Eve"])
        >>> g.labels.tolist()
        ['Ada', 'Bob', 'Eve']
        """
        added = {
            "src": src,
            "dst": dst,
            "weight": weight,
            "columns": columns,
            "num_vertices": num_vertices,
        }
        return edited(self, added, None, "raise")[0]

    def remove_edges(
        self,
        src: ArrayLike,
        dst: ArrayLike | None = None,
        weight: ArrayLike | None = None,
        *,
        missing: Missing = "raise",
    ) -> Graph:
        """Return a graph without the edges between some pairs of vertices; this one is unchanged.

        Takes time linear in the vertices and edges. All vertices are kept.

        Parameters
        ----------
        src, dst : array_like
            The ends of the edges, by number, or by label if the graph has labels. All parallel
            edges of a pair are removed; in an undirected graph, (a, b) and (b, a) are the same.
            Instead of the two, one list of pairs (source, destination).
        weight : array_like, optional
            Remove only edges of this weight: one number per pair, or one for all.
        missing : {"raise", "ignore"}
            Whether to raise an error for pairs without such an edge.

        Returns
        -------
        Graph
            Edges are renumbered in the order of `to_edges`.

        Raises
        ------
        GraphError
            If edges do not exist; the message says how many and which.

        Examples
        --------
        >>> import weft
        >>> g = weft.Graph.from_edges([0, 0, 1], [1, 1, 2], weight=[1, 2, 3])
        >>> g.remove_edges([0], [1]).num_edges, g.remove_edges([0], [1], weight=2).num_edges
        (1, 2)
        >>> g.remove_edges([2], [0], missing="ignore").num_edges
        3
        """
        removed = {"src": src, "dst": dst, "weight": weight}
        return edited(self, None, removed, missing)[0]

    def update(
        self, add: Batch | None = None, remove: Batch | None = None, *, missing: Missing = "raise"
    ) -> None:
        """Remove some edges, then add others, in place.

        Increases `version` by one. States made before belong to the old version, and using one
        raises an error. Graphs derived from this one, such as copies on a device, are unchanged.

        Parameters
        ----------
        add : tuple or mapping, optional
            ``(src, dst)``, ``(src, dst, weight)``, or the arguments of `add_edges` by name.
        remove : tuple or mapping, optional
            The same for `remove_edges`.
        missing : {"raise", "ignore"}
            Whether to raise an error if an edge to remove does not exist.

        Raises
        ------
        GraphError
            As in `add_edges` and `remove_edges`; the graph is then unchanged.

        Examples
        --------
        >>> import weft
        >>> g = weft.Graph.from_edges([0, 1], [1, 2])
        >>> g.update(add=([2], [0]), remove=([0], [1]))
        >>> g.to_edges().src.tolist(), g.version
        ([1, 2], 1)
        """
        update(self, add, remove, missing)

    def added_since(self, earlier: Graph | int) -> tuple[Array, Array]:
        """Return the ends of all edges added since an earlier version.

        Parameters
        ----------
        earlier : Graph or int
            A graph from which this one was derived by `add_edges` (and `to`), or the value of
            `version` before `update`.

        Returns
        -------
        src, dst : ndarray
            Vertex numbers, in the order of insertion.

        Raises
        ------
        GraphError
            If edges were removed since, or this graph is not derived from the earlier one.

        Examples
        --------
        >>> import weft
        >>> g = weft.generators.path(4)
        >>> g.add_edges([3], [0]).add_edges([1], [3]).added_since(g)
        (array([3, 1], dtype=int32), array([0, 3], dtype=int32))
        """
        return added_since(self, earlier)[:2]

    # -- graphs derived from this one -------------------------------------------------------------

    def reverse(self) -> Graph:
        """Return the graph with every edge reversed; edges keep their columns.

        With `keep="out"` the result has `keep="in"` and vice versa, so that no arc is moved. The
        reverse of an undirected graph is the same graph with independent columns.

        Examples
        --------
        >>> import weft
        >>> weft.Graph.from_edges([0, 0], [1, 2]).reverse().in_degree
        array([2, 0, 0], dtype=int32)
        """
        return Graph._of(reversed_parts(self))

    def to_undirected(self, duplicates: Duplicates = "first") -> Graph:
        """Return the graph with every edge made undirected.

        Parameters
        ----------
        duplicates : {"keep", "first", "sum", "min", "max"}
            How to treat edges between the same two vertices, in either direction. Merged edges get
            the first weight (in the order of `to_edges`), the sum, the minimum or the maximum; all
            other columns get the first value. "keep" keeps every edge.

        Returns
        -------
        Graph
            An undirected graph is returned unchanged, with independent columns.

        Examples
        --------
        >>> import weft
        >>> g = weft.Graph.from_edges([0, 1, 1], [1, 0, 2], weight=[1.0, 3.0, 5.0])
        >>> g.to_undirected("sum").to_edges().weight
        array([4., 5.])
        """
        return Graph._of(undirected_parts(self, duplicates))

    def reorder(self, order: str | ArrayLike) -> Graph:
        """Return the same graph with its vertices in another order in memory.

        The order is invisible from outside: vertex numbers, columns, states, frontiers and results
        stay in the user's order, including ids that programs read or store. Programs run over a
        reordered copy of the arcs; fields are permuted at the start and end of a run.

        Parameters
        ----------
        order : {"community", "degree", "gorder", "hub", "llp", "random", "rcm"} or array_like
            "community" places vertices of a community together (by modularity, at every scale),
            "llp" does so by layered label propagation, "gorder" places vertices with common
            neighbours together, "degree" sorts by decreasing degree, "hub" puts vertices above the
            mean degree first, "random" shuffles, and "rcm" (reverse Cuthill-McKee) places
            neighbours close together. Or a permutation of the vertex numbers. On a GPU, "gorder",
            "llp" and "rcm" are computed on the host.

        Returns
        -------
        Graph
            Has independent columns. `to`, `reverse` and `to_undirected` keep the order.

        Raises
        ------
        ConfigError
            If there is no such order.
        GraphError
            If an array is not a permutation of the vertices.

        Examples
        --------
        >>> import weft
        >>> g = weft.Graph.from_edges([0, 2, 3], [1, 1, 1]).reorder("degree")
        >>> g.order
        array([1, 0, 2, 3], dtype=int32)
        >>> weft.bfs(g, 2).parent
        array([-1,  2,  2, -1], dtype=int32)
        """
        parts, held = ordered_parts(self, order)
        result = Graph._of(parts, self._history.copied())
        result._arrangement = self._topology, held
        return result

    def contract(
        self,
        labels: Any,
        *,
        edge: Any = monoids.sum,
        vertex: Any = None,
        self_loops: SelfLoops = "drop",
    ) -> Graph:
        """Return the graph whose vertices are groups of vertices of this one.

        The result is built on the graph's device and keeps its direction and stored arcs. Labels
        are dropped.

        Parameters
        ----------
        labels : array_like
            An integer for each vertex; those with equal ones become one vertex. Groups are numbered
            in ascending order of their labels.
        edge : monoid or None
            How the columns of parallel edges are combined: `weft.sum`, `weft.min`, `weft.max`, or
            `weft.any`, which takes the first value. A sum of an unweighted graph counts the edges
            as their weight. With None, parallel edges are kept.
        vertex : monoid or dict, optional
            How the vertex columns are combined, all or by name; others are dropped.
        self_loops : str
            The edges within a group: "drop" them, or "keep" them as self-loops.

        Returns
        -------
        Graph

        Raises
        ------
        GraphError
            If there is not one integer for each vertex, or a sum does not fit its dtype.

        Examples
        --------
        >>> import weft
        >>> g = weft.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0], [1, 2, 3, 4], directed=False)
        >>> g.vertex["people"] = [10, 20, 30, 40]
        >>> small = g.contract([5, 5, 7, 7], vertex=weft.sum)
        >>> small.to_edges()
        Edges(src=array([0], dtype=int32), dst=array([1], dtype=int32), weight=array([6]))
        >>> small.vertex["people"]
        array([30, 70])
        """
        return Graph._of(contracted_parts(self, labels, edge, vertex, self_loops))

    def subgraph(self, vertices: Any) -> Graph:
        """Return the subgraph of some vertices and all edges between them.

        Vertices and edges keep their order, columns and labels; vertices are renumbered. In a graph
        without labels, store the old numbers in a column first if you need them.

        Parameters
        ----------
        vertices : array_like or Frontier
            A boolean mask over the vertices, or vertex numbers or labels in any order.

        Returns
        -------
        Graph

        Raises
        ------
        GraphError
            If a vertex does not exist, or a mask has the wrong length.

        Examples
        --------
        >>> import weft
        >>> g = weft.generators.cycle(6)
        >>> g.vertex["origin"] = range(6)
        >>> part = g.subgraph([5, 3, 4])
        >>> part.vertex["origin"], part.num_edges
        (array([3, 4, 5]), 2)
        """
        return Graph._of(subgraph_parts(self, vertices))

    @hides_frames
    def stack(self, other: Graph) -> Graph:
        """Return the graph that has the out-edges of this one, then those of another, as its rows.

        Vertex v of this graph keeps its number, and row v of the other one becomes row
        ``self.num_vertices + v``; both lead to the same vertices 0, 1, ... So a row of one graph
        and a row of the other have common neighbours, which `weft.common` finds. The graphs need
        not have the same number of vertices: rows are sources and neighbours are targets of edges,
        like the rows and columns of two matrices of equal width.

        Parameters
        ----------
        other
            A graph on the same device.

        Returns
        -------
        Graph
            A directed graph with ``keep="out"`` and the edge columns of both. If only one graph has
            weights, those of the other are 1.

        Examples
        --------
        Two users and two others with the items that they bought: the product of the first matrix
        and the second one's transpose, at two positions.

        >>> import weft
        >>> @weft.edge
        ... def shared(u, v, e):
        ...     e.total = weft.common(u, v, lambda w, ea, eb: ea.weight * eb.weight, weft.sum)
        >>> here = weft.Graph.from_edges([0, 0, 1], [0, 2, 2], [1.0, 2.0, 3.0], num_vertices=3)
        >>> there = weft.Graph.from_edges([0, 1, 1], [2, 0, 2], [5.0, 7.0, 1.0], num_vertices=3)
        >>> both = here.stack(there)
        >>> pairs = both.pairs([0, 1], [here.num_vertices + 1, here.num_vertices + 0])
        >>> found = pairs.state(total=weft.full(0.0))
        >>> changed = both.run(shared, both.state(), pairs, edge_state=found)
        >>> found.total
        array([ 9., 15.])
        """
        return Graph(**stacked_parts(self, other))

    def to(self, device: Any) -> Graph:
        """Return the graph on a device, with independent columns; itself if already there.

        The arrays of the result (degrees, columns, states, results of algorithms) are NumPy arrays
        on `"cpu"` and CuPy arrays on `"cuda"`. The structure is copied once: while a copy on a
        device is in use, moving the same graph there again shares it.

        Parameters
        ----------
        device : str or connection
            `"cpu"`, `"cuda"` (the first GPU), `"cuda:1"`, ..., or `"emulated"`, which executes GPU
            code slowly on the host, for debugging. A connection to DuckDB or Spark writes the arcs
            into its tables, where programs then run as queries; see `weft.sql`.

        Returns
        -------
        Graph

        Raises
        ------
        DeviceError
            If the device is not available; says what is missing and how to install it.
        DeviceMemoryError
            If the device has too little memory.
        ConfigError
            If the name of the device is unknown.

        Examples
        --------
        >>> import weft
        >>> g = weft.Graph.from_edges([0], [1])
        >>> g.to("emulated").device
        'emulated'
        >>> g.to("cpu") is g
        True
        """
        parts = moved_parts(self, device)
        return self if parts is None else Graph._of(parts, self._history.copied())

    # -- lookups ----------------------------------------------------------------------------------

    def neighbors(self, vertex: Any, direction: str = "out") -> Array:
        """Return the neighbours of a vertex, in ascending order; one for every parallel edge.

        Parameters
        ----------
        vertex
            A vertex number or a label.
        direction : {"out", "in", "both"}
            Which edges to follow: those that leave the vertex, those that enter it, or all. An edge
            that runs both ways counts twice. Undirected graphs have one kind only.

        Returns
        -------
        ndarray of int
            Vertex numbers, on the graph's device; `label_of` gives their labels.

        Raises
        ------
        GraphError
            If the vertex does not exist.

        Examples
        --------
        >>> import weft
        >>> g = weft.Graph.from_edges(["Ada", "Ada", "Bob"], ["Bob", "Eve", "Ada"])
        >>> g.neighbors("Ada"), g.label_of(g.neighbors("Eve", "in"))
        (array([1, 2], dtype=int32), array(['Ada'], dtype=object))
        """
        return neighborhood.neighbors(self, vertex, direction)

    def has_edge(self, source: Any, target: Any) -> Any:
        """Return whether the edge source -> target exists, or of many pairs which edges exist.

        Rows are searched by bisection. In a program, use `weft.has_edge`.

        Parameters
        ----------
        source, target
            Vertex numbers or labels: one vertex, or a list or array of them.

        Returns
        -------
        bool or ndarray of bool

        Raises
        ------
        GraphError
            If a vertex does not exist, or the two lists differ in length.

        Examples
        --------
        >>> import weft
        >>> g = weft.generators.cycle(4, directed=True)
        >>> g.has_edge(0, 1), g.has_edge([1, 3], 0)
        (True, array([False,  True]))
        """
        return neighborhood.has_edge(self, source, target)

    def sample_neighbors(
        self,
        vertices: Any,
        k: int,
        *,
        replace: bool = False,
        seed: int = 0,
        direction: str = "out",
    ) -> Array:
        """Return k random neighbours of every given vertex, with equal probability per edge.

        Parameters
        ----------
        vertices
            Vertex numbers or labels.
        k : int
            Neighbours for each vertex.
        replace : bool
            Whether an edge may be drawn more than once. Without, a vertex with fewer than k edges
            gets all of them.
        seed : int
            The same seed gives the same sample, on every device.
        direction : {"out", "in"}
            Which edges to follow.

        Returns
        -------
        ndarray of int, shape (number of vertices, k)
            Vertex numbers; -1 where there are no more.

        Examples
        --------
        >>> import weft
        >>> g = weft.generators.star(100)
        >>> g.sample_neighbors([0, 7], 3).shape, g.sample_neighbors([7], 3)
        ((2, 3), array([[ 0, -1, -1]], dtype=int32))
        """
        return neighborhood.sample(self, vertices, k, replace, seed, direction)

    # -- labels and properties --------------------------------------------------------------------

    def vertex_of(self, labels: Any) -> Any:
        """Return the vertex with a given label, or the vertices of several labels.

        Parameters
        ----------
        labels
            One label (a tuple is one label), or a list or array of labels. Integers are vertex
            numbers if the graph has no labels, or no numeric ones.

        Returns
        -------
        int or ndarray of int

        Raises
        ------
        GraphError
            If no vertex has the label.

        Examples
        --------
        >>> import weft
        >>> g = weft.Graph.from_edges(["Ada", "Bob"], ["Bob", "Eve"])
        >>> g.vertex_of("Eve"), g.vertex_of(["Bob", "Ada"])
        (2, array([1, 0]))
        """
        return vertex_numbers(self._labels, self.num_vertices, labels)

    def label_of(self, vertices: Any) -> Any:
        """Return the label of a vertex, or the labels of several; None for -1.

        In a graph without labels, vertex numbers serve as labels.

        Examples
        --------
        >>> import weft
        >>> g = weft.Graph.from_edges(["Ada", "Bob"], ["Bob", "Eve"])
        >>> g.label_of(weft.bfs(g, "Bob").parent)
        array([None, 'Bob', 'Bob'], dtype=object)
        """
        return labels_at(self._labels, self.num_vertices, vertices)

    @property
    def labels(self) -> Array | None:
        """The label of each vertex, in host memory; None if the vertices have none."""
        return None if self._labels is None else self._labels.values

    @property
    def num_vertices(self) -> int:
        """The number of vertices, including isolated ones."""
        return self._topology.num_vertices

    @property
    def num_edges(self) -> int:
        """The number of edges; undirected ones count once."""
        return self._topology.num_edges

    @property
    def directed(self) -> bool:
        """Whether the edges are directed."""
        return self._topology.directed

    @property
    def weighted(self) -> bool:
        """Whether there is an edge column `"weight"`."""
        return "weight" in self._edge

    @property
    def device(self) -> str:
        """The device that holds the graph: `"cpu"`, `"cuda"`, `"cuda:1"`, `"emulated"`."""
        return str(self._topology.device)

    @property
    def topology(self) -> Topology:
        """The structure without the columns, for direct access to the arrays."""
        return self._topology

    @property
    def vertex(self) -> VertexColumns:
        """The named columns of the vertices."""
        return self._vertex

    @property
    def edge(self) -> EdgeColumns:
        """The named columns of the edges."""
        return self._edge

    @property
    def out_degree(self) -> Array:
        """The number of edges that leave each vertex; a self-loop counts once."""
        return read_only(self._topology.out_degree)

    @property
    def in_degree(self) -> Array:
        """The number of edges that enter each vertex; a self-loop counts once."""
        return read_only(self._topology.in_degree)

    @property
    def degree(self) -> Array:
        """The number of edges at each vertex: both ways in a directed graph.

        A self-loop counts once, in a directed graph once for each way.
        """
        return read_only(neighborhood.degrees(self._topology))

    @property
    def order(self) -> Array | None:
        """The order of the vertices in memory, see `reorder`; None if it was not changed."""
        return None if self._order is None else read_only(self._order)

    @property
    def memory_bytes(self) -> int:
        """Bytes of all arrays that the graph currently holds.

        Includes cached copies and the scratch memory of runs, but not states. Labels that are
        Python objects count as references.
        """
        held = self._topology.memory_bytes + self._vertex.memory_bytes + self._edge.memory_bytes
        held += 0 if self._labels is None else self._labels.nbytes
        return held + execution.arranged_bytes(self) + execution.scratch_bytes(self._topology)

    def __len__(self) -> int:
        return self.num_vertices

    __getattr__, __getitem__ = no_attribute, no_item

    def __bool__(self) -> bool:
        return True  # true even without vertices, so that ``if g`` distinguishes a graph from None

    def __repr__(self) -> str:
        kinds = ["directed" if self.directed else "undirected"]
        kinds += ["weighted"] if self.weighted else []
        kinds += [] if self.device == "cpu" else [f"on {self.device}"]
        sizes = f"{self.num_vertices} vertices, {self.num_edges} edges"
        return f"Graph({sizes}, {', '.join(kinds)}, {bytes_text(self.memory_bytes)})"

    def _repr_html_(self) -> str:
        rows = [
            ("vertices", f"{self.num_vertices:,}"),
            ("edges", f"{self.num_edges:,} {'directed' if self.directed else 'undirected'}"),
            ("labels", "" if self._labels is None else few(self._labels.values)),
            ("vertex columns", columns_text(self._vertex)),
            ("edge columns", columns_text(self._edge)),
            ("device", self.device),
            ("memory", bytes_text(self.memory_bytes)),
        ]
        return table_html("Graph", [row for row in rows if row[1]])

    def __copy__(self) -> Graph:
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__, _history=self._history.copied())
        return twin

    def __getstate__(self) -> dict[str, Any]:
        return {name: part for name, part in self.__dict__.items() if name != "_prepared"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prepared = PreparedCache(self._vertex, self._edge)
