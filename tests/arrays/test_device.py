"""Graphs on devices, with a stand-in for CuPy (`tests/fake_cupy.py`) in place of a GPU."""

import gc
import pickle
import sys
import weakref
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fake_cupy
import weft
from fake_cupy import on_gpu
from graphs import AWKWARD
from topology.test_adjacency_gpu import LISTS, ends_of, same
from weft.arrays import device as devices
from weft.arrays.device import CPU, EMULATED, Device, parse_device, to_host
from weft.errors import ConfigError, DeviceError, DeviceMemoryError, FieldError, GraphError


@pytest.fixture
def cupy(monkeypatch):
    with fake_cupy.installed(monkeypatch) as module:
        yield module


# -- names and checks ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "device"),
    [
        ("cpu", CPU),
        ("emulated", EMULATED),
        ("cuda", Device("cuda", 0)),
        ("cuda:0", Device("cuda", 0)),
        ("cuda:12", Device("cuda", 12)),
    ],
)
def test_names_of_devices(name, device):
    assert parse_device(name) == device
    assert parse_device(str(device)) == device
    assert parse_device(device) is device


@pytest.mark.parametrize("name", ["gpu", "cuda:", "cuda:-1", "cuda1", "cpu:1", "CUDA", "", 0, None])
def test_unknown_names_are_explained(name):
    words = r"device=.* is not known. Expected one of 'cpu', 'cuda'.*The first GPU is 'cuda'"
    with pytest.raises(ConfigError, match=words) as told:
        parse_device(name)
    assert name != "gpu" or "mean" not in str(told.value)


def test_host_devices_have_numpy():
    assert parse_device("cpu").xp is parse_device("emulated").xp is np


def test_cuda_has_cupy(cupy):
    assert parse_device("cuda:1").xp is cupy
    assert devices.module_of(cupy.zeros(1)) is cupy
    assert devices.module_of(np.zeros(1)) is np


def broken_nvrtc():
    raise OSError("no libnvrtc.so")


def patched(monkeypatch, **changes):
    for name, value in changes.items():
        monkeypatch.setattr(devices, name, value)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"driver_version": lambda: None}, "no NVIDIA driver was found.*nvidia.com/drivers"),
        ({"driver_version": lambda: 11080}, r"supports CUDA 11.8 at most. Expected 12.0 or newer"),
        ({"has_module": lambda name: name != "cupy"}, r"CuPy is not installed.*weft\[cuda13\]"),
        ({"has_module": lambda name: name != "cuda.core"}, "cuda-core is not installed.*pip"),
        (
            {"driver_version": lambda: 12040},
            r"CuPy was built for CUDA 13.0, but the driver supports 12.4.*weft\[cuda12\]",
        ),
        (
            {"nvrtc_facts": lambda: (14010, (90,))},
            r"NVRTC belongs to CUDA 14.1, but the driver supports 13.0.*weft\[cuda13\]",
        ),
        (
            {"nvrtc_facts": lambda: (12000, (75, 80))},
            r"capability 9.0, which NVRTC of CUDA 12.0 does not support.*install --upgrade 'weft",
        ),
        ({"nvrtc_facts": broken_nvrtc}, r"NVRTC.* cannot be loaded \(OSError: no lib.*pip install"),
    ],
)  # fmt: skip
def test_what_cuda_lacks_is_named_with_the_remedy(cupy, monkeypatch, changes, problem):
    patched(monkeypatch, **changes)
    with pytest.raises(DeviceError, match=f"device='cuda' is not available: .*{problem}"):
        weft.generators.path(3).to("cuda")


def test_gpus_that_do_not_exist_or_are_too_old(cupy, monkeypatch):
    with pytest.raises(DeviceError, match=r"GPU 7 does not exist. Expected cuda:0 to cuda:1"):
        devices.open_device("cuda:7")
    with pytest.raises(
        DeviceError, match=r"Fake GTX 1080 has compute capability 6.1. Expected 7.5"
    ):
        devices.open_device("cuda:1")
    monkeypatch.setattr(cupy.cuda.runtime, "getDeviceCount", lambda: 0)
    with pytest.raises(DeviceError, match="the driver sees no GPU"):
        devices.open_device("cuda")


def test_a_broken_cupy_is_reported(cupy, monkeypatch):
    def broken():
        raise RuntimeError("cudaErrorInsufficientDriver")

    monkeypatch.setattr(cupy.cuda.runtime, "runtimeGetVersion", broken)
    with pytest.raises(DeviceError, match=r"CuPy cannot access the GPU.*InsufficientDriver"):
        devices.open_device("cuda")


def test_running_out_of_memory_says_how_much_was_needed(cupy):
    expected = r"8.0 GB was needed, 5.4 GB of .* was free\. "
    with pytest.raises(DeviceMemoryError, match=expected) as got, Device("cuda").current():
        raise cupy.cuda.memory.OutOfMemoryError(8_000_000_000, 512)
    assert got.value.needed_bytes == 8_000_000_000
    assert got.value.free_bytes == (5 << 30) + (1 << 20)  # CuPy's reserve is free
    assert isinstance(got.value, MemoryError)


def test_running_out_of_memory_names_what_needs_less(cupy, monkeypatch):
    engine = sys.modules["weft.backends.cuda.host.run"]
    buffers = []

    def greedy(request, form):
        held = np.zeros(8)
        buffers.append(weakref.ref(held))
        raise cupy.cuda.memory.OutOfMemoryError(4_000_000, 512)

    run_on_host = engine.run_request
    monkeypatch.setattr(engine, "run_request", greedy)
    g = weft.generators.rmat(5, 4, directed=True).to("cuda")
    state = g.state(x=weft.full(0.0))
    step = weft.vertex(lambda v: v.x < 0)
    config = weft.Config(compaction="batch", schedule="merge")
    with pytest.raises(DeviceMemoryError) as got:
        g.run(step, state, config=config)
    text = str(got.value)
    assert "4.0 MB was needed, 5.4 GB of 149.3 GB was free, but fragmented" in text
    for part in ("keep='out'", "other than 'batch'", "float32 in place of", "other than 'merge'"):
        assert part in text
    assert buffers[0]() is None, "what the run held is given back while the error is looked at"
    monkeypatch.setattr(engine, "run_request", run_on_host)
    assert g.run(step, state).tolist() == []
    weft.bfs(g, 0)  # from now on ready
    monkeypatch.setattr(engine, "run_request", greedy)
    with pytest.raises(DeviceMemoryError, match=r"4.0 MB was needed(.|\n)*keep='out'"):
        weft.bfs(g, 0)
    assert buffers[1]() is None


def test_driver_version_is_none_or_a_number():
    version = devices.driver_version()
    assert version is None or version > 5000


# -- graphs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(AWKWARD))
def test_everything_derived_is_the_same_on_a_device(cupy, name):
    g = AWKWARD[name]()
    there = g.to("cuda")
    mine, other = g.topology, there.topology
    assert there.device == "cuda"
    assert (other.num_vertices, other.num_edges, other.keep) == (
        mine.num_vertices,
        mine.num_edges,
        mine.keep,
    )
    for direction in ("out", "in"):
        if mine.keep not in ("both", direction):
            continue
        for part in ("offsets", "targets"):
            array = getattr(other.adjacency(direction), part)
            assert on_gpu(array)
            same(to_host(array), getattr(mine.adjacency(direction), part))
        same(to_host(other.owners(direction)), mine.adjacency(direction).rows())
        assert other.owners(direction) is other.owners(direction)
        for numbering in ("arcs", "edges"):
            got = getattr(other, numbering)(direction)
            same(None if got is None else to_host(got), getattr(mine, numbering)(direction))
        for column in g.edge:
            same(
                to_host(there.edge.in_slots(column, direction)), g.edge.in_slots(column, direction)
            )
    same(to_host(other.out_degree), mine.out_degree)
    same(to_host(other.in_degree), mine.in_degree)
    assert other.unpaired_arc() == mine.unpaired_arc()
    if mine.unpaired_arc() is None:
        same(to_host(other.reverse_arcs()), mine.reverse_arcs())
    for mine_part, part in zip(g.to_edges(), there.to_edges(), strict=True):
        assert part is None or on_gpu(part)
        same(None if part is None else to_host(part), mine_part)
    assert (there.to_scipy() != g.to_scipy()).nnz == 0
    assert (there.to_undirected().to_scipy() != g.to_undirected().to_scipy()).nnz == 0
    assert there.reverse().device == there.to_undirected().device == "cuda"
    back = there.to("cpu")
    assert back.topology is mine
    assert isinstance(back.out_degree, np.ndarray)


def test_moving_a_graph_twice_shares_the_structure_while_it_is_used(cupy):
    g = weft.generators.rmat(5, 4, weights="int")
    first = g.to("cuda")
    topology, weight = first.topology, first.edge.storage("weight")
    second = g.to("cuda:0")
    assert second.topology is topology
    assert second.edge.storage("weight") is weight
    g.edge["weight"] = g.edge["weight"] + 1
    assert int(g.to("cuda").edge.storage("weight")[0]) == int(weight[0]) + 1
    gone = weakref.ref(topology)
    del first, second, topology
    gc.collect()
    assert gone() is None


def test_the_emulated_device_shares_numpy_arrays():
    g = weft.generators.rmat(5, 4, directed=True, weights="int")
    g.topology.in_
    there = g.to("emulated")
    assert there.device == "emulated"
    assert there.topology.device == EMULATED
    assert there.topology.out is g.topology.out
    assert there.topology.in_ is g.topology.in_
    assert there.edge.storage("weight") is g.edge.storage("weight")
    assert there.reverse().device == there.to_undirected().device == "emulated"
    assert there.to("cpu").topology is g.topology
    assert "on emulated" in repr(there)


def test_graphs_on_a_device_can_be_pickled():
    there = weft.generators.rmat(4, 4, weights="int").to("emulated")
    there.edge.extent("weight")
    again = pickle.loads(pickle.dumps(there))
    assert again.device == "emulated"
    assert again.edge.extent("weight") == there.edge.extent("weight")


@settings(max_examples=40)
@given(
    LISTS,
    st.booleans(),
    st.sampled_from(["keep", "first", "sum", "min", "max"]),
    st.sampled_from(["keep", "drop"]),
    st.sampled_from(["both", "out", "in"]),
    st.sampled_from([None, np.int32, np.float64]),
)
def test_building_on_a_device_is_building_on_the_host(
    drawn, directed, duplicates, loops, keep, kind
):
    n, pairs, dtype = drawn
    src, dst = ends_of(pairs, dtype)
    weight = None if kind is None else (np.arange(src.size) * 7 % 5).astype(kind)
    if kind is np.float64 and src.size:
        weight[0] = np.nan
    options = {"directed": directed, "duplicates": duplicates, "self_loops": loops, "keep": keep}
    with pytest.MonkeyPatch.context() as patch, fake_cupy.installed(patch) as cupy:
        host = weft.Graph.from_edges(src, dst, weight, num_vertices=n, **options)
        named = weft.Graph.from_edges(src, dst, weight, num_vertices=n, device="cuda", **options)
        moved = [None if a is None else cupy.asarray(a) for a in (src, dst, weight)]
        given_there = weft.Graph.from_edges(*moved, num_vertices=n, **options)
        for g in (named, given_there):
            assert g.device == "cuda"
            for mine, part in zip(host.to_edges(), g.to_edges(), strict=True):
                same(None if part is None else to_host(part), mine)


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (([0, -2], [1, 1]), {}),
        (([0, 5], [1, 1]), {"num_vertices": 3}),
        (([0, 1], [1, 9]), {"num_vertices": 3}),
        (([0, 1], [1]), {}),
        (([[0, 1]], [1]), {}),
        (([0.5], [1.0]), {}),
        (([0, 1], [1, 2], [1.0]), {}),
        (([0, 1], [1, 2], [True, False]), {}),
        (([0, 0], [1, 1], np.array([127, 1], np.int8)), {"duplicates": "sum"}),
    ],
)
def test_input_is_refused_in_the_same_words(cupy, arguments, options):
    with pytest.raises(GraphError) as expected:
        weft.Graph.from_edges(*arguments, **options)
    moved = [cupy.asarray(np.asarray(a)) for a in arguments]
    with pytest.raises(GraphError) as got:
        weft.Graph.from_edges(*moved, **options)
    assert str(got.value) == str(expected.value)


def test_columns_live_on_the_device(cupy):
    g = weft.generators.path(4).to("cuda")
    mine = cupy.asarray([1.0, 2.0, 3.0, 4.0])
    g.vertex["x"] = mine
    mine[0] = 9.0
    g.vertex["y"] = [1, 2, 3, 4]
    g.edge["weight"] = np.array([3, 1, 2])
    assert all(on_gpu(g.vertex[name]) for name in ("x", "y")) and on_gpu(g.edge["weight"])
    assert to_host(g.vertex["x"]).tolist() == [1.0, 2.0, 3.0, 4.0]
    assert g.edge.extent("weight") == (1, 3)
    fake_cupy.READS.clear()
    assert g.edge.extent("weight") == (1, 3)
    assert not fake_cupy.READS
    with pytest.raises(GraphError, match=r"has 2 entries. Expected 4"):
        g.vertex["z"] = cupy.zeros(2)
    host = g.to("cpu")
    assert host.vertex["y"].tolist() == [1, 2, 3, 4]
    assert isinstance(host.edge["weight"], np.ndarray)


# -- states and frontiers ------------------------------------------------------------------------


def test_states_live_on_the_device(cupy):
    g = weft.generators.star(5).to("cuda")
    g.vertex["age"] = [5, 4, 3, 2, 1]
    computed = {
        "number": lambda v: v.id,
        "degree": lambda v: v.out_degree,
        "chosen": weft.full(lambda v: weft.where(v.id == 3, 0.0, np.inf), np.float32),
        "mixed": lambda v: weft.maximum(v.age * 2 - v.id, 1) / 2,
    }
    fake_cupy.READS.clear()
    state = g.state(
        level=weft.full(-1, np.int32),
        pair=weft.full([1.0, 2.0]),
        mine=np.arange(5),
        theirs=cupy.arange(5),
        total=weft.scalar(1.5),
        **computed,
    )
    assert not fake_cupy.READS  # nothing was copied to the host
    assert all(on_gpu(array) for array in state.fields.values())
    assert isinstance(state.scalars["total"], np.ndarray)
    host = g.to("cpu").state(**computed)
    for name, array in host.fields.items():
        same(to_host(state.fields[name]), array)
    assert to_host(state.pair).tolist() == [[1.0, 2.0]] * 5
    assert to_host(state.mine).tolist() == to_host(state.theirs).tolist() == [0, 1, 2, 3, 4]


def test_functions_that_a_device_does_not_compute_come_from_the_host(cupy):
    g = weft.generators.star(5).to("cuda")
    computed = {
        "x": lambda v: weft.sin(v.id) // 0.5,
        "y": lambda v: weft.cast(v.id * 1e9, weft.int32),
    }
    state, host = g.state(**computed), g.to("cpu").state(**computed)
    assert on_gpu(state.x)
    same(to_host(state.x), host.x)
    same(to_host(state.y), host.y)


def test_assigning_a_field_copies_nothing_to_the_host(cupy):
    g = weft.generators.path(3).to("cuda")
    state = g.state(x=weft.full(0.0))
    fake_cupy.READS.clear()
    state.x = cupy.asarray([1.0, 2.0, 3.0])
    state.x = state.x + 1
    assert not fake_cupy.READS
    assert to_host(state.x).tolist() == [2.0, 3.0, 4.0]
    state.x = np.array([5, 6, 7])
    assert to_host(state.x).tolist() == [5.0, 6.0, 7.0]
    state.x = 4
    assert to_host(state.x).tolist() == [4.0] * 3
    ints = g.state(k=weft.full(0))
    with pytest.raises(FieldError, match="is int64, but got values of float64"):
        ints.k = cupy.zeros(3)


def test_a_state_of_another_device_is_refused(cupy):
    g = weft.generators.path(3)
    with pytest.raises(FieldError, match="field 'k' lies on 'cpu', but this graph is on 'cuda'"):
        g.to("cuda").run(weft.vertex(lambda v: v.k > 0), g.state(k=weft.full(0)))


# -- programs and algorithms ---------------------------------------------------------------------

G = weft.generators.rmat(7, 6, seed=3, weights="float")
DIRECTED = weft.generators.rmat(
    7, 3, seed=4, weights="int", directed=True, self_loops="keep", duplicates="keep"
)
ALGORITHMS = {
    "bfs": lambda g: weft.bfs(g, 1).level,
    "sssp": lambda g: weft.sssp(g, 1).dist,
    "pagerank": weft.pagerank,
    "pagerank weighted": lambda g: weft.pagerank(g, weighted=True, personalization={3: 1.0}),
    "pagerank adaptive": lambda g: weft.pagerank(g, tol=1e-12, max_iter=200, adaptive=True),
    "pagerank adaptive, at home": lambda g: weft.pagerank(
        g, tol=1e-12, max_iter=200, personalization={3: 1.0}, adaptive=True
    ),
    "connected_components": weft.connected_components,
    "core_number": weft.core_number,
    "triangle_count": weft.triangle_count,
    "clustering": weft.clustering,
    "betweenness": lambda g: weft.betweenness(g, 5),
    "label_propagation": weft.label_propagation,
    "acc.bfs": lambda g: weft.acc.bfs(g, 1),
    "acc.sssp": lambda g: weft.acc.sssp(g, 1),
    "acc.pagerank": weft.acc.pagerank,
    "acc.components": weft.acc.components,
    "acc.k_core": lambda g: weft.acc.k_core(g, 3),
}


@pytest.mark.parametrize("graph", [G, DIRECTED], ids=["undirected", "directed"])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_algorithms_run_on_a_device_without_a_changed_call(cupy, name, graph):
    algorithm = ALGORITHMS[name]
    expected = algorithm(graph)
    got = algorithm(graph.to("cuda"))
    if isinstance(expected, int):
        assert got == expected
    else:
        assert on_gpu(got)
        np.testing.assert_allclose(to_host(got), expected, rtol=1e-9)


def test_algorithms_take_what_a_device_gives(cupy):
    g = G.to("cuda")
    hub = g.out_degree.argmax()
    assert to_host(weft.bfs(g, hub).level).tolist() == weft.bfs(G, int(hub)).level.tolist()
    sources = cupy.asarray([1, 2])
    np.testing.assert_allclose(to_host(weft.betweenness(g, sources)), weft.betweenness(G, [1, 2]))
    home = cupy.arange(g.num_vertices) * 1.0
    np.testing.assert_allclose(
        to_host(weft.pagerank(g, personalization=home)),
        weft.pagerank(G, personalization=to_host(home)),
    )


def test_simple_and_oriented_graphs_stay_on_the_device(cupy):
    from weft.algorithms.support.simple import simple
    from weft.algorithms.triangle_count import oriented

    for device in ("cuda", "emulated"):
        plain = simple(DIRECTED.to(device))
        assert plain.device == oriented(plain).device == device


def test_the_frontier_of_a_run_stays_on_the_device(cupy):
    @weft.edge(into="count", reduce=weft.sum)
    def arrive(u, v, e):
        return 1

    g = weft.Graph.from_edges([0, 1, 1], [2, 2, 0]).to("cuda")
    state = g.state(count=weft.full(0))
    frontier = g.run(arrive, state)
    assert on_gpu(frontier.held)
    assert frontier.tolist() == [0, 2]
    assert to_host(state.count).tolist() == [1, 0, 2]


def test_trails_are_replayed_from_the_device(cupy):
    @weft.edge(into="level", reduce=weft.any, accept=lambda v: v.level < 0)
    def discover(u, v, e):
        return u.level + 1

    @weft.vertex
    def count(v):
        v.visits = v.visits + 1

    g = weft.generators.path(5).to("cuda")
    state = g.state(level=weft.full(-1), visits=weft.full(0))
    state.level[0] = 0
    run = g.iterate(discover, state, [0], trail=True)
    fake_cupy.READS.clear()
    assert on_gpu(run.trail.flat)
    g.replay(count, state, run.trail)
    g.replay(count, state, [[1, 2], cupy.asarray([4])])
    assert to_host(state.visits).tolist() == [1, 2, 2, 1, 2]
    with pytest.raises(GraphError, match="vertex 9 does not exist"):
        g.replay(count, state, [*run.trail, cupy.asarray([9])])


@pytest.mark.parametrize("device", ["cuda", "emulated"])
def test_a_graph_without_vertices_runs_on_every_device(cupy, device):
    g = weft.Graph.from_edges([], [], num_vertices=0).to(device)
    assert len(weft.connected_components(g)) == 0
    assert len(weft.pagerank(g)) == 0


def test_schedules_of_a_gpu_are_refused_on_a_cpu_only(cupy, monkeypatch):
    config = weft.Config(schedule="twc")
    with pytest.raises(ConfigError, match="not possible on a CPU"):
        weft.bfs(G, 0, config=config)
    seen = []

    def run(request, form):
        seen.append(request.options.schedule)
        return fake_cupy.run_on_host(
            replace(request, options=replace(request.options, schedule="vertex"))
        )

    monkeypatch.setattr(sys.modules["weft.backends.cuda.host.run"], "run_request", run)
    weft.bfs(G.to("emulated"), 0, config=config)
    assert seen == ["twc"]


# -- generators ----------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["cuda", "emulated"])
@pytest.mark.parametrize(
    "make",
    [
        lambda **k: weft.generators.kron(6, 8, seed=3, weights="int", **k),
        lambda **k: weft.generators.rmat(5, 4, seed=3, weights="float", directed=True, **k),
        lambda **k: weft.generators.rmat(5, 4, seed=3, permute=False, duplicates="sum", **k),
        lambda **k: weft.generators.road(13, 0.7, seed=3, weights=(-5, 2**40), **k),
        lambda **k: weft.generators.road(0, **k),
        lambda **k: weft.generators.planted(90, [50, 30, 10], 8, seed=3, weights="int", **k),
    ],
)
def test_generators_make_the_same_graph_on_every_device(cupy, make, device, monkeypatch):
    expected = make()
    monkeypatch.setattr(weft.generators.counter, "DEVICE_CHUNK", 100)
    monkeypatch.setattr(weft.generators.counter, "HOST_CHUNK", 77)
    got = make(device=device)
    assert got.device == device
    assert on_gpu(got.out_degree) == (device == "cuda")
    for part, host in zip(got.to_edges(), expected.to_edges(), strict=True):
        same(None if part is None else to_host(part), host)


def test_random_words_are_those_of_programs():
    from weft.arrays.random import STEP, _mix, random_bits
    from weft.generators.counter import permutation, words

    key = random_bits(7, 1)
    expected = [_mix(key ^ (i * STEP & (1 << 64) - 1)) for i in range(5)]
    assert words(7, 1, np.arange(5, dtype=np.uint64)).tolist() == expected
    assert sorted(permutation(np, 7, 2, 50).tolist()) == list(range(50))
