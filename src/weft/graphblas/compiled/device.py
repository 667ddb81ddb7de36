"""Pushes as programs of weft, for devices other than the processor."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.config import Config
from weft.graphblas.compiled.multiply import away, factor_fields, graph_of, program
from weft.graphblas.gpu.places import mask_map
from weft.graphblas.kernels.masks import MaskView
from weft.graphblas.options import current
from weft.graphblas.storage.cast import cast
from weft.graphblas.storage.matrix import MatrixStore
from weft.graphblas.storage.vector import VectorStore
from weft.ir.trace import monoids
from weft.program import edge

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
    size, xp = graph.num_vertices, graph.topology.xp
    fields = factor_fields(vector, size)
    start = xp.zeros(size, np.bool_)
    start[: vector.size] = fields.get("x_there", xp.ones(size, np.bool_))[: vector.size]
    fields.pop("x_there", None)
    fields["t"] = xp.full(size, op.monoid.identity, op.monoid.type.np_type)
    fields["there"] = xp.zeros(size, np.bool_)
    if mask is not None:
        fields["admitted"] = mask_map(mask, size)
    state = graph.state(**fields)
    combine = COMBINES[current["combine"]]
    config = None if combine is None else Config(combine=combine)
    graph.run(step, state, graph.frontier(start), config=config)
    found, there = (each[: columns.ncols] for each in (state.t, state.there))
    return away(cast(found, op.return_type.np_type), there)
