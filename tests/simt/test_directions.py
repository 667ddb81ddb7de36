"""Deep searches count the edges of a frontier when they push along them; nothing else changes."""

import numpy as np
import pytest

import weft

ROAD = weft.generators.road(60, 0.7, seed=5)


@weft.edge(into="level", reduce=weft.any, accept=lambda v: v.level < 0)
def discover(u, v, e):
    return u.level + 1


def searched(device, sources, **config):
    """Return levels, and of each superstep direction, frontier and edges that were looked at."""
    g = ROAD.to(device)
    level = np.full(g.num_vertices, -1, np.int32)
    level[sources] = 0
    state = g.state(level=level)
    with weft.profile() as p:
        g.iterate(discover, state, sources, config=weft.Config(**config))
    return np.asarray(state.level), [(r.direction, r.frontier, r.edges) for r in p.records]


@pytest.mark.parametrize("count", [1, 40, 500])
@pytest.mark.parametrize("config", [{}, {"format": "tigr"}, {"schedule": "strict"}])
def test_rule_38_directions_change_inside_the_loop_whenever_edges_are_counted(count, config):
    sources = np.random.default_rng(count).permutation(ROAD.num_vertices)[:count]
    want, _ = searched("cpu", sources)
    level, told = searched("emulated", sources, **config)
    np.testing.assert_array_equal(level, want)
    # With places taken one by one, degrees are asked for at once.
    plain, plainly = searched("emulated", sources, compaction="atomic", **config)
    np.testing.assert_array_equal(plain, want)
    assert told == plainly
    pushed = [record for record in told if record[0] == "push"]
    degree = ROAD.out_degree
    for step, (direction, size, edges) in enumerate(told):
        assert size == np.count_nonzero(want == step)
        assert direction == "pull" or edges == degree[want == step].sum()
    assert (count > 1) == (len(pushed) < len(told))


def test_what_ran_before_on_a_graph_does_not_matter():
    g = weft.generators.road(40, 0.7, seed=2).to("emulated")
    weft.pagerank(g, max_iter=2, on_unconverged="return")
    state = g.state(level=np.full(g.num_vertices, -1, np.int32))
    assert "LaterDegree" in weft.explain(discover, g, state, [0]).source
