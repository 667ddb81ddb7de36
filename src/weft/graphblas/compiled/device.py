"""Pushes and products of matrices as programs of weft, for devices other than the processor."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.config import Config
from weft.graph.graph import Graph
from weft.graphblas.compiled.multiply import graph_of, host, padded, program
from weft.graphblas.kernels.masks import MaskView
from weft.graphblas.options import current
from weft.graphblas.storage.cast import cast
from weft.graphblas.storage.matrix import MatrixStore, sorted_matrix
from weft.graphblas.storage.vector import VectorStore
from weft.ir.trace import monoids
from weft.ir.trace.emits import emit
from weft.program import edge, vertex
from weft.topology.adjacency import Adjacency
from weft.topology.topology import Topology

COMBINES = {"auto": None, "atomic": "atomic", "radix": "radix"}


def push(
    columns: MatrixStore, vector: VectorStore, op: Any, flip: bool, mask: MaskView | None
) -> VectorStore | None:
    """Return the product of a vector's values, spread along columns; None if it is not traced."""

    def make(product: Any, add: Any) -> Any:
        def spread(u: Any, v: Any, e: Any) -> Any:
            return (product(u.x, e.value) if flip else product(e.value, u.x)), True

        accept = None if mask is None else lambda v: v.admitted
        return edge(spread, into=("t", "there"), reduce=(add, monoids.or_), accept=accept)

    step = program(op, ("push", flip, mask is None), make)
    if step is None:
        return None
    graph = graph_of(columns, current["device"])
    size = graph.num_vertices
    np_type = op.monoid.type.np_type
    fields = {
        "x": padded(vector.dense, size),
        "t": np.full(size, op.monoid.identity, np_type),
        "there": np.zeros(size, np.bool_),
    }
    if mask is not None:
        fields["admitted"] = padded(mask.map(), size)
    state = graph.state(**fields)
    combine = COMBINES[current["combine"]]
    config = None if combine is None else Config(combine=combine)
    graph.run(step, state, graph.frontier(vector.indices), config=config)
    found, there = (host(each)[: columns.ncols] for each in (state.t, state.there))
    made = VectorStore.from_map(cast(found, op.return_type.np_type), there)
    return made.settled()


def product(left: MatrixStore, right: MatrixStore, op: Any) -> MatrixStore | None:
    """Return the product of two matrices; None if it is not traced.

    Rows of the left, rows of the right and columns of the right are the vertices of one graph: an
    entry of the product is what paths of two arcs from its row to its column add up to.
    """
    multiply = op.binaryop
    if multiply.type.np_type != multiply.type2.np_type:
        return None

    def make(times: Any, add: Any) -> Any:
        def rows(v: Any) -> None:
            entries = v.gather_by(
                lambda u, e, w, f: w.id,
                lambda u, e, w, f: times(e.value, f.value),
                add,
                direction="out",
            )
            entries.each(lambda key, value: emit(v.id, key, value))

        return vertex(rows)

    step = program(op, ("product",), make)
    if step is None:
        return None
    shift = left.nrows + right.nrows
    made = _chain(left, right, multiply.type.np_type).emit(step)
    at, key, values = (host(each) for each in made)
    cols = key.astype(np.int64) - shift
    values = cast(values, op.return_type.np_type)
    return sorted_matrix((left.nrows, right.ncols), at.astype(np.int64), cols, values)


def _chain(left: MatrixStore, right: MatrixStore, np_type: np.dtype) -> Graph:
    """Return the graph from rows of the left over rows of the right to columns of the right."""
    middle, end = left.nrows, left.nrows + right.nrows
    offsets = np.concatenate(
        [
            np.asarray(left.indptr, np.int64),
            left.nvals + np.asarray(right.indptr[1:], np.int64),
            np.full(right.ncols, left.nvals + right.nvals, np.int64),
        ]
    )
    targets = np.concatenate([np.asarray(left.cols) + middle, np.asarray(right.cols) + end])
    topology = Topology.from_sorted(
        Adjacency(offsets, targets.astype(np.int32)), directed=True, keep="out"
    )
    graph = Graph(topology)
    values = np.concatenate([cast(left.values, np_type), cast(right.values, np_type)])
    graph.edge["value"] = values
    return graph if current["device"] == "cpu" else graph.to(current["device"])
