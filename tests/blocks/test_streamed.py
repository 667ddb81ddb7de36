"""Algorithms and programs over blocks: the same results as in memory."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from oracle import assert_same, run_interpreted, run_on
from partitioned import for_requests, on_blocks, written
from programs import cases, fixpoints
from weft.backends.blocks.backend import BACKEND
from weft.blocks.build import BuildPlan, Chunk, build
from weft.errors import ConfigError, GraphError


@pytest.fixture
def evaluated(monkeypatch):
    """Evaluate small blocks with NumPy, as users' small graphs are, in place of compiling."""
    monkeypatch.delenv("WEFT_EVALUATE", raising=False)


@pytest.fixture(scope="module")
def directed(tmp_path_factory):
    rng = np.random.default_rng(1)
    src, dst = rng.integers(0, 150, (2, 600))
    whole = weft.Graph.from_edges(src, dst, rng.random(600), num_vertices=155)
    return written(whole, tmp_path_factory.mktemp("directed"), 5), whole


@pytest.fixture(scope="module")
def simple(tmp_path_factory):
    rng = np.random.default_rng(2)
    src, dst = rng.integers(0, 60, (2, 240))
    whole = weft.Graph.from_edges(
        src, dst, num_vertices=64, directed=False, duplicates="first", self_loops="drop"
    )
    return written(whole, tmp_path_factory.mktemp("simple"), 4), whole


def test_pagerank(directed, evaluated):
    ours, theirs = (weft.pagerank(g) for g in directed)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    home = np.arange(155.0)
    ours, theirs = (weft.pagerank(g, personalization=home, tol=1e-9) for g in directed)
    np.testing.assert_allclose(ours, theirs, rtol=1e-10)


def test_searches(directed, evaluated):
    blocks, whole = directed
    for source in (0, [3, 150]):
        np.testing.assert_array_equal(weft.bfs(blocks, source).level, weft.bfs(whole, source).level)
    ours, theirs = weft.sssp(blocks, 0), weft.sssp(whole, 0)
    np.testing.assert_array_equal(ours.dist, theirs.dist)
    reached = np.flatnonzero(ours.parent >= 0)
    weights = {}
    for u, v, w in zip(*whole.to_edges(), strict=True):
        weights[int(u), int(v)] = min(w, weights.get((int(u), int(v)), np.inf))
    for v in reached[reached != 0]:
        u = int(ours.parent[v])
        assert ours.dist[v] == ours.dist[u] + weights[u, int(v)]


def test_components_and_labels(directed, simple, evaluated):
    for blocks, whole in (directed, simple):
        for algorithm in (weft.connected_components, weft.label_propagation):
            np.testing.assert_array_equal(algorithm(blocks), algorithm(whole))


def test_cores_betweenness_and_triangles(simple, evaluated):
    blocks, whole = simple
    np.testing.assert_array_equal(weft.core_number(blocks), weft.core_number(whole))
    np.testing.assert_allclose(weft.betweenness(blocks, 5), weft.betweenness(whole, 5))
    assert weft.triangle_count(blocks) == weft.triangle_count(whole) > 0


def test_algorithms_on_simple_graphs_say_how_to_partition(directed):
    with pytest.raises(GraphError, match=r"directed.*partition.*duplicates='first'"):
        weft.core_number(directed[0])


def test_learning(simple):
    """Distributions over labels, and several modalities; a vector for each vertex."""
    rng = np.random.default_rng(5)
    start, as_is = rng.random((64, 3)), {"on_unconverged": "return"}
    for learn in (
        lambda g: weft.learning.label_propagation_features(g, start, max_iter=3, tol=0, **as_is),
        lambda g: weft.learning.multimodal(g, start, 0.01, max_iter=3, tol=0, **as_is),
    ):
        ours, theirs = learn(simple[0]), learn(simple[1].to("reference"))
        np.testing.assert_allclose(ours, theirs, rtol=1e-10)


@pytest.mark.parametrize("blocks", [1, 4])
@pytest.mark.parametrize(
    ("edges", "n"),
    [([], 0), ([], 1), ([], 5), ([(0, 0)], 1), ([(0, 0), (0, 0), (0, 1)], 4),
     ([(0, k) for k in range(1, 20)], 20), ([(k, k + 1) for k in range(30)], 31)],
    ids=["nothing", "one", "isolated", "loop", "parallel", "hub", "path"],
)  # fmt: skip
def test_awkward_graphs(edges, n, blocks, evaluated):
    src = np.array([a for a, _ in edges], np.int64)
    dst = np.array([b for _, b in edges], np.int64)
    whole = weft.Graph.from_edges(src, dst, num_vertices=n)
    with on_blocks(whole, blocks) as g:
        np.testing.assert_allclose(weft.pagerank(g), weft.pagerank(whole), rtol=1e-12)
        if n:
            np.testing.assert_array_equal(weft.bfs(g, 0).level, weft.bfs(whole, 0).level)
            np.testing.assert_array_equal(
                weft.connected_components(g), weft.connected_components(whole)
            )


def check(case, count, same_steps, direction="auto"):
    """Run a drawn program over blocks; return whether it could be run."""
    whole, arguments = case.graph(), {"mode": case.mode, **case.options()}
    given_ = (case.functions(), case.state(), case.frontier)
    want = run_interpreted(whole, *given_, **arguments)
    with on_blocks(whole, count) as blocks:
        try:
            got = run_on(
                BACKEND, for_requests(blocks, whole), *given_,
                options={"compiled": False, "direction": direction}, **arguments,
            )  # fmt: skip
        except ConfigError:
            return False
    assert_same(want, got, steps=same_steps)
    return True


def test_drawn_programs_agree(evaluated):
    ran = []

    @given(cases(), st.sampled_from([1, 2, 3]), st.sampled_from(["auto", "pull"]))
    @settings(max_examples=60, derandomize=True)
    def bounded(case, blocks, direction):
        ran.append(check(case, blocks, True, direction))

    @given(fixpoints(), st.sampled_from([1, 3]), st.sampled_from(["auto", "pull"]))
    @settings(max_examples=20, derandomize=True)
    def unbounded(case, blocks, direction):
        ran.append(check(case, blocks, False, direction))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bounded()
        unbounded()
    assert sum(ran) > len(ran) / 3


@weft.edge(into=("least", "total"), reduce=(weft.min, weft.sum), active=lambda v, old: v.total > 2)
def offer(u, v, e):
    weft.reduce("sent", u.value, weft.sum)
    return weft.send((u.value + weft.superstep(), e.weight), when=u.value != v.value)


@weft.vertex
def take(v):
    v.value = v.value + 1


@weft.vertex(wake="neighbors")
def relabel(v):
    v.value = v.gather(lambda u, e: u.value, weft.max, direction="both")


def test_kernels_agree_with_evaluation_and_memory(directed):
    """Messages, sums, scalars, active and waking, compiled; one block swept after another."""
    results = []
    for g in (directed[0], directed[1].to("reference")):
        state = g.state(
            value=np.arange(155) % 7, least=weft.full(100), total=weft.full(0.0),
            sent=weft.scalar(0),
        )  # fmt: skip
        run = g.iterate([offer, take], state, range(40), max_iter=3)
        again = g.iterate(relabel, state, range(9), max_iter=2)
        results.append((run.frontier.tolist(), again.frontier.tolist(), state))
    (f1, g1, ours), (f2, g2, theirs) = results
    assert (f1, g1, int(ours.sent)) == (f2, g2, int(theirs.sent))
    np.testing.assert_array_equal(ours.value, theirs.value)
    np.testing.assert_array_equal(ours.least, theirs.least)
    np.testing.assert_allclose(ours.total, theirs.total, rtol=1e-12)


def test_write_once_steps_write_in_place_and_skip_blocks(directed):
    blocks, whole = directed
    before = blocks.topology.carrier.counters
    np.testing.assert_array_equal(weft.bfs(blocks, 0).level, weft.bfs(whole, 0).level)
    after = blocks.topology.carrier.counters
    assert after["blocks_skipped"] > before["blocks_skipped"]


def test_profiles_and_explanations(directed, evaluated):
    blocks, _ = directed
    with weft.profile() as profile:
        weft.bfs(blocks, 0)
    assert profile.records[0].frontier == 1


@weft.edge(into="value", reduce=weft.max)
def ask(u, v, e):
    return weft.neighbor(v.id, 0)


@weft.edge
def tell(u, v, e):
    v.value.at(u.id).max(v.value)


@weft.edge(order_free=True)
def tell_all(u, v, e):
    v.value.at(u.id).max(v.other)


@weft.vertex(on="all", order_free=True)
def tell_first(v):
    weft.for_range(
        0, weft.minimum(v.out_degree, 2), lambda i: v.value.at(weft.neighbor(v.id, i)).max(v.other)
    )


@pytest.mark.parametrize("function", [tell_all, tell_first])
def test_updates_in_any_order_run_in_place(directed, function, evaluated):
    results = []
    for g in (directed[0], directed[1].to("reference")):
        state = g.state(value=weft.full(0), other=weft.full(lambda v: v.id * 7 % 151))
        g.run(function, state)
        results.append(state.value)
    np.testing.assert_array_equal(*results)


@weft.vertex
def look(v):
    v.value = weft.common(v.id, v.value, lambda w: 1, weft.sum)


@weft.edge(into="value", reduce=weft.max)
def number(u, v, e):
    return e.id


@pytest.mark.parametrize(
    ("function", "reason"),
    [(ask, r"weft\.neighbor"), (tell, r"updates fields by \.at\(i\)"), (look, r"weft\.common"),
     (number, r"e\.id")],
)  # fmt: skip
def test_what_blocks_cannot_do_is_refused_with_the_line(directed, function, reason):
    blocks, _ = directed
    state = blocks.state(value=weft.full(0))
    line = function.function.__code__.co_firstlineno
    with pytest.raises(ConfigError, match=rf"test_streamed\.py:{line}.*{reason}.*to\('cpu'\)"):
        blocks.run(function, state)
    assert not state.value.any()


@pytest.mark.parametrize(
    "call",
    [
        lambda g: g.to_edges(),
        lambda g: g.edge["weight"],
        lambda g: g.add_edges([0], [1], weight=1.0),
        lambda g: g.reverse(),
        lambda g: g.to_scipy(),
        lambda g: g.reorder("degree"),
        lambda g: g.subgraph([0, 1]),
        lambda g: g.run(offer, g.state(value=weft.full(0), least=weft.full(0),
                        total=weft.full(0.0), sent=weft.scalar(0)), g.edge_frontier([0])),
        lambda g: weft.bfs(g, 0, config=weft.Config(deterministic=True)),
    ],
)  # fmt: skip
def test_what_needs_all_arcs_says_so(directed, call):
    with pytest.raises((GraphError, ConfigError), match=r"partitioned|blocks"):
        call(directed[0])


def test_one_direction_serves_what_needs_no_more(tmp_path, evaluated):
    whole = weft.generators.rmat(6, seed=3)
    into = written(whole, tmp_path, 3, keep="in", directed=True)
    loaded = into.to("cpu")
    np.testing.assert_allclose(weft.pagerank(into), weft.pagerank(loaded), rtol=1e-12)
    with pytest.raises(ConfigError, match=r"needs blocks by source.*keep='both'"):
        weft.bfs(into, 0)


@pytest.mark.parametrize("share", [0.3, 0.6, 2.0])
def test_blocks_in_memory_stay_within_the_limit(tmp_path, share):
    rng = np.random.default_rng(4)
    src, dst = rng.integers(0, 2000, (2, 400_000))
    chunk = Chunk(src, dst, {})
    manifest = build(tmp_path, lambda rows: iter([chunk]), BuildPlan(1 << 26, 16, keep="in"))
    sizes = [entry.bytes for entry in manifest.blocks["in"]]
    memory = max(int(share * sum(sizes)), 1 << 20)
    g = weft.open(tmp_path, memory=memory)
    carrier, state = g.topology.carrier, g.state(total=weft.full(0))
    for _ in range(2):
        g.run(count_in, state)
        np.testing.assert_array_equal(state.total, g.in_degree)
    held = sum(entry.bytes for entry in manifest.blocks["in"][: len(carrier._held)])
    assert held + 3 * max(sizes) <= max(memory, sum(sizes) + 3 * max(sizes))
    read = carrier.counters["bytes_read"]
    assert read == 2 * sum(sizes) - held
    assert (held == sum(sizes)) == (share > 1)


@weft.vertex(on="all")
def count_in(v):
    v.total = v.gather(lambda u, e: 1, weft.sum)
