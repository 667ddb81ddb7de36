"""Feature ops as calls of runtime/features.cuh: vectors and matrices of one vertex or arc."""

from __future__ import annotations

from collections.abc import Callable

from weft.backends.cuda.blocks import BlockRenderer, type_of
from weft.backends.cuda.expressions import bare, combine, literal
from weft.backends.cuda.text import c_type
from weft.ir.ops import Reduction, Value, identity_of


def render_feature(renderer: BlockRenderer, value: Value) -> str:
    """Return a feature op as an expression."""
    return _RENDER[value.op](renderer, value)


def _call(renderer: BlockRenderer, value: Value, name: str, *extents: int, rest: str = "") -> str:
    """Return a call with the operands, extents as template arguments, and further arguments."""
    operands = [renderer.operand(arg) for arg in value.args]
    template = f"<{', '.join(map(str, extents))}>" if extents else ""
    return f"{name}{template}({', '.join([*operands, rest] if rest else operands)})"


def _outer(renderer: BlockRenderer, value: Value) -> str:
    return _call(renderer, value, "outer", *value.shape)


def _dot(renderer: BlockRenderer, value: Value) -> str:
    return _call(renderer, value, "dot")


def _matvec(renderer: BlockRenderer, value: Value) -> str:
    return _call(renderer, value, "matvec", *value.args[0].shape)


def _matvec_max(renderer: BlockRenderer, value: Value) -> str:
    start = literal(identity_of(Reduction("max"), value.dtype), value.dtype)
    return _call(renderer, value, "matvec_max", *value.args[0].shape, rest=start)


def _matmul(renderer: BlockRenderer, value: Value) -> str:
    return _call(renderer, value, "matmul", *value.args[0].shape, value.shape[1])


def _transpose(renderer: BlockRenderer, value: Value) -> str:
    return _call(renderer, value, "transpose", *value.args[0].shape)


def _solve(renderer: BlockRenderer, value: Value) -> str:
    name = "solve_spd" if value.attr == "spd" else value.op
    return _call(renderer, value, name, value.shape[0], rest=renderer.place())


def _normalize(renderer: BlockRenderer, value: Value) -> str:
    return _call(renderer, value, f"normalize_{value.attr}")


def _feature_reduce(renderer: BlockRenderer, value: Value) -> str:
    dtype, (source,) = value.dtype, value.args
    start = renderer.identity(Reduction(value.attr), dtype)
    if not source.shape:
        return combine(value.attr, start, renderer.operand(source), dtype)
    kind = c_type(dtype)
    text = bare(combine(value.attr, "x", "y", dtype))
    combined = f"[]({kind} x, {kind} y) {{ return {text}; }}"
    return f"fold({start}, {renderer.operand(source)}, {combined})"


def _best_feature(renderer: BlockRenderer, value: Value) -> str:
    """Render the position of the first extreme feature; a NaN is no extreme."""
    dtype = value.args[0].dtype
    start = identity_of(Reduction(value.op.removesuffix("_feature")), dtype)
    return _call(renderer, value, value.op, rest=literal(start, dtype))


def _eye(renderer: BlockRenderer, value: Value) -> str:
    return f"eye<{value.shape[0]}, {c_type(value.dtype)}>()"


def _stack(renderer: BlockRenderer, value: Value) -> str:
    parts = ", ".join(renderer.operand(arg) for arg in value.args)
    if value.args[0].shape:
        return f"stack_rows<{type_of(value)}>({parts})"
    return f"{type_of(value)}{{{{{parts}}}}}"


def _index(renderer: BlockRenderer, value: Value) -> str:
    source, position = value.args
    if position.op == "const":
        place = str(int(position.attr))
    else:
        call = f"checked({renderer.scalar(position)}, {source.shape[0]}, {renderer.place()})"
        place = renderer.variable(call, "i64", "p")
    if source.op == "load" and id(source) not in renderer.known:
        return str(renderer.scope.site.part(source, value.shape, place))
    operand = renderer.operand(source)
    if value.shape:
        return f"row_of<{value.shape[0]}>({operand}, {place})"
    return f"{operand}[{place}]"


_RENDER: dict[str, Callable[[BlockRenderer, Value], str]] = {
    "outer": _outer,
    "dot": _dot,
    "matvec": _matvec,
    "matvec_max": _matvec_max,
    "matmul": _matmul,
    "transpose": _transpose,
    "solve": _solve,
    "inverse": _solve,
    "normalize": _normalize,
    "feature_reduce": _feature_reduce,
    "argmin_feature": _best_feature,
    "argmax_feature": _best_feature,
    "eye": _eye,
    "stack": _stack,
    "index": _index,
}
