"""The rules of graphs and of numbers (rules 26 to 33)."""

import numpy as np
import pytest

import weft
from agreement import DIRECTIONS, THREADS, agreed, assert_bits_equal, run

Y = np.array([1, 2, 3, 4, 5, 6])
MOST = np.iinfo(np.int64).max


@weft.edge(into=("ids", "total"), reduce=(weft.or_, weft.sum))
def mark_edges(u, v, e):
    return 1 << e.id, e.weight


@weft.vertex(on="all")
def gather_edges(v):
    v.back = v.gather(lambda u, e: weft.cast(1, weft.int64) << e.id, weft.or_, direction="out")


@pytest.mark.parametrize("keep", ["both", "out", "in"])
def test_rule_26_an_edge_column_has_one_value_per_edge_in_every_direction(keep):
    src, dst = np.array([4, 0, 2, 2, 1]), np.array([1, 2, 0, 0, 1])
    g = weft.Graph.from_edges(src, dst, np.arange(5.0), num_vertices=5, keep=keep)
    ends = g.to_edges()
    ids, total = np.zeros(5, int), np.zeros(5)
    np.bitwise_or.at(ids, ends.dst, 1 << np.arange(5))
    np.add.at(total, ends.dst, ends.weight)
    fields = {"ids": np.zeros(5, int), "total": np.zeros(5)}
    configs = [weft.Config(direction=d) for d in ("push", "pull") if keep in ("both", d)] or THREADS
    result = agreed(g, mark_edges, fields, configs=configs)
    assert (result.ids.tolist(), result.total.tolist()) == (ids.tolist(), total.tolist())
    assert g.edge["weight"].tolist() == ends.weight.tolist()


def test_rule_26_both_arcs_of_an_undirected_edge_read_the_same_value(chain):
    before = chain.memory_bytes
    fields = {"ids": np.zeros(5, int), "total": np.zeros(5), "back": np.zeros(5, int)}
    result = agreed(chain, [mark_edges, gather_edges], fields, configs=DIRECTIONS)
    expected = [0b1, 0b111, 0b1110, 0b11000, 0]
    assert result.ids.tolist() == result.back.tolist() == expected
    assert result.total.tolist() == [1.0, 7.0, 14.0, 24.0, 0.0]
    assert chain.memory_bytes > before  # the copies in slot order


@weft.edge(into="sum", reduce=weft.sum)
def exchange(u, v, e):
    e.mark = 10 * e.reverse.mark + u.id
    return e.mark + 1000 * e.reverse.mark


def test_rule_27_edge_state_has_one_value_per_arc_and_an_opposite(chain):
    src, dst = chain.topology.endpoints()
    mark = np.arange(1, 10)
    fields, edges = {"sum": np.zeros(5, int)}, {"mark": mark}
    result = agreed(chain, exchange, fields, edges=edges, configs=DIRECTIONS)
    # Arcs by row: 0-1, 1-0, 1-2, 1-2, 2-1, 2-1, 2-3, 3-2, 3-3.
    reverse = np.array([1, 0, 4, 5, 2, 3, 7, 6, 8])
    assert result.mark.tolist() == (10 * mark[reverse] + src).tolist()
    expected = np.zeros(5, int)
    np.add.at(expected, dst, 10 * mark[reverse] + src + 1000 * mark[reverse])
    assert result.sum.tolist() == expected.tolist()
    g = weft.Graph.from_edges([0, 1], [1, 2])
    with pytest.raises(weft.errors.GraphError, match="no opposite"):
        run(g, exchange, {"sum": np.zeros(3, int)}, edges={"mark": [1, 2]})


@weft.vertex
def look_back(v):
    v.there = v.gather(lambda u, e: e.mark, weft.sum, direction="out")
    v.back = v.gather(lambda u, e: e.reverse.mark, weft.sum, direction="out")


@pytest.mark.parametrize("functions", [[exchange, look_back], [weft.fold(exchange, look_back)]])
def test_rule_27_arcs_are_seen_as_the_edge_functions_before_left_them(chain, functions):
    src, _ = chain.topology.endpoints()
    mark, reverse = np.arange(1, 10), np.array([1, 0, 4, 5, 2, 3, 7, 6, 8])
    fields = {name: np.zeros(5, int) for name in ("sum", "there", "back")}
    edges = {"mark": mark}
    result = agreed(chain, functions, fields, edges=edges, mode="run", configs=DIRECTIONS)
    left = 10 * mark[reverse] + src
    assert result.mark.tolist() == left.tolist()
    assert result.there.tolist() == np.bincount(src, left, 5).tolist()
    assert result.back.tolist() == np.bincount(src, left[reverse], 5).tolist()


@weft.edge(into="n", reduce=weft.sum)
def one_each(u, v, e):
    return 1


@weft.vertex(on="all")
def degrees(v):
    v.out, v.in_ = v.out_degree, v.in_degree


def test_rule_28_parallel_edges_each_send_and_a_self_loop_counts_once(g, chain):
    zeros = {name: np.zeros(6, int) for name in ("n", "out", "in_")}
    result = agreed(g, [one_each, degrees], zeros)
    assert result.n.tolist() == result.in_.tolist() == [1, 1, 4, 2, 0, 0]
    assert result.out.tolist() == [2, 2, 2, 1, 1, 0]
    result = agreed(chain, [one_each, degrees], {name: np.zeros(5, int) for name in zeros})
    assert result.n.tolist() == result.in_.tolist() == result.out.tolist() == [1, 3, 3, 2, 0]
    assert chain.num_edges == 5
    same = weft.Graph.from_edges([0, 1], [1, 0], directed=False, duplicates="first")
    assert (same.num_edges, same.out_degree.tolist()) == (1, [1, 1])


@weft.vertex
def weak(v):
    v.small = v.small + v.id
    v.real = v.real * v.out_degree + weft.superstep() + weft.num_vertices()
    v.label = weft.cast(v.id, weft.vertex_id)


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_rule_29_ids_degrees_and_counts_take_the_other_dtype(index):
    g = weft.Graph.from_edges([0, 0, 1], [1, 2, 2], num_vertices=3, index_dtype=index)
    small, real = np.array([1, 127, 3], np.int8), np.array([0.5, 1.5, 2.5], np.float32)
    label = weft.full(-1, weft.vertex_id)
    result = agreed(g, weak, {"small": small, "real": real, "label": label})
    assert_bits_equal(result.small, np.array([1, -128, 5], np.int8))
    assert_bits_equal(result.real, np.array([4.0, 4.5, 3.0], np.float32))
    assert_bits_equal(result.label, np.array([0, 1, 2], index))
    state = g.state(own=lambda v: v.id, far=lambda v: v.in_degree * 2.5)
    assert (state.own.dtype, state.far.tolist()) == (index, [0.0, 2.5, 5.0])


@weft.edge(into=("seen", "last"), reduce=(weft.or_, weft.max))
def tell(u, v, e):
    return 1 << u.id, 10 * u.id + v.id


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_rule_30_ids_are_the_users(index):
    g = weft.Graph.from_edges([5, 0, 3, 3], [1, 1, 5, 0], num_vertices=7, index_dtype=index)
    fields = {"seen": np.zeros(7, int), "last": np.full(7, -1)}
    result = agreed(g, tell, fields)
    assert result.seen.tolist() == [8, 33, 0, 0, 0, 8, 0]
    assert result.last.tolist() == [30, 51, -1, -1, -1, 35, -1]
    assert result.frontier == [0, 1, 5]


def test_rule_31_parents_weights_and_dtypes_of_results(g):
    plain = weft.Graph.from_edges(*g.to_edges()[:2], num_vertices=6)
    level, parent = weft.bfs(plain, 1)
    assert (level.tolist(), parent[[1, 5]].tolist()) == ([3, 0, 1, 2, -1, -1], [1, -1])
    dist, parent = weft.sssp(plain, 1)
    assert dist.dtype.kind == "i" and dist.tolist() == [3, 0, 1, 2, -1, -1]
    assert parent.tolist() == [3, 1, 1, 2, -1, -1]
    large = weft.Graph.from_edges([0, 1], [1, 2], np.array([2**31 - 1, 2**31 - 1], np.int32))
    assert weft.sssp(large, 0).dist.tolist() == [0, 2**31 - 1, 2**32 - 2]
    assert weft.pagerank(g).dtype == np.float64


@weft.vertex
def numbers(v):
    v.sum, v.product = v.a + v.b, v.a * v.b
    v.quotient, v.rest = v.a // v.b, v.a % v.b
    v.left, v.right = v.a << v.b, v.a >> v.b
    v.negated, v.size = -v.a, abs(v.a)
    v.from_float, v.unsigned = weft.cast(v.f, weft.int16), weft.cast(v.f, weft.uint8)
    v.mixed = v.a + v.f  # int16 and float32 give float32
    v.wide = v.a + v.i  # int16 and int64 give int64
    v.weak = 2 * v.a + 1
    v.fraction = v.a / v.b


def test_rule_32_numbers_wrap_round_down_and_saturate(g):
    low, high = -(2**15), 2**15 - 1
    a = np.array([high, low, -7, 7, low, 5], np.int16)
    b = np.array([1, -1, 2, -2, 0, 17], np.int16)
    f = np.array([np.nan, 1e9, -1e9, 2.75, -2.75, np.inf], np.float32)
    names = [
        "sum",
        "product",
        "quotient",
        "rest",
        "left",
        "right",
        "negated",
        "size",
        "from_float",
        "weak",
    ]
    fields = {name: np.zeros(6, np.int16) for name in names} | {
        "a": a, "b": b, "f": f, "i": np.full(6, 2**40), "unsigned": np.zeros(6, np.uint8),
        "mixed": np.zeros(6, np.float32), "wide": np.zeros(6, int),
        "fraction": np.zeros(6, np.float32),
    }  # fmt: skip
    result = agreed(g, numbers, fields)
    assert result.sum.tolist() == [low, high, -5, 5, low, 22]
    assert result.product.tolist() == [high, low, -14, -14, 0, 85]
    assert result.quotient.tolist() == [high, low, -4, -4, 0, 0]
    assert result.rest.tolist() == [0, 0, 1, -1, 0, 5]
    assert result.left.tolist() == [-2, 0, -28, -(2**14), low, 10]  # counts modulo 16
    assert result.right.tolist() == [2**14 - 1, -1, -2, 0, low, 2]
    assert result.negated.tolist() == [-high, low, 7, -7, low, -5]
    assert result.size.tolist() == [high, low, 7, 7, low, 5]
    assert result.from_float.tolist() == [0, high, low, 2, -2, high]
    assert result.unsigned.tolist() == [0, 255, 0, 2, 0, 255]
    assert_bits_equal(result.mixed, a.astype(np.float32) + f)
    assert_bits_equal(result.wide, a + np.full(6, 2**40))
    assert result.weak.tolist() == [-1, 1, -13, 15, 1, 11]
    with np.errstate(divide="ignore"):
        assert_bits_equal(result.fraction, a.astype(np.float32) / b.astype(np.float32))


@weft.vertex
def sum_up(v):
    v.short = v.gather(lambda u, e: u.x, weft.sum)
    v.chosen = v.gather(lambda u, e: weft.send(u.x, when=e.weight > 0), weft.sum)
    v.long = v.gather(lambda u, e: u.x, weft.sum, dtype=weft.float64)


@weft.edge(into="pulled", reduce=weft.sum)
def arrive(u, v, e):
    return u.x


@weft.vertex
def overflow(v):
    v.more, v.less = weft.where(v.x + 1 > v.x, 1, 0), weft.where(v.x - 1 < v.x, 1, 0)
    v.turned, v.size = weft.where(-v.x > 0, 1, 0), weft.where(abs(v.x) < 0, 1, 0)
    v.square = abs(v.x * v.x)
    v.halved = weft.where(2 * v.x // 2 == v.x, 1, 0)
    v.length = abs(weft.dot(v.pair, v.pair))


def test_rule_32_what_wrapped_is_compared_as_it_is(g):
    low, high, root = -(2**63), 2**63 - 1, 3_037_000_500  # whose square is beyond the greatest
    x = np.array([high, low, root, -3, 0, 5])
    names = ("more", "less", "turned", "size", "square", "halved", "length")
    fields = {name: np.zeros(6, int) for name in names} | {"x": x, "pair": np.stack([x, x], 1)}
    result = agreed(g, overflow, fields)
    assert result.more.tolist() == [0, 1, 1, 1, 1, 1] and result.less.tolist() == [1, 0, 1, 1, 1, 1]
    assert result.turned.tolist() == [0, 0, 0, 1, 0, 0]
    assert result.size.tolist() == [0, 1, 0, 0, 0, 0]
    assert result.square.tolist() == [1, 0, 2**64 - root**2, 9, 0, 25]
    assert result.halved.tolist() == [0, 0, 1, 1, 1, 1]
    assert result.length.tolist() == [2, 0, abs(2 * root**2 - 2**64), 18, 0, 50]


def test_rule_32_float32_row_sums_run_in_chunks():
    n = 200_000
    g = weft.Graph.from_edges(np.arange(1, n), np.zeros(n - 1, int), num_vertices=n)
    x = np.full(n, 0.1, np.float32)
    zeros = {name: np.zeros(n, np.float32) for name in ("short", "chosen", "pulled")}
    fields = zeros | {"x": x, "long": np.zeros(n)}
    result = run(g, [sum_up, arrive], fields, [0], config=weft.Config(direction="pull"))
    exact = float(x[0]) * (n - 1)
    assert result.short[0] == pytest.approx(exact, rel=1e-5)
    assert result.chosen[0] == pytest.approx(exact, rel=1e-5)
    assert result.long[0] == pytest.approx(exact, rel=1e-12)
    result = run(g, arrive, fields, config=weft.Config(direction="pull"))
    assert result.pulled[0] == pytest.approx(exact, rel=1e-5)
    assert abs(np.cumsum(x)[-1] / exact - 1) > 1e-4  # what one running sum would give


@weft.edge(into=("first", "other"), reduce=weft.any)
def choose(u, v, e):
    return e.id, u.id


@weft.edge(into=("least", "by"), reduce=weft.argmin)
def tie(u, v, e):
    return u.y % 2, e.id


@weft.vertex(on="all")
def choose_from(v):
    v.both = v.gather(lambda u, e: e.id, weft.any, direction="both")
    _, v.edge = v.gather(lambda u, e: (u.y % 2, e.id), weft.argmax, direction="both")
    v.entered, v.sum = v.gather(lambda u, e: (e.id, e.id), (weft.any, weft.sum))


DETERMINISTIC = [weft.Config(deterministic=True, threads=threads) for threads in (1, 2, 3)]


def test_rule_33_deterministic_any_and_ties_take_the_smallest_edge(g, chain):
    for graph, first, tied in (
        (g, [6, 0, 1, 5, -1, -1], [6, 0, 2, 7, -1, -1]),
        (chain, [0, 0, 1, 3, -1], [0, 0, 1, 4, -1]),
    ):
        n = graph.num_vertices
        y = np.array([1, 2, 1, 4, 2, 1])[:n] if graph is g else np.array([1, 2, 1, 2, 1])
        names = ("first", "other", "by", "both", "edge", "entered", "sum")
        fields = {name: np.full(n, -1) for name in names}
        fields |= {"y": y, "least": np.full(n, 9)}
        functions = [weft.fold(tie, choose), choose_from]
        result = agreed(graph, functions, fields, configs=DETERMINISTIC)
        assert result.first.tolist() == first and result.by.tolist() == tied
    assert result.both.tolist() == result.entered.tolist() == [0, 0, 1, 3, 0]
    result = agreed(chain, choose, fields, configs=DETERMINISTIC)
    assert result.first.tolist() == first


@weft.edge(into="sum", reduce=weft.sum)
def add_float(u, v, e, error):
    weft.reduce("error", u.x * e.weight, weft.sum)
    return u.x * e.weight


@weft.vertex(wake="changed")
def move(v):
    weft.reduce("error", v.sum * v.sum, weft.sum)
    v.x = v.sum / (1 + v.gather(lambda u, e: abs(u.x), weft.sum))
    v.sum = 0.0


def test_rule_33_deterministic_sums_have_the_same_bits_whatever_the_threads():
    g = weft.generators.rmat(9, 12, seed=11, directed=True, weights="float")
    g.edge["weight"] = np.random.default_rng(1).normal(size=g.num_edges)
    n = g.num_vertices
    x = np.random.default_rng(2).normal(size=n)
    fields = {"x": x, "sum": np.zeros(n), "error": weft.scalar(0.0)}
    for functions in ([add_float, move], weft.fold(add_float, move)):
        results = [
            run(g, functions, fields, np.arange(0, n, 2), mode="iterate", max_iter=4, config=config)
            for config in (*DETERMINISTIC, *DETERMINISTIC)
        ]
        for result in results[1:]:
            assert_bits_equal(result.x, results[0].x)
            assert_bits_equal(result.error, results[0].error)
            assert result.frontier == results[0].frontier
