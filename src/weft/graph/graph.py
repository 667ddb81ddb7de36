"""Graph: vertices, edges and their named columns."""

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
from weft.graph.build import (
    BuildRules,
    Duplicates,
    SelfLoops,
    assemble,
    check_ends,
    check_weight,
    native,
)
from weft.graph.columns import EdgeColumns, VertexColumns
from weft.graph.execution import Running, scratch_bytes
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
from weft.graph.prepared_cache import prepared_cache
from weft.graph.subgraph import induced, members_mask
from weft.graph.version import History, Version
from weft.report.html import columns_text, few, table_html
from weft.topology.adjacency import Array
from weft.topology.orders import arranged, check_order
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


class Graph(Running, Changing, Interchange):
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
                f"Got {len(labels)} labels for {topology.num_vertices} vertices. "
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

        Takes time and memory linear in the number of edges. Edges are sorted by their ends, with
        parallel edges in the order given; `to_edges` returns them in that order.

        Parameters
        ----------
        src, dst : array_like
            The vertices that each edge leaves and enters, numbered from 0; or names, which become
            labels.
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
        """Build a graph from the result of `number_ends`, columns, and rules by name."""
        src, dst, num_vertices, labels = numbered
        place = device_of(src, dst) if device is None else open_device(device)
        rules = BuildRules(device=place, **options)
        with place.current():
            src, dst, count = check_ends(src, dst, num_vertices, place)
            checked = {
                name: check_weight(values, src.size, place)
                if name == "weight"
                else native(as_array(values), f"edge column {name!r}", place)
                for name, values in columns.items()
            }
            topology, checked = assemble(src, dst, checked, count, rules)
            g = cls(topology, edge=checked, labels=labels)
        for name, values in (vertex or {}).items():
            g.vertex[name] = values
        return g

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
        topology = self._topology
        columns = {name: self._edge.storage(name) for name in self._edge}
        if topology.directed and topology.keep == "both":
            columns = {k: topology.slot_values(values, "in") for k, values in columns.items()}
        return self._sibling(topology.reversed(), columns)

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
        columns = {name: self._edge.storage(name) for name in self._edge}
        topology = self._topology
        if topology.directed:
            with topology.device.current():
                topology, columns = assemble(
                    *topology.endpoints(),
                    columns,
                    topology.num_vertices,
                    BuildRules(
                        directed=False,
                        duplicates=duplicates,
                        index_dtype=topology.index_dtype,
                        device=topology.device,
                    ),
                )
        return self._sibling(topology, columns)

    def reorder(self, order: str | ArrayLike) -> Graph:
        """Return the same graph with its vertices in another order in memory.

        The order is invisible from outside: vertex numbers, columns, states, frontiers and results
        stay in the user's order, including ids that programs read or store. Programs run over a
        reordered copy of the arcs; fields are permuted at the start and end of a run.

        Parameters
        ----------
        order : {"community", "degree", "hub", "random", "rcm"} or array_like
            "community" places vertices of a community together (by modularity, at every scale),
            "degree" sorts by decreasing degree, "hub" puts vertices above the mean degree first,
            "random" shuffles, and "rcm" (reverse Cuthill-McKee) places neighbours close together.
            Or a permutation of the vertex numbers. On a GPU, "rcm" is computed on the host.

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
        topology = self._topology
        if isinstance(order, str):
            held = arranged(topology, order)
            assert held.numbering is not None
            chosen = held.numbering.order
        else:
            chosen = check_order(topology, order)
            held = topology.arranged(chosen)
        columns = {name: self._edge.storage(name) for name in self._edge}
        vertex = self._vertex_storage()
        result = Graph(topology, vertex=vertex, edge=columns, labels=self._labels, order=chosen)
        result._arrangement = topology, held
        result._history = self._history.copied()
        return result

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
        mask = members_mask(self._topology, self._labels, vertices)
        columns = {name: self._edge.storage(name) for name in self._edge}
        topology, columns, kept = induced(self._topology, columns, mask)
        with topology.device.current():
            vertex = {name: values[kept] for name, values in self._vertex_storage().items()}
        labels = None if self._labels is None else self._labels.take(kept)
        return Graph(topology, vertex=vertex, edge=columns, labels=labels)

    def to(self, device: str | Device) -> Graph:
        """Return the graph on a device, with independent columns; itself if already there.

        The arrays of the result (degrees, columns, states, results of algorithms) are NumPy arrays
        on `"cpu"` and CuPy arrays on `"cuda"`. The structure is copied once: while a copy on a
        device is in use, moving the same graph there again shares it.

        Parameters
        ----------
        device : str
            `"cpu"`, `"cuda"` (the first GPU), `"cuda:1"`, ..., or `"emulated"`, which executes GPU
            code slowly on the host, for debugging.

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
        """Return a graph with the same vertices and another structure."""
        vertex = self._vertex_storage()
        return Graph(topology, vertex=vertex, edge=edge, labels=self._labels, order=self._order)

    def _vertex_storage(self) -> dict[str, Array]:
        return {name: self._vertex.storage(name) for name in self._vertex}
