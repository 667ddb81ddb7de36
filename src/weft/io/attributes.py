"""Vertices and edges with attributes, as GML and GraphML list them, as ids, labels and columns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from weft.errors import GraphError
from weft.graph import Graph
from weft.graph.build import native
from weft.graph.columns import Columns, EdgeColumns, VertexColumns
from weft.graph.interop.left_out import warn_left_out
from weft.io.base import Listing, Options, build
from weft.io.compression import Source
from weft.topology.adjacency import Array

TEXT: Final = "text"
INTEGERS: Final = "integers"
KIND: Final = "weft_labels"
"""The graph attribute in which weft records the kind of its labels."""
_CANONICAL: Final = re.compile(r"0|-?[1-9][0-9]{0,3999}")
_NO_WEIGHT: Final = 1


@dataclass
class Attributes:
    """Values of vertices or edges by name; an item without a value is skipped."""

    count: int = 0
    values: dict[str, list[Any]] = field(default_factory=dict)
    places: dict[str, list[int]] = field(default_factory=dict)

    def add(self, items: Mapping[str, Any]) -> None:
        """Append an item with the values given."""
        for name, value in items.items():
            self.values.setdefault(name, []).append(value)
            self.places.setdefault(name, []).append(self.count)
        self.count += 1

    def columns(self, kind: type[Columns], whose: str, stacklevel: int) -> dict[str, Array]:
        """Return the numeric attributes as columns; a warning names the others.

        A missing weight is 1, any other missing value NaN, as for graphs of NetworkX.
        """
        found: dict[str, Array] = {}
        left: list[str] = []
        for name, values in self.values.items():
            array = _numbers(values) if kind.can_name(name) else None
            if array is None or (name == "weight" and array.dtype.kind == "b"):
                left.append(name)
                continue
            if len(values) < self.count:
                places = np.array(self.places[name])
                whole = name == "weight" and array.dtype.kind in "iu"
                dtype = array.dtype if whole else np.float64
                missing = _NO_WEIGHT if name == "weight" else np.nan
                filled = np.full(self.count, missing, dtype)
                filled[places] = array
                array = filled
            found[name] = array
        warn_left_out(whose, left, stacklevel=stacklevel + 1)
        return found


@dataclass
class Described:
    """A graph as a file with attributes describes it.

    Parameters
    ----------
    ids : dict
        The position of every vertex by its id in the file.
    ends : list of int
        Source and target of every edge, one after the other, as positions.
    names : list
        The name of every vertex: a string, an integer, or None.
    """

    ids: dict[Any, int] = field(default_factory=dict)
    names: list[Any] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    vertices: Attributes = field(default_factory=Attributes)
    edges: Attributes = field(default_factory=Attributes)
    directed: bool = False
    kind: str | None = None


def graph_of(source: Source, described: Described, options: Options) -> Graph:
    """Return the graph that a file describes.

    Vertices named 0 to n - 1 get these numbers; otherwise the names become labels.
    """
    labels = _labels(source, described)
    ends = np.array(described.ends, np.int64).reshape(-1, 2)
    vertex = described.vertices.columns(VertexColumns, "vertex", 4)
    edge = described.edges.columns(EdgeColumns, "edge", 4)
    count = len(described.names)
    if not options.labels and described.kind is None and _are_numbers(labels, count):
        order = np.argsort(place := np.array(labels, np.int64))
        ends, labels = place[ends], None
        vertex = {name: values[order] for name, values in vertex.items()}
    listing = Listing(
        ends[:, 0], ends[:, 1], edge, count, described.directed, labels=labels or None
    )
    g = build(source, listing, options)
    for name, values in vertex.items():
        g.vertex[name] = _longer(values, g)
    return g


def _longer(values: Array, g: Graph) -> Array:
    """Return a column extended by missing values, for vertices that only `num_vertices` adds."""
    more = g.num_vertices - len(values)
    return values if not more else np.concatenate((values.astype(np.float64), [np.nan] * more))


def _labels(source: Source, described: Described) -> Any:
    """Return the names of the vertices, as integers if all are or the file says so."""
    names = described.names
    if described.kind == TEXT:
        return names
    odd = next((name for name in names if not _is_whole(name)), None)
    if odd is None:
        return [int(name) for name in names]
    if described.kind == INTEGERS:
        raise source.error(
            f"the vertex {odd!r} is not an integer, but the file says that all labels are. "
            "Expected integers; correct the name, or what the file says.",
            byte=0,
        )
    return [str(name) for name in names]


def _is_whole(name: Any) -> bool:
    """Whether a name is an integer, or the canonical text of one."""
    return type(name) is int or (isinstance(name, str) and _CANONICAL.fullmatch(name) is not None)


def _are_numbers(labels: list[Any], count: int) -> bool:
    return all(type(x) is int for x in labels) and set(labels) == set(range(count))


def _numbers(values: list[Any]) -> Array | None:
    """Return values as an array that a column can hold, or None."""
    if any(isinstance(value, str | list | dict) for value in values):
        return None
    try:
        array = np.asarray(values)
        if array.dtype.kind == "f" and all(isinstance(value, int) for value in values):
            return None  # integers that no one integer type holds
        return native(array, "") if array.ndim == 1 else None
    except (GraphError, ValueError, TypeError, OverflowError):
        return None


def label_kind(g: Graph, what: str) -> str | None:
    """Return the kind of a graph's labels: text, integers, or None without labels.

    Raises
    ------
    GraphError
        If the labels are neither.
    """
    if g.labels is None:
        return None
    labels = g.labels.tolist()
    if all(isinstance(x, str) for x in labels):
        return TEXT
    if all(isinstance(x, int) and not isinstance(x, bool) for x in labels):
        return INTEGERS
    odd = next(x for x in labels if not isinstance(x, str))
    raise GraphError(
        f"The label {str(odd)[:80]} cannot stand in a {what} file. Expected strings, or integers "
        "alone; write a '.weft' file."
    )


def written_columns(columns: Mapping[str, Array], what: str) -> dict[str, list[Any]]:
    """Return columns as lists of Python numbers, to be written one by one."""
    found = {}
    for name, values in columns.items():
        if values.ndim > 1:
            raise GraphError(
                f"column {name!r} has the shape {values.shape}. Expected one number per item in a "
                f"{what} file; write a '.weft' file, which holds it."
            )
        found[name] = values.tolist()
    return found
