"""Programs written by hand for what random ones do not reach, on random multigraphs.

Each is compared with the interpreter for several directions, schedules and numbers of threads, on a
directed and on an undirected graph with self-loops, parallel edges and isolated vertices.
"""

import numpy as np
import pytest

import weft
from agreement import agreed, assert_bits_equal, compare, interpreted, run

N = 24
PUSHED = [weft.Config(direction="push", schedule="merge", threads=t) for t in (1, 3)]
PULLED = [weft.Config(direction="pull", schedule="edge", threads=t) for t in (1, 3)]
CHOSEN = [weft.Config(threads=t) for t in (1, 3)]
FIXED = [weft.Config(deterministic=True, threads=t) for t in (1, 2, 3)]


def multigraph(directed: bool, index=None) -> weft.Graph:
    rng = np.random.default_rng(12)
    src, dst = rng.integers(0, N - 3, (2, 70))
    src[:4], dst[:4] = [2, 2, 5, 5], [2, 7, 5, 7]
    g = weft.Graph.from_edges(src, dst, num_vertices=N, directed=directed, index_dtype=index)
    g.edge["weight"] = rng.integers(0, 9, g.num_edges)
    g.edge["vector"] = rng.integers(-3, 4, (g.num_edges, 2)).astype(float)
    return g


GRAPHS = {True: multigraph(True), False: multigraph(False)}
both = pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
two_ways = pytest.mark.parametrize(
    ("directed", "configs"), [(True, PUSHED), (False, PULLED)], ids=["pushed", "pulled"]
)
three_ways = pytest.mark.parametrize(
    ("directed", "configs"), [(True, PUSHED), (False, PULLED), (False, FIXED)],
    ids=["pushed", "pulled", "fixed"],
)  # fmt: skip


def numbers(seed: int, dtype=np.int64, low=-9, high=10, shape=()) -> np.ndarray:
    return np.random.default_rng(seed).integers(low, high, (N, *shape)).astype(dtype)


def zeros(*names: str, dtype=np.int64) -> dict[str, np.ndarray]:
    return {name: np.zeros(N, dtype) for name in names}


SOME = [1, 2, 5, 6, 11, 20, 23]


# -- edge state


@weft.edge(into="x", reduce=weft.sum)
def exchange(u, v, e):
    e.mark = e.reverse.mark + u.x
    return e.mark % 7


@weft.edge(into="y", reduce=weft.max)
def look_again(u, v, e):
    e.seen = e.seen + 1
    return weft.send(e.mark + 3 * e.seen, when=e.mark % 2 == 0)


@weft.edge
def wrap(u, v, e):
    e.mark = e.mark % 50 - e.rank
    return e.mark > 10


@weft.vertex(on="all")
def read_edges(v):
    v.z = v.gather(lambda u, e: e.mark - 2 * e.reverse.mark, weft.sum, direction="both")


@pytest.mark.parametrize("configs", [PUSHED, PULLED, FIXED], ids=["pushed", "pulled", "fixed"])
def test_edge_state_of_folds_and_lists(configs):
    g = GRAPHS[False]
    arcs = g.topology.num_arcs
    edges = {"mark": np.arange(arcs) * 3 % 17, "seen": np.zeros(arcs, np.int32)}
    fields = {"x": numbers(1), "y": numbers(2), "z": numbers(3)}
    functions = [weft.fold(exchange, look_again), wrap, read_edges]
    if configs is PULLED:
        functions = [exchange, wrap, read_edges]
    agreed(g, functions, fields, SOME, edges=edges, mode="iterate", max_iter=3, configs=configs)


# -- values before the last change


@weft.edge(into="got", reduce=weft.sum)
def changes(u, v, e):
    return u.x - u.old.x + v.old.got


@weft.vertex
def apply_change(v):
    v.x = v.x + v.got % 5
    v.seen = v.old.x + v.gather(lambda u, e: u.old.x * e.weight, weft.sum)
    v.changed = v.x != v.old.x


@two_ways
def test_old_values_of_near_and_far_vertices(directed, configs):
    fields = {"x": numbers(1), "got": numbers(2), "seen": numbers(3)}
    agreed(
        GRAPHS[directed], [changes, apply_change], fields, SOME, mode="iterate", max_iter=4,
        configs=configs,
    )  # fmt: skip


# -- every dtype under every monoid

SUMMED = [("sum", d) for d in ("int8", "uint16", "int32", "uint64", "float32", "float64")]
LEAST = [("min", d) for d in ("bool", "int8", "uint8", "int64", "float32", "float64")]
MOST = [("max", d) for d in ("bool", "int16", "uint32", "uint64", "float32", "float64")]
BITS = [("or_", d) for d in ("bool", "int8", "uint64")]
BITS += [("and_", d) for d in ("bool", "uint16", "int64")]
PRODUCTS = [("prod", d) for d in ("int8", "uint32", "int64", "float32", "float64")]
EVERY = SUMMED + LEAST + MOST + BITS + PRODUCTS


@three_ways
def test_every_monoid_on_every_dtype(directed, configs):
    names = tuple(f"f{k}" for k in range(len(EVERY)))
    monoids = tuple(getattr(weft, name) for name, _ in EVERY)

    @weft.edge(into=names, reduce=monoids, accept=lambda v: v.id != 7)
    def everything(u, v, e):
        values = [weft.cast(u.x * (k + 1) + e.weight, dtype) for k, (_, dtype) in enumerate(EVERY)]
        return weft.send(tuple(values), when=u.x + v.x > -5)

    fields = {
        name: numbers(k, dtype)
        for k, (name, (_, dtype)) in enumerate(zip(names, EVERY, strict=True))
    }
    for k, (monoid, dtype) in enumerate(EVERY):
        if monoid == "prod":
            fields[names[k]] = np.ones(N, dtype)
    agreed(
        GRAPHS[directed], everything, fields | {"x": numbers(99, low=0, high=4)}, SOME,
        configs=configs,
    )  # fmt: skip


# -- selecting monoids


@weft.edge(
    into=("key", "who", "much"), reduce=weft.argmin, active=lambda v, old: v.key + old.key > 0
)
def best_of_three(u, v, e):
    return weft.cast(e.weight - u.y, weft.int16), u.id, u.f + e.weight


@weft.edge(into=("top", "flag"), reduce=weft.argmax)
def best_flag(u, v, e):
    return weft.send((u.f - e.id, u.y > 0), when=u.y != v.y)


@weft.edge(into=("one", "other"), reduce=weft.any)
def equal_pair(u, v, e):
    return v.y * 2, v.f


@three_ways
def test_selecting_monoids_in_lists_and_folds(directed, configs):
    """Keys differ between the arcs of a row, so that no tie is left to chance."""
    g = GRAPHS[directed]
    fields = {
        "key": numbers(1, np.int16, 0, 4), "who": np.full(N, -1, np.int32),
        "much": numbers(2, float),
        "top": numbers(3, float, -60, 0), "flag": np.zeros(N, bool), "one": numbers(4),
        "other": numbers(5, np.float32), "y": np.arange(N) * 100, "f": np.arange(N) * 1000.0,
    }  # fmt: skip
    fields["other"] = fields["f"] + 1
    functions = [best_of_three, best_flag, weft.fold(equal_pair)]
    if configs is not PULLED:
        functions = [weft.fold(best_of_three, best_flag, equal_pair)]
    agreed(g, functions, fields, SOME, mode="iterate", max_iter=3, configs=configs)


@both
def test_deterministic_ties_take_the_smallest_edge_id(directed):
    @weft.edge(into=("key", "by"), reduce=weft.argmin)
    def tie(u, v, e):
        return u.y, e.id

    @weft.edge(into=("first", "from_"), reduce=weft.any, accept=lambda v: v.first < 0)
    def claim(u, v, e):
        return e.id, u.id

    @weft.edge(into=("last", "then"), reduce=weft.any)
    def replace(u, v, e):
        return e.id, u.then + 1

    fields = {
        "key": np.full(N, 9), "by": np.full(N, -1), "y": numbers(4, high=-7),
        "first": np.full(N, -1),
        "from_": np.full(N, -1), "last": np.full(N, -1), "then": numbers(5),
    }  # fmt: skip
    for functions in ([tie, claim, replace], weft.fold(replace, tie)):
        agreed(GRAPHS[directed], functions, fields, SOME, mode="iterate", max_iter=3, configs=FIXED)


# -- write-once and in place


def levels(into, accept, message):
    return weft.edge(message, into=into, reduce=weft.any, accept=accept)


@pytest.mark.parametrize(
    ("configs", "names"),
    [(PUSHED, ["level", "mark"]), (PULLED, ["seen", "real"]), (CHOSEN, ["level"])],
    ids=["pushed", "pulled", "chosen"],
)  # fmt: skip
def test_write_once_steps(configs, names):
    g = GRAPHS[True]
    steps = {
        "level": levels("level", lambda v: v.level < 0, lambda u, v, e: u.level + 1),
        "seen": levels("seen", lambda v: ~v.seen, lambda u, v, e: True),
        "mark": levels("mark", lambda v: v.mark == -1, lambda u, v, e: v.id),
        "real": levels("real", lambda v: v.real < 0.0, lambda u, v, e: u.real + 1.0),
    }
    fields = {"level": np.full(N, -1, np.int16), "seen": np.zeros(N, bool), "mark": np.full(N, -1)}
    fields["real"] = np.full(N, -1.0, np.float32)
    src, dst, _ = g.to_edges()
    for name in names:
        start = fields[name].copy()
        start[[2, 20]] = {"level": 0, "seen": True, "mark": 5, "real": 0.5}[name]
        agreed(g, steps[name], {name: start}, [2, 20], mode="iterate", configs=configs)
        # Some of these accept, so that a level of -1 + 1 may come as well as one of 0 + 1.
        for config in configs:
            got = run(g, steps[name], {name: start}, SOME, config=config).fields[name]
            want = interpreted(g, steps[name], {name: start}, SOME).state.fields[name]
            for v in np.flatnonzero(got != want):
                sent = src[(dst == v) & np.isin(src, SOME)]
                assert name in ("level", "real") and got[v] in start[sent] + 1


@weft.edge(into=("low", "high"), reduce=(weft.min, weft.max))
def widen(u, v, e):
    return u.low + 1, weft.minimum(u.high, e.weight)


@weft.edge(into="mask", reduce=weft.or_)
def reach(u, v, e):
    return u.mask


@pytest.mark.parametrize(
    ("directed", "configs"), [(True, PUSHED), (False, PULLED), (True, CHOSEN)],
    ids=["pushed", "pulled", "chosen"],
)  # fmt: skip
def test_in_place_steps_reach_the_same_fixpoint(directed, configs):
    g = GRAPHS[directed]
    fields = {
        "low": numbers(1, np.float32, 0, 40),
        "high": numbers(2),
        "mask": numbers(3, np.uint8, 0, 99),
    }
    for step in (widen, reach):
        for frontier in (None, SOME):
            result = agreed(g, step, fields, frontier, mode="iterate", configs=configs, steps=False)
            assert result.converged


# -- scalars


@weft.edge(into="x", reduce=weft.sum)
def tell(u, v, e, total, flag):
    weft.reduce("total", u.x * e.weight, weft.sum)
    weft.reduce("flag", u.x > 3, weft.or_)
    weft.reduce("least", weft.cast(v.x - u.x, weft.float32), weft.min)
    return weft.where(flag, u.x, total % 3)


@weft.vertex
def tell_more(v, total, least):
    weft.reduce("bits", weft.cast(v.x & 255, weft.uint8), XOR)
    weft.reduce("every", v.x < 10**6, weft.and_)
    weft.reduce("product", weft.cast(v.id % 3 + 1, weft.float64), weft.prod)
    v.x = v.x + total + weft.cast(least, weft.int64)


XOR = weft.monoid(lambda a, b: a ^ b, 0, name="xor")


@three_ways
def test_scalars_of_every_kind(directed, configs):
    fields = {
        "x": numbers(1), "total": weft.scalar(5), "flag": weft.scalar(False),
        "every": weft.scalar(False),
        "least": weft.scalar(0.0, weft.float32), "bits": weft.scalar(0, weft.uint8),
        "product": weft.scalar(1.0),
    }  # fmt: skip
    g = GRAPHS[directed]
    options = {"mode": "iterate", "max_iter": 6, "until": lambda total: total > 4000}
    functions = [tell, tell_more] if configs is PULLED else weft.fold(tell, tell_more)
    agreed(g, functions, fields, SOME, configs=configs, **options)


# -- live access


@weft.edge(order_free=True)
def hook(u, v, e):
    low = weft.minimum(v.root.at(u.id), v.root.at(v.id))
    v.root.at(u.id).min(low)
    v.count.at(v.id % 5).add(weft.cast(e.weight, weft.float32))
    v.bits.at(e.id % weft.num_vertices()).or_(weft.cast(1, weft.uint8) << (u.id % 8))
    v.small.at(u.id).max(weft.cast(v.id, weft.int8))
    return u.id < v.id


@weft.vertex
def follow(v):
    v.depth = weft.while_loop(
        lambda x, k: (v.root.at(x) != x) & (k < 50),
        lambda x, k: (v.root.at(x).load(), k + 1),
        v.id,
        0,
    )[1]
    v.near = v.gather(lambda u, e: v.count.at(u.id % 5), weft.max)


@weft.vertex(on="all")
def walk(v):
    def step(i, x):
        degree = weft.degree(x)
        place = weft.cast(weft.random(v.id, i) * degree, weft.int64)
        return weft.where(degree > 0, weft.neighbor(weft.where(degree > 0, x, 2), place), x)

    v.end = weft.for_range(0, 6, step, v.id)
    v.shared = weft.common(v.id, v.end, lambda w: w.value, weft.sum)


@both
def test_live_fields_loops_and_computed_vertices(directed):
    g = GRAPHS[directed]
    fields = zeros("depth", "end", "shared") | {
        "root": np.arange(N), "count": np.zeros(N, np.float32), "bits": np.zeros(N, np.uint8),
        "small": np.full(N, -128, np.int8), "near": np.zeros(N, np.float32), "value": numbers(7),
    }  # fmt: skip
    want = interpreted(g, [hook], fields)
    for config in CHOSEN:
        got = run(g, [hook], fields, config=config)
        for name in ("count", "bits", "small"):
            assert_bits_equal(got.fields[name], want.state.fields[name], name)
        assert got.frontier == want.frontier
    fields |= {"root": got.root, "count": got.count}
    agreed(g, [follow, walk], fields, configs=CHOSEN)


# -- vectors, folds, rounds, arcs


@weft.edge(into=("vec", "least"), reduce=(weft.sum, weft.min), accept=lambda v: v.vec[0] < 40.0)
def vectors(u, v, e):
    return weft.send(
        (u.vec * e.vector, weft.where(u.vec > v.vec, u.least, e.vector)), when=e.weight > 1
    )


@weft.edge(into="taken", reduce=weft.any)
def take_vector(u, v, e):
    return v.vec + v.least


@weft.vertex
def turn(v):
    v.vec, v.least = v.least, v.vec + v.gather(lambda u, e: u.vec, weft.max)


@three_ways
def test_vectors_as_messages(directed, configs):
    fields = {
        name: numbers(k, float, shape=(2,)) for k, name in enumerate(("vec", "least", "taken"))
    }
    functions = [vectors, take_vector, turn]
    if configs is not PULLED:
        functions = [weft.fold(vectors, take_vector, turn)]
    agreed(GRAPHS[directed], functions, fields, SOME, mode="iterate", max_iter=3, configs=configs)


@weft.vertex
def sieve(v):
    v.y = v.y + 1
    return v.x % 3 != 0


@weft.vertex(wake="neighbors")
def blend(v):
    v.x = v.x + v.gather(lambda u, e: u.x - u.y, weft.sum) % 11
    v.y = v.gather(lambda u, e: v.y + u.y, weft.max, direction="out") % 13


@weft.edge(into="x", reduce=weft.sum, on="all")
def stir(u, v, e):
    return weft.send(u.y, when=u.x > v.x)


@both
def test_folds_of_alternating_kinds(directed):
    """A vertex run sees others as they were when the fold began, whatever came before it."""
    fields = {"x": numbers(1), "y": numbers(2)}
    fold = weft.fold(sieve, blend, stir, sieve, blend)
    agreed(GRAPHS[directed], fold, fields, SOME, mode="iterate", max_iter=3, configs=CHOSEN)
    agreed(GRAPHS[directed], [sieve, weft.fold(stir, blend)], fields, SOME, configs=PUSHED)


@weft.edge(into="left", reduce=weft.sum, accept=lambda v: v.round < 0)
def leave(u, v, e):
    return -1


def fall(v, k):
    gone = (v.left <= k) & (v.round < 0)
    v.round = weft.where(gone, k, v.round)
    return gone


@weft.vertex
def find_least(v):
    weft.reduce("k", weft.where(v.round < 0, v.left, 10**6), weft.min)


@pytest.mark.parametrize("configs", [PUSHED, PULLED])
def test_rounds_with_a_trail_and_its_replay(configs):
    g = GRAPHS[False]
    fields = {"left": g.out_degree.astype(int), "round": np.full(N, -1), "k": weft.scalar(0)}
    options = {"mode": "iterate", "refill": [find_least, weft.vertex(fall, on="all")]}
    result = agreed(
        g, [leave, weft.vertex(fall)], fields, [], configs=configs, trail=True, **options
    )
    assert result.round.min() >= 0 and result.converged

    @weft.edge(into="left", reduce=weft.sum)
    def back(u, v, e):
        return weft.send(u.round + weft.superstep(), when=u.round >= v.round)

    fields["round"] = result.round
    again = agreed(g, back, fields, mode="replay", trail=result.trail, configs=configs)
    assert again.left.sum() > 0


@three_ways
def test_frontiers_of_arcs(directed, configs):
    g = GRAPHS[directed]
    arcs = g.edge_frontier(np.arange(1, g.topology.num_arcs, 4))

    @weft.edge(into="x", reduce=weft.sum)
    def first(u, v, e):
        return 10 * u.x + e.rank + e.weight

    @weft.edge(into=("y", "z"), reduce=(weft.max, weft.sum))
    def second(u, v, e):
        return u.x, e.id

    fields = {"x": numbers(1), "y": numbers(2), "z": numbers(3)}
    options = {"mode": "iterate", "max_iter": 2, "configs": configs}
    agreed(g, [first, second], fields, arcs, **options)
    agreed(g, [first, second], fields, g.edge_frontier(), **options)
    if configs is PULLED:
        everywhere = weft.edge(second.function, into=("y", "z"), reduce=second.reduce, on="all")
        agreed(g, everywhere, fields, arcs, configs=configs)
    want = interpreted(g, [first, second], fields, arcs, mode="iterate", max_iter=0)
    got = run(g, [first, second], fields, arcs, mode="iterate", max_iter=0, config=configs[0])
    compare(got, want)
    with pytest.raises(weft.errors.TraceError, match="holds arcs"):
        run(g, first, fields, arcs, mode="iterate", trail=True)
    with pytest.raises(weft.errors.GraphError, match="does not fit"):
        run(g, first, fields, weft.generators.star(9).edge_frontier([3]))


@pytest.mark.parametrize("keep", ["out", "in"])
def test_graphs_that_keep_one_direction(keep):
    ends = GRAPHS[True].to_edges()
    g = weft.Graph.from_edges(
        ends.src, ends.dst, ends.weight, num_vertices=N, keep=keep, index_dtype=np.int64
    )

    @weft.edge(into=("x", "key", "by"), reduce=(weft.sum, weft.min, weft.or_))
    def send_all(u, v, e):
        e.state = e.state + e.rank
        return u.x + e.weight, e.id, 1 << (e.rank % 60)

    @weft.vertex(on="all")
    def finish(v):
        v.y = v.gather(lambda u, e: u.x * e.weight + e.rank, weft.sum, direction=keep)

    fields = {"x": numbers(1), "y": numbers(2), "key": numbers(3, high=99), "by": np.zeros(N, int)}
    edges = {"state": np.arange(g.num_edges)}
    agreed(
        g, [send_all, finish], fields, SOME, edges=edges, configs=CHOSEN, mode="iterate", max_iter=2
    )


@weft.edge(order_free=True, accept=lambda v: v.x % 2 == 0)
def touch(u, v, e):
    v.x.at(v.id).add(u.y)
    v.z.at(u.id).max(v.y)


@weft.edge(into="total", reduce=weft.sum, accept=lambda v: v.z < 90)
def read_touched(u, v, e):
    return 10 * u.x + v.z


@weft.vertex
def sum_touched(v):
    v.total = v.total + v.gather(lambda u, e: u.x - 3 * u.old.total, weft.sum)
    v.count = weft.common(v.id, 2, lambda w: w.total + w.z, weft.sum)


@both
def test_others_see_live_writes_when_the_sweep_is_over(directed):
    """Tests and other functions of a fold read what was there when it began."""
    fields = {
        "x": numbers(1),
        "y": numbers(2),
        "z": numbers(3),
        "total": numbers(4),
        "count": numbers(5),
    }
    fold = weft.fold(touch, read_touched, sum_touched)
    agreed(GRAPHS[directed], [fold, touch], fields, mode="iterate", max_iter=3, configs=PUSHED)


@weft.vertex
def vote(v):
    v.most = v.gather(lambda u, e: u.label, weft.mode, direction="both")
    v.narrow = v.gather(lambda u, e: weft.cast(u.label, weft.int8), weft.mode)
    v.yes = v.gather(lambda u, e: weft.send(u.label > 0, when=u.id % 3 > 0), weft.mode)
    real, count = v.gather(lambda u, e: (u.real, 1), (weft.mode, weft.sum), direction="out")
    v.real = weft.where(count > 0, real, v.real)


def test_modes_of_long_rows():
    rng = np.random.default_rng(6)
    n = 250
    src, dst = rng.integers(0, n, 900), np.where(rng.random(900) < 0.5, 7, rng.integers(0, n, 900))
    g = weft.Graph.from_edges(src, dst, num_vertices=n, directed=False)
    fields = {
        "label": rng.integers(-9, 9, n) * 2**40 // 3, "most": np.zeros(n, int),
        "narrow": np.zeros(n, np.int8), "yes": np.zeros(n, bool),
        "real": rng.choice([0.5, np.nan, np.inf, -1.0, 2.0], n),
    }  # fmt: skip
    agreed(g, vote, fields, mode="iterate", max_iter=2, configs=CHOSEN)
