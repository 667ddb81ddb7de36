"""Loops that end early, or go on with an empty frontier, by every way of running them."""

import numpy as np
import pytest

import weft
from agreement import emulated, interpreted
from contract.test_endings import Y, check, fields, increment_all, pass_on
from contract.test_ordering import HOME, NEAREST, ROADS, UNREACHED, approach, in_pieces, relax
from oracle import assert_same

G = weft.Graph.from_edges(
    [0, 0, 1, 1, 2, 2, 3, 4], [1, 2, 2, 2, 2, 3, 0, 3], num_vertices=6
)  # fmt: skip
WAYS = [
    pytest.param({"fuse": "direction"}, marks=pytest.mark.slow),
    pytest.param({"fuse": "none"}, marks=pytest.mark.slow),
    {"ordering": "buckets", "delta": 0.5},
    {"schedule": "twc"},  # which takes queues by degree
    {"schedule": "edge", "frontier_in": "bytemap"},
    {"schedule": "row", "format": "tigr"},
    {"reorder": "degree"},
]


@pytest.mark.parametrize("fuse", ["all", "direction", "none"])
def test_every_way_of_fusing_goes_on_with_nobody(fuse):
    steps = [pass_on, increment_all, check]
    for until, most in ((lambda top: top >= 9, None), (lambda top: top < 0, 6)):
        options = {"until": until, "max_iter": most, "trail": True}
        want = interpreted(G, steps, fields(x=Y), [0], mode="iterate", **options)
        got = emulated(G, steps, fields(x=Y), [0], choices={"fuse": fuse}, **options)
        assert_same(got, want)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_ordered_runs_in_pieces(way):
    g, config = ROADS.to("emulated"), weft.Config(**way)
    state = g.state(dist=UNREACHED)
    in_pieces(g, relax, state, 4, config)
    np.testing.assert_array_equal(state.dist, NEAREST)
    state = g.state(
        dist=UNREACHED, ahead=weft.full(0.0), target=weft.scalar(-1), found=weft.scalar(False),
        arcs=weft.scalar(0),
    )  # fmt: skip
    run = g.iterate(approach, state, [HOME], until=lambda arcs: arcs > 60, config=config)
    assert run.converged and run.scalars["arcs"] > 60
    assert g.iterate(relax, state, run.frontier, config=config).converged
    np.testing.assert_array_equal(state.dist, NEAREST)
