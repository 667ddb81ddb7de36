"""Biconnected components, articulation points and bridges against NetworkX."""

from collections import Counter

import networkx as nx
import numpy as np

import weft
from graphs import AWKWARD
from library import Case
from networks import edge_pairs, simple_graph


def check_components(g, found):
    pairs = edge_pairs(g)
    member = {}
    for edges in nx.biconnected_component_edges(simple_graph(g)):
        part = {tuple(sorted(edge)) for edge in edges}
        first = min(k for k, (u, v) in enumerate(pairs) if (min(u, v), max(u, v)) in part)
        member |= dict.fromkeys(part, first)
    expected = [-1 if u == v else member[min(u, v), max(u, v)] for u, v in pairs]
    assert found.component.tolist() == expected
    check_points(g, found.articulation)


def check_points(g, found):
    expected = sorted(nx.articulation_points(simple_graph(g)))
    assert np.flatnonzero(found).tolist() == expected


def check_bridges(g, found):
    pairs = [tuple(sorted(pair)) for pair in edge_pairs(g)]
    often = Counter(pairs)
    alone = {tuple(sorted(edge)) for edge in nx.bridges(simple_graph(g))}
    expected = [k for k, pair in enumerate(pairs) if pair in alone and often[pair] == 1]
    assert found.tolist() == expected


CASES = {
    "biconnected_components": Case(weft.biconnected_components, check_components),
    "articulation_points": Case(weft.articulation_points, check_points),
    "bridges": Case(weft.bridges, check_bridges),
}


def test_cactus():
    """Cycles that share single vertices, and trees that hang on them."""
    src = [0, 1, 2, 2, 3, 4, 4, 5, 6, 7, 7, 8]
    dst = [1, 2, 0, 3, 4, 2, 5, 6, 4, 4, 8, 9]
    g = weft.Graph.from_edges(src, dst, directed=False)
    check_components(g, weft.biconnected_components(g))
    check_bridges(g, weft.bridges(g))


def test_road():
    g = AWKWARD["road"]()
    check_components(g, weft.biconnected_components(g, config=weft.Config(threads=2)))
