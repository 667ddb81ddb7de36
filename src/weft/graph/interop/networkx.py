"""Conversion from and to NetworkX: nodes are vertices, attributes are columns."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.arrays.device import to_host
from weft.arrays.reduce import any_true
from weft.errors import GraphError
from weft.graph.build import BuildOptions, checked_options, native
from weft.graph.columns import Columns, EdgeColumns, VertexColumns
from weft.graph.interop.left_out import warn_left_out
from weft.graph.interop.tables import optional
from weft.graph.labels import Labels, label_array, numbered_from_zero
from weft.graph.parts import Parts, numbered_parts
from weft.topology.adjacency import Array
from weft.topology.topology import Direction

if TYPE_CHECKING:
    from weft.graph.interop.rows import Values


_NONE = np.zeros(0, np.int64)


def network_parts(
    network: Any,
    weight: str | None,
    vertex: Iterable[str] | None,
    edge: Iterable[str] | None,
    options: BuildOptions,
) -> Parts:
    """Build the parts of a graph from a NetworkX graph."""
    numbered, vertices, edges = _read(network, weight, vertex, edge)
    directed = network.is_directed()
    return numbered_parts(
        numbered, edges, vertex=vertices, directed=directed, **checked_options(options)
    )


def _read(
    network: Any,
    weight: str | None,
    vertex: Iterable[str] | None,
    edge: Iterable[str] | None,
) -> tuple[tuple[Array, Array, int, Labels | None], dict[str, Array], dict[str, Array]]:
    """Return the numbered edges (as `number_ends` does), vertex columns and edge columns."""
    optional("networkx", "networkx", "NetworkX graphs")
    for method in ("is_directed", "nodes", "edges", "number_of_nodes"):
        if not hasattr(network, method):
            raise GraphError(
                f"A {type(network).__name__} is not a NetworkX graph. Expected a networkx.Graph, "
                "DiGraph, MultiGraph or MultiDiGraph."
            )
    from weft.graph.interop.rows import EdgeValues, NodeValues, read_rows  # imports Numba

    rows = read_rows(network)
    nodes, src, dst, first = rows.nodes, rows.sources, rows.targets, rows.first
    if first is not None:
        src, dst = src[first], dst[first]
    columns = _columns(EdgeValues(network, rows), edge, weight, EdgeColumns, "edge_columns")
    vertices = _columns(NodeValues(network), vertex, None, VertexColumns, "vertex_columns")

    ids = label_array(nodes)
    if not numbered_from_zero(ids) or bool in set(map(type, nodes)):
        return (src, dst, len(nodes), Labels(ids)), vertices, columns
    ids = ids.astype(np.int64)
    order = np.argsort(ids)
    vertices = {name: values[order] for name, values in vertices.items()}
    return (ids[src], ids[dst], len(nodes), None), vertices, columns


def write_network(g: Any, multigraph: bool | None) -> Any:
    """Return a graph as a NetworkX graph, with columns as attributes."""
    networkx = optional("networkx", "networkx", "NetworkX graphs")
    if multigraph is None:
        ends = g.to_edges()
        multigraph = _has_parallel(to_host(ends.src), to_host(ends.dst), g.num_vertices)
    name = f"{'Multi' if multigraph else ''}{'Di' if g.directed else ''}Graph"
    network = getattr(networkx, name)()
    nodes = list(range(g.num_vertices)) if g.labels is None else g.labels.tolist()
    with collector_paused():
        attributes = _attributes(g.edge, g.num_edges)
        if not multigraph and g.topology.keep == "both":
            network._node.update(zip(nodes, _attributes(g.vertex, len(nodes)), strict=True))
            _fill_from(network, g, nodes, attributes)
            return network
        network.add_nodes_from(zip(nodes, _attributes(g.vertex, g.num_vertices), strict=True))
        src, dst, _ = g.to_edges(labels=True)
        network.add_edges_from(
            zip(to_host(src).tolist(), to_host(dst).tolist(), attributes, strict=True)
        )
    return network


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the garbage collector, which would traverse every new dictionary several times.

    Afterwards the new objects count as old: freezing and unfreezing moves the list of all objects,
    while a collection would visit each of them.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            if not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def _fill_from(network: Any, g: Any, nodes: list[Any], data: list[dict[str, Any]]) -> None:
    """Fill the rows of a simple graph with those of a graph of weft."""
    topology = g.to("cpu").topology
    sides = []
    directions: list[Direction] = ["out", "in"] if topology.directed else ["out"]
    for direction in directions:
        adjacency = topology.out if direction == "out" else topology.in_
        rows = network._adj if direction == "out" else network._pred
        rows.update(zip(nodes, [{} for _ in nodes], strict=True))
        edges = topology.edges(direction)
        sides.append((rows, adjacency.offsets, adjacency.targets, edges))
    fill_rows(nodes, data, sides)


def fill_rows(
    nodes: list[Any], data: list[dict[str, Any]], sides: list[tuple[Any, Array, Array, Any]]
) -> None:
    """Fill the dictionaries of a simple graph, row by row; parallel edges leave the last one.

    Equivalent to `add_edges_from`, in a tenth of the time. Each side has the dictionaries of
    the rows in the order of the nodes, their offsets, their targets and the edge of each entry
    (None if they are in order).
    """
    from weft.graph.interop import dictionaries as kernels  # imports Numba

    if kernels.can_read() and set(map(type, nodes)) <= {int, str}:
        labels, items = _addresses(nodes), _addresses(data)
        for rows, offsets, targets, edges in sides:
            own, order = _addresses(rows.values()), _NONE if edges is None else edges
            if not kernels.fill_rows(own, labels, items, offsets, targets, order):
                raise MemoryError
        return
    for rows, offsets, targets, edges in sides:
        ends = map(nodes.__getitem__, targets.tolist())
        in_turn = iter(data) if edges is None else map(data.__getitem__, edges.tolist())
        entries = zip(ends, in_turn, strict=True)
        for node, length in zip(nodes, np.diff(offsets).tolist(), strict=True):
            rows[node].update(islice(entries, length))


def _addresses(objects: Collection[Any]) -> Array:
    return np.fromiter(map(id, objects), np.intp, len(objects))


def _columns(
    items: Values,
    wanted: Iterable[str] | None,
    weight: str | None,
    kind: type[Columns],
    option: str,
) -> dict[str, Array]:
    """Return numeric attributes as columns; the weight attribute becomes the column "weight".

    A missing weight is 1, as in NetworkX; any other missing attribute is NaN.
    """
    from weft.graph.interop.rows import names_of, read_column

    columns: dict[str, Array] = {}
    named = names_of(items)
    if weight is not None and weight in named:
        values, present = read_column(items, weight, numbers_of)
        if values is None or values.ndim != 1 or values.dtype.kind == "b":
            raise GraphError(
                f"weight={weight!r}: the attribute is not a number on every edge. Expected "
                "integers or floats; pass weight=None, or the name of another attribute."
            )
        if present is not None:
            values[~present] = 1
        columns["weight"] = values
    explicit, left = wanted is not None, []
    given = [wanted] if isinstance(wanted, str) else wanted
    for name in dict.fromkeys(given if given is not None else named):
        if name == weight:
            continue
        if not explicit and (name == "weight" or not kind.can_name(name)):
            left.append(name)
            continue
        values = _attribute(items, name, name in named)
        if explicit:
            kind.check_name(name)
            if values is None:
                raise GraphError(
                    f"{option}: the attribute {name!r} is not numeric everywhere. Expected bool, "
                    "integers or floats; convert it first, or leave it out."
                )
        if values is not None:
            columns[name] = values
        else:
            left.append(name)
    warn_left_out(option.removesuffix("_columns"), left, option, stacklevel=5)
    return columns


def _attribute(items: Values, name: str, known: bool) -> Array | None:
    from weft.graph.interop.rows import read_column

    if not known:
        return None if items.count else np.zeros(0)
    values, present = read_column(items, name, numbers_of)
    if present is None or values is None:
        return values
    return np.where(present, values, np.nan)


def numbers_of(values: list[Any]) -> Array | None:
    """Return values as an array that a column can hold, or None if impossible."""
    if not values:
        return np.zeros(0)
    try:
        array = np.asarray(values)
        return native(array, "") if array.ndim <= 3 else None
    except (GraphError, ValueError, TypeError, OverflowError):
        return None


def _attributes(columns: Columns, count: int) -> list[dict[str, Any]]:
    """Return one dictionary of attributes per item."""
    names = list(columns)
    if not names:
        return [{} for _ in range(count)]
    lists = [to_host(columns[name]).tolist() for name in names]
    if len(names) == 1:
        (name,), (values,) = names, lists
        return [{name: value} for value in values]
    return [dict(zip(names, values, strict=True)) for values in zip(*lists, strict=True)]


def _has_parallel(src: Array, dst: Array, num_vertices: int) -> bool:
    pairs = np.sort(src.astype(np.int64) * num_vertices + dst)
    return any_true(pairs[1:] == pairs[:-1])
