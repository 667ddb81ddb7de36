"""Frontiers on devices, with a stand-in for CuPy (`tests/fake_cupy.py`) in place of a GPU."""

import numpy as np
import pytest

import fake_cupy
import weft
from fake_cupy import on_gpu
from weft.arrays.device import to_host
from weft.engine.frontier import Frontier
from weft.errors import GraphError


@pytest.fixture
def cupy(monkeypatch):
    with fake_cupy.installed(monkeypatch) as module:
        yield module


def test_frontiers_on_a_device(cupy):
    g = weft.generators.path(6).to("cuda")
    few = g.frontier([4, 1, 4])
    assert isinstance(few.held, np.ndarray)  # until the device needs it
    assert len(few) == 2 and 4 in few and 3 not in few
    assert on_gpu(few.items) and few.tolist() == [1, 4]
    assert few.items.dtype == np.int32
    mask = g.frontier(cupy.arange(6) > 3)
    assert on_gpu(mask.held) and mask.tolist() == [4, 5]
    assert to_host(mask.mask()).tolist() == [False] * 4 + [True] * 2
    assert g.frontier(cupy.asarray([3, 0, 3])).tolist() == [0, 3]
    assert g.frontier(np.arange(6) > 3).tolist() == [4, 5]
    everything = g.frontier()
    assert on_gpu(everything.items) and len(everything) == 6
    assert on_gpu(g.edge_frontier([2]).items)
    with pytest.raises(GraphError, match=r"vertex 6 does not exist. Expected numbers from 0 to 5"):
        g.frontier(cupy.asarray([1, 6]))
    with pytest.raises(GraphError, match="a mask must have 6"):
        g.frontier(cupy.zeros(5) > 0)


def test_a_frontier_is_sorted_when_it_is_looked_at(cupy):
    frontier = Frontier(cupy.asarray([5, 2, 4]), 6, is_sorted=False)
    fake_cupy.READS.clear()
    assert len(frontier) == 3 and bool(frontier)
    assert not fake_cupy.READS
    assert to_host(frontier.members).tolist() == [5, 2, 4]
    assert frontier.tolist() == [2, 4, 5]
    assert to_host(frontier.items).tolist() == [2, 4, 5]
    assert np.asarray(frontier).tolist() == [2, 4, 5]
    assert Frontier(np.array([3, 1]), 4, is_sorted=False).items.tolist() == [1, 3]


def test_frontiers_move_between_devices_of_one_graph(cupy):
    g = weft.generators.path(6)
    there = g.to("cuda")
    assert on_gpu(there.frontier(g.frontier([3, 1])).items)
    assert g.frontier(there.frontier(cupy.asarray([3, 1]))).items.tolist() == [1, 3]
