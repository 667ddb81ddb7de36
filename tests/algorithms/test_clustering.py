"""Clustering coefficients against NetworkX."""

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

import weft
from graphs import AWKWARD, graphs
from library import Case
from networks import edge_pairs, medium, simple_graph, values_of, wide
from weft.errors import ConfigError


def check(g, found):
    assert found.shape == (g.num_vertices,)
    assert found.dtype == np.float64
    if g.num_vertices:
        np.testing.assert_allclose(found, values_of(nx.clustering(simple_graph(g))), rtol=1e-12)


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_graphs(name):
    g = AWKWARD[name]()
    check(g, weft.clustering(g))


@given(graphs(index_dtype=None, weights=None, keep=None))
@settings(max_examples=60)
def test_random_graphs(g):
    check(g, weft.clustering(g))


def test_several_threads():
    g = medium(True)
    check(g, weft.clustering(g, config=weft.Config(threads=3)))


def test_deterministic():
    g = medium(False)
    check(g, weft.clustering(g, config=weft.Config(deterministic=True)))


def test_wide_ids():
    g = wide(AWKWARD["two cliques"]())
    check(g, weft.clustering(g))


def valued_graph(g, directed):
    """The simple graph in NetworkX with the largest weight of parallel edges."""
    result = simple_graph(g, directed=directed)
    weight = g.to_edges().weight
    values = np.ones(g.num_edges) if weight is None else weight
    nx.set_edge_attributes(result, 0.0, "weight")
    for (u, v), value in zip(edge_pairs(g), values.tolist(), strict=True):
        if u != v:
            result[u][v]["weight"] = max(result[u][v]["weight"], value)
        else:
            result.add_edge(
                u, v, weight=max(value, result.get_edge_data(u, v, {}).get("weight", 0))
            )
    return result


def check_ldbc(g, found):
    graph, both = simple_graph(g, directed=True), simple_graph(g)
    for v in range(g.num_vertices):
        pairs = list(itertools.permutations(both[v], 2))
        joined = sum(graph.has_edge(a, b) for a, b in pairs)
        assert found[v] == (joined / len(pairs) if pairs else 0)


def check_valued(g, found, directed):
    graph = valued_graph(g, directed)
    if graph.number_of_edges() and max(w for *_, w in graph.edges(data="weight")) > 0:
        want = values_of(nx.clustering(graph, weight="weight"))
        np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-15)
    else:
        assert not found.any()


BAD = ("weights negative", "weights infinite")
CASES = {
    "clustering_ldbc": Case(
        lambda g, **options: weft.clustering(g, definition="ldbc", **options), check_ldbc
    ),
    "clustering_weighted": Case(
        lambda g, **options: weft.clustering(g, weighted=True, **options),
        lambda g, found: check_valued(g, found, False),
        "float",
        avoid=BAD,
    ),
    "clustering_fagiolo_weighted": Case(
        lambda g, **options: weft.clustering(g, definition="fagiolo", weighted=True, **options),
        lambda g, found: check_valued(g, found, True),
        "float",
        avoid=BAD,
    ),
}


@pytest.mark.parametrize("name", AWKWARD)
def test_directed_triangles(name):
    g = AWKWARD[name]()
    found = weft.clustering(g, definition="fagiolo")
    if g.num_vertices:
        want = values_of(nx.clustering(simple_graph(g, directed=True)))
        np.testing.assert_allclose(found, want, rtol=1e-12)


def test_definitions_that_do_not_exist():
    g = AWKWARD["social"]()
    with pytest.raises(ConfigError, match=r"definition='lcc' is not known"):
        weft.clustering(g, definition="lcc")
    with pytest.raises(ConfigError, match=r"definition='ldbc' cannot be combined with weighted"):
        weft.clustering(g, definition="ldbc", weighted=True)
