"""Datasets: the same graphs as NetworkX has under these names."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import weft
from weft import datasets


def test_every_dataset_has_a_source_or_a_rule_and_an_example():
    for name in datasets.__all__:
        function = getattr(datasets, name)
        assert ">>>" in function.__doc__
        g = function()
        assert not g.directed
        assert function() is not g


def test_karate():
    other = nx.karate_club_graph()
    g = datasets.karate()
    assert nx.utils.graphs_equal(
        g.to_networkx(), nx.Graph(_with(other, club=lambda d: int(d["club"] == "Officer")))
    )


def _with(network, **attributes):
    plain = nx.Graph()
    for node, data in network.nodes(data=True):
        plain.add_node(node, **{k: f(data) for k, f in attributes.items()})
    plain.add_edges_from(network.edges(data=True))
    return plain


def test_les_miserables():
    assert nx.utils.graphs_equal(datasets.les_miserables().to_networkx(), nx.les_miserables_graph())


def test_florentine_families():
    network = datasets.florentine_families().to_networkx()
    assert list(nx.isolates(network)) == ["Pucci"]
    network.remove_node("Pucci")
    assert nx.utils.graphs_equal(network, nx.florentine_families_graph())


def test_southern_women():
    g = datasets.southern_women()
    other = nx.davis_southern_women_graph()
    assert g.labels.tolist() == list(other.nodes)
    assert set(map(frozenset, g.to_networkx().edges)) == set(map(frozenset, other.edges))
    src, dst, _ = g.to_edges()
    event = g.vertex["event"]
    assert np.all(event[src] != event[dst])


@pytest.mark.parametrize(
    ("make", "other"),
    [
        (datasets.petersen, nx.petersen_graph),
        (datasets.dodecahedron, nx.dodecahedral_graph),
        (datasets.heawood, nx.heawood_graph),
        (datasets.icosahedron, nx.icosahedral_graph),
    ],
)
def test_named_graphs_are_isomorphic_to_those_of_networkx(make, other):
    assert nx.is_isomorphic(make().to_networkx(), other())


def test_it_is_a_module_of_weft():
    assert weft.datasets is datasets
    assert "datasets" in dir(weft)
