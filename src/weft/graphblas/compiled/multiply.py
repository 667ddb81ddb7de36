"""Matrix by vector, and masked matrix by its own transpose, as programs of weft."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.arrays.reduce import count_true
from weft.config import Config
from weft.engine.state import scalar
from weft.errors import WeftError
from weft.graph.graph import Graph
from weft.graphblas.compiled.functions import addition, multiplication
from weft.graphblas.gpu.entries import compacted, place_of, resident
from weft.graphblas.gpu.places import DeviceVector, mask_map, vector_of
from weft.graphblas.gpu.places import padded as padded_there
from weft.graphblas.kernels.masks import MaskView
from weft.graphblas.options import current, is_compiled
from weft.graphblas.storage.cast import cast
from weft.graphblas.storage.matrix import MatrixStore
from weft.graphblas.storage.vector import VectorStore
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.ir.trace.neighbors import common
from weft.ir.trace.proxies import send
from weft.program import edge, vertex
from weft.topology.adjacency import Adjacency
from weft.topology.topology import Topology

Array = Any
# Programs by semiring and form; None where the operators cannot be traced.
kernels: dict[Any, Any] = {}


def graph_of(store: MatrixStore, device: str) -> Any:
    """Return a matrix as a graph: entry (i, j) is the arc i -> j with the value on it.

    A matrix that is not square has as many vertices as its longer side.
    """
    kept = store._graph
    if kept is None:
        kept = store._graph = {}
    if device not in kept:
        place = place_of(device)
        entries = resident(store, device)
        offsets, xp = entries.offsets, place.xp
        size = max(store.nrows, store.ncols)
        if size > store.nrows:
            rest = xp.full(size - store.nrows, store.nvals, np.int64)
            offsets = xp.concatenate([offsets, rest])
        topology = Topology.from_sorted(
            Adjacency(offsets, entries.cols), directed=True, keep="out", device=place
        )
        graph = kept[device] = Graph(topology)
        graph.edge["value"] = entries.values
    return kept[device]


def program(op: Any, form: tuple[Any, ...], make: Any) -> Any:
    """Return the program of a semiring in one form; None where it cannot be traced."""
    key = op, form
    if key not in kernels:
        multiply, add = multiplication(op.binaryop), addition(op.monoid)
        result = op.monoid.type.np_type

        def product(x: Any, y: Any) -> Any:
            made = multiply(x, y)  # type: ignore[misc]
            return made != 0 if result.kind == "b" else fn.cast(made, result)

        kernels[key] = None if multiply is None or add is None else make(product, add)
    return kernels[key]


def matrix_vector(
    matrix: MatrixStore, vector: VectorStore, op: Any, flip: bool, mask: MaskView | None
) -> VectorStore | None:
    """Return the product, summed up along rows; None where it cannot be compiled."""
    full = vector.is_full
    size = max(matrix.nrows, matrix.ncols)
    on_device = current["device"] != "cpu"
    # A mask that admits most rows is left to the write.
    admitted = None if mask is None else mask_map(mask, size) if on_device else mask.map()
    masked = admitted is not None and int(count_true(admitted)) * 2 < size

    def make(product: Any, add: Any) -> Any:
        def multiply(v: Any) -> None:
            def message(u: Any, e: Any) -> Any:
                made = product(u.x, e.value) if flip else product(e.value, u.x)
                return made if full else send((made, True), when=u.x_there)

            if full:
                v.t = v.gather(message, add, direction="out")
            else:
                v.t, v.t_there = v.gather(message, (add, monoids.or_), direction="out")

        return vertex(multiply, on=None if masked else "all")

    step = program(op, ("vector", flip, full, masked), make)
    if step is None:
        return None
    graph = graph_of(matrix, current["device"])
    xp = graph.topology.xp
    fields = factor_fields(vector, size)
    fields["t"] = xp.zeros(size, op.monoid.type.np_type)
    if not full:
        fields["t_there"] = xp.zeros(size, np.bool_)
    state = graph.state(**fields)
    chosen = current["schedule"]
    config = None if chosen == "auto" else Config(schedule=chosen)
    if masked:
        graph.run(step, state, graph.frontier(xp.flatnonzero(admitted)), config=config)
    else:
        graph.run(step, state, config=config)
    if on_device:
        entries = resident(matrix, current["device"])
        there = entries.filled() if full else state.t_there[: matrix.nrows]
        if full and masked and admitted is not None:
            inside = admitted[: matrix.nrows]
            there = inside if there is None else there & inside
        return away(state.t[: matrix.nrows], there)
    # With a full vector every row that has a value gets one.
    there = matrix.filled() if full else state.t_there[: matrix.nrows]
    if full and masked:
        there = admitted if there is None else there & admitted
    return VectorStore.from_map(state.t[: matrix.nrows], there).settled()


def factor_fields(vector: VectorStore, size: int) -> dict[str, Any]:
    """Return the fields of a vector that is multiplied, where the graph is."""
    if current["device"] == "cpu":
        fields = {"x": padded(vector.dense, size)}
        if not vector.is_full:
            fields["x_there"] = padded(vector.there(), size)
        return fields
    entries = vector_of(vector)
    fields = {"x": padded_there(entries.xp, entries.dense, size)}
    if not vector.is_full:
        fields["x_there"] = padded_there(entries.xp, entries.there, size)
    return fields


def away(values: Array, there: Array) -> VectorStore:
    """Return a vector that stays on the current device."""
    count = int(values.size) if there is None else int(count_true(there))
    return VectorStore.on_device(DeviceVector(current["device"], values, there, count))


def padded(array: Array, size: int) -> Array:
    """Return an array with as many elements as there are vertices."""
    array = np.ascontiguousarray(array)
    if len(array) == size:
        return array
    return np.concatenate([array, np.zeros(size - len(array), array.dtype)])


def host(array: Array) -> Array:
    """Return an array of a device as NumPy's."""
    return array.get() if hasattr(array, "get") else np.asarray(array)


def _is_masked_by_itself(left: MatrixStore, right: MatrixStore, mask: MaskView | None) -> bool:
    """Return whether a product is ``L @ L.T`` at the entries of L."""
    if mask is None or mask.complement or not mask.structure or mask.store is not left:
        return False
    return right._twin is left and left.nrows == left.ncols


def masked_by_itself(
    left: MatrixStore, right: MatrixStore, op: Any, mask: MaskView | None
) -> MatrixStore | None:
    """Return ``L @ L.T`` at the entries of L, by intersecting rows; None for other products."""
    if not _is_masked_by_itself(left, right, mask):
        return None

    def make(product: Any, add: Any) -> Any:
        def multiply(u: Any, v: Any, e: Any) -> None:
            e.t, e.t_there = common(
                u, v, lambda w, ea, eb: (product(ea.value, eb.value), True), (add, monoids.or_)
            )

        return edge(multiply, on="all")

    step = program(op, ("matrix",), make)
    if step is None:
        return None
    device = current["device"]
    graph = graph_of(left, device)
    xp = graph.topology.xp
    found = graph.edge_state(
        t=xp.zeros(left.nvals, op.monoid.type.np_type), t_there=xp.zeros(left.nvals, np.bool_)
    )
    graph.run(step, graph.state(), edge_state=found)
    if device != "cpu":
        sums = cast(found.t, op.return_type.np_type)
        made = compacted(resident(left, device), sums, found.t_there)
        return MatrixStore.on_device(device, made, mask)
    there, values = host(found.t_there), host(found.t)
    entries = left.with_values(cast(values, op.return_type.np_type))
    return entries if there.all() else entries.picked(there)


def total_masked_by_itself(
    left: MatrixStore, right: MatrixStore, op: Any, mask: MaskView | None
) -> Any:
    """Return the sum of `masked_by_itself` over the semiring's monoid, without storing it.

    The result is a zero-dimensional array, or None for other products and for empty sums, which the
    caller finds out by computing the product.
    """
    if not _is_masked_by_itself(left, right, mask) or op.monoid.parent.name == "any":
        return None

    def make(product: Any, add: Any) -> Any:
        def multiply(u: Any, v: Any, e: Any) -> None:
            found, there = common(
                u, v, lambda w, ea, eb: (product(ea.value, eb.value), True), (add, monoids.or_)
            )
            fn.reduce("total", found, add)
            fn.reduce("some", there, monoids.or_)

        return edge(multiply, on="all")

    step = program(op, ("total",), make)
    if step is None:
        return None
    graph = graph_of(left, current["device"])
    np_type = op.monoid.type.np_type
    state = graph.state(total=scalar(op.monoid.identity, np_type), some=scalar(False))
    graph.run(step, state)
    if not bool(host(state.some)):
        return None
    return host(state.total).astype(np_type)[()]


def attempt(compute: Any, *args: Any) -> Any:
    """Return a compiled product, or None where weft cannot trace its operators."""
    try:
        return compute(*args)
    except WeftError:
        if is_compiled():
            raise
        return None
