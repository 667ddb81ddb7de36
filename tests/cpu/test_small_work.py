"""Small work is evaluated without compiling: the interpreter's results, and only while it pays.

Drawn programs that cannot be evaluated, with live access or folds, say so.
"""

import random

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import weft
from oracle import assert_same, run_interpreted, run_on
from programs import Case, cases, edge_specs, fixpoints, vertex_specs
from weft.backends.cpu.backend import BACKEND
from weft.backends.cpu.host import evaluate_small
from weft.errors import ConfigError, FaultError

EVALUATED = weft.Config(compiled=False)


def check(case, *, same_steps=True, **more):
    arguments = {"mode": case.mode, **case.options(), **more}
    given_ = (case.graph(), case.functions(), case.state(), case.frontier)
    try:
        got = run_on(BACKEND, *given_, options={"compiled": False}, **arguments)
    except ConfigError as error:
        assert "compiled=False is not possible" in str(error)
        return False
    assert_same(run_interpreted(*given_, **arguments), got, steps=same_steps)
    return True


DRAWN = settings(
    max_examples=150, derandomize=True, suppress_health_check=[HealthCheck.filter_too_much]
)


def test_bounded_programs_agree():
    evaluated = []

    @given(case=cases())
    @DRAWN
    def agree(case):
        evaluated.append(check(case))

    agree()
    assert sum(evaluated) > len(evaluated) // 5


@given(case=fixpoints())
@settings(max_examples=40, derandomize=True)
def test_programs_that_run_to_a_fixpoint_agree(case):
    check(case, same_steps=False)


@given(spec=st.one_of(edge_specs(), vertex_specs()), case=cases(), filler=vertex_specs())
@DRAWN
def test_single_functions_with_a_refill_and_a_trail_agree(spec, case, filler):
    case = Case(**{**vars(case), "steps": (spec,), "mode": "iterate", "max_iter": 3})
    check(case, refill=[filler.make()], trail=True)


@given(spec=st.one_of(edge_specs(), vertex_specs()), case=cases(), seed=st.integers(0, 99))
@settings(max_examples=60, derandomize=True)
def test_replayed_functions_agree(spec, case, seed):
    rng = random.Random(seed)
    everyone = range(case.num_vertices)
    trail = [
        np.array(sorted(rng.sample(everyone, rng.randint(0, case.num_vertices))), np.int64)
        for _ in range(3)
    ]
    changes = {"steps": (spec,), "mode": "run", "max_iter": None, "limit": None}
    check(Case(**{**vars(case), **changes}), replay=trail)


@pytest.mark.parametrize("keep", ["both", "out", "in"])
def test_algorithms_agree_on_a_small_graph(keep):
    graph = nx.gnp_random_graph(40, 0.1, seed=3, directed=True)
    g = weft.Graph.from_edges(*np.array(graph.edges).T, num_vertices=40, keep=keep)
    levels = weft.bfs(g, 0, config=EVALUATED)[0]
    assert {v: n for v, n in enumerate(levels) if n >= 0} == nx.single_source_shortest_path_length(
        graph, 0
    )
    if keep != "out":
        ranks = weft.pagerank(g, tol=1e-12, config=EVALUATED)
        expected = nx.pagerank(graph, tol=1e-14)
        assert np.allclose(ranks, [expected[v] for v in range(40)])


@weft.vertex
def weigh(v):
    v.label = v.gather(lambda u, e: (u.label, e.weight), weft.mode)


@pytest.mark.parametrize("weight", [[2, 1, 1, 1, 3], [1.0, np.nan, 2.0, 0.5, np.inf]])
def test_the_heaviest_key_agrees_with_the_interpreter(weight):
    g = weft.Graph.from_edges([0, 1, 2, 3, 4], [5, 5, 5, 5, 1], np.array(weight))
    found = []
    for device in ("cpu", "reference"):
        state = g.state(label=[7, 8, 8, 9, 9, 0])
        held = g.to(device)
        held.run(weigh, state, config=EVALUATED if device == "cpu" else None)
        found.append(state.label.tolist())
    assert found[0] == found[1]


@weft.edge(into="level", reduce=weft.any, accept=lambda v: v.level < 0)
def discover(u, v, e):
    return u.level + 1


@weft.vertex
def reach_out(v):
    v.level = weft.degree(v.level)


def levels_of(g, config=None):
    state = g.state(level=weft.full(-1, weft.int32))
    state.level[0] = 0
    g.iterate(discover, state, g.frontier([0]), config=config)
    return state.level


def compilations(monkeypatch):
    from weft.backends.cpu.host import run

    loaded = []
    load = run.Compiled.load
    monkeypatch.setattr(run.Compiled, "load", lambda self: loaded.append(self) or load(self))
    return loaded


def test_a_small_run_compiles_nothing(monkeypatch):
    monkeypatch.setenv("WEFT_EVALUATE", "on")
    monkeypatch.setattr(evaluate_small, "is_cached", lambda source, label: False)
    loaded = compilations(monkeypatch)
    weft.clear_caches()
    g = weft.generators.grid(5, 5)
    assert levels_of(g).max() == 8
    assert not loaded
    levels_of(g, weft.Config(compiled=True))
    assert loaded


def test_a_run_that_takes_too_long_is_undone_and_compiled(monkeypatch):
    monkeypatch.setenv("WEFT_EVALUATE", "on")
    monkeypatch.setattr(evaluate_small, "COMPILE_S", 1e-9)
    monkeypatch.setattr(evaluate_small, "LOAD_S", 1e-9)
    loaded = compilations(monkeypatch)
    weft.clear_caches()
    g = weft.generators.path(50)
    assert levels_of(g).tolist() == list(range(50))
    assert loaded


def test_faults_are_those_of_the_kernel():
    g = weft.generators.path(3)
    state = g.state(level=weft.full(7))
    with pytest.raises(FaultError, match="out of range in 'reach_out'"):
        g.run(reach_out, state, config=EVALUATED)


def test_what_needs_a_kernel_says_so():
    @weft.vertex
    def jump(v):
        v.parent = v.parent.at(v.parent).load()

    g = weft.generators.path(3)
    with pytest.raises(ConfigError, match="compiled=False is not possible"):
        g.run(jump, g.state(parent=[0, 0, 1]), config=EVALUATED)
