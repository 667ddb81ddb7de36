"""Vertices named on a command line: by number, or by label where the graph has labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.cli.signatures import value_of
from weft.errors import ConfigError, GraphError

Array = np.ndarray[Any, Any]


def vertex_of(g: Any, text: str) -> Any:
    """Return a vertex as algorithms take it: its label in a graph with labels, else its number.

    Examples
    --------
    >>> import weft
    >>> vertex_of(weft.generators.path(3), "2")
    2
    >>> vertex_of(weft.Graph.from_edges(["7", "Bob"], ["Bob", "Eve"]), "7")
    '7'
    """
    if g.labels is not None and g.labels.dtype.kind not in "iuf":
        return text
    value = value_of(text)
    if isinstance(value, bool) or not isinstance(value, int | float):
        what = "a number from 0 on" if g.labels is None else "a number, as all labels are"
        raise GraphError(f"{text!r} is not a vertex. Expected {what}.")
    return value


def sources_of(g: Any, text: str) -> Any:
    """Return the size of a sample, or the vertices of a list (with a comma in it)."""
    if "," not in text:
        value = value_of(text)
        if not isinstance(value, int) or isinstance(value, bool):
            raise ConfigError(
                f"--sources {text!r} cannot be read. Expected a number, or vertices such as 3,17,4."
            )
        return value
    return vertices_of(g, text)


def vertices_of(g: Any, text: str) -> list[Any]:
    """Return the vertices of a list such as `3,17,4`, or of one."""
    return [vertex_of(g, part.strip()) for part in text.split(",") if part.strip()]


def counts_of(g: Any, text: str) -> list[int]:
    """Return the integers of a list such as `15,10`."""
    values = [value_of(part.strip()) for part in text.split(",") if part.strip()]
    if not values or any(isinstance(v, bool) or not isinstance(v, int) for v in values):
        raise ConfigError(f"{text!r} is not a list of counts. Expected integers such as 15,10.")
    return values


def personalization_of(g: Any, text: str) -> Array:
    """Return a value for each vertex, from a list such as `3=1,17=0.5`."""
    values = np.zeros(g.num_vertices)
    for part in text.split(","):
        name, equals, number = part.rpartition("=")
        value = value_of(number.strip())
        if not equals or isinstance(value, bool) or not isinstance(value, int | float):
            raise ConfigError(
                f"{part!r} cannot be read. Expected vertices and values such as 3=1,17=0.5."
            )
        values[g.vertex_of(vertex_of(g, name.strip()))] = value
    return values
