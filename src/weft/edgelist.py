"""Lists of edges: checked once, sorted, merged where parallel, and made into a topology."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from weft.adjacency import Adjacency, Array, fitting_dtype, index_dtype_for, sort_arcs
from weft.errors import ConfigError, GraphError, unknown
from weft.topology import KEEPS, Keep, Topology

Duplicates: TypeAlias = Literal["keep", "first", "sum", "min", "max"]
SelfLoops: TypeAlias = Literal["keep", "drop"]

DUPLICATES: Final = ("keep", "first", "sum", "min", "max")
SELF_LOOPS: Final = ("keep", "drop")

# Beyond this many ids per edge, ids above 2**31 are taken for keys and not for positions.
_SPARSEST: Final = 64


def check_ends(
    src: ArrayLike, dst: ArrayLike, num_vertices: int | None
) -> tuple[Array, Array, int]:
    """Return the ends of the edges as integer arrays, and the number of vertices.

    Raises
    ------
    GraphError
        If the arrays are not one-dimensional, integer, of one length and in range.
    """
    ends = _ids("src", src), _ids("dst", dst)
    if ends[0].size != ends[1].size:
        raise GraphError(
            f"src and dst differ in length: got {ends[0].size} and {ends[1].size}. "
            "Expected one entry of each per edge."
        )
    largest = -1
    for name, ids in zip(("src", "dst"), ends, strict=True):
        if ids.size and (lowest := int(ids.min())) < 0:
            raise GraphError(
                f"{name}[{int(np.argmin(ids))}] = {lowest} is negative. "
                "Expected vertex ids from 0 on; renumber the vertices."
            )
        largest = max(largest, int(ids.max()) if ids.size else -1)
    if num_vertices is None:
        if largest >= 2**31 and largest > _SPARSEST * ends[0].size:
            raise GraphError(
                f"The largest vertex id is {largest}, but there are only {ends[0].size} edges. "
                "Expected ids that count from 0; renumber them with "
                "np.unique(ids, return_inverse=True), or pass num_vertices= to insist."
            )
        return *ends, largest + 1
    count = check_count("num_vertices", num_vertices)
    if largest >= count:
        name, ids = ("src", ends[0]) if ends[0].max() == largest else ("dst", ends[1])
        raise GraphError(
            f"{name}[{int(np.argmax(ids))}] = {largest} is out of range for "
            f"num_vertices={count}. Expected ids below it; "
            f"pass num_vertices={largest + 1} or more, or leave it out."
        )
    return *ends, count


def check_count(name: str, value: int) -> int:
    """Return a number of things as an int; it must be an integer and not negative."""
    try:
        count = operator.index(value)
    except TypeError:
        count = -1
    if count < 0 or isinstance(value, bool):
        raise GraphError(f"{name}={value!r} is not a count. Expected an integer from 0 on.")
    return count


def check_weight(weight: ArrayLike, num_edges: int) -> Array:
    """Return the weights as an array of the dtype that they came in.

    Raises
    ------
    GraphError
        If there is not one integer, float32 or float64 per edge.
    """
    values = np.asarray(weight)
    if values.ndim != 1 or values.size != num_edges:
        raise GraphError(
            f"weight has the shape {values.shape}. Expected ({num_edges},): one number per edge; "
            f"for equal weights pass np.full({num_edges}, value)."
        )
    if values.dtype.kind == "b":
        raise GraphError(
            "weight has the dtype bool. Expected integers, float32 or float64; "
            "use weight.astype(np.int8) if True means 1, or keep it as a column: g.edge['name']."
        )
    return native(values, "weight")


def native(values: Array, what: str) -> Array:
    """Return values in the machine's byte order, if their dtype is one that columns can have."""
    dtype = values.dtype.newbyteorder("=")
    if dtype.kind not in "biuf" or dtype.itemsize > 8 or dtype == np.dtype(np.float16):
        raise GraphError(
            f"{what} has the dtype {values.dtype}. Expected bool, integers, float32 or float64; "
            "convert it with .astype(...)."
        )
    return np.ascontiguousarray(values, dtype)


def assemble(
    src: Array,
    dst: Array,
    columns: Mapping[str, Array],
    num_vertices: int,
    *,
    directed: bool,
    duplicates: Duplicates,
    self_loops: SelfLoops,
    keep: Keep,
    index_dtype: DTypeLike | None,
) -> tuple[Topology, dict[str, Array]]:
    """Build the topology of checked edges, and their columns in the order of edge ids.

    Of parallel edges that are merged, `weight` is combined as `duplicates` says; every other
    column has the value of the first one.
    """
    for name, value, known in (
        ("duplicates", duplicates, DUPLICATES),
        ("self_loops", self_loops, SELF_LOOPS),
        ("keep", keep, KEEPS),
    ):
        if value not in known:
            raise ConfigError(unknown(name, value, known))
    dtype = index_dtype_for(num_vertices, index_dtype)
    columns = dict(columns)
    if self_loops == "drop" and (proper := src != dst).sum() < src.size:
        src, dst = src[proper], dst[proper]
        columns = {name: values[proper] for name, values in columns.items()}
    if duplicates == "sum" and "weight" not in columns:
        columns["weight"] = np.ones(src.size, np.int64)
    src, dst = src.astype(dtype, copy=False), dst.astype(dtype, copy=False)
    if not directed:
        src, dst = np.minimum(src, dst), np.maximum(src, dst)
    elif keep == "in":
        src, dst = dst, src

    # A single column of numbers travels with the edges; for more, their order does.
    single = len(columns) == 1 and next(iter(columns.values())).ndim == 1
    payload: Array | None = None
    if single:
        (payload,) = columns.values()
    elif columns:
        payload = np.arange(src.size, dtype=fitting_dtype(src.size))
    offsets, targets, moved = sort_arcs(src, dst, num_vertices, payload)
    del src, dst, payload
    if moved is not None:
        columns = {k: moved if single else values[moved] for k, values in columns.items()}

    if duplicates != "keep":
        starts = _run_starts(offsets, targets)
        if starts is not None:
            columns = {
                name: _combine(values, starts, duplicates if name == "weight" else "first")
                for name, values in columns.items()
            }
            offsets, targets = np.searchsorted(starts, offsets), targets[starts]
        del starts
    adjacency = Adjacency(offsets, targets)
    return Topology.from_sorted(adjacency, directed=directed, keep=keep), columns


def _ids(name: str, values: ArrayLike) -> Array:
    """Return vertex ids as a one-dimensional array of integers."""
    ids = np.asarray(values)
    if ids.ndim != 1:
        raise GraphError(
            f"{name} has {ids.ndim} dimensions. Expected a list or array of vertex ids with 1."
        )
    if ids.size == 0:
        return np.empty(0, np.int32)
    if ids.dtype.kind not in "iu":
        raise GraphError(
            f"{name} has the dtype {ids.dtype}. Expected integers (vertex ids); "
            "convert it with .astype(np.int64), or number names with "
            "np.unique(names, return_inverse=True)."
        )
    return ids


def _run_starts(offsets: Array, targets: Array) -> Array | None:
    """Return the first slot of each run of equal (row, target); None if no run is longer than 1."""
    first = np.ones(targets.size, np.bool_)
    np.not_equal(targets[1:], targets[:-1], out=first[1:])
    row_starts = offsets[:-1]
    first[row_starts[row_starts < targets.size]] = True
    return None if first.all() else np.flatnonzero(first)


def _combine(values: Array, starts: Array, how: Duplicates) -> Array:
    """Return one value for each run that begins at `starts`; min and max ignore NaN."""
    if how == "first":
        return values[starts]
    if how in ("min", "max"):
        return (np.fmin if how == "min" else np.fmax).reduceat(values, starts)
    with np.errstate(invalid="ignore", over="ignore"):
        if values.dtype.kind in "iu":
            rough = np.add.reduceat(values, starts, dtype=np.float64)
            limits = np.iinfo(values.dtype)
            if rough.min() < limits.min or rough.max() > limits.max:
                raise GraphError(
                    f"The weights of parallel edges add up to {rough[np.abs(rough).argmax()]:.0f}, "
                    f"outside the range of {values.dtype}. Expected sums that fit; "
                    "pass weights of a wider dtype."
                )
        return np.add.reduceat(values, starts, dtype=values.dtype)
