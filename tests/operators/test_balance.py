"""The rule that balances small frontiers of small degree over their input."""

import pytest

import weft
from weft.operators import advance, neighbor_reduce
from weft.operators.balance import SMALL_DEGREE, SMALL_FRONTIER, balance

ROAD = weft.generators.road(80, 0.7, seed=1)
STAR = weft.generators.star(300, directed=True)  # arcs from vertex 0


@pytest.mark.parametrize(
    ("g", "members", "along", "chosen"),
    [
        (ROAD, [], "out", "vertex"),
        (ROAD, range(SMALL_FRONTIER), "out", "vertex"),
        (ROAD, range(SMALL_FRONTIER + 1), "out", "merge"),
        (ROAD, None, "out", "merge"),
        (STAR, [], "out", "vertex"),
        (STAR, [0], "out", "merge"),
        (STAR, [0], "in", "vertex"),
        (STAR, [3, 4], "out", "vertex"),
        (weft.generators.star(SMALL_DEGREE), [0], "out", "vertex"),
        (weft.generators.star(SMALL_DEGREE + 2), [0], "out", "merge"),
        (weft.Graph.from_edges([], [], num_vertices=0), [], "out", "vertex"),
    ],
)
def test_the_rule(g, members, along, chosen):
    frontier = g.frontier(None if members is None else list(members))
    assert balance(g, frontier, along) == chosen


def test_a_frontier_of_arcs_has_no_rows_to_share():
    assert balance(STAR, STAR.edge_frontier()) == "vertex"


def visit(u, v, e):
    return v.level.min(u.level + 1)


def level(u, v, e):
    return v.level


def test_a_search_of_a_road_network_switches_to_its_input():
    """From a wide frontier to narrow ones of small degree."""
    state = ROAD.state(level=weft.full(10**6).but(0, 0))
    frontier = ROAD.frontier(range(SMALL_FRONTIER + 500))
    with weft.profile() as p:
        while frontier:
            frontier = advance(ROAD, frontier, visit, state, schedule="auto")
    wide = [record.config["schedule"] for record in p.records if record.frontier > SMALL_FRONTIER]
    narrow = [r.config["schedule"] for r in p.records if r.frontier <= SMALL_FRONTIER]
    assert set(wide) == {"merge"} and set(narrow) == {"vertex"}
    want = weft.bfs(ROAD, 0).level
    assert (state.level == [10**6 if x < 0 else x for x in want]).all()


def test_reductions_look_at_the_degrees_that_they_go_along():
    for along, chosen in (("out", "merge"), ("in", "vertex")):
        state = STAR.state(level=weft.full(1), sum=weft.full(0))
        with weft.profile() as p:
            neighbor_reduce(
                STAR, [0], level, weft.sum, state, into="sum", along=along, schedule="auto"
            )
        assert p.records[0].config["schedule"] == chosen
        assert state.sum[0] == (299 if along == "out" else 0)
