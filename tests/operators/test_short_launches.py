"""A superstep from few vertices of a large graph is launched as one cluster."""

import pytest

import weft
from weft.backends.cuda.drivers.emulated import EmulatedDriver
from weft.operators import advance, compute, filter, neighbor_reduce


def reach(u, v, e):
    return v.level.min(u.level + 1)


def near(v):
    return v.level < 30


def bump(v):
    v.seen = v.seen + 1


@weft.vertex
def total(v, sum):
    v.seen = v.seen + v.level
    weft.reduce("sum", v.seen, weft.sum)


def far(v, u, e):
    return u.level


DEEDS = {
    "advance": lambda g, s, f: advance(g, f, reach, s),
    "filter": lambda g, s, f: filter(g, f, near, s),
    "compute": lambda g, s, f: compute(g, f, bump, s),
    "scalars": lambda g, s, f: g.run(total, s, f),
    "rows": lambda g, s, f: neighbor_reduce(
        g, f, far, weft.max, s, into="seen", identity=0, output="rows"
    ),
    "neighbors": lambda g, s, f: neighbor_reduce(
        g, f, far, weft.max, s, into="seen", identity=0, output="neighbors"
    ),
}


@pytest.fixture
def grids(monkeypatch):
    """Note the blocks of every launch, and those of its clusters."""
    seen, inner = [], EmulatedDriver.launch

    def launch(driver, kernel, geometry, *arguments):
        seen.append((geometry.grid, geometry.cluster))
        return inner(driver, kernel, geometry, *arguments)

    monkeypatch.setattr(EmulatedDriver, "launch", launch)
    return seen


@pytest.mark.parametrize("deed", DEEDS)
@pytest.mark.parametrize("many", [False, True])
def test_few_vertices_take_one_cluster(deed, many, grids):
    found = {}
    for device in ("emulated", "reference"):
        g = weft.generators.path(3000).to(device)
        state = g.state(
            level=weft.full(lambda v: v.id % 50, "int64"), seen=weft.full(0), sum=weft.scalar(0)
        )
        frontier = g.frontier(range(0, 3000, 9) if many else [3, 70, 2000])
        grids.clear()
        left = DEEDS[deed](g, state, frontier)
        found[device] = left.tolist(), state.level.tolist(), state.seen.tolist(), int(state.sum)
        if device == "emulated":
            assert all((grid == cluster) is not many for grid, cluster in grids) and grids
    assert found["emulated"] == found["reference"]


def test_what_looks_at_all_vertices_takes_the_whole_grid(grids):
    g = weft.generators.path(3000).to("emulated")
    state = g.state(level=weft.full(99).but(3, 0), seen=weft.full(0))
    for config in (weft.Config(direction="pull"), weft.Config(width="grid")):
        assert advance(g, [3], reach, state, config=config).tolist() in ([2, 4], [])
    compute(g, None, bump, state)
    assert all(grid > cluster for grid, cluster in grids) and len(grids) == 3


def test_a_loop_from_an_empty_frontier_takes_the_whole_grid(grids):
    g = weft.generators.path(3000).to("emulated")
    assert weft.core_number(g).tolist() == [1] * 3000
    assert all(grid > cluster for grid, cluster in grids) and grids
