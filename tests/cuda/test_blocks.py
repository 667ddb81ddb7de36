"""Partitioned graphs whose blocks are swept on a GPU: results and the memory of the device."""

import multiprocessing
import socket

import numpy as np
import pytest

import weft
from weft.arrays.device import open_device, to_host

pytestmark = pytest.mark.cuda


@pytest.fixture
def opened(device, sized, tmp_path):
    """Return a function that writes a graph in blocks: on the device, and whole in memory."""
    scale, blocks = sized((20, 16), (7, 4))

    def make(memory="20GB", **options):
        whole = weft.generators.rmat(scale, seed=3, **options)
        weft.write(whole, tmp_path / "whole.weft")
        weft.partition(tmp_path / "whole.weft", tmp_path / "blocks", blocks=blocks)
        return weft.open(tmp_path / "blocks", memory=memory, device=device), whole

    return make


@pytest.mark.parametrize("memory", ["20GB", "60MB"])
def test_algorithms_agree_with_memory(opened, memory):
    ours, whole = opened(memory)
    rank = weft.pagerank(ours, tol=1e-9)
    np.testing.assert_allclose(to_host(rank), weft.pagerank(whole, tol=1e-9), rtol=1e-6)
    hub = int(whole.out_degree.argmax())
    np.testing.assert_array_equal(to_host(weft.bfs(ours, hub).level), weft.bfs(whole, hub).level)
    np.testing.assert_array_equal(
        to_host(weft.connected_components(ours)), weft.connected_components(whole)
    )


def test_the_device_holds_state_and_few_blocks(opened, device):
    ours, whole = opened()
    if not device.startswith("cuda"):
        pytest.skip("needs the memory pool of a GPU")
    place = open_device(device)
    pool = place.xp.get_default_memory_pool()
    pool.free_all_blocks()
    before = pool.used_bytes()
    weft.pagerank(ours, max_iter=3, on_unconverged="return")
    arcs = max(entry.arcs for entry in ours.topology.manifest.blocks["out"]) * 4
    assert pool.used_bytes() - before <= 4 * arcs + 200 * whole.num_vertices


def _ranked(rank, port, folder, device, results):
    """One of two processes: what it found is sent back, or the error."""
    exchange = weft.HostExchange(rank, 2, ("127.0.0.1", port), b"two")
    try:
        g = weft.open(folder, device=device, exchange=exchange)
        results.put((to_host(weft.pagerank(g)), to_host(weft.bfs(g, 0).level)))
    except BaseException as error:
        results.put(error)
    finally:
        exchange.close()


def test_two_processes_share_one_device(device, sized, tmp_path):
    whole = weft.generators.rmat(sized(14, 6), seed=4)
    weft.write(whole, tmp_path / "whole.weft")
    weft.partition(tmp_path / "whole.weft", tmp_path / "blocks", blocks=4)
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        port = opened.getsockname()[1]
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    made = [
        context.Process(target=_ranked, args=(rank, port, tmp_path / "blocks", device, results))
        for rank in (0, 1)
    ]
    for process in made:
        process.start()
    found = [results.get(timeout=240) for _ in made]
    for process in made:
        process.join()
    for one in found:
        assert not isinstance(one, BaseException), one
        np.testing.assert_allclose(one[0], weft.pagerank(whole), rtol=1e-6)
        np.testing.assert_array_equal(one[1], weft.bfs(whole, 0).level)


@pytest.fixture
def alone(device):
    """A function that returns an exchange of one process, which has the GPU to itself."""
    if not device.startswith("cuda"):
        pytest.skip("needs NCCL, which passes on arrays of GPUs")
    pytest.importorskip("cupy.cuda.nccl", exc_type=ImportError)
    return lambda: weft.NcclExchange(weft.HostExchange(0, 1, ("127.0.0.1", 0), b"alone"))


def test_nccl_gathers_arrays_of_the_device(device, alone):
    """One process: NCCL refuses two on one GPU."""
    exchange = alone()
    xp = open_device(device).xp
    for array in (xp.arange(5), xp.zeros((0, 3)), xp.ones((4, 2), bool)):
        (found,) = exchange.gather(array)
        np.testing.assert_array_equal(to_host(found), to_host(array))


def test_a_group_of_one_gpu_agrees_with_memory(device, sized, tmp_path, alone):
    whole = weft.generators.rmat(sized(16, 7), seed=4)
    weft.write(whole, tmp_path / "whole.weft")
    weft.partition(tmp_path / "whole.weft", tmp_path / "blocks", blocks=8)
    exchange = alone()
    g = weft.open(tmp_path / "blocks", device=device, exchange=exchange)
    np.testing.assert_allclose(to_host(weft.pagerank(g)), weft.pagerank(whole), rtol=1e-6)
    np.testing.assert_array_equal(to_host(weft.bfs(g, 0).level), weft.bfs(whole, 0).level)
