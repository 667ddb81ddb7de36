"""Onyx's verbs: the programs of the papers as they stand there, against oracles in NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dense
import weft
from agreement import on_device, placed
from dense import social
from graphs import graphs
from oracle import run_interpreted
from weft.errors import FieldError, TraceError
from weft.maps import Active, edgemap, foldmap, vertexmap


@pytest.fixture(params=["cpu", "emulated"])
def device(request):
    with on_device(request.param):
        yield request.param


# -- alternating least squares, as Onyx writes it


def gather(u, v, e, f):
    v.sc[f] += e.weight * u.lf[f]
    v.IC[f] += u.lf[f] * u.lf
    return True


def solve(v, ridge):
    v.lf = weft.solve(v.IC + ridge * weft.eye(v.sc.size), v.sc)
    v.sc = 0.0
    v.IC = 0.0


def test_alternating_least_squares(device):
    g = social()
    n, k = g.num_vertices, 3
    start = np.random.default_rng(1).normal(size=(n, k))
    g = placed(g)
    state = g.state(lf=start, sc=weft.full(0.0, shape=k), IC=weft.full(0.0, shape=(k, k)),
                    ridge=weft.scalar(0.5))  # fmt: skip
    als = foldmap(gather, solve)
    als(g, state)
    src, dst, weight = dense.arcs(g)
    want = start.copy()
    for v in range(n):
        near = dst == v
        if near.any():
            lf = start[src[near]]
            want[v] = np.linalg.solve(lf.T @ lf + 0.5 * np.eye(k), weight[near] @ lf)
    np.testing.assert_allclose(state.lf, want, rtol=1e-9)
    assert not state.sc.any() and not state.IC.any()
    assert list(state.fields) == ["lf", "sc", "IC"]


# -- what is active


def relax(u, v, e):
    v.dist.min(u.dist + e.weight)
    return u.dist + e.weight < v.dist


@given(graphs(weights="int", min_vertices=1, index_dtype=None, directed=True), st.integers(0, 11))
@settings(max_examples=15)
def test_shortest_paths(g, source):
    source %= g.num_vertices
    state = g.state(dist=weft.full(np.inf))
    state.dist[source] = 0
    active = Active(g, [source])
    while active:
        edgemap(g, relax, state, active, active)
    src, dst, weight = dense.arcs(g)
    want = np.where(np.arange(g.num_vertices) == source, 0, np.inf)
    for _ in range(g.num_vertices):
        np.minimum.at(want, dst, want[src] + weight)
    np.testing.assert_array_equal(state.dist, want)


def arrive(u, v, e, limit):
    v.x += 1
    v.high.max(u.id)
    return (v.x + u.id < limit) & (e.weight > 0.5)


def test_only_those_that_return_true_are_recorded(device):
    g = social(directed=True)
    src, dst, weight = dense.arcs(g)
    here = placed(g)
    state = here.state(x=weft.full(5), high=weft.full(-1), limit=weft.scalar(30))
    active = Active(here, range(0, 60, 2))
    edgemap(here, arrive, state, active, active)
    sent = src % 2 == 0
    true = sent & (5 + src < 30) & (weight > 0.5)
    assert active.tolist() == sorted(set(dst[true].tolist()))
    assert state.x.tolist() == (5 + np.bincount(dst[sent], minlength=60)).tolist()
    high = np.full(60, -1)
    np.maximum.at(high, dst[sent], src[sent])
    assert state.high.tolist() == high.tolist()
    before = active.tolist()
    edgemap(here, arrive, state, active)  # nothing is recorded
    assert active.tolist() == before


def test_a_state_that_ran_before_is_mapped_over():
    g = weft.generators.path(4).to("reference")
    state = g.state(x=weft.full(0), high=weft.full(-1), limit=weft.scalar(30))
    g.run(weft.vertex(lambda v: setattr(v, "x", 1)), state)
    active = Active(g, [0])
    edgemap(g, lambda u, v, e: v.high.max(u.id) or (v.id > 0), state, active, active)
    assert active.tolist() == [1] and list(state.fields) == ["x", "high"]
    g.run(weft.vertex(lambda v: setattr(v, "x", 2)), state)
    assert state.x.tolist() == [2] * 4


def shrink(v, f):
    v.x[f] = v.x[f] / 2
    v.m[f] += v.x[f] * v.y - v.y
    return v.x[f] > 1


def test_features_by_index(device):
    g = placed(weft.generators.path(30))
    rng = np.random.default_rng(0)
    x, y, m = rng.random((30, 3)) * 4, rng.random((30, 2)), rng.random((30, 3, 2))
    state = g.state(x=x, y=y, m=m)
    active = Active(g)
    vertexmap(g, shrink, state, range(0, 30, 3), active)
    half = x[::3] / 2
    np.testing.assert_array_equal(state.x[::3], half)
    want = m[::3] + half[:, :, None] * y[::3, None, :] - y[::3, None, :]
    np.testing.assert_allclose(state.m[::3], want, rtol=1e-12)
    np.testing.assert_array_equal(state.m[1::3], m[1::3])
    assert active.tolist() == (3 * np.flatnonzero((half > 1).any(axis=1))).tolist()


# -- folding


def collect(u, v, e, f):
    v.total[f] += u.x[f] * e.weight
    return u.x[f] > 0


def keep(v):
    v.x = v.x + v.total
    v.total = 0.0
    return weft.any(v.x > 2)


@given(
    graphs(weights="int", index_dtype=None, min_vertices=1, directed=True), st.integers(0, 10**6)
)
@settings(max_examples=25)
def test_folded_is_one_map_after_the_other(g, seed):
    rng = np.random.default_rng(seed)
    fields = {"x": rng.integers(-2, 3, (g.num_vertices, 2)).astype(float)}
    chosen = np.flatnonzero(rng.random(g.num_vertices) < 0.7)
    found = []
    for folded in (True, False):
        state = g.state(**fields, total=weft.full(0.0, shape=2))
        active = Active(g, chosen)
        if folded:
            foldmap(collect, keep)(g, state, active, active)
        else:
            edgemap(g, collect, state, active, active)
            vertexmap(g, keep, state, active, active)
        found.append((state.x.tolist(), state.total.tolist(), active.tolist()))
    assert found[0] == found[1]


class Interpreted:
    """A graph whose programs run on the interpreter."""

    def __init__(self, g):
        self.g = g

    def __getattr__(self, name):
        return getattr(self.g, name)

    def run(self, program, state, frontier, *, edge_state, config):
        members = None if frontier is None else self.g.frontier(frontier).tolist()
        ran = run_interpreted(self.g, program, state, members, mode="run", edge_state=edge_state)
        for name, array in ran.state.fields.items():
            state.fields[name][...] = array
        for name, array in ran.state.edge_fields.items():
            edge_state.fields[name][...] = array
        return self.g.frontier(ran.frontier)


@pytest.fixture(params=["interpreter", "cpu", "emulated"])
def everywhere(request):
    """Return what puts a graph on a device, or on the interpreter."""
    if request.param == "interpreter":
        return Interpreted
    return lambda g: g.to(request.param)


def even(u, v, e):
    v.calls += 1
    return u.id % 2 == 0


def small(u, v, e):
    v.then += 1
    e.seen = True
    return u.id < 2


def last(u, v, e):
    v.last += 1
    return u.id + v.id == 4


def even_by_feature(u, v, e, f):
    v.x[f] += u.x[f]
    return (u.id % 2 == 0) & (u.x[f] >= 0)


def count_by_feature(u, v, e, f):
    v.y[f] += 1.0


def mark_done(v):
    v.done += 1
    return v.id % 2 == 0


def mark_even(v):
    v.even += 1


def fold_state(g):
    counts = {name: weft.full(0) for name in ("calls", "then", "last", "done", "even")}
    state = g.state(**counts)
    return state, g.edge_state(seen=weft.full(False))


def test_a_function_that_returns_false_stops_those_after_it_on_the_edge(everywhere):
    g = everywhere(weft.Graph.from_edges([0, 1, 2, 3], [4, 4, 4, 4]))
    state, seen = fold_state(g)
    active = Active(g)
    foldmap(even, small, last)(g, state, None, active, edge_state=seen)
    assert (state.calls[4], state.then[4], state.last[4]) == (4, 2, 1)
    assert seen.seen.tolist() == [True, False, True, False]  # no effects where it was not called
    assert active.tolist() == [4]
    foldmap(even, small)(g, state, [2, 3], active, edge_state=seen)  # 2 is not small
    assert (state.calls[4], state.then[4], active.tolist()) == (6, 3, [])


def test_it_stops_them_by_feature_too(everywhere):
    g = everywhere(weft.Graph.from_edges([0, 1, 2, 3], [4, 4, 4, 4]))
    state = g.state(x=np.arange(-4.0, 6).reshape(5, 2), y=weft.full(0.0, shape=2))
    foldmap(even_by_feature, count_by_feature)(g, state)
    assert state.x[4].tolist() == [4.0 - 4 - 2 + 0 + 2, 5.0 - 3 - 1 + 1 + 3]
    assert state.y[4].tolist() == [1.0, 1.0]  # from 2 alone: of 0 no feature is positive


def test_functions_of_vertices_run_where_the_last_function_of_edges_held(everywhere):
    g = everywhere(weft.Graph.from_edges([0, 1, 0, 3, 2, 4], [4, 4, 3, 3, 5, 5]))
    state, seen = fold_state(g)
    active = Active(g)
    foldmap(even, last, mark_done, mark_even)(g, state, None, active, edge_state=seen)
    assert state.calls.tolist() == [0, 0, 0, 2, 2, 2]
    assert state.last.tolist() == [0, 0, 0, 1, 1, 2]  # from even sources
    assert state.done.tolist() == [0, 0, 0, 0, 1, 0]  # last held for 0 -> 4 alone
    assert state.even.tolist() == [0, 0, 0, 0, 1, 0]
    assert active.tolist() == [4]


def test_every_run_of_functions_of_edges_marks_for_itself(everywhere):
    g = everywhere(weft.Graph.from_edges([0, 0, 3, 4], [4, 3, 4, 3], directed=True))
    state, seen = fold_state(g)
    active = Active(g)
    # Both targets pass the first run; in the second only 4 sends, and 4 -> 3 is not last.
    foldmap(even, mark_done, even, last)(g, state, [0], active, edge_state=seen)
    assert state.done.tolist() == [0, 0, 0, 1, 1]
    assert state.calls.tolist() == [0, 0, 0, 2, 1]
    assert state.last.tolist() == [0, 0, 0, 1, 0]
    assert active.tolist() == []


def test_constants_that_are_returned_go_on_or_stop(everywhere):
    def goes_on(u, v, e):
        v.calls += 1
        return True

    def stops(u, v, e):
        v.then += 1
        return np.bool_(False)

    g = everywhere(weft.Graph.from_edges([0, 1], [2, 2]))
    state, _ = fold_state(g)
    active = Active(g)
    foldmap(goes_on, stops, last)(g, state, None, active)
    assert (state.calls[2], state.then[2], state.last[2]) == (2, 2, 0)
    assert active.tolist() == []
    foldmap(goes_on, mark_done)(g, state)
    foldmap(stops, mark_done)(g, state)
    assert state.done.tolist() == [0, 0, 1]


# -- errors


def test_functions_reach_fields_of_computed_vertices(everywhere):
    def jump(v):
        v.parent = v.parent.at(v.parent).load()

    def hang(u, v, e):
        v.seen += 1
        v.parent.at(v.id).min(u.parent.at(u.id).load())

    g = everywhere(weft.generators.path(5))
    state = g.state(parent=[0, 0, 1, 2, 3], seen=weft.full(0))
    jumped, count = Active(g), 0
    while count < 6:
        vertexmap(g, jump, state, None, jumped)
        count += 1
        if not len(jumped.tolist()):
            break
    assert count < 6
    assert state.parent.tolist() == [0, 0, 0, 0, 0]
    state = g.state(parent=[4, 3, 2, 1, 0], seen=weft.full(0))
    for _ in range(4):
        edgemap(g, hang, state)
    assert state.parent.tolist() == [0, 0, 0, 0, 0]
    assert state.seen.tolist() == [4, 8, 8, 8, 4]


def test_what_is_returned_must_be_a_condition():
    g = social()
    state = g.state(x=weft.full(0.0, shape=2), y=weft.full(0.0))

    def returns_float(u, v, e):
        v.y += 1
        return u.y

    def returns_floats(v, f):
        v.x[f] = v.x[f] + 1
        return v.x[f]

    message = r"what returns_floats? returns must be a condition, but is float64.*x > 0"
    for run in (
        lambda: edgemap(g, returns_float, state),
        lambda: edgemap(g, returns_float, state, None, Active(g)),
        lambda: foldmap(returns_float, returns_float)(g, state),
        lambda: vertexmap(g, returns_floats, state),
    ):
        with pytest.raises(TraceError, match=message):
            run()
    assert list(state.fields) == ["x", "y"]


def test_errors():
    g = social()
    state = g.state(x=weft.full(0.0, shape=2), y=weft.full(0.0))

    def assigns(u, v, e):
        v.y = u.y

    def differs(u, v, e):
        v.y += 1
        v.y *= 2

    def scalar_feature(u, v, e, f):
        v.x[f] += u.y[f]

    def misnamed(u, v, e):
        v.z += 1

    with pytest.raises(TraceError, match=r"v.y is assigned at an edge.*Update it: v.y \+= x"):
        edgemap(g, assigns, state)
    with pytest.raises(TraceError, match=r"updated by weft.sum and by weft.prod"):
        edgemap(g, differs, state)
    with pytest.raises(TraceError, match="a scalar has no features"):
        edgemap(g, scalar_feature, state)
    with pytest.raises(FieldError, match="no field 'z'"):
        edgemap(g, misnamed, state)
    with pytest.raises(TraceError, match="active_out=True cannot be recorded into"):
        vertexmap(g, keep, state, None, True)
    with pytest.raises(TraceError, match="at least one function"):
        foldmap()
    assert list(state.fields) == ["x", "y"]
