"""Places of vertices by how many arcs name them, against a plain count."""

import numpy as np
import pytest
from hypothesis import given, settings

import weft
from graphs import AWKWARD, graphs
from weft.topology.hub_places import hub_places, placed_targets


def check(topology):
    directions = ("out", "in") if topology.keep == "both" else (topology.keep,)
    for direction in directions:
        targets = topology.adjacency(direction).targets
        places = hub_places(topology, direction)
        assert places.dtype == topology.index_dtype
        assert sorted(places.tolist()) == list(range(topology.num_vertices))
        named = np.bincount(targets, minlength=topology.num_vertices)
        by_place = named[np.argsort(places)].tolist()
        assert by_place == sorted(named, reverse=True)
        placed = placed_targets(topology, direction)
        assert placed.tolist() == places[targets].tolist()
        assert placed_targets(topology, direction) is placed


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_graphs(name):
    check(AWKWARD[name]().topology)


@settings(max_examples=40, deadline=None)
@given(graphs(max_vertices=12, max_edges=60, keep=None, index_dtype="any"))
def test_drawn_graphs(g):
    check(g.topology)


def test_memory_counts():
    g = weft.generators.star(40)
    before = g.topology.memory_bytes + g.topology.out_degree.nbytes
    placed = placed_targets(g.topology, "in")
    places = hub_places(g.topology, "in")
    assert g.topology.memory_bytes == before + placed.nbytes + places.nbytes
