"""Contraction: merges groups of vertices, and the parallel edges between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.arrays.device import as_array, module_of, move
from weft.arrays.shortage import explained
from weft.errors import ConfigError, GraphError, listed, shortened, unknown
from weft.graph.build import SELF_LOOPS, BuildRules, SelfLoops, assemble, combine_runs, native
from weft.graph.parts import Parts, parts_of
from weft.ir.trace.monoids import Monoid

if TYPE_CHECKING:
    from weft.graph.graph import Graph

Array = np.ndarray[Any, Any]
SORTED_BYTES = 6 * 8  # of an edge, while it is sorted by its groups
_HOW: dict[str, Any] = {"sum": "sum", "min": "min", "max": "max", "any": "first"}


def contracted_parts(g: Graph, labels: Any, edge: Any, vertex: Any, self_loops: SelfLoops) -> Parts:
    """Return the parts of a graph with groups of vertices as its vertices; see `contract`."""
    topology, parts = g._topology, parts_of(g)
    if self_loops not in SELF_LOOPS:
        raise ConfigError(unknown("self_loops", self_loops, SELF_LOOPS))
    how: Any = "keep" if edge is None else _how(edge, "edge")
    with topology.device.current():
        groups, count = _groups(g, labels)
        src, dst = topology.edge_endpoints()
        columns = {name: _summable(values, how) for name, values in parts.edge.items()}
        rules = BuildRules(
            topology.directed,
            duplicates=how,
            self_loops=self_loops,
            keep=topology.keep,
            device=topology.device,
            others="first" if how == "keep" else how,
        )
        needed = SORTED_BYTES * int(src.size) + 2 * sum(int(x.nbytes) for x in columns.values())
        remedy = "Drop edge columns that are not read, or contract a subgraph at a time."
        with explained(topology.device, "g.contract of all edges", needed, remedy):
            built, merged = assemble(groups[src], groups[dst], columns, count, rules)
        chosen = _vertex_choices(vertex, parts.vertex)
        held = _grouped_columns(parts.vertex, chosen, groups, count)
    return Parts(built, held, merged)


def _how(monoid: Any, what: str) -> str:
    """Return the combination of a group's values, by name."""
    name = monoid.name if isinstance(monoid, Monoid) else ""
    if name not in _HOW:
        raise ConfigError(
            f"{what}={monoid!r} cannot combine columns. Expected weft.sum, weft.min, weft.max or "
            f"weft.any, which takes the first value."
        )
    return str(_HOW[name])


def _summable(values: Array, how: str) -> Array:
    """Return a column that can be combined: booleans as integers."""
    return values.astype(np.int64) if how == "sum" and values.dtype.kind == "b" else values


def _groups(g: Graph, labels: Any) -> tuple[Array, int]:
    """Return the group number of each vertex, ascending with labels, and the number of groups."""
    topology, n = g._topology, g._topology.num_vertices
    held = as_array(labels)
    if held.ndim != 1 or held.size != n or (held.size and held.dtype.kind not in "iu"):
        raise GraphError(
            f"labels={shortened(labels)} has dtype {held.dtype} and shape {held.shape}. Expected "
            f"one integer for each of the {n} vertices."
        )
    xp = topology.xp
    if n == 0:
        return xp.zeros(0, topology.index_dtype), 0
    held = native(move(held, topology.device), "labels", topology.device)
    low, high = int(held.min()), int(held.max())
    if low >= 0 and high < 4 * n:  # no need to sort them
        known = xp.zeros(high + 1, np.int64)
        known[held] = 1
        numbers = xp.cumsum(known)
        return (numbers - 1).astype(topology.index_dtype)[held], int(numbers[-1])
    kinds, groups = xp.unique(held, return_inverse=True)
    return groups.astype(topology.index_dtype), int(kinds.size)


def _vertex_choices(vertex: Any, columns: Mapping[str, Array]) -> dict[str, str]:
    """Return how each vertex column that is kept is combined."""
    if vertex is None:
        return {}
    if isinstance(vertex, Monoid):
        how = _how(vertex, "vertex")
        return dict.fromkeys(columns, how)
    if not isinstance(vertex, Mapping):
        raise ConfigError(
            f"vertex={vertex!r} is not possible. Expected a monoid, or a dictionary that names one "
            f"for each column to keep."
        )
    missing = [name for name in vertex if name not in columns]
    if missing:
        raise GraphError(
            f"the graph has no vertex column {missing[0]!r}. Expected some of {listed(columns)}."
        )
    return {name: _how(monoid, f"vertex[{name!r}]") for name, monoid in vertex.items()}


def _grouped_columns(
    columns: Mapping[str, Array], chosen: dict[str, str], groups: Array, count: int
) -> dict[str, Array]:
    """Combine the values of every group."""
    if not chosen:
        return {}
    if not count:
        return {name: columns[name] for name in chosen}
    xp = module_of(groups)
    order = xp.argsort(groups, kind="stable")
    sizes = xp.bincount(groups, minlength=count)
    starts = xp.cumsum(sizes) - sizes
    return {
        name: combine_runs(_summable(columns[name][order], how), starts, how)
        for name, how in chosen.items()
    }
