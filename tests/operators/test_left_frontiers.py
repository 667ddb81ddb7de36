"""Frontiers stay where a run left them on a GPU; whoever still holds one finds what was there."""

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft.backends.cuda.host.last_frontier import Left
from weft.operators import advance, compute, filter, neighbor_reduce, uniquify

PUSH, PULL, LOOSE = (
    weft.Config(direction="push"), weft.Config(direction="pull"), weft.Config(dedup="none"),
)  # fmt: skip
BYTES = weft.Config(frontier_out={"pull": "bytemap"}, direction="pull")


@weft.edge(into="level", reduce=weft.min)
def relax(u, v, e):
    return u.level + 1


@weft.vertex
def count(v, total):
    v.seen = v.seen + 1
    weft.reduce("total", v.seen, weft.sum)


def reach(u, v, e):
    return v.level.min(u.level + 1)


def low(v):
    return v.level % 3 != 0


def least(v, u, e):
    return u.level


def made(g):
    return g.state(
        level=np.arange(g.num_vertices) * 7 % 11, seen=weft.full(0), least=weft.full(0),
        total=weft.scalar(0),
    )  # fmt: skip


# What is done to a graph, a state and a frontier: another frontier, or the same one.
DEEDS = {
    "advance": lambda g, s, f: advance(g, f, reach, s),
    "push": lambda g, s, f: advance(g, f, reach, s, config=PUSH),
    "pull": lambda g, s, f: advance(g, f, reach, s, config=PULL),
    "bytes": lambda g, s, f: advance(g, f, reach, s, config=BYTES),
    "loose": lambda g, s, f: advance(g, f, reach, s, config=LOOSE),
    "filter": lambda g, s, f: filter(g, f, low, s),
    "two sweeps": lambda g, s, f: neighbor_reduce(
        g, f, least, weft.min, s, into="least", identity=50, output="neighbors"
    ),
    "compute": lambda g, s, f: compute(g, f, lambda v: None, s),
    "scalars": lambda g, s, f: g.run(count, s, f),
    "iterate": lambda g, s, f: g.iterate(relax, s, f, max_iter=2).frontier,
    "unique": lambda g, s, f: uniquify(g, f),
}


def graphs():
    return {
        "rmat": weft.generators.rmat(5, 6, seed=2),
        "path": weft.generators.path(40),
        "star": weft.generators.star(33),
        "directed": weft.Graph.from_edges([0, 1, 2, 2, 5], [1, 2, 0, 3, 1], num_vertices=7),
    }


@settings(max_examples=25, deadline=None)
@given(
    name=st.sampled_from(sorted(graphs())),
    deeds=st.lists(st.tuples(st.sampled_from(sorted(DEEDS)), st.integers(0, 5)), max_size=12),
)
def test_every_frontier_that_is_held_stays_what_it_was(name, deeds):
    """Each deed takes one of the last frontiers, all of which are looked at in the end."""
    found = {}
    for device in ("emulated", "reference"):
        g = graphs()[name].to(device)
        state = made(g)
        frontiers = [g.frontier([0, 2, 5])]
        for deed, back in deeds:
            frontiers.append(DEEDS[deed](g, state, frontiers[-1 - back % len(frontiers)]))
        lengths = [len(f) for f in frontiers]
        members = [f.tolist() for f in frontiers]
        assert lengths == [len(part) for part in members]
        found[device] = members, state.level.tolist(), state.seen.tolist(), int(state.total)
    assert found["emulated"] == found["reference"]


@pytest.mark.parametrize("config", [PUSH, PULL, BYTES, None])
def test_a_loop_moves_no_frontier(config, monkeypatch):
    moved = []
    monkeypatch.setattr(Left, "_copied", lambda left: moved.append(left))
    g = weft.generators.rmat(6, 4, seed=1).to("emulated")
    state = g.state(level=weft.full(99).but(3, 0))
    frontier, sizes = g.frontier([3]), []
    while frontier:
        frontier = advance(g, frontier, reach, state, config=config)
        sizes.append(len(frontier))
    assert not moved and len(sizes) > 2
    expected = weft.bfs(weft.generators.rmat(6, 4, seed=1), 3).level
    assert np.where(expected < 0, 99, expected).tolist() == state.level.tolist()


def test_copies_of_a_frontier_are_what_it_was():
    g = weft.generators.path(9).to("emulated")
    state = g.state(level=weft.full(99).but(3, 0))
    first = advance(g, [3], reach, state)
    twins = copy.copy(first), copy.deepcopy(first)
    second = advance(g, first, reach, state)
    advance(g, second, reach, state)
    assert [twin.tolist() for twin in twins] == [[2, 4], [2, 4]]
    assert second.tolist() == [1, 5] and first.tolist() == [2, 4]


def test_a_frontier_outlives_its_graph_and_comes_along_to_another_device():
    g = weft.generators.path(9).to("emulated")
    state = g.state(level=weft.full(99).but(3, 0))
    first = advance(g, [3], reach, state)
    there = g.to("cpu")
    moved = advance(there, first, reach, there.state(level=state.level))
    assert moved.tolist() == [1, 5]
    del g, state
    assert first.tolist() == [2, 4]
