"""Memory of the device: estimates hold, and running out of it is an error that leaves no harm."""

from contextlib import contextmanager

import pytest

import weft
from weft.errors import DeviceMemoryError

pytestmark = pytest.mark.cuda

CALLS = {
    "bfs": lambda g: weft.bfs(g, 0),
    "sssp": lambda g: weft.sssp(g, 0),
    "pagerank": weft.pagerank,
    "connected_components": weft.connected_components,
    "core_number": weft.core_number,
    "triangle_count": weft.triangle_count,
    "clustering": weft.clustering,
}
# Estimates are upper ones, but not by more than this.
GENEROUS = 10


class Meter:
    """Stands between CuPy and its pool: knows the most bytes in use, fails one allocation."""

    def __init__(self, cupy, fail_at=None):
        self.pool = cupy.get_default_memory_pool()
        self.error = cupy.cuda.memory.OutOfMemoryError
        self.count, self.fail_at = 0, fail_at
        self.before = self.most = self.pool.used_bytes()

    def allocate(self, size):
        self.count += 1
        if self.count == self.fail_at:
            raise self.error(size, self.pool.used_bytes())
        memory = self.pool.malloc(size)
        self.most = max(self.most, self.pool.used_bytes())
        return memory


@contextmanager
def metered(fail_at=None):
    import cupy

    meter = Meter(cupy, fail_at)
    with cupy.cuda.using_allocator(meter.allocate):
        yield meter


@pytest.mark.parametrize("name", CALLS)
def test_estimates_are_upper_bounds_and_not_far_off(on_gpu, name):
    CALLS[name](weft.generators.rmat(8, 8, seed=1, weights="int").to(on_gpu))  # compiles
    g = weft.generators.rmat(17, 16, seed=1, weights="int").to(on_gpu)
    needed = weft.estimate_memory(g, name).needed_bytes
    with metered() as meter:
        CALLS[name](g)
    used = meter.most - meter.before
    assert used <= needed, f"{used:,} bytes were used, {needed:,} were estimated"
    assert needed <= GENEROUS * used + 4_000_000


@pytest.mark.parametrize("name", ["bfs", "sssp", "pagerank", "core_number"])
def test_every_allocation_may_fail(on_gpu, host, name):
    def make():
        return weft.generators.rmat(9, 8, seed=1, weights="int").to(on_gpu)

    def comparable(g):
        result = host(CALLS[name](g))
        return (result[0] if isinstance(result, tuple) else result).tolist()

    g = make()
    expected = comparable(g)
    for fail_at in range(1, 400):
        g = make()  # without the memory that earlier runs left
        with metered(fail_at) as meter:
            try:
                CALLS[name](g)
            except DeviceMemoryError as error:
                assert "Out of memory" in str(error)
            else:
                assert meter.count < fail_at, "an error was swallowed"
                break
        assert comparable(g) == pytest.approx(expected)
    else:
        pytest.fail("more allocations than expected")


def test_running_out_is_an_error_and_the_next_run_works(on_gpu):
    import cupy

    g = weft.generators.road(1000, 0.7, seed=1, weights="int").to(on_gpu)
    expected = weft.bfs(g.to("cpu"), 0).level
    pool = cupy.get_default_memory_pool()
    pool.free_all_blocks()
    pool.set_limit(size=pool.total_bytes() + 1_000_000)
    try:
        with pytest.raises(DeviceMemoryError, match=r"Out of memory on 'cuda'.*was needed"):
            weft.bfs(g, 0)
    finally:
        pool.set_limit(size=0)
    assert (weft.bfs(g, 0).level.get() == expected).all()


def test_a_graph_that_does_not_fit(on_gpu):
    import cupy

    g = weft.generators.road(1000, 0.7, seed=2)
    pool = cupy.get_default_memory_pool()
    pool.free_all_blocks()
    pool.set_limit(size=pool.total_bytes() + 1_000_000)
    try:
        with pytest.raises(DeviceMemoryError):
            g.to(on_gpu)
    finally:
        pool.set_limit(size=0)
    assert g.to(on_gpu).num_edges == g.num_edges
