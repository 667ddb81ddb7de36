"""Random expressions on awkward numbers: the CPU backend computes what the interpreter does.

Every op but the transcendental ones is exact, so that the results must agree in every bit. Some
forty expressions share a function, since each function that is compiled costs seconds.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import expressions
import weft
from agreement import DIRECTIONS, assert_bits_equal, interpreted, run
from expressions import DTYPES, FLOATS, INTEGERS, Tree
from oracle import run_interpreted

COUNT = 96  # vertices: that many combinations of corner cases
BATCH = 40


def corners(dtype: str) -> np.ndarray:
    """Return the values that are most often got wrong."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return np.array([False, True])
    if kind.kind == "f":
        info = np.finfo(kind)
        values = [
            0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, np.nan, np.inf, -np.inf,
            info.smallest_subnormal, -info.smallest_subnormal, info.tiny, info.max, info.min,
            2.0**31, -(2.0**31), 2.0**63, -(2.0**63), 2.0**64, 1e10, -1e10, 127.5, 255.5,
        ]  # fmt: skip
        return np.array(values, kind)
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    values = [0, 1, 2, 3, 7, 8, 31, 32, 63, 64, 100, high, high - 1, high // 2, low, low + 1]
    signed = [-1, -2, -3, -7, -64] if low < 0 else []
    return np.array([x for x in values + signed if low <= x <= high], kind)


def field_values(seed: int) -> dict[str, np.ndarray]:
    """Return a value of every dtype and a vector for each vertex, mostly corner cases."""
    rng = np.random.default_rng(seed)
    fields = {f"x_{name}": rng.choice(corners(name), COUNT) for name in DTYPES}
    fields["vector"] = rng.integers(-8, 8, (COUNT, 3)).astype(float)
    return fields


def graph() -> weft.Graph:
    rng = np.random.default_rng(8)
    ends = rng.integers(0, COUNT - 2, (2, 150))
    return weft.Graph.from_edges(*ends, num_vertices=COUNT)


G = graph()


@st.composite
def trees(draw, count=BATCH, sources=None):
    """Draw expressions, the dtypes in turn."""
    kinds = [name for name in DTYPES if sources is None or sources.get(name)]
    return [
        (kinds[k % len(kinds)], draw(expressions.expressions(kinds[k % len(kinds)], sources)))
        for k in range(count)
    ]


@given(drawn=trees(), seed=st.integers(0, 999))
@settings(max_examples=2, derandomize=True)
def test_expressions_of_a_vertex_agree_with_the_interpreter(drawn, seed):
    outputs = {f"out{k}": np.zeros(COUNT, dtype) for k, (dtype, _) in enumerate(drawn)}
    function = weft.vertex(expressions.assigning([tree for _, tree in drawn]))
    fields = field_values(seed) | outputs
    want = interpreted(G, function, fields)
    got = run(G, function, fields, config=weft.Config(threads=2))
    for k, (_, tree) in enumerate(drawn):
        assert_bits_equal(got.fields[f"out{k}"], want.state.fields[f"out{k}"], repr(tree))
    assert got.frontier == want.frontier


EDGE_SOURCES = {
    name: [("u", f"x_{name}"), ("v", f"x_{name}")] for name in ("bool", "int32", "uint8", "float32")
} | {"int64": [("u", "x_int64"), ("e", "weight")]}


@given(drawn=trees(12, EDGE_SOURCES), seed=st.integers(0, 999))
@settings(max_examples=2, derandomize=True)
def test_expressions_of_an_edge_agree_with_the_interpreter_in_any_order(drawn, seed):
    """Messages meet under `or` and under sums that wrap: no order can be seen."""
    g = graph()
    g.edge["weight"] = np.random.default_rng(seed).choice(corners("int64"), g.num_edges)

    def message(u, v, e):
        scope = {"u": u, "v": v, "e": e}
        return tuple(_countable(tree.build(scope)) for _, tree in drawn)

    names = tuple(f"out{k}" for k in range(len(drawn)))
    monoids = tuple(weft.or_ if k % 3 == 0 else weft.sum for k in range(len(drawn)))
    function = weft.edge(message, into=names, reduce=monoids)
    fields = field_values(seed) | {name: np.zeros(COUNT, int) for name in names}
    frontier = list(range(0, COUNT, 2))
    want = interpreted(g, function, fields, frontier)
    shuffled = run_interpreted(
        g, function, g.state(**fields), frontier, mode="run", shuffle=seed
    ).state.fields
    for config in DIRECTIONS[1::2]:
        got = run(g, function, fields, frontier, config=config)
        for name, (_, tree) in zip(names, drawn, strict=True):
            assert_bits_equal(shuffled[name], want.state.fields[name], f"shuffled: {tree!r}")
            assert_bits_equal(got.fields[name], want.state.fields[name], repr(tree))
        assert got.frontier == want.frontier


def _countable(x):
    """Return any value as an int64, floats by their bits."""
    if x.dtype.kind == "f":
        x = weft.where(weft.isnan(x), 7.0, x)
        return weft.cast(weft.bitcast(x, f"int{8 * x.dtype.itemsize}"), weft.int64)
    return weft.cast(x, weft.int64)


ONE = ("cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin",
       "acos", "atan", "sinh", "cosh", "tanh")  # fmt: skip
TWO = {"atan2": weft.atan2, "hypot": weft.hypot, "power": lambda a, b: a**b}
EXACT = ("sqrt", "floor", "ceil", "round", "trunc", "sign", "isnan", "isinf", "isfinite")


@weft.vertex
def every_function(v):
    for name in ONE + EXACT:
        setattr(v, name, getattr(weft, name)(v.x))
    for name, function in TWO.items():
        setattr(v, name, function(v.x, v.y))


@pytest.mark.parametrize("dtype", FLOATS)
def test_mathematical_functions_agree_within_a_few_units(dtype):
    rng = np.random.default_rng(2)
    x = np.concatenate(
        [corners(dtype), rng.normal(0, 3, 60), rng.uniform(-1, 1, 60), [700.0, 90.0]]
    )
    g = weft.Graph.from_edges([], [], num_vertices=x.size)
    fields = {name: np.zeros(x.size, dtype) for name in (*ONE, *TWO)}
    fields |= {name: np.zeros(x.size, bool if name.startswith("is") else dtype) for name in EXACT}
    fields |= {"x": x.astype(dtype), "y": rng.choice(corners(dtype), x.size)}
    want, got = interpreted(g, every_function, fields), run(g, every_function, fields)
    for name in EXACT:
        assert_bits_equal(got.fields[name], want.state.fields[name], name)
    eps = np.finfo(dtype).eps
    for name in (*ONE, *TWO):
        np.testing.assert_allclose(
            got.fields[name], want.state.fields[name], rtol=8 * eps, atol=np.finfo(dtype).tiny,
            err_msg=name,
        )  # fmt: skip


def pairs(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Return every pair of corner cases."""
    a, b = np.meshgrid(corners(dtype), corners(dtype))
    return a.ravel(), b.ravel()


def _operators(dtype: str) -> list[str]:
    known = ["+", "-", "*", "//", "%", "minimum", "maximum", "<", "<=", "==", "!="]
    return known + (["/"] if dtype in FLOATS else ["&", "|", "^", "<<", ">>", "**"])


@pytest.mark.parametrize("dtype", (*INTEGERS, *FLOATS))
def test_every_operator_on_every_pair_of_corner_cases(dtype):
    names = _operators(dtype)
    a, b = pairs(dtype)
    read = {"a": Tree("field", ("v", "a")), "b": Tree("field", ("v", "b"))}
    kinds = [bool if name in ("<", "<=", "==", "!=") else dtype for name in names]

    @weft.vertex
    def operate(v):
        for k, name in enumerate(names):
            tree = Tree("binary", name, (read["a"], read["b"]))
            setattr(v, f"out{k}", tree.build({"v": v}))
        for name in DTYPES:
            setattr(v, f"to_{name}", weft.cast(v.a, name))
        v.negative, v.size, v.lower = -v.a, abs(v.a), weft.where(v.a < v.b, v.a, v.b)

    fields = {f"out{k}": np.zeros(a.size, kind) for k, kind in enumerate(kinds)}
    fields |= {f"to_{name}": np.zeros(a.size, name) for name in DTYPES}
    fields |= {name: np.zeros(a.size, dtype) for name in ("negative", "size", "lower")}
    g = weft.Graph.from_edges([], [], num_vertices=a.size)
    fields |= {"a": a, "b": b}
    want, got = interpreted(g, operate, fields), run(g, operate, fields)
    for name, array in got.fields.items():
        what = names[int(name[3:])] if name.startswith("out") else name
        assert_bits_equal(array, want.state.fields[name], what)
