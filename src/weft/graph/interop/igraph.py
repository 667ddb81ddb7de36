"""Conversion from igraph: vertices keep their numbers, names are labels, attributes are columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from weft.errors import GraphError
from weft.graph.build import BuildOptions, checked_options
from weft.graph.columns import Columns, EdgeColumns, VertexColumns
from weft.graph.interop.left_out import warn_left_out
from weft.graph.interop.networkx import numbers_of
from weft.graph.labels import Labels, label_array
from weft.graph.parts import Parts, numbered_parts
from weft.topology.adjacency import Array

_NAME = "name"


def igraph_parts(
    network: Any,
    weight: str | None,
    vertex: Iterable[str] | None,
    edge: Iterable[str] | None,
    options: BuildOptions,
) -> Parts:
    """Build the parts of a graph from an igraph graph."""
    for member in ("vs", "es", "get_edgelist", "is_directed", "vcount"):
        if not hasattr(network, member):
            raise GraphError(
                f"A {type(network).__name__} is not an igraph graph. Expected an igraph.Graph."
            )
    ends = np.array(network.get_edgelist(), np.int64).reshape(-1, 2)
    labels = None
    leave: tuple[str, ...] = ()
    if _NAME in network.vs.attributes() and vertex is None:
        labels, leave = Labels(label_array(list(network.vs[_NAME]))).check("name"), (_NAME,)
    vertices = _columns(network.vs, vertex, None, VertexColumns, leave, "vertex_columns")
    edges = _columns(network.es, edge, weight, EdgeColumns, (), "edge_columns")
    numbered = (ends[:, 0], ends[:, 1], int(network.vcount()), labels)
    directed = bool(network.is_directed())
    return numbered_parts(
        numbered, edges, vertex=vertices, directed=directed, **checked_options(options)
    )


def _columns(
    items: Any,
    wanted: Iterable[str] | None,
    weight: str | None,
    kind: type[Columns],
    leave: Sequence[str],
    option: str,
) -> dict[str, Array]:
    """Return numeric attributes as columns, as for graphs of NetworkX; a warning names others."""
    there = items.attributes()
    columns: dict[str, Array] = {}
    if weight is not None and weight in there:
        values = _column(list(items[weight]), missing=1)
        if values is None or values.ndim != 1 or values.dtype.kind == "b":
            raise GraphError(
                f"weight={weight!r}: the attribute is not a number on every edge. Expected "
                "integers or floats; pass weight=None, or the name of another attribute."
            )
        columns["weight"] = values
    explicit, left = wanted is not None, []
    given = [wanted] if isinstance(wanted, str) else wanted
    for name in given if given is not None else there:
        if name in leave or (name == weight and not explicit):
            continue
        if explicit:
            kind.check_name(name)
        taken = name in there and kind.can_name(name) and (explicit or name != "weight")
        found = _column(list(items[name])) if taken else None
        if found is not None:
            columns[name] = found
        elif explicit:
            raise GraphError(
                f"{option}: the attribute {name!r} is not there, or not numeric everywhere. "
                f"Expected one of {', '.join(map(repr, there)) or 'none'} with numbers."
            )
        else:
            left.append(name)
    warn_left_out(option.removesuffix("_columns"), left, option, stacklevel=5)
    return columns


def _column(values: list[Any], missing: float = np.nan) -> Array | None:
    """Return values as a column with a number where one is missing; None if not numeric."""
    present = np.array([value is not None for value in values], bool)
    found = numbers_of([value for value in values if value is not None])
    if found is None or present.all():
        return found
    if found.ndim != 1:
        return None
    filled = np.full(len(values), missing, found.dtype if missing == missing else np.float64)
    filled[present] = found
    return filled
