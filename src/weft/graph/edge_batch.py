"""Batches of edges to add or remove: parse, check, apply."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from weft.arrays.device import as_array, module_of, move, to_host
from weft.arrays.reduce import all_true
from weft.errors import GraphError, listed
from weft.graph.build import check_count, check_pairs
from weft.graph.labels import Labels, encode, end_array, label_array
from weft.graph.parts import Parts
from weft.topology.adjacency import Array
from weft.topology.edit import insert_edges, remove_edges

_SHOWN: Final = 3

# Dtype kinds that a column of some kind accepts; integers must also be in range.
_HELD_BY: Final = {"b": "b", "i": "iu", "u": "iu", "f": "iuf"}


def remove_from(
    parts: Parts, src: Any, dst: Any, weight: Any = None, *, missing: str
) -> tuple[Array, Array]:
    """Remove the edges of some pairs; return the ends of the removed edges."""
    topology, n = parts.topology, parts.topology.num_vertices
    placed = place_ends(parts.labels, n, src, dst)[:2]
    rows, columns = check_pairs(*placed, topology.device)
    values = None if weight is None else _new_values(parts, "weight", weight, rows.size)
    there = (rows >= 0) & (rows < n) & (columns >= 0) & (columns < n)
    known = topology.xp.flatnonzero(there)
    parts.topology, parts.edge, gone, found = remove_edges(
        topology, parts.edge, rows[known], columns[known],
        None if values is None else values[known],
    )  # fmt: skip
    there[known] = found
    if missing == "raise" and not all_true(there):
        absent = to_host(topology.xp.flatnonzero(~there))
        raise GraphError(_missing_text(absent, rows.size, src, dst, values))
    return gone


def add_to(
    parts: Parts,
    src: Any,
    dst: Any,
    weight: Any = None,
    columns: Any = None,
    num_vertices: Any = None,
) -> tuple[Array, Array]:
    """Add edges and the vertices they need; return the ends of the new edges."""
    n, device = parts.topology.num_vertices, parts.topology.device
    rows, targets, new = place_ends(parts.labels, n, src, dst)
    rows, targets = check_pairs(rows, targets, device)
    count = _count(parts, num_vertices, new)
    for name, ends in (("src", rows), ("dst", targets)):
        _check_exist(name, ends, count, labelled=parts.labels is not None)
    values = _values_of_all(parts, weight, columns, rows.size)
    if new is not None and len(new):
        assert parts.labels is not None
        parts.labels = parts.labels.extended(new.values)
    parts.vertex = {name: _lengthened(old, count) for name, old in parts.vertex.items()}
    if parts.order is not None and count > n:
        xp = parts.topology.xp
        parts.order = xp.concatenate((parts.order, xp.arange(n, count, dtype=parts.order.dtype)))
    parts.topology, parts.edge = insert_edges(
        parts.topology, parts.edge, rows, targets, values, count
    )
    dtype = parts.topology.index_dtype
    return rows.astype(dtype), targets.astype(dtype)


def _count(parts: Parts, num_vertices: Any, new: Labels | None) -> int:
    """Return the number of vertices after the change."""
    n = parts.topology.num_vertices
    if num_vertices is None:
        return n + (0 if new is None else len(new))
    if parts.labels is not None:
        raise GraphError(
            f"num_vertices={num_vertices} was given, but the vertices have labels. Leave it "
            "out: an unknown label creates a new vertex."
        )
    count = check_count("num_vertices", num_vertices)
    if count < n:
        raise GraphError(
            f"num_vertices={count} is less than the {n} vertices of the graph. To remove "
            "vertices, use g.subgraph(...)."
        )
    return count


def _values_of_all(parts: Parts, weight: Any, columns: Any, count: int) -> dict[str, Array]:
    """Return the values of the new edges for exactly the existing edge columns."""
    given = dict(columns or {})
    if "weight" in given:
        raise GraphError("columns contains 'weight'. Pass the weights as weight=.")
    if weight is not None:
        given["weight"] = weight
    lacking = [name for name in parts.edge if name not in given]
    if lacking:
        hint = "weight=..." if lacking[0] == "weight" else f"columns={{{lacking[0]!r}: ...}}"
        raise GraphError(
            f"The new edges have no values for the edge column(s) {listed(lacking)}. Expected "
            f"values for every column; pass {hint}, an array or one value for all edges."
        )
    return {name: _new_values(parts, name, given[name], count) for name in given}


def _new_values(parts: Parts, name: str, given: Any, count: int) -> Array:
    """Return the values of edges in the dtype of a column."""
    if name not in parts.edge:
        has = f"There are {listed(parts.edge)}" if parts.edge else "There are none"
        raise GraphError(
            f"The graph has no edge column {name!r}, but values for it were given. {has}; "
            f"omit the values, or assign g.edge[{name!r}] first."
        )
    column, values = parts.edge[name], as_array(given)
    feature = column.shape[1:]
    if values.shape not in (feature, (count, *feature)):
        raise GraphError(
            f"edge column {name!r} was given values of shape {values.shape}. Expected "
            f"{(count, *feature)}, one per edge, or {feature}, one for all."
        )
    fits = values.dtype.kind in _HELD_BY[column.dtype.kind]
    with np.errstate(over="ignore"):
        cast = values.astype(column.dtype) if fits else values
    if fits and column.dtype.kind in "iu":
        fits = all_true(cast == values)
    elif fits and column.dtype.kind == "f":  # rounding is fine, overflow to infinity is not
        fits = all_true((abs(cast) != np.inf) | (abs(values) == np.inf))
    if not fits:
        raise GraphError(
            f"edge column {name!r} is {column.dtype}, but was given values of "
            f"{values.dtype} that it cannot hold. Assign the column in a wider dtype first, "
            f"g.edge[{name!r}] = g.edge[{name!r}].astype(...), or convert the values."
        )
    there, xp = move(cast, parts.topology.device), parts.topology.xp
    if there.shape == (count, *feature) and there.ndim == column.ndim:
        return there
    spread = xp.empty((count, *feature), column.dtype)
    spread[...] = there
    return spread


def place_ends(
    labels: Labels | None, num_vertices: int, src: Any, dst: Any
) -> tuple[Any, Any, Labels | None]:
    """Return both ends as vertex numbers, and the labels that the graph does not have yet.

    As in `g.vertex_of`, integers are vertex numbers unless some label is a number. New labels are
    numbered in order of appearance, first in src, then in dst.

    Raises
    ------
    GraphError
        If an id is missing.
    """
    ends = [end_array("src", src), end_array("dst", dst)]
    if labels is None:
        for name, end in zip(("src", "dst"), ends, strict=True):
            if end.size and end.dtype.kind not in "iu":
                raise GraphError(
                    f"{name} has dtype {end.dtype}, but the vertices have no labels. Expected "
                    "vertex numbers, which are integers."
                )
        return ends[0], ends[1], None
    unknown: list[Array] = []
    for place, end in enumerate(ends):
        if end.size and (labels.numeric or end.dtype.kind not in "iu"):
            ids = label_array(end)
            ends[place] = found = labels.find(ids)
            unknown.append(ids[found < 0].astype(object))
        else:
            unknown.append(np.empty(0, object))
    codes, different = encode(np.concatenate(unknown))
    if codes.size and int(codes.min()) < 0:
        raise GraphError(
            "An end of an edge is missing (None or NaN). Expected a label at both ends; drop "
            "incomplete edges."
        )
    parts = np.split(num_vertices + codes, [unknown[0].size])
    for end, ids, numbers in zip(ends, unknown, parts, strict=True):
        if ids.size:
            end[end < 0] = numbers
    return ends[0], ends[1], Labels(label_array(different))


def _check_exist(name: str, ends: Array, count: int, *, labelled: bool) -> None:
    """Raise unless all vertices exist."""
    low, high = (int(ends.min()), int(ends.max())) if ends.size else (0, -1)
    if low >= 0 and high < count:
        return
    at, bad = (int(ends.argmin()), low) if low < 0 else (int(ends.argmax()), high)
    expected = f"Expected 0 to {count - 1}" if count else "There are no vertices yet"
    more = "" if bad < 0 else f"; pass num_vertices={bad + 1} to add vertices"
    raise GraphError(
        f"{name}[{at}] = {bad} is not one of the {count} vertices. {expected}"
        f"{', or labels' if labelled else more}."
    )


def _missing_text(absent: Array, count: int, src: Any, dst: Any, weight: Array | None) -> str:
    """Return the error message for edges that do not exist."""
    ends = [to_host(end_array(name, end)) for name, end in (("src", src), ("dst", dst))]
    shown = []
    for pair in absent[:_SHOWN].tolist():
        u, v = (end[pair : pair + 1].tolist()[0] for end in ends)
        of = "" if weight is None else f" of weight {to_host(weight[pair])[()]}"
        shown.append(f"({u!r}, {v!r}){of}")
    more = ", ..." if absent.size > _SHOWN else ""
    return (
        f"{absent.size} of {count} edges to remove do not exist: {', '.join(shown)}{more}. "
        "Expected edges of the graph; pass missing='ignore' to skip missing ones."
    )


def _lengthened(column: Array, count: int) -> Array:
    """Return a vertex column padded with 0, False or NaN for new vertices."""
    if len(column) == count:
        return column
    xp = module_of(column)
    longer = xp.empty((count, *column.shape[1:]), column.dtype)
    longer[: len(column)] = column
    longer[len(column) :] = np.nan if column.dtype.kind == "f" else 0
    return longer
