"""Checks of the source vertices that algorithms take."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.errors import GraphError
from weft.graph import Graph


def check_source(g: Graph, source: Any) -> int:
    """Return a source as an int, or say that it does not exist."""
    if isinstance(source, bool | np.bool_) or not isinstance(source, int | np.integer):
        raise GraphError(f"source={source!r} is not a vertex. Expected an integer.")
    n = g.num_vertices
    if not 0 <= source < n:
        expected = f"Expected 0 to {n - 1}." if n else "The graph has no vertices."
        raise GraphError(f"source={source} does not exist in a graph of {n} vertices. {expected}")
    return int(source)
