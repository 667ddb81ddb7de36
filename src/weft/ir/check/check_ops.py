"""The typing rule of every op: its operands and its result."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.ir.check.show import show_type
from weft.ir.elementwise import ELEMENTWISE, OPS
from weft.ir.ops import (
    BOOL,
    FEATURE,
    FLOAT64,
    INDEXED,
    INT32,
    INT64,
    LIVE_READ,
    LIVE_WRITE,
    UINT64,
    Shape,
    Signature,
    Value,
)

Kind = tuple[np.dtype[Any], Shape]
_NUMBERS = (  # loads that give an integer
    "id", "out_degree", "in_degree", "edge_id", "rank", "superstep", "num_vertices", "refreshing",
)  # fmt: skip
_ARITIES = {
    "outer": 2, "dot": 2, "matvec": 2, "matvec_max": 2, "matmul": 2, "transpose": 1, "solve": 2,
    "inverse": 1,
    "normalize": 1, "feature_reduce": 1, "argmin_feature": 1, "argmax_feature": 1, "eye": 0,
    "index": 2, "iota": 0, "take": 2, "scatter": 3, "degree": 1, "neighbor": 2,
    "neighbor_edge": 2, "has_edge": 2, "find_edge": 2, "column_at": 1, "random_bits": 2,
    "field_at": 1,
    "random_unit": 2, "at_load": 1, "at_store": 2, "at_reduce": 2, "at_cas": 3, "store": 1,
    "store_edge": 1, "reduce_scalar": 1, "set_changed": 1, "project": 1, "load": 0, "const": 0,
    "constant": 0, "common": 2, "select": 3, "cast": 1, "bitcast": 1, "broadcast": 1,
}  # fmt: skip


class Complaint(Exception):
    """An invalid instruction."""


def demand(holds: bool, message: str) -> None:
    """Raise `Complaint` unless a condition holds."""
    if not holds:
        raise Complaint(message)


def kind_of(value: Value) -> Kind:
    """Return dtype and shape of a value."""
    return value.dtype, value.shape


def check_op(
    value: Value, fields: dict[str, Kind], signature: Signature, who: frozenset[str]
) -> None:
    """Check the operands, the attribute and the result type of one instruction."""
    op = value.op
    arity = OPS[op].arity if op in OPS else _ARITIES.get(op)
    if arity is not None:
        demand(len(value.args) == arity, f"{len(value.args)} operands, expected {arity}")
    if op in ELEMENTWISE:
        _check_elementwise(value)
    elif op in FEATURE:
        _check_feature(value)
    elif op == "load":
        _check_load(value, fields, signature, who)
    elif op in INDEXED or op == "common":
        demand(op != "field_at" or "frontier" in who, "a field is read here by its own vertex")
        _check_indexed(value, signature)
    elif op in LIVE_READ or op in LIVE_WRITE:
        _check_live(value, fields)
    elif op == "project":
        _check_project(value)
    elif op in ("const", "constant"):
        demand(value.shape == (), "a constant is a scalar")
    else:
        _check_effect(value, fields, signature)


def _result(value: Value, dtype: np.dtype[Any], shape: Shape) -> None:
    expected = show_type(dtype, shape)
    demand(kind_of(value) == (dtype, shape), f"its result should be {expected}")


def _operand(value: Value, i: int, dtype: np.dtype[Any] | None, shape: Shape | None) -> None:
    arg = value.args[i]
    if dtype is not None:
        demand(arg.dtype == dtype, f"operand {i} is {arg.dtype}, expected {dtype}")
    if shape is not None:
        demand(arg.shape == shape, f"operand {i} has shape {arg.shape}, expected {shape}")


def _check_elementwise(value: Value) -> None:
    op, args = value.op, value.args
    try:
        shape = tuple(np.broadcast_shapes(*(arg.shape for arg in args)))
    except ValueError:
        raise Complaint(f"shapes {[arg.shape for arg in args]} do not match") from None
    if op == "broadcast":
        demand(args[0].shape == () and value.shape != (), "only a scalar is broadcast")
        shape = value.shape
    first = args[0].dtype
    declared = OPS.get(op)
    if declared is not None and declared.arity == 2:
        _operand(value, 1, first, None)
    if op == "select":
        _operand(value, 0, BOOL, None)
        _operand(value, 1, value.dtype, None)
        _operand(value, 2, value.dtype, None)
    elif op == "bitcast":
        demand(first.itemsize == value.dtype.itemsize, f"bits of {first} as {value.dtype}")
    demand(declared is None or first.kind in declared.takes, f"{op} of {first}")
    dtype: np.dtype[Any]
    if declared is not None and declared.group in ("comparison", "predicate"):
        dtype = BOOL
    elif op in ("popcount", "clz"):
        dtype = INT32
    else:
        dtype = value.dtype if op in ("select", "cast", "bitcast") else first
    _result(value, dtype, shape)


def _check_feature(value: Value) -> None:
    op, shapes = value.op, [arg.shape for arg in value.args]
    dtype = value.dtype
    if op == "index":
        demand(len(shapes[0]) > 0, "a scalar has no features")
        _operand(value, 1, INT64, ())
        _result(value, value.args[0].dtype, shapes[0][1:])
        return
    if op in ("argmin_feature", "argmax_feature"):
        demand(len(shapes[0]) == 1, f"{op} of shape {shapes[0]}")
        _result(value, INT64, ())
        return
    if op == "iota":
        _result(value, INT64, (value.attr,))
        return
    if op in ("take", "scatter"):
        _operand(value, 1, INT64, None)
        demand(all(len(shape) == 1 for shape in shapes), f"{op} of shapes {shapes}")
        demand(len(shapes) < 3 or shapes[1] == shapes[2], f"{op} of shapes {shapes}")
        _result(value, value.args[0].dtype, shapes[1] if op == "take" else shapes[0])
        return
    for i in range(len(value.args)):
        _operand(value, i, dtype, None)
    ranks = {
        "outer": (1, 1), "dot": (1, 1), "matvec": (2, 1), "matvec_max": (2, 1), "matmul": (2, 2),
        "transpose": (2,),
        "solve": (2, 1), "inverse": (2,), "normalize": (1,), "eye": (),
    }.get(op)  # fmt: skip
    if ranks is not None:
        demand(tuple(map(len, shapes)) == ranks, f"{op} of shapes {shapes}")
    if op in ("solve", "inverse", "normalize"):
        demand(dtype.kind == "f", f"{op} of {dtype}")
    if op in ("dot", "matvec", "matvec_max", "matmul", "solve"):
        demand(shapes[0][-1] == shapes[1][0], f"{op} of shapes {shapes}")
    if op in ("solve", "inverse"):
        demand(shapes[0][0] == shapes[0][1], f"{op} of shapes {shapes}")
    if op == "solve":
        demand(value.attr in (None, "spd"), f"solve with {value.attr!r}")
    if op == "stack":
        demand(len(set(shapes)) == 1, f"stack of shapes {shapes}")
    elif op == "normalize":
        demand(value.attr in ("sum", "l2", "max", "softmax"), f"normalize by {value.attr!r}")
    elif op == "feature_reduce":
        known = ("sum", "prod", "min", "max", "or", "and")
        demand(value.attr in known, f"the monoid {value.attr!r} is not known")
        demand(dtype.kind != "f" or value.attr not in ("or", "and"), f"{value.attr} of {dtype}")
    _result(value, dtype, _feature_shape(value, shapes))


def _feature_shape(value: Value, shapes: list[Shape]) -> Shape:
    op = value.op
    if op == "outer":
        return shapes[0] + shapes[1]
    if op in ("dot", "feature_reduce"):
        return ()
    if op in ("matvec", "matvec_max"):
        return shapes[0][:1]
    if op == "matmul":
        return (shapes[0][0], shapes[1][1])
    if op == "transpose":
        return shapes[0][::-1]
    if op == "eye":
        return (value.attr, value.attr)
    if op == "stack":
        return (len(shapes), *shapes[0])
    return shapes[-1]


def _check_load(
    value: Value, fields: dict[str, Kind], signature: Signature, who: frozenset[str]
) -> None:
    kind, *rest = value.attr
    known: dict[str, Kind] = {}
    if kind in ("field", "old"):
        known, needs, name = fields, rest[0], rest[1]
    elif kind in ("column", "edge_state"):
        rows = signature.columns if kind == "column" else signature.edge_fields
        known, name = {n: (d, s) for n, d, s in rows}, rest[1]
        needs = "e" if rest[0] == "rev" else rest[0]
    elif kind == "parameter":
        known = {n: (d, s) for n, d, s in signature.parameters}
        needs, name = "scalars", rest[1]
    elif kind == "scalar":
        known, needs, name = {n: (d, ()) for n, d in signature.scalars}, "scalars", rest[0]
    elif kind == "threshold":
        known = {"old": (FLOAT64, ()), "min": (FLOAT64, ())}
        known |= {"waiting": (INT64, ()), "edges": (INT64, ())}
        needs, name = "threshold", rest[0]
    elif kind == "least":
        known, needs, name = {kind: (FLOAT64, ())}, "frontier", kind
    elif kind in _NUMBERS:
        needs = rest[0] if rest else "e" if kind in ("edge_id", "rank") else "scalars"
        known, name = {kind: (INT64, ())}, kind
    else:
        raise Complaint(f"the load {value.attr!r} is not known")
    demand(needs in who, f"{needs} cannot be read here")
    demand(name in known, f"there is no {name!r} to load")
    _result(value, *known[name])


def _check_indexed(value: Value, signature: Signature) -> None:
    random = value.op.startswith("random_")
    for i in range(len(value.args)):
        _operand(value, i, UINT64 if random else INT64, ())
    if value.op == "common":
        demand(value.shape == (), "it combines scalars")  # its messages: in verify
    elif random:
        _result(value, UINT64 if value.op == "random_bits" else FLOAT64, ())
    elif value.op in ("column_at", "field_at"):
        rows = signature.columns if value.op == "column_at" else signature.fields
        known = {name: (dtype, shape) for name, dtype, shape in rows}
        demand(value.attr in known, f"there is no {value.attr!r} to read")
        _result(value, *known[value.attr])
    else:
        _result(value, BOOL if value.op == "has_edge" else INT64, ())


def _check_live(value: Value, fields: dict[str, Kind]) -> None:
    name, monoid = value.attr if value.op == "at_reduce" else (value.attr, "sum")
    demand(name in fields, f"there is no field {name!r}")
    dtype, shape = fields[name]
    demand(shape == (), f"field {name!r} has shape {shape}; indexed access needs a scalar")
    demand(monoid in ("sum", "min", "max", "or", "and"), f"the monoid {monoid!r} is not known here")
    demand(dtype.kind != "f" or monoid not in ("or", "and"), f"{monoid} of {dtype}")
    _operand(value, 0, INT64, ())
    for i in range(1, len(value.args)):
        _operand(value, i, dtype, ())
    _result(value, dtype, ())


def _check_project(value: Value) -> None:
    results = value.args[0].results
    demand(bool(results), f"a {value.args[0].op} has no parts")
    valid = isinstance(value.attr, int) and 0 <= value.attr < len(results)
    demand(valid, f"part {value.attr!r} of {len(results)}")
    _result(value, *results[value.attr])


def _check_effect(value: Value, fields: dict[str, Kind], signature: Signature) -> None:
    op = value.op
    if op == "store":
        known, name = fields, value.attr
    elif op == "store_edge":
        known, name = {n: (d, s) for n, d, s in signature.edge_fields}, value.attr
    elif op == "reduce_scalar":
        known, name = {n: (d, ()) for n, d in signature.scalars}, value.attr[0]
    elif op == "set_changed":
        known, name = {"changed": (BOOL, ())}, "changed"
    else:
        return
    demand(name in known, f"there is no {name!r} to write")
    _operand(value, 0, *known[name])
    _result(value, *known[name])
