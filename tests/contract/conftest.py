"""What the contract tests share: small graphs that several threads work on."""

import numpy as np
import pytest

import weft
from weft.backends.cpu.host import run as execute


@pytest.fixture(autouse=True)
def _share_small_graphs(monkeypatch):
    """Let several threads work on graphs that are too small to be worth it."""
    monkeypatch.setattr(execute, "SMALL_GRAPH", 0)


@pytest.fixture
def g():
    """Six vertices with two parallel edges 1 -> 2, a self-loop at 2, and the isolated vertex 5.

    Edge ids:  0: 0->1, 1: 0->2, 2 and 3: 1->2, 4: 2->2, 5: 2->3, 6: 3->0, 7: 4->3.
    """
    src, dst = [0, 0, 1, 1, 2, 2, 3, 4], [1, 2, 2, 2, 2, 3, 0, 3]
    return weft.Graph.from_edges(src, dst, [5, 1, 2, 7, 3, 4, 6, 8], num_vertices=6)


@pytest.fixture
def chain():
    """An undirected path 0 - 1 - 2 - 3 with a doubled edge 1 - 2, a self-loop at 3, and 4 alone.

    Edge ids:  0: {0, 1}, 1 and 2: {1, 2}, 3: {2, 3}, 4: {3, 3}.
    """
    return weft.Graph.from_edges(
        [1, 1, 2, 3, 3], [0, 2, 1, 2, 3], [1.0, 2.0, 4.0, 8.0, 16.0], num_vertices=5, directed=False
    )


@pytest.fixture
def path():
    """The directed path of 40 vertices."""
    return weft.Graph.from_edges(np.arange(39), np.arange(1, 40))
