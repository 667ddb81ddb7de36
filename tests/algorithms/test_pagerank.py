"""PageRank against NetworkX."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from graphs import AWKWARD, graphs
from networks import medium, multigraph, values_of, wide
from weft.errors import ConfigError, ConvergenceError, GraphError


def expected_rank(g, *, weighted=False, damping=0.85, personalization=None):
    weight = "weight" if weighted else None
    if personalization is not None:
        personalization = dict(enumerate(personalization))
    return values_of(
        nx.pagerank(
            multigraph(g), damping, personalization, max_iter=1000, tol=1e-13, weight=weight
        )
    )


def check(g, rank, **options):
    assert rank.shape == (g.num_vertices,)
    if g.num_vertices:
        assert abs(rank.sum() - 1) < 1e-9
        np.testing.assert_allclose(rank, expected_rank(g, **options), atol=1e-6)


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_graphs(name):
    g = AWKWARD[name]()
    check(g, weft.pagerank(g, tol=1e-8, max_iter=200))


@given(graphs(index_dtype=None, weights=None))
@settings(max_examples=40)
def test_random_graphs(g):
    check(g, weft.pagerank(g, tol=1e-8, max_iter=200))


@given(graphs(index_dtype=None, weights="int", directed=True))
@settings(max_examples=30)
def test_weights(g):
    check(g, weft.pagerank(g, tol=1e-8, max_iter=200, weighted=True), weighted=True)


def test_weights_of_undirected_edges_count_both_ways():
    g = AWKWARD["parallel edges undirected"]()
    check(g, weft.pagerank(g, weighted=True), weighted=True)


def test_weighted_without_weights_is_plain():
    g = AWKWARD["two cliques"]()
    np.testing.assert_allclose(weft.pagerank(g, weighted=True), weft.pagerank(g), rtol=1e-12)


@given(st.data())
@settings(max_examples=30)
def test_personalization(data):
    g = data.draw(graphs(min_vertices=1, index_dtype=None, weights=None, directed=True))
    n = g.num_vertices
    values = data.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n).filter(sum))
    rank = weft.pagerank(g, tol=1e-8, max_iter=200, personalization=values)
    check(g, rank, personalization=values)


def test_personalization_by_dictionary():
    g = AWKWARD["social"]()
    values = np.zeros(g.num_vertices)
    values[[3, 7]] = 1, 2
    by_name = weft.pagerank(g, personalization={3: 0.5, 7: 1.0})
    np.testing.assert_array_equal(by_name, weft.pagerank(g, personalization=values))


@pytest.mark.parametrize(
    ("names", "missing"),
    [
        (["Ada", "Bob", "Eve"], "Mallory"),
        ([10, 20, 30], 1),  # numbers that are labels are no vertex numbers
        ([("x", 1), ("x", 2), ("y", 1)], ("y", 2)),
    ],
    ids=["strings", "integers", "tuples"],
)
def test_a_personalization_by_label(names, missing):
    a, _, c = names
    g = weft.Graph.from_edges([0, 1, 1], [1, 2, 0], labels=names)
    by_number = weft.Graph.from_edges([0, 1, 1], [1, 2, 0])
    for options in ({}, {"adaptive": True}):
        found = weft.pagerank(g, personalization={c: 3, a: 1.0}, **options)
        want = weft.pagerank(by_number, personalization=[0.25, 0, 0.75], **options)
        np.testing.assert_array_equal(found, want)
    with pytest.raises(GraphError, match="personalization names the vertex"):
        weft.pagerank(g, personalization={missing: 1.0})


def test_a_personalization_names_each_vertex_once():
    g = weft.Graph.from_edges(["Ada", "Bob"], ["Bob", "Ada"])
    with pytest.raises(GraphError, match="names vertex 0 twice: as 'Ada' and as 0"):
        weft.pagerank(g, personalization={"Ada": 1.0, 0: 1.0})


@pytest.mark.parametrize("damping", [0.0, 0.5, 0.99])
def test_damping(damping):
    g = AWKWARD["disconnected"]()
    check(g, weft.pagerank(g, damping, tol=1e-9, max_iter=3000), damping=damping)


@pytest.mark.parametrize("directed", [False, True])
def test_several_threads(directed):
    g = medium(directed)
    check(g, weft.pagerank(g, config=weft.Config(threads=3)))


def test_deterministic():
    g = medium(True)
    runs = [weft.pagerank(g, config=weft.Config(deterministic=True, threads=t)) for t in (1, 2, 4)]
    check(g, runs[0])
    for run in runs[1:]:
        np.testing.assert_array_equal(run, runs[0])


def test_float32():
    g = medium(True)
    rank = weft.pagerank(g, dtype=np.float32)
    assert rank.dtype == np.float32
    assert abs(rank.sum(dtype=np.float64) - 1) < 1e-5
    np.testing.assert_allclose(rank, expected_rank(g), atol=1e-6)


def test_wide_ids():
    g = wide(AWKWARD["social"]())
    check(g, weft.pagerank(g))


@pytest.mark.parametrize("options", [{}, {"adaptive": True}, {"personalization": np.ones((0, 2))}])
def test_a_graph_without_vertices_has_nothing_to_converge(options):
    assert len(weft.pagerank(weft.Graph.from_edges([], []), **options)) == 0


# Whether the graph is directed, weights near the ends of float64, and others in the same ratios.
EXTREMES = {
    "large": (True, [3e307, 1.5e308, 1e308, 1e308], [1, 5, 1, 1]),
    "small": (True, [5e-324, 1e-323, 5e-324, 1e-323], [1, 2, 1, 1]),
    "both": (True, [3e307, 1.5e308, 5e-324, 2.0], [1, 5, 1, 1]),
    "large undirected": (False, [1e308, 1.5e308, 0.5e308, 1e308], [2, 3, 1, 2]),
    "small undirected": (False, [1e-323, 5e-324, 5e-324, 1.5e-323], [2, 1, 1, 3]),
}
FORMS = {
    "plain": {},
    "float32": {"dtype": "float32", "tol": 1e-6},
    "adaptive": {"adaptive": True},
    "several": {"personalization": [[1, 0], [1, 3], [1, 1]]},
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", EXTREMES)
def test_strengths_beyond_floats(name, form):
    directed, extreme, tame = EXTREMES[name]
    options = {"weighted": True, "tol": 1e-10, "max_iter": 500} | FORMS[form]
    found, expected = (
        weft.pagerank(
            weft.Graph.from_edges([0, 0, 1, 2], [1, 2, 2, 0], w, directed=directed), **options
        )
        for w in (extreme, tame)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-5 if form == "float32" else 1e-8)
    np.testing.assert_allclose(found.sum(axis=0), 1, rtol=1e-5)


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("unit", [8e307, 5e-324])
def test_personalization_whose_sum_is_no_float(unit, several):
    g = AWKWARD["social"]()
    parts = np.arange(g.num_vertices) % 3.0
    parts = np.stack([parts, 2 - parts], axis=1) if several else parts
    found, expected = (weft.pagerank(g, personalization=x) for x in (parts * unit, parts))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_not_converged():
    g = AWKWARD["social"]()
    with pytest.raises(
        ConvergenceError, match=r"the error is .* after 3 iterations.*tol=1e-06; raise max_iter"
    ):
        weft.pagerank(g, max_iter=3)
    rank = weft.pagerank(g, max_iter=3, on_unconverged="return")
    assert abs(rank.sum() - 1) < 1e-9


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"damping": 1.5}, ConfigError, r"damping=1.5 is not a probability"),
        ({"damping": "x"}, ConfigError, r"damping='x' is not a probability"),
        ({"tol": "x"}, ConfigError, r"tol='x' is not a tolerance"),
        ({"personalization": "abc"}, GraphError, r"dtype <U3. Expected numbers"),
        ({"tol": -1}, ConfigError, r"tol=-1 is not a tolerance"),
        ({"tol": np.nan}, ConfigError, r"tol=nan is not a tolerance"),
        ({"max_iter": -2}, ConfigError, r"max_iter=-2"),
        ({"dtype": np.int32}, ConfigError, r"cannot hold ranks. Expected float64 or float32"),
        ({"on_unconverged": "rise"}, ConfigError, r"Did you mean 'raise'"),
        ({"personalization": [1, 2]}, GraphError, r"shape \(2,\). Expected \(6,\)"),
        ({"personalization": [0] * 6}, GraphError, r"somewhere positive"),
        ({"personalization": [1, 1, 1, 1, 1, -1]}, GraphError, r"smallest value is -1"),
        ({"personalization": {9: 1}}, GraphError, r"names the vertex 9.*Expected 0 to"),
        ({"personalization": {True: 1}}, GraphError, r"names the vertex True.*Expected integers"),
        ({"personalization": {0: "much"}}, GraphError, r"value 'much' for 0. Expected a number"),
        ({"personalization": {0: 10**400}}, GraphError, r"value 10+\.\.\.0+ for 0. Expected a num"),
        ({"weighted": True}, GraphError, r"the weight of edge 2 \(1 -> 3\) is -2.0. Expected fin"),
    ],
)
def test_errors(options, error, message):
    with pytest.raises(error, match=message):
        weft.pagerank(AWKWARD["weights negative"](), **options)


# -- rankings of several homes, and adaptive ones


@pytest.mark.parametrize("name", AWKWARD)
def test_adaptive_on_awkward_graphs(name):
    g = AWKWARD[name]()
    check(g, weft.pagerank(g, tol=1e-8, max_iter=300, adaptive=True))


@given(graphs(index_dtype=None, weights="int", directed=True, min_vertices=1), st.integers(0, 99))
@settings(max_examples=20)
def test_adaptive_with_weights_and_a_home(g, seed):
    home = np.random.default_rng(seed).integers(0, 3, g.num_vertices) + (
        np.arange(g.num_vertices) == seed % g.num_vertices
    )
    options = {"weighted": True, "personalization": home}
    rank = weft.pagerank(g, tol=1e-8, max_iter=300, adaptive=True, **options)
    check(g, rank, **options)


def test_settled_vertices_leave():
    """Rank runs down a path from vertex 0 alone: a vertex is active once, then never again."""
    g = weft.generators.path(400, directed=True)
    with weft.profile() as record:
        rank = weft.pagerank(g, personalization={0: 1}, adaptive=True)
    home = np.arange(400) == 0
    np.testing.assert_allclose(rank, expected_rank(g, personalization=home), atol=1e-5)
    edges = sum(step.edges for step in record.records)
    assert 50 < edges < 400


@pytest.mark.parametrize("k", [1, 3])
def test_many_homes_at_once(k):
    g = medium(directed=True)
    homes = np.random.default_rng(k).random((g.num_vertices, k)) ** 8
    found = weft.pagerank(g, tol=1e-8, max_iter=200, personalization=homes)
    assert found.shape == homes.shape
    for column in range(k):
        alone = weft.pagerank(g, tol=1e-8, max_iter=200, personalization=homes[:, column])
        np.testing.assert_allclose(found[:, column], alone, atol=1e-7)


def test_many_weighted_homes_in_float32_on_a_device():
    g = AWKWARD["weights of int64 ids"]()
    homes = np.eye(g.num_vertices, 2)
    options = {"weighted": True, "personalization": homes, "dtype": "float32"}
    found = weft.pagerank(g.to("emulated"), **options)
    assert found.dtype == np.float32
    for column in range(2):
        want = expected_rank(g, weighted=True, personalization=homes[:, column])
        np.testing.assert_allclose(found[:, column], want, atol=1e-5)


def test_adaptive_on_the_emulated_device():
    g = AWKWARD["social"]()
    found = weft.pagerank(g.to("emulated"), adaptive=True)
    np.testing.assert_allclose(found, expected_rank(g), atol=1e-5)


def test_errors_of_several_and_adaptive():
    g = weft.generators.path(4)
    with pytest.raises(ConfigError, match="exclude each other"):
        weft.pagerank(g, personalization=np.ones((4, 2)), adaptive=True)
    with pytest.raises(ConfigError, match="damping=1 never jumps"):
        weft.pagerank(g, 1.0, adaptive=True)
    with pytest.raises(GraphError, match=r"shape \(3, 2\). Expected \(4, k\)"):
        weft.pagerank(g, personalization=np.ones((3, 2)))
    with pytest.raises(GraphError, match="every column"):
        weft.pagerank(g, personalization=np.eye(4, 2) - [0, 1])
    with pytest.raises(ConvergenceError, match="after 1 iterations"):
        weft.pagerank(g, max_iter=1, adaptive=True)
    with pytest.raises(ConfigError, match="max_iter=-2"):
        weft.pagerank(g, max_iter=-2, adaptive=True)
    unmoved = weft.pagerank(g, max_iter=0, adaptive=True, on_unconverged="return")
    np.testing.assert_allclose(unmoved, np.full(4, 0.25))
