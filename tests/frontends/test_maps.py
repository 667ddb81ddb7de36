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


# -- errors


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
