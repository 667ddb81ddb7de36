"""Functions of traced values: choice, mathematics, features, loops, computed vertices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.ir import ops, types
from weft.ir.elementwise import OPS, public
from weft.ir.ops import FLOAT64, INT64, UINT64, Value
from weft.ir.trace import builder as tracing
from weft.ir.trace.builder import Builder, fail
from weft.ir.trace.control import cond as cond
from weft.ir.trace.control import for_range as for_range
from weft.ir.trace.control import while_loop as while_loop
from weft.ir.trace.expr import Expr, binary, node, unary
from weft.ir.trace.monoids import Monoid, check_monoid
from weft.ir.trace.plain import on_numbers


@on_numbers
def where(condition: Any, a: Any, b: Any) -> Expr:
    """Return `a` where the condition holds, else `b`. Both are computed: see `cond`."""
    builder = tracing.current()
    return Expr(builder.select(node(condition), node(a), node(b)))


def elementwise_function(name: str) -> Callable[..., Expr]:
    """Return the function of users for a declared op, as ``weft.sqrt``."""
    op = OPS[name]

    def one(x: Any) -> Expr:
        return unary(name, x)

    def two(a: Any, b: Any) -> Expr:
        return binary(name, a, b)

    function = one if op.arity == 1 else two
    function.__name__ = function.__qualname__ = name
    function.__doc__ = op.doc
    return on_numbers(function)


def __getattr__(name: str) -> Callable[..., Expr]:
    """Make the function of a declared op when it is first asked for."""
    if name not in public():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    function = globals()[name] = elementwise_function(name)
    return function


def __dir__() -> list[str]:
    return sorted({*globals(), *public()})


@on_numbers
def cast(x: Any, dtype: Any) -> Expr:
    """Return the value in another dtype: integers wrap, floats saturate, NaN gives 0."""
    builder = tracing.current()
    value, dtype = node(x), builder.dtype(dtype, "weft.cast")
    if value.op == "const":
        value = Value("const", (), value.attr, value.dtype)
        builder.blocks[-1].body.append(value)
    if value.dtype == dtype and not value.weak:
        return Expr(value)
    return Expr(builder.emit("cast", (value,), None, dtype, value.shape))


@on_numbers
def bitcast(x: Any, dtype: Any) -> Expr:
    """Return the same bits read as another dtype of the same width."""
    builder = tracing.current()
    value = builder.strong(node(x))
    target = builder.dtype(dtype, "weft.bitcast")
    if target.itemsize != value.dtype.itemsize or ops.BOOL in (target, value.dtype):
        raise fail(f"bitcast from {value.dtype} to {target}: expected dtypes of the same width.")
    return Expr(builder.emit("bitcast", (value,), None, target, value.shape))


# -- features


def _matrix(value: Value, what: str) -> Value:
    if len(value.shape) != 2:
        raise fail(f"{what} needs a matrix, but got shape {value.shape}.")
    return value


def _same(a: Any, b: Any) -> tuple[Builder, Value, Value, np.dtype[Any]]:
    builder = tracing.current()
    x, y = node(a), node(b)
    dtype, _ = types.promote(x.dtype, x.weak, y.dtype, y.weak)
    return builder, builder.cast(x, dtype), builder.cast(y, dtype), dtype


@on_numbers
def outer(a: Any, b: Any) -> Expr:
    """Return the matrix of all products of two vectors."""
    builder, x, y, dtype = _same(a, b)
    if len(x.shape) != 1 or len(y.shape) != 1:
        raise fail(f"outer needs two vectors, but got shapes {x.shape} and {y.shape}.")
    return Expr(builder.emit("outer", (x, y), None, dtype, (*x.shape, *y.shape)))


@on_numbers
def dot(a: Any, b: Any) -> Expr:
    """Return the inner product of two vectors."""
    builder, x, y, dtype = _same(a, b)
    if len(x.shape) != 1 or x.shape != y.shape:
        raise fail(f"dot needs two vectors of one length, but got {x.shape} and {y.shape}.")
    return Expr(builder.emit("dot", (x, y), None, dtype))


@on_numbers
def matmul(a: Any, b: Any) -> Expr:
    """Return the product of matrices and vectors, as the operator @ does."""
    builder, x, y, dtype = _same(a, b)
    if not x.shape or not y.shape or x.shape[-1] != y.shape[0]:
        raise fail(f"shapes {x.shape} and {y.shape} do not fit a matrix product.")
    if len(x.shape) == 1 and len(y.shape) == 1:
        return dot(a, b)
    if len(x.shape) == 1:
        turned = builder.emit("transpose", (y,), None, dtype, y.shape[::-1])
        return Expr(builder.emit("matvec", (turned, x), None, dtype, (y.shape[1],)))
    if len(y.shape) == 1:
        return Expr(builder.emit("matvec", (x, y), None, dtype, (x.shape[0],)))
    return Expr(builder.emit("matmul", (x, y), None, dtype, (x.shape[0], y.shape[1])))


@on_numbers
def matvec(a: Any, x: Any, *, reduce: Monoid | None = None) -> Expr:
    """Return the product of a matrix and a vector (or of a vector and a matrix).

    ``reduce=weft.max`` takes the largest product of each row in place of their sum.
    """
    if reduce is None or getattr(reduce, "name", None) == "sum":
        return matmul(a, x)
    if getattr(reduce, "name", None) != "max":
        raise fail(f"matvec with reduce={reduce!r} is not known. Expected weft.sum or weft.max.")
    builder, matrix, vector, dtype = _same(a, x)
    if len(matrix.shape) != 2 or vector.shape != matrix.shape[1:] or dtype.kind == "b":
        raise fail(
            f"matvec needs a matrix and a vector of numbers that fit, but got {dtype} of shapes "
            f"{matrix.shape} and {vector.shape}."
        )
    return Expr(builder.emit("matvec_max", (matrix, vector), None, dtype, matrix.shape[:1]))


@on_numbers
def transpose(a: Any) -> Expr:
    """Return the transpose of a matrix."""
    value = _matrix(node(a), "transpose")
    return Expr(tracing.current().emit("transpose", (value,), None, value.dtype, value.shape[::-1]))


def _real(builder: Builder, value: Value) -> Value:
    return value if value.dtype.kind == "f" and not value.weak else builder.cast(value, FLOAT64)


@on_numbers
def solve(a: Any, b: Any, *, assume: str | None = None) -> Expr:
    """Return x with A x = b. A singular matrix raises a FaultError.

    ``assume="spd"`` promises a symmetric positive definite matrix and takes half the work
    (Cholesky); one that is not positive definite raises a FaultError.
    """
    if assume not in (None, "spd"):
        raise fail(f"solve with assume={assume!r} is not known. Expected 'spd', or None.")
    builder, x, y, _ = _same(a, b)
    x, y = _real(builder, x), _real(builder, y)
    if len(x.shape) != 2 or x.shape[0] != x.shape[1] or y.shape != x.shape[:1]:
        raise fail(
            f"solve needs a (k, k) matrix and a (k,) vector, but got {x.shape} and {y.shape}."
        )
    return Expr(builder.emit("solve", (x, y), assume, x.dtype, y.shape))


@on_numbers
def inverse(a: Any) -> Expr:
    """Return the inverse of a matrix. A singular matrix raises a FaultError."""
    builder = tracing.current()
    x = _real(builder, _matrix(node(a), "inverse"))
    if x.shape[0] != x.shape[1]:
        raise fail(f"inverse needs a square matrix, but got shape {x.shape}.")
    return Expr(builder.emit("inverse", (x,), None, x.dtype, x.shape))


@on_numbers
def normalize(x: Any, by: str = "sum") -> Expr:
    """Return a vector divided by its sum, its "l2" length or its "max"; or its "softmax".

    A vector whose divisor is 0 is returned as it is.
    """
    builder = tracing.current()
    value = _real(builder, node(x))
    if by not in ("sum", "l2", "max", "softmax"):
        raise fail(f"normalize by {by!r} is not known. Expected 'sum', 'l2', 'max' or 'softmax'.")
    if len(value.shape) != 1:
        raise fail(f"normalize needs a vector, but got shape {value.shape}.")
    return Expr(builder.emit("normalize", (value,), by, value.dtype, value.shape))


def _over_features(monoid: str, x: Expr) -> Expr:
    return Expr(tracing.current().emit("feature_reduce", (x.node,), monoid, x.dtype, ()))


@on_numbers
def logsumexp(x: Any) -> Expr:
    """Return log(Σ exp(x)) over the features of a vector or matrix, without overflow."""
    builder = tracing.current()
    value = Expr(_real(builder, node(x)))
    if not value.shape:
        raise fail("logsumexp needs a vector or a matrix, but got a scalar.")
    top = _over_features("max", value)
    shift = where(unary("isfinite", top), top, 0)
    return shift + unary("log", _over_features("sum", unary("exp", value - shift)))


@on_numbers
def hadamard_inverse(x: Any) -> Expr:
    """Return 1 / x feature by feature; features that are 0 stay 0."""
    value = Expr(_real(tracing.current(), node(x)))
    return where(value == 0, value, 1 / value)


@on_numbers
def any_changed(new: Any, old: Any, tolerance: Any = 0) -> Expr:
    """Whether a feature moved by more than the tolerance; NaN has not moved from NaN."""
    a, b = Expr(node(new)), Expr(node(old))
    moved = (a != b) & ~(abs(a - b) <= tolerance) & ((a == a) | (b == b))
    return _over_features("or", moved)


@on_numbers
def eye(k: int, dtype: Any = FLOAT64) -> Expr:
    """Return the identity matrix of k rows. It is weak: it takes the other operand's dtype."""
    builder = tracing.current()
    if not isinstance(k, int | np.integer) or k < 1:
        raise fail(f"eye of {k!r} rows. Expected an integer from 1 on, such as v.factor.size.")
    dtype = builder.dtype(dtype, "weft.eye")
    return Expr(builder.emit("eye", (), int(k), dtype, (int(k), int(k)), weak=True))


@on_numbers
def stack(parts: Any, *more: Any) -> Expr:
    """Return a vector of a list of scalars, or a matrix of a list of vectors."""
    if more:
        raise fail("weft.stack takes one list: weft.stack([a, b]).")
    return Expr(tracing.current().stack([node(part) for part in parts]))


@on_numbers
def local(shape: int | tuple[int], dtype: Any = FLOAT64, *, fill: Any = 0) -> Expr:
    """Return a short array of the function's own: a vector whose features all start from `fill`.

    It is a value as all others: ``x[i]`` reads a feature, ``x.replaced(i, y)`` returns the array
    with another one. Carry it through a loop as part of its state.

    Examples
    --------
    Count the neighbours of each colour, of three:

    >>> import weft
    >>> @weft.vertex
    ... def tally(v):
    ...     def count(i, seen):
    ...         color = v.color.at(weft.neighbor(v.id, i)).load()
    ...         return seen.replaced(color, seen[color] + 1)
    ...     v.seen = weft.for_range(0, v.out_degree, count, weft.local(3, weft.int64))
    >>> g = weft.generators.star(4)
    >>> state = g.state(color=[0, 1, 1, 2], seen=weft.full(0, weft.int64, shape=(3,)))
    >>> _ = g.run(tally, state)
    >>> state.seen.tolist()
    [[0, 2, 1], [1, 0, 0], [1, 0, 0], [1, 0, 0]]
    """
    builder = tracing.current()
    sizes = shape if isinstance(shape, tuple) else (shape,)
    if len(sizes) != 1 or not isinstance(sizes[0], int | np.integer) or sizes[0] < 1:
        raise fail(
            f"weft.local of shape {shape!r}. Expected a length from 1 on, such as 8 or (8,)."
        )
    kind = builder.dtype(dtype, "weft.local")
    start = builder.fit(node(fill), kind, (), "the array of weft.local")
    return Expr(builder.emit("broadcast", (start,), None, kind, (int(sizes[0]),)))


def item(x: Expr, position: Any) -> Expr:
    """Return one feature of a vector, or one row of a matrix (or one element by [i, j])."""
    if hasattr(position, "__features__"):  # an index that stands for several features
        taken: Expr = position.__features__(x)
        return taken
    if isinstance(position, tuple):
        result = x
        for part in position:
            result = item(result, part)
        return result
    value = x.node
    if not value.shape:
        raise fail("a scalar has no features to index.")
    builder = tracing.current()
    if isinstance(position, int | np.integer):
        k = value.shape[0]
        if not -k <= position < k:
            raise fail(f"feature {position} of a value with {k} features.")
        position = int(position) % k
    elif isinstance(position, slice):
        raise fail("features cannot be sliced. Use x[i] and weft.stack.")
    place = builder.index(node(position))
    return Expr(builder.emit("index", (value, place), None, value.dtype, value.shape[1:]))


# -- loads that belong to no vertex


def superstep() -> Expr:
    """Return the number of the running superstep, from 0."""
    return Expr(tracing.current().emit("load", (), ("superstep",), INT64, (), weak=True))


def num_vertices() -> Expr:
    """Return the number of vertices."""
    return Expr(tracing.current().emit("load", (), ("num_vertices",), INT64, (), weak=True))


# -- computed vertices and random numbers


def degree(x: Any) -> Expr:
    """Return the out-degree of a computed vertex."""
    builder = tracing.current()
    return Expr(builder.emit("degree", (builder.index(node(x)),), None, INT64, (), weak=True))


def neighbor(x: Any, i: Any) -> Expr:
    """Return the i-th out-neighbour of a computed vertex.

    Neighbours are sorted by id; parallel edges count one by one. `i` outside of the row raises a
    `FaultError`, as does everything that indexes.

    Examples
    --------
    Replace every vertex by a random neighbour:

    >>> import weft
    >>> @weft.vertex
    ... def walk(v):
    ...     i = weft.cast(weft.random(v.id) * v.out_degree, weft.int64)
    ...     v.next = weft.neighbor(v.id, i)
    >>> g = weft.generators.cycle(4)
    >>> state = g.state(next=weft.full(-1, weft.vertex_id))
    >>> g.run(walk, state).tolist()
    [0, 1, 2, 3]
    """
    builder = tracing.current()
    args = (builder.index(node(x)), builder.index(node(i)))
    return Expr(builder.emit("neighbor", args, None, INT64, (), weak=True))


def neighbor_edge(x: Any, i: Any) -> Expr:
    """Return the edge id of the i-th out-arc of a computed vertex."""
    builder = tracing.current()
    args = (builder.index(node(x)), builder.index(node(i)))
    return Expr(builder.emit("neighbor_edge", args, None, INT64, (), weak=True))


def has_edge(a: Any, b: Any) -> Expr:
    """Return whether an edge runs from one computed vertex to another: a binary search in a row.

    Examples
    --------
    >>> import weft
    >>> @weft.edge(into="mutual", reduce=weft.or_)
    ... def answer(u, v, e):
    ...     return weft.has_edge(v.id, u.id)
    >>> g = weft.Graph.from_edges([0, 1, 1], [1, 0, 2])
    >>> state = g.state(mutual=weft.full(False))
    >>> _ = g.run(answer, state)
    >>> state.mutual.tolist()
    [True, True, False]
    """
    builder = tracing.current()
    args = (builder.index(node(a)), builder.index(node(b)))
    return Expr(builder.emit("has_edge", args, None, ops.BOOL))


def find_edge(a: Any, b: Any) -> Expr:
    """Return the id of the edge from one computed vertex to another, or -1.

    Of parallel edges it is the smallest id. `weft.edge_at` gives what belongs to an edge id.
    """
    builder = tracing.current()
    args = (builder.index(node(a)), builder.index(node(b)))
    return Expr(builder.emit("find_edge", args, None, INT64, (), weak=True))


@on_numbers
def random(key: Any, counter: Any = 0) -> Expr:
    """Return a random number in [0, 1), the same for equal key and counter on every backend.

    Examples
    --------
    A key for every vertex and a counter for every draw make the numbers independent:

    >>> import weft
    >>> @weft.vertex
    ... def draw(v):
    ...     v.x = weft.random(v.id, weft.superstep())
    >>> g = weft.generators.path(3)
    >>> state = g.state(x=weft.full(0.0))
    >>> _ = g.run(draw, state)
    >>> bool(((0 <= state.x) & (state.x < 1)).all())
    True
    """
    return _random("random_unit", FLOAT64, key, counter)


@on_numbers
def random_bits(key: Any, counter: Any = 0) -> Expr:
    """Return 64 random bits, the same for equal key and counter on every backend."""
    return _random("random_bits", UINT64, key, counter)


def _random(op: str, dtype: np.dtype[Any], key: Any, counter: Any) -> Expr:
    builder = tracing.current()
    words = []
    for x in (key, counter):
        value = node(x)
        if value.dtype.kind == "f" or value.shape:
            raise fail(f"random needs integer scalars, but got {value.dtype} {value.shape}.")
        strong = builder.strong(value)
        words.append(
            strong if strong.dtype == UINT64 else builder.emit("cast", (strong,), None, UINT64)
        )
    return Expr(builder.emit(op, tuple(words), None, dtype))


# -- scalars


def reduce(name: str, value: Any, monoid: Monoid) -> None:
    """Combine a value of every vertex or arc of this step into the scalar `name` of the state.

    Sums and products of float32 are accumulated in float64 and rounded at the end of the step.
    Called outside of a traced function, to debug one on plain objects, it does nothing.

    Examples
    --------
    >>> import weft
    >>> @weft.vertex
    ... def measure(v):
    ...     weft.reduce("widest", v.out_degree, weft.max)
    >>> g = weft.generators.star(5)
    >>> state = g.state(widest=weft.scalar(0))
    >>> _ = g.run(measure, state)
    >>> state.widest.item()
    4
    """
    from weft.errors import expected, nearest

    if not tracing.is_active():
        return
    builder = tracing.current()
    if not isinstance(name, str):
        raise fail(
            'weft.reduce takes the name of a scalar first: weft.reduce("error", value, weft.sum).'
        )
    dtype = builder.scalars.get(name)
    if dtype is None:
        name = str(name)
        raise fail(
            f"the state has no scalar {name!r}. {expected(builder.scalars)}; declare it with "
            f"g.state({name}=weft.scalar(0.0)).{nearest(name, builder.scalars)}"
        )
    check_monoid(monoid)
    if monoid.name in ("any", "argmin", "argmax", "mode"):
        raise fail(f"{monoid!r} cannot reduce into a scalar. Use sum, prod, min, max, or_ or and_.")
    if builder.nested:
        raise fail(
            "weft.reduce belongs at the top of a function, not inside a loop, a branch or a gather."
        )
    fitted = builder.fit(node(value), dtype, (), f"the scalar {name!r}")
    builder.emit("reduce_scalar", (fitted,), (name, monoid.reduction(dtype)), dtype)
