"""The interpreter, rule by rule: it is the definition that every backend is compared with."""

import numpy as np
import pytest

from oracle import PlainState, run_interpreted
from weft.errors import FaultError
from weft.graph import Graph
from weft.ir.trace import functions as fn
from weft.ir.trace import monoids as m
from weft.ir.trace.neighbors import common
from weft.ir.trace.proxies import send
from weft.program import edge, fold, vertex

DIAMOND = ([0, 0, 1, 2], [1, 2, 3, 3])  # 0 -> 1, 2 -> 3


def ints(*values):
    return np.array(values, np.int64)


def reals(*values):
    return np.array(values, np.float64)


def state(scalars=None, edge_fields=None, **fields):
    scalars = {name: np.array([value]) for name, value in (scalars or {}).items()}
    return PlainState(fields, scalars, edge_fields or {})


def graph(src, dst, **options):
    return Graph.from_edges(src, dst, **options)


def run(g, functions, plain, frontier=None, **options):
    return run_interpreted(g, functions, plain, frontier, mode="run", **options)


# -- running


def test_rule_1_an_edge_step_accumulates_onto_the_old_value():
    add = edge(lambda u, v, e: u.x, into="x", reduce=m.sum)
    result = run(graph(*DIAMOND), add, state(x=ints(1, 10, 20, 100)))
    assert result.x.tolist() == [1, 11, 21, 130]


def test_rule_1_any_replaces_and_takes_the_smallest_edge_id_in_order():
    take = edge(lambda u, v, e: u.id, into="x", reduce=m.any)
    result = run(graph(*DIAMOND), take, state(x=ints(9, 9, 9, 9)))
    assert result.x.tolist() == [9, 0, 0, 1]


def test_rule_1_a_gather_starts_from_the_identity_and_does_not_see_the_frontier():
    @vertex
    def total(v):
        v.x = v.gather(lambda u, e: u.x, m.sum)

    result = run(graph(*DIAMOND), total, state(x=ints(1, 10, 20, 100)), [3])
    assert result.x.tolist() == [1, 10, 20, 30]


@pytest.mark.parametrize(
    ("monoid", "identity"),
    [(m.sum, 0), (m.prod, 1), (m.min, 2**63 - 1), (m.max, -(2**63)), (m.or_, 0), (m.and_, -1),
     (m.any, 0), (m.mode, 0), (m.monoid(lambda a, b: a ^ b, 7), 7)],
)  # fmt: skip
def test_rule_1_a_gather_without_messages_gives_the_identity(monoid, identity):
    @vertex
    def total(v):
        v.x = v.gather(lambda u, e: u.x, monoid)

    assert run(graph([], [], num_vertices=1), total, state(x=ints(5))).x.tolist() == [identity]


def test_rule_1_a_gather_without_messages_gives_no_payload():
    @vertex
    def best(v):
        v.key, v.parent = v.gather(lambda u, e: (u.key, u.id), m.argmin)

    result = run(graph([0], [1]), best, state(key=reals(3, 4), parent=ints(0, 0)))
    assert result.key.tolist() == [np.inf, 3.0]
    assert result.parent.tolist() == [-1, 0]


def test_rule_2_only_edges_out_of_the_frontier_send():
    add = edge(lambda u, v, e: 1, into="x", reduce=m.sum)
    result = run(graph(*DIAMOND), add, state(x=ints(0, 0, 0, 0)), [0, 1])
    assert result.x.tolist() == [0, 1, 1, 1]
    assert result.frontier == [1, 2, 3]


def test_rule_2_an_arc_frontier_sends_along_its_arcs_alone():
    add = edge(lambda u, v, e: e.id + 1, into="x", reduce=m.sum)
    result = run(graph(*DIAMOND), add, state(x=ints(0, 0, 0, 0)), [1, 3], arcs=True)
    assert result.x.tolist() == [0, 0, 2, 4]


def test_rule_3_accept_sees_the_state_at_the_beginning():
    once = edge(lambda u, v, e: 1, into="x", reduce=m.sum, accept=lambda v: v.x == 0)
    result = run(graph([0, 1, 2], [3, 3, 3]), once, state(x=ints(0, 0, 0, 0)))
    assert result.x.tolist() == [0, 0, 0, 3]


def test_rule_4_a_message_is_sent_only_where_its_condition_holds():
    @edge(into="x", reduce=m.sum)
    def odd(u, v, e):
        return send(u.id, when=u.id % 2 == 1)

    result = run(graph([0, 1, 2, 3], [4, 4, 4, 4]), odd, state(x=ints(0, 0, 0, 0, 0)))
    assert result.x.tolist() == [0, 0, 0, 0, 4]


def test_rule_5_changed_compares_bit_for_bit_and_nan_equals_nan():
    @vertex
    def rewrite(v):
        v.x = v.y

    nan = np.nan
    before = state(x=reals(0.0, nan, 1.0, 2.0), y=reals(-0.0, -nan, 1.0, 3.0))
    assert run(graph([], [], num_vertices=4), rewrite, before).frontier == [0, 3]


def test_rule_5_a_field_that_returns_to_its_value_has_not_changed():
    @vertex
    def there_and_back(v):
        v.x = v.x + 1
        v.x = v.x - 1

    assert run(graph([], [], num_vertices=2), there_and_back, state(x=ints(1, 2))).frontier == []


def test_rule_5_a_set_condition_replaces_the_changed_test():
    @vertex
    def mark(v):
        v.x = v.x + 1
        v.changed = v.id == 1

    @vertex
    def answer(v):
        v.x = v.x + 1
        return v.id == 2

    g = graph([], [], num_vertices=3)
    assert run(g, mark, state(x=ints(0, 0, 0))).frontier == [1]
    assert run(g, answer, state(x=ints(0, 0, 0))).frontier == [2]


def test_rule_6_active_sees_both_states_and_only_where_a_message_arrived():
    asked = edge(lambda u, v, e: u.x, into="x", reduce=m.sum, active=lambda v, old: v.x - old.x < 5)
    # 1 gets 3, 2 gets 9 and 3 gets nothing, though active would hold there.
    result = run(graph([0, 4], [1, 2]), asked, state(x=ints(3, 0, 0, 0, 9)))
    assert result.frontier == [1]


def test_rule_6_active_of_a_vertex_step():
    @vertex(active=lambda v, old: v.x > 2 * old.x)
    def grow(v):
        v.x = v.x + 2

    assert run(graph([], [], num_vertices=3), grow, state(x=ints(1, 2, 3))).frontier == [0]


def test_rule_7_a_vertex_function_runs_at_the_frontier():
    @vertex
    def count(v):
        v.x = v.x + 1

    result = run(graph(*DIAMOND), count, state(x=ints(0, 0, 0, 0)), [1, 3])
    assert result.x.tolist() == [0, 1, 0, 1]
    assert result.frontier == [1, 3]


def smallest(wake, direction="in"):
    @vertex(wake=wake)
    def take(v):
        v.x = fn.minimum(v.x, v.gather(lambda u, e: u.x, m.min, direction=direction))

    return take


def test_rule_7_wake_decides_the_next_frontier():
    g = graph([0, 1, 2], [1, 2, 3])
    before = state(x=ints(0, 9, 9, 9))
    assert run_interpreted(g, smallest(None), before).sizes == [4, 4, 4, 4]
    assert run_interpreted(g, smallest("neighbors"), before).sizes == [4, 1, 1]
    assert run_interpreted(g, smallest("changed"), before).sizes == [4, 1]


@pytest.mark.parametrize(("direction", "woken"), [("in", [3]), ("out", [1]), ("both", [1, 3])])
def test_rule_7_neighbors_are_those_that_gather_from_a_changed_vertex(direction, woken):
    @vertex(wake="neighbors")
    def touch(v):
        v.x = v.x + v.gather(lambda u, e: 0, m.sum, direction=direction)
        v.changed = v.id == 2

    result = run_interpreted(
        graph([1, 2], [2, 3], num_vertices=5), touch, state(x=ints(0, 0, 0, 0, 0)), max_iter=1
    )
    assert result.frontier == woken


def test_rule_8_each_step_sees_what_the_ones_before_it_wrote():
    @vertex
    def double(v):
        v.y = 2 * v.x

    push = edge(lambda u, v, e: u.x, into="x", reduce=m.sum)
    result = run(graph(*DIAMOND), [push, double], state(x=ints(1, 1, 1, 1), y=ints(0, 0, 0, 0)))
    assert result.x.tolist() == [1, 2, 2, 3]
    assert result.y.tolist() == [0, 4, 4, 6]


def test_rule_8_on_all_ignores_the_frontier():
    @vertex(on="all")
    def count(v):
        v.x = v.x + 1

    add = edge(lambda u, v, e: 1, into="y", reduce=m.sum, on="all")
    before = state(x=ints(0, 0, 0, 0), y=ints(0, 0, 0, 0))
    result = run(graph(*DIAMOND), [count, add], before, [])
    assert result.x.tolist() == [1, 1, 1, 1]
    assert result.y.tolist() == [0, 1, 1, 2]


def test_rule_10_own_reads_follow_program_order_and_others_see_the_beginning():
    @vertex
    def shift(v):
        v.x = v.x + 100
        v.y = v.x + v.gather(lambda u, e: u.x, m.sum)

    result = run(graph([0, 1], [1, 0]), shift, state(x=ints(1, 2), y=ints(0, 0)))
    assert result.x.tolist() == [101, 102]
    assert result.y.tolist() == [103, 103]


def test_rule_13_a_scalar_is_set_anew_and_visible_after_the_step():
    @vertex
    def measure(v, total):
        fn.reduce("total", v.x, m.sum)
        v.seen = total

    g = graph([], [], num_vertices=3)
    before = state({"total": 5}, x=ints(1, 2, 3), seen=ints(0, 0, 0))
    once = run(g, measure, before)
    assert once.seen.tolist() == [5, 5, 5]
    assert once.state.scalars["total"].tolist() == [6]
    twice = run(g, [measure, vertex(measure.function, on="all")], before)
    assert twice.seen.tolist() == [6, 6, 6]
    assert twice.state.scalars["total"].tolist() == [6]


def test_rule_13_a_scalar_that_nobody_reduced_is_the_identity():
    @vertex
    def measure(v):
        fn.reduce("low", v.x, m.min)

    plain = state({"low": 5}, x=ints(1))
    result = run(graph([], [], num_vertices=1), measure, plain, [])
    assert result.state.scalars["low"].tolist() == [2**63 - 1]


def test_rule_13_superstep_and_num_vertices_are_loads():
    @vertex(wake="all")
    def note(v):
        v.x = v.x + 10 * fn.superstep() + fn.num_vertices()

    result = run_interpreted(graph([], [], num_vertices=2), note, state(x=ints(0, 0)), max_iter=3)
    assert result.x.tolist() == [36, 36]


# -- end, refill, trail


def counter():
    @vertex
    def count(v, limit):
        fn.reduce("most", v.x + 1, m.max)
        v.x = fn.minimum(v.x + 1, limit)

    return count


def test_rule_15_the_ways_to_end():
    g = graph([], [], num_vertices=2)
    before = state({"most": 0, "limit": 3}, x=ints(0, 1))
    whole = run_interpreted(g, counter(), before)
    assert (whole.outcome.steps, whole.outcome.converged, whole.frontier) == (4, True, [])
    assert whole.sizes == [2, 2, 2, 1]
    cut = run_interpreted(g, counter(), before, max_iter=2)
    assert (cut.outcome.steps, cut.outcome.converged, cut.frontier) == (2, False, [0, 1])
    until = run_interpreted(g, counter(), before, until=lambda most: most >= 2, max_iter=1)
    assert (until.outcome.steps, until.outcome.converged) == (1, True)
    ended = run_interpreted(g, counter(), before, max_iter=4)
    assert (ended.outcome.steps, ended.outcome.converged) == (4, True)


@pytest.mark.parametrize("options", [{"frontier": []}, {"max_iter": 0}])
def test_rule_15_zero_supersteps(options):
    before = state({"most": 0, "limit": 3}, x=ints(0, 1))
    result = run_interpreted(graph([], [], num_vertices=2), counter(), before, **options)
    assert result.outcome.steps == 0
    assert result.x.tolist() == [0, 1]
    assert result.outcome.converged == ("frontier" in options)


def components():
    """Flood one component after another: the smallest unlabelled vertex starts a round."""
    flood = edge(lambda u, v, e: u.label, into="label", reduce=m.any, accept=lambda v: v.label < 0)

    @vertex
    def least(v):
        fn.reduce("first", fn.where(v.label < 0, v.id, fn.num_vertices()), m.min)

    @vertex(on="all")
    def start(v, first):
        chosen = v.id == first
        v.label = fn.where(chosen, v.id, v.label)
        return chosen

    return flood, [least, start]


def test_rule_16_refill_starts_a_new_round_until_it_finds_nobody():
    flood, refill = components()
    g = graph([0, 1, 4], [1, 2, 5], num_vertices=6, directed=False)
    before = state({"first": 0}, label=ints(-1, -1, -1, -1, -1, -1))
    result = run_interpreted(g, flood, before, [], refill=refill)
    assert result.label.tolist() == [0, 0, 0, 3, 4, 4]
    assert result.outcome.converged
    assert result.sizes == [1, 1, 1, 1, 1, 1]
    cut = run_interpreted(g, flood, before, [], refill=refill, max_iter=3)
    assert (cut.outcome.converged, cut.frontier) == (False, [3])


def test_rule_17_a_trail_is_replayed_last_to_first():
    @edge(into="level", reduce=m.any, accept=lambda v: v.level < 0)
    def discover(u, v, e):
        return u.level + 1

    @vertex
    def note(v):
        v.order = fn.superstep()

    before = state(level=ints(0, -1, -1, -1), order=ints(-1, -1, -1, -1))
    forward = run_interpreted(graph(*DIAMOND), discover, before, [0], trail=True)
    trail = forward.outcome.trail
    assert [part.tolist() for part in trail] == [[0], [1, 2], [3]]
    backward = run_interpreted(graph(*DIAMOND), note, before, replay=trail)
    assert backward.outcome.steps == 3
    assert backward.order.tolist() == [2, 1, 1, 0]


# -- folds


def test_rule_9_edge_functions_follow_each_other_where_the_one_before_sent():
    first = edge(lambda u, v, e: send(1, when=u.id < 2), into="x", reduce=m.sum)

    @edge
    def second(u, v, e):
        u.hits.at(v.id).add(u.x)  # x as it was when the fold began
        return v.id == 2

    before = state(x=ints(5, 6, 7, 8), hits=ints(0, 0, 0, 0))
    result = run(graph(*DIAMOND), fold(first, second), before)
    assert result.x.tolist() == [5, 7, 8, 9]
    assert result.hits.tolist() == [0, 5, 5, 6]
    assert result.frontier == [2]


def test_rule_9_a_vertex_run_sees_its_vertex_as_the_edge_run_left_it_and_others_before():
    push = edge(lambda u, v, e: u.x, into="x", reduce=m.sum)

    @vertex
    def look(v):
        v.own = v.x
        v.others = v.gather(lambda u, e: u.x, m.sum)

    before = state(x=ints(1, 1, 1, 1), own=ints(0, 0, 0, 0), others=ints(0, 0, 0, 0))
    folded = run(graph(*DIAMOND), fold(push, look), before)
    assert folded.own.tolist() == [0, 2, 2, 3]
    assert folded.others.tolist() == [0, 1, 1, 2]
    listed = run(graph(*DIAMOND), [push, look], before)
    assert listed.own.tolist() == [0, 2, 2, 3]
    assert listed.others.tolist() == [0, 1, 1, 4]


def test_rule_9_vertex_functions_follow_each_other_where_the_one_before_returned_true():
    @vertex
    def first(v):
        v.x = v.x + 1
        return v.x > 1

    @vertex
    def second(v):
        v.y = v.x * 10

    before = state(x=ints(0, 1, 2), y=ints(0, 0, 30))
    result = run(graph([], [], num_vertices=3), fold(first, second), before)
    assert result.x.tolist() == [1, 2, 3]
    assert result.y.tolist() == [0, 20, 30]
    assert result.frontier == [1]


def test_rule_9_an_edge_run_after_a_vertex_run_sees_what_it_wrote():
    @vertex
    def double(v):
        v.x = 2 * v.x

    push = edge(lambda u, v, e: u.x, into="y", reduce=m.sum)
    before = state(x=ints(1, 2, 3, 4), y=ints(0, 0, 0, 0))
    assert run(graph(*DIAMOND), fold(double, push), before).y.tolist() == [0, 2, 2, 10]


def test_rule_9_own_edge_state_follows_program_order():
    @edge
    def write(u, v, e):
        e.load = u.id + 1

    add = edge(lambda u, v, e: e.load, into="x", reduce=m.sum)
    before = state(edge_fields={"load": ints(0, 0, 0, 0)}, x=ints(0, 0, 0, 0))
    assert run(graph(*DIAMOND), fold(write, add), before).x.tolist() == [0, 1, 1, 5]


def test_rule_9_a_scalar_of_an_edge_run_is_visible_to_the_vertex_run():
    @edge
    def measure(u, v, e):
        fn.reduce("total", u.x, m.sum)

    @vertex
    def note(v, total):
        v.y = total

    before = state({"total": 0}, x=ints(1, 2, 3, 4), y=ints(0, 0, 0, 0))
    assert run(graph(*DIAMOND), fold(measure, note), before).y.tolist() == [0, 7, 7, 7]


# -- messages and monoids


def test_rule_18_argmin_takes_the_whole_tuple_and_only_a_strict_improvement_writes():
    best = edge(lambda u, v, e: (u.key, u.id), into=("key", "parent"), reduce=m.argmin)
    before = state(key=ints(4, 4, 9, 5), parent=ints(-1, -1, -1, -1))
    result = run(graph([0, 1, 0, 1, 2], [2, 2, 3, 3, 3]), best, before)
    assert result.key.tolist() == [4, 4, 4, 4]
    assert result.parent.tolist() == [-1, -1, 0, 0]
    equal = run(graph([0], [1]), best, state(key=ints(4, 4), parent=ints(-1, -1)))
    assert equal.parent.tolist() == [-1, -1]
    assert equal.frontier == []


def test_rule_18_argmax_is_its_mirror():
    best = edge(lambda u, v, e: (u.key, u.id), into=("key", "parent"), reduce=m.argmax)
    result = run(graph([0, 1], [2, 2]), best, state(key=reals(1, 3, 2), parent=ints(9, 9, 9)))
    assert result.parent.tolist() == [9, 9, 1]


def test_rule_18_any_takes_the_whole_tuple_of_one_edge():
    take = edge(lambda u, v, e: (u.id, -u.id), into=("x", "y"), reduce=m.any)
    before = state(x=ints(0, 0, 0, 0, 0), y=ints(0, 0, 0, 0, 0))
    for seed in range(5):
        result = run(graph([0, 1, 2, 3], [4, 4, 4, 4]), take, before, shuffle=seed)
        assert result.x[4] == -result.y[4]


def test_rule_18_a_tuple_of_monoids_reduces_each_part_for_itself():
    both = edge(lambda u, v, e: (u.x, u.y), into=("x", "y"), reduce=(m.min, m.max))
    result = run(graph([0, 1], [2, 2]), both, state(x=ints(3, 4, 9), y=ints(3, 4, 0)))
    assert (result.x[2], result.y[2]) == (3, 4)


def test_rule_20_a_user_monoid_combines_by_its_function():
    longest = m.monoid(lambda a, b: fn.where(abs(a) > abs(b), a, b), 0.0)
    keep = edge(lambda u, v, e: u.x, into="x", reduce=longest)
    assert run(graph([0, 1], [2, 2]), keep, state(x=reals(3, -7, 5))).x.tolist() == [3, -7, -7]


def test_rule_21_min_and_max_ignore_nan():
    low = edge(lambda u, v, e: u.x, into="x", reduce=m.min)
    nan = np.nan
    result = run(graph([0, 1, 1], [2, 2, 3]), low, state(x=reals(5, nan, nan, nan)))
    assert result.x[2] == 5
    assert np.isnan(result.x[3])
    assert result.frontier == [2]


def test_rule_22_mode_takes_the_most_frequent_and_the_smallest_on_ties():
    @vertex
    def vote(v):
        v.x = v.gather(lambda u, e: u.x, m.mode)

    g = graph([0, 1, 2, 3, 4, 0, 2], [5, 5, 5, 5, 5, 6, 6])
    assert run(g, vote, state(x=ints(7, 2, 2, 7, 9, 0, 0))).x.tolist() == [0, 0, 0, 0, 0, 2, 2]


@pytest.mark.parametrize(("direction", "counts"), [
    ("in", [1, 1, 2]), ("out", [2, 1, 1]), ("both", [3, 2, 3])
])  # fmt: skip
def test_rule_22_gathers_go_over_in_edges_out_edges_or_both(direction, counts):
    @vertex
    def count(v):
        v.x = v.gather(lambda u, e: 1, m.sum, direction=direction)

    g = graph([0, 1, 2, 0], [2, 2, 0, 1])
    assert run(g, count, state(x=ints(0, 0, 0))).x.tolist() == counts


def test_rule_23_u_is_the_far_end_of_an_out_edge():
    @vertex
    def look(v):
        v.x = v.gather(lambda u, e: 10 * u.id + e.rank, m.max, direction="out")

    assert run(graph([0, 0], [1, 2]), look, state(x=ints(0, 0, 0)), [0]).x.tolist() == [21, 0, 0]


# -- live access


def test_rule_24_live_accesses_act_on_current_memory():
    @vertex
    def hop(v):
        root = v.parent.at(v.parent)
        v.changed = root != v.parent
        v.parent = root

    result = run_interpreted(graph([], [], num_vertices=5), hop, state(parent=ints(0, 0, 1, 2, 3)))
    assert result.parent.tolist() == [0, 0, 0, 0, 0]


def test_rule_24_live_writes_do_not_enter_the_frontier():
    @vertex
    def scatter(v):
        v.x.at((v.id + 1) % 3).add(v.id)
        v.y = v.id

    before = state(x=ints(0, 0, 0), y=ints(0, 0, 0))
    result = run(graph([], [], num_vertices=3), scatter, before)
    assert result.x.tolist() == [2, 0, 1]
    assert result.frontier == [1, 2]


def test_rule_24_live_operations_return_the_value_before():
    @vertex
    def operate(v):
        v.a = v.x.at(0).min(3)
        v.b = v.x.at(0).cas(3, 8)
        v.c = v.x.at(0).cas(3, 9)
        v.d = v.x.at(0).or_(1)
        v.x.at(1).set(v.x.at(0).load())

    before = state(x=ints(5, 0), **{name: ints(0, 0) for name in "abcd"})
    result = run(graph([], [], num_vertices=2), operate, before, [0])
    assert [int(result.state.fields[name][0]) for name in "abcd"] == [5, 3, 8, 8]
    assert result.x.tolist() == [9, 9]


def test_rule_25_computed_vertices():
    @vertex
    def walk(v):
        v.x = 100 * fn.degree(v.id) + 10 * fn.neighbor(v.id, 1) + fn.neighbor_edge(v.id, 1)

    assert run(graph(*DIAMOND), walk, state(x=ints(0, 0, 0, 0)), [0]).x.tolist() == [221, 0, 0, 0]


def test_rule_25_random_numbers_are_a_function_of_key_and_counter():
    from weft.arrays.random import random_bits, random_unit

    @vertex
    def draw(v):
        v.x = fn.random(v.id, 7)
        v.bits = fn.random_bits(-1, v.id)

    before = state(x=reals(0, 0, 0), bits=np.zeros(3, np.uint64))
    result = run(graph([], [], num_vertices=3), draw, before)
    assert result.x.tolist() == [random_unit(i, 7) for i in range(3)]
    assert result.bits.tolist() == [random_bits(-1, i) for i in range(3)]


# -- edges


def test_rule_26_both_arcs_of_an_edge_read_its_column():
    @vertex
    def total(v):
        v.x = v.gather(lambda u, e: 10 * e.weight + e.id, m.sum)

    g = graph([0, 1], [1, 2], weight=[3, 5], directed=False)
    assert run(g, total, state(x=ints(0, 0, 0))).x.tolist() == [30, 81, 51]


def test_rule_27_edge_state_belongs_to_an_arc_and_is_visible_after_the_step():
    @edge
    def exchange(u, v, e):
        e.load = e.reverse.load + u.id

    g = graph([0, 1], [1, 2], directed=False)  # arcs 0-1, 1-0, 1-2, 2-1
    before = state(edge_fields={"load": ints(10, 20, 30, 40)}, x=ints(0, 0, 0))
    result = run(g, exchange, before)
    assert result.state.edge_fields["load"].tolist() == [20, 11, 41, 32]
    assert result.frontier == [0, 1, 2]


def test_rule_28_parallel_edges_each_send_and_a_self_loop_counts_once():
    add = edge(lambda u, v, e: 1, into="x", reduce=m.sum)

    @vertex
    def degrees(v):
        v.y = 10 * v.out_degree + v.in_degree

    before = state(x=ints(0, 0), y=ints(0, 0))
    result = run(graph([0, 0, 1], [1, 1, 1]), [add, vertex(degrees.function, on="all")], before)
    assert result.x.tolist() == [0, 3]
    assert result.y.tolist() == [20, 13]
    undirected = run(graph([0, 0, 1], [1, 1, 1], directed=False), add, before)
    assert undirected.x.tolist() == [2, 3]


def test_rule_31_the_weight_of_an_unweighted_edge_is_one():
    add = edge(lambda u, v, e: e.weight, into="x", reduce=m.sum)
    assert run(graph(*DIAMOND), add, state(x=ints(0, 0, 0, 0))).x.tolist() == [0, 1, 1, 2]


def test_old_is_the_value_before_the_last_change():
    @vertex(wake="all")
    def step(v):
        v.seen = v.old.x
        v.x = fn.where(v.id == 0, v.x, v.x + 1)

    g = graph([], [], num_vertices=2)
    result = run_interpreted(g, step, state(x=ints(5, 5), seen=ints(0, 0)), max_iter=3)
    assert result.x.tolist() == [5, 8]
    assert result.seen.tolist() == [5, 6]
    assert result.state.fields["old.x"].tolist() == [5, 7]


def test_old_of_an_edge_step_can_be_asked_by_active():
    add = edge(
        lambda u, v, e: u.x, into="x", reduce=m.sum, active=lambda v, before: v.x > 2 * v.old.x
    )
    result = run(graph([0, 1], [1, 2]), add, state(x=ints(5, 2, 9)))
    assert result.frontier == [1]


def test_common_combines_over_the_set_of_common_out_neighbors():
    count = edge(lambda u, v, e: common(u, v, lambda w: 1, m.sum), into="x", reduce=m.sum)
    # 0 and 1 share 2 (parallel arcs count once) and 1 itself, which points to itself.
    g = graph([0, 0, 0, 1, 1, 1], [1, 2, 2, 2, 2, 1])
    assert run(g, count, state(x=ints(0, 0, 0)), [0]).x.tolist() == [0, 2, 0]


# -- loops, features, faults


def test_loops_carry_their_state():
    @vertex
    def loops(v):
        v.x = fn.for_range(0, v.id, lambda i, total: total + i, 0)
        v.y, v.z = fn.while_loop(
            lambda a, b: a > 1, lambda a, b: (fn.where(a % 2 == 0, a // 2, 3 * a + 1), b + 1),
            v.id + 1, 0,
        )  # fmt: skip

    before = state(x=ints(0, 0, 0, 0), y=ints(0, 0, 0, 0), z=ints(0, 0, 0, 0))
    result = run(graph([], [], num_vertices=4), loops, before)
    assert result.x.tolist() == [0, 0, 1, 3]
    assert result.y.tolist() == [1, 1, 1, 1]
    assert result.z.tolist() == [0, 1, 7, 2]


def test_vectors_combine_feature_by_feature():
    add = edge(lambda u, v, e: u.x, into="x", reduce=m.sum)
    before = state(x=np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    result = run(graph([0, 1], [2, 2]), add, before)
    assert result.x.tolist() == [[1, 2], [3, 4], [9, 12]]
    assert result.frontier == [2]


FEATURES = {
    "outer": (lambda a, x, y: fn.outer(x, y), lambda a, x, y: np.outer(x, y)),
    "dot": (lambda a, x, y: fn.dot(x, y), lambda a, x, y: x @ y),
    "matvec": (lambda a, x, y: a @ x, lambda a, x, y: a @ x),
    "vecmat": (lambda a, x, y: x @ a, lambda a, x, y: x @ a),
    "matmul": (lambda a, x, y: a @ a.T, lambda a, x, y: a @ a.T),
    "solve": (lambda a, x, y: fn.solve(a, x), lambda a, x, y: np.linalg.solve(a, x)),
    "inverse": (lambda a, x, y: fn.inverse(a), lambda a, x, y: np.linalg.inv(a)),
    "by sum": (lambda a, x, y: fn.normalize(x), lambda a, x, y: x / x.sum()),
    "by l2": (lambda a, x, y: fn.normalize(x, "l2"), lambda a, x, y: x / np.linalg.norm(x)),
    "by max": (lambda a, x, y: fn.normalize(x, "max"), lambda a, x, y: x / x.max()),
    "by softmax": (
        lambda a, x, y: fn.normalize(x, "softmax"),
        lambda a, x, y: np.exp(x) / np.exp(x).sum(),
    ),
    "sum": (lambda a, x, y: m.sum(x), lambda a, x, y: x.sum()),
    "max": (lambda a, x, y: m.max(a), lambda a, x, y: a.max()),
    "prod": (lambda a, x, y: m.prod(x), lambda a, x, y: x.prod()),
    "any": (lambda a, x, y: m.any(x > 2), lambda a, x, y: np.any(x > 2)),
    "all": (lambda a, x, y: m.and_(x > 2), lambda a, x, y: np.all(x > 2)),
    "argmin": (lambda a, x, y: m.argmin(x), lambda a, x, y: np.argmin(x)),
    "argmax": (lambda a, x, y: m.argmax(y), lambda a, x, y: np.argmax(y)),
    "eye": (lambda a, x, y: a + fn.eye(3), lambda a, x, y: a + np.eye(3)),
    "stack": (lambda a, x, y: fn.stack([x[2], y[0], 1.0]), lambda a, x, y: [x[2], y[0], 1.0]),
    "rows": (lambda a, x, y: fn.stack([a[1], x]), lambda a, x, y: np.stack([a[1], x])),
    "broadcast": (lambda a, x, y: a * x + 1, lambda a, x, y: a * x + 1),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FEATURES)
def test_features(name, dtype):
    traced, expected = FEATURES[name]
    a = np.array([[4, 1, 0], [1, 3, 1], [0, 1, 5]], dtype)
    x, y = np.array([1.5, 2.5, 3], dtype), np.array([2, -1, 0.5], dtype)
    answer = np.asarray(expected(a, x, y))

    @vertex
    def compute(v):
        v.out = fn.cast(traced(v.a, v.x, v.y), np.float64)

    before = state(a=a[None], x=x[None], y=y[None], out=np.zeros((1, *answer.shape)))
    result = run(graph([], [], num_vertices=1), compute, before)
    np.testing.assert_allclose(result.out[0], answer, rtol=1e-5 if dtype == np.float32 else 1e-12)


FAULTS = {
    "index out of range: field 'x'": lambda v: v.x.at(v.id + 2).load(),
    "index out of range: neighbor 5": lambda v: fn.neighbor(v.id, 5),
    "index out of range: degree": lambda v: fn.degree(-1),
    "loop bound": lambda v: fn.while_loop(lambda i: i >= 0, lambda i: i + 1, 0, bound=10),
    "singular matrix": lambda v: fn.solve(fn.stack([[1.0, 2.0], [2.0, 4.0]]), [1.0, 1.0])[0],
    "index out of range: feature": lambda v: fn.stack([1, 2, 3])[v.id + 2],
}


@pytest.mark.parametrize("cause", FAULTS)
def test_rule_43_faults_name_cause_function_and_vertex(cause):
    def risky(v):
        v.y = fn.cast(FAULTS[cause](v), np.float64)

    before = state(x=ints(0, 0, 0), y=reals(0, 0, 0))
    with pytest.raises(FaultError, match=cause) as caught:
        run(graph([0], [1], num_vertices=3), vertex(risky), before, [1])
    assert "in risky at vertex 1" in str(caught.value)


def test_shuffling_shows_a_program_that_depends_on_order():
    last = m.monoid(lambda a, b: b, 0, name="last")  # not commutative
    take = edge(lambda u, v, e: u.id, into="x", reduce=last)
    g = graph([0, 1, 2, 3], [4, 4, 4, 4])
    before = state(x=ints(0, 0, 0, 0, 0))
    seen = {int(run(g, take, before, shuffle=seed).x[4]) for seed in range(20)}
    assert len(seen) > 1
