"""The graph that a user holds: vertices, edges and their named columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from numpy.typing import ArrayLike, DTypeLike

from weft.arrays.device import (
    Device,
    as_array,
    bytes_text,
    device_of,
    move,
    open_device,
    parse_device,
    read_only,
    to_host,
)
from weft.errors import GraphError
from weft.graph.build import Duplicates, SelfLoops, assemble, check_ends, check_weight, native
from weft.graph.columns import EdgeColumns, VertexColumns
from weft.graph.execution import Running, prepared_cache, scratch_bytes
from weft.graph.interop.methods import Interchange
from weft.graph.labels import (
    Labels,
    LabelsLike,
    label_array,
    labels_at,
    number_ends,
    vertex_numbers,
)
from weft.graph.mutation import Changing
from weft.graph.subgraph import induced, members_mask
from weft.graph.version import History, Version
from weft.report.html import columns_text, few, table_html
from weft.topology.adjacency import Array
from weft.topology.orders import arranged, check_order
from weft.topology.topology import Keep, Topology


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


class Graph(Running, Changing, Interchange):
    """A directed or undirected graph with named columns on its vertices and edges.

    Build one with `Graph.from_edges`, another `Graph.from_...`, `weft.read`, or a function of
    `weft.generators`. Columns `g.vertex` and `g.edge` may be assigned at any time; edges change by
    `update`, or in a new graph by `add_edges` and `remove_edges`.

    Parameters
    ----------
    topology : Topology
        The structure.
    vertex, edge : mapping of str to ndarray, optional
        Columns, in the order of the vertices and of the edge ids.
    labels : array_like, optional
        The label of each vertex.
    order : ndarray, optional
        Every vertex once, as they are to lie in memory; see `reorder`.

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
        labels: Labels | ArrayLike | None = None,
        order: Array | None = None,
    ) -> None:
        if labels is not None and not isinstance(labels, Labels):
            labels = Labels(label_array(labels)).check()
        if labels is not None and len(labels) != topology.num_vertices:
            raise GraphError(
                f"There are {len(labels)} labels for {topology.num_vertices} vertices. "
                "Expected one label per vertex."
            )
        self._topology = topology
        self._labels = labels
        self._vertex = VertexColumns(topology.num_vertices, vertex, topology.device)
        self._edge = EdgeColumns(topology, edge)
        self._order = order
        self._history = History(Version(topology.num_vertices))
        self._ready, self._expected = prepared_cache(), prepared_cache()

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
        labels: LabelsLike = None,
    ) -> Graph:
        """Build a graph from the two ends of every edge.

        Takes time and memory linear in the number of edges. The edges of the graph are sorted by
        their ends, parallel ones in the order given; `to_edges` shows that order.

        Parameters
        ----------
        src, dst : array_like
            The vertices that each edge leaves and enters, counted from 0; or their names, which
            become labels.
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
        labels : array_like or bool, optional
            The label of every vertex: `src` and `dst` hold vertex numbers, or labels from this list
            if not all are integers. Without it, ids that are no integers, and integers too far
            apart to be vertex numbers (above 2**24 and more than 64 per edge), become labels in
            the order in which they first appear, in `src` and then in `dst`. True makes labels of
            all ids, False of none.

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
        >>> weft.Graph.from_edges(["Ada", "Bob"], ["Bob", "Eve"]).labels.tolist()
        ['Ada', 'Bob', 'Eve']
        """
        with device_of(src, dst).current():
            numbered = number_ends(src, dst, num_vertices, labels)
        columns = {} if weight is None else {"weight": weight}
        return cls._from_numbered(
            numbered,
            columns,
            device=device_of(src, dst, weight) if device is None else device,
            directed=bool(directed),
            duplicates=duplicates,
            self_loops=self_loops,
            keep=keep,
            index_dtype=index_dtype,
        )

    @classmethod
    def _from_numbered(
        cls,
        numbered: tuple[Any, Any, int | None, Labels | None],
        columns: Mapping[str, Any],
        *,
        device: str | Device | None,
        vertex: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Graph:
        """Build from what `number_ends` returns, edge columns in the order given, and options."""
        src, dst, num_vertices, labels = numbered
        place = device_of(src, dst) if device is None else open_device(device)
        with place.current():
            src, dst, count = check_ends(src, dst, num_vertices, place)
            checked = {
                name: check_weight(values, src.size, place)
                if name == "weight"
                else native(as_array(values), f"edge column {name!r}", place)
                for name, values in columns.items()
            }
            topology, checked = assemble(src, dst, checked, count, device=place, **options)
            g = cls(topology, edge=checked, labels=labels)
        for name, values in (vertex or {}).items():
            g.vertex[name] = values
        return g

    def to_edges(self, *, labels: bool = False) -> Edges:
        """Return the edges in the order in which edge columns hold their values.

        They are sorted by source and destination (by destination and source with `keep="in"`),
        parallel ones as they were given. An undirected edge comes once, its lower end first.

        Parameters
        ----------
        labels : bool
            Whether the ends are labels (in host memory) where the graph has labels.

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
        return self._sibling(topology.reversed(), columns)

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
        return self._sibling(topology, columns)

    def reorder(self, order: str | ArrayLike) -> Graph:
        """Return the same graph with its vertices in another order in memory.

        Nothing else can be told from outside: numbers, columns, states, frontiers and results stay
        in the user's order, and ids that programs see or store are the user's. Programs run over a
        second copy of the arcs, and fields are put in order when a program begins and ends.

        Parameters
        ----------
        order : {"community", "degree", "hub", "random", "rcm"} or array_like
            Vertices of a community side by side (by modularity, at every scale), by falling degree,
            those above the mean degree first, at random, or by reverse Cuthill-McKee (neighbours
            close to each other); or every vertex number once, in the order wanted. On a GPU,
            "rcm" is computed by the host.

        Returns
        -------
        Graph
            With columns of its own. Graphs made from it by `to`, `reverse` and `to_undirected` are
            in the same order.

        Raises
        ------
        ConfigError
            If there is no such order.
        GraphError
            If an array does not have every vertex once.

        Examples
        --------
        >>> import weft
        >>> g = weft.Graph.from_edges([0, 2, 3], [1, 1, 1]).reorder("degree")
        >>> g.order
        array([1, 0, 2, 3], dtype=int32)
        >>> weft.bfs(g, 2).parent
        array([-1,  2,  2, -1], dtype=int32)
        """
        topology = self._topology
        if isinstance(order, str):
            held = arranged(topology, order)
            assert held.numbering is not None
            chosen = held.numbering.order
        else:
            chosen = check_order(topology, order)
            held = topology.arranged(chosen)
        columns = {name: self._edge.storage(name) for name in self._edge}
        result = Graph(
            topology,
            vertex=self._vertex_storage(),
            edge=columns,
            labels=self._labels,
            order=chosen,
        )
        result._arrangement = topology, held
        result._history = self._history.copied()
        return result

    def subgraph(self, vertices: Any) -> Graph:
        """Return the graph of some vertices and of all edges between them.

        Vertices and edges keep their order, columns and labels; vertices are numbered anew. Where
        there are no labels, a column remembers the old numbers.

        Parameters
        ----------
        vertices : array_like or Frontier
            A mask with one truth value per vertex, or vertices by number or label, in any order.

        Returns
        -------
        Graph

        Raises
        ------
        GraphError
            If there is no such vertex, or a mask has the wrong length.

        Examples
        --------
        >>> import weft
        >>> g = weft.generators.cycle(6)
        >>> g.vertex["origin"] = range(6)
        >>> part = g.subgraph([5, 3, 4])
        >>> part.vertex["origin"], part.num_edges
        (array([3, 4, 5]), 2)
        """
        mask = members_mask(self._topology, self._labels, vertices)
        columns = {name: self._edge.storage(name) for name in self._edge}
        topology, columns, kept = induced(self._topology, columns, mask)
        with topology.device.current():
            vertex = {name: values[kept] for name, values in self._vertex_storage().items()}
        labels = None if self._labels is None else self._labels.take(kept)
        return Graph(topology, vertex=vertex, edge=columns, labels=labels)

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
        there = Graph(
            self._topology.to(place),
            vertex=self._vertex.moved(place),
            edge=self._edge.moved(place),
            labels=self._labels,
            order=None if self._order is None else move(self._order, place),
        )
        there._history = self._history.copied()
        return there

    def vertex_of(self, labels: Any) -> Any:
        """Return the vertex that has a label, or the vertices of several.

        Parameters
        ----------
        labels
            One label (a tuple is one), or a list or array of labels. In a graph without labels, or
            with labels none of which is a number, integers are vertex numbers.

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
        """Return the label of a vertex number, or the labels of several; None for -1.

        In a graph without labels the numbers themselves are labels.

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
    def order(self) -> Array | None:
        """The vertices as they lie in memory, see `reorder`; None if in their own order."""
        return None if self._order is None else read_only(self._order)

    @property
    def memory_bytes(self) -> int:
        """Bytes of all arrays that the graph holds now.

        Copies made for speed and the scratch memory of runs are included, states are not. Labels
        that are objects count as references.
        """
        held = self._topology.memory_bytes + self._vertex.memory_bytes + self._edge.memory_bytes
        held += 0 if self._labels is None else self._labels.nbytes
        return held + self._arranged_bytes() + scratch_bytes(self._topology)

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

    def _sibling(self, topology: Topology, edge: Mapping[str, Array]) -> Graph:
        """Return a graph of the same vertices."""
        return Graph(
            topology,
            vertex=self._vertex_storage(),
            edge=edge,
            labels=self._labels,
            order=self._order,
        )

    def _vertex_storage(self) -> dict[str, Array]:
        return {name: self._vertex.storage(name) for name in self._vertex}
