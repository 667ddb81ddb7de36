"""Several processes that sweep one graph: all of them get what one alone gets."""

import multiprocessing
import socket
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import weft
from partitioned import written
from weft.arrays.device import EMULATED
from weft.backends.blocks.streamed import union
from weft.blocks import nccl
from weft.blocks.exchange import HostExchange
from weft.errors import ConfigError, WeftError

KEY = b"of the test"


def free_port():
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return opened.getsockname()[1]


def together(size, work):
    """Run `work(exchange)` for each rank, in threads; return what each gave."""
    address, results = ("127.0.0.1", free_port()), [None] * size

    def one(rank):
        exchange = HostExchange(rank, size, address, KEY)
        try:
            results[rank] = work(exchange)
        except BaseException as error:
            results[rank] = error
        finally:
            exchange.close()

    threads = [threading.Thread(target=one, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


@pytest.fixture(scope="module", params=[True, False], ids=["directed", "undirected"])
def graphs(request, tmp_path_factory):
    rng = np.random.default_rng(7)
    src, dst = rng.integers(0, 150, (2, 500))
    whole = weft.Graph.from_edges(
        src, dst, rng.random(500), num_vertices=155, directed=request.param
    )
    folder = tmp_path_factory.mktemp("ranked")
    written(whole, folder, 5)
    return folder / "blocks", whole


@weft.edge(into=("least", "total"), reduce=(weft.min, weft.sum), active=lambda v, old: v.total > 2)
def offer(u, v, e):
    weft.reduce("sent", u.least, weft.sum)
    return weft.send((u.least + weft.superstep(), e.weight), when=u.least != v.least)


@weft.edge(into=("best", "who"), reduce=weft.argmax)
def choose(u, v, e):
    return u.total, u.id


@weft.vertex
def take(v):
    v.least = v.least + 1
    weft.reduce("mean", v.total / 3, weft.sum)


@weft.vertex(wake="neighbors")
def relabel(v):
    v.label = v.gather(lambda u, e: u.label, weft.max, direction="both")


def program(g):
    state = g.state(
        least=np.arange(155) % 7, total=weft.full(0.0), best=weft.full(-1.0), who=weft.full(-1),
        label=weft.full(lambda v: v.id * 31 % 149), sent=weft.scalar(0), mean=weft.scalar(0.0),
    )  # fmt: skip
    run = g.iterate([offer, take, choose], state, range(40), max_iter=3)
    again = g.iterate(relabel, state, range(9), max_iter=2)
    scalars = np.array([int(state.sent), float(state.mean)])
    fields = [getattr(state, name) for name in ("least", "total", "best", "who", "label")]
    return [np.asarray(run.frontier), np.asarray(again.frontier), scalars, *fields]


def algorithms(g):
    return [
        weft.pagerank(g), weft.bfs(g, 0).level, weft.sssp(g, 3).dist,
        weft.connected_components(g), weft.label_propagation(g),
    ]  # fmt: skip


@pytest.mark.parametrize(("size", "run"), [(1, program), (3, program), (3, algorithms)])
def test_all_processes_get_the_result_of_one(graphs, size, run, monkeypatch):
    monkeypatch.delenv("WEFT_EVALUATE", raising=False)
    folder, whole = graphs
    want = run(whole.to("reference"))
    found = together(size, lambda exchange: run(weft.open(folder, exchange=exchange)))
    for got in found:
        for a, b, first in zip(got, want, found[0], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10)
            np.testing.assert_array_equal(a, first)  # bit for bit


def test_devices_exchange_too(graphs, monkeypatch):
    monkeypatch.delenv("WEFT_EVALUATE", raising=False)
    folder, whole = graphs
    found = together(
        2, lambda ex: weft.bfs(weft.open(folder, device="emulated", exchange=ex), 0).level
    )
    for level in found:
        np.testing.assert_array_equal(level, weft.bfs(whole, 0).level)


def test_processes_count_triangles_together(tmp_path, monkeypatch):
    """Each meets the rows of its own blocks with those of all blocks."""
    monkeypatch.delenv("WEFT_EVALUATE", raising=False)
    rng = np.random.default_rng(2)
    whole = weft.Graph.from_edges(
        *rng.integers(0, 60, (2, 300)), num_vertices=64, directed=False, duplicates="first",
        self_loops="drop",
    )  # fmt: skip
    written(whole, tmp_path, 4)
    found = together(3, lambda ex: weft.triangle_count(weft.open(tmp_path / "blocks", exchange=ex)))
    assert found == [weft.triangle_count(whole)] * 3


def _in_a_process(rank, port, folder, queue):
    exchange = HostExchange(rank, 2, ("127.0.0.1", port), KEY)
    g = weft.open(folder, exchange=exchange)
    rank_of = weft.pagerank(g)
    queue.put((rank, rank_of, g.topology.carrier.counters))


def test_processes(tmp_path):
    whole = weft.generators.rmat(7, seed=2)
    written(whole, tmp_path, 4)
    folder = tmp_path / "blocks"
    context, port = multiprocessing.get_context("spawn"), free_port()
    queue = context.Queue()
    made = [context.Process(target=_in_a_process, args=(r, port, folder, queue)) for r in (0, 1)]
    for process in made:
        process.start()
    found = [queue.get(timeout=120) for _ in made]
    for process in made:
        process.join()
    for _, ranks, counters in found:
        np.testing.assert_allclose(ranks, weft.pagerank(whole), rtol=1e-10)
        assert counters["bytes_sent"] > 0
    assert sum(counters["bytes_read"] for *_, counters in found) > 0


def test_what_processes_cannot_do_together_is_refused(graphs, tmp_path):
    exchange = HostExchange(0, 1, ("127.0.0.1", 1), KEY)
    weft.write(graphs[1], tmp_path / "whole.weft")
    with pytest.raises(ConfigError, match=r"exchange=.*is a file.*weft\.partition"):
        weft.open(tmp_path / "whole.weft", exchange=exchange)
    with pytest.raises(ConfigError, match=r"rank=2 of 2.*0 to 1"):
        HostExchange(2, 2, ("127.0.0.1", 1), KEY)


@pytest.mark.parametrize("identifier", [bytes(range(128, 256)), tuple(range(-64, 64))])
def test_the_processes_of_a_group_get_one_identifier(identifier, monkeypatch):
    """CuPy 14 has bytes, earlier ones have numbers."""
    made = []

    def communicator(size, known, rank):
        made.append((size, known, rank))

    fake = SimpleNamespace(
        get_unique_id=lambda: identifier, NCCL_INT8=0, NcclCommunicator=communicator
    )
    monkeypatch.setattr(nccl, "_nccl", lambda: fake)
    monkeypatch.setattr(nccl, "open_device", lambda name: EMULATED)
    together(3, nccl.NcclExchange)
    assert sorted(made, key=lambda one: one[2]) == [(3, identifier, rank) for rank in range(3)]


def test_nothing_reached_is_an_array_of_the_device():
    class Module:
        zeros = staticmethod(lambda size, dtype: "of the device")

    assert union([], np.int32, 5, Module) == "of the device"


def test_a_process_that_ends_is_reported():
    def work(exchange):
        if exchange.rank == 1:
            return None
        return exchange.gather(np.arange(3))

    with pytest.raises(WeftError, match=r"a process of the group has ended.*rank 0"):
        together(2, work)
