"""Core numbers against NetworkX."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

import weft
from graphs import AWKWARD, graphs
from networks import medium, simple_graph, values_of, wide

IN_PLACE = weft.Config(combine="in_place")


def check(g, core):
    assert core.shape == (g.num_vertices,)
    if g.num_vertices:
        np.testing.assert_array_equal(core, values_of(nx.core_number(simple_graph(g))))


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_graphs(name):
    g = AWKWARD[name]()
    check(g, weft.core_number(g))


@given(graphs(index_dtype=None, weights=None, keep=None))
@settings(max_examples=60)
def test_random_graphs(g):
    check(g, weft.core_number(g))


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_graphs_in_place(name):
    g = AWKWARD[name]()
    check(g, weft.core_number(g, config=IN_PLACE))


@given(graphs(index_dtype=None, weights=None, keep=None))
@settings(max_examples=30, deadline=None)
def test_random_graphs_in_place(g):
    check(g, weft.core_number(g, config=IN_PLACE))


@pytest.mark.parametrize("direction", ["auto", "push", "pull"])
def test_in_place_on_several_threads(direction):
    g, config = medium(True), weft.Config(direction=direction, threads=3, combine="in_place")
    check(g, weft.core_number(g, config=config))


@pytest.mark.parametrize("direction", ["auto", "push", "pull"])
def test_directions_on_several_threads(direction):
    g = medium(True)
    check(g, weft.core_number(g, config=weft.Config(direction=direction, threads=3)))


def test_complete_graph():
    assert weft.core_number(weft.generators.complete(9)).tolist() == [8] * 9


def test_deterministic():
    g = medium(False)
    check(g, weft.core_number(g, config=weft.Config(deterministic=True)))


def test_wide_ids():
    g = wide(AWKWARD["two cliques"]())
    core = weft.core_number(g)
    check(g, core)
    assert core.dtype == np.int64
