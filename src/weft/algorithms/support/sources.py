"""Checks of vertices passed to algorithms: sources, and values by vertex."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import weft
from weft.arrays.checks import check_integer, real_of
from weft.arrays.device import is_device_array, to_host
from weft.errors import GraphError, shortened

Array = np.ndarray[Any, Any]


def check_source(g: weft.Graph, source: Any, what: str = "source") -> int:
    """Return a vertex, given by its label or number, as an int; raise if it does not exist."""
    if is_device_array(source) and source.ndim == 0:
        source = to_host(source)[()]
    if g.labels is not None:
        return _labelled(g, source, what)
    if isinstance(source, bool | np.bool_) or not isinstance(source, int | np.integer):
        raise GraphError(
            f"{what}={shortened(source)} is not a vertex. Expected an integer, since the graph has "
            "no labels."
        )
    _check_number(int(source), g.num_vertices, what)
    return int(source)


def check_start(g: weft.Graph, source: Any) -> int | Array:
    """Return one source as an int, or a list, set or array of sources as a distinct array."""
    if type(source) is int and 0 <= source < g._topology.num_vertices and g._labels is None:
        return source  # the common case
    several = isinstance(source, list | set | frozenset | range)
    if several or (hasattr(source, "ndim") and source.ndim):
        chosen = list(source) if isinstance(source, set | frozenset | range) else source
        return np.unique(check_each(g, chosen))
    return check_source(g, source)


def check_sources(g: weft.Graph, sources: Any, seed: int) -> Array:
    """Return distinct sources: all for None, a sample for a number, or the given ones."""
    n = g.num_vertices
    if sources is None:
        return np.arange(n)
    if isinstance(sources, int | np.integer) and not isinstance(sources, bool):
        if not 1 <= sources <= n:
            raise GraphError(
                f"sources={shortened(sources)} is not the size of a sample. Expected 1 to {n}, an "
                f"array of vertices, or None for all."
            )
        seed = check_integer("seed", seed, 0)
        return np.sort(np.random.default_rng(seed).choice(n, int(sources), replace=False))
    expected = "one integer at least, a number for a sample of that size, or None for all"
    return np.unique(_listed(g, sources, expected))


def check_each(g: weft.Graph, sources: Any) -> Array:
    """Return the given sources as numbers, in the given order with repetitions."""
    if isinstance(sources, str | bytes | int | np.integer) and not isinstance(sources, bool):
        return np.array([check_source(g, sources)])
    return _listed(g, sources, "one vertex at least")


def _listed(g: weft.Graph, sources: Any, expected: str) -> Array:
    if g.labels is not None and not isinstance(sources, str | bytes):
        chosen = to_host(g.vertex_of(list(sources) if isinstance(sources, tuple) else sources))
    else:
        chosen = to_host(sources)
    if chosen.ndim != 1 or chosen.size == 0 or chosen.dtype.kind not in "iu":
        raise GraphError(f"sources={sources!r} is not a list of vertices. Expected {expected}.")
    for source in (int(chosen.min()), int(chosen.max())):
        _check_number(source, g.num_vertices)
    return chosen


def values_at(g: weft.Graph, values: Mapping[Any, Any], what: str) -> Array:
    """Return a mapping from vertices to values as an array, with 0 for missing vertices."""
    array = np.zeros(g.num_vertices)
    named: dict[int, Any] = {}
    for name, value in values.items():
        try:
            vertex = g.vertex_of(name)
        except GraphError as error:
            raise GraphError(f"{what} names the vertex {shortened(name)}. {error}") from None
        if not isinstance(vertex, int):
            raise GraphError(
                f"{what} names the vertex {shortened(name)}. Expected one vertex for each value."
            )
        if vertex in named:
            raise GraphError(
                f"{what} names vertex {vertex} twice: as {named[vertex]!r} and as {name!r}. "
                f"Expected one value for each vertex."
            )
        named[vertex] = name
        array[vertex] = number = real_of(value)
        if number != number:
            raise GraphError(
                f"{what} has the value {shortened(value)} for {name!r}. Expected a number."
            )
    return array


def _check_number(source: int, n: int, what: str = "source") -> None:
    if not 0 <= source < n:
        expected = f"Expected 0 to {n - 1}." if n else "The graph has no vertices."
        raise GraphError(
            f"{what}={shortened(source)} does not exist in a graph of {n} vertices. {expected}"
        )


def _labelled(g: weft.Graph, source: Any, what: str) -> int:
    vertex = g.vertex_of(source)
    if not isinstance(vertex, int):
        raise GraphError(f"{what}={source!r} is a list. Expected one label.")
    return vertex
