"""The Active-Compute-Combine model: its programs against NetworkX and SciPy, and its rules."""

import inspect

import networkx as nx
import numpy as np
import pytest
import scipy.sparse.csgraph as csgraph
from hypothesis import given, settings

import weft
from graphs import AWKWARD, graphs
from networks import medium, multigraph, simple_graph, values_of
from weft.errors import ConfigError, FieldError, GraphError, TraceError

FAST = settings(max_examples=25)


def check_bfs(g, source, **options):
    levels = nx.single_source_shortest_path_length(multigraph(g), source)
    expected = [levels.get(v, -1) for v in range(g.num_vertices)]
    assert weft.acc.bfs(g, source, **options).tolist() == expected


def check_sssp(g, source, **options):
    dist = weft.acc.sssp(g, source, **options)
    expected = np.full(g.num_vertices, np.inf)
    for v, length in nx.single_source_dijkstra_path_length(multigraph(g), source).items():
        expected[v] = length
    np.testing.assert_allclose(dist, expected, rtol=1e-12)


def check_components(g, **options):
    label = weft.acc.components(g, **options)
    if g.num_vertices:
        _, other = csgraph.connected_components(g.to_scipy(), directed=True, connection="weak")
        least = np.full(g.num_vertices, g.num_vertices)
        np.minimum.at(least, other, np.arange(g.num_vertices))
        np.testing.assert_array_equal(label, least[other])


def check_k_core(g, k, **options):
    inside = set(nx.k_core(simple_graph(g), k)) if g.num_vertices else set()
    got = weft.acc.k_core(g, k, **options)
    assert got.dtype == bool and set(np.flatnonzero(got).tolist()) == inside


def check_pagerank(g, **options):
    rank = weft.acc.pagerank(g, **options)
    if g.num_vertices:
        unweighted = multigraph(g)
        expected = nx.pagerank(unweighted, tol=1e-13, max_iter=2000, weight=None)
        np.testing.assert_allclose(rank, values_of(expected), atol=1e-8)
        assert rank.sum() == pytest.approx(1)


def check_strong_components(g, **options):
    got = weft.acc.strong_components(g, **options)
    expected = np.empty(g.num_vertices, np.int64)
    for members in nx.strongly_connected_components(nx.DiGraph(multigraph(g))):
        expected[list(members)] = min(members)
    assert got.tolist() == expected.tolist()


def beliefs_of(g, priors, potential, supersteps):
    """Pass beliefs on in plain NumPy, in logarithms."""
    src, dst = g.topology.endpoints()
    log = np.log(priors)
    for _ in range(supersteps):
        sent = np.exp(log - log.max(axis=1, keepdims=True, initial=-np.inf))
        log = np.log(priors)
        np.add.at(log, dst, np.log(sent[src] @ potential))
    odds = np.exp(log - log.max(axis=1, keepdims=True, initial=-np.inf))
    return odds / odds.sum(axis=1, keepdims=True)


def check_beliefs(g, supersteps=4, **options):
    priors = np.random.default_rng(5).random((g.num_vertices, 3)) + 0.1
    potential = np.array([[2.0, 1.0, 0.5], [0.5, 3.0, 1.0], [1.0, 1.0, 1.0]])
    got = weft.acc.belief_propagation(g, priors, potential, tol=0.0, max_iter=supersteps, **options)
    expected = beliefs_of(g, priors, potential, supersteps)
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)


def non_negative(g):
    return not g.weighted or bool(np.all(g.edge["weight"] >= 0))


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_graphs(name):
    g = AWKWARD[name]()
    for source in {0, g.num_vertices // 2} if g.num_vertices else ():
        check_bfs(g, source)
        if non_negative(g):
            check_sssp(g, source)
    check_components(g)
    check_pagerank(g)
    for k in (0, 1, 2, 3):
        check_k_core(g, k)
    check_strong_components(g.to("reference"))
    check_beliefs(g.to("reference"))


def test_components_of_long_paths_and_nested_rings():
    down = weft.Graph.from_edges(range(1, 200), range(199))
    check_strong_components(down)
    ring = np.arange(60)
    src = np.concatenate([ring, ring + 60, [3, 90]])
    dst = np.concatenate([(ring + 1) % 60, (ring + 1) % 60 + 60, [70, 119]])
    check_strong_components(weft.Graph.from_edges(src, dst))


def test_beliefs_settle_and_bad_ones_are_refused():
    g = weft.generators.path(40)
    priors, potential = np.ones((40, 2)), np.array([[3.0, 1.0], [1.0, 3.0]])
    priors[0] = 5, 1
    settled = weft.acc.belief_propagation(g, priors, potential, tol=1e-9, max_iter=1000)
    again = weft.acc.belief_propagation(g, priors, potential, tol=0.0, max_iter=1000)
    np.testing.assert_allclose(settled, again, atol=1e-6)
    with pytest.raises(GraphError, match=r"shape \(39, 2\)"):
        weft.acc.belief_propagation(g, priors[1:], potential)
    with pytest.raises(ConfigError, match=r"Expected \(2, 2\)"):
        weft.acc.belief_propagation(g, priors, np.ones((3, 3)))
    with pytest.raises(GraphError, match="positive"):
        weft.acc.belief_propagation(g, priors * 0, potential)
    with pytest.raises(ConfigError, match="positive"):
        weft.acc.belief_propagation(g, priors, -potential)


@given(graphs(index_dtype=None, weights="int", min_vertices=1))
@FAST
def test_random_graphs(g):
    check_bfs(g, 0)
    check_sssp(g, 0)
    check_components(g)
    check_pagerank(g)
    check_k_core(g, 2)
    check_strong_components(g)
    check_beliefs(g)


@pytest.mark.parametrize("direction", ["auto", "push", "pull"])
def test_directions_on_several_threads(direction):
    g = medium(True, "int")
    config = weft.Config(direction=direction, threads=2)
    check_bfs(g, 3, config=config)
    check_components(g, config=config)
    check_pagerank(g, config=config)
    check_k_core(g, 6, config=config)
    if direction != "pull":
        check_sssp(g, 3, config=config)


@pytest.mark.parametrize("keep", ["out", "in"])
def test_pagerank_with_one_direction_kept(keep):
    src, dst, _ = AWKWARD["social"]().to_edges()
    check_pagerank(weft.Graph.from_edges(src, dst, keep=keep))


def test_ordering_does_not_change_distances():
    g = AWKWARD["road"]()
    for ordering in (True, False):
        check_sssp(g, 0, config=weft.Config(ordering=ordering))


def test_pagerank_pulls_first_and_pushes_once_most_vertices_are_stable():
    g = medium(True)
    with weft.profile() as p:
        weft.acc.pagerank(g)
    ways = [record.direction for record in p.records if record.direction != "vertex"]
    assert ways[0] == "pull" and ways[-1] == "push"
    assert ways == sorted(ways)  # pull comes before push


@pytest.mark.parametrize("damping", [1.0, -0.1, "x"])
def test_pagerank_without_jumps_is_refused(damping):
    with pytest.raises(ConfigError, match=r"damping=.* Expected 0 to less than 1"):
        weft.acc.pagerank(AWKWARD["social"](), damping)


def test_programs_are_short():
    for name in ("bfs", "sssp", "components", "k_core", "pagerank"):
        module = inspect.getmodule(getattr(weft.acc, name))
        lines = inspect.getsource(module).split('"""', 2)[2].strip().splitlines()
        code = [line for line in lines if line.strip() and not line.startswith(("from", "import"))]
        assert len(code) < 30, name


# -- the model

PATH = weft.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 4], num_vertices=6)


def test_active_sees_fields_the_id_and_the_vertex_before():
    program = weft.acc.Program(
        fields={"x": lambda v: v.id + 1, "limit": weft.scalar(9)},
        compute=lambda u, v, e: u.x,
        combine=weft.sum,
        into="x",
        active=lambda v, limit: (v.x - v.old.x > 1) & (v.id != 3) & (v.x < limit),
    )
    result = program.run(PATH)
    assert result.state.x.tolist() == [1, 3, 5, 12, 9, 6]
    assert result.converged and result.steps == 2
    assert program.run(PATH, limit=4).state.x.tolist() == [1, 3, 5, 7, 9, 6]


def test_init_assigns_fields_and_chooses_the_first_frontier():
    program = weft.acc.Program(
        fields={"x": weft.full(0), "start": weft.scalar(0)},
        init=start_at,
        compute=lambda u, v, e: u.x,
        combine=weft.max,
        into="x",
    )
    assert program.run(PATH, start=2).state.x.tolist() == [-1, -2, 7, 7, 7, -6]
    assert program.run(PATH, [0], start=2).state.x.tolist() == [-1, -1, 7, -4, -5, -6]


def start_at(v, start):
    v.x = weft.where(v.id == start, 7, -1 - v.id)
    return v.id == start


def test_init_that_returns_nothing_starts_everywhere():
    def init(v):
        v.x = v.id

    program = weft.acc.Program(
        fields={"x": weft.full(0)}, init=init, compute=lambda u, v, e: u.x, combine="vote", into="x"
    )
    assert program.run(PATH, max_iter=1).state.x.tolist() == [0, 0, 1, 2, 3, 5]


def test_several_fields_and_monoids():
    program = weft.acc.Program(
        fields={"low": lambda v: v.id, "count": weft.full(0)},
        compute=lambda u, v, e: (u.low, 1),
        combine=(weft.min, weft.sum),
        into=("low", "count"),
        active=lambda v: v.low < v.old.low,
    )
    result = program.run(PATH).state
    assert result.low.tolist() == [0, 0, 0, 0, 0, 5]
    assert result.count.tolist() == [0, 1, 2, 3, 4, 0]


def test_max_iter_counts_both_directions():
    g = weft.generators.cycle(20)
    program = weft.acc.Program(
        fields={"seen": lambda v: v.id == 0}, compute=lambda u, v, e: u.seen, combine=weft.or_,
        into="seen", push_below=0.5,
    )  # fmt: skip
    result = program.run(g, max_iter=4)
    assert (result.steps, result.converged, result.state.seen.sum()) == (4, False, 9)


@pytest.mark.parametrize("share", [0.5, 1])
def test_all_senders_with_a_share_to_push_below(share):
    program = weft.acc.Program(
        fields={"low": lambda v: v.id}, compute=lambda u, v, e: u.low, combine=weft.min,
        into="low", senders="all", push_below=share,
    )  # fmt: skip
    result = program.run(weft.generators.cycle(9))
    assert result.converged and result.state.low.tolist() == [0] * 9


def test_what_does_not_fit_is_refused():
    make = {"fields": {"x": weft.full(0)}, "compute": lambda u, v, e: u.x, "into": "x"}
    with pytest.raises(TraceError, match=r"combine='any' is not known.*'vote'.*monoid"):
        weft.acc.Program(**make, combine="any")
    with pytest.raises(TraceError, match="senders='some'"):
        weft.acc.Program(**make, combine="vote", senders="some")
    with pytest.raises(ConfigError, match="push_below=2"):
        weft.acc.Program(**make, combine="vote", push_below=2)
    with pytest.raises(FieldError, match="field='y' is not known"):
        weft.acc.Program(**make, combine="vote").run(PATH, y=3)
    with pytest.raises(TraceError, match=r"tol.*not a scalar"):
        weft.acc.Program(**make, combine="vote", active=lambda v, tol: v.x > tol).run(PATH)
    with pytest.raises(GraphError, match="source=9"):
        weft.acc.bfs(PATH, 9)
    with pytest.raises(GraphError, match="negative"):
        weft.acc.sssp(AWKWARD["weights negative"](), 0)
    with pytest.raises(ConfigError, match=r"k=2\.5"):
        weft.acc.k_core(PATH, 2.5)


def test_steps_can_be_explained():
    g = weft.generators.path(4)
    program = weft.acc.Program(
        fields={}, compute=lambda u, v, e: u.x + 1, combine=weft.min, into="x"
    )
    told = weft.explain(program.steps, g, g.state(x=np.arange(4)))
    assert "edge compute into x by min" in told.ir
    assert "compute" in repr(program)
