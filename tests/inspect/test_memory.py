"""Estimates of memory, against what runs on the CPU really hold."""

from types import SimpleNamespace

import pytest

import fake_cupy
import weft
from weft.algorithms import algorithm_names
from weft.errors import ConfigError, DeviceMemoryError
from weft.graph.execution import scratch_bytes
from weft.inspect.memory import check_memory


def parts(estimate, group):
    return {part.name: part for part in estimate.parts if part.group == group}


def test_the_graph_is_counted_as_it_is_stored():
    g = weft.generators.rmat(9, 8, directed=True, weights="int")
    before = weft.estimate_memory(g, "pagerank")
    weft.pagerank(g)
    after = weft.estimate_memory(g, weft.pagerank)
    assert sum(p.nbytes for p in parts(after, "graph").values()) == g.topology.memory_bytes
    assert all(p.held for p in parts(after, "graph").values())
    assert not parts(after, "building")
    assert after.needed_bytes < before.needed_bytes
    assert {n: p.nbytes for n, p in parts(before, "graph").items()} == {
        n: p.nbytes for n, p in parts(after, "graph").items()
    }


def test_weights_in_other_orders_are_counted():
    g = weft.generators.rmat(9, 8, weights="int")
    names = parts(weft.estimate_memory(g, "sssp"), "graph")
    assert names["weights, arcs by source"].nbytes == 4 * g.topology.num_arcs
    assert not names["weights, arcs by source"].held
    weft.sssp(g, 0)
    after = parts(weft.estimate_memory(g, "sssp"), "graph")
    assert after["weights, arcs by source"].held
    assert sum(p.nbytes for p in after.values()) <= g.memory_bytes


@pytest.mark.parametrize(
    "name", ["bfs", "sssp", "pagerank", "connected_components", "core_number", "label_propagation"]
)
def test_the_workspace_of_a_run_is_in_the_estimate(name):
    g = weft.generators.rmat(16, 8, seed=2, weights="int")
    estimate = weft.estimate_memory(g, name)
    getattr(weft, name)(g, *([0] if name in ("bfs", "sssp") else []))
    workspace = sum(p.nbytes for p in parts(estimate, "workspace").values())
    assert workspace / 4 < scratch_bytes(g.topology) <= workspace


@pytest.mark.parametrize("name", ["bfs", "sssp"])
def test_messages_that_are_sorted_are_in_the_estimate(name):
    g = weft.generators.rmat(15, 8, seed=2, weights="int")
    config = weft.Config(combine="radix", direction="push", ordering=False)
    plain, estimate = (weft.estimate_memory(g, name, config=c) for c in (None, config))
    assert plain.total_bytes < estimate.total_bytes
    getattr(weft, name)(g, 0, config=config)
    workspace = sum(p.nbytes for p in parts(estimate, "workspace").values())
    assert parts(estimate, "workspace")["messages sorted by target"].nbytes > workspace / 4
    assert workspace / 4 < scratch_bytes(g.topology) <= workspace


@pytest.mark.parametrize("name", algorithm_names())
@pytest.mark.parametrize("directed", [True, False])
def test_every_algorithm_has_an_estimate_that_reads_well(name, directed):
    g = weft.generators.rmat(8, 4, directed=directed, self_loops="keep", weights="float")
    estimate = weft.estimate_memory(g, getattr(weft, name))
    assert estimate.total_bytes > estimate.needed_bytes > 0
    assert estimate.total_bytes >= g.topology.memory_bytes
    text = repr(estimate)
    assert text.startswith(f"{name} on cpu: ")
    assert all(part.name in text for part in estimate.parts)
    assert estimate.fits is None


def test_unknown_algorithms_are_explained():
    with pytest.raises(ConfigError, match=r"algorithm='bsf' is not known.*Did you mean 'bfs'"):
        weft.estimate_memory(weft.generators.path(3), "bsf")


def test_what_does_not_fit_is_refused(monkeypatch):
    with fake_cupy.installed(monkeypatch) as cupy:
        g = weft.generators.rmat(10, 8, directed=True).to("cuda")
        assert check_memory(g, "bfs").fits is True
        monkeypatch.setattr(cupy.cuda.runtime, "memGetInfo", lambda: (100, 1000))
        pool = SimpleNamespace(free_bytes=lambda: 0, get_limit=lambda: 0)
        monkeypatch.setattr(cupy, "get_default_memory_pool", lambda: pool)
        with pytest.raises(
            DeviceMemoryError, match=r"was needed, 100 B was free.*keep='out'"
        ) as got:
            check_memory(g, "bfs")
        assert got.value.needed_bytes == weft.estimate_memory(g, "bfs").needed_bytes
