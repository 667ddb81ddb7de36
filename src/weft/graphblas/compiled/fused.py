"""Multiply, apply, accumulate and write under a mask: one vertex function for all of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from weft.config import Config
from weft.graphblas.compiled.functions import cast_traced, multiplication, unary
from weft.graphblas.compiled.multiply import graph_of, host, padded, program
from weft.graphblas.options import current
from weft.graphblas.storage.matrix import MatrixStore
from weft.graphblas.storage.vector import VectorStore
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids
from weft.ir.trace.proxies import send
from weft.program import vertex

Array = Any


class Form(NamedTuple):
    """What shapes the program: how factors and mask lie, and what follows the product."""

    flip: bool
    full: bool
    mask: str
    accum: Any
    post: Any
    target: np.dtype


def vector_into(
    matrix: MatrixStore, vector: VectorStore, op: Any, flip: bool, write: tuple[Any, Any, Any]
) -> VectorStore | None:
    """Return a target after a product was written into it; None where it cannot be compiled.

    Parameters
    ----------
    matrix, vector
        The factors; rows of the matrix are those of the result.
    op
        The semiring.
    flip
        Whether the multiplication takes the vector's value first.
    write
        The assignment, what its mask admits, and a unary operator to apply before, or None.
    """
    assignment, view, post = write
    size = max(matrix.nrows, matrix.ncols)
    accum = assignment.accum
    if post is not None and unary(post) is None:
        return None
    if accum is not None and multiplication(accum) is None:
        return None
    admitted = None if view is None else padded(view.map(), size)
    how = ""
    if admitted is not None:
        how = "rows" if np.count_nonzero(admitted) * 2 < size else "field"
    form = Form(flip, vector.is_full, how, accum, post, assignment.np_type)
    step = program(op, form, lambda product, add: _step(product, add, op, form))
    if step is None:
        return None
    state = graph_of(matrix, current["device"]).state(
        **_fields(matrix, vector, assignment, admitted, form)
    )
    return _run(matrix, step, state, admitted if how == "rows" else None)


def _run(matrix: MatrixStore, step: Any, state: Any, rows: Array | None) -> VectorStore:
    graph = graph_of(matrix, current["device"])
    chosen = current["schedule"]
    config = None if chosen == "auto" else Config(schedule=chosen)
    if rows is None:
        graph.run(step, state, config=config)
    else:
        graph.run(step, state, graph.frontier(np.flatnonzero(rows)), config=config)
    there = host(state.there)[: matrix.nrows]
    return VectorStore.from_map(host(state.w)[: matrix.nrows], there).settled()


def _fields(
    matrix: MatrixStore, vector: VectorStore, assignment: Any, admitted: Array, form: Form
) -> dict[str, Array]:
    size = max(matrix.nrows, matrix.ncols)
    fields = {"x": padded(vector.dense, size)}
    if not form.full:
        fields["x_there"] = padded(vector.there(), size)
    if form.mask == "field":
        fields["admitted"] = admitted
    old = None if assignment.old is None else assignment.old.get()
    if old is None:
        fields["w"] = np.zeros(size, form.target)
        fields["there"] = np.zeros(size, np.bool_)
        return fields
    fields["w"] = np.array(padded(old.dense, size))
    there = padded(old.there(), size)
    drops = assignment.replace and admitted is not None
    fields["there"] = there & admitted if drops else np.array(there)
    return fields


def _step(product: Any, add: Any, op: Any, form: Form) -> Any:
    """Return the vertex function: gather along the row, then write."""
    post = None if form.post is None else unary(form.post)
    accum = None if form.accum is None else multiplication(form.accum)

    def multiply(v: Any) -> None:
        def message(u: Any, e: Any) -> Any:
            made = product(u.x, e.value) if form.flip else product(e.value, u.x)
            return made if form.full else send((made, True), when=u.x_there)

        if form.full:
            made, found = v.gather(message, add, direction="out"), v.out_degree > 0
        else:
            made, found = v.gather(message, (add, monoids.or_), direction="out")
        made = cast_traced(made, op.return_type.np_type)
        if post is not None:
            made = post(made)
        value, there = cast_traced(made, form.target), found
        if accum is not None:
            both = cast_traced(accum(v.w, made), form.target)
            value = fn.where(v.there, both, value)
            there = found | v.there
        value = fn.where(found, value, v.w)
        if form.mask == "field":
            value = fn.where(v.admitted, value, v.w)
            there = fn.where(v.admitted, there, v.there)
        v.w, v.there = value, there

    return vertex(multiply, on=None if form.mask == "rows" else "all")
