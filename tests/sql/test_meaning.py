"""What single operations, monoids and lookups give in DuckDB, against the interpreter."""

import numpy as np
import pytest

import weft
from agreement import compare, interpreted, on_device, run
from weft.errors import ConfigError, FaultError

FLOATS = np.array([0.0, -0.0, 1.5, -2.5, np.inf, -np.inf, np.nan, 1e300, 0.3, 2.0**31, -7.0])
INTS = np.array([0, 1, -1, 2, 7, -8, 100, -128, 127, 31, 33])


def agreed(con, g, functions, fields, frontier=None, **options):
    want = interpreted(g, functions, fields, frontier, **options)
    with on_device(con):
        result = run(g, functions, fields, frontier, **options)
    compare(result, want)
    return result


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint32", "uint64"])
def test_integers_wrap_and_divide_as_numpy(con, dtype):
    x = np.repeat(INTS, len(INTS)).astype(dtype)
    y = np.tile(INTS, len(INTS)).astype(dtype)
    info = np.iinfo(dtype)
    x[:2], y[:2] = info.min, info.max
    fields = {"x": x, "y": y, **{f"z{k}": np.zeros(len(x), dtype) for k in range(12)}}
    g = weft.Graph.from_edges([], [], num_vertices=len(x))

    @weft.vertex
    def step(v):
        v.z0, v.z1, v.z2 = v.x + v.y, v.x - v.y, v.x * v.y
        v.z3, v.z4 = v.x // v.y, v.x % v.y
        v.z5, v.z6 = v.x << v.y, v.x >> v.y
        v.z7, v.z8 = v.x ^ v.y, ~v.x
        v.z9, v.z10 = -v.x, abs(v.x)
        v.z11 = v.x ** weft.minimum(v.y & 63, weft.cast(40, v.y.dtype))

    agreed(con, g, step, fields)


def test_wide_integers_are_cut_to_their_low_bits(con):
    edge = [2**k + d for k in (7, 8, 15, 16, 31, 32, 63) for d in (-1, 0, 1)]
    x = np.array([0, *edge, *(-e for e in edge)], object) % 2**64
    x = x.astype(np.uint64).view(np.int64)
    kinds = ["int8", "int16", "int32", "uint8", "uint16", "uint32", "uint64"]
    fields = {"x": x, **{f"z{k}": np.zeros(len(x), kind) for k, kind in enumerate(kinds)}}
    g = weft.Graph.from_edges([], [], num_vertices=len(x))

    @weft.vertex
    def cut(v):
        v.z0, v.z1, v.z2 = (weft.cast(v.x, k) for k in (weft.int8, weft.int16, weft.int32))
        v.z3, v.z4 = weft.cast(v.x, weft.uint8), weft.cast(v.x, weft.uint16)
        v.z5, v.z6 = weft.cast(v.x, weft.uint32), weft.cast(v.x, weft.uint64)

    agreed(con, g, cut, fields)


def test_floats_compare_and_saturate_as_numpy(con):
    x, y = np.repeat(FLOATS, len(FLOATS)), np.tile(FLOATS, len(FLOATS))
    n = len(x)
    fields = {"x": x, "y": y}
    fields |= {f"b{k}": np.zeros(n, bool) for k in range(6)}
    fields |= {f"z{k}": np.zeros(n) for k in range(8)}
    fields |= {"i": np.zeros(n, np.int32), "j": np.zeros(n, np.int8), "f": np.zeros(n, np.float32)}
    g = weft.Graph.from_edges([], [], num_vertices=n)

    @weft.vertex
    def step(v):
        v.b0, v.b1, v.b2 = v.x < v.y, v.x <= v.y, v.x == v.y
        v.b3, v.b4, v.b5 = v.x != v.y, v.x > v.y, v.x >= v.y
        v.z0, v.z1, v.z2, v.z3 = v.x + v.y, v.x * v.y, v.x / v.y, -v.x
        v.z4, v.z5 = weft.floor(v.x), weft.round(v.x)
        v.z6, v.z7 = weft.where(weft.isfinite(v.x), weft.sign(v.x), 0), weft.sqrt(v.x)
        v.i, v.j = weft.cast(v.x, weft.int32), weft.cast(v.x, weft.int8)
        v.f = weft.cast(v.x, weft.float32)

    agreed(con, g, step, fields)


def test_functions_of_floats_are_close(con):
    x = np.array([0.5, 1.0, 1e-12, 0.9, 3.0])
    names = ["exp", "log", "log1p", "expm1", "sin", "tanh", "cbrt", "exp2", "log2", "atan"]
    fields = {"x": x, **{name: np.zeros(len(x)) for name in names}}
    g = weft.Graph.from_edges([], [], num_vertices=len(x)).to(con)
    state = g.state(**fields)

    @weft.vertex
    def step(v):
        for name in names:
            setattr(v, name, getattr(weft, name)(v.x))

    g.run(step, state)
    for name in names:
        want = {"atan": "arctan"}.get(name, name)
        np.testing.assert_allclose(getattr(state, name), getattr(np, want)(x), rtol=1e-14)


G = weft.Graph.from_edges(
    [0, 0, 1, 2, 2, 2, 4], [1, 1, 2, 2, 0, 1, 1], [3.0, np.nan, -1.0, 0.0, np.inf, 2.0, np.nan]
)


@pytest.mark.parametrize("monoid", [weft.min, weft.max, weft.sum], ids=["min", "max", "sum"])
def test_nan_is_ignored_by_min_and_max(con, monoid):
    step = weft.edge(lambda u, v, e: e.weight, into="x", reduce=monoid)
    agreed(con, G, step, {"x": np.array([0.0, np.nan, 1.0, 2.0, -1.0])})


@pytest.mark.parametrize("kind", [weft.argmin, weft.argmax], ids=["argmin", "argmax"])
def test_best_arc(con, kind):
    step = weft.edge(lambda u, v, e: (e.weight, e.id), into=("x", "k"), reduce=kind)
    start = np.inf if kind is weft.argmin else -np.inf
    agreed(con, G, step, {"x": np.full(5, start), "k": np.full(5, -1)})


def test_two_modes_and_a_weighted_one(con):
    @weft.vertex
    def step(v):
        v.a = v.gather(lambda u, e: u.a, weft.mode, direction="both")
        v.b = v.gather(lambda u, e: (u.a, e.weight), weft.mode)

    fields = {"a": np.array([3, 3, 1, 1, 2]), "b": np.zeros(5, np.int64)}
    agreed(con, G, step, fields)


def test_vectors_and_matrices(con):
    @weft.vertex
    def step(v):
        gram, mean = v.gather(lambda u, e: (weft.outer(u.x, u.x), u.x), weft.sum)
        v.x = gram @ mean + weft.normalize(v.x, "l2")

    fields = {"x": np.arange(10.0).reshape(5, 2)}
    want = interpreted(G, step, fields)
    with on_device(con):
        found = run(G, step, fields)
    np.testing.assert_allclose(found.x, want.state.fields["x"], rtol=1e-12)


def test_common_neighbours_and_lookups(con):
    g = weft.generators.complete(5)

    @weft.edge(into="triangles", reduce=weft.sum)
    def count(u, v, e):
        return weft.common(u.id, v.id, lambda w: weft.where(w.id > v.id, 1, 0), weft.sum)

    @weft.vertex
    def look(v):
        first = weft.neighbor(v.id, 0)
        v.found = v.triangles.at(first).load() + weft.degree(first) + v.out_degree

    fields = {"triangles": np.zeros(5, np.int64), "found": np.zeros(5, np.int64)}
    agreed(con, g, [count, look], fields)


def test_random_bits_are_the_same_everywhere(con):
    @weft.vertex
    def draw(v):
        v.bits, v.unit = weft.random_bits(v.id, 5), weft.random(v.id, 7)

    agreed(con, G, draw, {"bits": np.zeros(5, np.uint64), "unit": np.zeros(5)})


def test_scalars_parameters_and_until(con):
    @weft.vertex(on="all")
    def halve(v, total, table):
        weft.reduce("total", v.x, weft.sum)
        v.x = v.x / 2 + table[0] * 0

    g = G.to(con)
    state = g.state(x=np.ones(5), total=weft.scalar(0.0), table=weft.parameter([1.0, 2.0]))
    done = g.iterate(halve, state, until=lambda total: total < 1)
    assert (done.steps, done.converged, done.scalars["total"]) == (4, True, 0.625)


def test_an_index_out_of_range_is_a_fault(con):
    @weft.vertex
    def reach(v):
        v.x = v.x.at(v.id + 3).load()

    g = G.to(con)
    state = g.state(x=np.arange(5))
    with pytest.raises(FaultError, match=r"index out of range: field 'x'.*in reach at vertex 4"):
        g.run(reach, state)
    assert state.x.tolist() == [0, 1, 2, 3, 4]


@weft.vertex
def swap(v):
    v.x = v.x.at(v.id).cas(0, 1)


@weft.vertex
def solve(v):
    v.x = weft.dot(weft.solve(weft.eye(2), weft.stack([v.x, v.x])), weft.stack([v.x, v.x]))


@weft.edge
def take(u, v, e):
    return v.x.at(u.id).add(1) > 0


@pytest.mark.parametrize(
    ("function", "text"),
    [(swap, "compare-and-swap"), (solve, "weft.solve"), (take, "the old value of a live update")],
    ids=["swap", "solve", "take"],
)
def test_refusals_come_before_the_first_query(con, engine, function, text):
    g = G.to(con)
    state = g.state(x=np.zeros(5) if function is solve else np.zeros(5, np.int64))
    g.run(weft.vertex(lambda v: setattr(v, "x", v.x)), state)
    engine.log = []
    line = function.function.__code__.co_firstlineno
    with pytest.raises(ConfigError, match=rf"test_meaning.py:{line}\) uses {text}.*g.to\('cpu'\)"):
        g.run(function, state)
    assert engine.log == []


def test_explain_shows_the_queries(con):
    step = weft.edge(lambda u, v, e: u.x + 1, into="x", reduce=weft.min)
    g = G.to(con)
    report = weft.explain(step, g, g.state(x=weft.full(0)))
    assert "GROUP BY" in report.source and "MIN(" in report.source


def test_a_profile_counts_supersteps(con):
    g = G.to(con)
    with weft.profile() as seen:
        weft.bfs(g, 0)
    assert len(seen.records) >= 2


def test_gathers_by_key(con):
    @weft.vertex(wake="neighbors")
    def move(v):
        votes = v.gather_by(lambda u, e: u.label, lambda u, e: e.w, weft.sum)
        v.label = votes.argmax()[0]

    g = weft.generators.rmat(5, 4, seed=8, directed=True)
    g.edge["w"] = np.ones(g.num_edges)
    fields = {"label": np.arange(g.num_vertices)}
    agreed(con, g, move, fields, mode="iterate", max_iter=4)
