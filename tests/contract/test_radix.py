"""Pushed messages that are sorted by target: as interpreted, and the same bits in every run."""

import numpy as np
import pytest

import weft
from agreement import agreed, on_device
from graphs import AWKWARD
from weft.errors import ConfigError

RADIX = tuple(
    weft.Config(combine="radix", direction="push", compiled=True, threads=threads)
    for threads in (1, 3)
)


@weft.edge(into=("total", "pair"), reduce=(weft.sum, weft.max), accept=lambda v: v.id % 5 != 3)
def spread(u, v, e):
    return weft.send((u.x + e.rank, u.vec), when=u.x != 2)


@weft.edge(into=("least", "who"), reduce=weft.argmin)
def nearest(u, v, e):
    return u.total + e.rank, u.id


@weft.edge(into="count", reduce=weft.sum)
def tally(u, v, e):
    return 1


def fields(g):
    n = g.num_vertices
    return {
        "x": np.arange(n) * 7 % 11,
        "total": np.zeros(n),
        "vec": np.arange(2 * n).reshape(n, 2) * 5 % 13,
        "pair": np.zeros((n, 2), np.int64),
        "least": np.full(n, np.inf),
        "who": np.full(n, -1),
        "count": np.zeros(n, np.int64),
    }


@pytest.mark.parametrize("device", ["cpu", "emulated"])
@pytest.mark.parametrize("name", AWKWARD)
def test_sorted_messages_are_reduced_as_interpreted(name, device):
    g = AWKWARD[name]()
    some, steps = np.arange(0, g.num_vertices, 2), [spread, nearest, tally]
    with on_device(device):
        agreed(g, steps, fields(g), some, configs=RADIX, mode="iterate", max_iter=3)


@pytest.mark.parametrize("device", ["cpu", "emulated"])
@pytest.mark.parametrize("name", ["weights negative", "weights infinite"])
def test_sorted_weights_may_be_nan_or_infinite(name, device):
    g = AWKWARD[name]()
    state = {"x": np.arange(6.0), "y": np.zeros(6)}
    with on_device(device):
        agreed(g, add, state, [0, 1, 3], configs=RADIX)


@pytest.mark.parametrize("device", ["cpu", "emulated"])
def test_frontiers_of_arcs_are_sorted_too(device):
    g = weft.generators.rmat(5, 6, seed=2, directed=True, weights="int")
    with on_device(device):
        agreed(g, [spread, nearest], fields(g), g.edge_frontier([0, 5, 6, 40, 80]), configs=RADIX)


@weft.edge(into="y", reduce=weft.sum)
def add(u, v, e):
    return u.x * e.weight


@weft.edge(into="y", reduce=weft.sum, along="in")
def back(u, v, e):
    return u.x * e.weight


@pytest.mark.parametrize("device", ["cpu", "emulated"])
def test_the_bits_of_sums_are_the_same_in_every_run(device):
    g = weft.generators.rmat(7, 12, seed=1, weights="float", directed=True).to(device)
    x = np.linspace(0.1, 3.7, g.num_vertices).astype(np.float32)
    found = []
    for threads in (1, 2, 5):
        for deterministic in (False, True):
            config = weft.Config(
                combine="radix", direction="push", threads=threads, deterministic=deterministic,
                compiled=True,
            )  # fmt: skip
            state = g.state(x=x, y=np.zeros(g.num_vertices, np.float32))
            g.iterate([add, back], state, g.frontier([1, 2, 7]), max_iter=3, config=config)
            found.append(np.asarray(state.y).tobytes())
    assert len(set(found)) == 1


def test_it_is_told_and_refused_by_name():
    g = weft.generators.path(5)
    state = g.state(x=np.arange(5.0), y=np.zeros(5))
    config = weft.Config(combine="radix", direction="push")
    assert "radix" in weft.explain(add, g, state, config=config).passes
    told = weft.explain(tally, g, g.state(count=np.zeros(5, np.int64)), config=config)
    assert "radix_keys" in told.passes
    with pytest.raises(ConfigError, match=r"combine='radix' is not possible for 'add': the func"):
        g.run(weft.fold(add, add), state, config=config)
    split = weft.Config(combine="radix", direction="push", format="tigr(2)")
    with pytest.raises(ConfigError, match=r"the format 'tigr' splits the rows"):
        g.run(add, state, config=split)
