"""Sums of many float32 values keep their precision (rule 32)."""

import numpy as np
import pytest

import weft
from agreement import agreed, on_device

MANY = 2_000_000
TENTH = np.float32(0.1)
CONFIGS = {
    "default": weft.Config(),
    "one thread": weft.Config(threads=1),
    "deterministic": weft.Config(deterministic=True),
}


@weft.vertex
def total(v):
    weft.reduce("total", v.x, weft.sum)
    weft.reduce("product", v.factor, weft.prod)
    v.changed = False


@weft.edge(into="sum", reduce=weft.sum)
def send(u, v, e):
    weft.reduce("total", u.x, weft.sum)
    return u.x


def scalars(**fields):
    zero = weft.scalar(np.float32(0))
    return fields | {"total": zero, "product": zero}


@pytest.fixture(scope="module")
def star():
    """Every vertex but the first has an edge to the first."""
    return weft.Graph.from_edges(np.arange(1, MANY + 1), np.zeros(MANY, np.int64))


@pytest.mark.parametrize("name", CONFIGS)
def test_scalars_of_millions_of_values(star, name):
    x = weft.full(TENTH, np.float32)
    factor = weft.full(np.float32(1.00001), np.float32)
    state = star.state(**scalars(x=x, factor=factor))
    star.run(total, state, config=CONFIGS[name])
    assert state.total.dtype == np.float32
    n = star.num_vertices
    np.testing.assert_allclose(state.total, float(TENTH) * n, rtol=1e-6)
    np.testing.assert_allclose(state.product, float(np.float32(1.00001)) ** n, rtol=1e-6)


@pytest.mark.parametrize("direction", ["push", "pull"])
def test_messages_of_millions_of_neighbours(star, direction):
    nothing = weft.full(0, np.float32)
    state = star.state(**scalars(x=weft.full(TENTH, np.float32), sum=nothing))
    star.run(send, state, config=weft.Config(direction=direction))
    expected = float(TENTH) * MANY
    np.testing.assert_allclose(state.total, expected, rtol=1e-6)
    # A pull adds the sums of 256 slots each.
    np.testing.assert_allclose(state.sum[0], expected, rtol=1e-6 if direction == "push" else 1e-4)


@pytest.mark.parametrize("device", ["cpu", "emulated"])
def test_ones_are_not_lost_beside_a_large_value(device):
    """Added to 2**24 in float32, a 1 has no effect, in whatever order the values come."""
    x = np.ones(600, np.float32)
    x[::3] = 2.0**24
    exact = x.sum(dtype=np.float64)
    g = weft.Graph.from_edges([0], [1], num_vertices=x.size)
    fields = scalars(x=x, factor=np.ones(x.size, np.float32))
    with on_device(device):
        result = agreed(g, total, fields, configs=list(CONFIGS.values()))
    assert result.total == np.float32(exact)
