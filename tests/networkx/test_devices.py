"""Devices: chosen by a setting, and replaced where they cannot be had."""

import warnings

import networkx as nx
import pytest

from weft.arrays.device import cuda_problem
from weft.networkx import settings


@pytest.fixture(autouse=True)
def fresh():
    settings._usable.cache_clear()
    yield
    settings._usable.cache_clear()


@pytest.mark.skipif(cuda_problem() is None, reason="there is a GPU")
def test_a_missing_gpu_is_replaced_with_one_warning(monkeypatch):
    monkeypatch.setattr(nx.config.backends.weft, "device", "cuda")
    graph = nx.karate_club_graph()
    with pytest.warns(RuntimeWarning, match=r"WEFT_NETWORKX_DEVICE and runs on the CPU") as found:
        ranks = nx.pagerank(graph, backend="weft")
    assert len(found) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert nx.pagerank(graph, backend="weft") == ranks


def test_auto_takes_a_gpu_only_for_large_graphs(monkeypatch):
    asked = []
    monkeypatch.setattr(settings, "_usable", lambda wanted: asked.append(wanted) or "cuda")
    assert settings.device_for(1000) == "cpu"
    assert not asked
    assert settings.device_for(10_000_000) == "cuda"
    monkeypatch.setattr(nx.config.backends.weft, "device", "cpu")
    assert settings.device_for(10_000_000) == "cpu"


def test_a_device_by_name_runs_there(monkeypatch):
    monkeypatch.setattr(nx.config.backends.weft, "device", "reference")
    monkeypatch.setattr(nx.config.backends.weft, "engine_entries", 0)
    graph = nx.path_graph(5)
    assert nx.single_source_shortest_path_length(graph, 1, backend="weft") == {
        1: 0, 0: 1, 2: 1, 3: 2, 4: 3,
    }  # fmt: skip
    (network,) = graph.__networkx_cache__["backends"]["weft"].values()
    assert {g.device for g in network._graphs.values()} == {"reference"}
