"""The tables that queries name: arcs, the state of the vertices, the state of the arcs.

Queries are compiled once with marks in the place of names and numbers that differ from superstep to
superstep; `filled` replaces them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from weft.backends.relational.dialect import Kind

NOW, BEGIN, FRONTIER = "@now@", "@begin@", "@frontier@"
ARCS, OUT_LISTS, IN_LISTS = "@arcs@", "@out_lists@", "@in_lists@"
ARC_STATE, ROWS = "@arc_state@", "@rows@"
SUPERSTEP, REFRESHING = "@superstep@", "@refreshing@"
_MARK = re.compile(r"@[a-z_0-9]+@")
ARC_PARTS = ("src", "dst", "arc", "edge", "rank", "par")


def scalar_mark(number: int) -> str:
    """Return the placeholder for the value of a scalar."""
    return f"@scalar_{number}@"


def filled(text: str, values: dict[str, str]) -> str:
    """Return a compiled query with names and numbers in the place of its marks."""
    return _MARK.sub(lambda found: values[found[0]], text)


@dataclass
class Field:
    """A field and the columns that hold its components."""

    name: str
    dtype: Kind
    shape: tuple[int, ...]
    columns: list[str]


@dataclass
class Schema:
    """The contents of a program's tables.

    Attributes
    ----------
    fields
        The fields of vertices by name, among them `old.` ones.
    arc_fields
        The fields of arcs.
    columns
        The edge columns, each with its columns in the table of arcs.
    scalars
        The scalars with their dtypes, in the order of their marks.
    degrees
        Which degrees lie in the state, as columns of these names.
    """

    num_vertices: int
    num_arcs: int
    num_edges: int
    directed: bool
    fields: dict[str, Field] = field(default_factory=dict)
    arc_fields: dict[str, Field] = field(default_factory=dict)
    columns: dict[str, Field] = field(default_factory=dict)
    scalars: dict[str, Kind] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    degrees: tuple[str, ...] = ()

    def mark_of(self, scalar: str) -> str:
        """Return the placeholder of a scalar in queries."""
        return scalar_mark(list(self.scalars).index(scalar))


@dataclass(frozen=True)
class Plan:
    """The execution plan of a sweep.

    Attributes
    ----------
    everywhere
        The frontier holds all vertices.
    delta
        Only the rows that may change are computed and written; otherwise all are.
    lists
        Arcs are read from adjacency lists of the vertices concerned.
    block
        Sources are joined in blocks of so many vertices; 0: all at once.
    arcs
        The frontier holds arcs.
    """

    everywhere: bool = True
    delta: bool = False
    lists: bool = False
    block: int = 0
    arcs: bool = False


def make_field(name: str, number: int, prefix: str, dtype: Kind, shape: tuple[int, ...]) -> Field:
    """Return a field with names for its columns."""
    size = 1
    for extent in shape:
        size *= extent
    own = f"{prefix}{number}"
    columns = [f"{own}_{k}" for k in range(size)] if shape else [own]
    return Field(name, dtype, shape, columns)
