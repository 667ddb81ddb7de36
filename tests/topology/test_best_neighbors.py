"""The neighbor of highest degree of every vertex, against a plain search."""

import numpy as np
import pytest
from hypothesis import given, settings

import weft
from graphs import AWKWARD, graphs
from weft.topology import best_neighbors as ranking
from weft.topology.best_neighbors import best_neighbors


def expected(adjacency):
    lengths = np.diff(adjacency.offsets)
    found = []
    for row, (begin, end) in enumerate(zip(adjacency.offsets, adjacency.offsets[1:], strict=False)):
        targets = adjacency.targets[begin:end].tolist()
        others = [t for t in targets if t != row]
        found.append(
            min(others, key=lambda t: (-lengths[t], t)) if others else (targets or [-1])[0]
        )
    return found


def check(topology):
    directions = ("out", "in") if topology.keep == "both" else (topology.keep,)
    for direction in directions:
        found = topology.found("best", direction, best_neighbors)
        assert found.dtype == topology.index_dtype
        assert found.tolist() == expected(topology.adjacency(direction))
        assert topology.found("best", direction, best_neighbors) is found


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_graphs(name):
    check(AWKWARD[name]().topology)


@settings(max_examples=40, deadline=None)
@given(graphs(max_vertices=12, max_edges=60, keep=None, index_dtype="any"))
def test_drawn_graphs(g):
    check(g.topology)


def test_rows_in_pieces(monkeypatch):
    g = weft.generators.rmat(8, 8, seed=3)
    whole = best_neighbors(g.topology.out).tolist()
    monkeypatch.setattr(ranking, "AT_ONCE", 7)
    assert ranking.best_neighbors(g.topology.out).tolist() == whole == expected(g.topology.out)


def test_memory_counts():
    g = weft.generators.star(40)
    before = g.topology.memory_bytes
    found = g.topology.found("best", "out", best_neighbors)
    assert g.topology.memory_bytes == before + found.nbytes
