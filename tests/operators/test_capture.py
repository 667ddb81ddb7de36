"""Captured loops: they leave behind what the same loops leave that are not captured."""

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from operator_cases import LISTS, awkward
from weft.errors import GraphError, TraceError
from weft.operators import advance, compute, filter, neighbor_reduce, split


def relax(u, v, e):
    return v.x.min(u.x + e.weight)


def pass_on(u, v, e):
    v.n += 1
    return u.id < v.id


def near(v):
    return v.x < 40


def bump(v):
    v.n += 1


def fields(g, source):
    return g.state(x=weft.full(1000).but(source, 0), n=weft.full(0))


def searches(g, state, frontier, recorded):
    """A loop of several operators; returns its last frontier."""
    with recorded:
        while frontier:
            frontier = advance(g, frontier, relax, state)
            frontier = filter(g, frontier, near, state)
            frontier = compute(g, frontier, bump, state)
    return frontier


def passes(g, state, frontier, recorded):
    """A loop whose advances mark vertices, after a setup of its own."""
    with recorded:
        compute(g, None, bump, state)
        frontier = advance(g, frontier, relax, state)
        while frontier:
            frontier = advance(g, frontier, pass_on, state)
            frontier = advance(g, frontier, pass_on, state)
    return frontier


def check(loop, g, source, operators):
    plain, state = fields(g, source), fields(g, source)
    want = loop(g, plain, g.frontier([source]), contextlib.nullcontext())
    c = weft.capture()
    found = loop(g, state, g.frontier([source]), c)
    assert state.x.tolist() == plain.x.tolist() and state.n.tolist() == plain.n.tolist()
    assert found.tolist() == want.tolist() and found.iteration == want.iteration
    return c


@settings(max_examples=25)
@given(LISTS, st.data(), st.sampled_from([searches, passes]))
def test_captured_loops(edges, data, loop):
    g = edges.build().to("reference")
    source = data.draw(st.integers(0, g.num_vertices - 1))
    if loop is passes:  # ends only where numbers rise along arcs
        src, dst, weight = edges.src, edges.dst, edges.weight
        g = weft.Graph.from_edges(
            np.minimum(src, dst), np.maximum(src, dst), weight, num_vertices=g.num_vertices,
            self_loops="drop",
        ).to("reference")  # fmt: skip
    check(loop, g, source, None)


@pytest.mark.parametrize("device", ["cpu", "emulated"])
def test_compiled(device):
    g = weft.generators.rmat(6, 4, seed=1, weights="int", directed=True).to(device)
    c = check(searches, g, 0, None)
    assert [loop.operators for loop in c.loops] == [("advance", "filter", "compute")]
    assert c.loops[0].steps > 2 and c.reasons == []


def test_setup_is_run_before_the_loop_is_captured():
    g = awkward("path").to("reference")
    c = check(passes, g, 0, None)
    assert [loop.operators for loop in c.loops] == [("advance", "advance")] and c.reasons == []
    assert "Captured(operators=('advance', 'advance')" in repr(c)


def test_one_launch_instead_of_many():
    g = awkward("path").to("reference")
    with weft.profile() as p:
        c = check(searches, g, 0, None)
    assert c.loops[0].steps > 15 and len(p.facts) == 3 * c.loops[0].steps + 1


def test_loops_over_a_range():
    g = awkward("hub").to("reference")
    plain, state = fields(g, 0), fields(g, 0)
    for _ in range(5):
        advance(g, None, pass_on, plain, output=None)
        neighbor_reduce(g, None, lambda u, v, e: v.n, weft.sum, plain, into="x", output=None)
    with weft.capture() as c:
        for _ in range(5):
            advance(g, None, pass_on, state, output=None)
            neighbor_reduce(g, None, lambda u, v, e: v.n, weft.sum, state, into="x", output=None)
    assert state.n.tolist() == plain.n.tolist() and state.x.tolist() == plain.x.tolist()
    assert [(loop.operators, loop.steps) for loop in c.loops] == [
        (("advance", "neighbor_reduce"), 5)
    ]
    frontier = g.frontier([0])
    with weft.capture() as c:
        for _ in range(3):
            frontier = advance(g, frontier, pass_on, state)
    assert c.loops[0].steps == 3
    again = g.frontier([0])
    for _ in range(3):
        again = advance(g, again, pass_on, state)
    assert frontier.tolist() == again.tolist() and frontier.iteration == 3


def share(u, v, e):
    return v.rank / v.out_degree


def damp(v):
    v.rank = 0.15 + 0.85 * v.sum


def high(v):
    return v.rank > 1.0


@pytest.mark.parametrize("name", ["hub", "parallel", "self-loop"])
@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_calls_at_all_vertices_that_follow_one_another_are_one_sweep(name, device):
    g = awkward(name).to(device)

    def passes(recorded):
        state = ranks(g)
        with recorded:
            for _ in range(4):
                neighbor_reduce(
                    g, None, share, weft.sum, state, into="sum", along="in", output=None
                )
                compute(g, None, damp, state)
                found = filter(g, None, high, state)
        return found.tolist(), state.rank.tolist(), state.sum.tolist()

    with weft.profile() as p:
        found = passes(weft.capture(strict=True))
    assert found == passes(contextlib.nullcontext())
    if device == "cpu":
        assert len(p.facts) == 1 and {record.phase for record in p.records} == {0}


def test_a_look_at_other_vertices_keeps_calls_at_all_vertices_apart():
    g = awkward("path")

    def first(v):
        v.rank = v.gather(lambda u, e: u.sum, weft.sum)

    def total(recorded):
        state = g.state(rank=weft.full(1.0), sum=lambda v: v.id * 1.0)
        with recorded:
            for _ in range(3):
                neighbor_reduce(g, None, share, weft.sum, state, into="sum", along="in")
                compute(g, None, first, state)
        return state.rank.tolist(), state.sum.tolist()

    assert total(weft.capture(strict=True)) == total(contextlib.nullcontext())


def rising(u, v, e):
    return u.id < v.id


def test_a_condition_alone_holds_in_every_pass():
    g = weft.Graph.from_edges([0, 0, 1, 2], [1, 2, 2, 0])
    state, frontier = g.state(x=weft.full(0)), g.frontier([0, 2])
    with weft.capture(strict=True) as c:
        for _ in range(2):
            frontier = advance(g, frontier, rising, state)
    assert c.loops[0].steps == 2 and frontier.tolist() == [2]


@pytest.mark.parametrize("held", [True, False])
def test_an_output_that_a_later_call_takes_is_not_lost(held):
    """Between them, a call at all vertices goes on with something else."""
    g = awkward("hub").to("reference")

    def line(recorded):
        state, kept = fields(g, 0), []
        with recorded:
            frontier = advance(g, [0], relax, state)
            near_ones = filter(g, frontier, near, state)
            neighbor_reduce(g, near_ones, lambda u, v, e: v.x, weft.min, state, into="n")
            again = filter(g, near_ones, near, state)
            if held:
                kept = [frontier, near_ones]
            del frontier, near_ones
            compute(g, None, bump, state)
            last = filter(g, again, near, state)
            none = advance(g, last, relax, state, output=None)
        found = [part.tolist() for part in (last, *kept)]
        return found, none.iteration, state.x.tolist(), state.n.tolist()

    assert line(weft.capture()) == line(contextlib.nullcontext())


def spread(u, v, e):
    v.sum += u.rank / u.out_degree


def settle(v):
    rank = 0.15 + 0.85 * v.sum
    weft.reduce("error", abs(rank - v.rank), weft.sum)
    v.rank = rank
    v.sum = 0.0


def ranks(g):
    return g.state(rank=weft.full(1.0), sum=weft.full(0.0), error=weft.scalar(1.0))


def test_loops_that_test_the_capture():
    g = awkward("hub").to("reference")
    plain, state, bounded = ranks(g), ranks(g), ranks(g)
    rounds = 0
    while plain.error > 1e-2:
        advance(g, None, spread, plain, output=None)
        compute(g, None, settle, plain)
        rounds += 1
    with weft.capture(until=lambda error: error <= 1e-2) as loop:
        while loop:
            advance(g, None, spread, state, output=None)
            compute(g, None, settle, state)
    assert loop.loops[0].steps == rounds and loop.reasons == []
    np.testing.assert_array_equal(state.rank, plain.rank)
    with weft.capture(until=lambda error: error <= 1e-2, max_iter=4) as loop:
        while loop:
            advance(g, None, spread, bounded, output=None)
            compute(g, None, settle, bounded)
    assert loop.loops[0].steps == 4 < rounds
    with weft.capture(max_iter=0) as loop:
        assert not loop
    changing = ranks(g)
    with weft.capture(until=lambda error: error <= 1e-2) as loop:
        functions = iter([spread, lambda u, v, e: spread(u, v, e)] * 99)
        while loop:
            advance(g, None, next(functions), changing, output=None)
            compute(g, None, settle, changing)
    assert not loop.loops and "gets other functions or options in each pass" in loop.reasons[0]
    np.testing.assert_array_equal(changing.rank, plain.rank)


def grow(u, v, e, iteration):
    v.n.max(iteration + 1)
    return v.x.min(u.x + 1)


def test_the_iteration_is_passed_on():
    g = awkward("path").to("reference")
    plain, state = fields(g, 0), fields(g, 0)
    frontier = g.frontier([0])
    while frontier:
        frontier = advance(g, frontier, grow, plain)
    frontier = g.frontier([0])
    with weft.capture() as c:
        while frontier:
            frontier = advance(g, frontier, grow, state)
    assert state.n.tolist() == plain.n.tolist() == [0, *range(1, 61)]
    assert len(c.loops) == 1 and frontier.iteration == 61


def test_what_is_not_captured_says_why():
    g = awkward("path").to("reference")

    def run(body, **options):
        state, plain = fields(g, 0), fields(g, 0)
        for here, recorded in ((plain, contextlib.nullcontext()), (state, weft.capture(**options))):
            frontier = g.frontier([0])
            with recorded:
                while frontier:
                    frontier = body(frontier, here)
        assert state.x.tolist() == plain.x.tolist() and state.n.tolist() == plain.n.tolist()
        assert not recorded.loops
        return recorded.reasons

    def reads_state(frontier, state):
        frontier = advance(g, frontier, relax, state)
        state.n[0] += 1
        return frontier

    def reads_size(frontier, state):
        frontier = advance(g, frontier, relax, state)
        state.n[0] += len(frontier)
        return frontier

    def branches(frontier, state):
        other = filter(g, frontier, near, state)
        frontier = advance(g, frontier, relax, state)
        compute(g, other, bump, state)
        return frontier

    def arcs(frontier, state):
        found = advance(g, frontier, relax, state, output="arcs")
        return advance(g, found, lambda u, v, e: v.n.max(e.weight) | True, state)

    def splits(frontier, state):
        return split(g, advance(g, frontier, relax, state), "x", state, 100)[0]

    def runs(frontier, state):
        frontier = advance(g, frontier, relax, state)
        g.run(weft.vertex(bump), state)
        return frontier

    kept = []

    def keeps(frontier, state):
        kept.append(advance(g, frontier, relax, state))
        return kept[-1]

    passing = iter(range(10**6))

    def closes_over(frontier, state):
        k = next(passing)
        return advance(g, frontier, lambda u, v, e: v.x.min(u.x + 1 + 0 * k), state)

    assert run(reads_state) == ["state.n is read"]
    assert run(reads_size) in (
        ["the frontier that advance returned is read"], ["state.n is read"],
    )  # fmt: skip
    assert "another frontier than" in run(branches)[0]
    assert run(arcs) == ["advance works on arcs, which a loop of operators cannot pass on"]
    assert "split returns values" in run(splits)[0]
    assert run(runs) == ["a run uses the state"]
    assert "gets other functions or options" in run(closes_over)[0]
    assert run(keeps) == ["the loop keeps frontiers of earlier passes"]
    assert [len(frontier) for frontier in kept] == ([1] * 60 + [0]) * 2
    with pytest.raises(TraceError, match=r"a loop was not captured: state\.n is read"):
        run(reads_state, strict=True)


def test_straight_lines_run_as_one_program_and_in_order():
    g = awkward("path").to("reference")
    state = fields(g, 0)
    with weft.profile() as p, weft.capture() as c:
        frontier = compute(g, advance(g, [0], relax, state), bump, state)
        assert frontier.tolist() == [1]
    assert len({record.call for record in p.records}) == 1
    with weft.capture():
        kept = advance(g, [1], relax, state)
        last = advance(g, kept, relax, state)
    assert kept.tolist() == [2] and last.tolist() == [3]
    with weft.capture():
        compute(g, None, bump, state)
        assert state.n[0] == 1
        state.n[0] = 5
        compute(g, None, bump, state)
    assert state.n[0] == 6 and c.loops == []
    with pytest.raises(ZeroDivisionError), weft.capture():
        compute(g, None, bump, state)
        1 / 0
    assert state.n[0] == 6  # nothing recorded runs after an error


def test_misuse_is_told():
    g = awkward("path").to("reference")
    state = fields(g, 0)
    with weft.capture() as c:
        with pytest.raises(TraceError, match="is open already"), c:
            pass
        with pytest.raises(TraceError, match="but it has none"):
            bool(c)
    frontier = g.frontier([0])
    with weft.capture():
        while frontier:
            inner = advance(g, frontier, relax, state)
            frontier = filter(g, inner, near, state)
    with pytest.raises(GraphError, match="was inside a captured loop"):
        inner.tolist()
    with pytest.raises(TraceError, match=r"reads a variable that changed"), weft.capture():
        k = 1
        compute(g, None, lambda v: setattr(v, "n", k), state)
        k = 2
    with (
        pytest.raises(TraceError, match=r"can only call operators, but state\.x is read"),
        weft.capture(max_iter=3) as loop,
    ):
        while loop:
            compute(g, None, bump, state)
            state.x[0] = 1
