"""Build a topology from a list of edges: check, sort, merge parallel edges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, TypedDict

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from weft.arrays.checks import integer_of
from weft.arrays.device import CPU, Device, as_array, is_device_array, module_of, move
from weft.arrays.reduce import all_true
from weft.errors import ConfigError, GraphError, shortened, unknown
from weft.topology.adjacency import Adjacency, Array, fitting_dtype, index_dtype_for, sort_arcs
from weft.topology.adjacency_gpu import reduce_runs
from weft.topology.topology import KEEPS, Keep, Topology

Duplicates: TypeAlias = Literal["keep", "first", "sum", "min", "max"]
SelfLoops: TypeAlias = Literal["keep", "drop"]

DUPLICATES: Final = ("keep", "first", "sum", "min", "max")
SELF_LOOPS: Final = ("keep", "drop")
MOST_VERTICES: Final = 1 << 48  # row offsets alone would take 2 PiB


class BuildOptions(TypedDict, total=False):
    """Options shared by all builders; see `Graph.from_edges`."""

    duplicates: Duplicates
    self_loops: SelfLoops
    keep: Keep
    index_dtype: DTypeLike | None
    device: str | Device | None


_MAKERS = {
    "scipy": "Graph.from_scipy(matrix)",
    "networkx": "Graph.from_networkx(network)",
    "igraph": "Graph.from_igraph(network)",
    "pandas": "Graph.from_pandas(edges)",
    "pyarrow": "Graph.from_arrow(edges)",
    "polars": "Graph.from_arrow(edges)",
    "torch": "Graph.from_torch(edge_index)",
}


def maker_of(given: Any) -> str:
    """Return the constructor for an object of another library, or an empty string."""
    return _MAKERS.get(type(given).__module__.partition(".")[0], "")


def _listed(pairs: Any) -> list[Any]:
    try:
        return list(pairs)
    except TypeError:
        return [pairs]  # which is not a pair


def ends_of_pairs(pairs: Any, weight: Any) -> tuple[Any, Any, Any]:
    """Return sources, destinations and weights of a list of (source, destination[, weight])."""
    maker = maker_of(pairs)
    if maker:
        raise GraphError(
            f"Graph.from_edges takes lists of edges, but got a {type(pairs).__name__}. Use {maker}."
        )
    rows: Any = pairs if hasattr(pairs, "shape") else _listed(pairs)
    widths = {rows.shape[1]} if getattr(rows, "ndim", 1) == 2 else set()
    if isinstance(rows, list):
        widths = {len(row) if isinstance(row, tuple | list) else 0 for row in rows}
    if not widths <= {2, 3} or len(widths) > 1 or (widths == {3} and weight is not None):
        raise GraphError(
            f"Graph.from_edges({shortened(pairs)}) gives one argument that is not a list of pairs. "
            "Expected src and dst, two arrays of one length, or one list of pairs (source, "
            "destination) or triples with a weight."
        )
    columns = list(zip(*rows, strict=True)) if isinstance(rows, list) else list(rows.T)
    columns += [[]] * (2 - len(columns))
    ends = (columns[0], columns[1]) if hasattr(rows, "shape") else map(list, columns[:2])
    return (*ends, list(columns[2]) if len(columns) > 2 else weight)


@dataclass(frozen=True)
class BuildRules:
    """The rules for building a topology from a list of edges; see `Graph.from_edges`.

    The topology is built on the device of the edges; `device` selects another one to run on.
    """

    directed: bool
    duplicates: Duplicates = "keep"
    self_loops: SelfLoops = "keep"
    keep: Keep = "both"
    index_dtype: DTypeLike | None = None
    device: Device | None = None
    others: Literal["first", "sum", "min", "max"] = "first"  # of columns other than the weight

    def __post_init__(self) -> None:
        for name, known in (
            ("duplicates", DUPLICATES),
            ("self_loops", SELF_LOOPS),
            ("keep", KEEPS),
        ):
            if (value := getattr(self, name)) not in known:
                raise ConfigError(unknown(name, value, known))


def check_directed(directed: object) -> bool:
    """Return whether a graph is directed, or raise if it is not a truth value."""
    if not isinstance(directed, bool | np.bool_):
        raise GraphError(f"directed={shortened(directed)} is not possible. Expected a bool.")
    return bool(directed)


def checked_options(options: BuildOptions) -> dict[str, Any]:
    """Return the options with their defaults; raise if one is unknown."""
    known = {
        "duplicates": "keep",
        "self_loops": "keep",
        "keep": "both",
        "index_dtype": None,
        "device": None,
    }
    for name in options:
        if name not in known:
            raise ConfigError(unknown("option", name, known))
    return {**known, **options}


def check_ends(
    src: ArrayLike, dst: ArrayLike, num_vertices: int | None, device: Device = CPU
) -> tuple[Array, Array, int]:
    """Return the ends of the edges as integer arrays on a device, and the number of vertices.

    Raises
    ------
    GraphError
        Unless the arrays are one-dimensional, integer, of equal length and in range.
    """
    ends = check_pairs(src, dst, device)
    largest = -1
    for name, ids in zip(("src", "dst"), ends, strict=True):
        if ids.size and (lowest := int(ids.min())) < 0:
            raise GraphError(
                f"{name}[{int(ids.argmin())}] = {lowest} is negative. "
                "Expected vertex ids from 0; renumber the vertices, or pass labels=True to use "
                "the ids as labels."
            )
        largest = max(largest, int(ids.max()) if ids.size else -1)
    count = largest + 1 if num_vertices is None else check_count("num_vertices", num_vertices)
    if max(count, largest) > MOST_VERTICES:
        raise GraphError(
            f"The graph would have {max(count, largest + 1)} vertices, one for every number up to "
            f"the largest id. Expected at most {MOST_VERTICES}; pass labels=True to number only "
            "the ids that occur."
        )
    if largest >= count:
        name, ids = ("src", ends[0]) if int(ends[0].max()) == largest else ("dst", ends[1])
        raise GraphError(
            f"{name}[{int(ids.argmax())}] = {largest} is out of range for "
            f"num_vertices={count}. Expected ids below it; "
            f"pass num_vertices={largest + 1} or more, or leave it out."
        )
    return *ends, count


def check_pairs(src: ArrayLike, dst: ArrayLike, device: Device = CPU) -> tuple[Array, Array]:
    """Return both ends as integer arrays on a device; checks the lengths but not the range."""
    ends = move(_ids("src", src), device), move(_ids("dst", dst), device)
    if ends[0].size != ends[1].size:
        raise GraphError(
            f"src and dst differ in length: got {ends[0].size} and {ends[1].size}. "
            "Expected one entry per edge in each."
        )
    return ends


def check_count(name: str, value: int) -> int:
    """Return a count as an int; it must be a non-negative integer."""
    count = integer_of(value)
    if count is None or not 0 <= count < 2**63:
        raise GraphError(
            f"{name}={shortened(value)} is not a count. Expected an integer from 0 to 2**63 - 1."
        )
    return count


def check_weight(weight: ArrayLike, num_edges: int, device: Device = CPU) -> Array:
    """Return the weights as an array on a device, in their own dtype.

    Raises
    ------
    GraphError
        Unless there is one integer, float32 or float64 per edge.
    """
    values = as_array(weight)
    if values.ndim != 1 or values.size != num_edges:
        raise GraphError(
            f"weight has shape {values.shape}. Expected ({num_edges},): one number per edge; "
            f"for equal weights pass np.full({num_edges}, value)."
        )
    if values.dtype.kind == "b":
        raise GraphError(
            "weight has dtype bool. Expected integers, float32 or float64; "
            "use weight.astype(np.int8) if True means 1, or keep it as a column: g.edge['name']."
        )
    return native(values, "weight", device)


def native(values: Array, what: str, device: Device = CPU) -> Array:
    """Return values as a contiguous array on a device; checks that a column can hold the dtype."""
    dtype = values.dtype.newbyteorder("=")
    if dtype.kind not in "biuf" or dtype.itemsize > 8 or dtype == np.dtype(np.float16):
        raise GraphError(
            f"{what} has dtype {values.dtype}. Expected bool, integers, float32 or float64; "
            "convert it with .astype(...)."
        )
    if not is_device_array(values):
        values = np.ascontiguousarray(values, dtype)
    with device.current():
        return device.xp.ascontiguousarray(move(values, device))


def assemble(
    src: Array,
    dst: Array,
    columns: Mapping[str, Array],
    num_vertices: int,
    rules: BuildRules,
) -> tuple[Topology, dict[str, Array]]:
    """Build the topology of checked edges, and their columns in edge-id order.

    Where parallel edges are merged, `duplicates` says how their weights are combined, and `others`
    how every other column is.
    """
    directed, duplicates, keep = rules.directed, rules.duplicates, rules.keep
    dtype = index_dtype_for(num_vertices, rules.index_dtype)
    xp = module_of(src)
    columns = dict(columns)
    if rules.self_loops == "drop" and not all_true(proper := src != dst):
        src, dst = src[proper], dst[proper]
        columns = {name: values[proper] for name, values in columns.items()}
    counted = duplicates == "sum" and "weight" not in columns
    src, dst = src.astype(dtype, copy=False), dst.astype(dtype, copy=False)
    if not directed:
        src, dst = xp.minimum(src, dst), xp.maximum(src, dst)
    elif keep == "in":
        src, dst = dst, src

    # The sort carries a single numeric column directly; several are permuted afterwards.
    single = len(columns) == 1 and next(iter(columns.values())).ndim == 1
    payload: Array | None = None
    if single:
        (payload,) = columns.values()
    elif columns:
        payload = xp.arange(src.size, dtype=fitting_dtype(src.size))
    offsets, targets, moved = sort_arcs(src, dst, num_vertices, payload)
    del src, dst, payload
    if moved is not None:
        columns = {k: moved if single else values[moved] for k, values in columns.items()}

    if duplicates != "keep":
        starts = _run_starts(offsets, targets)
        if counted:
            columns["weight"] = _run_lengths(starts, targets)
        if starts is not None:
            columns = {
                name: values
                if counted and name == "weight"
                else combine_runs(values, starts, duplicates if name == "weight" else rules.others)
                for name, values in columns.items()
            }
            offsets, targets = xp.searchsorted(starts, offsets), targets[starts]
        del starts
    adjacency = Adjacency(offsets, targets)
    topology = Topology.from_sorted(adjacency, directed=directed, keep=keep, device=rules.device)
    return topology, columns


def _ids(name: str, values: ArrayLike) -> Array:
    """Return vertex ids as a one-dimensional integer array on the same device."""
    ids = as_array(values)
    if ids.ndim != 1:
        raise GraphError(
            f"{name} has {ids.ndim} dimensions. Expected a one-dimensional list or array of "
            "vertex ids."
        )
    if ids.size == 0:
        return module_of(ids).empty(0, np.int32)
    if ids.dtype.kind not in "iu":
        raise GraphError(
            f"{name} has dtype {ids.dtype}. Expected integers (vertex ids) or names; "
            "convert it with .astype(np.int64), or pass labels=True to use the ids as labels."
        )
    return ids


def _run_starts(offsets: Array, targets: Array) -> Array | None:
    """Return the first slot of each run of equal (row, target); None if no run is longer than 1."""
    xp = module_of(targets)
    first = xp.ones(targets.size, np.bool_)
    first[1:] = targets[1:] != targets[:-1]
    row_starts = offsets[:-1]
    first[row_starts[row_starts < targets.size]] = True
    return None if all_true(first) else xp.flatnonzero(first)


def _run_lengths(starts: Array | None, targets: Array) -> Array:
    """Return the lengths of runs as int64; without `starts` every arc is one."""
    xp = module_of(targets)
    if starts is None:
        return xp.ones(targets.size, np.int64)
    ends = xp.concatenate((starts[1:], xp.asarray([targets.size], starts.dtype)))
    return (ends - starts).astype(np.int64, copy=False)


def combine_runs(values: Array, starts: Array, how: str) -> Array:
    """Reduce each run that begins at `starts` to one value; min and max ignore NaN."""
    if how == "first":
        return values[starts]
    if how in ("min", "max"):
        return _reduced(values, starts, "fmin" if how == "min" else "fmax")
    with np.errstate(invalid="ignore", over="ignore"):
        if values.dtype.kind in "iu":
            rough = _reduced(values.astype(np.float64), starts, "add")
            limits = np.iinfo(values.dtype)
            if float(rough.min()) < limits.min or float(rough.max()) > limits.max:
                furthest = float(rough[int(abs(rough).argmax())])
                raise GraphError(
                    f"The weights of parallel edges sum to {furthest:.0f}, which is out of range "
                    f"for {values.dtype}. Pass weights of a wider dtype."
                )
        return _reduced(values, starts, "add")


def _reduced(values: Array, starts: Array, function: str) -> Array:
    """Reduce each run by the named NumPy or CuPy function, in the dtype of the values."""
    if is_device_array(values):
        return reduce_runs(values, starts, getattr(module_of(values), function))
    return getattr(np, function).reduceat(values, starts, dtype=values.dtype)
