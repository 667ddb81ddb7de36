"""Partitioned graphs whose blocks are swept on a GPU: results and the memory of the device."""

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
