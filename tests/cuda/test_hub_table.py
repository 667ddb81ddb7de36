"""Gathers that read hubs from a table of each block, on the device."""

import numpy as np
import pytest

import weft
from graphs import AWKWARD

pytestmark = pytest.mark.cuda
CONFIG = weft.Config(hub_table=True)


@pytest.mark.parametrize("name", [name for name in AWKWARD if AWKWARD[name]().num_vertices])
def test_awkward_graphs(device, host, oracle, name):
    g = AWKWARD[name]()
    oracle("pagerank").check(g, host(weft.pagerank(g.to(device), config=CONFIG)))


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_more_vertices_than_a_table_holds(device, host, sized, directed, dtype):
    g = weft.generators.rmat(sized(18, 8), 16, seed=4, directed=directed)
    options = {"dtype": dtype, "tol": 0, "max_iter": 20, "on_unconverged": "return"}
    found = host(weft.pagerank(g.to(device), config=CONFIG, **options))
    tolerance = 1e-4 if dtype == "float32" else 1e-10
    np.testing.assert_allclose(found, weft.pagerank(g, **options), rtol=tolerance)


@pytest.mark.parametrize("schedule", ["vertex", "warp", "merge", "strict", "row", "block"])
def test_schedules(device, host, sized, schedule):
    g = weft.generators.rmat(sized(16, 7), 16, seed=6, directed=True)
    config = weft.Config(hub_table=True, schedule=schedule)
    found = host(weft.pagerank(g.to(device), config=config))
    np.testing.assert_allclose(found, weft.pagerank(g), rtol=1e-9)
