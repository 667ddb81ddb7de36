"""Queues by degree class: `twc` takes vertices as they were discovered, without sorting them."""

import numpy as np
import pytest

import weft
from agreement import emulated, interpreted
from oracle import assert_same, make_request
from weft.backends.cuda.host import options as choices
from weft.backends.cuda.host.run import compile_program

pytestmark = pytest.mark.usefixtures("compile_cuda")  # skips where there is no compiler

# A hub, rows of every class and of degree 0, self-loops and parallel edges.
_rng = np.random.default_rng(8)
_src = np.concatenate([np.zeros(70, int), _rng.zipf(1.5, 300) % 60, [5, 5, 5], np.arange(60, 79)])
_dst = np.concatenate([np.arange(70), _rng.integers(0, 64, 300), [5, 6, 6], np.arange(61, 80)])
G = weft.Graph.from_edges(_src, _dst, _rng.integers(1, 9, _src.size), num_vertices=83)
N = G.num_vertices
# Few entries of a bin, so that some go straight to the queue; rows of a small graph in all classes.
CLASSES = {"schedule": "twc", "warp_degree": 2, "block_degree": 6, "grid_degree": 30, "bin_size": 1}


def start(value, first, dtype=int):
    """Return a field that is `first` at vertex 1 and `value` elsewhere."""
    return np.where(np.arange(N) == 1, first, value).astype(dtype)


@weft.edge(into="level", reduce=weft.any, accept=lambda v: v.level < 0)
def discover(u, v, e):
    return u.level + 1


@weft.edge(into="dist", reduce=weft.min, priority=lambda v: v.dist)
def relax(u, v, e):
    return u.dist + e.weight


@weft.edge(into="x", reduce=weft.sum)
def add(u, v, e):
    return u.x % 5


PROGRAMS = {
    "turning": (discover, {"level": start(-1, 0)}, [1], {}),
    "pushing": (discover, {"level": start(-1, 0)}, [1], {"direction": "push"}),
    "ordered": (relax, {"dist": start(10**6, 0)}, [1], {}),
    "unordered": (relax, {"dist": start(10**6, 0)}, [1], {"ordering": False}),
    "buffered": (add, {"x": np.arange(N) % 7}, [1, 0, 5, 70], {"max_iter": 3}),
    "buffered, from everywhere": (add, {"x": np.arange(N) % 7}, None, {"max_iter": 2}),
    "single atomics": (add, {"x": np.arange(N) % 7}, [3], {"max_iter": 2, "compaction": "atomic"}),
    "unfused": (discover, {"level": start(-1, 0)}, [1], {"fuse": "none", "max_iter": 2}),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_whose_queues_lie_by_class(name):
    functions, fields, frontier, options = PROGRAMS[name]
    chosen = {k: v for k, v in options.items() if k != "max_iter"}
    rest = {"mode": "iterate", **{k: v for k, v in options.items() if k == "max_iter"}}
    got = emulated(G, functions, fields, frontier, choices={**CLASSES, **chosen}, **rest)
    want = interpreted(G, functions, fields, frontier, **rest)
    assert_same(want, got, steps=functions is not relax)


def phases(functions, fields, frontier, trail=False, **options):
    """Return the phases that a program would have, without compiling it."""
    g = G.to("emulated")
    chosen = {"schedule": "twc", **options}
    request, _ = make_request(
        g, functions, g.state(**fields), frontier, mode="iterate", trail=trail, options=chosen
    )
    return {name for name, _ in compile_program(request)[0].rendered.phases}


def test_the_sorting_phase_is_left_out_only_where_the_queue_is_nobody_elses():
    level = {"level": start(-1, 0)}
    assert phases(discover, level, [1]) >= {"push_0", "classify"}
    assert phases(relax, {"dist": start(10**6, 0)}, [1]) >= {"relax", "classify"}
    sorted_ = {"push_0_0", "push_0_1"}
    assert phases(discover, level, [1], trail=True) >= sorted_  # a trail
    assert phases(discover, level, [1], compaction="ballot") >= sorted_
    assert phases(discover, level, [1], frontier_in="bitmap") >= sorted_
    assert phases(discover, level, [1], combine="by_target") >= sorted_
    assert phases(discover, level, [1], passes_off=("degree_classes",)) >= sorted_
    twice = {"dist": start(10**6, 0)}
    assert phases(relax, twice, [1], dedup="none", ordering=False) >= sorted_
    assert "classify" not in phases(discover, level, [1], schedule="warp")


@weft.vertex(on="all")
def from_sources(v):
    v.a = (v.a + v.gather(lambda u, e: u.b, weft.sum)) % 97


@weft.vertex(wake="all")
def some_sources(v):
    v.a = (v.a + v.gather(lambda u, e: u.b, weft.sum)) % 97


@weft.vertex(on="all", wake="all")
def from_targets(v):
    v.b = (v.b + 1 + v.gather(lambda u, e: u.a, weft.sum, direction="out")) % 97


def test_sorted_rows_are_those_of_the_way_and_of_the_frontier(monkeypatch):
    monkeypatch.setattr(choices, "_block_degree", lambda rendered: 6)
    monkeypatch.setattr(choices, "_grid_degree", lambda rendered: 9)
    rng = np.random.default_rng(4)
    n, m = 150, 900  # in-rows of all classes, and more than a warp has lanes that all blocks share
    src, dst = rng.integers(0, n - 1, m), np.where(rng.random(m) < 0.8, rng.integers(0, 50, m), 149)
    g = weft.Graph.from_edges(src, dst, num_vertices=n)
    assert (g.in_degree >= 9).sum() > 32
    a, b = rng.integers(0, 97, (2, n))
    seen = []
    for there in (g, g.to("emulated")):
        state = there.state(a=a, b=b)
        config = weft.Config(schedule="twc" if there is not g else None)
        there.iterate([from_sources, from_targets], state, max_iter=3, config=config)
        there.iterate(some_sources, state, [1, 3, 149], max_iter=2, config=config)
        seen.append(state)
    np.testing.assert_array_equal(seen[1].a, seen[0].a)
    np.testing.assert_array_equal(seen[1].b, seen[0].b)


@weft.vertex(wake="changed")
def weigh(v):
    v.a = v.gather(lambda u, e: u.b, weft.sum) + v.id
    weft.reduce("weighed", v.a, weft.sum)
    v.changed = True


@pytest.mark.parametrize("fuse", ["all", "none"])
def test_supersteps_with_and_without_rows_that_all_blocks_share(monkeypatch, fuse):
    """Where no row was split, nothing is left to be put together."""
    monkeypatch.setattr(choices, "_grid_degree", lambda rendered: 8)
    path, leaves = np.arange(9), 9 + np.arange(30)
    src = np.r_[path[:-1], leaves, [2] * 4]
    dst = np.r_[path[1:], np.full(30, 4), [50, 51, 52, 4]]
    g = weft.Graph.from_edges(src, dst, num_vertices=60)
    seen = []
    for there in (g, g.to("emulated")):
        state = there.state(
            level=weft.full(-1), a=weft.full(0), b=np.arange(60), weighed=weft.scalar(0)
        )
        state.level[0] = 0
        chosen = {"schedule": "twc", "fuse": fuse} if there is not g else {}
        there.iterate([discover, weigh], state, [0], config=weft.Config(**chosen))
        seen.append((state.level, state.a, state.weighed))
    for ours, wanted in zip(*seen, strict=True):
        np.testing.assert_array_equal(ours, wanted)


@weft.vertex
def fade(v):
    v.x = v.x // 2 + v.gather(lambda u, e: u.x, weft.sum) // 32


def test_pushes_leave_nothing_sorted_to_gathers(monkeypatch):
    monkeypatch.setattr(choices, "_block_degree", lambda rendered: 5)
    monkeypatch.setattr(choices, "_grid_degree", lambda rendered: 8)
    rng = np.random.default_rng(1)
    n, m = 300, 1500
    g = weft.Graph.from_edges(rng.integers(0, n, m), rng.integers(0, n, m), num_vertices=n)
    first = np.where(rng.random(n) < 0.03, 2**30, 0)
    seen = []
    for there in (g, g.to("emulated")):
        state = there.state(x=first)
        driven = {"change_driven": True, "direction": "push", "schedule": "twc"}
        config = weft.Config(**driven) if there is not g else None
        assert there.iterate(fade, state, config=config).converged
        seen.append(state.x)
    np.testing.assert_array_equal(*seen)
