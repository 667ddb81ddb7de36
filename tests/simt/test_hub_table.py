"""Gathers that read values by place, hubs from a table of each block, in the emulation."""

import numpy as np
import pytest
from hypothesis import given, settings

import weft
from graphs import AWKWARD, graphs
from weft.backends.cuda.host import options
from weft.plan import hub_table

ON = weft.Config(hub_table=True)
PLACES = weft.Config(hub_table="places")


@pytest.fixture(params=[0, 3, 1 << 20], ids=["no room", "few", "all"])
def hubs(request, monkeypatch):
    """Set how many vertices a table has room for."""
    monkeypatch.setattr(options, "MOST_HUBS", request.param)


@weft.vertex(wake="all")
def spread(v):
    """Two values of u, one of them wider than the other, and a value of the arc."""
    v.short, v.long = v.gather(
        lambda u, e: (u.short * 0.5, u.long + e.weight * v.long), (weft.sum, weft.sum)
    )


@weft.vertex(wake="all")
def lift(v):
    """A field of u as it is, in a wider sum."""
    v.total = v.gather(lambda u, e: weft.cast(u.part, np.float64), weft.sum)
    v.part = weft.cast(v.total * 0.25, np.float32)


@weft.vertex(wake="all")
def least(v):
    v.low = weft.minimum(v.low, v.gather(lambda u, e: u.low + v.in_degree, weft.min))


@weft.vertex(wake="all")
def by_rank(v):
    v.low = v.gather(lambda u, e: u.low + e.rank, weft.max)


@weft.vertex(wake="all")
def features(v):
    v.wide = v.gather(lambda u, e: u.wide, weft.sum)


@weft.vertex(wake="neighbors")
def changing(v):
    v.low = weft.minimum(v.low, v.gather(lambda u, e: u.low, weft.min))


def passes(step, g, config=ON, **fields):
    return weft.explain(step, g, g.state(**fields), config=config).passes


def weighted(g):
    arcs = g.to_edges()[:2]
    weight = np.random.default_rng(3).random(g.num_edges)
    return weft.Graph.from_edges(
        *arcs, num_vertices=g.num_vertices, directed=g.directed, weight=weight
    )


def same(step, g, fields, steps=3, config=ON):
    """Compare with a CPU; sums may be added up in another order."""
    found = []
    for place, chosen in ((g, None), (g.to("emulated"), config)):
        state = place.state(**fields)
        place.iterate(step, state, max_iter=steps, config=chosen)
        found.append(state)
    for name in fields:
        want, got = (np.asarray(getattr(state, name)) for state in found)
        np.testing.assert_allclose(got, want, rtol=1e-5 if want.dtype == np.float32 else 1e-12)


def fields_of(g):
    rng = np.random.default_rng(7)
    n = g.num_vertices
    return {"short": rng.random(n).astype(np.float32), "long": rng.random(n)}


@pytest.mark.parametrize("schedule", [None, "vertex", "warp", "merge", "strict", "row", "edge"])
def test_schedules(hubs, schedule):
    for directed in (False, True):
        g = weighted(weft.generators.rmat(6, 5, seed=4, directed=directed))
        config = weft.Config(hub_table=True, schedule=schedule)
        assert "hub_places" in passes(spread, g.to("emulated"), config, **fields_of(g))
        same(spread, g, fields_of(g), config=config)


@pytest.mark.parametrize("format", ["csr32", "coo", "tigr(3)", "ell"])
def test_formats(format, monkeypatch):
    monkeypatch.setattr(options, "MOST_HUBS", 5)
    g = weighted(weft.generators.rmat(6, 3, seed=4))
    config = weft.Config(hub_table=True, format=format)
    kept = "hub_places" in passes(spread, g.to("emulated"), config, **fields_of(g))
    assert kept == (format in ("csr32", "coo"))
    same(spread, g, fields_of(g), config=config)


@pytest.mark.parametrize("name", [name for name in AWKWARD if AWKWARD[name]().num_vertices])
def test_awkward_graphs(name):
    g = AWKWARD[name]()
    ranks = weft.pagerank(g.to("emulated"), config=ON)
    np.testing.assert_allclose(ranks, weft.pagerank(g), rtol=1e-12)


@settings(max_examples=15, deadline=None)
@given(graphs(max_vertices=40, max_edges=150, directed=True))
def test_drawn_graphs(g):
    if g.num_vertices:
        ranks = weft.pagerank(g.to("emulated"), config=ON)
        np.testing.assert_allclose(ranks, weft.pagerank(g), rtol=1e-12)


def test_fields_and_reductions(hubs):
    g = weft.generators.rmat(6, 5, seed=9, directed=True)
    n = g.num_vertices
    same(lift, g, {"part": np.ones(n, np.float32), "total": np.zeros(n)})
    same(least, g, {"low": np.arange(n, dtype=np.int64)[::-1].copy()})
    same(least, g, {"low": np.arange(n, dtype=np.int64)[::-1].copy()}, config=PLACES)


@pytest.mark.parametrize("order", ["degree", "random"])
def test_reordered_graphs(order, monkeypatch):
    monkeypatch.setattr(options, "MOST_HUBS", 6)
    g = weighted(weft.generators.rmat(6, 5, seed=4, directed=True))
    config = weft.Config(hub_table=True, reorder=order)
    same(spread, g, fields_of(g), config=config)


@pytest.mark.parametrize("fuse", ["none", "direction"])
@pytest.mark.parametrize("block", [32, 128])
def test_launches(fuse, block, hubs):
    g = weighted(weft.generators.rmat(6, 5, seed=4))
    config = weft.Config(hub_table=True, fuse=fuse, block_size=block)
    same(spread, g, fields_of(g), config=config)


def test_how_many_hubs_are_kept(monkeypatch):
    """As many as there is room for, if they answer most reads or the table was asked for."""
    g = weft.generators.star(40).to("emulated")
    low = {"low": weft.full(lambda v: v.id, np.int64)}

    def kept(config):
        (kernel,) = weft.explain(least, g, g.state(**low), config=config).kernels
        assert kernel.hubs == 0 or f"a table of {kernel.hubs} hub" in str(kernel)
        return kernel.hubs

    assert kept(ON) == g.num_vertices
    assert kept(PLACES) == kept(weft.Config(hub_table=False)) == 0
    monkeypatch.setattr(hub_table, "LEAST_ARCS", 1)
    monkeypatch.setattr(hub_table, "LEAST_DEGREE", 1)
    monkeypatch.setattr(hub_table, "is_uneven", lambda topology: True)
    monkeypatch.setattr(options, "_hub_room", lambda request: 8)
    assert kept(weft.Config()) == 0  # half of the arcs name the one that there is room for
    monkeypatch.setattr(hub_table, "LEAST_SHARE", 0.5)
    assert kept(weft.Config(delta=1.0)) == g.num_vertices
    monkeypatch.setattr(options, "MOST_HUBS", 1)
    assert kept(weft.Config(delta=2.0)) == 1


def test_where_it_is_used():
    g = weft.generators.rmat(6, 4, seed=5).to("emulated")
    low = {"low": weft.full(lambda v: v.id, np.int64)}
    assert {"hub_places", "hub_table"} <= set(passes(least, g, **low))
    assert "hub_table" not in passes(least, g, PLACES, **low)
    for off in ({"hub_table": False}, {}, {"hub_table": True, "passes_off": "source_hoisting"}):
        assert "hub_places" not in passes(least, g, weft.Config(**off), **low), off
    for step in (by_rank, changing):
        assert "hub_places" not in passes(step, g, **low), step
    wide = {"wide": weft.full(0.0, np.float64, shape=(4,))}
    assert "hub_places" not in passes(features, g, **wide)
