"""Vectors and matrices: every feature op, gather, message, store and loop against the interpreter.

Many ops share one program, since each program that is compiled costs seconds.
"""

import numpy as np
import pytest

import weft
from agreement import placed
from oracle import run_interpreted
from weft.errors import FaultError, FieldError

N = 40


def graph(*, directed=True, keep="both"):
    """A small graph with self-loops, parallel edges and isolated vertices, and edge columns."""
    rng = np.random.default_rng(3)
    src, dst = rng.integers(0, N - 3, 150), rng.integers(0, N - 3, 150)
    g = weft.Graph.from_edges(
        src, dst, whole(150, float, 9, 1), num_vertices=N, directed=directed, keep=keep
    )
    g.edge["near"] = rng.integers(-4, 5, (g.num_edges, 3)).astype(float)
    g.edge["flags"] = rng.integers(0, 2, (g.num_edges, 2)).astype(bool)
    return g


def whole(shape, dtype, seed=0, low=-4, high=5):
    """Random small integers in a dtype: sums and products of a few of them are exact."""
    dtype = np.dtype(dtype)
    values = np.random.default_rng(seed).integers(0 if dtype.kind == "b" else low, high, shape)
    return (values % 2).astype(bool) if dtype.kind == "b" else values.astype(dtype)


def compare(
    g, functions, fields, frontier=None, *, edges=None, mode="run", directions=("auto",),
    close=(), **options,
):  # fmt: skip
    """Run functions on copies of the fields and compare with the interpreter."""

    def make():
        copied = {n: np.array(a) if isinstance(a, np.ndarray) else a for n, a in fields.items()}
        state = g.state(**copied)
        held = g.edge_state(**{n: np.array(a) for n, a in edges.items()}) if edges else None
        return state, held

    state, held = make()
    want = run_interpreted(g, functions, state, frontier, mode=mode, edge_state=held, **options)
    g = placed(g)
    for direction in directions:
        state, held = make()
        config = weft.Config(direction=direction)
        run = g.run if mode == "run" else g.iterate
        out = run(functions, state, frontier, edge_state=held, config=config, **options)
        got = dict(state.fields) | (dict(held.fields) if held else {})
        expected = {**want.state.fields, **want.state.edge_fields}
        for name, array in got.items():
            close_to = 2e-5 if array.dtype == np.float32 else 1e-12
            check = np.testing.assert_allclose if name in close else np.testing.assert_array_equal
            more = {"rtol": close_to, "atol": close_to} if name in close else {}
            check(array, expected[name], err_msg=f"{name}, {direction}", **more)
        last = out.tolist() if mode == "run" else out.frontier.tolist()
        assert last == want.frontier, direction
        if mode == "iterate":
            assert out.steps == want.outcome.steps


# -- ops


def outputs(dtype):
    """The fields that `every_op` assigns, with their shapes."""
    shapes = {
        "outer": (3, 2), "dot": (), "matvec": (2,), "best": (2,), "vecmat": (3,), "matmul": (2, 2),
        "turned": (3, 2), "total": (), "product": (), "least": (), "most": (),
        "picked": (), "element": (), "row": (3,), "stacked": (3,), "rows": (2, 3), "spread": (3,),
        "plane": (2, 3), "chosen": (3,), "one": (),
    }  # fmt: skip
    return {name: np.zeros((N, *shape), dtype) for name, shape in shapes.items()}


@weft.vertex
def every_op(v):
    v.outer = weft.outer(v.x, v.y)
    v.dot = weft.dot(v.x, v.x)
    v.matvec = v.m @ v.x
    v.vecmat = v.y @ v.m
    v.best = weft.matvec(v.m, v.x, reduce=weft.max)
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
    v.below = v.x < v.m
    v.any_below = weft.any(v.x < v.scalar)
    v.all_below = weft.and_(v.x < v.scalar)
    v.lone = v.x[1] == v.y[1]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "uint8"])
def test_ops_on_numbers(dtype):
    low = 0 if dtype == "uint8" else -4
    fields = {
        "x": whole((N, 3), dtype, 1, low), "y": whole((N, 2), dtype, 2, low),
        "m": whole((N, 2, 3), dtype, 3, low), "scalar": whole(N, dtype, 4, low),
        "where": np.arange(N) % 3, "first_least": np.zeros(N, int), "first_most": np.zeros(N, int),
        "below": np.zeros((N, 2, 3), bool), "any_below": np.zeros(N, bool),
        "all_below": np.zeros(N, bool), "lone": np.zeros(N, bool), **outputs(dtype),
    }  # fmt: skip
    if dtype.startswith("float"):
        fields["x"][:4] = [[np.nan] * 3, [np.nan, 2, 1], [np.inf, -np.inf, 0], [-0.0, 0.0, -0.0]]
    compare(graph(), every_op, fields)


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


def test_ops_on_truth_values():
    fields = {name: whole((N, 3), bool, i) for i, name in enumerate("ab")}
    fields["m"] = whole((N, 3, 3), bool, 7)
    flags = dict.fromkeys(("met", "some", "all", "least", "most", "third"), ())
    flags |= dict.fromkeys(("reached", "line", "made"), (3,))
    flags |= dict.fromkeys(("both", "twice", "mixed", "identity"), (3, 3))
    fields |= {name: np.zeros((N, *shape), bool) for name, shape in flags.items()}
    fields |= {"count": np.zeros(N, int), "place": np.zeros(N, int), "where": np.arange(N) % 3}
    compare(graph(), truths, fields)


@weft.vertex
def algebra(v):
    v.solved = weft.solve(v.a + 9 * weft.eye(4), v.x)
    v.inverted = weft.inverse(v.a + 9 * weft.eye(4))
    v.permuted = weft.solve(v.turn, v.x)
    v.returned = weft.inverse(v.turn)
    v.by_sum = weft.normalize(v.x)
    v.by_length = weft.normalize(v.x, "l2")
    v.by_max = weft.normalize(v.x, "max")
    v.soft = weft.normalize(v.x, "softmax")
    v.still = weft.normalize(v.zero, "l2")
    v.factored = weft.solve(v.a @ v.a.T + weft.eye(4), v.x, assume="spd")
    v.log_total = weft.logsumexp(v.far)
    v.turned = weft.hadamard_inverse(v.x)
    v.moved = weft.any_changed(v.far, v.x, 2.5)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_linear_algebra_and_normalization(dtype):
    rng = np.random.default_rng(5)
    names = ["solved", "permuted", "by_sum", "by_length", "by_max", "soft", "still"]
    names += ["factored", "turned"]
    fields = {name: np.zeros((N, 4), dtype) for name in names}
    fields |= {name: np.zeros((N, 4, 4), dtype) for name in ("inverted", "returned")}
    fields["a"] = rng.normal(size=(N, 4, 4)).astype(dtype)
    fields["turn"] = np.stack([np.eye(4)[rng.permutation(4)] * 2 for _ in range(N)]).astype(dtype)
    fields["x"] = whole((N, 4), dtype, 2)
    fields["x"][:2] = [[0, 0, 0, 0], [-1, 1, -1, 1]]
    fields["zero"] = np.zeros((N, 4), dtype)
    fields["far"] = fields["x"] * 500  # exp of it overflows
    infinite, nan = np.inf, np.nan
    fields["far"][2:6] = [[-infinite] * 4, [infinite, 0, 0, 0], [nan, 0, 0, 0], [nan] * 4]
    fields["x"][4:6] = [[0, 0, 0, 2], [nan] * 4]
    fields["log_total"], fields["moved"] = np.zeros(N, dtype), np.zeros(N, bool)
    inputs = {"a", "turn", "x", "zero", "far", "moved"}
    compare(graph(), algebra, fields, close=set(fields) - inputs)


@pytest.mark.parametrize("op", ["solve", "inverse"])
def test_a_singular_matrix_is_a_fault_at_its_vertex(op):
    @weft.vertex
    def refit(v):
        if op == "solve":
            v.x = weft.solve(v.a, v.x)
        else:
            v.a = weft.inverse(v.a)

    g = placed(graph())
    for bad in (np.zeros((2, 2)), np.ones((2, 2)), np.full((2, 2), np.nan)):
        a = np.tile(np.eye(2), (N, 1, 1))
        a[17] = bad
        with pytest.raises(FaultError, match=r"singular in 'refit' at vertex 17"):
            g.run(refit, g.state(a=a, x=np.ones((N, 2))))


def test_a_matrix_that_is_not_positive_definite_is_a_fault_at_its_vertex():
    @weft.vertex
    def refit(v):
        v.x = weft.solve(v.a, v.x, assume="spd")

    g = placed(graph())
    for bad in (np.zeros((2, 2)), -np.eye(2), np.full((2, 2), np.nan), np.ones((2, 2))):
        a = np.tile(np.eye(2), (N, 1, 1))
        a[17] = bad
        with pytest.raises(FaultError, match=r"not positive definite in 'refit' at vertex 17"):
            g.run(refit, g.state(a=a, x=np.ones((N, 2))))


def test_feature_functions_against_numpy():
    """What is made of other ops has an oracle of its own: the interpreter traces the same."""

    @weft.vertex
    def apply(v):
        v.total = weft.logsumexp(v.x)
        v.turned = weft.hadamard_inverse(v.x)
        v.moved = weft.any_changed(v.x, v.y, 0.5)

    x = np.array([[1e3, 1e3, -1e3], [-np.inf] * 3, [0, 2, -4.0], [np.nan] * 3, [np.inf, 0, 0]])
    y = np.array([[1e3, 1e3, -999.5], [-np.inf] * 3, [0, 2.75, -4.0], [np.nan] * 3, [0, 0, 0.0]])
    g = placed(weft.generators.path(5))
    state = g.state(x=x, y=y, total=np.zeros(5), turned=np.zeros((5, 3)), moved=np.zeros(5, bool))
    g.run(apply, state)
    want = [1e3 + np.log(2), -np.inf, np.logaddexp.reduce([0, 2, -4.0]), np.nan, np.inf]
    np.testing.assert_allclose(state.total, want)
    np.testing.assert_allclose(state.turned[2], [0, 0.5, -0.25])
    assert state.moved.tolist() == [False, False, True, False, True]


@pytest.mark.parametrize("place", [-1, 3, 2**40])
def test_an_index_out_of_range_is_a_fault_at_its_vertex(place):
    @weft.vertex
    def pick(v):
        v.y = v.x[v.where]
        v.z = v.m[v.where]

    g = placed(graph())
    where = np.zeros(N, int)
    where[5] = place
    state = g.state(x=np.ones((N, 3)), m=np.ones((N, 3, 2)), where=where, y=np.ones(N),
                    z=np.ones((N, 2)))  # fmt: skip
    with pytest.raises(FaultError, match=r"out of range in 'pick' at vertex 5"):
        g.run(pick, state)


# -- gathers


@weft.vertex
def refit(v, ridge):
    gram, rhs = v.gather(
        lambda u, e: (weft.outer(u.factor, u.factor), e.weight * u.factor), weft.sum
    )
    v.factor = weft.solve(gram + ridge * weft.eye(v.factor.size), rhs)


def test_alternating_least_squares():
    g = placed(graph(directed=False))
    rng = np.random.default_rng(1)
    factor = rng.normal(size=(N, 3))
    state = g.state(factor=factor, ridge=weft.scalar(0.5))
    want = run_interpreted(g, refit, state, mode="run")
    out = g.run(refit, state)
    np.testing.assert_allclose(state.factor, want.factor, rtol=1e-10)
    assert out.tolist() == want.frontier
    u, v, w = (np.asarray(x) for x in g.to_edges())
    both = [(u[i], v[i], w[i]) for i in range(len(u))]
    both += [(v[i], u[i], w[i]) for i in range(len(u)) if u[i] != v[i]]
    near = [(a, c) for a, b, c in both if b == 9]
    gram = sum(np.outer(factor[a], factor[a]) for a, _ in near) + 0.5 * np.eye(3)
    right = sum(c * factor[a] for a, c in near)
    np.testing.assert_allclose(state.factor[9], np.linalg.solve(gram, right), rtol=1e-10)


@weft.vertex
def gathers(v):
    v.total, v.plane = v.gather(lambda u, e: (u.x + v.x, weft.outer(u.x, e.near)), weft.sum)
    v.least, v.most = v.gather(
        lambda u, e: (u.x * e.weight, u.m), (weft.min, weft.max), direction="out"
    )
    v.product = v.gather(lambda u, e: u.small, weft.prod, direction="both")
    v.some, v.all = v.gather(
        lambda u, e: (u.flags, e.flags), (weft.or_, weft.and_), direction="both"
    )
    v.bits = v.gather(lambda u, e: weft.send(u.bits, when=weft.any(u.flags)), weft.or_)


def test_gathers_of_vectors_and_matrices():
    fields = {
        "x": whole((N, 3), float, 1), "m": whole((N, 2, 2), "float32", 2),
        "small": whole((N, 2), "int16", 3), "flags": whole((N, 2), bool, 4),
        "bits": whole((N, 3), "int64", 5), "total": np.zeros((N, 3)), "plane": np.zeros((N, 3, 3)),
        "least": np.zeros((N, 3)), "most": np.zeros((N, 2, 2), "float32"),
        "product": np.zeros((N, 2), "int16"), "some": np.zeros((N, 2), bool),
        "all": np.zeros((N, 2), bool),
    }  # fmt: skip
    for directed in (True, False):
        compare(graph(directed=directed), gathers, fields, frontier=range(0, N, 2))


@weft.vertex
def weigh(v):
    own = v.x
    v.first = own[0]
    v.weighed = v.gather(lambda u, e: own[1] * u.x[2], weft.sum)


def test_gathers_use_single_features_of_their_vertex():
    fields = {"x": whole((N, 3), float, 1), "first": np.zeros(N), "weighed": np.zeros(N)}
    compare(graph(directed=True), weigh, fields)


# -- parameters


@weft.vertex
def mix(v, mixing, bias):
    v.total = v.gather(lambda u, e: u.x @ mixing + bias * u.x[0], weft.sum)
    v.x = weft.where(weft.any(v.total > bias), v.x + mixing[1], bias)


@weft.edge(into="total", reduce=weft.sum, accept=lambda v, wanted: wanted[v.kind])
def pass_mixed(u, v, e, mixing):
    return weft.send(mixing @ u.x, when=u.kind < 2)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_parameters_are_read_everywhere(dtype):
    g, rng = graph(), np.random.default_rng(2)
    fields = {"x": whole((N, 3), dtype, 1), "total": np.zeros((N, 3), dtype),
              "kind": rng.integers(0, 3, N)}  # fmt: skip
    for functions in (mix, pass_mixed):
        for seed in (1, 2):  # programs share a kernel whatever the numbers are
            given = {
                "mixing": weft.parameter(whole((3, 3), dtype, seed)),
                "bias": weft.parameter(whole(3, float, seed + 5), dtype),
                "wanted": weft.parameter([True, False, True]),
            }
            want = run_interpreted(g, functions, g.state(**fields, **given), mode="run")
            there = placed(g)
            state = there.state(**fields, **given)
            assert there.run(functions, state).tolist() == want.frontier
            np.testing.assert_array_equal(state.total, want.total)
            np.testing.assert_array_equal(state.x, want.x)


def test_parameters_as_part_of_a_state():
    g = placed(graph())
    state = g.state(x=weft.full(0.0, shape=2), mixing=weft.parameter(np.eye(2)))
    assert repr(state) == "State(x: float64[2], mixing=float64[2, 2])"
    state.mixing = [[1.0, 2.0], [3.0, 4.0]]
    assert state.mixing.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    with pytest.raises(FieldError, match=r"Expected one of 'x', 'mixing'"):
        _ = state.mixin
    with pytest.raises(FieldError, match=r"single number. Use weft.scalar"):
        g.state(x=weft.parameter(1.0))
    with pytest.raises(FieldError, match=r"belong to g\.state"):
        g.edge_state(x=weft.parameter([1.0]))


# -- messages

MESSAGES = {
    "added": (weft.sum, (3,), "float64"), "planes": (weft.sum, (2, 2), "int64"),
    "times": (weft.prod, (2,), "int32"), "least": (weft.min, (3,), "float32"),
    "most": (weft.max, (2, 2), "int16"), "bits": (weft.or_, (2,), "uint32"),
    "kept": (weft.and_, (2,), "int64"), "some": (weft.or_, (3,), "bool"),
    "all": (weft.and_, (3,), "bool"),
}  # fmt: skip


def message_fields(names):
    fields = {}
    for seed, name in enumerate(names):
        _, shape, dtype = MESSAGES[name]
        fields[name] = whole((N, *shape), dtype, seed, 0, 7)
        fields["sent_" + name] = whole((N, *shape), dtype, seed + 20, 0 if dtype[0] == "u" else -3)
    return fields


def sender(names):
    return weft.edge(
        lambda u, v, e: tuple(getattr(u, "sent_" + name) for name in names),
        into=tuple(names), reduce=tuple(MESSAGES[name][0] for name in names),
    )  # fmt: skip


@pytest.mark.parametrize("names", [
    list(MESSAGES), ["least", "most", "bits", "kept", "some", "all"],
], ids=["deferred", "in place"])  # fmt: skip
def test_messages_of_features(names):
    fields = message_fields(names)
    for frontier in (range(0, N, 3), None):
        compare(graph(), sender(names), fields, frontier, directions=["push", "pull"])


def test_messages_of_features_over_supersteps():
    """Both directions take turns, and messages read the fields that they go into."""

    @weft.edge(
        into=("added", "least"), reduce=(weft.sum, weft.min), accept=lambda v: v.least[0] > -9
    )
    def pass_on(u, v, e):
        return weft.send((u.added * 0.5, u.least - e.weight), when=u.added[1] > u.added[2])

    fields = {"added": whole((N, 3), float, 1), "least": whole((N, 2), float, 2)}
    compare(
        graph(), pass_on, fields, range(4), mode="iterate", max_iter=4,
        directions=["push", "pull", "auto"], close=["added"],
    )  # fmt: skip


def test_any_takes_a_whole_vector():
    @weft.edge(into=("x", "m"), reduce=weft.any, accept=lambda v: v.level < 0)
    def spread(u, v, e):
        return weft.superstep() + 1.0 + 0 * u.x, v.m * 2

    @weft.edge(into=("level", "x"), reduce=weft.any, accept=lambda v: v.level < 0)
    def discover(u, v, e):
        return u.level + 1, u.x * 0 + 7

    fields = {"x": whole((N, 3), float, 1), "m": whole((N, 2, 2), "int32", 2),
              "level": np.full(N, -1)}  # fmt: skip
    fields["level"][0] = 0
    g = graph()
    compare(g, spread, fields, [0, 1, 2], directions=["push", "pull"])
    compare(g, discover, fields, [0], mode="iterate", directions=["push", "pull", "auto"])


def test_vectors_of_edges():
    """Edge state and columns of features, read and written in one function, and the reverse arc."""

    @weft.edge(into="x", reduce=weft.sum)
    def exchange(u, v, e):
        before = e.a
        e.a, e.b = e.b + e.near, before
        e.count = e.count + 1
        return before + e.reverse.c * weft.cast(e.flags[0], weft.float64)

    @weft.edge(into="y", reduce=weft.sum)
    def count(u, v, e):
        before = e.count
        e.count = before + v.y
        return before

    g = graph(directed=False)
    arcs = g.topology.num_arcs
    edges = {name: whole((arcs, 3), float, i) for i, name in enumerate("abc")}
    edges["count"] = whole(arcs, int, 9)
    fields = {"x": np.zeros((N, 3)), "y": whole(N, int, 3)}
    for functions in (exchange, count):
        compare(g, functions, fields, range(0, N, 2), edges=edges, directions=["push", "pull"])
