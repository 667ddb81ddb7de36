"""Blocks that are swept on a GPU: here by the emulation, whose kernels are the generated CUDA."""

import numpy as np
import pytest

import weft
from partitioned import written
from weft.errors import ConfigError


@pytest.fixture(scope="module", params=[True, False], ids=["directed", "undirected"])
def graphs(request, tmp_path_factory):
    rng = np.random.default_rng(5)
    src, dst = rng.integers(0, 90, (2, 400)) // rng.integers(1, 4, (2, 400))
    whole = weft.Graph.from_edges(
        src, dst, rng.random(400), num_vertices=95, directed=request.param
    )
    folder = tmp_path_factory.mktemp("streamed")
    written(whole, folder, 4)
    return weft.open(folder / "blocks", memory="50MB", device="emulated"), whole


def test_algorithms_agree(graphs):
    ours, whole = graphs
    assert ours.device == "emulated"
    results = [weft.pagerank(g, max_iter=20, tol=1e-6) for g in graphs]
    np.testing.assert_allclose(*results, rtol=1e-10)
    np.testing.assert_array_equal(weft.bfs(ours, [0, 7]).level, weft.bfs(whole, [0, 7]).level)
    np.testing.assert_array_equal(weft.sssp(ours, 0).dist, weft.sssp(whole, 0).dist)
    np.testing.assert_array_equal(weft.connected_components(ours), weft.connected_components(whole))
    np.testing.assert_array_equal(weft.label_propagation(ours, 2), weft.label_propagation(whole, 2))


@weft.edge(into=("least", "total"), reduce=(weft.min, weft.sum))
def offer(u, v, e):
    weft.reduce("sent", 1, weft.sum)
    return u.least + e.weight, u.least


@weft.vertex
def take(v):
    v.pull = v.gather(lambda u, e: u.least * e.weight, weft.max, direction="both")


def test_messages_scalars_and_gathers(graphs):
    results = []
    for g in (graphs[0], graphs[1].to("reference")):
        state = g.state(
            least=weft.full(lambda v: v.id * 1.0), total=weft.full(0.0), pull=weft.full(0.0),
            sent=weft.scalar(0),
        )  # fmt: skip
        run = g.iterate([offer, take], state, range(0, 95, 3), max_iter=3)
        results.append((run.frontier, state))
    (f1, ours), (f2, theirs) = results
    np.testing.assert_array_equal(f1, f2)
    assert int(ours.sent) == int(theirs.sent)
    for name in ("least", "total", "pull"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-12)


def test_a_single_block_stays_on_the_device(tmp_path):
    whole = weft.generators.rmat(6, seed=1)
    written(whole, tmp_path, 1)
    g = weft.open(tmp_path / "blocks", memory="50MB", device="emulated")
    copied = []
    for _ in range(2):
        np.testing.assert_allclose(weft.pagerank(g), weft.pagerank(whole), rtol=1e-10)
        copied.append(g.topology.carrier.counters["bytes_copied"])
    assert copied[0] == copied[1] > 0


def test_whole_graphs_come_back_from_a_device(graphs):
    ours, whole = graphs
    np.testing.assert_array_equal(ours.to("cpu").out_degree, whole.out_degree)
    np.testing.assert_array_equal(ours.out_degree, whole.out_degree)


@weft.edge(into="total", reduce=weft.sum)
def shared(u, v, e):
    return weft.common(u, v, lambda w: 1.0, weft.sum)


def test_common_neighbours_are_refused(graphs):
    state = graphs[0].state(total=weft.full(0.0))
    with pytest.raises(ConfigError, match=r"'shared'.*weft\.common.*without device="):
        graphs[0].run(shared, state)


def test_a_device_that_cannot_stream_is_refused(tmp_path):
    written(weft.generators.path(4), tmp_path, 2)
    with pytest.raises(ConfigError, match=r"device='reference' cannot sweep blocks.*'cuda'"):
        weft.open(tmp_path / "blocks", device="reference")


def test_a_block_is_read_over_only_after_its_copy(graphs, monkeypatch):
    carrier = graphs[0].topology.carrier
    under_way = set()  # events of copies that were not waited for

    class Sent:
        def __init__(self):
            under_way.add(self)

        def synchronize(self):
            under_way.discard(self)

    recycle, sent = carrier.reader.recycle, []

    def recycled(block):
        sent.append(len(under_way))
        recycle(block)

    monkeypatch.setattr(carrier.space.link, "sent", Sent)
    monkeypatch.setattr(carrier.reader, "recycle", recycled)
    monkeypatch.setattr(carrier, "_room", 0)  # no block stays in memory
    monkeypatch.setattr(carrier, "_held", {})
    weft.pagerank(graphs[0], tol=0, max_iter=2, on_unconverged="return")
    assert sent
    assert max(sent) <= 1  # the next block, which is on its way already
    assert not under_way
