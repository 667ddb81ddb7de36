"""Graphs from tables of edges and vertices, and data frames of both."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from weft.arrays.device import to_host
from weft.errors import GraphError
from weft.graph.build import BuildOptions, checked_options
from weft.graph.columns import EdgeColumns, VertexColumns
from weft.graph.interop.tables import (
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
from weft.graph.parts import Parts, numbered_parts
from weft.topology.adjacency import Array

if TYPE_CHECKING:
    from weft.graph.graph import Graph

PARENT = "parent"
"""The result field that holds vertices rather than numbers."""


class TableLayout(NamedTuple):
    """Which columns of the edge and vertex tables to use; see `Graph.from_pandas`."""

    source: Any
    target: Any
    weight: Any
    vertex: Any
    vertex_columns: Iterable[str] | None
    edge_columns: Iterable[str] | None


def table_parts(
    edges: TableLike,
    vertices: TableLike | None,
    layout: TableLayout,
    directed: bool,
    labels: bool | None,
    options: BuildOptions,
) -> Parts:
    """Build the parts of a graph from tables of any library."""
    source, target, weight, vertex, vertex_columns, edge_columns = layout
    held: dict[str, Array] = {}
    if vertices is not None:
        if vertex is None and not vertices.names:
            raise GraphError("vertices has no columns. Expected at least one with the ids.")
        vertex = vertices.names[0] if vertex is None else vertex
        check_there(vertices.names, vertex, "vertices")
        held = read_columns(vertices, vertex_columns, (vertex,), VertexColumns, "vertex_columns")
    numbered, rows = numbered_edges(edges, source, target, labels, vertices, vertex)
    if rows is not None:
        held = {name: values[rows] for name, values in held.items()}
    columns: dict[str, Array] = {}
    if weight is not None and (weight != "weight" or weight in edges.names):
        columns["weight"] = _weights(edges, weight)
    leave = (source, target, weight, "weight")
    columns |= read_columns(edges, edge_columns, leave, EdgeColumns, "edge_columns")
    return numbered_parts(
        numbered, columns, vertex=held, directed=directed, **checked_options(options)
    )


def edge_frame(g: Graph, source: str, target: str) -> Any:
    """Return a data frame with one row per edge."""
    pandas = optional("pandas", "pandas", "Data frames")
    src, dst, _ = g.to_edges(labels=True)
    columns = spread(g._edge)
    for name in (source, target):
        check_free(name, columns, "source= or target=")
    return pandas.DataFrame({source: to_host(src), target: to_host(dst), **columns})


def edge_table(g: Graph, source: str, target: str) -> Any:
    """Return an Arrow table with one row per edge."""
    arrow = optional("pyarrow", "arrow", "Arrow tables")
    src, dst, _ = g.to_edges()
    columns = spread(g._edge)
    for name in (source, target):
        check_free(name, columns, "source= or target=")
    ends = {source: to_host(src), target: to_host(dst)}
    if g.labels is not None:
        try:
            names = arrow.array(g.labels.tolist())
        except (arrow.ArrowException, OverflowError, TypeError, ValueError) as error:
            raise GraphError(
                f"The labels cannot stand in an Arrow table ({error}). Expected values of one "
                "type, such as strings or integers of 64 bits."
            ) from None
        ends = {name: names.take(arrow.array(numbers)) for name, numbers in ends.items()}
    return arrow.table({**ends, **columns})


def vertex_frame(g: Graph, result: Any, fields: dict[str, Any], name: str | None) -> Any:
    """Return a data frame with one row per vertex."""
    pandas = optional("pandas", "pandas", "Data frames")
    n, labels = g.num_vertices, g.labels
    given = dict(g._vertex) if result is None and not fields else fields_of(result)
    arrays = spread({k: per_vertex(k, v, n) for k, v in (given | fields).items()})
    first = name or ("vertex" if labels is None else "label")
    check_free(first, arrays, "name=")
    ids = np.arange(n) if labels is None else labels
    if labels is not None and _are_vertices(arrays.get(PARENT), n):
        arrays[PARENT] = g.label_of(arrays[PARENT])
    return pandas.DataFrame({first: ids, **arrays})


def _are_vertices(values: Any, n: int) -> bool:
    """Whether an array holds vertex numbers, or -1."""
    whole = isinstance(values, np.ndarray) and values.dtype.kind in "iu" and values.size > 0
    return whole and int(values.min()) >= -1 and int(values.max()) < n


def _weights(edges: TableLike, name: Any) -> Array:
    check_there(edges.names, name, "edges")
    values = edges.numbers(name)
    if values is None:
        raise GraphError(
            f"The column {name!r} is not numeric. Expected integers, float32 or float64 as "
            "weights; convert it, or pass weight=None."
        )
    return values
