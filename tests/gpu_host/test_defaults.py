"""What defaults on a GPU are chosen by: statistics of a graph."""

import numpy as np
import pytest

import weft
from weft.backends.cuda.host.defaults import (
    HEAD,
    common_lanes,
    default_schedule,
    describe_shape,
    estimated_diameter,
    is_deep,
    shape_of,
)

MADE = weft.generators
STAR = weft.Graph.from_edges(np.zeros(999, int), np.arange(1, 1000), directed=False)


@pytest.mark.parametrize(
    ("g", "steps"),
    [
        (MADE.path(5000), 4999),
        (MADE.cycle(3000), 1500),
        (MADE.road(150, 0.8, seed=1), 300),
        (MADE.road(400, 0.7, seed=1), 1000),
        (MADE.rmat(13, 16, seed=1), 6),
        (weft.Graph.from_edges(*MADE.rmat(10, 8, seed=1).to_edges()[:2], keep="in"), 6),
        (MADE.erdos_renyi(20_000, m=60_000, seed=1), 14),
        (STAR, 2),
        (MADE.complete(60), 1),
    ],
)  # fmt: skip
def test_diameters_are_right_within_a_factor(g, steps):
    assert steps / 4 <= estimated_diameter(g.topology) <= steps * 4


@pytest.mark.parametrize("n", [0, 1, 5])
def test_graphs_without_edges_reach_nowhere(n):
    topology = weft.Graph.from_edges([], [], num_vertices=n).topology
    assert estimated_diameter(topology) == 0
    shape = shape_of(topology)
    assert shape.average == 0 and shape.skew == 1 and shape.is_even
    assert "estimated diameter 0" in describe_shape(topology)


@pytest.mark.parametrize(
    ("g", "deep"),
    [
        (MADE.path(5000), True),
        (MADE.road(150, 0.7, seed=1), True),
        (MADE.erdos_renyi(200_000, m=300_000, seed=1), False),  # short rows, but soon everywhere
        (MADE.rmat(10, 8, seed=1), False),
        (STAR, False),
        (weft.Graph.from_edges([], [], num_vertices=0), False),
    ],
)  # fmt: skip
def test_deep_graphs_have_short_rows_and_small_frontiers(g, deep):
    assert is_deep(g.topology) is deep


def test_statistics_are_found_once():
    g = MADE.road(40, 0.7, seed=2)
    first = estimated_diameter(g.topology)
    g.topology.adjacency = None  # would be asked again
    assert estimated_diameter(g.topology) == first


def test_schedules_follow_the_skew_of_degrees():
    star, road = shape_of(STAR.topology), shape_of(MADE.road(20, 0.7, seed=1).topology)
    assert star.skew > 400 and not star.is_even and road.is_even
    assert [default_schedule(star, side) for side in ("push", "pull", "gather")] == [
        "twc", "vertex", "twc",
    ]  # fmt: skip
    assert [default_schedule(road, side) for side in ("push", "pull", "gather")] == [
        "warp", "vertex", "vertex",
    ]  # fmt: skip
    assert common_lanes(road) == 2 and common_lanes(shape_of(MADE.complete(60).topology)) == 32


def test_a_first_pull_is_expected_to_look_at_the_heads_of_rows():
    """All of short rows, few of long ones; of those that messages come in by."""
    few = shape_of(weft.generators.road(30, 0.8, seed=1).topology)
    assert few.head_share == 1024
    degrees = np.array([1, 4, 40, 400, 0])
    dst = np.repeat(np.arange(5), degrees)
    g = weft.Graph.from_edges(np.arange(dst.size) % 5, dst, num_vertices=5)
    heads = np.minimum(degrees, HEAD).sum() / degrees.sum()
    assert shape_of(g.topology).head_share == round(1024 * heads)
    assert shape_of(weft.Graph.from_edges([], [], num_vertices=0).topology).head_share == 1024


def test_large_graphs_are_sampled():
    g = weft.generators.rmat(14, 16, seed=1)
    heads = np.minimum(np.asarray(g.in_degree), HEAD).sum() / g.topology.num_arcs
    assert shape_of(g.topology).head_share == pytest.approx(1024 * heads, rel=0.1)
