"""weft.explain tells what a program becomes, and changes nothing."""

import numpy as np
import pytest

import weft
from weft.errors import ConfigError, FieldError, TraceError


@weft.edge(into="level", reduce=weft.any, accept=lambda v: v.level < 0)
def discover(u, v, e):
    return u.level + 1


@weft.edge(into="dist", reduce=weft.min, priority=lambda v: v.dist)
def relax(u, v, e):
    return u.dist + e.weight


@weft.edge(into="total", reduce=weft.sum)
def arrive(u, v, e):
    return u.total * 0.25


@weft.vertex
def refresh(v):
    v.rank = 0.1 + v.gather(lambda u, e: u.rank / u.out_degree, weft.sum)


@pytest.fixture
def g():
    return weft.generators.star(6, weights="float")


def levels(g):
    state = g.state(level=weft.full(-1, weft.int32))
    state.level[0] = 0
    return state


def test_a_search_is_written_once(g):
    told = weft.explain(discover, g, levels(g), [0])
    assert "edge discover into level by any" in told.ir
    assert {"write_once", "early_exit"} <= set(told.passes)
    (sweep,) = told.sweeps
    assert (sweep.functions, sweep.kind, sweep.mode) == (("discover",), "edge", "once")
    assert sweep.refused == {} and sweep.buffered == ()
    assert "@njit" in told.source and "atomic_cas(f_level" in told.source


def test_the_first_frontier_decides_about_write_once(g):
    told = weft.explain(discover, g, levels(g))
    assert told.sweeps[0].mode == "deferred"
    assert "dead_fields" in told.passes and "write_once" not in told.passes


def test_second_buffers_and_hoisted_expressions_are_told(g):
    told = weft.explain([arrive, refresh], g, g.state(total=np.zeros(6), rank=np.ones(6)))
    first, second = told.sweeps
    assert first.mode == "deferred" and first.buffered == ("total",)
    assert "source_hoisting" in told.passes
    assert any("computed once per vertex" in note for note in second.notes)
    assert "constant" in told.rewritten and "0.25" in told.ir


def test_ordering_and_relaxation_are_told(g):
    state = g.state(dist=np.full(6, np.inf))
    assert {"async_relaxation", "ordering"} <= set(weft.explain(relax, g, state).passes)
    bounded = weft.explain(relax, g, state, max_iter=3)
    assert not {"async_relaxation", "ordering"} & set(bounded.passes)
    off = weft.explain(relax, g, state, config=weft.Config(passes_off="async_relaxation"))
    assert "async_relaxation" not in off.passes


def test_refused_directions_come_with_a_reason(g):
    def pull_refused(graph, functions, **options):
        told = weft.explain(functions, graph, graph.state(total=np.zeros(6)), **options)
        return told.sweeps[0].refused

    @weft.edge(into="total", reduce=weft.sum)
    def again(u, v, e):
        return u.total

    assert "fold" in pull_refused(g, weft.fold(arrive, again))["pull"]
    assert "'push'" in pull_refused(g, arrive, direction="push")["pull"]
    kept = weft.Graph.from_edges([0, 1], [1, 2], num_vertices=6, keep="out")
    assert "in-edges" in pull_refused(kept, arrive)["pull"]


def test_everything_is_printed(g):
    told = weft.explain(arrive, g, g.state(total=np.zeros(6)), mode="run")
    text = str(told)
    assert told.ir in text + "\n" and told.source.strip() in text
    assert "mode deferred" in text and "second buffers: total" in text
    assert "push: yes" in text
    assert repr(told) == text


def test_refill_is_told(g):
    @weft.vertex
    def seed(v):
        return v.total < 3

    told = weft.explain(arrive, g, g.state(total=np.zeros(6)), max_iter=3, refill=seed)
    assert [sweep.refill for sweep in told.sweeps] == [False, True]
    assert "sweep of refill" in str(told)


def test_nothing_is_changed_or_run(g):
    @weft.vertex
    def step(v):
        v.rank = v.old.rank + 1

    state = g.state(rank=np.zeros(6))
    weft.explain(step, g, state)
    assert not state.rank.any() and not state.old
    state.rank[:] = 4
    g.run(step, state)
    assert (state.rank == 5).all()


def test_programs_that_share_a_kernel_keep_their_names(g):
    def renamed(u, v, e):
        return u.level + 1

    twin = weft.edge(renamed, into="level", reduce=weft.any, accept=lambda v: v.level < 0)
    for function, name in ((discover, "discover"), (twin, "renamed")):
        told = weft.explain(function, g, levels(g), [0])
        assert told.sweeps[0].functions == (name,) and name in told.ir and name in told.rewritten


def test_without_a_state_fields_are_floats(g):
    told = weft.explain(discover, g)
    assert "float64" in told.ir and "level" in told.ir and "def kernel(" in told.source


def test_what_is_missing_is_asked_for(g):
    with pytest.raises(FieldError, match=r"expected a state made by g\.state"):
        weft.explain(discover, g, {"level": 1})
    with pytest.raises(TraceError, match="needs a graph"):
        weft.explain(discover, levels(g))
    with pytest.raises(ConfigError, match="mode='loop' is not known"):
        weft.explain(discover, g, levels(g), mode="loop")
    with pytest.raises(FieldError, match="has no field 'rank'"):
        weft.explain(refresh, g, levels(g))
