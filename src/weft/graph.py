"""The graph that a user holds: vertices, edges and their named columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from numpy.typing import ArrayLike, DTypeLike

from weft.adjacency import Array
from weft.columns import EdgeColumns, VertexColumns
from weft.devices import Device, bytes_text, device_of, open_device, parse_device, read_only
from weft.edgelist import Duplicates, SelfLoops, assemble, check_ends, check_weight
from weft.matrices import adjacency_matrix, matrix_entries, upper_triangle
from weft.running import Running, scratch_bytes
from weft.topology import Keep, Topology


class Edges(NamedTuple):
    """The edges of a graph as arrays, position by position.

    `weight` is None where the graph has no weights.

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


class Graph(Running):
    """A directed or undirected graph with named columns on its vertices and edges.

    Build one with `Graph.from_edges`, `Graph.from_scipy` or a function of `weft.generators`. The
    structure never changes afterwards; the columns `g.vertex` and `g.edge` may.

    Parameters
    ----------
    topology : Topology
        The structure.
    vertex, edge : mapping of str to ndarray, optional
        Columns, in the order of the vertices and of the edge ids.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges([0, 0, 1, 2], [1, 2, 2, 0], weight=[1.0, 4.0, 2.0, 1.0])
    >>> g
    Graph(3 vertices, 4 edges, directed, weighted, 80 B)
    >>> g.out_degree
    array([2, 1, 1], dtype=int32)
    """

    def __init__(
        self,
        topology: Topology,
        *,
        vertex: Mapping[str, Array] | None = None,
        edge: Mapping[str, Array] | None = None,
    ) -> None:
        self._topology = topology
        self._vertex = VertexColumns(topology.num_vertices, vertex, topology.device)
        self._edge = EdgeColumns(topology, edge)

    @classmethod
    def from_edges(
        cls,
        src: ArrayLike,
        dst: ArrayLike,
        weight: ArrayLike | None = None,
        *,
        num_vertices: int | None = None,
        directed: bool = True,
        duplicates: Duplicates = "keep",
        self_loops: SelfLoops = "keep",
        keep: Keep = "both",
        index_dtype: DTypeLike | None = None,
        device: str | Device | None = None,
    ) -> Graph:
        """Build a graph from the two ends of every edge.

        Takes time and memory linear in the number of edges. The edges of the graph are sorted by
        their ends, parallel ones in the order given; `to_edges` shows that order.

        Parameters
        ----------
        src, dst : array_like of int
            The vertices that each edge leaves and enters, counted from 0.
        weight : array_like, optional
            One integer, float32 or float64 per edge, kept in its dtype; becomes
            `g.edge["weight"]`.
        num_vertices : int, optional
            The number of vertices; one more than the largest id if left out.
        directed : bool
            If False, an edge runs both ways, is given once, and (a, b) is the same as (b, a).
        duplicates : {"keep", "first", "sum", "min", "max"}
            What becomes of parallel edges: all are kept, or they are merged into one that has the
            first weight, the sum, the smallest or the largest (NaN ignored). "sum" counts the
            edges where there are no weights.
        self_loops : {"keep", "drop"}
            What becomes of edges from a vertex to itself.
        keep : {"both", "out", "in"}
            Which directions of a directed graph may be stored. Of "both", in-edges are stored when
            a program first needs them. With "in" the edges are sorted by destination.
        index_dtype : dtype, optional
            int32 or int64 for vertex ids; by default the narrower one that fits.
        device : str, optional
            Where to build the graph, see `to`; by default where the arrays lie, so that CuPy's give
            a graph on their GPU.

        Returns
        -------
        Graph

        Raises
        ------
        GraphError
            If the arrays cannot be the edges of a graph.
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
        """
        place = device_of(src, dst, weight) if device is None else open_device(device)
        with place.current():
            source, destination, count = check_ends(src, dst, num_vertices, place)
            columns = {} if weight is None else {"weight": check_weight(weight, source.size, place)}
            topology, columns = assemble(
                source,
                destination,
                columns,
                count,
                directed=bool(directed),
                duplicates=duplicates,
                self_loops=self_loops,
                keep=keep,
                index_dtype=index_dtype,
                device=place,
            )
            return cls(topology, edge=columns)

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
    ) -> Graph:
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
            self._topology, self._edge.storage("weight") if self.weighted else None
        )

    def to_edges(self) -> Edges:
        """Return the edges in the order in which edge columns hold their values.

        They are sorted by source and destination (by destination and source with `keep="in"`),
        parallel ones as they were given. An undirected edge comes once, its lower end first.

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
            return Edges(src, dst, self._edge.storage("weight").copy() if self.weighted else None)

    def reverse(self) -> Graph:
        """Return the graph with every edge turned round; edges keep their columns.

        With `keep="out"` the result has `keep="in"`, and the other way about: no arc is moved. The
        reverse of an undirected graph is the graph itself, with columns of its own.

        Examples
        --------
        >>> import weft
        >>> weft.Graph.from_edges([0, 0], [1, 2]).reverse().in_degree
        array([2, 0, 0], dtype=int32)
        """
        topology = self._topology
        columns = {name: self._edge.storage(name) for name in self._edge}
        if topology.directed and topology.keep == "both":
            columns = {k: topology.slot_values(values, "in") for k, values in columns.items()}
        return Graph(topology.reversed(), vertex=self._vertex_storage(), edge=columns)

    def to_undirected(self, duplicates: Duplicates = "first") -> Graph:
        """Return the graph with every edge running both ways.

        Parameters
        ----------
        duplicates : {"keep", "first", "sum", "min", "max"}
            What becomes of edges between the same two vertices, in whichever direction. Merged
            edges get the first weight (in the order of `to_edges`), the sum, the smallest or the
            largest; all other columns have the first value. "keep" keeps every edge.

        Returns
        -------
        Graph
            An undirected graph comes back as it is, with columns of its own.

        Examples
        --------
        >>> import weft
        >>> g = weft.Graph.from_edges([0, 1, 1], [1, 0, 2], weight=[1.0, 3.0, 5.0])
        >>> g.to_undirected("sum").to_edges().weight
        array([4., 5.])
        """
        columns = {name: self._edge.storage(name) for name in self._edge}
        topology = self._topology
        if topology.directed:
            with topology.device.current():
                topology, columns = assemble(
                    *topology.endpoints(),
                    columns,
                    topology.num_vertices,
                    directed=False,
                    duplicates=duplicates,
                    self_loops="keep",
                    keep="both",
                    index_dtype=topology.index_dtype,
                    device=topology.device,
                )
        return Graph(topology, vertex=self._vertex_storage(), edge=columns)

    def to(self, device: str | Device) -> Graph:
        """Return the graph on a device, with columns of its own; itself if it is there already.

        Arrays of the result (degrees, columns, states, what algorithms return) are NumPy's on
        `"cpu"` and CuPy's on `"cuda"`. The structure is copied once: while one graph on a device is
        in use, moving the same graph there again shares it.

        Parameters
        ----------
        device : str
            `"cpu"`, `"cuda"` (the first GPU), `"cuda:1"`, ..., or `"emulated"`: the code for a GPU
            executed on the host, slowly, to find errors in it.

        Returns
        -------
        Graph

        Raises
        ------
        DeviceError
            If the device cannot be used here; says what is missing and how to install it.
        DeviceMemoryError
            If the device has too little memory.
        ConfigError
            For a name that no device has.

        Examples
        --------
        >>> import weft
        >>> g = weft.Graph.from_edges([0], [1])
        >>> g.to("emulated").device
        'emulated'
        >>> g.to("cpu") is g
        True
        """
        if parse_device(device) == self._topology.device:
            return self
        place = open_device(device)
        return Graph(
            self._topology.to(place), vertex=self._vertex.moved(place), edge=self._edge.moved(place)
        )

    @property
    def num_vertices(self) -> int:
        """The number of vertices, isolated ones included."""
        return self._topology.num_vertices

    @property
    def num_edges(self) -> int:
        """The number of edges; undirected ones count once."""
        return self._topology.num_edges

    @property
    def directed(self) -> bool:
        """Whether an edge runs one way only."""
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
        """The structure without the columns, for code that walks the arrays itself."""
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
    def memory_bytes(self) -> int:
        """Bytes of all arrays that the graph holds now.

        Copies made for speed and the scratch memory of runs are included, states are not.
        """
        held = self._topology.memory_bytes + self._vertex.memory_bytes + self._edge.memory_bytes
        return held + scratch_bytes(self._topology)

    def __repr__(self) -> str:
        kinds = ["directed" if self.directed else "undirected"]
        kinds += ["weighted"] if self.weighted else []
        kinds += [] if self.device == "cpu" else [f"on {self.device}"]
        sizes = f"{self.num_vertices} vertices, {self.num_edges} edges"
        return f"Graph({sizes}, {', '.join(kinds)}, {bytes_text(self.memory_bytes)})"

    def _vertex_storage(self) -> dict[str, Array]:
        return {name: self._vertex.storage(name) for name in self._vertex}
