"""When a loop ends, and what `converged` says then (rules 15 and 16)."""

import numpy as np
import pytest

import weft
from agreement import DIRECTIONS, agreed
from weft.errors import ConfigError

Y = np.array([1, 2, 3, 4, 5, 6])
ALL = list(range(6))


@weft.vertex
def increment(v):
    v.x = v.x + 1


@weft.vertex(on="all")
def increment_all(v):
    v.x = v.x + 1


@weft.vertex
def check(v):
    weft.reduce("top", v.x, weft.max)


@weft.vertex(on="all")
def check_all(v):
    weft.reduce("top", v.x, weft.max)


@weft.edge(into="y", reduce=weft.max)
def pass_on(u, v, e):
    return u.x


@weft.edge(into="z", reduce=weft.sum, on="all")
def send_all(u, v, e):
    return u.x


@weft.vertex(wake="all")
def take_largest(v):
    v.y = weft.maximum(v.y, v.gather(lambda u, e: u.y, weft.max))


def fields(**more):
    start = {"x": np.zeros(6, int), "y": np.zeros(6, int), "z": np.zeros(6, int)}
    return start | {"top": weft.scalar(0)} | more


def five(top):
    return top >= 5


def test_a_list_that_runs_everywhere_goes_on_until_its_condition_holds(g):
    result = agreed(g, [increment_all, check], fields(), mode="iterate", until=five)
    assert (result.steps, result.converged, result.top) == (5, True, 5)
    assert result.x.tolist() == [5] * 6 and result.frontier == []


def test_without_a_step_that_runs_everywhere_an_empty_frontier_ends_the_loop(g):
    result = agreed(g, [increment, check], fields(), mode="iterate", until=five)
    assert (result.steps, result.converged, result.top) == (1, False, 1)


def test_an_empty_frontier_is_convergence_without_a_condition(g):
    result = agreed(g, [increment_all, check], fields(), mode="iterate")
    assert (result.steps, result.converged) == (1, True)


def test_any_step_that_runs_everywhere_keeps_the_loop_going(g):
    # The first step runs at the frontier that it gets: at 1 and 2, and then nowhere.
    result = agreed(
        g, [increment, check_all], fields(), [1, 2], mode="iterate", until=five, max_iter=7
    )
    assert (result.steps, result.converged) == (7, False)
    assert result.x.tolist() == [0, 1, 1, 0, 0, 0]


def test_edge_steps_before_a_step_that_runs_everywhere_send_nothing_on_an_empty_frontier(g):
    steps = [pass_on, increment_all, check]
    for config in DIRECTIONS:
        result = agreed(
            g, steps, fields(x=Y), [0], mode="iterate", until=lambda top: top >= 12,
            configs=[config], trail=True,
        )  # fmt: skip
        assert (result.steps, result.converged) == (6, True)
        assert result.y.tolist() == [0, 1, 1, 0, 0, 0]  # 0 sent once, nobody after it
        assert [part.tolist() for part in result.trail] == [[0], *([[]] * 5)]


def test_nobody_is_left_after_a_step_that_wakes_all_changed_nothing(g):
    # The frontier that "all" leaves behind where nothing changed must not count as one of all.
    @weft.vertex(on="all", wake="all")
    def measure(v):
        weft.reduce("top", weft.superstep(), weft.max)

    pull = [weft.Config(direction="pull")]
    result = agreed(
        g, [pass_on, measure], fields(x=Y), [4], mode="iterate", until=five, configs=pull
    )
    assert (result.steps, result.converged) == (6, True)
    assert result.y.tolist() == [0, 0, 0, 5, 0, 0]


def test_a_step_that_wakes_all_stops_when_nothing_changes(g):
    result = agreed(g, take_largest, fields(y=Y), mode="iterate", until=five)
    assert not result.converged and result.frontier == []


def test_edge_functions_run_everywhere_too(g):
    steps = [send_all, increment_all, check]
    result = agreed(g, steps, fields(), [], mode="iterate", until=five)
    assert (result.steps, result.converged) == (5, True)
    assert result.z.tolist() == [10, 10, 40, 20, 0, 0]


def test_only_the_first_function_of_a_run_within_a_fold_runs_everywhere(g):
    fold = weft.fold(increment, check_all)
    result = agreed(g, fold, fields(), [1], mode="iterate", until=five)
    assert (result.steps, result.converged) == (1, False)
    fold = weft.fold(pass_on, increment_all, check)
    result = agreed(g, fold, fields(), [1], mode="iterate", until=five)
    assert (result.steps, result.converged) == (5, True)


def test_max_iter_and_a_condition_that_holds_at_the_same_time(g):
    for most, steps, converged in ((4, 4, False), (5, 5, True), (6, 5, True)):
        result = agreed(
            g, [increment_all, check], fields(), mode="iterate", until=five, max_iter=most
        )
        assert (result.steps, result.converged) == (steps, converged)


def test_without_supersteps_the_condition_alone_decides(g):
    for top, holds in ((0, False), (5, True)):
        start = fields(top=weft.scalar(top))
        result = agreed(g, [increment, check], start, [], mode="iterate", until=five)
        assert (result.steps, result.converged) == (0, holds)
        result = agreed(
            g, [increment_all, check], start, ALL, mode="iterate", until=five, max_iter=0
        )
        assert (result.steps, result.converged) == (0, holds)
    # An empty first frontier is no reason to stop where a step runs everywhere.
    result = agreed(g, [increment_all, check], fields(), [], mode="iterate", until=five)
    assert (result.steps, result.converged) == (5, True)
    arcs = g.edge_frontier([])
    result = agreed(g, [pass_on, increment_all, check], fields(), arcs, mode="iterate", until=five)
    assert (result.steps, result.converged) == (5, True)


def test_a_graph_without_vertices_runs_nothing():
    empty = weft.Graph.from_edges([], [])
    start = {name: np.zeros(0, int) for name in "xyz"}
    for top, holds in ((0, False), (5, True)):
        held = start | {"top": weft.scalar(top)}
        result = agreed(empty, [increment_all, check], held, mode="iterate", until=five)
        assert (result.steps, result.converged) == (0, holds)


@weft.vertex
def pick(v):
    weft.reduce("top", weft.cast(v.x < 2, weft.int64), weft.sum)
    return v.x < 2


def test_refill_decides_about_an_empty_frontier(g):
    # `increment` leaves nobody behind at once; each round begins where x is less than 2.
    @weft.vertex(on="all")
    def grow(v):
        v.x = v.x + 1
        v.changed = False

    # What the last refill reduced counts: that is what the scalars are at the end.
    for goal, converged in ((-1, False), (0, True)):
        start = fields(top=weft.scalar(9), goal=weft.scalar(goal))
        result = agreed(
            g, grow, start, mode="iterate", refill=pick, until=lambda top, goal: top == goal
        )
        assert (result.steps, result.converged, result.top) == (2, converged, 0)


@weft.vertex
def count_paths(v):
    paths = v.own + v.gather(lambda u, e: u.paths, weft.sum)
    weft.reduce("moved", abs(paths - v.paths), weft.max)
    v.paths = paths


def test_a_run_driven_by_changes_is_converged_only_where_its_condition_holds():
    g = weft.Graph.from_edges([0, 0, 1, 2], [1, 2, 3, 3])
    for bound, converged in ((1, True), (-1, False)):
        for driven in (False, True):
            state = g.state(
                own=[1, 0, 0, 0], paths=weft.full(0), moved=weft.scalar(9), bound=weft.scalar(bound)
            )
            run = g.iterate(
                count_paths, state, until=lambda moved, bound: moved < bound, max_iter=20,
                change_driven=driven,
            )  # fmt: skip
            assert run.converged == converged
            assert state.paths.tolist() == [1, 1, 1, 2]


def test_a_function_that_runs_everywhere_until_a_condition_is_not_driven_by_changes(g):
    everywhere = weft.vertex(count_paths.function, on="all")
    state = g.state(own=[1, 0, 0, 0, 0, 0], paths=weft.full(0), moved=weft.scalar(9))
    with pytest.raises(ConfigError, match=r'on="all"'):
        g.iterate(everywhere, state, until=five_moved, max_iter=3, change_driven=True)
    run = g.iterate(everywhere, state, until=five_moved, max_iter=3, change_driven="auto")
    assert (run.steps, run.converged) == (3, False)


def five_moved(moved):
    return moved > 5
