"""Loops that end at a target: `until` looks at a field of a vertex, ordered loops stop early."""

import numpy as np
import pytest

import weft
from agreement import on_device, placed
from weft.errors import FaultError, TraceError

INF = float("inf")
DEVICES = ("reference", "cpu", "emulated")


@weft.edge(into="dist", reduce=weft.min, priority=lambda v: v.dist)
def relax(u, v, e):
    return u.dist + e.weight


@weft.edge(into=("dist", "parent"), reduce=weft.argmin, priority=lambda v: v.dist)
def relax_with_parent(u, v, e):
    return u.dist + e.weight, u.id


@weft.edge(into="dist", reduce=weft.min, priority=lambda v: v.dist + v.ahead)
def search(u, v, e):
    return u.dist + e.weight


@weft.edge(into="level", reduce=weft.any, accept=lambda v: v.level < 0)
def discover(u, v, e):
    return u.level + 1


def road(side=12):
    return weft.generators.grid(side, side, weights=(1, 9), seed=4)


def begin(g, **more):
    state = g.state(dist=weft.full(INF), **more)
    state.dist[0] = 0
    return state


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("step", [relax, relax_with_parent])
def test_the_target_is_settled(device, step):
    with on_device(device):
        g = placed(road())
        want = np.asarray(weft.sssp(road(), 0).dist)
        for target in (0, 1, 30, 143):
            for ordering in (True, False):
                more = {"parent": weft.full(-1, weft.vertex_id)} if step is not relax else {}
                state = begin(g, **more)
                config = weft.Config(ordering=ordering)
                run = g.iterate(step, state, [0], until=weft.settled(target), config=config)
                assert state.dist[target] == want[target]
                assert run.converged
                assert (np.asarray(state.dist) >= want).all()


@pytest.mark.parametrize("device", DEVICES)
def test_a_target_that_cannot_be_reached_lets_the_loop_end(device):
    with on_device(device):
        g = placed(weft.Graph.from_edges([0, 1], [1, 2], [1.0, 2.0], num_vertices=5))
        state = begin(g)
        run = g.iterate(relax, state, [0], until=weft.settled(4))
        assert run.converged
        assert list(state.dist) == [0, 1, 3, INF, INF]


@pytest.mark.parametrize("device", DEVICES)
def test_until_looks_at_a_field(device):
    with on_device(device):
        g = placed(weft.generators.path(30))
        for direction in ("push", "pull"):
            state = g.state(level=weft.full(-1, weft.int32), goal=weft.scalar(7))
            state.level[0] = 0
            run = g.iterate(
                discover, state, [0], until=lambda level, goal: level[goal] >= 0,
                config=weft.Config(direction=direction),
            )  # fmt: skip
            assert run.steps == 7 and run.converged
            assert (np.asarray(state.level) >= 0).sum() == 8


@pytest.mark.parametrize("device", DEVICES[1:])
@pytest.mark.parametrize("order", ["random", "degree"])
def test_targets_are_the_users_in_every_order(device, order):
    with on_device(device):
        g = placed(road())
        want = np.asarray(weft.sssp(road(), 0).dist)
        state = begin(g)
        g.iterate(relax, state, [0], until=weft.settled(55), config=weft.Config(reorder=order))
        assert state.dist[55] == want[55]


def looked_at(g, step, state, **options):
    with weft.profile() as profile:
        g.iterate(step, state, [0], **options)
    return sum(int(record.edges) for record in profile.records)


def test_a_near_target_costs_fewer_arcs():
    g = road(60)
    target = 60 * 6 + 6
    want = weft.sssp(g, 0).dist[target]
    all_arcs = looked_at(g, relax, begin(g))
    state = begin(g)
    some = looked_at(g, relax, state, until=weft.settled(target))
    assert state.dist[target] == want and some < all_arcs / 4
    rows, columns = np.divmod(np.arange(g.num_vertices), 60)
    ahead = (np.abs(rows - 6) + np.abs(columns - 6)).astype(float)
    state = begin(g, ahead=ahead)
    fewer = looked_at(g, search, state, until=weft.settled(target))
    assert state.dist[target] == want and fewer < all_arcs / 4


def test_what_cannot_be_is_told():
    g = weft.generators.path(4)
    state = g.state(level=[0, -1, -1, -1])
    with pytest.raises(TraceError, match="needs a step with a priority"):
        g.iterate(discover, state, [0], until=weft.settled(3))
    with pytest.raises(TraceError, match="names no vertex"):
        weft.settled(-1)
    with pytest.raises(TraceError, match=r"Name the vertex: level\[target\]"):
        g.iterate(discover, state, [0], until=lambda level: level > 2)
    with pytest.raises(FaultError, match="out of range"):
        g.iterate(discover, state, [0], until=lambda level: level[99] > 2)
