"""The rules of messages and monoids, and of live access (rules 18 to 25)."""

import numpy as np
import pytest

import weft
from agreement import DIRECTIONS, THREADS, agreed, run
from weft.arrays import random as counter_based
from weft.errors import ConfigError, FaultError, TraceError

MOST = np.iinfo(np.int64).max
Y = np.array([1, 2, 3, 4, 5, 6])


@weft.edge(into=("a", "b"), reduce=weft.any)
def both_of_one(u, v, e):
    return u.y, 10 * u.y + e.id


@weft.edge(into=("one", "least", "most"), reduce=(weft.any, weft.min, weft.max))
def each_for_itself(u, v, e):
    return v.y, u.y, u.y


@weft.edge(into=("key", "payload"), reduce=weft.argmax)
def heaviest(u, v, e):
    return e.weight, u.id


def test_rule_18_a_selecting_monoid_takes_the_whole_tuple_of_one_edge(g):
    src, dst, _ = g.to_edges()
    start = {"y": Y, "a": np.full(6, -1), "b": np.full(6, -1)}
    for config in DIRECTIONS:
        result = run(g, both_of_one, start, config=config)
        for v in range(6):
            sent = {(int(Y[src[i]]), int(10 * Y[src[i]] + i)) for i in np.flatnonzero(dst == v)}
            assert (result.a[v], result.b[v]) in (sent or {(-1, -1)})
    start = {"y": Y, "one": np.zeros(6, int), "least": np.full(6, 3), "most": np.full(6, 2)}
    result = agreed(g, each_for_itself, start, configs=DIRECTIONS)
    assert result.one.tolist() == [1, 2, 3, 4, 0, 0]  # one message is enough for it alone
    assert result.least.tolist() == [3, 1, 1, 3, 3, 3]
    assert result.most.tolist() == [4, 2, 3, 5, 2, 2]
    # Only a strict improvement writes: the 7 that arrives at 2 meets a 7, the 8 at 3 a 6.
    start = {"key": np.array([9, 0, 7, 6, 1, 1]), "payload": np.full(6, -1)}
    result = agreed(g, heaviest, start, configs=DIRECTIONS)
    assert result.key.tolist() == [9, 5, 7, 8, 1, 1]
    assert result.payload.tolist() == [-1, 0, -1, 4, -1, -1]
    assert result.frontier == [1, 3]


def shortest(*names, weight=lambda e: e.weight):
    @weft.edge(into=names, reduce=weft.argmin)
    def relax(u, v, e):
        return (getattr(u, names[0]) + weight(e), u.id, e.id)[: len(names)]

    return relax


@pytest.mark.parametrize("widths", ["32, 32", "64, 64", "64, 32, 64", "f4, 32"])
def test_rule_19_parents_form_a_tree_over_edges_of_weight_zero(widths):
    rng = np.random.default_rng(5)
    src, dst = rng.integers(0, 30, (2, 200))
    g = weft.Graph.from_edges(src, dst, rng.integers(0, 2, 200).astype(np.int32), num_vertices=30)
    kinds = [{"32": np.int32, "64": np.int64, "f4": np.float32}[w] for w in widths.split(", ")]
    names = ("dist", "parent", "edge")[: len(kinds)]
    fields = {name: np.full(30, -1, kind) for name, kind in zip(names, kinds, strict=True)}
    fields["dist"][:] = 10**6
    fields["dist"][0] = fields["parent"][0] = 0
    relax = shortest(*names, weight=lambda e: weft.cast(e.weight, kinds[0]))
    expected = weft.sssp(g, 0).dist
    for config in THREADS:
        result = run(g, relax, fields, [0], mode="iterate", config=config)
        assert result.dist.tolist() == np.where(expected < 0, 10**6, expected).tolist()
        _check_tree(g, result)


def _check_tree(g, result):
    ends = g.to_edges()
    weights = {}
    for u, v, w in zip(*ends, strict=True):
        weights.setdefault((int(u), int(v)), set()).add(int(w))
    for v in np.flatnonzero(result.dist < 10**6):
        steps = 0
        while v != 0:
            u = int(result.parent[v])
            assert result.dist[v] - result.dist[u] in weights[u, int(v)]
            v, steps = u, steps + 1
            assert steps < 30, "parents run in a circle"
    if "edge" in result.fields:
        reached = np.flatnonzero((result.dist < 10**6) & (np.arange(30) > 0))
        assert ends.src[result.edge[reached]].tolist() == result.parent[reached].tolist()


LONGEST = weft.monoid(lambda a, b: weft.where(abs(a) > abs(b), a, b), 0.0, name="longest")
GCD = weft.monoid(
    lambda a, b: weft.while_loop(lambda x, y: y != 0, lambda x, y: (y, x % y), a, b, bound=99)[0], 0
)


@weft.edge(into=("far", "divisor", "wide"), reduce=(LONGEST, GCD, weft.sum))
def user_made(u, v, e):
    return u.f, 6 * u.y, u.wide


def test_rule_20_user_made_monoids_work_pushed_and_pulled(g):
    f = np.array([-9.0, 2.5, 3.0, -4.0, 5.0, 7.0])
    wide = np.arange(18.0).reshape(6, 3)
    start = {"f": f, "y": Y, "far": np.full(6, -4.5), "divisor": np.full(6, 60), "wide": wide}
    result = agreed(g, user_made, start, configs=DIRECTIONS)
    assert result.far.tolist() == [-4.5, -9.0, -9.0, 5.0, -4.5, -4.5]
    assert result.divisor.tolist() == [12, 6, 6, 6, 60, 60]
    assert result.wide[2].tolist() == (wide[[2, 0, 1, 1, 2]].sum(0)).tolist()


@weft.edge(into=("least", "most"), reduce=(weft.min, weft.max))
def with_nan(u, v, e):
    return u.f, u.f


@weft.vertex
def gather_with_nan(v):
    v.least = v.gather(lambda u, e: u.f, weft.min)
    v.most = weft.maximum(v.f, v.gather(lambda u, e: u.f, weft.max))
    v.both = weft.minimum(v.f, weft.max(weft.stack([v.f, v.f])))


def test_rule_21_min_and_max_ignore_nan(g):
    nan = np.nan
    f = np.array([nan, 2.0, nan, nan, 5.0, 7.0])
    start = {"f": f, "least": np.full(6, 4.0), "most": np.array([nan] * 4 + [1.0, nan])}
    result = agreed(g, with_nan, start, configs=DIRECTIONS)
    np.testing.assert_array_equal(result.least, [4.0, 4.0, 2.0, 4.0, 4.0, 4.0])
    np.testing.assert_array_equal(result.most, [nan, nan, 2.0, 5.0, 1.0, nan])
    assert result.frontier == [2, 3]
    start["least"][0] = nan  # only a NaN arrives there
    assert agreed(g, with_nan, start, configs=DIRECTIONS[:1]).frontier == [2, 3]
    fields = {name: np.zeros(6) for name in ("least", "most", "both")}
    result = agreed(g, gather_with_nan, fields | {"f": f})
    np.testing.assert_array_equal(result.least, [np.inf, np.inf, 2.0, 5.0, np.inf, np.inf])
    np.testing.assert_array_equal(result.most, [-np.inf, 2.0, 2.0, 5.0, 5.0, 7.0])
    np.testing.assert_array_equal(result.both, [-np.inf, 2.0, -np.inf, -np.inf, 5.0, 7.0])


def test_rule_21_zeros_of_either_sign_do_not_keep_a_loop_running():
    g = weft.Graph.from_edges([0, 1], [1, 2], num_vertices=3, directed=False)

    @weft.edge(into="x", reduce=weft.min)
    def least(u, v, e):
        return u.x

    for config in DIRECTIONS:
        done = run(g, least, {"x": [0.0, -0.0, 0.0]}, mode="iterate", config=config, max_iter=50)
        assert done.converged and not done.x.any()


@weft.vertex
def vote(v):
    v.winner = v.gather(lambda u, e: u.label, weft.mode, direction="both")
    top, count = v.gather(lambda u, e: (u.label, 1), (weft.mode, weft.sum))
    v.top, v.count = top, count


def test_rule_22_mode_is_the_most_frequent_and_the_smallest_on_ties(g):
    label = np.array([7, 3, 3, 9, 9, 1])
    start = {name: np.full(6, -5) for name in ("winner", "top", "count")} | {"label": label}
    result = agreed(g, vote, start)
    # In-edges then out-edges: 0: 9, 3 3; 1: 7, 3 3; 2: 7 3 3 3, 3 9; 3: 3 9, 7; 4: 9.
    assert result.winner.tolist() == [3, 3, 3, 3, 9, 0]
    assert (result.top.tolist(), result.count.tolist()) == ([9, 7, 3, 3, 0, 0], [1, 1, 4, 2, 0, 0])
    with pytest.raises(TraceError, match="gathers only"):
        weft.edge(into="label", reduce=weft.mode)


@weft.vertex
def features_and_far_ends(v):
    v.total, v.product = weft.sum(v.vector), weft.prod(v.vector)
    v.least, v.most = weft.min(v.vector), weft.max(v.vector)
    v.place = weft.argmax(v.vector)
    v.near = weft.minimum(weft.maximum(v.y, 2), 4)
    v.far = v.gather(lambda u, e: 100 * u.y + v.y, weft.sum, direction="out")
    v.all = v.gather(lambda u, e: u.y, weft.sum, direction="both")


def test_rule_23_monoids_are_callable_and_u_is_the_far_end_of_an_out_edge(g):
    vector = np.array([[1, 2, 3], [4, 0, -1], [2, 2, 2], [-3, 5, 5], [0, 0, 1], [9, 8, 7]])
    names = ["total", "product", "least", "most", "place", "near", "far", "all"]
    result = agreed(
        g, features_and_far_ends, {n: np.zeros(6, int) for n in names} | {"vector": vector, "y": Y}
    )
    assert result.total.tolist() == vector.sum(1).tolist()
    assert result.product.tolist() == vector.prod(1).tolist()
    assert result.least.tolist() == vector.min(1).tolist()
    assert (result.most.tolist(), result.place.tolist()) == (
        vector.max(1).tolist(), vector.argmax(1).tolist()
    )  # fmt: skip
    assert result.near.tolist() == [2, 2, 3, 4, 4, 4]
    assert result.far.tolist() == [502, 604, 706, 104, 405, 0]
    assert result.all.tolist() == [4 + 2 + 3, 1 + 3 + 3, 8 + 3 + 4, 8 + 1, 4, 0]


@weft.edge(order_free=True)
def hook(u, v, e):
    v.root.at(u.id).min(v.id)
    v.seen.at(v.id).add(1)
    v.bits.at(0).or_(1 << u.id)
    v.big.at(v.id).max(weft.cast(u.y, weft.float32))


@weft.vertex(order_free=True)
def claim(v):
    mine = v.owner.at(v.slot).cas(-1, v.id) == -1
    v.won = mine
    v.changed = mine & (v.id > 0)


@weft.vertex
def reach_out(v):
    v.x = v.x.at(v.slot)


def test_rule_24_live_fields_are_current_memory_and_stay_out_of_the_frontier(g):
    start = {
        "root": np.full(6, 99), "seen": np.zeros(6, np.int32), "bits": np.zeros(6, np.uint8),
        "big": np.zeros(6, np.float32), "y": Y,
    }  # fmt: skip
    result = agreed(g, hook, start)
    assert result.root.tolist() == [1, 2, 2, 0, 3, 99]
    assert (result.seen.tolist(), result.bits[0]) == ([1, 1, 4, 2, 0, 0], 0b11111)
    assert result.big.tolist() == [4.0, 1.0, 3.0, 5.0, 0.0, 0.0]
    assert result.frontier == [0, 1, 2, 3]  # those that an edge led to
    start = {"owner": np.full(6, -1), "slot": [2, 2, 0, 0, 0, 5], "won": np.zeros(6, bool)}
    for config in THREADS:
        result = run(g, claim, start, config=config)
        owners = result.owner
        assert owners[2] in (0, 1) and owners[0] in (2, 3, 4) and owners[5] == 5
        assert result.won.sum() == 3 and result.won[owners[[0, 2, 5]]].all()
        assert result.frontier == sorted(set(owners[[0, 2, 5]].tolist()) - {0})
    for slot in (-1, 6):
        with pytest.raises(FaultError, match="out of range in 'reach_out' at vertex 3"):
            run(g, reach_out, {"x": Y, "slot": [0, 1, 2, slot, 4, 5]})
    with pytest.raises(ConfigError, match="order_free=True"):
        run(g, reach_out, {"x": Y, "slot": Y - 1}, config=weft.Config(deterministic=True))
    result = agreed(g, hook, {
        "root": np.full(6, 99), "seen": np.zeros(6, np.int32), "bits": np.zeros(6, np.uint8),
        "big": np.zeros(6, np.float32), "y": Y,
    }, configs=[weft.Config(deterministic=True, threads=3)])  # fmt: skip


@weft.vertex
def look_up(v):
    x = (v.id + 1) % weft.num_vertices()
    v.degree = weft.degree(x)
    last = weft.maximum(weft.degree(x) - 1, 0)
    some = weft.degree(x) > 0
    y = weft.where(some, x, 0)
    v.neighbor, v.edge = weft.neighbor(y, last), weft.neighbor_edge(y, last)
    v.bits, v.unit = weft.random_bits(v.id, 3), weft.random(7, v.id)
    v.ones, v.zeros = weft.popcount(v.word), weft.clz(v.word)
    v.cast = weft.bitcast(v.real, weft.int32)
    v.halves = weft.while_loop(lambda k: k > 1, lambda k: k // 2, v.word, bound=8)
    v.sums = weft.for_range(0, v.id + 1, lambda i, s: s + i * i, 0)


def test_rule_25_computed_vertices_random_numbers_bits_and_loops(g):
    word = np.array([1, 255, 16, 0, 3, 129], np.uint8)
    real = np.array([0.0, 1.0, -2.5, 1e-40, np.inf, -0.0], np.float32)
    ints = {n: np.zeros(6, int) for n in ("degree", "neighbor", "edge", "sums")}
    small = {n: np.zeros(6, np.int32) for n in ("ones", "zeros", "cast")}
    result = agreed(g, look_up, ints | small | {
        "bits": np.zeros(6, np.uint64), "unit": np.zeros(6), "halves": np.zeros(6, np.uint8),
        "word": word, "real": real,
    })  # fmt: skip
    assert result.degree.tolist() == [2, 2, 1, 1, 0, 2]
    assert result.neighbor.tolist() == [2, 3, 0, 3, 1, 2]
    assert result.edge.tolist() == [3, 5, 6, 7, 0, 1]
    assert result.bits.tolist() == [counter_based.random_bits(i, 3) for i in range(6)]
    assert result.unit.tolist() == [counter_based.random_unit(7, i) for i in range(6)]
    assert result.ones.tolist() == [1, 8, 1, 0, 2, 2]
    assert result.zeros.tolist() == [7, 0, 3, 8, 6, 0]
    assert result.cast.tolist() == real.view(np.int32).tolist()
    assert result.halves.tolist() == [1, 1, 1, 0, 1, 1]
    assert result.sums.tolist() == [0, 1, 5, 14, 30, 55]

    @weft.vertex
    def too_long(v):
        v.sums = weft.while_loop(lambda k: k > 0, lambda k: k - 1, v.sums, bound=5)

    assert agreed(g, too_long, {"sums": np.full(6, 5)}).sums.tolist() == [0] * 6
    with pytest.raises(FaultError, match=r"while_loop .*bound in 'too_long' at vertex 4"):
        run(g, too_long, {"sums": [5, 4, 3, 2, 6, 0]})
