"""Random typed expressions, to be built inside a traced function.

An expression is a tree of plain data: it prints as Python and can be built as often as wanted.
Every op in it is exact (rounded as IEEE 754 says, or on integers), so that two backends must agree
on each bit. Where a rule leaves a choice (the sign of a zero from min and max, the bits of a NaN)
the tree takes the choice away.
"""

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from weft.ir.trace import functions as fn
from weft.ir.trace import monoids

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")
NUMBERS = (*INTEGERS, *FLOATS)
DTYPES = ("bool", *NUMBERS)

# One field of each dtype and a vector: what expressions over one vertex may read.
FIELDS = {f"x_{name}": (np.dtype(name), ()) for name in DTYPES} | {
    "vector": (np.dtype("float64"), (3,))
}
VERTEX = {name: [("v", f"x_{name}")] for name in DTYPES}

_ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul}
_DIVISION = {"//": operator.floordiv, "%": operator.mod}
_BITS = {"&": operator.and_, "|": operator.or_, "^": operator.xor}
_SHIFTS = {"<<": operator.lshift, ">>": operator.rshift}
_COMPARISONS = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
OPERATORS = {
    **_ARITHMETIC, **_DIVISION, **_BITS, **_SHIFTS, **_COMPARISONS,
    "**": operator.pow, "/": operator.truediv, "minimum": fn.minimum, "maximum": fn.maximum,
}  # fmt: skip
UNARY = {
    "-": operator.neg, "abs": abs, "~": operator.invert, "sign": fn.sign, "sqrt": fn.sqrt,
    "floor": fn.floor, "ceil": fn.ceil, "round": fn.round, "trunc": fn.trunc, "isnan": fn.isnan,
    "isinf": fn.isinf, "isfinite": fn.isfinite, "popcount": fn.popcount, "clz": fn.clz,
}  # fmt: skip
WEAK = dict.fromkeys(("u", "v"), ("id", "out_degree", "in_degree")) | {"e": ("id", "rank")}


@dataclass(frozen=True)
class Tree:
    """An expression as data."""

    op: str
    detail: Any = None
    parts: tuple["Tree", ...] = ()

    def build(self, scope: dict[str, Any]) -> Any:
        """Trace the expression; `scope` holds the proxies by name."""
        return _BUILD[self.op](scope, self.detail, *(part.build(scope) for part in self.parts))

    def reads(self) -> set[tuple[str, str]]:
        """Return the (proxy, field) pairs that the expression loads."""
        own = {self.detail} if self.op == "field" else set()
        return own.union(*(part.reads() for part in self.parts))

    def __repr__(self) -> str:
        if self.op == "field":
            return ".".join(self.detail)
        if self.op == "number":
            return repr(self.detail)
        if self.op == "binary" and not self.detail.isalpha():
            return f"({self.parts[0]} {self.detail} {self.parts[1]})"
        name = self.op if self.detail is None else f"{self.op}[{self.detail}]"
        return f"{name}({', '.join(map(repr, self.parts))})"


def _settled(value: Any) -> Any:
    """Return a float with positive zeros: min and max may give either."""
    return value + 0.0 if value.dtype.kind == "f" else value


def _binary(_: Any, name: str, a: Any, b: Any) -> Any:
    result = OPERATORS[name](a, b)
    return _settled(result) if name in ("minimum", "maximum") else result


def _bitcast(_: Any, dtype: str, x: Any) -> Any:
    if x.dtype.kind == "f":
        x = fn.where(fn.isnan(x), 0.0, x)
    return fn.bitcast(x, dtype)


def _repeat(_: Any, detail: tuple[int, str], start: Any, term: Any) -> Any:
    count, name = detail
    return fn.for_range(
        0, count, lambda i, x: fn.cast(OPERATORS[name](x, term + i), x.dtype), start
    )


def _halve(_: Any, detail: Any, x: Any) -> Any:
    return fn.while_loop(lambda y: y > 3, lambda y: y >> 1, x, bound=64)


_BUILD = {
    "field": lambda scope, detail: getattr(scope[detail[0]], detail[1]),
    "number": lambda scope, detail: detail,
    "binary": _binary,
    "unary": lambda scope, name, x: UNARY[name](x),
    "where": lambda scope, detail, c, a, b: fn.where(c, a, b),
    "cast": lambda scope, dtype, x: fn.cast(x, dtype),
    "bitcast": _bitcast,
    "repeat": _repeat,
    "halve": _halve,
    "feature": lambda scope, i: scope["v"].vector[i],
    "dot": lambda scope, detail: fn.dot(scope["v"].vector, scope["v"].vector),
    "total": lambda scope, detail: monoids.sum(scope["v"].vector),
}


def field(who: str, name: str) -> Tree:
    """Return the expression who.name."""
    return Tree("field", (who, name))


@st.composite
def _leaves(draw, dtype, sources):
    if dtype == "float64" and ("v", "x_float64") in sources.get(dtype, ()) and draw(st.booleans()):
        return draw(
            st.sampled_from([Tree("feature", 0), Tree("feature", 2), Tree("dot"), Tree("total")])
        )
    if sources.get(dtype):
        return Tree("field", draw(st.sampled_from(sources[dtype])))
    other = draw(st.sampled_from([name for name in sorted(sources) if sources[name]]))
    leaf = Tree("field", draw(st.sampled_from(sources[other])))
    return Tree("cast", dtype, (leaf,))


def _weak_numbers(dtype, sources):
    """Return leaves that take the dtype of the other operand."""
    if dtype in FLOATS:
        return st.sampled_from([0.5, 1.0, -2.0, 3.25, 0.0]).map(lambda x: Tree("number", x))
    whos = sorted({who for rows in sources.values() for who, _ in rows})
    known = [Tree("field", (who, name)) for who in whos for name in WEAK.get(who, ())]
    return st.one_of(st.integers(0, 100).map(lambda x: Tree("number", x)), st.sampled_from(known))


@st.composite
def expressions(draw, dtype, sources=None, depth=3):
    """Draw an expression whose value has a dtype.

    `sources` maps dtypes to the (proxy, field) pairs that may be read.
    """
    sources = VERTEX if sources is None else sources
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        return draw(_leaves(dtype, sources))

    def inner(kind):
        return expressions(kind, sources, depth - 1)

    numbers = [name for name in NUMBERS if sources.get(name)]
    if dtype == "bool":
        return draw(_conditions(inner, sources, numbers))
    choices = [_same(dtype, inner, sources), _chosen(dtype, inner), _unary(dtype, inner)]
    choices.append(_mixed(dtype, inner, numbers))
    choices.append(st.builds(lambda x: Tree("cast", dtype, (x,)), st.sampled_from([
        *numbers, *(["bool"] if sources.get("bool") else [])
    ]).flatmap(inner)))  # fmt: skip
    width = [k for k in numbers if k != dtype and np.dtype(k).itemsize == np.dtype(dtype).itemsize]
    if width and dtype in INTEGERS:
        source = st.sampled_from(width).flatmap(inner)
        choices.append(source.map(lambda x: Tree("bitcast", dtype, (x,))))
    return draw(st.one_of(choices))


@st.composite
def _conditions(draw, inner, sources, numbers):
    kind = draw(st.sampled_from(numbers))
    form = draw(st.integers(0, 4))
    if form == 0 and kind in FLOATS:
        name = draw(st.sampled_from(["isnan", "isinf", "isfinite"]))
        return Tree("unary", name, (draw(inner(kind)),))
    if form == 1:
        name = draw(st.sampled_from(sorted(_BITS)))
        return Tree("binary", name, (draw(inner("bool")), draw(inner("bool"))))
    if form == 2:
        return Tree("unary", "~", (draw(inner("bool")),))
    second = inner(kind) if form == 3 else _weak_numbers(kind, sources)
    name = draw(st.sampled_from(sorted(_COMPARISONS)))
    return Tree("binary", name, (draw(inner(kind)), draw(second)))


def _names(dtype):
    names = [*_ARITHMETIC, *_DIVISION, "minimum", "maximum"]
    return [*names, "/"] if dtype in FLOATS else [*names, *_BITS, *_SHIFTS, "**"]


@st.composite
def _same(draw, dtype, inner, sources):
    name = draw(st.sampled_from(_names(dtype)))
    first, second = inner(dtype), inner(dtype)
    other = draw(st.integers(0, 3))
    if other == 0:
        second = _weak_numbers(dtype, sources)
    elif other == 1:
        first = _weak_numbers(dtype, sources)
    return Tree("binary", name, (draw(first), draw(second)))


@st.composite
def _chosen(draw, dtype, inner):
    condition = draw(inner("bool"))
    return Tree("where", None, (condition, draw(inner(dtype)), draw(inner(dtype))))


@st.composite
def _unary(draw, dtype, inner):
    if dtype in FLOATS:
        name = draw(st.sampled_from(["-", "abs", "sqrt", "floor", "ceil", "round", "trunc"]))
        return Tree("unary", name, (draw(inner(dtype)),))
    name = draw(st.sampled_from(["-", "abs", "~", "sign", "popcount", "clz", "repeat", "halve"]))
    if name == "repeat":
        detail = (draw(st.integers(0, 3)), draw(st.sampled_from(["+", "*", "^"])))
        return Tree("repeat", detail, (draw(inner(dtype)), draw(inner(dtype))))
    if name == "halve":
        return Tree("halve", None, (draw(inner(dtype)),))
    tree = Tree("unary", name, (draw(inner(dtype)),))
    return Tree("cast", dtype, (tree,)) if name in ("popcount", "clz") else tree


@st.composite
def _mixed(draw, dtype, inner, numbers):
    """Two operands of unlike dtypes, promoted and then cast."""
    kinds = [draw(st.sampled_from(numbers)) for _ in range(2)]
    common = np.result_type(*kinds)
    names = _names("float64" if common.kind == "f" else "int64")
    name = draw(st.sampled_from(names))
    return Tree("cast", dtype, (Tree("binary", name, tuple(draw(inner(k)) for k in kinds)),))


def field_values(name, count, seed):
    """Return values for a field of `FIELDS`: corner cases first, then random ones."""
    dtype, shape = FIELDS[name]
    rng = np.random.default_rng(seed)
    if shape:  # small integers: sums of their products are exact in any order
        return rng.integers(-8, 8, (count, *shape)).astype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, count).astype(bool)
    if dtype.kind == "f":
        corners = [0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e30, -2.5, 0.1, 2.0**31, 2.0**63]
        values = rng.normal(0, 50, count)
    else:
        info = np.iinfo(dtype)
        corners = [0, 1, info.max, info.min, 2, 7, info.max - 1, info.min + 1, 100]
        values = rng.integers(info.min, info.max, count, dtype=dtype, endpoint=True)
        values[::2] = rng.integers(0, 20, values[::2].size)
    values = values.astype(dtype)
    rng.shuffle(corners)
    values[: len(corners)] = np.array(corners[:count], dtype)
    return values


def assigning(trees):
    """Return a vertex function body that assigns the k-th expression to the field `out<k>`."""

    def compute(v):
        for k, tree in enumerate(trees):
            setattr(v, f"out{k}", tree.build({"v": v}))

    return compute
