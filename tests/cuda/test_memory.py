"""Memory of the device: estimates hold, and running out of it is an error that leaves no harm.

`tests/gpu_host/test_memory.py` checks the same without a GPU.
"""

import pytest

import weft
from metering import (
    ALGORITHMS,
    check_counting,
    check_estimate,
    check_failures,
    check_no_room,
    check_no_room_to_run,
)
from weft.topology import adjacency_gpu as device_adjacency

pytestmark = pytest.mark.cuda


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_estimates_are_upper_bounds_and_not_far_off(on_gpu, name, directed):
    options = {"seed": 1, "weights": "int", "directed": directed}
    ALGORITHMS[name](weft.generators.rmat(8, 8, **options).to(on_gpu))  # compiles
    check_estimate(name, weft.generators.rmat(17, 16, **options).to(on_gpu))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_allocation_may_fail(on_gpu, host, name):
    def make():
        return weft.generators.rmat(9, 8, seed=1, weights="int").to(on_gpu)

    def call(g):
        result = host(ALGORITHMS[name](g))
        result = result[0] if isinstance(result, tuple) else result
        return result if isinstance(result, int) else result.tolist()

    check_failures(make, call, at_most=400)


def test_running_out_is_an_error_and_the_next_run_works(on_gpu):
    check_no_room_to_run(weft.generators.road(1000, 0.7, seed=1, weights="int").to(on_gpu))


def test_a_graph_that_does_not_fit(on_gpu):
    check_no_room(weft.generators.road(1000, 0.7, seed=2), on_gpu)


@pytest.mark.parametrize("at_once", [1000, 1 << 30])
def test_keys_are_counted_in_little_memory(on_gpu, monkeypatch, at_once):
    monkeypatch.setattr(device_adjacency, "_COUNTED_KEYS", at_once)
    check_counting()
