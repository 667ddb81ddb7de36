"""Memory of a GPU, metered without one: `fake_gpu` allocates what the engine allocates there."""

import inspect

import numpy as np
import pytest

import fake_gpu
import weft
from metering import (
    ALGORITHMS,
    check_counting,
    check_estimate,
    check_failures,
    check_no_room,
    check_no_room_to_run,
    metered,
)
from weft import acc
from weft.arrays.device import to_host
from weft.errors import DeviceMemoryError
from weft.topology import adjacency_gpu as device_adjacency

GRAPH = {"seed": 1, "weights": "int", "device": "cuda"}


@pytest.fixture
def gpu(monkeypatch):
    with fake_gpu.installed(monkeypatch) as found:
        yield found


def _edges_of(g, **options):
    """The same edges in another form."""
    src, dst, weight = g.to_edges()
    options = {"weight": weight, "directed": g.directed, **options}
    return weft.Graph.from_edges(src, dst, num_vertices=g.num_vertices, **options)


@pytest.fixture(scope="module")
def graphs():
    """Graphs large enough for their arrays to outweigh what all runs need alike."""
    kron = weft.generators.rmat(15, 6, seed=1, weights="int")
    arcs = weft.generators.rmat(14, 8, seed=2, weights="int", directed=True)
    return {
        "undirected": kron,
        "directed": arcs,
        "wide": _edges_of(arcs, weight=arcs.edge["weight"] * 1.0, index_dtype=np.int64),
        "not simple": weft.generators.rmat(
            14, 6, seed=1, weights="float", self_loops="keep", duplicates="keep"
        ),
        "even": weft.generators.road(170, 0.7, seed=1, weights="int"),
    }


@pytest.mark.parametrize("reordered", [False, True])
@pytest.mark.parametrize("kind", ["undirected", "directed", "wide", "not simple", "even"])
def test_estimates_are_upper_bounds_and_not_far_off(monkeypatch, graphs, kind, reordered):
    base = graphs[kind]
    with fake_gpu.installed(monkeypatch, results=False) as gpu:
        for last in (0, False), (base.num_vertices, False), (base.num_vertices, True):
            gpu.driver.last_size, gpu.driver.last_queued = last
            for name in ALGORITHMS:
                g = base.to("cuda")
                check_estimate(name, g.reorder("degree") if reordered else g)
                del g
                assert not base.topology._copies  # all are gone, so that each begins anew


@pytest.mark.parametrize("at_once", [1000, 1 << 30])
def test_keys_are_counted_in_little_memory(gpu, monkeypatch, at_once):
    monkeypatch.setattr(device_adjacency, "_COUNTED_KEYS", at_once)
    check_counting()


def test_a_second_run_needs_little(gpu):
    g = weft.generators.rmat(12, 6, **GRAPH)
    weft.pagerank(g)
    with metered() as meter:
        weft.pagerank(g)
    assert meter.used < 20 * g.num_vertices


def comparable(result):
    result = result[0] if isinstance(result, tuple) else result
    return result if isinstance(result, int) else to_host(result).tolist()


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_allocation_of_an_algorithm_may_fail(gpu, name):
    check_failures(
        lambda: weft.generators.rmat(5, 4, **GRAPH),
        lambda g: comparable(ALGORITHMS[name](g)),
        at_most=200,
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda g: g.reverse().to_edges(),
        lambda g: g.to_undirected("sum").to_edges(),
        lambda g: g.subgraph([3, 1, 2]).to_edges(),
        lambda g: weft.Graph.from_edges(*g.to_edges(), duplicates="sum").to_edges(),
        lambda g: g.state(degree=lambda v: v.out_degree + 1).degree,
        lambda g: g.state(x=np.arange(g.num_vertices)).x,
        lambda g: g.frontier([3, 1]).mask(),
        lambda g: g.edge.in_slots("weight", "in"),
        lambda g: g.add_edges([0, 1], [1, 2], [5, 6]).to_edges(),
        lambda g: g.remove_edges([0], [0], missing="ignore").to_edges(),
        lambda g: g.reorder("degree").in_degree,
        lambda g: acc.pagerank(g),
    ],
)
def test_every_allocation_of_a_graph_may_fail(gpu, call):
    check_failures(
        lambda: weft.generators.rmat(4, 4, directed=True, **GRAPH),
        lambda g: comparable(call(g)),
        at_most=200,
    )


def test_a_graph_that_does_not_fit(gpu):
    check_no_room(weft.generators.road(100, 0.7, seed=2), "cuda")


def test_running_out_is_an_error_and_the_next_run_works(gpu):
    check_no_room_to_run(weft.generators.road(100, 0.7, seed=1, weights="int").to("cuda"))


def test_a_sort_that_ran_out_is_told_too(gpu, monkeypatch):
    def argsort(array, kind):
        raise MemoryError("std::bad_alloc")

    g = weft.generators.rmat(4, 4, **GRAPH)
    config = weft.Config(schedule="merge")
    with monkeypatch.context() as patch:
        patch.setattr(gpu.cupy, "argsort", argsort)
        with pytest.raises(DeviceMemoryError, match=r"more memory was needed.*To use less, choose"):
            weft.sssp(g, 0, config=config)
    assert weft.sssp(g, 0).dist[0] == 0


def test_memory_of_the_host_is_not_the_device_s(gpu):
    with pytest.raises(MemoryError) as got, weft.arrays.device.Device("cuda").current():
        raise MemoryError("Unable to allocate 8 TiB for an array")
    assert not isinstance(got.value, DeviceMemoryError)


def test_an_error_holds_no_memory(gpu):
    g = weft.generators.road(60, 0.7, seed=2, weights="int").to("cuda")
    pool = gpu.cupy.get_default_memory_pool()
    before = pool.used_bytes() - g.memory_bytes
    with metered(room=30 * g.num_vertices), pytest.raises(DeviceMemoryError) as got:
        weft.bfs(g, 0)
    assert got.value.__traceback__ is not None  # and with it all frames
    assert pool.used_bytes() - before - g.memory_bytes < 10 * g.num_vertices


@pytest.mark.parametrize("module", [weft, acc])
def test_algorithms_run_on_the_device_of_their_graph(module):
    public = [getattr(module, name) for name in module.__all__]
    algorithms = [
        each
        for each in public
        if inspect.isfunction(each)
        and each.__module__.startswith(("weft.algorithms", "weft.acc"))
        and each.__name__ != "path"  # follows the parents of a result on the host
    ]
    assert len(algorithms) >= 5
    assert [each.__name__ for each in algorithms if not hasattr(each, "__wrapped__")] == []
