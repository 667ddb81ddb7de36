"""Features shared by the lanes of a group: every width against the interpreter, and the blind way.

Each program holds many ops, since each one that is compiled costs seconds.
"""

import copy
import re

import numpy as np
import pytest

import weft
from contract.test_features import whole
from oracle import run_interpreted
from weft.backends.cuda.host.bind import aligned
from weft.errors import ConfigError

N = 24
DEVICE = "emulated"


def graph():
    """A hub, a path, parallel edges, self-loops and isolated vertices."""
    rng = np.random.default_rng(5)
    src = np.concatenate([np.zeros(40, int), np.arange(12), rng.integers(0, N - 3, 30), [3, 3, 7]])
    dst = np.concatenate([np.arange(40) % (N - 3), np.arange(1, 13), np.zeros(30, int), [4, 4, 7]])
    g = weft.Graph.from_edges(src, dst, num_vertices=N)
    g.edge["w"] = rng.integers(1, 4, g.num_edges).astype(np.float64)
    return g


G = graph()


def agreed(functions, fields, *, mode="run", frontier=None, rtol=0.0, g=G, edges=None, **given):
    """Compare a run of groups, of however few features, with the interpreter."""

    def make():
        state = g.state(**{n: copy.copy(a) for n, a in fields.items()})
        return state, g.edge_state(**{n: np.array(a) for n, a in (edges or {}).items()})

    options = {"max_iter": given.pop("max_iter")} if "max_iter" in given else {}
    given = {"lanes": 32, **given}  # few features too
    state, held = make()
    want = run_interpreted(g, functions, state, frontier, mode=mode, edge_state=held, **options)
    state, held = make()
    given.setdefault("lanes", 32)
    placed = g.to(DEVICE)
    run = placed.run if mode == "run" else placed.iterate
    out = run(functions, state, frontier, edge_state=held, config=weft.Config(**given), **options)
    expected = {**want.state.fields, **want.state.edge_fields}
    for name, array in {**state.fields, **held.fields}.items():
        np.testing.assert_allclose(array, expected[name], rtol, rtol, err_msg=name)
    assert dict(state.scalars) == dict(want.state.scalars)
    last = out.tolist() if mode == "run" else out.frontier.tolist()
    assert last == want.frontier


# -- ops


@weft.vertex
def vectors(v):
    v.dot = weft.dot(v.x, v.y)
    v.total, v.least, v.most = weft.sum(v.x), weft.min(v.x), weft.max(v.y)
    v.first, v.last = weft.argmin(v.x), weft.argmax(v.x)
    v.some = weft.any(v.x > v.y)
    v.picked = v.x[v.where]
    v.chosen = weft.where(v.x < v.y, v.x, v.dot) + v.x[0]
    v.shares = weft.normalize(abs(v.x) + 1)
    v.unit, v.soft = weft.normalize(v.x, "l2"), weft.normalize(v.x, "softmax")
    v.up, v.calm = weft.normalize(v.y, "max"), weft.logsumexp(v.x)
    v.changed = weft.max(abs(v.x)) > 2


@pytest.mark.parametrize(
    ("k", "dtype"),
    [(1, "float64"), (2, "float32"), (3, "float64"), (7, "float64"), (8, "float32"),
     (20, "float32"), (33, "float64"), (64, "float32"), (128, "float64")],
)  # fmt: skip
def test_ops_on_vectors(k, dtype):
    fields = {name: whole((N, k), dtype, i) for i, name in enumerate(("x", "y"))}
    fields["x"][2] = np.nan
    fields["x"][3, k // 2] = np.inf
    fields["where"] = np.arange(N) % k
    fields |= {name: np.zeros(N, int) for name in ("first", "last")} | {"some": np.zeros(N, bool)}
    fields |= {
        name: np.zeros(N, dtype) for name in ("dot", "total", "least", "most", "picked", "calm")
    }
    fields |= {name: np.zeros((N, k), dtype) for name in ("chosen", "shares", "unit", "soft", "up")}
    with np.errstate(all="ignore"):
        lanes = None if k in (8, 20, 128) else 32  # a lane has packs of features, or single ones
        agreed(vectors, fields, rtol=1e-5 if dtype == "float32" else 1e-12, lanes=lanes)


@weft.vertex
def matrices(v):
    v.outer = weft.outer(v.x, v.y)
    v.right, v.left = v.m @ v.x, v.y @ v.m
    v.turned = weft.transpose(v.m) + weft.outer(v.x, v.y)
    v.square = v.m @ v.m.T
    v.row, v.entry = v.m[v.where], v.m[v.where, 1]
    v.stacked = weft.stack([v.x, 2 * v.x])
    v.broad = v.m * v.x + v.y[0]
    v.most = weft.max(v.m)
    v.above = weft.matvec(v.m, v.x, reduce=weft.max)
    v.beside = weft.matvec(v.m.T, v.y, reduce=weft.max)


@pytest.mark.parametrize(("rows", "k", "lanes"), [(2, 3, 32), (5, 8, 2), (3, 40, 8), (33, 4, 32)])
def test_ops_on_matrices(rows, k, lanes):
    fields = {
        "x": whole((N, k), float, 1), "y": whole((N, rows), float, 2),
        "m": whole((N, rows, k), float, 3), "where": np.arange(N) % rows,
    }  # fmt: skip
    shapes = {
        "outer": (k, rows), "right": (rows,), "left": (k,), "turned": (k, rows),
        "square": (rows, rows), "row": (k,), "entry": (), "stacked": (2, k), "broad": (rows, k),
        "most": (), "above": (rows,), "beside": (k,),
    }  # fmt: skip
    fields |= {name: np.zeros((N, *shape)) for name, shape in shapes.items()}
    agreed(matrices, fields, lanes=lanes)


@weft.vertex
def systems(v):
    v.solved = weft.solve(v.m, v.x)
    v.spd = weft.solve(v.m @ v.m.T + weft.eye(v.x.size), v.x, assume="spd")
    v.inverse = weft.inverse(v.m)


@pytest.mark.parametrize(("k", "lanes"), [(1, 32), (3, 32), (8, 2), (17, 32), (36, 32)])
def test_systems_of_equations(k, lanes):
    rng = np.random.default_rng(k)
    m = rng.normal(size=(N, k, k)) + 3 * np.eye(k)
    m[0] = np.eye(k)[::-1]  # needs pivots
    fields = {"m": m, "x": rng.normal(size=(N, k)), "inverse": np.zeros((N, k, k))}
    fields |= {name: np.zeros((N, k)) for name in ("solved", "spd")}
    agreed(systems, fields, rtol=1e-9, lanes=lanes)


def test_a_singular_matrix_is_told():
    fields = {"m": np.ones((N, 4, 4)), "x": np.ones((N, 4)), "inverse": np.zeros((N, 4, 4))}
    fields |= {name: np.zeros((N, 4)) for name in ("solved", "spd")}
    state = G.state(**fields)
    with pytest.raises(weft.errors.FaultError, match="singular"):
        G.to(DEVICE).run(systems, state)


# -- sweeps


@weft.edge(into=("sums", "count", "least"), reduce=(weft.sum, weft.sum, weft.min))
def spread(u, v, e):
    weft.reduce("messages", 1.0, weft.sum)
    return e.w * u.x + v.x, weft.cast(u.x[0], weft.int64), weft.minimum(u.x, v.x)


@weft.vertex
def average(v):
    total, most = v.gather(lambda u, e: (e.w * u.x, u.x), (weft.sum, weft.max))
    v.old_x = v.old.x
    v.x = v.x + total - weft.maximum(most, -9.0)


@weft.vertex
def refit(v):
    gram, right = v.gather(lambda u, e: (weft.outer(u.x, u.x), e.w * u.x), weft.sum)
    v.gram, v.right = gram, right
    v.x = v.x + weft.dot(right, v.x)


@weft.edge
def talk(u, v, e):
    e.msg = e.msg + u.x - v.x
    e.seen = weft.sum(e.msg)


SCHEDULES = ("vertex", "warp", "twc", "merge", "edge", "block", "row")


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("k", [7])
def test_schedules_of_groups(schedule, k):
    format_ = "coo" if schedule == "edge" else "csr"
    given = {"schedule": schedule, "format": format_}
    fields = {"x": whole((N, k), float, 1), "gram": np.zeros((N, k, k)), "right": np.zeros((N, k))}
    agreed(refit, fields, **given)


@pytest.mark.parametrize(("direction", "k"), [("push", 3), ("pull", 33), ("push", 64)])
def test_messages(direction, k):
    fields = {
        "x": whole((N, k), float, 1), "sums": whole((N, k), float, 2),
        "count": whole(N, int, 3), "least": whole((N, k), float, 4),
        "messages": weft.scalar(0.0),
    }  # fmt: skip
    agreed(spread, fields, frontier=[0, 1, 3, 9], direction=direction)


@pytest.mark.parametrize(("k", "lanes"), [(4, 32), (64, 8), (64, 1)])
def test_iterations(k, lanes):
    fields = {"x": whole((N, k), float, 1), "old_x": np.zeros((N, k))}
    agreed(average, fields, mode="iterate", max_iter=3, lanes=lanes)


def test_edge_state_of_groups():
    edges = {"msg": whole((G.num_edges, 5), float, 3), "seen": np.zeros(G.num_edges)}
    agreed(talk, {"x": whole((N, 5), float, 1)}, edges=edges)


def test_lanes_show_in_the_source():
    state = G.state(x=np.zeros((N, 9)), gram=np.zeros((N, 9, 9)), right=np.zeros((N, 9)))
    found = {}
    for lanes in (None, 4, 1):
        told = weft.explain(refit, G.to(DEVICE), state, config=weft.Config(lanes=lanes))
        found[lanes] = re.findall(r"static constexpr u32 feature_lanes = (\d+);", told.source)
    assert found == {None: ["8"], 4: ["4"], 1: []}


@weft.vertex
def keep(v):
    v.gram = v.gather(lambda u, e: weft.outer(u.x, u.x), weft.sum)


@weft.vertex
def pass_on(v):
    v.y = v.gather(lambda u, e: u.x @ weft.outer(v.y, u.x), weft.sum)


def test_a_lane_has_128_bytes_of_a_matrix_that_is_kept_and_256_of_one_that_is_not():
    for k, dtype, kept, passing in ((8, "float32", "2", None), (16, "float64", "16", "8")):
        x = np.zeros((N, k), dtype)
        state = G.state(x=x, y=x, gram=np.zeros((N, k, k), dtype))
        for function, lanes in ((keep, kept), (pass_on, passing)):
            told = weft.explain(function, G.to(DEVICE), state)
            found = re.findall(r"static constexpr u32 feature_lanes = (\d+);", told.source)
            assert found == ([lanes] if lanes else [])


@weft.vertex
def receive(v):
    v.y = v.gather(lambda u, e: u.x, weft.sum)


def test_a_lane_takes_32_bytes_of_a_vector():
    found = {}
    for k, dtype in ((4, "float32"), (8, "float32"), (8, "float64"), (33, "float32")):
        state = G.state(x=np.zeros((N, k), dtype), y=np.zeros((N, k), dtype))
        told = weft.explain(receive, G.to(DEVICE), state)
        found[k, dtype] = re.findall(r"static constexpr u32 feature_lanes = (\d+);", told.source)
    assert list(found.values()) == [[], [], ["2"], ["8"]]


def test_columns_lie_where_one_access_takes_a_vector():
    even = np.arange(8, dtype=np.float32).reshape(2, 4)
    crooked = np.arange(9, dtype=np.float32)[1:].reshape(2, 4)
    assert aligned(even) is even
    assert aligned(crooked).ctypes.data % 16 == 0
    np.testing.assert_array_equal(aligned(crooked), crooked)


# -- a block takes an item of more features than a warp has lanes


@weft.vertex
def collected(v):
    v.dot = weft.dot(v.x, v.y)
    v.total, v.least, v.most = weft.sum(v.x), weft.min(v.x), weft.max(v.y)
    v.some = weft.any(v.x > v.y)
    v.chosen = weft.where(v.x < v.y, v.x, v.dot) + v.x[2]
    v.unit, v.soft = weft.normalize(v.x, "l2"), weft.normalize(v.x, "softmax")
    v.changed = weft.max(abs(v.x)) > 2


@pytest.mark.parametrize(
    ("k", "dtype", "block"), [(33, "float64", None), (100, "float32", 128), (256, "float64", 64)]
)
def test_what_a_block_collects(k, dtype, block):
    rng = np.random.default_rng(k)
    x, y = (rng.integers(-3, 4, (N, k)).astype(dtype) for _ in range(2))
    scalars = {n: np.zeros(N, dtype) for n in ("dot", "total", "least", "most")}
    wide = {n: np.zeros((N, k), dtype) for n in ("chosen", "unit", "soft")}
    fields = {"x": x, "y": y, "some": np.zeros(N, bool), **scalars, **wide}
    rtol = 1e-5 if dtype == "float32" else 1e-12
    agreed(collected, fields, rtol=rtol, lanes="block", block_size=block)


@weft.edge(into="x", reduce=weft.min)
def lower(u, v, e):
    return u.x + e.w


@weft.edge(into="sums", reduce=weft.sum, accept=lambda v: v.id % 5 > 0)
def add(u, v, e):
    return weft.send(e.w * u.x, when=u.id != v.id)


@weft.vertex
def blend(v):
    v.x = weft.normalize(v.x + v.gather(lambda u, e: e.w * u.x, weft.sum), "l2")
    v.changed = weft.sum(v.x) > 0


@pytest.mark.parametrize(
    ("schedule", "k"),
    [("vertex", 40), ("edge", 70), ("warp", 64), ("block", 40), ("twc", 100), ("twce", 64),
     ("strict", 70), ("merge", 128), ("row", 100)],
)  # fmt: skip
def test_schedules_of_blocks(schedule, k):
    x = np.random.default_rng(k).integers(1, 9, (N, k)).astype(float)
    given = {"lanes": "block", "schedule": schedule, "block_size": 64}
    agreed(blend, {"x": x}, frontier=list(range(0, N, 2)), rtol=1e-12, **given)
    fields = {"x": x, "sums": np.zeros((N, k))}
    for direction in ("push", "pull"):
        agreed(add, fields, frontier=[0, 1, 3, 7], rtol=1e-12, direction=direction, **given)
    agreed(lower, {"x": x}, mode="iterate", frontier=[0, 5], direction="push", **given)


def test_who_takes_an_item_by_its_features():
    def lanes_of(function, k, **config):
        state = G.state(x=np.ones((N, k)))
        told = weft.explain(function, G.to(DEVICE), state, config=weft.Config(**config))
        return set(re.findall(r"static constexpr u32 feature_lanes = (\d+);", told.source))

    @weft.vertex
    def turned(v):
        v.x = v.x + weft.argmin(v.x)

    @weft.vertex
    def grown(v):
        v.x = v.gather(lambda u, e: u.x, weft.sum)

    assert lanes_of(grown, 64, lanes="block") == {"64"}
    assert lanes_of(grown, 64, lanes="block", block_size=256) == {"256"}
    assert lanes_of(grown, 32, lanes="block") == {"32"}  # a warp has enough
    assert lanes_of(grown, 64) == {"16"}
    assert "64" not in lanes_of(turned, 64, lanes="block")  # features that lanes exchange
    with pytest.raises(ConfigError, match=r"fields have 64 features.*Expected 64, 128, 256"):
        lanes_of(grown, 64, lanes="block", block_size=96)
