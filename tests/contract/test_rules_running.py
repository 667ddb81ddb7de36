"""The rules of running: supersteps, frontiers, lists, folds, loops (rules 1 to 17)."""

import numpy as np
import pytest

import weft
from agreement import DIRECTIONS, THREADS, agreed, run
from weft.backends.cpu.host import run as execute

MOST = np.iinfo(np.int64).max
Y = np.array([1, 2, 3, 4, 5, 6])


@weft.edge(into=("x", "z"), reduce=(weft.sum, weft.any))
def add_and_pick(u, v, e):
    return u.y, u.y


@weft.vertex(on="all")
def collect(v):
    v.total = v.gather(lambda u, e: u.y, weft.sum)
    v.least = v.gather(lambda u, e: u.y, weft.min)


@pytest.mark.parametrize("config", DIRECTIONS[::2])
def test_rule_01_an_edge_step_accumulates_any_replaces_a_gather_starts_anew(g, config):
    fields = {
        "x": 10 * Y, "y": Y, "z": np.full(6, -7), "total": np.full(6, 99), "least": np.full(6, 99),
    }  # fmt: skip
    result = run(g, [add_and_pick, collect], fields, config=config)
    assert result.x.tolist() == [10 + 4, 20 + 1, 30 + 1 + 2 + 2 + 3, 40 + 3 + 5, 50, 60]
    assert result.z[[0, 1, 4, 5]].tolist() == [4, 1, -7, -7]
    assert result.z[2] in (1, 2, 3) and result.z[3] in (3, 5)
    assert result.total.tolist() == [4, 1, 8, 8, 0, 0]
    assert result.least.tolist() == [4, 1, 1, 3, MOST, MOST]


@weft.edge(into="level", reduce=weft.any, accept=lambda v: v.level < 0)
def discover(u, v, e):
    return u.level + 1


@pytest.mark.parametrize("config", DIRECTIONS[::2])
def test_rule_02_only_edges_whose_source_is_in_the_frontier_send(g, config):
    fields = {
        "x": 10 * Y, "y": Y, "z": np.full(6, -7), "total": np.full(6, 99), "least": np.full(6, 99),
    }  # fmt: skip
    result = run(g, [add_and_pick, collect], fields, [1, 4], config=config)
    assert result.x.tolist() == [10, 20, 34, 45, 50, 60]
    # 4 is visited but not in the frontier: what replaces the frontier's test must not let it send.
    level = np.array([0, -1, -1, -1, 0, -1])
    for configuration in (config, weft.Config()):
        found = run(g, discover, {"level": level}, [0], mode="iterate", config=configuration)
        assert found.level.tolist() == [0, 1, 1, 2, 0, -1]


@weft.edge(into="count", reduce=weft.sum, accept=lambda v: v.count < 1)
def count_once(u, v, e):
    return 1


def test_rule_03_accept_sees_the_state_at_the_beginning_of_the_step(g):
    result = agreed(
        g, count_once, {"count": np.zeros(6, int)}, mode="iterate", max_iter=3, configs=DIRECTIONS
    )
    assert result.count.tolist() == [1, 1, 4, 2, 0, 0]  # the second superstep adds nothing
    assert (result.steps, result.frontier, result.converged) == (2, [], True)


@weft.edge(into="level", reduce=weft.any, accept=lambda v: v.level < 0, order_free=True)
def discover_and_tell(u, v, e):
    e.mark = e.mark + 1
    v.seen.at(v.id).add(1)
    weft.reduce("sent", 1, weft.sum)
    return u.level + 1


def test_rule_03_effects_are_those_of_all_edges_that_accept_let_through(g):
    # 2 is reached by 0 and, over two parallel edges, by 1 in the same superstep.
    fields = {"level": np.array([0, 0, -1, -1, -1, -1]), "seen": np.zeros(6, int)}
    fields |= {"sent": weft.scalar(0)}
    marks = {"mark": np.zeros(8, np.int64)}
    result = agreed(g, discover_and_tell, fields, [0, 1], edges=marks, configs=DIRECTIONS)
    assert result.sent == 3 and result.seen.tolist() == [0, 0, 3, 0, 0, 0]
    assert result.mark.tolist() == [0, 1, 1, 1, 0, 0, 0, 0]


@weft.edge(into="x", reduce=weft.sum)
def send_some(u, v, e):
    return weft.send(100 * u.y, when=(u.id < v.id) & (e.weight > 1))


def test_rule_04_send_sends_only_where_its_condition_holds(g):
    result = agreed(g, send_some, {"x": np.zeros(6, int), "y": Y})
    # 0->1 (5), 1->2 (2 and 7), 2->3 (4); not 0->2 (weight 1), 2->2, 3->0, 4->3.
    assert result.x.tolist() == [0, 100, 400, 300, 0, 0]
    assert result.frontier == [1, 2, 3]


@weft.vertex
def assign(v):
    v.x = v.y


@weft.vertex
def assign_and_say(v):
    v.changed = v.y > 4
    v.x = v.y


@weft.edge(into="sum", reduce=weft.sum)
def cancel(u, v, e):
    return u.sign


def test_rule_05_changed_is_bit_for_bit(g):
    x = np.array([np.nan, 0.0, -0.0, 1.0, 2.0, np.inf])
    y = np.array([np.nan, -0.0, -0.0, 1.0, 5.0, np.inf])
    result = agreed(g, assign, {"x": x, "y": y})
    assert result.frontier == [1, 4]
    assert agreed(g, assign_and_say, {"x": x, "y": y}).frontier == [4, 5]
    # Other monoids compare after the step: +1, -1, -1 and +1 arrive at 2 and cancel.
    sign = np.array([1, -1, 1, 0, 2, 3])
    result = agreed(g, cancel, {"sum": np.zeros(6, int), "sign": sign})
    assert result.sum.tolist() == [0, 1, 0, 3, 0, 0]
    assert result.frontier == [1, 3]


@weft.edge(into="x", reduce=weft.max, active=lambda v, old: (v.x >= old.x) & (v.id != 1))
def raise_to(u, v, e):
    return u.y


@weft.vertex(active=lambda v, old: v.x + old.x > 40)
def double(v):
    v.x = 2 * v.x


def test_rule_06_active_sees_the_state_after_and_before(g):
    result = agreed(g, raise_to, {"x": 10 * Y, "y": Y})
    assert result.x.tolist() == (10 * Y).tolist()
    assert result.frontier == [0, 2, 3]  # a message arrived there, though nothing changed
    result = agreed(g, double, {"x": 10 * Y}, [0, 1, 3])
    assert result.x.tolist() == [20, 40, 30, 80, 50, 60]
    assert result.frontier == [1, 3]


@weft.vertex
def decay(v):
    v.x = weft.maximum(v.x - 1, 0)


def spread(wake):
    @weft.vertex(wake=wake)
    def take_largest(v):
        v.x = weft.maximum(v.x, v.gather(lambda u, e: u.x, weft.max))

    return take_largest


def test_rule_07_a_vertex_step_runs_at_its_frontier_and_wakes_by_its_rule(g):
    result = agreed(g, decay, {"x": np.array([3, 0, 1, 2, 9, 9])}, [0, 1, 2, 3])
    assert (result.x.tolist(), result.frontier) == ([2, 0, 0, 1, 9, 9], [0, 2, 3])
    result = agreed(g, decay, {"x": np.array([3, 0, 1, 2, 9, 9])}, [0, 1, 2, 3], mode="iterate")
    assert (result.x.tolist(), result.steps) == ([0, 0, 0, 0, 9, 9], 4)
    start = {"x": np.array([0, 0, 0, 0, 7, 0])}
    for wake, sizes in (
        ("changed", [2, 1, 0]),  # 3 alone is left, and does not change any more
        ("all", [2, 6, 6, 6, 0]),  # 3, then 0, then 1 and 2, then nobody
        ("neighbors", [2, 1, 2, 2, 0]),  # 0, then 1 and 2, then 2 and 3
    ):
        result = agreed(g, spread(wake), start, [3, 5], mode="iterate", trail=True)
        assert [len(part) for part in result.trail] == sizes[:-1], wake
        assert result.x[3] == 7 and (result.x[2] == 7) == (wake != "changed")
    assert spread(None).wake is None
    result = agreed(g, spread(None), start, [3, 5], mode="iterate")
    assert result.steps == 4  # with a gather the default is "all"


@weft.vertex(wake="neighbors")
def count_over_both(v):
    v.x = v.gather(lambda u, e: u.y, weft.sum)
    v.gather(lambda u, e: u.y, weft.sum, direction="out")  # wakes, though nothing uses it
    v.y = v.y + 1


def test_rule_07_gathers_wake_whether_they_are_used_or_not():
    g = weft.Graph.from_edges([0], [1], num_vertices=3)
    fields = {"x": np.zeros(3, int), "y": np.ones(3, int)}
    result = agreed(g, count_over_both, fields, mode="iterate", max_iter=2)
    assert result.y.tolist() == [3, 3, 2] and result.frontier == [0, 1]


@weft.vertex
def stamp(v):
    v.y = v.x + 1


@weft.vertex(on="all")
def everywhere(v):
    v.z = v.x + v.y


def test_rule_08_a_list_has_a_barrier_between_and_hands_the_frontier_on(g):
    @weft.edge(into="x", reduce=weft.sum)
    def arrive(u, v, e):
        return u.x

    fields = {"x": Y, "y": np.zeros(6, int), "z": np.zeros(6, int)}
    result = agreed(g, [arrive, stamp], fields, [2])
    assert result.x.tolist() == [1, 2, 6, 7, 5, 6]
    assert result.y.tolist() == [0, 0, 7, 8, 0, 0]  # at 2 and 3 alone, after all messages
    assert result.frontier == [2, 3]
    result = agreed(g, [arrive, stamp, everywhere], fields, [2])
    assert result.z.tolist() == [1, 2, 13, 15, 5, 6]
    result = agreed(g, [arrive, stamp], fields, [2], mode="iterate", max_iter=2)
    assert result.x.tolist() == [8, 2, 12, 13, 5, 6]  # the last one's output started superstep 2


@weft.edge(into="x", reduce=weft.sum)
def pass_on(u, v, e):
    return weft.send(u.x, when=u.x > 1)


@weft.edge(into="n", reduce=weft.sum)
def count_passed(u, v, e):
    return 1


@weft.vertex
def is_odd(v):
    v.y = v.x
    return v.x % 2 == 1


@weft.vertex
def look_round(v):
    v.z = 100 * v.x + v.gather(lambda u, e: u.x, weft.sum)


def test_rule_09_a_fold_goes_on_where_the_one_before_sent_and_sees_others_as_it_began(g):
    fields = {name: np.zeros(6, int) for name in "nyz"} | {"x": Y}
    fold = weft.fold(pass_on, count_passed, is_odd, look_round)
    result = agreed(g, fold, fields)
    assert result.n.tolist() == [1, 0, 3, 2, 0, 0]  # 0 sends nothing: x is 1 there
    assert result.x.tolist() == [5, 2, 3 + 2 + 2 + 3, 4 + 3 + 5, 5, 6]
    assert result.y.tolist() == [5, 0, 10, 12, 0, 0]  # where the last edge function's field changed
    # 0 alone is odd. It sees itself as it is now, and 3 as it was when the fold began.
    assert result.z.tolist() == [500 + 4, 0, 0, 0, 0, 0]
    assert result.frontier == [0]


@weft.vertex
def own_reads(v):
    v.x = v.x + 1
    seen = v.gather(lambda u, e: u.x + v.x, weft.sum)
    v.y = 1000 * v.x + seen
    v.x = 2 * v.x


def test_rule_10_own_reads_follow_program_order_others_read_as_at_the_beginning(g):
    result = agreed(g, own_reads, {"x": Y, "y": np.zeros(6, int)})
    assert result.x.tolist() == [4, 6, 8, 10, 12, 14]
    # 2 has itself as a neighbour: as u it is read as at the beginning, as v as it is now.
    assert result.y.tolist() == [
        2000 + 4 + 2, 3000 + 1 + 3, 4000 + 1 + 2 + 2 + 3 + 4 * 4, 5000 + 3 + 5 + 2 * 5, 6000, 7000,
    ]  # fmt: skip


@weft.edge(into="dist", reduce=weft.min)
def relax(u, v, e):
    return u.dist + e.weight


@weft.edge(into="dist", reduce=weft.min)
def relax_counting(u, v, e):
    return u.dist + 1 + 0 * weft.superstep()


FAR = np.full(40, 10**6)


def test_rule_11_in_place_relaxation_cannot_be_observed(path):
    start = {"dist": np.concatenate([[0], FAR[1:]])}
    seen = start | {"seen": weft.scalar(2)}
    for config in DIRECTIONS:  # with max_iter each superstep takes one hop
        result = run(path, relax, start, [0], mode="iterate", max_iter=3, config=config)
        assert result.dist[:5].tolist() == [0, 1, 2, 3, 10**6]
    for config in THREADS:
        result = run(path, relax, start, [0], mode="iterate", config=config)
        assert result.dist.tolist() == list(range(40)) and result.converged
        result = run(path, relax, start, config=config)
        assert result.dist[:4].tolist() == [0, 1, 10**6, 10**6]
        result = run(path, relax, seen, mode="iterate", until=lambda seen: seen > 1, config=config)
        assert result.dist[:4].tolist() == [0, 1, 10**6, 10**6] and result.steps == 1


def test_rule_11_the_step_counter_keeps_supersteps_apart(path):
    result = agreed(path, relax_counting, {"dist": np.concatenate([[0], FAR[1:]])}, mode="iterate")
    assert result.dist.tolist() == list(range(40)) and result.steps == 40


@weft.edge(into="dist", reduce=weft.min, priority=lambda v: v.dist)
def relax_ordered(u, v, e):
    return u.dist + e.weight


def test_rule_12_ordering_by_priority_cannot_be_observed():
    g = weft.generators.rmat(7, 6, seed=3, directed=True, weights="float")
    start = np.full(g.num_vertices, np.inf)
    start[3] = 0.0
    configs = [
        weft.Config(threads=1), weft.Config(threads=3), weft.Config(delta=1e-6),
        weft.Config(delta=1e9), weft.Config(ordering=False),
    ]  # fmt: skip
    drawn = g.edge["weight"]
    for weights in (drawn, np.ones_like(drawn), np.zeros_like(drawn)):
        g.edge["weight"] = weights
        expected = run(g, relax, {"dist": start}, [3], mode="iterate").dist.tolist()
        for config in configs:
            result = run(g, relax_ordered, {"dist": start}, [3], mode="iterate", config=config)
            assert result.dist.tolist() == expected
            assert result.converged and result.frontier == []
        result = run(
            g, relax_ordered, {"dist": start}, [3], mode="iterate",
            next_threshold=lambda old, stats: stats.min + 0.25 * (stats.waiting > 2),
        )  # fmt: skip
        assert result.dist.tolist() == expected


@weft.vertex
def approach(v, error, n_seen):
    weft.reduce("error", abs(v.x - 8) + 0 * n_seen, weft.max)
    weft.reduce("n_seen", 1, weft.sum)
    v.x = v.x + weft.superstep() + (error > 1000) * 1000
    v.n = weft.num_vertices()


def test_rule_13_scalars_are_set_anew_by_a_step_and_visible_after_it(g):
    fields = {
        "x": np.array([0, 1, 2, 3, 4, 5]), "n": np.zeros(6, int),
        "error": weft.scalar(7000), "n_seen": weft.scalar(5),
    }  # fmt: skip
    result = agreed(g, approach, fields, [0, 3])
    # error was 7000 while the step ran, and is 8 after it.
    assert result.x.tolist() == [1000, 1, 2, 1003, 4, 5]
    assert (result.error, result.n_seen, result.n.tolist()) == (8, 2, [6, 0, 0, 6, 0, 0])
    result = agreed(
        g, approach, fields | {"error": weft.scalar(0)}, [0, 3], mode="iterate",
        until=lambda error, n_seen: (error < 8) & (n_seen == 2), max_iter=9,
    )  # fmt: skip
    # Superstep 0 changes n alone; supersteps 1 and 2 add 1 and 2.
    assert (result.steps, result.converged, result.error) == (3, True, 7)
    assert result.x.tolist() == [3, 1, 2, 6, 4, 5]


def test_rule_13_a_step_over_nothing_sets_its_scalars_too(g):
    fields = {"x": [], "n": [], "error": weft.scalar(7), "n_seen": weft.scalar(5)}
    fields = {name: np.array(a, int) if isinstance(a, list) else a for name, a in fields.items()}
    empty = agreed(weft.Graph.from_edges([], []), approach, fields)
    assert (empty.error, empty.n_seen, empty.frontier) == (np.iinfo(np.int64).min, 0, [])
    fields |= {"x": Y, "n": np.zeros(6, int)}
    assert agreed(g, approach, fields, []).n_seen == 0


def test_rule_14_programs_that_differ_in_constants_share_one_kernel(g):
    def scaled(factor, shift, dtype=np.int64):
        @weft.vertex
        def scale(v):
            v.x = v.x * factor + shift

        return agreed(g, scale, {"x": Y.astype(dtype)}, configs=[weft.Config(threads=1)]).x

    assert scaled(10, 7).tolist() == (10 * Y + 7).tolist()
    known = len(execute._compiled)
    assert scaled(-30, 12345).tolist() == (-30 * Y + 12345).tolist()
    assert scaled(10**12, 3).tolist() == (10**12 * Y + 3).tolist()
    assert len(execute._compiled) == known
    scaled(1, 2)  # 0, 1, -1 and 2 stay where they are
    scaled(10, 7, np.int32)
    assert len(execute._compiled) == known + 2


def test_rule_15_iterate_stops_and_says_how(g):
    level = np.array([0, -1, -1, -1, -1, -1])
    fields = {"level": level, "done": weft.scalar(0)}
    result = agreed(g, discover, fields, [0], mode="iterate")
    assert (result.steps, result.converged, result.frontier) == (3, True, [])
    result = agreed(g, discover, fields, [], mode="iterate")
    assert (result.steps, result.converged, result.level.tolist()) == (0, True, level.tolist())
    for count, frontier in ((0, [0]), (1, [1, 2]), (2, [3])):
        result = agreed(g, discover, fields, [0], mode="iterate", max_iter=count)
        assert (result.steps, result.converged, result.frontier) == (count, False, frontier)
    state = g.state(level=level, done=weft.scalar(4))
    done = g.iterate(discover, state, [0], until=lambda done: done > 3)
    assert (done.steps, done.converged, done.scalars) == (1, True, {"done": 4})


@weft.edge(into="left", reduce=weft.sum, accept=lambda v: v.core < 0)
def leave(u, v, e):
    return -1


def fall(v, k):
    gone = (v.left <= k) & (v.core < 0)
    v.core = weft.where(gone, k, v.core)
    return gone


@weft.vertex
def next_round(v, k):
    weft.reduce("k", weft.where(v.core < 0, v.left, MOST), weft.min)


def test_rule_16_refill_starts_new_rounds_until_it_finds_nobody():
    # A triangle with a tail of two: core numbers 2, 2, 2, 1, 1; the lone vertex 5 has 0.
    g = weft.Graph.from_edges(
        [0, 1, 2, 2, 3], [1, 2, 0, 3, 4], num_vertices=6, directed=False
    )  # fmt: skip
    fields = {
        "left": np.array([2, 2, 3, 2, 1, 0]), "core": np.full(6, -1), "k": weft.scalar(0),
    }  # fmt: skip
    result = agreed(
        g, [leave, weft.vertex(fall)], fields, [], mode="iterate",
        refill=[next_round, weft.vertex(fall, on="all")],
    )  # fmt: skip
    assert result.core.tolist() == [2, 2, 2, 1, 1, 0]
    assert result.converged and result.frontier == []


@weft.vertex(shrinks=True)
def next_of_the_remaining(v, k):
    weft.reduce("k", weft.where(v.core < 0, v.left, MOST), weft.min)
    return v.core < 0


@weft.edge(into="left", reduce=weft.sum, accept=lambda v: v.core < 0, active=lambda v, old: False)
def leave_quietly(u, v, e):
    return -1


@pytest.mark.parametrize("steps", [[leave, weft.vertex(fall)], leave_quietly])
def test_rule_16_a_refill_may_run_over_what_is_left(steps):
    g = weft.generators.rmat(6, 3, seed=5)
    fields = {"left": g.out_degree.astype(np.int64), "core": np.full(64, -1), "k": weft.scalar(0)}
    every = [next_round, weft.vertex(fall, on="all")]
    remaining = [next_of_the_remaining, weft.vertex(fall)]
    want = run(g, steps, fields, [], mode="iterate", refill=every)
    result = agreed(g, steps, fields, [], mode="iterate", refill=remaining)
    assert result.core.tolist() == want.core.tolist()
    assert result.steps == want.steps > 10
    assert result.scalars == {"k": MOST} and result.frontier == []


def test_rule_16_what_shrinks_is_the_first_of_a_refill():
    g = weft.Graph.from_edges([0], [1], num_vertices=3)
    fields = {"left": np.ones(3, int), "core": np.full(3, -1), "k": weft.scalar(0)}

    def refused(match, functions, **options):
        with pytest.raises(weft.errors.TraceError, match=match):
            g.iterate(functions, g.state(**fields), **options)

    first = weft.vertex(fall, shrinks=True)
    refused("belongs to the first function of refill=", [leave, first])
    refused("belongs to the first function", leave, refill=[next_round, first])
    refused("which a fold does not continue", leave, refill=weft.fold(first, next_round))
    refused("a function that returns a condition", leave, refill=weft.vertex(
        lambda v: None, shrinks=True
    ))  # fmt: skip
    refused("without on='all'", leave, refill=weft.vertex(fall, shrinks=True, on="all"))

    @weft.vertex(shrinks=True)
    def comes_back(v, k):
        weft.reduce("k", k + 1, weft.max)
        return (v.id == 0) | ((v.id == 1) & (k > 0))

    state = g.to("reference").state(**fields)
    with pytest.raises(weft.errors.FaultError, match="comes_back put out vertex 1, for which it"):
        g.to("reference").iterate(leave, state, [], refill=comes_back)


@weft.edge(into="below", reduce=weft.sum)
def report(u, v, e):
    return weft.send(u.below + 1, when=u.level == v.level + 1)


def test_rule_17_a_trail_is_replayed_last_to_first():
    # 0 -> 1 -> 3 -> 4, 0 -> 2 -> 3; the reversed arcs let the sums flow back.
    src, dst = np.array([0, 0, 1, 2, 3]), np.array([1, 2, 3, 3, 4])
    g = weft.Graph.from_edges(np.append(src, dst), np.append(dst, src))
    fields = {"level": np.array([0, -1, -1, -1, -1]), "below": np.zeros(5, int)}
    found = agreed(g, discover, fields, [0], mode="iterate", trail=True)
    assert [part.tolist() for part in found.trail] == [[0], [1, 2], [3], [4]]
    fields["level"] = found.level
    result = agreed(g, report, fields, mode="replay", trail=found.trail)
    assert result.below.tolist() == [6, 2, 2, 1, 0]  # 4 once on each of the two ways
    with pytest.raises(weft.errors.GraphError, match="vertex 5 does not exist"):
        g.replay(report, g.state(**fields), [np.array([0]), np.array([2, 5])])


@pytest.mark.parametrize("device", ["reference", "cpu", "emulated"])
def test_states_may_hold_other_scalars_in_another_order(device):
    """A function of one structure finds its scalars in each state, wherever they stand."""
    g = weft.generators.rmat(5, 4, seed=1).to(device)

    @weft.edge
    def measure(u, v, e):
        weft.reduce("total", weft.cast(u.x * v.x, weft.float64), weft.sum)
        weft.reduce("arcs", 1, weft.sum)

    x = np.arange(g.num_vertices, dtype=np.float32)
    src, dst = (np.asarray(ends) for ends in g.topology.endpoints())
    want = float((x[src] * x[dst]).sum()), len(src)
    for names in (
        ("spare", "total", "arcs"), ("total", "arcs", "spare"),
        ("arcs", "total"), ("total", "arcs"),
    ):  # fmt: skip
        begin = {"spare": weft.scalar(7), "total": weft.scalar(0.0), "arcs": weft.scalar(0)}
        state = g.state(x=x, **{name: begin[name] for name in names})
        g.run(measure, state)
        assert (float(state.total), int(state.arcs)) == want, names
        assert "spare" not in names or int(state.spare) == 7
