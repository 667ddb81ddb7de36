"""Programs over several graphs: as one graph where all are the same, as NumPy says where not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from graphs import edge_lists
from weft.errors import ConfigError, GraphError, TraceError


@weft.edge(into="level", reduce=weft.any, accept=lambda v: v.level < 0)
def discover(u, v, e):
    return u.level + 1


@weft.edge(into="dist", reduce=weft.min)
def relax(u, v, e):
    return u.dist + e.weight


@weft.vertex(on="all")
def smooth(v):
    new = 0.15 + 0.85 * v.gather(lambda u, e: u.rank / u.out_degree, weft.sum)
    weft.reduce("error", abs(new - v.rank), weft.sum)
    v.rank = new


@weft.edge
def mark(u, v, e):
    e.seen = e.seen + u.level


PROGRAMS = {
    "a search": ([discover], {"level": weft.full(-1).but(0, 0)}, [0], {}),
    "two searches": ([discover, discover], {"level": weft.full(-1).but(0, 0)}, [0], {}),
    "paths": ([relax], {"dist": weft.full(np.inf).but(0, 0.0)}, [0], {"max_iter": 3}),
    "ranks": (
        [smooth], {"rank": weft.full(1.0), "error": weft.scalar(0.0)}, None,
        {"until": lambda error: error < 1e-3},
    ),
    "ranks a few times": (
        [smooth, smooth], {"rank": weft.full(1.0), "error": weft.scalar(0.0)}, None,
        {"max_iter": 4},
    ),
    "nothing": ([discover], {"level": weft.full(-1)}, [], {}),
    "nothing yet": (
        [discover], {"level": weft.full(-1), "error": weft.scalar(1.0)}, [],
        {"until": lambda error: error > 0},
    ),
}  # fmt: skip


@pytest.mark.parametrize("device", ["cpu", "emulated"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_graph_by_another_name_changes_nothing(name, device):
    functions, fields, frontier, options = PROGRAMS[name]
    g = weft.generators.rmat(6, 5, seed=4, directed=True, weights="int").to(device)
    again = weft.Graph(g.topology, edge={"weight": g.edge["weight"]})
    config = weft.Config(direction="push" if name == "paths" else "auto")
    one, two = g.state(**fields), g.state(**fields)
    want = g.iterate(functions, one, frontier, config=config, **options)
    first, *rest = functions
    over = [weft.over("again", first), *rest]
    got = g.iterate(over, two, frontier, graphs={"again": again}, config=config, **options)
    for field in one.fields:
        np.testing.assert_array_equal(two.fields[field], one.fields[field], field)
    assert (got.converged, got.scalars) == (want.converged, want.scalars)
    if name != "paths":  # which may relax in place
        assert got.steps == want.steps and got.frontier.tolist() == want.frontier.tolist()


@given(
    one=edge_lists(directed=True, weights=None, min_vertices=4, max_vertices=4),
    two=edge_lists(directed=True, weights=None, min_vertices=4, max_vertices=4),
    source=st.integers(0, 3),
)
@settings(max_examples=25, derandomize=True, deadline=None)
def test_functions_take_turns_over_two_graphs(one, two, source):
    graphs = [edges.build() for edges in (one, two)]
    state = graphs[0].state(level=weft.full(-1).but(source, 0))
    steps = [discover, weft.over("two", discover)]
    run = graphs[0].iterate(steps, state, [source], graphs={"two": graphs[1]})
    level, reached, count = {source: 0}, {source}, 0
    while reached:
        for edges in (one, two):
            ends = {v for u, v in zip(edges.src.tolist(), edges.dst.tolist(), strict=True)
                    if u in reached}  # fmt: skip
            depth = {level[u] for u in reached}
            reached = ends - level.keys()
            level |= dict.fromkeys(reached, max(depth, default=0) + 1)
        count += 1
    assert state.level.tolist() == [level.get(v, -1) for v in range(4)]
    assert run.steps == count and run.converged


def test_degrees_columns_and_edge_state_are_those_of_the_graph():
    g = weft.Graph.from_edges([0, 0, 1], [1, 2, 3], [1.0, 1.0, 1.0], num_vertices=4)
    t = weft.Graph.from_edges([0, 3], [3, 2], [10.0, 20.0], num_vertices=4)
    state = g.state(dist=weft.full(np.inf).but(0, 0.0), level=np.arange(4))
    changed = g.run([weft.over("t", relax), relax], state, [0], graphs={"t": t})
    assert state.dist.tolist() == [0, np.inf, np.inf, 10] and changed.tolist() == []
    held = {"t": t.edge_state(seen=weft.full(0)), None: g.edge_state(seen=weft.full(0))}
    g.run([mark, weft.over("t", mark)], state, graphs={"t": t}, edge_state=held)
    assert held[None].seen.tolist() == [0, 0, 1]

    @weft.vertex
    def degrees(v):
        v.level = v.out_degree * 10 + v.in_degree

    g.run(weft.over("t", degrees), state, graphs={"t": t})
    assert state.level.tolist() == [10, 0, 1, 11]


def test_what_cannot_be_run_over_several_graphs():
    g, t = weft.generators.path(4), weft.generators.path(5)
    state, over = g.state(level=weft.full(-1)), weft.over("t", discover)
    with pytest.raises(GraphError, match=r"has 5 vertices, but .* has 4"):
        g.run(over, state, graphs={"t": t})
    with pytest.raises(ConfigError, match=r"Did you mean 'tt'\?"):
        g.run(over, state, graphs={"tt": g})
    with pytest.raises(ConfigError, match=r"'trail' cannot be combined with graphs="):
        g.iterate(over, state, graphs={"t": g}, trail=True)
    with pytest.raises(GraphError, match=r"on emulated, but"):
        g.run(over, state, graphs={"t": g.to("emulated")})
    with pytest.raises(TraceError, match=r"it needs graphs={'t': \.\.\.}"):
        g.run(over, state)
    with pytest.raises(TraceError, match="takes the name of a graph"):
        weft.over(discover, "t")
    counts = weft.edge(lambda u, v, e: weft.superstep(), into="level", reduce=weft.max)
    with pytest.raises(ConfigError, match=r"asks for weft\.superstep"):
        g.iterate(weft.over("t", counts), state, graphs={"t": g})
    wakes = weft.vertex(
        lambda v: setattr(v, "level", v.gather(lambda u, e: u.level, weft.max)), wake="neighbors"
    )
    with pytest.raises(ConfigError, match="wakes the neighbors"):
        g.iterate(weft.over("t", wakes), state, graphs={"t": g})
