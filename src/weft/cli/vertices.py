"""Vertices named on a command line: by number, or by label where the graph has labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.cli.signatures import value_of
from weft.errors import ConfigError, GraphError, nearest


def vertex_of(g: Any, text: str) -> int:
    """Return the vertex that a text names."""
    labels = getattr(g, "labels", None)
    if labels is None:
        value = value_of(text)
        if not isinstance(value, int) or isinstance(value, bool):
            raise GraphError(f"{text!r} is not a vertex. Expected a number from 0 on.")
        return value
    names = np.asarray(labels)
    wanted: Any = value_of(text) if names.dtype.kind in "iuf" else text
    found = np.flatnonzero(names == wanted)
    if found.size == 0:
        hint = nearest(text, [str(name) for name in names[:10_000]])
        raise GraphError(f"no vertex is called {text!r}.{hint} The first is called {names[:1]}.")
    return int(found[0])


def sources_of(g: Any, text: str) -> Any:
    """Return the size of a sample, or the vertices of a list (with a comma in it)."""
    if "," not in text:
        value = value_of(text)
        if not isinstance(value, int) or isinstance(value, bool):
            raise ConfigError(
                f"--sources {text!r} cannot be read. Expected a number, or vertices such as 3,17,4."
            )
        return value
    return [vertex_of(g, part.strip()) for part in text.split(",") if part.strip()]


def personalization_of(g: Any, text: str) -> dict[int, float]:
    """Return the vertices and values of a list such as `3=1,17=0.5`."""
    found = {}
    for part in text.split(","):
        name, equals, number = part.partition("=")
        value = value_of(number.strip())
        if not equals or not isinstance(value, int | float):
            raise ConfigError(
                f"--personalization {part!r} cannot be read. Expected vertices and values such as "
                "3=1,17=0.5."
            )
        found[vertex_of(g, name.strip())] = float(value)
    return found
