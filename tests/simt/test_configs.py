"""Every value of every choice as CUDA in the emulation, compared with the interpreter.

Each program runs under as many configurations as the longest list has values. In the k-th the
choices take turns, each at a pace of its own, so that every value occurs with every program and
most pairs occur somewhere. A few run under the sanitizers.
"""

import itertools

import numpy as np
import pytest

import weft
from agreement import assert_bits_equal, emulated, interpreted
from oracle import assert_same
from small_formats import FORMATS
from weft.algorithms.connected_components import link
from weft.backends.cuda.drivers.emulated import EmulatedDriver
from weft.config import WeaverTable
from weft.errors import ConfigError, DeviceError
from weft.formats import format as format_named
from weft.schedules import schedules

AXES = {
    "schedule": sorted(schedules()),
    "format": list(FORMATS.values()),
    "direction": ["auto", "push", "pull", "beamer", "ligra", "gunrock", "graphblast", "simdx"],
    "fuse": ["all", "direction", "none"],
    "compaction": ["online", "ballot", "batch", "atomic", "jit"],
    "dedup": ["exact", "none", "bitmask", "history", "warp"],
    "frontier_in": ["queue", "bitmap", "bytemap", "reverse_queue", "state"],
    "frontier_out": [None, "queue", "bitmap", "bytemap"],
    "combine": ["atomic", "by_target"],
    "width": ["auto", "block", "cluster", "grid"],
    "block_size": [32, 64, 128],
    "bin_size": [64, 1],
    "lanes": [2, 8, "block", 32, 1],
    "items_per_thread": [1, 8],
    "weaver": [None, WeaverTable(32)],
    # Where rows go to warps, blocks and all blocks: a small graph has some of each.
    "warp_degree": [2, 32],
    "block_degree": [6, 1024],
    "grid_degree": [12, 1 << 16],
}
COUNT = max(map(len, AXES.values()))

G = weft.generators.rmat(6, 5, seed=2, directed=True, weights="int", self_loops="keep")
N = G.num_vertices
FAR = np.iinfo(np.int64).max  # a message from where nobody has been wraps, and is seen


@weft.edge(into=("level", "parent"), reduce=weft.any, accept=lambda v: v.level < 0)
def discover(u, v, e):
    return u.level + 1, u.id


@weft.edge(into="dist", reduce=weft.min, priority=lambda v: v.dist)
def relax(u, v, e):
    return u.dist + e.weight


@weft.edge(into="least", reduce=weft.min)
def spread(u, v, e):
    return u.least


@weft.vertex
def refresh(v, total):
    sent = v.gather(lambda u, e: u.rank // weft.maximum(u.out_degree, 1), weft.sum)
    weft.reduce("total", sent, weft.sum)
    v.rank = 1000 + sent + total % 7


@weft.edge(order_free=True)
def join(u, v, e):
    link(v.label, u.id, v.id)
    return False


@weft.edge(into="left", reduce=weft.sum, accept=lambda v: v.core < 0)
def leave(u, v, e):
    return -1


def fall(v, k):
    gone = (v.left <= k) & (v.core < 0)
    v.core = weft.where(gone, k, v.core)
    return gone


@weft.vertex
def find_least(v):
    weft.reduce("k", weft.where(v.core < 0, v.left, 10**6), weft.min)


@weft.edge(into="x", reduce=weft.sum)
def pass_on(u, v, e):
    e.mark = e.mark + u.x % 3
    return weft.send(u.x + e.mark, when=u.x % 2 == 1)


@weft.edge(into="most", reduce=weft.max)
def raise_most(u, v, e):
    return u.x


@weft.vertex
def look_round(v):
    v.seen = v.x + v.gather(lambda u, e: u.x, weft.max)


@weft.edge(into=("x", "count"), reduce=(weft.sum, weft.sum), accept=lambda v: v.x[0] < 90)
def add_features(u, v, e):
    e.mark = e.mark + u.x - v.x[1]
    weft.reduce("total", u.x[2] % 5, weft.sum)
    return weft.send((u.x + e.mark, weft.max(u.x)), when=weft.sum(u.x) % 3 > 0)


@weft.vertex
def mix_features(v, total):
    most, seen = v.gather(lambda u, e: (weft.outer(u.x, v.x), u.count), (weft.max, weft.sum))
    v.x = (v.x + weft.maximum(most @ v.x, -7) + total) % 97
    v.count = v.old.count + seen % 11
    v.changed = weft.any(v.x > 5)


def start(value, first, dtype=int):
    """Return a field that is `first` at vertex 1 and `value` elsewhere."""
    return np.where(np.arange(N) == 1, first, value).astype(dtype)


NUMBERS = np.random.default_rng(4).integers(0, 50, N)
# Functions, fields, first frontier and options by the name of the program.
PROGRAMS = {
    "search": (discover, {"level": start(-1, 0), "parent": start(-1, 1)}, [1], {}),
    "paths": (relax, {"dist": start(FAR, 0)}, [1], {}),
    "minima": (spread, {"least": NUMBERS.copy()}, None, {}),
    "ranks": (
        refresh, {"rank": np.full(N, 1000), "total": weft.scalar(0)}, None, {"max_iter": 4},
    ),
    "components": (join, {"label": np.arange(N)}, None, {"mode": "run"}),
    "cores": (
        [leave, weft.vertex(fall)],
        {"left": G.in_degree.astype(int), "core": np.full(N, -1), "k": weft.scalar(0)},
        [],
        {"refill": [find_least, weft.vertex(fall, on="all")], "trail": True},
    ),
    "fold": (
        weft.fold(pass_on, raise_most, look_round),
        {"x": NUMBERS.copy(), "most": np.zeros(N, int), "seen": np.zeros(N, int)},
        [1, 2, 5, 9],
        {"edges": {"mark": np.arange(G.num_edges) % 5}, "max_iter": 3},
    ),
    "features": (
        [add_features, mix_features],
        {"x": (NUMBERS[:, None] + np.arange(5)) % 97, "count": NUMBERS.copy(),
         "total": weft.scalar(0)},
        [1, 2, 5, 9],
        {"edges": {"mark": np.arange(5 * G.num_edges).reshape(-1, 5) % 5}, "max_iter": 2},
    ),
}  # fmt: skip
ONE_WAY = {"fold": "auto", "components": "auto"}  # a fold is pushed; live programs go either way


def choices(k: int) -> dict:
    """Return the k-th configuration."""
    return {name: values[(k + k // len(values)) % len(values)] for name, values in AXES.items()}


def check(name: str, chosen: dict) -> None:
    """Run a program as chosen and as defined."""
    functions, fields, frontier, options = PROGRAMS[name]
    if name in ONE_WAY:
        chosen = {**chosen, "direction": ONE_WAY[name]}
    options = {"mode": "iterate", **options}
    try:
        got = emulated(G, functions, fields, frontier, choices=chosen, **options)
        if name == "components":
            return check_components(got)
        want = interpreted(G, functions, fields, frontier, **options)
        if name == "search":  # any of the parents one level up is right
            parent, level = got.state.fields.pop("parent"), got.level
            want.state.fields.pop("parent")
            assert (level[parent[level > 0]] == level[level > 0] - 1).all()
        assert_same(want, got, steps=name not in ("paths", "minima"))
    except (AssertionError, DeviceError) as error:
        raise AssertionError(f"{chosen}: {error}") from None


def check_components(got) -> None:
    """Every edge joins vertices with one root, and roots are their own."""
    root = got.label
    while (root != root[root]).any():
        root = root[root]
    src, dst, _ = G.to_edges()
    np.testing.assert_array_equal(root[src], root[dst])


def test_every_value_of_every_choice_is_met():
    for name, values in AXES.items():
        assert {choices(k)[name] for k in range(COUNT)} == set(values)


@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("name", PROGRAMS)
def test_choices(name, part):
    for k in range(part, COUNT, 3):
        check(name, choices(k))
        if choices(k)["fuse"] == "all":  # the same kernel, by one cluster that is never joined
            check(name, {**choices(k), "width": "auto", "driver": driver("none", 1)})


@pytest.mark.parametrize("k", range(COUNT))
def test_sorting_by_target_with_every_choice(k):
    name = ("search", "minima", "cores", "features")[k % 4]
    direction = choices(k)["direction"] if k % 2 else "push"
    chosen = {**choices(k), "combine": "radix", "direction": direction}
    if format_named(chosen["format"]).splits and direction != "pull":
        with pytest.raises(ConfigError, match="splits the rows"):
            check(name, chosen)
        chosen["format"] = {"pull": chosen["format"]}
    check(name, chosen)


@pytest.mark.slow
@pytest.mark.parametrize("k", range(COUNT, 8 * COUNT))
def test_more_choices(k):
    for name in PROGRAMS:
        check(name, choices(k))


# -- the same bits run after run


@weft.edge(into=("sum", "first"), reduce=(weft.sum, weft.any))
def add_up(u, v, e):
    return u.f * 1.1, u.id


@weft.edge(into=("near", "who"), reduce=weft.argmin)
def nearest(u, v, e):
    return weft.cast(u.id % 3, weft.float32), u.id


@weft.vertex(on="all")
def even_out(v):
    weft.reduce("error", v.f * 0.1, weft.sum)
    v.f = v.f + v.gather(lambda u, e: u.f * 0.3, weft.sum) / 7
    v.some = v.gather(lambda u, e: u.id, weft.any, direction="both")


ROUNDED = {
    "a list": ([add_up, nearest, even_out], {"combine": "atomic"}),
    "a fold in order": (weft.fold(add_up, nearest, even_out), {"combine": "atomic"}),
    "sorted messages": ([add_up, nearest, even_out], {"combine": "by_target"}),
    # Rows that a warp or a block reduces: in another order than a pull, which one thread does.
    "sorted messages of long rows": (
        [add_up, nearest, even_out],
        {"combine": "by_target", "direction": "push", "warp_degree": 3, "block_degree": 9},
    ),
    "messages sorted by target": ([add_up, nearest, even_out], {"combine": "radix"}),
    "long runs": (
        [add_up, nearest, even_out],
        {"combine": "radix", "direction": "push", "warp_degree": 3, "block_degree": 9},
    ),
}


@pytest.mark.parametrize("name", ROUNDED)
def test_deterministic_runs_have_the_same_bits_in_any_order_of_threads(name):
    functions, options = ROUNDED[name]
    rng = np.random.default_rng(1)
    fields = {
        "f": rng.random(N), "sum": np.zeros(N), "first": np.full(N, -1), "some": np.full(N, -1),
        "near": np.full(N, np.inf, np.float32), "who": np.full(N, -1), "error": weft.scalar(0.0),
    }  # fmt: skip
    runs = []
    for seed, direction in itertools.product(range(4), ["auto", "push"]):
        if direction == "push" and options["combine"] == "atomic":
            continue
        chosen = {"deterministic": True, "direction": direction, **options,
                  "driver": driver("none", seed)}  # fmt: skip
        got = emulated(G, functions, fields, None, choices=chosen, mode="iterate", max_iter=3)
        runs.append({**got.state.fields, **got.state.scalars})
    into = G.in_degree
    if "warp_degree" in options:
        assert into.max() >= options["block_degree"] and into.min() < options["warp_degree"]
        plain = {k: v for k, v in options.items() if not k.endswith("_degree")}
        one = emulated(G, functions, fields, None, mode="iterate", max_iter=3,
                       choices={"deterministic": True, **plain})  # fmt: skip
        np.testing.assert_allclose(one.state.fields["sum"], runs[0]["sum"], rtol=1e-13)
    for other in runs[1:]:
        for field, values in runs[0].items():
            assert_bits_equal(other[field], values, field)
    src, dst, _ = G.to_edges()
    first, some = runs[0]["first"], runs[0]["some"]
    for v in range(N):
        into = src[dst == v]
        assert first[v] == (into[0] if into.size else -1)  # the smallest edge id
        either = np.flatnonzero((src == v) | (dst == v))
        if either.size:
            e = either[0]
            assert some[v] == (src[e] if dst[e] == v else dst[e])


def test_deterministic_runs_sort_what_they_cannot_pull():
    src, dst, _ = G.to_edges()
    outward = weft.Graph.from_edges(src, dst, num_vertices=N, keep="out")
    fields = {"f": np.random.default_rng(1).random(N), "sum": np.zeros(N), "first": np.full(N, -1)}
    options = {"mode": "iterate", "max_iter": 2}
    want = interpreted(outward, add_up, fields, None, **options).state.fields
    runs = []
    for seed, g in itertools.product(range(3), (outward, G)):
        chosen = {"deterministic": True, "direction": "push", "driver": driver("none", seed)}
        runs.append(emulated(g, add_up, fields, None, choices=chosen, **options).state.fields)
    for got in runs:
        assert_bits_equal(got["sum"], runs[0]["sum"])
        np.testing.assert_array_equal(got["first"], want["first"])
        np.testing.assert_allclose(got["sum"], want["sum"], rtol=1e-13)


# -- sanitizers

DRIVERS: dict[tuple[str, int], EmulatedDriver] = {}


def driver(sanitizer: str, seed: int) -> EmulatedDriver:
    """Return the one driver with these properties: modules are kept by driver.

    Every other one gives graphs as small as these a grid of one cluster.
    """
    made = EmulatedDriver(sanitizer, seed, small_grids=seed % 2 == 1)
    return DRIVERS.setdefault((sanitizer, seed), made)


# What is different in each: schedules that share rows, maps, compaction, launches.
SANITIZED = [
    ("search", {"schedule": "twc", "warp_degree": 2, "block_degree": 6, "grid_degree": 12,
                "frontier_in": "state"}),
    ("paths", {"schedule": "warp", "fuse": "direction"}),
    ("ranks", {"schedule": "block", "fuse": "none"}),
    ("components", {"schedule": "twce"}),
    ("cores", {"schedule": "merge", "frontier_out": "bytemap", "compaction": "batch"}),
    ("fold", {"schedule": "strict", "compaction": "jit", "bin_size": 1}),
    ("minima", {"schedule": "edge", "dedup": "bitmask", "frontier_out": "queue"}),
    ("cores", {"schedule": "row", "combine": "by_target", "compaction": "ballot", "warp_degree": 3,
               "block_degree": 9}),
    ("cores", {"combine": "radix", "direction": "push", "warp_degree": 3, "block_degree": 9}),
    ("features", {"schedule": "twc", "warp_degree": 2, "block_degree": 6, "grid_degree": 12}),
    ("features", {"schedule": "merge", "direction": "push"}),
    ("search", {"schedule": "row", "lanes": 4, "format": "tigr(3)", "direction": "pull"}),
    ("ranks", {"schedule": "edge", "format": "gshard(16)"}),
    ("search", {"best_neighbor": True, "direction": "pull"}),
    ("ranks", {"hub_table": True, "schedule": "twc", "warp_degree": 3, "block_degree": 9,
               "grid_degree": 12}),
]  # fmt: skip


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
@pytest.mark.parametrize(("name", "chosen"), SANITIZED)
def test_sanitizers_find_nothing(name, chosen, sanitizer):
    for seed in range(2):
        check(name, {"block_size": 64, **chosen, "driver": driver(sanitizer, seed)})


@pytest.mark.slow
@pytest.mark.parametrize("sanitizer", ["address", "thread"])
@pytest.mark.parametrize("k", range(COUNT))
@pytest.mark.parametrize("name", PROGRAMS)
def test_sanitizers_find_nothing_under_any_choice(name, k, sanitizer):
    check(name, {**choices(k), "driver": driver(sanitizer, k)})


def test_sides_are_chosen_apart():
    """A search that turns round pushes by one schedule, format and frontier, pulls by others."""
    g = weft.generators.rmat(7, 8, seed=3)
    source = int(np.argmax(g.out_degree))
    config = weft.Config(
        schedule={"push": "merge", "pull": "row", "narrow": "vertex"},
        format={"push": "csr", "pull": "coo"},
        frontier_in={"push": "queue", "pull": "reverse_queue"},
        frontier_out={"push": "queue", "pull": "bytemap"},
    )
    with weft.profile() as told:
        found = weft.bfs(g.to("emulated"), source, config=config)
    assert np.array_equal(found.level, weft.bfs(g, source).level)
    assert {record.direction for record in told.records} == {"push", "pull"}
    assert told.facts[0]["push"] == "merge/csr queue->queue"
    assert told.facts[0]["pull"] == "row/coo reverse_queue->bytemap"
    assert told.facts[0]["narrow"] == "vertex/csr queue->queue"


@pytest.mark.parametrize("name", ["paths", "cores"])
def test_rule_40_narrow_frontiers_run_in_one_block_by_a_schedule_of_their_own(name):
    """One block takes up to 32 vertices; some frontiers have fewer, others more."""
    sides = weft.config.BySide({"push": "strict", "narrow": "warp"})
    chosen = {"schedule": sides, "direction": "push", "block_size": 32, "width": "block"}
    check(name, {**chosen, "bin_size": 1})
