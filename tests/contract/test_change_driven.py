"""Runs that are driven by changes: the same results as full ones, and small residuals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from agreement import placed
from graphs import edge_lists
from oracle import run_interpreted
from weft.engine.change_driven import hidden_state
from weft.engine.prepared import Inputs, Prepared
from weft.errors import ConfigError
from weft.ir.passes.delta import rewrite
from weft.ir.reference.interpret import interpret

K = 3
GRAPHS = edge_lists(directed=True, weights="int", min_vertices=1)


@weft.vertex
def whole(v):
    total, few = v.gather(lambda u, e: (e.weight * u.x, u.few), (weft.sum, weft.sum))
    odd = v.gather(lambda u, e: weft.send(u.x[0], when=u.few % 2 == 1), weft.sum)
    v.x = (v.own + total // 2) % 13
    v.few = (few + odd) % 5


@given(drawn=GRAPHS, seed=st.integers(0, 999), steps=st.sampled_from([1, 2, 7, 90]))
@settings(max_examples=12, derandomize=True)
def test_whole_numbers_give_the_same_in_every_superstep(drawn, seed, steps):
    g = drawn.build(keep="both")
    n, rng = g.num_vertices, np.random.default_rng(seed)
    first = {
        "x": rng.integers(0, 9, (n, K)), "own": rng.integers(0, 9, (n, K)),
        "few": rng.integers(0, 5, n),
    }  # fmt: skip
    want = run_interpreted(g, whole, g.state(**first), mode="iterate", max_iter=steps)
    g = placed(g)
    state = g.state(**first)
    run = g.iterate(whole, state, max_iter=steps, change_driven=True)
    for name, values in want.state.fields.items():
        np.testing.assert_array_equal(getattr(state, name), values, name)
    assert run.steps == want.outcome.steps


@weft.vertex
def halved(v):
    half, few = v.gather(lambda u, e: (u.x // 2, u.few), weft.sum)
    v.x = (v.own + half) % 13
    v.few = few % 5


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_buffers_that_only_some_supersteps_have(steps):
    # What is computed of u.x at every vertex ahead leaves x without a second buffer, but only where
    # all vertices gather: the number of those supersteps tells which buffer has the other field.
    g = weft.Graph.from_edges([0, 1, 2, 3, 1], [1, 2, 3, 0, 3])
    rng = np.random.default_rng(1)
    first = {"x": rng.integers(0, 9, (4, K)), "own": rng.integers(0, 9, (4, K))}
    first["few"] = rng.integers(0, 5, (4, K))
    want = run_interpreted(g, halved, g.state(**first), mode="iterate", max_iter=steps)
    g = placed(g)
    state = g.state(**first)
    g.iterate(halved, state, max_iter=steps, change_driven=True)
    for name, values in want.state.fields.items():
        np.testing.assert_array_equal(getattr(state, name), values, name)


@weft.edge(into="total", reduce=weft.sum)
def tell(u, v, e):
    return e.weight * (u.x - u.old.x)


@weft.vertex
def take(v):
    v.x = (v.own + v.total // 2) % 13


@weft.vertex
def plain(v):
    v.x = (v.own + v.gather(lambda u, e: e.weight * u.x, weft.sum) // 2) % 13


def test_the_delta_written_by_hand():
    rng = np.random.default_rng(1)
    n = 12
    src, dst = rng.integers(0, n, 20), rng.integers(0, n, 20)
    forward = src < dst  # without cycles it ends
    weight = rng.integers(0, 5, forward.sum())
    g = placed(weft.Graph.from_edges(src[forward], dst[forward], weight, num_vertices=n))
    own = rng.integers(0, 9, n)
    by_hand = g.state(x=own % 13, own=own, total=weft.full(0))
    by_hand.old["x"] = 0 * by_hand.x
    g.iterate([tell, take], by_hand)
    state = g.state(x=weft.full(0), own=own)
    assert g.iterate(plain, state, change_driven=True).converged
    np.testing.assert_array_equal(state.x, by_hand.x)


@weft.vertex
def damped(v, moved):
    total = v.gather(lambda u, e: e.share * weft.tanh(u.x), weft.sum)
    new = 0.5 * v.x + 0.3 * total + v.own
    weft.reduce("moved", weft.max(abs(new - v.x)), weft.max)
    v.x = new


def test_a_full_step_moves_nothing_further():
    rng = np.random.default_rng(2)
    n, m = 41, 300
    src, dst = rng.integers(0, n - 1, m), np.r_[np.zeros(80, int), rng.integers(0, n - 1, m - 80)]
    g = weft.Graph.from_edges(src, dst, num_vertices=n)
    src, dst, _ = g.to_edges()
    share = g.edge["share"] = 1 / g.in_degree[dst]
    own = rng.random((n, K))

    def step(x):
        total = np.zeros((n, K))
        np.add.at(total, dst, share[:, None] * np.tanh(x)[src])
        return 0.5 * x + 0.3 * total + own

    exact = np.zeros((n, K))
    for _ in range(300):
        exact = step(exact)
    g = placed(g)
    for tolerance in (1e-9, 1e-3):
        state = g.state(x=np.zeros((n, K)), own=own, moved=weft.scalar(0.0))
        run = g.iterate(damped, state, change_driven=True, tolerance=tolerance, max_iter=1000)
        assert run.converged and run.steps > 5
        assert np.abs(step(state.x) - state.x).max() <= 2 * tolerance
        np.testing.assert_allclose(state.x, exact, atol=20 * tolerance)


@weft.vertex
def likely(v):
    v.x = weft.minimum(v.own * v.gather(lambda u, e: u.x, weft.prod), 4.0)


@given(drawn=GRAPHS, seed=st.integers(0, 999))
@settings(max_examples=8, derandomize=True)
def test_rule_41_products_are_kept_with_the_number_of_their_zeros(drawn, seed):
    g = drawn.build(keep="both")
    rng = np.random.default_rng(seed)
    first = {name: rng.choice([0.0, 0.5, 1.0, 2.0], g.num_vertices) for name in ("x", "own")}
    want = run_interpreted(g, likely, g.state(**first), mode="iterate", max_iter=6)
    g = placed(g)
    state = g.state(**first)
    g.iterate(likely, state, max_iter=6, change_driven="auto")
    np.testing.assert_array_equal(state.x, want.state.fields["x"])


@weft.vertex
def count_paths(v):
    v.paths = v.own + v.gather(lambda u, e: u.paths, weft.sum)


@pytest.mark.parametrize(
    ("direction", "wide", "renewed"),
    [("auto", {0}, {1, 64, 72}), ("push", set(), {0, 64, 72}), ("pull", {*range(72)}, {72})],
)
def test_few_changes_are_passed_on_and_many_gathered_anew(direction, wide, renewed):
    n = 71  # vertices of a path, of which one changes in a superstep
    g = placed(weft.Graph.from_edges(range(n - 1), range(1, n), num_vertices=n))
    state = g.state(own=np.arange(n) == 0, paths=weft.full(0))
    with weft.profile() as told:
        run = g.iterate(count_paths, state, change_driven=True, direction=direction)
    np.testing.assert_array_equal(state.paths, np.ones(n))
    assert run.steps == n + 1
    phases = {(record.step, record.phase) for record in told.records}
    found = [{step for step, phase in phases if phase == p} for p in (0, 2, 3)]
    assert found == [{*range(n + 1)} - wide - renewed, wide, renewed]  # 72: the refresh in the end


@weft.vertex
def fade(v):
    v.x = v.x // 2 + v.gather(lambda u, e: u.x, weft.sum) // 8


def test_what_goes_on_by_itself_goes_on():
    n = 400  # vertices of a path, and some without edges
    g = weft.Graph.from_edges(range(n - 1), range(1, n), num_vertices=n + 3)
    first = np.r_[2**40, np.zeros(n - 1, int), 3, 2**20, 0]
    want = run_interpreted(g, fade, g.state(x=first), mode="iterate")
    g = placed(g)
    state = g.state(x=first)
    with weft.profile() as told:
        run = g.iterate(fade, state, change_driven=True)
    np.testing.assert_array_equal(state.x, want.state.fields["x"])
    assert run.steps == want.outcome.steps > 20
    assert sum(record.phase == 0 for record in told.records) > run.steps / 2


@given(drawn=GRAPHS, seed=st.integers(0, 999), steps=st.sampled_from([1, 3, 70]))
@settings(max_examples=8, derandomize=True)
def test_the_interpreter_runs_the_rewritten_program_alike(drawn, seed, steps):
    g, rng = drawn.build(keep="both"), np.random.default_rng(seed)
    first = {name: rng.integers(0, 9, g.num_vertices) for name in ("x", "own")}
    want = run_interpreted(g, plain, g.state(**first), mode="iterate", max_iter=steps)
    delta = rewrite(want.program, 0.0)
    state = hidden_state(delta, g.state(**first), g.topology)
    prepared = Prepared(delta.program, g.topology, weft.Config())
    request = prepared.request(g._prepared.columns, Inputs(state, None, g.frontier(), steps))
    assert interpret(request).steps == want.outcome.steps
    np.testing.assert_array_equal(state.x, want.state.fields["x"])


def test_a_graph_of_which_many_change_is_gathered_anew():
    ring = np.arange(40)
    g = placed(weft.Graph.from_edges(ring, (ring + 1) % 40, num_vertices=40))
    state = g.state(own=weft.full(0), paths=ring % 3)
    with weft.profile() as told:
        run = g.iterate(count_paths, state, change_driven=True, max_iter=9)
    assert run.steps == 9 and not run.converged
    np.testing.assert_array_equal(state.paths, np.roll(ring % 3, 9))
    assert {record.phase for record in told.records} == {2}


@weft.vertex
def halve(v):
    v.x = 0.5 * v.gather(lambda u, e: u.x, weft.sum)


def test_who_comes_to_rest_together_takes_no_further_superstep():
    ring, tolerance = np.arange(40), 1e-3
    g = placed(weft.Graph.from_edges(ring, (ring + 1) % 40, num_vertices=40))
    first = 1 + 0.5 * (ring == 0)
    seen = [first]
    while len(seen) < 2 or np.abs(seen[-1] - seen[-2]).max() > tolerance:
        seen.append(0.5 * np.roll(seen[-1], 1))
    state = g.state(x=first)
    with weft.profile() as told:
        run = g.iterate(halve, state, change_driven=True, tolerance=tolerance)
    assert run.converged and run.steps == len(seen) - 1
    # A few moved beyond the tolerance, nobody beyond twice as much: the whole superstep after that
    # tells that it is over, and what it would have moved is left.
    np.testing.assert_array_equal(state.x, seen[-2])
    assert [record.phase for record in told.records] == [2] * (run.steps - 1) + [3]


@weft.vertex
def pull_shares(v):
    v.x = v.gather(lambda u, e: u.share * u.x, weft.sum)


def test_sums_of_many_that_rest_are_looked_at():
    n, tolerance = 60, 1e-3  # what leaves move by adds up at the hub, whatever each moves by
    leaves = np.arange(1, n)
    g = placed(weft.Graph.from_edges(np.r_[0 * leaves, leaves], np.r_[leaves, 0 * leaves]))
    share = np.r_[1 / n, np.full(n - 1, 0.9)]
    for first in (np.r_[1.0, 0 * leaves], np.r_[0.0, 0.9 * tolerance + 0 * leaves]):
        state = g.state(x=first, share=share)
        assert g.iterate(pull_shares, state, change_driven=True, tolerance=tolerance).converged
        total = np.r_[(share[1:] * state.x[1:]).sum(), 0 * leaves + share[0] * state.x[0]]
        assert np.abs(total - state.x).max() <= 2 * tolerance


# -- what is refused


@weft.vertex
def least(v):
    v.x = v.gather(lambda u, e: u.x, weft.min)


@weft.vertex
def onward(v):
    v.x = v.gather(lambda u, e: u.x, weft.sum, direction="out")


@weft.vertex
def mixed(v):
    v.x = v.gather(lambda u, e: u.x * v.x, weft.sum)


@weft.vertex
def steady(v):
    v.x = v.gather(lambda u, e: u.own, weft.sum)


@weft.vertex
def quiet(v):
    v.x = v.gather(lambda u, e: u.x, weft.sum)
    v.changed = v.x > 3


@weft.vertex
def counted(v):
    v.x = v.gather(lambda u, e: u.x, weft.sum) + weft.superstep() % 2


def waking(wake):
    @weft.vertex(wake=wake)
    def add(v):
        v.x = v.gather(lambda u, e: u.x, weft.sum)

    return add


@pytest.mark.parametrize(
    ("function", "reason"),
    [(counted, "number of the superstep"), (quiet, r"v\.changed who changed"),
     (waking("changed"), "wake='changed', not all"),
     (waking("neighbors"), "wake='neighbors', not all"), (least, "min has no inverse"),
     (onward, "over out-edges"), (mixed, r"v\.x, which it writes"),
     (steady, "do not depend on what it writes"), ([plain, take], "not a single vertex function")],
)  # fmt: skip
def test_refusals(g, function, reason):
    state = g.state(x=weft.full(0), own=weft.full(1), total=weft.full(0))
    with pytest.raises(ConfigError, match=f"change_driven=True is not possible: .*{reason}"):
        g.iterate(function, state, change_driven=True, max_iter=2)


def test_what_is_not_possible_runs_as_usual_if_asked_so(g):
    state = g.state(x=lambda v: v.id)
    config = weft.Config(change_driven="auto")
    assert placed(g).iterate(least, state, max_iter=2, config=config).steps == 2


def test_bad_choices(g):
    state = g.state(x=weft.full(0), own=weft.full(1))
    with pytest.raises(ConfigError, match="change_driven='yes' is not known"):
        g.iterate(plain, state, change_driven="yes")
    with pytest.raises(ConfigError, match="tolerance=-1 is not a tolerance"):
        g.iterate(plain, state, change_driven=True, tolerance=-1)
    with pytest.raises(ConfigError, match="change-driven runs"):
        g.iterate(plain, state, tolerance=0.1)
    with pytest.raises(ConfigError, match="first frontier"):
        g.iterate(plain, state, [0], change_driven=True)


def test_the_rewritten_program_is_shown(g):
    state = g.state(x=weft.full(0), own=weft.full(1))
    told = weft.explain(plain, g, state, config=weft.Config(change_driven=True))
    assert told.passes[0] == "delta_rewriting"
    assert "plain.spread" in str(told)
    assert "delta_rewriting" not in weft.explain(plain, g, state).passes


def test_a_frontier_of_arcs_is_refused_or_runs_as_usual():
    @weft.edge(into="x", reduce=weft.sum)
    def add(u, v, e):
        return u.x

    g = placed(weft.Graph.from_edges([0, 1, 2], [1, 2, 3]))
    arcs, want = g.edge_frontier([0, 1]), [1, 3, 5, 4]
    with pytest.raises(ConfigError, match="does not contain all vertices"):
        g.iterate(add, g.state(x=[1, 2, 3, 4]), arcs, max_iter=1, change_driven=True)
    state = g.state(x=[1, 2, 3, 4])
    g.iterate(add, state, arcs, max_iter=1, config=weft.Config(change_driven="auto"))
    np.testing.assert_array_equal(state.x, want)
