"""Cores, layers, triangles, neighbourhoods, orders and sides against NetworkX."""

import networkx as nx
import numpy as np
import pytest

import weft
from graphs import AWKWARD
from library import Case
from networks import edge_pairs, multigraph, simple_graph, values_of
from weft.errors import GraphError


def raised(algorithm):
    """Call an algorithm; None where it refuses the graph."""

    def call(g, **options):
        try:
            return algorithm(g, **options)
        except GraphError:
            return None

    return call


def check_core(g, found):
    graph = simple_graph(g)
    core = nx.core_number(graph) if g.num_vertices else {}
    inside = [v for v, k in core.items() if k >= 2]
    assert found.num_vertices == len(inside)
    kept = [(u, v) for u, v in edge_pairs(g) if u in set(inside) and v in set(inside)]
    number = {v: k for k, v in enumerate(sorted(inside))}
    assert edge_pairs(found) == sorted((number[u], number[v]) for u, v in kept)


def check_layers(g, found):
    if g.num_vertices:
        np.testing.assert_array_equal(found, values_of(nx.onion_layers(simple_graph(g))))


def check_triangles(g, found):
    np.testing.assert_array_equal(found, values_of(nx.triangles(simple_graph(g))))


def check_transitivity(g, found):
    np.testing.assert_allclose(found, nx.transitivity(simple_graph(g)))


def check_generations(g, found):
    graph = multigraph(g)
    if not nx.is_directed_acyclic_graph(graph):
        assert found is None
        return
    expected = np.zeros(g.num_vertices, int)
    for k, generation in enumerate(nx.topological_generations(graph)):
        expected[list(generation)] = k
    np.testing.assert_array_equal(found, expected)


def check_order(g, found):
    graph = multigraph(g)
    if not nx.is_directed_acyclic_graph(graph):
        assert found is None
        return
    generations = nx.topological_generations(graph)
    assert found.tolist() == [v for part in generations for v in sorted(part)]


def check_bipartite(g, found):
    assert found is nx.is_bipartite(multigraph(g).to_undirected())


def check_sides(g, found):
    if not nx.is_bipartite(multigraph(g).to_undirected()):
        assert found is None
        return
    assert all(found[u] != found[v] for u, v in edge_pairs(g))
    for part in nx.connected_components(simple_graph(g)):
        assert found[min(part)] == 0


def check_near(g, found):
    graph = multigraph(g)
    near = set()
    for v in (0, g.num_vertices - 1):
        near |= set(nx.single_source_shortest_path_length(graph, v, cutoff=2))
    assert np.flatnonzero(found).tolist() == sorted(near)


def check_ego(g, found):
    graph = nx.ego_graph(multigraph(g), 0, 1)
    assert (found.num_vertices, found.num_edges) == (len(graph), graph.number_of_edges())


def check_width(g, found):
    weight = g.to_edges().weight
    values = [1] * g.num_edges if weight is None else weight.tolist()
    edges = [(u, v, w) for (u, v), w in zip(edge_pairs(g), values, strict=True)]
    if not g.directed:
        edges += [(v, u, w) for u, v, w in edges]
    width = [-np.inf] * g.num_vertices
    width[0], changed = np.inf, True
    while changed:
        changed = False
        for u, v, w in edges:
            if min(width[u], w) > width[v]:
                width[v], changed = min(width[u], w), True
    np.testing.assert_array_equal(found, width)


CASES = {
    "k_core": Case(lambda g, **options: weft.k_core(g, 2, **options), check_core),
    "onion_layers": Case(weft.onion_layers, check_layers),
    "triangles_at_vertices": Case(weft.triangles, check_triangles),
    "transitivity": Case(weft.transitivity, check_transitivity),
    "topological_generations": Case(
        raised(weft.topological_generations), check_generations, directed=True
    ),
    "topological_sort": Case(raised(weft.topological_sort), check_order, directed=True),
    "is_bipartite": Case(weft.is_bipartite, check_bipartite),
    "bipartite_sets": Case(raised(weft.bipartite_sets), check_sides),
    "k_hop": Case(
        lambda g, **options: weft.k_hop(g, [0, g.num_vertices - 1], 2, **options),
        check_near,
        least=1,
    ),
    "ego_graph": Case(lambda g, **options: weft.ego_graph(g, 0, **options), check_ego, least=1),
    "widest_path": Case(
        lambda g, **options: weft.widest_path(g, 0, **options), check_width, "any", least=1
    ),
}


def test_the_main_core():
    g = AWKWARD["two cliques"]()
    assert weft.k_core(g).num_vertices == 12
    assert weft.k_core(AWKWARD["empty"]()).num_vertices == 0


def test_an_acyclic_graph():
    rng = np.random.default_rng(3)
    ends = np.sort(rng.integers(0, 300, (2, 900)), axis=0)
    ends = ends[:, ends[0] < ends[1]]
    g = weft.Graph.from_edges(*ends, num_vertices=300)
    check_generations(g, weft.topological_generations(g))
    check_order(g, weft.topological_sort(g))
    check_generations(path := weft.generators.path(900, directed=True),
                      weft.topological_generations(path))  # fmt: skip


def test_ego_graphs_against_the_edges_and_by_label():
    g = weft.Graph.from_edges(["a", "b", "c"], ["b", "c", "d"])
    assert weft.ego_graph(g, "c").labels.tolist() == ["c", "d"]
    assert weft.ego_graph(g, "c", both_ways=True).labels.tolist() == ["b", "c", "d"]


def test_widths_from_several_vertices_and_nan():
    g = weft.Graph.from_edges([0, 1], [2, 2], weight=[1.0, 4.0])
    assert weft.widest_path(g, [0, 1]).tolist() == [np.inf, np.inf, 4.0]
    g = weft.Graph.from_edges([0], [1], weight=[np.nan])
    with pytest.raises(GraphError, match="some weights are NaN"):
        weft.widest_path(g, 0)


def test_errors():
    with pytest.raises(GraphError, match=r"has a cycle, which vertex 1 lies on or behind"):
        weft.topological_sort(weft.Graph.from_edges([0, 1, 2], [1, 2, 1]))
    with pytest.raises(GraphError, match=r"the graph is undirected. Expected a directed one"):
        weft.topological_generations(weft.generators.path(3))
    with pytest.raises(GraphError, match="not bipartite: it has a cycle of odd length"):
        weft.bipartite_sets(weft.generators.cycle(3))
