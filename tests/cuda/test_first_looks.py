"""Looks at the neighbor of highest degree first, on the device."""

import numpy as np
import pytest

import weft
from graphs import AWKWARD

pytestmark = pytest.mark.cuda
CONFIG = weft.Config(best_neighbor=True)


def check(g, oracle, host, device, source=0):
    there = g.to(device)
    oracle("bfs").check(g, source, host(weft.bfs(there, source, config=CONFIG)))
    if not g.directed:
        found = host(weft.connected_components(there, config=CONFIG))
        oracle("connected_components").check(g, found)


@pytest.mark.parametrize("name", [name for name in AWKWARD if AWKWARD[name]().num_vertices])
def test_awkward_graphs(device, host, oracle, name):
    check(AWKWARD[name](), oracle, host, device)


@pytest.mark.parametrize("directed", [False, True])
def test_large_graphs(device, host, oracle, sized, directed):
    g = weft.generators.rmat(sized(17, 8), 16, seed=4, directed=directed)
    for source in (int(np.argmax(g.out_degree)), int(np.flatnonzero(g.out_degree)[0])):
        check(g, oracle, host, device, source)
