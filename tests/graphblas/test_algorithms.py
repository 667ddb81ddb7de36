"""The algorithms against NetworkX, and the same files under python-graphblas."""

import ast
import difflib
import importlib
import inspect
import types
import warnings
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import weft.graphblas as gb
from weft.graphblas import algorithms

FOLDER = Path(algorithms.__file__).parent
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

GRAPHS = {
    "empty": nx.empty_graph(5),
    "one": nx.empty_graph(1),
    "path": nx.path_graph(12),
    "star": nx.star_graph(9),
    "complete": nx.complete_graph(6),
    "karate": nx.karate_club_graph(),
    "two parts": nx.disjoint_union(nx.cycle_graph(5), nx.complete_graph(4)),
    "random": nx.gnp_random_graph(40, 0.1, seed=3),
}


@pytest.fixture(params=sorted(GRAPHS))
def graph(request):
    return GRAPHS[request.param]


def adjacency(graph, directed=False, weights=None):
    edges = list(graph.edges())
    if not directed:
        edges += [(v, u) for u, v in edges if u != v]
    n = graph.number_of_nodes()
    values = 1 if weights is None else [weights(u, v) for u, v in edges]
    rows, cols = [e[0] for e in edges], [e[1] for e in edges]
    dtype = int if weights is None else float
    return gb.Matrix.from_coo(rows, cols, values if edges else [], dtype, nrows=n, ncols=n)


def weight(u, v):
    return 1.0 + ((u * 7 + v * 7 + u * v) % 5)


def test_levels_and_parents(graph):
    A = adjacency(graph)
    expected = nx.single_source_shortest_path_length(graph, 0)
    assert algorithms.bfs_levels(A, 0).to_dict() == expected
    parents = algorithms.bfs_parents(A, 0).to_dict()
    assert parents.keys() == expected.keys() and parents[0] == 0
    for place, parent in parents.items():
        assert place == 0 or expected[place] == expected[parent] + 1
    several = algorithms.multi_source_levels(A, [0, graph.number_of_nodes() - 1])
    assert several[0, :].new().to_dict() == expected


def test_shortest_paths(graph):
    A = adjacency(graph, weights=weight)
    for u, v in graph.edges():
        graph[u][v]["cost"] = weight(u, v)
    expected = nx.single_source_dijkstra_path_length(graph, 0, weight="cost")
    assert algorithms.sssp(A, 0).to_dict() == pytest.approx(expected)
    assert algorithms.all_pairs(A)[0, :].new().to_dict() == pytest.approx(expected)
    for delta in (0.5, 2.5, 100):
        assert algorithms.delta_stepping(A, 0, delta).to_dict() == pytest.approx(expected)


def test_breadth_first_search_and_shortest_paths_differ_in_two_lines():
    one, other = ((FOLDER / name).read_text().splitlines() for name in ("bfs.py", "sssp.py"))
    changed = [line for line in difflib.ndiff(one, other) if line[0] in "-+"]
    assert len(changed) == 4


def test_pagerank(graph):
    found = algorithms.pagerank(adjacency(graph), tol=1e-12, max_iter=300).to_dict()
    expected = nx.pagerank(graph, tol=1e-12, max_iter=500, weight=None)
    assert found == pytest.approx(expected, abs=1e-6)


def test_adaptive_pagerank(graph):
    A = adjacency(graph)
    found = algorithms.adaptive_pagerank(A, tol=1e-7, max_iter=2000).to_dict()
    sums = algorithms.pagerank(A, tol=1e-12, max_iter=300).to_dict()
    if min(dict(graph.degree).values()) > 0:
        assert found == pytest.approx(sums, abs=2e-6)
    assert found.keys() == sums.keys()


def test_approximate_pagerank_solves_the_lazy_walk(graph):
    n = graph.number_of_nodes()
    found = algorithms.approximate_pagerank(adjacency(graph), 0, epsilon=1e-9)
    if not graph.degree(0):
        assert found.nvals == 0
        return
    links = nx.to_numpy_array(graph, weight=None)
    step = (np.eye(n) + links / np.maximum(links.sum(1), 1)[:, None]) / 2
    start = np.eye(n)[0]
    expected = np.linalg.solve((np.eye(n) - 0.85 * step).T, 0.15 * start)
    np.testing.assert_allclose(found.to_dense(0.0), expected, atol=1e-6)


def test_local_cluster_finds_a_clique():
    graph = nx.disjoint_union(nx.complete_graph(6), nx.complete_graph(6))
    graph.add_edge(0, 6)
    members, conductance = algorithms.local_cluster(adjacency(graph), 2)
    assert set(members) == set(range(6))
    assert conductance == pytest.approx(nx.conductance(graph, range(6)))


@pytest.mark.parametrize("n", [1, 2, 7])
def test_assignment_is_optimal(n):
    from scipy.optimize import linear_sum_assignment

    benefits = np.random.default_rng(n).integers(0, 30, (n, n))
    chosen = algorithms.assignment(gb.Matrix.from_dense(benefits)).to_dict()
    assert sorted(chosen.values()) == list(range(n))
    best = benefits[linear_sum_assignment(-benefits)].sum()
    assert sum(benefits[row, column] for row, column in chosen.items()) == best


def test_seeded_matching_finds_a_permutation():
    graph = nx.gnp_random_graph(14, 0.4, seed=2)
    moved = np.random.default_rng(0).permutation(14)
    image = nx.empty_graph(14)
    image.add_edges_from((moved[u], moved[v]) for u, v in graph.edges())
    known = {place: int(moved[place]) for place in range(5)}
    found = algorithms.seeded_matching(adjacency(graph), adjacency(image), known).to_dict()
    assert [found[place] for place in range(14)] == moved.tolist()
    everything = dict(enumerate(moved.tolist()))
    found = algorithms.seeded_matching(adjacency(graph), adjacency(image), everything)
    assert found.to_dict() == everything


def test_betweenness(graph):
    n = graph.number_of_nodes()
    found = algorithms.betweenness(adjacency(graph), list(range(n)))
    expected = nx.betweenness_centrality(graph, normalized=False)
    doubled = {place: 2 * value for place, value in expected.items()}
    assert found.to_dict() == pytest.approx(doubled, abs=1e-9)


def test_triangles_trusses_and_clustering(graph):
    A = adjacency(graph)
    assert algorithms.triangle_count(A) == sum(nx.triangles(graph).values()) // 3
    assert algorithms.triangles(A).reduce_scalar().new().get(0) == 3 * algorithms.triangle_count(A)
    listed = algorithms.enumerate_triangles(A)
    assert {tuple(sorted(row)) for row in listed.tolist()} == {
        tuple(sorted(clique))
        for clique in nx.enumerate_all_cliques(nx.Graph(graph))
        if len(clique) == 3
    }
    assert len(listed) == algorithms.triangle_count(A)
    truss = {tuple(sorted(edge)) for edge in algorithms.k_truss(A, 4)}
    assert truss == {tuple(sorted(edge)) for edge in nx.k_truss(graph, 4).edges()}
    expected = {v: c for v, c in nx.clustering(graph).items() if graph.degree(v) > 1}
    assert algorithms.clustering(A).to_dict() == pytest.approx(expected)


def test_components_and_labels(graph):
    A = adjacency(graph)
    expected = {v: min(part) for part in nx.connected_components(graph) for v in part}
    assert algorithms.connected_components(A).to_dict() == expected
    labels = algorithms.label_propagation(A).to_dict()
    assert all(expected[v] == expected[label] for v, label in labels.items())


def test_markov_clustering_separates_components():
    graph = GRAPHS["two parts"]
    found = algorithms.markov_clustering(adjacency(graph)).to_dict()
    assert not {found[v] for v in range(5)} & {found[v] for v in range(5, 9)}


def test_independent_sets_and_colourings(graph):
    A = adjacency(graph)
    chosen = set(algorithms.independent_set(A))
    assert all(not (u in chosen and v in chosen) for u, v in graph.edges())
    assert all(v in chosen or set(graph[v]) & chosen for v in graph)
    for colour in (algorithms.colouring, algorithms.quick_colouring, algorithms.jones_plassmann):
        found = colour(A).to_dict()
        assert len(found) == graph.number_of_nodes()
        assert all(found[u] != found[v] for u, v in graph.edges())


def test_projection():
    members = gb.Matrix.from_coo([0, 0, 1, 2], [0, 1, 1, 0], True)
    assert algorithms.projection(members).to_dicts() == {0: {1: 1, 2: 1}, 1: {0: 1}, 2: {0: 1}}
    weights = gb.Matrix.from_coo([0, 0, 1, 2], [0, 1, 1, 0], [1, 2, 3, 4])
    weighted = algorithms.projection(weights, weighted=True)
    assert weighted.to_dicts() == {0: {1: 6, 2: 4}, 1: {0: 6}, 2: {0: 4}}
    among = gb.Matrix.from_coo([0], [2], True, nrows=3, ncols=3)
    assert algorithms.projection(weights, among=among).to_dicts() == {0: {2: 1}}


def library_version(name, theirs):
    """Return an algorithm's file as a module that imports python-graphblas."""
    source = (FOLDER / f"{name}.py").read_text()
    changed = source.replace("import weft.graphblas as gb", "import graphblas as gb")
    assert changed != source
    module = types.ModuleType(name)
    exec(compile(changed, name, "exec"), vars(module))
    return module


@pytest.mark.parametrize(
    ("name", "function", "args"),
    [
        ("bfs", "distances", (0,)),
        ("sssp", "distances", (0,)),
        ("parents", "bfs_parents", (0,)),
        ("ranking", "pagerank", ()),
        ("ranking", "betweenness", ([0, 3, 5],)),
        ("counting", "triangle_count", ()),
        ("counting", "k_truss", (4,)),
        ("grouping", "connected_components", ()),
        ("independent", "independent_set", ()),
        ("independent", "quick_colouring", ()),
        ("delta", "delta_stepping", (0, 2)),
        ("ranking", "adaptive_pagerank", ()),
        ("local", "approximate_pagerank", (0,)),
        ("matching", "assignment", ()),
    ],
)
def test_files_run_under_both_libraries(name, function, args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = pytest.importorskip("graphblas")
        A = adjacency(GRAPHS["karate"])
        if function == "assignment":
            A = gb.Matrix.from_dense(np.random.default_rng(1).integers(0, 9, (8, 8)))
        B = theirs.Matrix.from_coo(*A.to_coo(), nrows=A.nrows, ncols=A.ncols)
        ours = importlib.import_module(f"weft.graphblas.algorithms.{name}")
        got = getattr(ours, function)(A, *args)
        expected = getattr(library_version(name, theirs), function)(B, *args)
    if hasattr(got, "to_coo"):
        for mine, other in zip(got.to_coo(), expected.to_coo(), strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-9)
    else:
        assert got == expected


def code_lines(function):
    """Return how many lines of code a function has, without its documentation."""
    source = inspect.getsource(function)
    first = ast.parse(source).body[0].body[0]
    text = (
        range(first.lineno, first.end_lineno + 1)
        if ast.get_docstring(ast.parse(source).body[0])
        else ()
    )
    return sum(
        bool(line.strip()) and not line.strip().startswith("#") and number not in text
        for number, line in enumerate(source.splitlines(), 1)
    )


@pytest.mark.parametrize(
    ("title", "name", "thesis"),
    [
        ("breadth-first search", "bfs_levels", 25),
        ("shortest paths", "sssp", 25),
        ("PageRank", "pagerank", 27),
        ("triangles", "triangle_count", 6),
    ],
)
def test_the_table_of_lines_is_right(title, name, thesis):
    count = code_lines(getattr(algorithms, name))
    page = Path(__file__).parents[2] / "docs" / "reference" / "graphblas.md"
    assert f"| {title} | {count} | {thesis} |" in page.read_text()
    assert count < thesis
