"""unite and intersect: two sparse vectors, or the rows of two graphs, with a traced operator.

Rows are merged, not searched. All rows of both operands form one merge path, which is cut into
equal shares regardless of row boundaries: as many as there are threads on a CPU, one for every
eight entries on a GPU (`merge.cuh`). A cut is found by a binary search.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from weft.arrays.device import Device, as_array, device_of
from weft.arrays.reduce import any_true
from weft.arrays.shortage import explained
from weft.arrays.threads import num_threads
from weft.backends import backend_of
from weft.backends.host_functions import function_text, head, load, result_type
from weft.errors import GraphError, shortened
from weft.topology.adjacency import Adjacency
from weft.topology.topology import Topology

if TYPE_CHECKING:
    from weft.graph.graph import Graph

Array = Any
Operator = Callable[[Any, Any], Any]
FIRST = "from __future__ import annotations"  # those of the template name types
LEAST_SHARE = 1 << 17  # entries that are worth a thread
ITEMS = 8  # of `merge.cuh`
KERNELS = ("count_shares", "write_shares", "begin_rows")


class Rows(NamedTuple):
    """Sorted rows: where they begin, columns and values."""

    offsets: Array
    cols: Array
    values: Array


def unite(a: Any, b: Any, function: Operator, *, missing: tuple[Any, Any] | None = None) -> Any:
    """Return the union of two sparse vectors, or of two graphs.

    Parameters
    ----------
    a, b
        Sparse vectors ``(ids, values)``, ids ascending and distinct, as `Graph.collect` returns
        them; or graphs of the same vertices without parallel edges, whose rows are united edge by
        edge. Both on one device.
    function
        ``f(x, y)`` combines the values (weights) that meet at one id or edge. It is traced.
    missing
        The default for a missing value of `a`, or of `b`; without it, a value without a counterpart
        passes unchanged.

    Returns
    -------
    tuple of arrays, or Graph
        Ids and values; or a directed graph with out-edges and weights.

    Examples
    --------
    >>> import numpy as np
    >>> import weft
    >>> a = np.array([1, 4, 6]), np.array([1.0, 2.0, 3.0])
    >>> b = np.array([0, 4]), np.array([10.0, 20.0])
    >>> weft.unite(a, b, lambda x, y: x + y)
    (array([0, 1, 4, 6]), array([10.,  1., 22.,  3.]))
    >>> weft.unite(a, b, lambda x, y: x - y, missing=(0, 0))[1].tolist()
    [-10.0, 1.0, -18.0, 3.0]
    """
    return _merged(a, b, function, missing, union=True)


def intersect(a: Any, b: Any, function: Operator) -> Any:
    """Return the intersection of two sparse vectors, or of two graphs; see `unite`.

    Examples
    --------
    >>> import weft
    >>> one = weft.Graph.from_edges([0, 0, 2], [1, 2, 0], weight=[2, 3, 4])
    >>> two = weft.Graph.from_edges([0, 1, 2], [2, 0, 0], weight=[5, 6, 7])
    >>> both = weft.intersect(one, two, lambda x, y: x * y)
    >>> both.to_edges()
    Edges(src=array([0, 2], dtype=int32), dst=array([2, 0], dtype=int32), weight=array([15, 28]))
    """
    return _merged(a, b, function, None, union=False)


def _merged(a: Any, b: Any, function: Operator, missing: Any, *, union: bool) -> Any:
    name = "weft.unite" if union else "weft.intersect"
    graphs = [hasattr(x, "topology") for x in (a, b)]
    if any(graphs) and not all(graphs):
        raise GraphError(f"{name} takes two graphs or two sparse vectors, but got one of each.")
    read = _rows_of if all(graphs) else _vector
    left, right = read(a, name), read(b, name)
    device = a.topology.device if graphs[0] else device_of(left.cols)
    other = b.topology.device if graphs[1] else device_of(right.cols)
    if device != other:
        raise GraphError(f"{name} got operands on {device} and {other}. Move one by .to(...).")
    if len(left.offsets) != len(right.offsets):
        raise GraphError(
            f"{name} got graphs of {len(left.offsets) - 1} and {len(right.offsets) - 1} vertices. "
            "Expected the same vertices in both: build them with num_vertices=."
        )
    needed = sum(x.cols.nbytes + x.values.nbytes for x in (left, right))
    remedy = "Use narrower ids and values, or merge parts of the rows."
    with device.current(), explained(device, f"{name} of all entries", needed, remedy):
        left, right = _alike(left, right, device.xp)
        made = _merge(left, right, (function, missing), union, device)
    if not graphs[0]:
        return made.cols, made.values
    adjacency = Adjacency(made.offsets, made.cols)
    topology = Topology.from_sorted(adjacency, directed=True, keep="out", device=device)
    graph: Graph = type(a)(topology=topology, edge={"weight": made.values})
    return graph


def _merge(left: Rows, right: Rows, how: tuple[Operator, Any], union: bool, device: Device) -> Rows:
    """Return the union or the intersection of rows with columns of one type."""
    function, missing = how
    types = left.values.dtype, right.values.dtype
    result = result_type("the operator", function, types)
    functions = _functions(function, missing, types, result)
    if not backend_of(device).takes_kernels:
        return _on_threads(left, right, functions, result, union)
    return merged_on_device(left, right, functions, result, union, device)


def _functions(
    function: Operator, missing: Any, types: tuple[Any, Any], result: Any
) -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """Return by name the functions for matching and for unmatched values, with their types."""
    if missing is None:
        lone: tuple[Any, Any] = (lambda x: x), (lambda y: y)
    else:
        x0, y0 = (kind.type(x) for kind, x in zip(types, missing, strict=True))
        lone = (lambda x: function(x, y0)), (lambda y: function(x0, y))
    return {"both": (function, types), "one": (lone[0], types[:1]), "other": (lone[1], types[1:])}


# -- threads ---------------------------------------------------------------------------------------


def _on_threads(left: Rows, right: Rows, functions: Any, result: Any, union: bool) -> Rows:
    texts = [function_text(name, f, kinds, result) for name, (f, kinds) in functions.items()]
    kernel = load("\n".join([FIRST, head(), *texts, _template()]), "merge").merge_share
    total = left.cols.size + right.cols.size
    shares = max(1, min(num_threads(), total // LEAST_SHARE))
    cuts = [total * k // shares for k in range(shares + 1)]
    ends = np.zeros(left.offsets.size - 1, np.int64)
    cols, values = np.empty(total + shares, left.cols.dtype), np.empty(total + shares, result)

    def run(k: int) -> tuple[int, int, int]:
        low, high = cuts[k] + k, cuts[k + 1] + k + 1  # room for one entry at the end of each
        done: tuple[int, int, int] = kernel(
            tuple(left), tuple(right), cuts[k], cuts[k + 1], union, ends,
            (cols[low:high], values[low:high]),
        )  # fmt: skip
        return done

    if shares == 1:
        found = [run(0)]
    else:
        with ThreadPoolExecutor(shares) as pool:
            found = list(pool.map(run, range(shares)))
    before = 0
    for used, first, last in found:
        ends[first:last] += before
        before += used
    offsets = np.concatenate([np.zeros(1, np.int64), ends])
    if shares == 1:
        parts = [x[:before] for x in (cols, values)]
        whole = [x.copy() if 2 * before < x.size else x for x in parts]
    else:
        whole = [
            np.concatenate([x[cuts[k] + k :][: found[k][0]] for k in range(shares)])
            for x in (cols, values)
        ]
    # Rows after the last entry end at the same position.
    return Rows(np.maximum.accumulate(offsets), *whole)


@functools.cache
def _template() -> str:
    text = (resources.files(__package__) / "template.py").read_text(encoding="utf-8")
    return text.partition("# --- templates\n")[2]


# -- a GPU -----------------------------------------------------------------------------------------


def merged_on_device(
    left: Rows, right: Rows, functions: Any, result: Any, union: bool, device: Device
) -> Rows:
    """Return the union or the intersection of rows on a device, with columns of one type.

    `functions` has the function ``both`` of values that meet, and ``one`` and ``other`` of values
    of the left and of the right that stand alone, each with the types of what it takes.
    """
    from weft.backends import device_functions as texts

    xp, total = device.xp, int(left.cols.size + right.cols.size)
    rows = int(left.offsets.size) - 1
    types = {
        "Left": left.values.dtype, "Right": right.values.dtype, "Out": result,
        "Col": left.cols.dtype,
    }  # fmt: skip
    lines = ['#include "sweep.cuh"', '#include "numbers.cuh"', "namespace weft {"]
    for name, dtype in types.items():
        lines.append(f"using {name} = {texts.c_type(dtype)};")
        lines.append(f"using {name}Stored = {texts.stored_type(dtype)};")
    lines += [texts.function_text(name, f, kinds, result) for name, (f, kinds) in functions.items()]
    source = "\n".join([*lines, "}  // namespace weft", '#include "merge.cuh"', ""])
    kernels = _kernels(device, source)
    common = (left.offsets, left.cols, right.offsets, right.cols, rows, total, int(union))
    shares = -(-total // ITEMS)
    places = xp.zeros(shares + 2, np.int64)
    blocks = -(-max(shares, 1) // texts.BLOCK)
    kernels.launch("count_shares", (*common, places[1:]), blocks)
    places[1:] = xp.cumsum(places[1:])
    used = int(places[-1])
    cols, values = xp.empty(used, left.cols.dtype), xp.empty(used, result)
    begins = xp.zeros(rows + 1, np.int64)
    arrays = (places, left.values, right.values, cols, values)
    kernels.launch("write_shares", (*common, *arrays), blocks)
    kernels.launch("begin_rows", (*common, places, begins), -(-(rows + 1) // texts.BLOCK))
    return Rows(begins, cols, values)


@functools.lru_cache(maxsize=64)
def _kernels(device: Device, source: str) -> Any:
    from weft.backends.device_functions import load_on

    header = (resources.files(__package__) / "merge.cuh").read_text(encoding="utf-8")
    return load_on(device, source, KERNELS, {"merge.cuh": header})


# -- operands --------------------------------------------------------------------------------------


def _rows_of(g: Graph, name: str) -> Rows:
    """Return the rows of out-edges of a graph with its weights."""
    topology = g.topology
    if topology.keep == "in" or topology.carrier is not None:
        raise GraphError(
            f'{name} needs rows of out-edges in memory, but a graph keeps "in" alone or is '
            'partitioned. Build it with keep="both" or keep="out".'
        )
    with topology.device.current():
        rows = topology.adjacency("out")
        same = rows.targets[1:] == rows.targets[:-1]
        slots = topology.xp.flatnonzero(same) + 1
        begins = topology.xp.searchsorted(rows.offsets, slots)
        if topology.known_simple is None and any_true(rows.offsets[begins] != slots):
            raise GraphError(
                f"{name} merges edges one by one, but a graph has parallel edges. Build it with "
                'duplicates="sum" or another way to make one of them.'
            )
        if "weight" in g.edge:
            weight = g.edge.in_slots("weight", "out")
        else:
            weight = topology.xp.ones(topology.num_arcs, np.int64)
    return Rows(rows.offsets, rows.targets, weight)


def _vector(x: Any, name: str) -> Rows:
    """Return a sparse vector as one row."""
    if not isinstance(x, tuple | list) or len(x) != 2:
        raise GraphError(
            f"{name} takes graphs or sparse vectors (ids, values), but got {shortened(x)}."
        )
    ids, values = (as_array(part) for part in x)
    if ids.ndim != 1 or values.ndim != 1 or ids.size != values.size or ids.dtype.kind not in "iu":
        raise GraphError(
            f"{name} got ids of {ids.dtype} and shape {ids.shape} with values of shape "
            f"{values.shape}. Expected as many integers as values."
        )
    device = device_of(ids)
    with device.current():
        if any_true(ids[1:] <= ids[:-1]):
            raise GraphError(f"{name} got ids that are not ascending and distinct. Sort them.")
        offsets = device.xp.asarray([0, ids.size], np.int64)
    return Rows(offsets, ids, values)


def _alike(left: Rows, right: Rows, xp: Any) -> tuple[Rows, Rows]:
    """Return rows with contiguous arrays and columns of one type."""
    wide = np.result_type(left.cols.dtype, right.cols.dtype)
    wide = wide if wide.kind in "iu" else np.dtype(np.int64)
    return tuple(  # type: ignore[return-value]
        Rows(*(xp.ascontiguousarray(x) for x in (r.offsets, r.cols.astype(wide, copy=False), r[2])))
        for r in (left, right)
    )
