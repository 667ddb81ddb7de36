"""Frontiers that are only counted: where that is enough, and where members are read."""

import numpy as np
import pytest

import weft
from agreement import agreed, on_device, placed
from weft.errors import ConfigError

COUNTED = tuple(
    weft.Config(frontier_out="counter", direction=direction, threads=3)
    for direction in ("auto", "push", "pull")
)
GRAPH = weft.Graph.from_edges(
    [0, 1, 2, 2, 3, 5, 6, 6, 8, 8, 9], [1, 2, 3, 2, 0, 6, 7, 7, 9, 9, 3], num_vertices=12
)
DEVICES = pytest.mark.parametrize("device", ["cpu", "emulated"])


@weft.edge(into="x", reduce=weft.min, on="all")
def least(u, v, e):
    return u.x


@weft.edge(into="s", reduce=weft.sum, on="all")
def spread(u, v, e):
    return u.x // 2


@weft.vertex(on="all")
def settle(v):
    v.x = weft.minimum(v.x, v.s)
    v.s = 0


@weft.vertex
def mean(v):
    v.x = v.gather(lambda u, e: u.x, weft.max)


def fields():
    return {"x": np.arange(12, 0, -1), "s": np.zeros(12, np.int64)}


@DEVICES
def test_all_vertices_run_next(device):
    with on_device(device):
        agreed(GRAPH, least, fields(), mode="iterate", configs=COUNTED)
        agreed(GRAPH, [spread, settle], fields(), mode="iterate", configs=COUNTED[:2])
        agreed(GRAPH, mean, fields(), mode="iterate", configs=COUNTED[:1])
        agreed(
            GRAPH, least, {**fields(), "x": np.zeros(12, np.int64)}, mode="iterate",
            configs=COUNTED[:1],
        )  # fmt: skip


@DEVICES
@pytest.mark.parametrize("config", COUNTED)
def test_the_last_frontier_is_everything_or_nothing(device, config):
    with on_device(device):
        g = placed(GRAPH)
        found = []
        for limit in (1, 2, None):
            state = g.state(**fields())
            run = g.iterate(least, state, max_iter=limit, config=config)
            found.append((len(run.frontier), run.converged))
    assert found == [(12, False), (12, False), (0, True)]


@DEVICES
def test_the_order_of_the_vertices_does_not_show(device):
    with on_device(device):
        g = placed(GRAPH)
        state = g.state(**fields())
        config = weft.Config(frontier_out="counter", reorder="random")
        run = g.iterate(least, state, max_iter=1, config=config)
        assert sorted(run.frontier) == list(range(12))


def levels():
    search = weft.edge(
        lambda u, v, e: u.level + 1, into="level", reduce=weft.any, accept=lambda v: v.level < 0
    )
    level = np.full(12, -1, np.int32)
    level[8] = 0
    return search, {"level": level}


@DEVICES
def test_a_pull_finds_the_frontier_in_the_state(device):
    with on_device(device):
        search, start = levels()
        agreed(GRAPH, search, start, [8], mode="iterate", configs=COUNTED[2:])
        by_side = weft.Config(frontier_out={"pull": "counter"})
        agreed(GRAPH, search, start, [8], mode="iterate", configs=[by_side])
        for limit in (1, 2):
            agreed(GRAPH, search, start, [8], mode="iterate", max_iter=limit, configs=COUNTED[2:])
        with pytest.raises(ConfigError, match="no field tells which these are"):
            g = placed(GRAPH)
            g.iterate(search, g.state(**start), g.frontier([9]), config=COUNTED[2])


@weft.edge(into="x", reduce=weft.min)
def lower(u, v, e):
    return u.x


@weft.vertex(wake="neighbors")
def wakes(v):
    v.x = v.gather(lambda u, e: u.x, weft.max)


@weft.vertex
def forget(v):
    return v.x > 0


@DEVICES
@pytest.mark.parametrize(
    ("functions", "options", "reason"),
    [
        (lower, {}, "'lower' runs at the vertices that 'lower' changed"),
        ([least, settle, lower], {}, "'lower' runs at the vertices that 'settle' changed"),
        (wakes, {}, "the neighbors of the vertices that 'wakes' changed run next"),
        (least, {"trail": True}, "trail=True keeps the frontiers"),
        (least, {"refill": forget}, "with refill= starts its rounds"),
        (weft.fold(least, forget), {}, "'forget' runs at the vertices that 'least' changed"),
    ],
)
def test_members_that_are_read(device, functions, options, reason):
    with on_device(device), pytest.raises(ConfigError, match=reason):
        g = placed(GRAPH)
        g.iterate(functions, g.state(**fields()), config=COUNTED[0], **options)


def test_one_superstep_returns_its_members():
    state = GRAPH.state(**fields())
    with pytest.raises(ConfigError, match="the frontier is what one superstep returns"):
        GRAPH.run(lower, state, config=COUNTED[0])
