"""Functions rendered as CUDA compute what the interpreter does, on awkward numbers.

Every op but the transcendental ones is exact, so that the results must agree in every bit. Many
ops share one program, since each program that is compiled costs a second or more.
"""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import expressions
import weft
from expressions import DTYPES, FLOATS, INTEGERS, Tree
from simt.rendered import Job, agreed, faults

COUNT = 96
N = 40


def corners(dtype):
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


def lonely(count):
    return weft.Graph.from_edges([], [], num_vertices=count)


def drawn_fields(seed):
    rng = np.random.default_rng(seed)
    fields = {f"x_{name}": rng.choice(corners(name), COUNT) for name in DTYPES}
    fields["vector"] = rng.integers(-8, 8, (COUNT, 3)).astype(float)
    return fields


@st.composite
def trees(draw, count=40):
    return [
        (DTYPES[k % len(DTYPES)], draw(expressions.expressions(DTYPES[k % len(DTYPES)])))
        for k in range(count)
    ]


@given(drawn=trees(), seed=st.integers(0, 999))
@settings(
    max_examples=2, derandomize=True, deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
def test_drawn_expressions(run_cases, compile_cuda, drawn, seed):
    rng = np.random.default_rng(8)
    ends = rng.integers(0, COUNT - 2, (2, 150))
    g = weft.Graph.from_edges(*ends, num_vertices=COUNT)
    outputs = {f"out{k}": np.zeros(COUNT, dtype) for k, (dtype, _) in enumerate(drawn)}
    function = weft.vertex(expressions.assigning([tree for _, tree in drawn]))
    fields = drawn_fields(seed)
    constant = frozenset(list(fields)[::2])
    racy = frozenset(list(fields)[1::2])
    agreed(run_cases, Job(g, function, fields | outputs, constant=constant, racy=racy))


def operators(dtype):
    known = ["+", "-", "*", "//", "%", "minimum", "maximum", "<", "<=", "==", "!="]
    return known + (["/"] if dtype in FLOATS else ["&", "|", "^", "<<", ">>", "**"])


def every_operator(dtype):
    """Return a job with every operator on every pair of corner cases."""
    names = operators(dtype)
    a, b = (x.ravel() for x in np.meshgrid(corners(dtype), corners(dtype)))
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
        v.sign = weft.sign(v.a)

    fields = {f"out{k}": np.zeros(a.size, kind) for k, kind in enumerate(kinds)}
    fields |= {f"to_{name}": np.zeros(a.size, name) for name in DTYPES}
    fields |= {name: np.zeros(a.size, dtype) for name in ("negative", "size", "lower", "sign")}
    return Job(lonely(a.size), operate, fields | {"a": a, "b": b})


def test_every_operator_on_every_pair_of_corner_cases(run_cases, compile_cuda):
    agreed(run_cases, *(every_operator(dtype) for dtype in (*INTEGERS, *FLOATS)))


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


def test_mathematical_functions_agree_within_a_few_units(run_cases, compile_cuda):
    jobs = []
    for dtype in FLOATS:
        rng = np.random.default_rng(2)
        x = np.concatenate(
            [corners(dtype), rng.normal(0, 3, 60), rng.uniform(-1, 1, 60), [700.0, 90.0]]
        )
        fields = {name: np.zeros(x.size, dtype) for name in (*ONE, *TWO)}
        fields |= {n: np.zeros(x.size, bool if n.startswith("is") else dtype) for n in EXACT}
        fields |= {"x": x.astype(dtype), "y": rng.choice(corners(dtype), x.size)}
        jobs.append(Job(lonely(x.size), every_function, fields, close=frozenset((*ONE, *TWO))))
    agreed(run_cases, *jobs)


# -- random numbers, constants, bits


@weft.vertex
def bits(v, factor, flag):
    v.bits = weft.random_bits(v.i, v.k)
    v.unit = weft.random(v.k, v.i)
    v.small = weft.random_bits(v.b)
    v.scaled = weft.where(flag, v.unit * factor, 0.0)
    v.where = v.id + weft.num_vertices() + weft.superstep() + v.out_degree
    v.ones, v.zeros = weft.popcount(v.i), weft.clz(v.b)
    v.again = weft.bitcast(weft.bitcast(v.unit, weft.uint64) ^ 5, weft.float64)
    v.tuned = weft.cast(v.unit, weft.float32) * 0.1 + 1e-30
    v.least = weft.where(v.i < 0, -9223372036854775808, v.i)


def test_random_numbers_scalars_and_bits(run_cases, compile_cuda):
    fields = {
        "i": np.resize(corners("int64"), COUNT), "k": np.resize(corners("int32"), COUNT),
        "b": np.resize(corners("uint8"), COUNT), "bits": np.zeros(COUNT, np.uint64),
        "small": np.zeros(COUNT, np.uint64), "unit": np.zeros(COUNT), "scaled": np.zeros(COUNT),
        "where": np.zeros(COUNT, np.int64), "ones": np.zeros(COUNT, np.int32),
        "zeros": np.zeros(COUNT, np.int32), "again": np.zeros(COUNT),
        "tuned": np.zeros(COUNT, np.float32), "least": np.zeros(COUNT, np.int64),
        "factor": weft.scalar(2.5), "flag": weft.scalar(True),
    }  # fmt: skip
    g = weft.Graph.from_edges([0, 0, 5], [1, 2, 6], num_vertices=COUNT)
    agreed(run_cases, Job(g, bits, fields))


# -- features


def graph(*, directed=True, keep="both"):
    """A small graph with self-loops, parallel edges and isolated vertices, and edge columns."""
    rng = np.random.default_rng(3)
    src, dst = rng.integers(0, N - 3, 150), rng.integers(0, N - 3, 150)
    weights = rng.integers(1, 9, 150).astype(float)
    g = weft.Graph.from_edges(src, dst, weights, num_vertices=N, directed=directed, keep=keep)
    g.edge["near"] = rng.integers(-4, 5, (g.num_edges, 3)).astype(float)
    g.edge["flags"] = rng.integers(0, 2, (g.num_edges, 2)).astype(bool)
    return g


def whole(shape, dtype, seed=0, low=-4, high=5):
    """Random small integers in a dtype: sums and products of a few of them are exact."""
    dtype = np.dtype(dtype)
    values = np.random.default_rng(seed).integers(0 if dtype.kind == "b" else low, high, shape)
    return (values % 2).astype(bool) if dtype.kind == "b" else values.astype(dtype)


SHAPES = {
    "outer": (3, 2), "dot": (), "matvec": (2,), "vecmat": (3,), "matmul": (2, 2),
    "turned": (3, 2), "total": (), "product": (), "least": (), "most": (),
    "picked": (), "element": (), "row": (3,), "stacked": (3,), "rows": (2, 3), "spread": (3,),
    "plane": (2, 3), "chosen": (3,), "one": (), "column": (2, 3), "looped": (3,),
}  # fmt: skip


@weft.vertex
def every_op(v):
    v.outer = weft.outer(v.x, v.y)
    v.dot = weft.dot(v.x, v.x)
    v.matvec = v.m @ v.x
    v.vecmat = v.y @ v.m
    v.matmul = v.m @ v.m.T
    v.turned = weft.transpose(v.m)
    v.total = weft.sum(v.m)
    v.product = weft.prod(v.x)
    v.least = weft.min(v.x)
    v.most = weft.max(v.m)
    v.first_least = weft.argmin(v.x)
    v.first_most = weft.argmax(v.x)
    v.picked = v.x[v.where]
    v.element = v.m[1, v.where] + v.m[-1, 2]
    v.row = v.m[v.where % 2]
    v.stacked = weft.stack([v.x[2], v.scalar, v.x[0]])
    v.rows = weft.stack([v.x, v.x + v.scalar])
    v.spread = v.scalar
    v.plane = v.m + v.x
    v.chosen = weft.where(v.x < v.scalar, v.x, v.m[0])
    v.one = weft.sum(v.scalar)
    v.column = v.m - weft.stack([weft.stack([y]) for y in (v.y[0], v.y[1])])
    v.below = v.x < v.m
    v.any_below = weft.any(v.x < v.scalar)
    v.all_below = weft.and_(v.x < v.scalar)
    v.lone = v.x[1] == v.y[1]
    _, v.looped = weft.for_range(0, v.where, lambda i, a, b: (b, a + b), v.x, v.m[0])


def op_job(dtype):
    low = 0 if dtype == "uint8" else -4
    fields = {
        "x": whole((N, 3), dtype, 1, low), "y": whole((N, 2), dtype, 2, low),
        "m": whole((N, 2, 3), dtype, 3, low), "scalar": whole(N, dtype, 4, low),
        "where": np.arange(N) % 3, "first_least": np.zeros(N, int), "first_most": np.zeros(N, int),
        "below": np.zeros((N, 2, 3), bool), "any_below": np.zeros(N, bool),
        "all_below": np.zeros(N, bool), "lone": np.zeros(N, bool),
        **{name: np.zeros((N, *shape), dtype) for name, shape in SHAPES.items()},
    }  # fmt: skip
    if dtype.startswith("float"):
        fields["x"][:4] = [[np.nan] * 3, [np.nan, 2, 1], [np.inf, -np.inf, 0], [-0.0, 0.0, -0.0]]
    return Job(graph(), every_op, fields, constant=frozenset("x"), racy=frozenset("m"))


@weft.vertex
def truths(v):
    v.both = weft.outer(v.a, v.b)
    v.met = weft.dot(v.a, v.b)
    v.reached = v.m @ v.a
    v.twice = v.m @ v.m
    v.some, v.all = weft.or_(v.a), weft.and_(v.a)
    v.least, v.most = weft.min(v.m), weft.max(v.m)
    v.count = weft.sum(v.m)
    v.place = weft.argmax(v.a)
    v.third = v.a[v.where]
    v.line = v.m[v.where]
    v.made = weft.stack([v.a[0], ~v.a[1], v.a[2] & v.b[0]])
    v.mixed = (v.a | v.b) ^ v.m
    v.identity = weft.cast(weft.eye(3), bool) & v.m


def truth_job():
    fields = {name: whole((N, 3), bool, i) for i, name in enumerate("ab")}
    fields["m"] = whole((N, 3, 3), bool, 7)
    flags = dict.fromkeys(("met", "some", "all", "least", "most", "third"), ())
    flags |= dict.fromkeys(("reached", "line", "made"), (3,))
    flags |= dict.fromkeys(("both", "twice", "mixed", "identity"), (3, 3))
    fields |= {name: np.zeros((N, *shape), bool) for name, shape in flags.items()}
    fields |= {"count": np.zeros(N, int), "place": np.zeros(N, int), "where": np.arange(N) % 3}
    return Job(graph(), truths, fields)


@weft.vertex
def algebra(v):
    v.solved = weft.solve(v.m, v.x)
    v.inverted = weft.inverse(v.m)
    v.sum, v.l2 = weft.normalize(v.x, "sum"), weft.normalize(v.x, "l2")
    v.max, v.soft = weft.normalize(v.x, "max"), weft.normalize(v.x, "softmax")


def algebra_job(dtype):
    rng = np.random.default_rng(5)
    fields = {name: np.zeros((N, 3), dtype) for name in ("solved", "sum", "l2", "max", "soft")}
    fields["inverted"] = np.zeros((N, 3, 3), dtype)
    fields["m"] = rng.normal(0, 1, (N, 3, 3)).astype(dtype)
    fields["m"][0] = [[0, 1, 0], [1, 0, 0], [0, 0, 2]]
    fields["x"] = rng.normal(0, 1, (N, 3)).astype(dtype)
    fields["x"][:2] = [[0, 0, 0], [1, -1, 0]]
    return Job(graph(), algebra, fields, close=frozenset({"soft"}))


def test_feature_ops(run_cases, compile_cuda):
    numbers = (op_job(dtype) for dtype in ("float64", "float32", "int32", "uint8"))
    agreed(run_cases, *numbers, truth_job(), *(algebra_job(dtype) for dtype in FLOATS))


# -- gathers

XOR = weft.monoid(lambda a, b: a ^ b, 0, name="xor")
CAPPED = weft.monoid(lambda a, b: weft.where(a + b > 100, a - b, a + b), 0, name="capped")


@weft.vertex
def vectors(v):
    v.total, v.plane = v.gather(lambda u, e: (u.x + v.x, weft.outer(u.x, e.near)), weft.sum)
    v.least, v.most = v.gather(
        lambda u, e: (u.x * e.weight, u.m), (weft.min, weft.max), direction="out"
    )
    v.product = v.gather(lambda u, e: u.small, weft.prod, direction="both")
    v.some, v.all = v.gather(
        lambda u, e: (u.flags, e.flags), (weft.or_, weft.and_), direction="both"
    )
    v.bits = v.gather(lambda u, e: weft.send(u.bits, when=weft.any(u.flags)), weft.or_)
    v.single = v.gather(lambda u, e: u.m * 3.0, weft.sum)


def vector_job(directed):
    fields = {
        "x": whole((N, 3), float, 1), "m": whole((N, 2, 2), "float32", 2),
        "small": whole((N, 2), "int16", 3), "flags": whole((N, 2), bool, 4),
        "bits": whole((N, 3), "int64", 5), "total": np.zeros((N, 3)), "plane": np.zeros((N, 3, 3)),
        "least": np.zeros((N, 3)), "most": np.zeros((N, 2, 2), "float32"),
        "product": np.zeros((N, 2), "int16"), "some": np.zeros((N, 2), bool),
        "all": np.zeros((N, 2), bool),
        "single": np.zeros((N, 2, 2), "float32"),
    }  # fmt: skip
    return Job(graph(directed=directed), vectors, fields)


@weft.vertex
def scalars(v):
    scale = weft.cast(v.y, weft.float64) * 0.5
    v.sum = v.gather(lambda u, e: u.f * e.weight + scale, weft.sum)
    v.short = v.gather(lambda u, e: weft.cast(u.y, weft.float32), weft.sum, direction="both")
    v.least = v.gather(lambda u, e: u.odd, weft.min)
    v.most = v.gather(lambda u, e: weft.send(u.odd, when=e.weight > 4), weft.max, direction="out")
    v.any = v.gather(lambda u, e: weft.send(e.id, when=u.y > 0), weft.any)
    v.either = v.gather(lambda u, e: weft.send(e.id, when=u.y > 1), weft.any, direction="both")
    _, v.lower = v.gather(lambda u, e: (u.y % 3, e.id), weft.argmin)
    _, v.upper, v.far = v.gather(lambda u, e: (u.y % 3, e.id, u.f), weft.argmax, direction="both")
    v.capped = v.gather(lambda u, e: u.y, CAPPED)
    v.mixed = v.gather(lambda u, e: u.y * e.id, XOR, direction="both")
    v.rank = v.gather(lambda u, e: (e.rank + 1) * 7 + u.in_degree, weft.sum, direction="both")
    v.marks = v.gather(lambda u, e: e.mark, weft.sum)
    v.deep = v.gather(
        lambda u, e: weft.for_range(0, u.y % 3, lambda i, x: x * 2 + i, v.y), weft.max
    )


def scalar_job(directed, keep="both", lifted=False):
    g = graph(directed=directed, keep=keep)
    rng = np.random.default_rng(4)
    fields = {
        "f": rng.integers(-99, 99, N).astype(float), "y": rng.integers(-3, 5, N),
        "odd": rng.choice(corners("float32"), N), "sum": np.zeros(N),
        "short": np.zeros(N, np.float32), "least": np.zeros(N, np.float32),
        "most": np.zeros(N, np.float32), "far": np.zeros(N),
        **{name: np.zeros(N, int) for name in (
            "any", "either", "lower", "upper", "capped", "mixed", "rank", "marks", "deep")},
    }  # fmt: skip
    fields["odd"][fields["odd"] == 0] = 0.0  # min and max may give either zero
    edges = {"mark": rng.integers(-9, 9, g.topology.num_arcs)}
    return Job(g, scalars, fields, edges=edges, lifted=lifted)


@weft.vertex
def reverses(v):
    v.z = v.gather(lambda u, e: e.mark - 2 * e.reverse.mark, weft.sum, direction="both")


def reverse_job():
    g = graph(directed=False)
    edges = {"mark": np.random.default_rng(4).integers(-9, 9, g.topology.num_arcs)}
    return Job(g, reverses, {"z": np.zeros(N, int)}, edges=edges)


def test_gathers(run_cases, compile_cuda):
    jobs = [vector_job(directed) for directed in (True, False)]
    jobs += [scalar_job(directed, lifted=directed) for directed in (True, False)]
    agreed(run_cases, *jobs, reverse_job())


@weft.vertex
def parted(v):
    v.sum, v.short, v.least = v.gather(
        lambda u, e: (u.f, weft.cast(u.y, weft.float32), u.odd), (weft.sum, weft.sum, weft.min)
    )
    v.any = v.gather(lambda u, e: weft.send(e.id, when=u.y > 0), weft.any)
    _, v.lower = v.gather(lambda u, e: (u.y % 3, e.id), weft.argmin)
    _, v.upper, v.far = v.gather(lambda u, e: (u.y % 3, e.id, u.f), weft.argmax, direction="out")
    v.mixed = v.gather(lambda u, e: u.y * e.id, XOR, direction="out")
    v.most, v.flags = v.gather(lambda u, e: (u.vec, e.flags), (weft.max, weft.and_))


@weft.vertex
def some_part(v):
    v.any = v.gather(lambda u, e: weft.send(u.y, when=e.id % 3 == 0), weft.any)


def test_partial_results_are_merged(run_cases, compile_cuda):
    jobs = []
    for directed in (True, False):
        fields = scalar_job(directed).fields
        fields |= {"vec": whole((N, 2), "float32", 3), "flags": np.zeros((N, 2), bool)}
        fields["most"] = np.zeros((N, 2), "float32")
        jobs.append(Job(graph(directed=directed), parted, fields, split=True))
        equal = {"y": np.full(N, 9), "any": np.zeros(N, int)}
        g = graph(directed=directed)
        jobs.append(Job(g, some_part, equal, split=True, deterministic=False))
    agreed(run_cases, *jobs)


@weft.vertex
def inward(v):
    v.x = v.gather(lambda u, e: u.y * e.id + 10 * e.rank, weft.sum)


@weft.vertex
def outward(v):
    v.x = v.gather(lambda u, e: u.y * e.id + 10 * e.rank, weft.sum, direction="out")


def test_gathers_on_one_direction_of_storage(run_cases, compile_cuda):
    fields = {"y": whole(N, int, 3), "x": np.zeros(N, int)}
    agreed(
        run_cases,
        *(Job(graph(keep="in", directed=d), inward, fields) for d in (True, False)),
        *(Job(graph(keep="out", directed=d), outward, fields) for d in (True, False)),
        Job(graph(keep="both"), outward, fields),
    )


@weft.vertex
def one_of_them(v):
    v.x = v.gather(lambda u, e: weft.send(u.y, when=u.y > 2), weft.any, direction="both")
    v.y, v.z = v.gather(lambda u, e: (u.y, u.y + 1), weft.argmin, direction="both")


def test_a_choice_in_no_order_is_one_of_the_messages(run_cases, compile_cuda):
    fields = {"y": np.full(N, 5), "x": np.zeros(N, int), "z": np.zeros(N, int)}
    agreed(run_cases, Job(graph(), one_of_them, fields, deterministic=False))


@weft.vertex
def vote(v):
    v.most = v.gather(lambda u, e: u.label, weft.mode, direction="both")
    v.narrow = v.gather(lambda u, e: weft.cast(u.label, weft.int8), weft.mode)
    v.yes = v.gather(lambda u, e: weft.send(u.label > 0, when=u.id % 3 > 0), weft.mode)
    real, count = v.gather(lambda u, e: (u.real, 1), (weft.mode, weft.sum), direction="out")
    v.real = weft.where(count > 0, real, v.real)


@weft.vertex
def long_sums(v):
    v.exact = v.gather(lambda u, e: u.x, weft.sum)


def test_modes_and_sums_of_long_rows(run_cases, compile_cuda):
    rng = np.random.default_rng(6)
    n = 250
    src, dst = rng.integers(0, n, 900), np.where(rng.random(900) < 0.7, 7, rng.integers(0, n, 900))
    g = weft.Graph.from_edges(src, dst, num_vertices=n, directed=False)
    labels = {
        "label": rng.integers(-9, 9, n) * 2**40 // 3, "most": np.zeros(n, int),
        "narrow": np.zeros(n, np.int8), "yes": np.zeros(n, bool),
        "real": rng.choice([0.5, np.nan, np.inf, -1.0, 2.0], n),
    }  # fmt: skip
    long = {"x": rng.integers(0, 9, n).astype(np.float32), "exact": np.zeros(n, np.float32)}
    agreed(run_cases, Job(g, vote, labels), Job(g, long_sums, long))


# -- computed vertices


@weft.vertex
def walk(v):
    def step(i, x):
        degree = weft.degree(x)
        place = weft.cast(weft.random(v.id, i) * degree, weft.int64)
        return weft.where(degree > 0, weft.neighbor(weft.where(degree > 0, x, 2), place), x)

    v.end = weft.for_range(0, 6, step, v.id)
    v.shared = weft.common(v.id, v.end, lambda w: w.value + v.value, weft.sum)
    v.greatest = weft.common(v.end, v.id, lambda w: w.id + w.out_degree, weft.max)
    v.edge = weft.where(
        v.out_degree > 2,
        weft.neighbor_edge(weft.where(v.out_degree > 2, v.id, 2), weft.cast(v.out_degree > 2, int)),
        -1,
    )


def test_computed_vertices(run_cases, compile_cuda):
    fields = {name: np.zeros(N, int) for name in ("end", "shared", "greatest", "edge")}
    fields["value"] = whole(N, int, 4)
    agreed(run_cases, *(Job(graph(directed=d), walk, fields) for d in (True, False)))


# -- live access

LIVE = ("bool", *INTEGERS, *FLOATS)


def updates(dtype):
    """Return a job whose threads meet in a few elements, in no order that could be seen."""
    kind = np.dtype(dtype)
    n = 128
    rng = np.random.default_rng(1)

    @weft.vertex(order_free=True)
    def update(v):
        place = v.id % 5
        v.least.at(place).min(v.x)
        v.most.at(place).max(v.x)
        if kind.kind != "b":
            v.total.at(place).add(v.small)
        if kind.kind != "f":
            v.some.at(place).or_(v.x)
            v.all.at(place).and_(v.x)
        # One of those that meet wins, and all see the winner afterwards.
        v.won = v.owner.at(v.id // 3).cas(weft.cast(0, dtype), weft.cast(1, dtype)) == 0
        v.owned = v.owner.at(v.id // 3).load()
        v.mine.at(v.id).set(v.x)
        v.kept.at((v.id + 1) % n).set(v.x)

    x = rng.choice(corners(dtype), n)
    x[x == 0] = 0  # of two zeros either may be the least
    ones = np.array(-1 if kind.kind == "i" else 255 if kind.kind == "u" else 1).astype(dtype)
    fields = {
        "x": x, "small": (rng.integers(0, 3, n)).astype(dtype), "least": np.full(n, ones),
        "most": np.zeros(n, dtype), "total": np.zeros(n, dtype), "some": np.zeros(n, dtype),
        "all": np.full(n, ones), "owner": np.zeros(n, dtype), "won": np.zeros(n, bool),
        "owned": np.zeros(n, dtype), "mine": np.zeros(n, dtype), "kept": np.zeros(n, dtype),
    }  # fmt: skip
    return Job(lonely(n), update, fields)


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
def test_live_updates_of_every_dtype(run_cases, compile_cuda, sanitizer):
    jobs = [updates(dtype) for dtype in LIVE]
    _, outputs = agreed(run_cases, *jobs, seeds=(0, 1, 2), sanitizer=sanitizer, skipped=("won",))
    for output in outputs:
        won = output["new_won"][:126].reshape(-1, 3)
        assert (won.sum(1) == 1).all()


@weft.vertex
def follow(v):
    v.depth = weft.while_loop(
        lambda x, k: (v.root.at(x) != x) & (k < 50),
        lambda x, k: (v.root.at(x).load(), k + 1),
        v.id,
        0,
    )[1]
    v.near = v.gather(lambda u, e: v.count.at(u.id % 5), weft.max)
    v.own = v.count + v.count.at(v.id)


def test_live_reads_in_loops_and_gathers(run_cases, compile_cuda):
    fields = {name: np.zeros(N, int) for name in ("depth", "near", "own")}
    fields |= {"root": np.maximum(np.arange(N) - 3, 0), "count": whole(N, int, 7)}
    agreed(run_cases, Job(graph(), follow, fields))


# -- faults


@weft.vertex
def outside(v):
    v.x = v.y.at(v.x).load()


@weft.vertex
def no_feature(v):
    v.x = weft.cast(v.vec[v.x], weft.int64)


@weft.vertex
def no_neighbor(v):
    v.x = weft.neighbor(v.id, v.x)


@weft.vertex
def endless(v):
    v.x = weft.while_loop(lambda x: x >= 0, lambda x: x + 1, v.x, bound=9)


@weft.vertex
def singular(v):
    v.vec = weft.solve(weft.outer(v.vec, v.vec), v.vec)


@weft.vertex
def fine(v):
    v.x = weft.while_loop(lambda x: x < 9, lambda x: x + 1, weft.cast(0, int), bound=9)


def test_faults_are_reported(run_cases, compile_cuda):
    fields = {"x": np.arange(N) - 1, "y": np.arange(N), "vec": whole((N, 2), float, 3, 1)}
    functions = (outside, no_feature, no_neighbor, endless, singular, fine)
    found = faults(run_cases, *(Job(graph(), function, fields) for function in functions))
    for cause, told in found[:-1]:
        assert cause in told and told
    assert found[-1] == ("none", "")
