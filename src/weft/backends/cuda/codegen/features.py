"""Feature ops as calls of runtime/features.cuh: vectors and matrices of one vertex or arc."""

from __future__ import annotations

from collections.abc import Callable

from weft.backends.cuda.codegen.blocks import BlockRenderer, type_of
from weft.backends.cuda.codegen.expressions import bare, combine, literal
from weft.backends.cuda.codegen.matrix_products import product_of
from weft.backends.cuda.codegen.text import c_type
from weft.ir.ops import Reduction, Value, identity_of


def render_feature(renderer: BlockRenderer, value: Value) -> str:
    """Return a feature op as an expression."""
    return _RENDER[value.op](renderer, value)


def _call(renderer: BlockRenderer, value: Value, name: str, rest: str = "") -> str:
    """Return a call with the operands and further arguments."""
    operands = [renderer.operand(arg) for arg in value.args]
    return f"{name}({', '.join([*operands, rest] if rest else operands)})"


def _outer(renderer: BlockRenderer, value: Value) -> str:
    return _call(renderer, value, "outer")


def _dot(renderer: BlockRenderer, value: Value) -> str:
    return _call(renderer, value, "dot")


def _matvec(renderer: BlockRenderer, value: Value) -> str:
    suffix, start = "", ""
    if value.op == "matvec_max":
        suffix, start = "_max", literal(identity_of(Reduction("max"), value.dtype), value.dtype)
    matrix, vector = value.args
    if renderer.in_memory(matrix):
        product = product_of(renderer.args, value)
        operands = [renderer.operand(vector), product.matrix, product.start]
        return f"product<{product.arguments}>({', '.join(operands)})"
    if renderer.only_turned(matrix):  # no need to move it between lanes
        operands = [renderer.operand(vector), renderer.operand(matrix.args[0]), start]
        return f"vecmat{suffix}({', '.join(filter(None, operands))})"
    return _call(renderer, value, f"matvec{suffix}", rest=start)


def _matmul(renderer: BlockRenderer, value: Value) -> str:
    return _call(renderer, value, "matmul")


def _transpose(renderer: BlockRenderer, value: Value) -> str:
    return _call(renderer, value, "transpose")


def _solve(renderer: BlockRenderer, value: Value) -> str:
    name = "solve_spd" if value.attr == "spd" else value.op
    return _call(renderer, value, name, rest=renderer.place())


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
    return f"eye<{type_of(value)}>()"


def _stack(renderer: BlockRenderer, value: Value) -> str:
    parts = ", ".join(renderer.operand(arg) for arg in value.args)
    if value.args[0].shape:
        return f"stack_rows<{type_of(value)}>({parts})"
    return f"stack<{type_of(value)}>({parts})"


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
        return f"row_of({operand}, {place})"
    return f"feature_of({operand}, {place})"


def _iota(renderer: BlockRenderer, value: Value) -> str:
    return f"iota<{type_of(value)}>()"


def _moved(renderer: BlockRenderer, value: Value) -> str:
    return _call(renderer, value, f"{value.op}_features", rest=renderer.place())


_RENDER: dict[str, Callable[[BlockRenderer, Value], str]] = {
    "outer": _outer,
    "dot": _dot,
    "matvec": _matvec,
    "matvec_max": _matvec,
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
    "iota": _iota,
    "take": _moved,
    "scatter": _moved,
}
