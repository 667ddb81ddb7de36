"""Products of vectors and large matrices that are parameters: these stay in memory.

A matrix that a lane group has in registers leaves none for anything else, and its loads are made
again for every arc. Where it only multiplies vectors, its rows are read as they are needed, for
several arcs at a time (runtime/products.cuh).
"""

from __future__ import annotations

import math
from collections.abc import Container
from typing import Any, NamedTuple

from weft.backends.cuda.codegen.expressions import literal
from weft.backends.cuda.codegen.text import Arguments, c_type
from weft.ir.check.facts import is_pure
from weft.ir.ops import Reduction, Step, Value, identity_of, step_blocks

LARGE = 64  # bytes; smaller ones are worth their registers

_PRODUCTS = {"matvec": ("Sum", "sum"), "matvec_max": ("Largest", "max")}


class Product(NamedTuple):
    """A product with a matrix in memory as a call of `multiply`, but for its vectors."""

    arguments: str  # of the template
    matrix: str
    start: str


def in_memory(step: Step) -> set[int]:
    """Return the matrices that stay in memory: loads, and what they are when transposed."""
    blocks = [*step_blocks(step), *(block for _, block in step.hoisted)]
    values = [value for block in blocks for value in block.walk()]
    load_of: dict[int, int] = {}
    for value in values:
        if _is_large(value):
            load_of[id(value)] = id(value)
        elif value.op == "transpose" and id(value.args[0]) in load_of:
            load_of[id(value)] = load_of[id(value.args[0])]
    inner = [block for value in values for block in value.blocks]
    used = [result for block in (*blocks, *inner) for result in block.results]
    for value in values:
        if value.op != "transpose":
            used += value.args[1:] if value.op in _PRODUCTS else value.args
    wanted = {load_of[id(value)] for value in used if id(value) in load_of}
    return {matrix for matrix, load in load_of.items() if load not in wanted}


def _is_large(value: Value) -> bool:
    large = math.prod(value.shape) * value.dtype.itemsize > LARGE
    return value.op == "load" and value.attr[0] == "parameter" and len(value.shape) == 2 and large


def joint_products(step: Step, known: Container[int]) -> tuple[list[Value], list[Value]]:
    """Return the products that several arcs can make together, and what their vectors are made of.

    The latter is pure, and in order; no product is among it, and nothing that is `known` already.
    """
    outside = in_memory(step)
    before: dict[int, bool] = {}

    def comes_before(value: Value) -> bool:
        if id(value) not in before:
            simple = value.op not in _PRODUCTS and not value.blocks and is_pure(value, set())
            before[id(value)] = simple and all(comes_before(arg) for arg in value.args)
        return before[id(value)]

    made = [v for v in step.body.body if v.op in _PRODUCTS and id(v.args[0]) in outside]
    products = [v for v in made if id(v.args[1]) not in known and comes_before(v.args[1])]
    wanted: set[int] = set()

    def want(value: Value) -> None:
        if id(value) not in wanted and id(value) not in known:
            wanted.add(id(value))
            for arg in value.args:
                want(arg)

    for product in products:
        want(product.args[1])
    return products, [v for v in step.body.body if id(v) in wanted]


def product_of(args: Arguments, value: Value) -> Product:
    """Return the product that a value is, of a matrix that is in memory.

    A matrix before a vector is, transposed, one after it.
    """
    load, turned = value.args[0], True
    while load.op == "transpose":
        load, turned = load.args[0], not turned
    terms, monoid = _PRODUCTS[value.op]
    kind = c_type(value.dtype, (value.args[1].shape[0], value.shape[0]))
    start: Any = identity_of(Reduction(monoid), value.dtype)
    array = args.use("parameter", load.attr[2], *(["turned"] if turned else []))
    return Product(f"{kind}, {terms}", array, literal(start, value.dtype))
