"""Orders of vertices that are computed on the device."""

import numpy as np
import pytest

import weft
from weft.config import ORDERS
from weft.topology.orders import order_of

pytestmark = pytest.mark.cuda


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("name", ORDERS)
def test_orders_are_those_of_the_host(device, host, sized, name, directed):
    for g in (
        # Sorted on the device; gorder takes long for many arcs, wherever it is asked for.
        weft.generators.rmat(
            sized(12 if name == "gorder" else 17, 6), 12, seed=3, directed=directed
        ),
        weft.generators.planted(900, 60, 20, seed=4, directed=directed),  # few arcs
        weft.Graph.from_edges([], [], num_vertices=3, directed=directed),
    ):
        got = order_of(g.to(device).topology, name)
        np.testing.assert_array_equal(host(got), order_of(g.topology, name))
