"""Live fields: assignments count as changes, old values are kept, and who sees what (rule 24)."""

import numpy as np
import pytest

import weft
from agreement import DIRECTIONS, THREADS, agreed, distinct, run
from weft.errors import ConfigError, TraceError

# Two chains, which are shortened to stars. Roots come last: one sweep from vertex 0 on is too few.
ROOTS = np.array([19] * 20 + [39] * 20)
PARENT = np.minimum(np.arange(40) + 1, ROOTS)


@weft.vertex(order_free=True)
def jump(v):
    v.parent = v.parent.at(v.parent).load()


@weft.vertex(order_free=True, active=lambda v, old: v.parent != old.parent)
def jump_active(v):
    v.parent = v.parent.at(v.parent).load()


@weft.vertex(order_free=True)
def jump_changed(v):
    above = v.parent.at(v.parent).load()
    v.changed = above != v.parent
    v.parent = above


@weft.vertex(order_free=True, wake="all")
def jump_twice(v):
    v.parent = v.parent.at(v.parent).load()
    v.parent = v.parent.at(v.parent).load()


@weft.vertex
def count(v):
    v.count = v.count + 1


@pytest.mark.parametrize(
    "functions",
    [jump, jump_active, jump_changed, jump_twice, [count, jump], weft.fold(count, jump)],
    ids=["jump", "active", "changed", "twice", "list", "fold"],
)
def test_rule_24_a_live_assignment_counts_as_a_change(path, functions):
    fields = {"parent": PARENT, "count": np.zeros(40, int)}
    for config in distinct(THREADS):  # the number of supersteps depends on the order
        result = run(path, functions, fields, mode="iterate", config=config)
        assert result.parent.tolist() == ROOTS.tolist()
        assert result.converged and result.frontier == []
        if functions in (jump, jump_active):  # all but roots and their children move up
            changed = run(path, functions, fields, config=config).frontier
            assert changed == [v for v in range(40) if v % 20 < 18]


@weft.vertex
def assign_bits(v):
    v.x = weft.where(v.x.at(v.id).load() > 100, v.x.at(v.id).load(), v.y)
    v.flag = v.flag.at(v.id).load() | (v.id == 3)


def test_rule_24_live_changes_are_bit_for_bit(g):
    x = np.array([np.nan, 0.0, -0.0, 1.0, 2.0, 200.0])
    y = np.array([np.nan, -0.0, -0.0, 1.0, 5.0, np.inf])
    flag = np.array([True, False, False, False, False, True])
    result = agreed(g, assign_bits, {"x": x, "y": y, "flag": flag})
    assert result.frontier == [1, 3, 4]


@weft.vertex(order_free=True)
def assign_and_write(v):
    v.x.at(v.id).add(1)
    v.y.at(v.id).add(1)
    v.x = v.x.at(v.id).load() + 1


def test_rule_24_writes_by_at_are_no_changes(g):
    fields = {"x": np.arange(6), "y": np.arange(6)}
    assert agreed(g, assign_and_write, fields).frontier == []


@weft.vertex(order_free=True)
def hook(v):
    v.parent.at(v.parent).min(v.id)


@weft.vertex(order_free=True)
def hook_everywhere(v, top):
    v.parent.at(v.parent).min(v.id)
    weft.reduce("top", v.id, weft.max)


@weft.edge(order_free=True)
def hook_ends(u, v, e):
    v.parent.at(v.parent).min(u.id)
    return False


def test_rule_24_a_loop_that_cannot_go_on_says_so():
    g = weft.Graph.from_edges([], [], num_vertices=0)  # nothing is compiled for it
    fields = {"parent": np.zeros(0, int), "count": np.zeros(0, int), "top": weft.scalar(0)}
    for functions in (hook, [count, hook], weft.fold(count, hook)):
        for more in ({}, {"max_iter": 3}):
            with pytest.raises(TraceError, match=r"'hook' only writes .*v\.changed.*g\.run"):
                run(g, functions, fields, mode="iterate", **more)
    # What is run once, or goes on by other means, is no error.
    assert run(g, hook, fields).frontier == []
    for functions, more in (
        (hook_everywhere, {"until": lambda top: top >= 5}),
        (hook, {"refill": weft.vertex(lambda v: v.count > 0)}),
        (hook_ends, {}),
        ([hook, count], {"max_iter": 2}),
    ):
        run(g, functions, fields, mode="iterate", **more)


@weft.vertex
def look_only(v):
    v.parent = v.label.at(v.parent).load()


@weft.vertex
def relabel(v):
    v.label = v.parent


@weft.vertex
def chase(v):
    v.parent = v.parent.at(v.parent).load()


def test_rule_24_deterministic_runs_load_what_nobody_writes(g):
    config = weft.Config(deterministic=True)
    fields = {"parent": np.array([1, 2, 3, 4, 5, 0]), "label": np.array([5, 4, 3, 2, 1, 0])}
    assert agreed(g, look_only, fields, configs=[config]).parent.tolist() == [4, 3, 2, 1, 0, 5]
    # The barrier between the functions of a list orders its loads and writes; a fold has none.
    agreed(g, [look_only, relabel], fields, configs=[config])
    for functions in (chase, weft.fold(look_only, relabel), weft.vertex(hook.function)):
        with pytest.raises(ConfigError, match=r"deterministic=True cannot .*order_free=True"):
            run(g, functions, fields, config=config)
    with pytest.raises(ConfigError, match="'chase': it accesses 'parent' through"):
        run(g, look_only, fields, mode="iterate", refill=chase, max_iter=1, config=config)
    run(g, jump, fields, config=config)


@weft.vertex
def rise(v):
    v.before = v.old.x
    v.x = v.x.at(v.id).load() + v.step
    v.changed = True


@weft.edge(into="got", reduce=weft.sum, active=lambda v, old: v.x > old.x + 1)
def bump(u, v, e):
    v.x.at(v.id).add(1)
    return v.old.x


def test_old_values_of_live_fields_are_kept(g):
    fields = {
        "x": np.array([0, 10, 20, 30, 40, 50]), "before": np.zeros(6, int), "got": np.zeros(6, int),
        "step": np.array([1, 0, 2, 0, 3, 0]),
    }  # fmt: skip
    result = agreed(g, rise, fields, mode="iterate", max_iter=3)
    assert result.before.tolist() == [1, 10, 22, 30, 43, 50]  # the value before the last change
    # Two edges lead to 3, and four to 2: the others are not raised by more than one.
    result = agreed(g, bump, fields, configs=DIRECTIONS)
    assert result.frontier == [2, 3] and result.x.tolist() == [1, 11, 24, 32, 40, 50]


@weft.vertex
def raise_five(v):
    v.x = v.x + 5


@weft.vertex
def raise_live(v):
    v.x.at(v.id).add(1)
    v.y = v.x


@weft.vertex
def gather_far(v):
    v.x = v.x + v.gather(lambda u, e: u.x, weft.sum)


@weft.vertex
def look_at_self(v):
    v.y = v.x.at(v.id).load()


@weft.vertex
def gather_near_and_far(v):
    v.y = v.x + 100 * v.gather(lambda u, e: u.x, weft.sum)


@weft.vertex(active=lambda v, old: v.x.at(v.id).load() > old.x + 1)
def gather_and_test(v):
    v.x = v.x + v.gather(lambda u, e: u.x, weft.sum)


@weft.edge(into="x", reduce=weft.sum)
def send_one(u, v, e):
    return 1


@pytest.mark.parametrize(
    "functions",
    [
        weft.fold(raise_five, raise_live),
        weft.fold(look_at_self, gather_far),
        weft.fold(gather_far, look_at_self),
        weft.fold(raise_live, gather_near_and_far),
        weft.fold(send_one, look_at_self, gather_far),
        gather_and_test,
    ],
    ids=["own", "live_first", "live_last", "near_and_far", "after_edges", "active"],
)
def test_only_functions_in_which_a_field_is_live_see_it_as_it_is(path, functions):
    agreed(path, functions, {"x": np.arange(40) % 7, "y": np.zeros(40, int)})
