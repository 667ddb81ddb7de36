"""A converted graph: rows in NetworkX's order, and the weft graph over the same structure."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from weft.arrays.device import to_host
from weft.graph import Graph
from weft.graph.interop.rows import EdgeValues, NodeValues, Rows, read_column
from weft.networkx import kernels
from weft.networkx.settings import device_for, setting
from weft.topology.adjacency import Adjacency
from weft.topology.topology import Topology

Array = np.ndarray[Any, Any]


class Structure:
    """Nodes and rows of a graph, and what follows from them; shared by its conversions."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.nodes = rows.nodes
        self.size = len(rows.nodes)
        self.offsets, self.targets = rows.offsets, rows.targets
        self.directed, self.multigraph = rows.directed, rows.multigraph

    @functools.cached_property
    def place(self) -> dict[Any, int]:
        """The row of each node."""
        return dict(zip(self.nodes, range(self.size), strict=True))

    @functools.cached_property
    def sources(self) -> Array:
        """The row of each entry."""
        return self.rows.sources

    @functools.cached_property
    def first(self) -> Array | None:
        """Which entries are the first of their edge; None for all."""
        return self.rows.first

    @functools.cached_property
    def num_edges(self) -> int:
        """The number of edges; undirected ones count once."""
        return self.targets.size if self.first is None else int(np.count_nonzero(self.first))

    @functools.cached_property
    def num_loops(self) -> int:
        """The number of self-loops."""
        return int(np.count_nonzero(self.sources == self.targets))

    @functools.cached_property
    def lengths(self) -> Array:
        """The number of entries in each row."""
        return np.diff(self.offsets)

    @functools.cached_property
    def sorted_rows(self) -> tuple[Array, Array]:
        """Targets sorted within each row, and the entry that each came from."""
        return kernels.sorted_rows(self.offsets, self.targets)

    @functools.cached_property
    def turned(self) -> tuple[Array, Array, Array]:
        """The rows of incoming entries: offsets, sources, and the entry of each.

        They are in the order of `network.pred` where that is known, else by source.
        """
        partner = self.rows.partner
        if not self.directed or partner is None:
            return kernels.turned_rows(self.offsets, self.targets)
        offsets = np.zeros(self.size + 1, np.int64)
        np.cumsum(np.bincount(self.targets, minlength=self.size), out=offsets[1:])
        return offsets, self.sources[partner], partner

    @functools.cached_property
    def edge_of_entry(self) -> Array:
        """The edge of each entry, counted by first entries."""
        if self.first is None:
            return np.arange(self.targets.size)
        edge = np.cumsum(self.first) - 1
        partner = self.rows.partner
        if partner is None:
            partner = kernels.partners(self.offsets, self.targets)
        later = ~self.first
        edge[later] = edge[partner[later]]
        return edge

    @functools.cached_property
    def neighbors(self) -> tuple[Array, Array]:
        """Rows in order with every neighbour once: offsets and targets."""
        if not self.multigraph:
            return self.offsets, self.targets
        sources = self.sources
        fresh = np.ones(sources.size, np.bool_)
        fresh[1:] = (sources[1:] != sources[:-1]) | (self.targets[1:] != self.targets[:-1])
        return np.concatenate(([0], np.cumsum(fresh)))[self.offsets], self.targets[fresh]

    @functools.cached_property
    def sorted_neighbors(self) -> tuple[Array, Array]:
        """Sorted rows with every neighbour once and none of itself: offsets and targets."""
        targets, _ = self.sorted_rows
        sources = self.sources
        fresh = sources != targets
        fresh[1:] &= (sources[1:] != sources[:-1]) | (targets[1:] != targets[:-1])
        return np.concatenate(([0], np.cumsum(fresh)))[self.offsets], targets[fresh]

    @functools.cached_property
    def topology(self) -> Topology:
        """The structure as weft stores it."""
        targets, _ = self.sorted_rows
        return Topology(
            Adjacency(self.offsets, targets), directed=self.directed, num_edges=self.num_edges
        )

    @functools.cached_property
    def edge_order(self) -> Array:
        """The edge of each edge id of `topology`."""
        _, entry = self.sorted_rows
        if self.first is None:
            return entry
        return self.edge_of_entry[entry[self.first[entry]]]

    @property
    def in_engine(self) -> bool:
        """Whether the graph is large enough for the engine to pay."""
        return bool(self.targets.size >= setting("engine_entries"))


class Network:
    """A graph as NetworkX's functions in weft take it.

    NetworkX makes one of a graph whenever it hands a call to this backend, and keeps it with the
    graph. `from_weft` makes one of a `weft.Graph`, which then can be passed to NetworkX itself.

    Parameters
    ----------
    structure
        Nodes and rows.
    origin
        The NetworkX graph; its attributes are read when a function needs them.
    columns
        Edge attributes with their defaults, in the order of first entries.
    attributes
        All edge attributes, in the same order; None if they are those of the origin.
    node_data
        A dictionary of attributes for each node; None if there are none, or the origin has them.
    """

    __networkx_backend__ = "weft"

    def __init__(
        self,
        structure: Structure,
        origin: Any = None,
        columns: dict[Any, Array | None] | None = None,
        attributes: dict[Any, Array] | None = None,
        node_data: list[dict[Any, Any]] | None = None,
    ) -> None:
        self.structure = structure
        self.attributes, self.node_data = attributes, node_data
        self.columns = {} if columns is None else columns
        self._origin = None if origin is None else weakref.ref(origin)
        self._made: Any = None
        self._graphs: dict[Any, Graph] = {}
        self.__networkx_cache__: dict[str, Any] = {}

    @property
    def nodes(self) -> list[Any]:
        """The nodes, in order."""
        return self.structure.nodes

    @property
    def size(self) -> int:
        """The number of nodes."""
        return self.structure.size

    def is_directed(self) -> bool:
        """Whether the edges are directed."""
        return self.structure.directed

    def is_multigraph(self) -> bool:
        """Whether there may be parallel edges."""
        return self.structure.multigraph

    def number_of_nodes(self) -> int:
        """Return the number of nodes."""
        return self.structure.size

    order = number_of_nodes

    def number_of_edges(self) -> int:
        """Return the number of edges."""
        return self.structure.num_edges

    def __len__(self) -> int:
        return self.structure.size

    def __iter__(self) -> Iterator[Any]:
        return iter(self.structure.nodes)

    def __contains__(self, node: object) -> bool:
        try:
            return node in self.structure.place
        except TypeError:
            return False

    def __reduce__(self) -> Any:
        # A copy of a graph must not keep what was read from the original: it is converted again.
        if self.attributes is None:
            return _forgotten, ()
        return Network, (self.structure, None, None, self.attributes, self.node_data)

    def __repr__(self) -> str:
        kind = f"{'Multi' if self.is_multigraph() else ''}{'Di' if self.is_directed() else ''}Graph"
        return f"Network({kind}, {self.size} nodes, {self.number_of_edges()} edges)"

    @property
    def origin(self) -> Any:
        """The NetworkX graph that this was made of; made from this if there is none."""
        known = None if self._origin is None else self._origin()
        if known is not None:
            return known
        if self._made is None:
            from weft.networkx.conversion import as_networkx

            self._made = as_networkx(self)
        return self._made

    def belong_to(self, origin: Any) -> None:
        """Associate a graph with the NetworkX graph that it was made of."""
        self._origin = weakref.ref(origin)

    def edge_data(self) -> list[dict[Any, Any]]:
        """Return a dictionary of attributes for each edge, in the order of first entries."""
        columns = self.attributes
        if columns is None:
            columns = {name: held for (name, _), held in self.columns.items() if held is not None}
        if not columns:
            return [{} for _ in range(self.structure.num_edges)]
        values = zip(*(held.tolist() for held in columns.values()), strict=True)
        return [dict(zip(columns, row, strict=True)) for row in values]

    def weights(self, name: Any, default: float = 1) -> Array | None:
        """Return an edge attribute in the order of first entries; None if all have the default.

        Raises
        ------
        NotImplementedError
            If a value is no number that weft computes with, or the name is a function.
        """
        if name is None or self.structure.targets.size == 0:
            return None
        key = name, default
        if key not in self.columns:
            if callable(name):
                raise NotImplementedError("weights that a function computes are not converted")
            self.columns[key] = self._read(name, default)
        return self.columns[key]

    def _read(self, name: Any, default: Any) -> Array | None:
        if self.attributes is None:
            return read_weights(self.origin, self.structure.rows, name, default)
        if name not in self.attributes:
            return _constant(self.structure.rows, default)
        values = self.attributes[name]
        wide = {"i": np.int64, "u": np.int64, "f": np.float64}.get(values.dtype.kind)
        if values.dtype.kind == "b" or wide is None:
            return _usable(values if wide is None and values.dtype.kind == "b" else None, name)
        return _usable(values.astype(wide, copy=False), name)

    def entry_weights(self, name: Any, default: float = 1) -> Array | None:
        """Return an edge attribute of every entry; None if all have the default."""
        values = self.weights(name, default)
        return None if values is None else values[self.structure.edge_of_entry]

    def graph(self, weight: Any = None) -> Graph:
        """Return the weft graph, with an edge attribute as its weights, on the chosen device."""
        device = device_for(self.structure.targets.size)
        values = self.weights(weight)
        key = (None if values is None else weight), device
        found = self._graphs.get(key)
        if found is None:
            columns = {} if values is None else {"weight": values[self.structure.edge_order]}
            found = Graph(self.structure.topology, edge=columns)
            if device != "cpu":
                found = found.to(device)
            self._graphs[key] = found
        return found

    def named(self, values: Any) -> dict[Any, Any]:
        """Return one value per node as a dictionary of Python's numbers."""
        return dict(zip(self.nodes, to_host(values).tolist(), strict=True))

    def at(self, numbers: Any) -> list[Any]:
        """Return the nodes of some rows."""
        nodes = self.structure.nodes
        return [nodes[i] for i in to_host(numbers).tolist()]


def _forgotten() -> None:
    """Stand for a converted graph in the cache of a copy of its origin."""


def read_weights(origin: Any, rows: Rows, name: Any, default: Any) -> Array | None:
    """Return an edge attribute by first entries, with a default; None if none has it."""
    values, present = read_column(EdgeValues(origin, rows), name, _numbers)
    values = _usable(values, name, present)
    if present is not None:
        if not present.any():
            values = None
        elif type(default) not in (int, float):
            raise NotImplementedError(f"an edge without {name!r} has the default {default!r}")
        elif type(default) is float and default != int(default):
            values = np.where(present, values, default)
        else:
            values[~present] = default
    return _constant(rows, default) if values is None else values


def _constant(rows: Rows, default: Any) -> Array | None:
    return None if default == 1 else np.full(rows.targets.size, default)[: _count(rows)]


def _usable(values: Array | None, name: Any, present: Array | None = None) -> Array:
    """Return weights as integers or floats, or refuse them."""
    if values is None or values.ndim != 1:
        raise NotImplementedError(f"the edge attribute {name!r} is not a number everywhere")
    if values.dtype.kind == "b":
        return values.astype(np.int64)
    if values.dtype.kind == "f" and np.isnan(values if present is None else values[present]).any():
        raise NotImplementedError(f"the edge attribute {name!r} is NaN somewhere")
    return values


def read_node_values(origin: Any, name: Any) -> list[Any]:
    """Return a node attribute as a list, None where it is missing."""
    return [data.get(name) for data in NodeValues(origin).dictionaries]


def _count(rows: Rows) -> int:
    first = rows.first
    return rows.targets.size if first is None else int(np.count_nonzero(first))


def _numbers(values: list[Any]) -> Array | None:
    """Return NumPy's numbers as an array, None for anything else."""
    if not all(isinstance(value, int | float | np.integer | np.floating) for value in values):
        return None
    try:
        array = np.asarray(values)
    except (OverflowError, ValueError):
        return None
    if array.dtype.kind == "f":
        return array.astype(np.float64)
    return array.astype(np.int64) if array.dtype.kind in "bi" else None
