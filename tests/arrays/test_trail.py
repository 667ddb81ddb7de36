"""Trails: what they show of the frontiers of a run, and what a replay makes of parts of one."""

import numpy as np
import pytest

import weft
from weft.arrays.trail import Trail
from weft.errors import GraphError


@weft.edge(into="level", reduce=weft.any, accept=lambda v: v.level < 0)
def discover(u, v, e):
    return u.level + 1


@weft.vertex
def stamp(v):
    """Remember the superstep, and what the vertices before v remember."""
    v.seen = 10 * v.gather(lambda u, e: u.seen, weft.max) + weft.superstep() + 1


def searched(device, n=6):
    g = weft.generators.path(n, directed=True).to(device)
    state = g.state(level=weft.full(-1), seen=weft.full(0))
    state.level[0] = 0
    return g, state, g.iterate(discover, state, [0], trail=True).trail


def test_parts_are_sorted_wherever_they_lie():
    trail = Trail(np.array([7, 3, 9, 1, 2, 2]), np.array([4, 0, 3]), np.array([5, 3, 3]), 10)
    assert [part.tolist() for part in trail] == [[2], [3, 7, 9], []]
    assert [part.tolist() for part in trail[1:]] == [[3, 7, 9], []]
    assert [part.tolist() for part in trail.in_order()] == [[2], [3, 7, 9], []]
    assert trail.with_members(lambda flat: flat + 1)[1].tolist() == [4, 8, 10]
    assert len(trail[:0]) == 0 and "3 sets" in repr(trail)


@pytest.mark.parametrize("device", ["cpu", "reference", "emulated"])
def test_parts_of_a_trail_are_replayed_in_the_order_given(device):
    g, state, trail = searched(device)
    assert [part.tolist() for part in trail] == [[k] for k in range(6)]
    g.replay(stamp, state, trail[:0:-1])  # last to first: vertices 1 to 5
    assert state.seen.tolist() == [0, 1, 12, 123, 1234, 12345]
    state.seen = 0
    g.replay(stamp, state, trail[1:3])
    assert state.seen.tolist() == [0, 2, 1, 0, 0, 0]
    g.replay(stamp, state, trail[:0])
    assert state.seen.tolist() == [0, 2, 1, 0, 0, 0]


@pytest.mark.parametrize("device", ["cpu", "emulated"])
def test_functions_that_hand_on_are_replayed(device):
    @weft.edge(into="level", reduce=weft.sum)
    def pass_on(u, v, e):
        return 1

    g, state, trail = searched(device)
    g.replay([pass_on, stamp], state, trail[::-1])
    assert state.seen.tolist() == [0, 1, 12, 123, 1234, 12345]


def test_a_trail_of_another_graph_is_checked():
    _, _, trail = searched("cpu")
    g = weft.generators.path(3)
    with pytest.raises(GraphError, match="does not exist"):
        g.replay(stamp, g.state(seen=weft.full(0)), trail)


def test_trails_of_renumbered_vertices_name_the_users():
    g = weft.generators.grid(5, 5)
    state = g.state(level=weft.full(-1))
    state.level[12] = 0
    config = weft.Config(reorder="degree")
    trail = g.iterate(discover, state, [12], trail=True, config=config).trail
    assert [sorted(np.flatnonzero(state.level == k).tolist()) for k in range(5)] == [
        part.tolist() for part in trail
    ]


@weft.edge(into="x", reduce=weft.sum)
def bounce(u, v, e):
    return 1


def test_trails_grow_by_steps_and_by_members():
    g, _, trail = searched("cpu", 4200)
    assert len(trail) == 4200 and trail[4199].tolist() == [4199]
    assert trail.flat.size == g.num_vertices
    g = weft.generators.complete(3)
    state = g.state(x=weft.full(0))
    trail = g.iterate(bounce, state, max_iter=2500, trail=True).trail
    assert {tuple(part.tolist()) for part in trail} == {(0, 1, 2)} and len(trail) == 2500
