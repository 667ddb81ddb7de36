"""The example programs on every device, beside NetworkX, SciPy and plain Python."""

import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import scipy.sparse.csgraph as csgraph
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import weft
from graphs import edge_lists
from weft.operators.examples.betweenness import betweenness
from weft.operators.examples.bfs import bfs
from weft.operators.examples.coloring import coloring
from weft.operators.examples.components import components
from weft.operators.examples.delta_stepping import delta_stepping
from weft.operators.examples.label_propagation import label_propagation
from weft.operators.examples.maximal_independent_set import maximal_independent_set
from weft.operators.examples.pagerank import pagerank
from weft.operators.examples.sssp import sssp
from weft.operators.examples.triangles import triangles

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT))

from benchmarks import operator_lines  # noqa: E402

DIRECTED = edge_lists(weights="float", min_vertices=1, directed=True)
UNDIRECTED = edge_lists(weights="int", min_vertices=1, directed=False)


def network(edges):
    """Return the simple NetworkX graph of drawn edges, without loops."""
    made = nx.DiGraph() if edges.directed else nx.Graph()
    made.add_nodes_from(range(edges.num_vertices))
    pairs = zip(edges.src.tolist(), edges.dst.tolist(), strict=True)
    made.add_edges_from((u, v) for u, v in pairs if u != v)
    return made


def distances(edges, source):
    """Return the shortest distances by Bellman and Ford."""
    dist = np.full(edges.num_vertices, np.inf)
    dist[source] = 0
    for _ in range(edges.num_vertices):
        np.minimum.at(dist, edges.dst, dist[edges.src] + edges.weight)
    return dist


def of_directed(edges, source, delta, device):
    g = edges.build().to(device)
    made = network(edges)
    want = distances(edges, source)
    np.testing.assert_array_equal(sssp(g, source), want)
    np.testing.assert_array_equal(delta_stepping(g, source, delta), want)
    level = np.full(edges.num_vertices, -1)
    for v, hops in nx.single_source_shortest_path_length(made, source).items():
        level[v] = hops
    for ratio in (0, 4, 10**6):
        assert bfs(g, source, ratio).tolist() == level.tolist()
    near = nx.from_numpy_array(matrix_of(edges), create_using=nx.DiGraph)
    rank = nx.pagerank(near, tol=1e-12, max_iter=500)
    for push in (False, True):
        np.testing.assert_allclose(pagerank(g, push=push), list(rank.values()), atol=1e-8)


def matrix_of(edges):
    found = np.zeros((edges.num_vertices,) * 2)
    np.add.at(found, (edges.src, edges.dst), 1)
    return found


def of_undirected(edges, device):
    g = edges.build().to(device)
    made = network(edges)
    label = components(g)
    for part in nx.connected_components(made):
        assert {label[v] for v in part} == {min(part)}
    found = nx.triangles(made)
    assert triangles(g).tolist() == [found[v] for v in range(edges.num_vertices)]
    color, chosen = coloring(g), maximal_independent_set(g)
    assert color.min() >= 0
    for u, v in made.edges:
        assert color[u] != color[v] and not (chosen[u] and chosen[v])
    for v in made:
        assert chosen[v] or any(chosen[u] for u in made[v])
    assert label_propagation(g, 3).tolist() == voted(edges, 3)


def voted(edges, rounds):
    """Propagate labels in plain Python."""
    n = edges.num_vertices
    weight = dict.fromkeys(range(n))
    arcs = [
        (int(u), int(v), int(w)) for u, v, w in zip(edges.src, edges.dst, edges.weight, strict=True)
    ]
    arcs += [(v, u, w) for u, v, w in arcs if u != v]
    label = list(range(n))
    for _ in range(rounds):
        votes = [{} for _ in weight]
        for u, v, w in arcs:
            votes[u][label[v]] = votes[u].get(label[v], 0) + w
        new = [
            max(vote.items(), key=lambda item: (item[1], -item[0]))[0] if vote else label[v]
            for v, vote in enumerate(votes)
        ]
        if new == label:
            break
        label = new
    return label


@settings(max_examples=20)
@given(DIRECTED, st.data())
def test_directed_graphs(edges, data):
    source = data.draw(st.integers(0, edges.num_vertices - 1))
    of_directed(edges, source, data.draw(st.sampled_from([0.25, 2.0, 100.0])), "reference")


@settings(max_examples=20)
@given(UNDIRECTED)
def test_undirected_graphs(edges):
    of_undirected(edges, "reference")


@settings(max_examples=15)
@given(edge_lists(weights=None, min_vertices=1, max_vertices=8), st.data())
def test_betweenness(edges, data):
    made = network(edges)
    simple = np.array(list(made.edges), np.int64).reshape(-1, 2)
    g = weft.Graph.from_edges(
        simple[:, 0], simple[:, 1], num_vertices=edges.num_vertices, directed=edges.directed
    )
    want = nx.betweenness_centrality(made, normalized=False)
    scale = 1 if edges.directed else 2
    np.testing.assert_allclose(
        betweenness(g.to("reference")), [scale * want[v] for v in range(edges.num_vertices)]
    )


@pytest.mark.slow
@pytest.mark.parametrize("device", ["cpu", "emulated"])
def test_compiled(device):
    """Every program once, on graphs that are not small."""
    g = weft.generators.rmat(6, 5, seed=3, weights="float", directed=True).to(device)
    src, dst, weight = (np.asarray(x) for x in g.to_edges())
    matrix = weft.Graph.from_edges(src, dst, weight, num_vertices=64).to_scipy()
    want = csgraph.dijkstra(matrix, indices=0)
    np.testing.assert_allclose(np.asarray(sssp(g, 0)), want)
    np.testing.assert_allclose(np.asarray(delta_stepping(g, 0, 8.0)), want)
    assert bfs(g, 0).tolist() == weft.bfs(g.to("reference"), 0).level.tolist()
    rank = np.asarray(weft.pagerank(g.to("reference"), tol=1e-12))
    for push in (False, True):
        np.testing.assert_allclose(np.asarray(pagerank(g, push=push)), rank, atol=1e-8)
    h = weft.generators.rmat(5, 4, seed=3, weights="int").to(device)
    reference = h.to("reference")
    assert components(h).tolist() == components(reference).tolist()
    assert triangles(h).tolist() == triangles(reference).tolist()
    assert coloring(h).tolist() == coloring(reference).tolist()
    inside = maximal_independent_set(reference)
    assert maximal_independent_set(h).tolist() == inside.tolist()
    assert label_propagation(h).tolist() == label_propagation(reference).tolist()
    np.testing.assert_allclose(
        np.asarray(betweenness(h, [0, 5])), betweenness(reference, [0, 5]), rtol=1e-12
    )


@settings(max_examples=4, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(edge_lists(weights="int", min_vertices=1, directed=False))
def test_programs_under_capture(edges):
    """Whether a loop is captured or not, a program does the same."""
    g = edges.build().to("reference")
    programs = {
        "sssp": (lambda: sssp(g, 0), 1),
        "bfs": (lambda: bfs(g, 0), 0),
        "push": (lambda: pagerank(g, push=True), 0),
        "pull": (lambda: pagerank(g), 0),
        "betweenness": (lambda: betweenness(g), 0),
        "components": (lambda: components(g), 0),
        "triangles": (lambda: triangles(g), 0),
        "coloring": (lambda: coloring(g), 0),
        "independent": (lambda: maximal_independent_set(g), 0),
        "labels": (lambda: label_propagation(g), 0),
        "delta": (lambda: delta_stepping(g, 0, 5.0), 0),
    }
    for name, (program, loops) in programs.items():
        want = program()
        with weft.capture() as c:
            found = program()
        np.testing.assert_allclose(found, want, rtol=1e-12, err_msg=name)
        assert len(c.loops) >= min(loops, int(g.out_degree[0]) > 0), name


@pytest.mark.parametrize("n", [0, 1])
def test_graphs_without_edges(n):
    g = weft.Graph.from_edges([], [], num_vertices=n, directed=False).to("reference")
    assert pagerank(g).tolist() == [1.0] * n
    assert components(g).tolist() == triangles(g).tolist() == [0] * n
    assert coloring(g).tolist() == [0] * n
    assert maximal_independent_set(g).tolist() == [True] * n
    assert label_propagation(g).tolist() == list(range(n))
    assert betweenness(g).tolist() == [0.0] * n


def test_the_table_of_lines_is_up_to_date():
    rows = operator_lines.table().splitlines()
    page = (ROOT / "docs" / "howto" / "coming-from-gunrock.md").read_text(encoding="utf-8")
    assert page.rstrip().endswith("\n".join(rows))
    assert all(int(row.split("|")[2]) < 30 for row in rows[2:])
    names = {path.stem for path in operator_lines.EXAMPLES.glob("*.py")} - {"__init__"}
    assert names == set(operator_lines.TITLES)


def test_what_counts_as_a_line():
    source = '"""Text\n\nmore."""\n\nx = [  # one\n    2,\n]\n# none\n'
    source += "if x:\n    y = 1\nelse:\n    y = 2\n"
    assert operator_lines.lines_of(source) == 7
