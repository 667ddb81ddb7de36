"""Checks of device memory, for a GPU (`tests/cuda`) and for its stand-in (`fake_gpu`)."""

from contextlib import contextmanager

import numpy as np
import pytest

import weft
from weft.errors import DeviceMemoryError
from weft.topology import adjacency_gpu as device_adjacency

ALGORITHMS = {
    "bfs": lambda g: weft.bfs(g, 0),
    "sssp": lambda g: weft.sssp(g, 0),
    "pagerank": weft.pagerank,
    "connected_components": weft.connected_components,
    "core_number": weft.core_number,
    "triangle_count": weft.triangle_count,
    "clustering": weft.clustering,
    "betweenness": lambda g: weft.betweenness(g, 2),
    "label_propagation": weft.label_propagation,
}
# As they need most, which is what estimates are for.
HUNGRIEST = {**ALGORITHMS, "betweenness": lambda g: weft.betweenness(g, 2, weighted=True)}
# Estimates are upper ones, but not by more than this.
GENEROUS = 10
FEW_BYTES = 4_000_000


class Meter:
    """Stands between CuPy and its pool: knows the most bytes in use, and refuses some.

    `fail_at` is the number of an allocation that fails; `room` the bytes that may be in use beside
    those that are at first. (The limit of the pool itself would not do: what is free within blocks
    that are partly used is not limited.)
    """

    def __init__(self, cupy, fail_at=None, room=None):
        self.pool = cupy.get_default_memory_pool()
        self.error = cupy.cuda.memory.OutOfMemoryError
        self.count, self.fail_at = 0, fail_at
        self.before = self.most = self.pool.used_bytes()
        self.limit = None if room is None else self.before + room

    def allocate(self, size):
        self.count += 1
        used = self.pool.used_bytes()
        if self.count == self.fail_at or (self.limit is not None and used + size > self.limit):
            raise self.error(size, used)
        memory = self.pool.malloc(size)
        self.most = max(self.most, self.pool.used_bytes())
        return memory

    @property
    def used(self):
        """The most bytes that were in use beside those at first."""
        return self.most - self.before


@contextmanager
def metered(fail_at=None, room=None):
    import cupy

    meter = Meter(cupy, fail_at, room)
    with cupy.cuda.using_allocator(meter.allocate):
        yield meter


def check_estimate(name, g):
    """Run an algorithm on a graph that has not been used: the estimate is enough, and not idle."""
    estimate = weft.estimate_memory(g, name)
    with metered() as meter:
        HUNGRIEST[name](g)
    needed, used = estimate.needed_bytes, meter.used
    told = f"{used:,} bytes were used, {needed:,} were estimated:\n{estimate}"
    assert used <= needed, told
    assert needed <= GENEROUS * used + FEW_BYTES, told
    return estimate, meter


def check_counting():
    """Keys are counted in hardly more memory than the counts take, also in several parts."""
    import cupy

    n = 4096
    drawn = np.random.default_rng(1).integers(0, n - 1, 100_000) ** 3 // n**2  # unevenly
    for dtype in (np.int32, np.int64):
        for keys in (drawn, np.full(50_000, n - 1), drawn[:1], drawn[:0]):
            moved = cupy.asarray(keys.astype(dtype))
            with metered() as meter:
                counts = device_adjacency.count_keys(moved, n)
            assert counts.dtype == np.int64
            assert np.array_equal(counts.get(), np.bincount(keys, minlength=n))
            assert meter.used <= counts.nbytes + 4096


def check_failures(make, call, at_most):
    """Let each allocation of a call on a new graph fail in turn; the graph must be none the worse.

    `call` returns something comparable.
    """
    expected = call(make())
    for fail_at in range(1, at_most):
        g = make()  # without the memory that earlier runs left
        with metered(fail_at) as meter:
            try:
                call(g)
            except DeviceMemoryError as error:
                assert "Out of memory on" in str(error)
                assert error.free_bytes is not None
            else:
                assert meter.count < fail_at, "an error was swallowed"
                return
        again = call(g)
        assert np.shape(again) == np.shape(expected)
        assert again == pytest.approx(expected)
    pytest.fail("more allocations than expected")


def check_no_room(g, device):
    """A graph that does not fit says so, and can be moved when there is room."""
    with metered(room=g.memory_bytes // 2), pytest.raises(DeviceMemoryError, match="was needed"):
        g.to(device)
    assert g.to(device).num_edges == g.num_edges


def check_no_room_to_run(g):
    """A search without room for its state says so, and runs when there is room."""
    expected = weft.bfs(g.to("cpu"), 0).level
    with (
        metered(room=g.num_vertices),
        pytest.raises(DeviceMemoryError, match=r"Out of memory on 'cuda'.*was needed"),
    ):
        weft.bfs(g, 0)
    assert (weft.bfs(g, 0).level.get() == expected).all()
