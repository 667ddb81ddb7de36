"""Paths from the parents that a search returns."""

from __future__ import annotations

from typing import Any

import numpy as np

import weft
from weft.arrays.device import to_host
from weft.errors import GraphError, shortened

Array = np.ndarray[Any, Any]


def path(result: Any, target: Any, g: weft.Graph | None = None) -> Array:
    """Return the path to a vertex that a search found, by following parents to their root.

    Parameters
    ----------
    result
        The result of `weft.bfs`, `weft.sssp` or another search: anything with a field ``parent``.
    target
        The vertex to reach: a number or, with `g`, a label.
    g
        The graph, if the vertices of the path should be its labels.

    Returns
    -------
    ndarray
        The vertices from the source to the target, in host memory; empty if the search did not
        reach the target.

    Raises
    ------
    GraphError
        If the result has no parents, the vertex does not exist, or the parents form a cycle.

    Examples
    --------
    >>> import weft
    >>> g = weft.Graph.from_edges(["Ada", "Bob", "Ada"], ["Bob", "Eve", "Eve"], [1.0, 1.0, 5.0])
    >>> found = weft.sssp(g, "Ada")
    >>> weft.path(found, 2), weft.path(found, "Eve", g).tolist()
    (array([0, 1, 2]), ['Ada', 'Bob', 'Eve'])
    """
    parent = _parents(result)
    at = _target(target, parent.size, g)
    vertices: list[int] = []
    if parent[at] >= 0:
        vertices.append(at)
        while (above := int(parent[at])) != at:
            if len(vertices) > parent.size or not 0 <= above < parent.size:
                raise GraphError(
                    f"the parents of vertex {vertices[0]} lead to {above}, not to a source. "
                    "Expected the parents that a search returned, a source being its own parent."
                )
            vertices.append(at := above)
    found = np.array(vertices[::-1], np.int64)
    return found if g is None else g.label_of(found)


def _parents(result: Any) -> Array:
    parent = to_host(getattr(result, "parent", None))
    if parent.ndim != 1 or parent.dtype.kind not in "iu":
        raise GraphError(
            f"{shortened(result)} has no parents. Expected the result of weft.bfs or weft.sssp, or "
            "another with an integer field `parent`."
        )
    return parent


def _target(target: Any, n: int, g: weft.Graph | None) -> int:
    if g is not None:
        target = g.vertex_of(target)
        if g.num_vertices != n:
            raise GraphError(
                f"the result has {n} vertices, but the graph {g.num_vertices}. Expected the graph "
                "that was searched."
            )
    whole = isinstance(target, int | np.integer) and not isinstance(target, bool)
    if not whole or not 0 <= target < n:
        hint = "" if g is not None else "; for a label, pass the graph too: path(result, label, g)"
        raise GraphError(
            f"target={shortened(target)} is not a vertex of the result. Expected a number from 0 "
            f"to {n - 1}{hint}."
        )
    return int(target)
