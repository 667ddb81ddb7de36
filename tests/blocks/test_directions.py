"""Sweeps over blocks that pull, and reads of some rows of a block."""

import numpy as np
import pytest

import weft
from partitioned import written
from weft.blocks.build import BuildPlan, Chunk, build


@weft.edge(into="level", reduce=weft.any, accept=lambda v: v.level < 0)
def reach(u, v, e):
    return u.level + 1


@weft.edge(into=("least", "seen"), reduce=(weft.min, weft.sum))
def offer(u, v, e):
    return u.least + e.weight, 1


@weft.edge(into="seen", reduce=weft.any, accept=lambda v: v.seen < 2, along="in")
def touch(u, v, e):
    return v.seen + 1


@weft.edge(into="hit", reduce=weft.or_, accept=lambda v: ~v.hit)
def hit(u, v, e):
    return True


def random_graph(count, directed, folder):
    """Return a graph in eight blocks that end within words of bitmaps, and the same in memory."""
    rng = np.random.default_rng(3)
    src, dst = rng.integers(0, 3000, (2, count)) // rng.integers(1, 4, (2, count))
    whole = weft.Graph.from_edges(
        src, dst, rng.random(src.size), num_vertices=3010, directed=directed
    )
    return written(whole, folder, 8), whole


@pytest.fixture(scope="module", params=[True, False], ids=["directed", "undirected"])
def graphs(request, tmp_path_factory):
    return random_graph(6000, request.param, tmp_path_factory.mktemp("pulled"))


def state_of(g):
    return g.state(
        level=weft.full(-1).but(0, 0), least=weft.full(lambda v: v.id * 1.0), seen=weft.full(0),
        hit=weft.full(False),
    )  # fmt: skip


def check(graphs, function, direction, frontier):
    results = []
    for g in (graphs[0], graphs[1].to("reference")):
        config = weft.Config(direction=direction) if g is graphs[0] else None
        state = state_of(g)
        run = g.iterate(function, state, frontier, max_iter=3, config=config)
        results.append((run.frontier, run.steps, state))
    (f1, s1, ours), (f2, s2, theirs) = results
    assert s1 == s2
    np.testing.assert_array_equal(f1, f2)
    for name in ("level", "seen", "hit"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    np.testing.assert_allclose(ours.least, theirs.least, rtol=1e-12)


@pytest.mark.parametrize("direction", ["pull", "auto"])
@pytest.mark.parametrize(
    ("function", "frontier"),
    [(reach, [0]), (offer, range(0, 3010, 7)), (offer, None), (touch, None), (hit, [5]),
     (hit, range(0, 3010, 7)), (reach, [3009])],
)  # fmt: skip
def test_directions_agree(graphs, function, frontier, direction, monkeypatch):
    monkeypatch.delenv("WEFT_EVALUATE", raising=False)
    check(graphs, function, direction, frontier)


@pytest.mark.parametrize("function", [offer, touch])
def test_kernels_pull(graphs, function):
    if graphs[0].directed:
        check(graphs, function, "pull", None)


def test_wide_frontiers_pull_and_narrow_ones_push(tmp_path):
    blocks, whole = random_graph(40_000, False, tmp_path)
    hub = int(np.argmax(whole.out_degree))
    with weft.profile() as profile:
        ours = weft.bfs(blocks, hub, config=weft.Config(threads=2))
    np.testing.assert_array_equal(ours.level, weft.bfs(whole.to("reference"), hub).level)
    directions = [record.direction for record in profile.records]
    assert directions[0] == "push"
    assert "pull" in directions


def test_few_rows_are_read_alone(tmp_path):
    """On a long path whose vertices have many more arcs, a search reads little of each block."""
    n, width = 1 << 10, 1 << 10
    src = np.repeat(np.arange(n - 1), width)
    dst = np.where(np.arange(src.size) % width == 0, src + 1, src // 64 * 64)
    build(tmp_path, lambda rows: iter([Chunk(src, dst, {})]), BuildPlan(1 << 28, 2))
    g = weft.open(tmp_path, memory="14MB")
    carrier, push = g.topology.carrier, weft.Config(direction="push")
    state = state_of(g)
    g.iterate(reach, state, [0], max_iter=n // 2 + 2, config=push)  # both blocks, whole
    assert not carrier._held
    before = carrier.counters["bytes_read"]
    g.iterate(reach, state, state.level.argmax()[None], max_iter=100, config=push)
    np.testing.assert_array_equal(state.level[: n // 2 + 103], np.arange(n // 2 + 103))
    assert carrier.counters["bytes_read"] - before <= 100 * 3 * 4096


def test_rows_that_are_met_with_all_others_are_read_in_groups(tmp_path, monkeypatch):
    monkeypatch.delenv("WEFT_EVALUATE", raising=False)
    monkeypatch.setattr("weft.blocks.sizes.LEAST_BYTES", 1)
    whole = weft.generators.rmat(9, edge_factor=32, seed=5, directed=False)
    weft.write(whole, tmp_path / "whole.weft")
    weft.partition(
        tmp_path / "whole.weft", tmp_path / "blocks", blocks=8, duplicates="first",
        self_loops="drop",
    )  # fmt: skip
    manifest = weft.open(tmp_path / "blocks").topology.manifest
    sizes = [entry.bytes for entry in manifest.blocks["out"]]
    reads = []
    for room in (0, sum(sizes) // 3, sum(sizes)):
        g = weft.open(tmp_path / "blocks", memory=3 * max(sizes) + room)
        assert weft.triangle_count(g) == weft.triangle_count(whole)
        reads.append(g.topology.carrier.counters["bytes_read"])
    assert reads[0] > 2 * reads[1]
    assert reads[2] == sum(sizes)
