"""What messages combine to as lists: as NumPy says, with no trace in the state or between calls."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from graphs import AWKWARD, graphs
from weft.errors import FieldError, TraceError

EVALUATED = weft.Config(compiled=False)
DEVICES = ("cpu", "emulated", "reference")


@weft.edge(into="total", reduce=weft.sum, accept=lambda v: v.open)
def add(u, v, e):
    return weft.send(u.x + e.rank, when=u.x != 3)


@weft.edge(into=("least", "who", "seen"), reduce=(weft.min, weft.max, weft.or_), active=None)
def look(u, v, e):
    return u.f, u.id, True


@weft.edge(into=("key", "from_"), reduce=weft.argmin)
def nearest(u, v, e):
    return u.f, u.id


@weft.edge(into="vec", reduce=weft.sum)
def spread(u, v, e):
    return u.pair


def state_of(g):
    n = g.num_vertices
    x = np.arange(n) * 7 % 5
    return g.state(
        x=x, f=np.where(x == 2, np.nan, x / 4 - 1), open=np.arange(n) % 4 != 1,
        pair=np.stack([x, -x], 1), total=weft.full(77), least=weft.full(5.0), who=weft.full(9),
        seen=weft.full(True), key=weft.full(0.0), from_=weft.full(3), vec=weft.full(1, None, 2),
    )  # fmt: skip


def arcs_of(g, frontier):
    """Return source, target and rank of the arcs that leave a frontier."""
    out = g.topology.adjacency("out")
    offsets, targets = np.asarray(out.offsets), np.asarray(out.targets)
    source = np.repeat(np.arange(g.num_vertices), np.diff(offsets))
    rank = np.arange(len(targets)) - offsets[source]
    chosen = np.isin(source, frontier)
    return source[chosen], targets[chosen], rank[chosen]


def check(g, frontier, device, config=None):
    here = g.to(device)
    state = state_of(here)
    held = {name: np.array(array) for name, array in state.fields.items()}
    u, v, rank = arcs_of(g, frontier)
    for _ in range(2):  # the second call takes what the first one put back
        ids, total = here.collect(add, state, frontier, config=config)
        sent = (held["x"][u] != 3) & held["open"][v]
        want = np.zeros(g.num_vertices, np.int64)
        np.add.at(want, v[sent], (held["x"][u] + rank)[sent])
        assert ids.tolist() == np.unique(v[sent]).tolist()
        assert total.tolist() == want[ids].tolist()

        ids, least, who, seen = here.collect(look, state, frontier, config=config)
        assert ids.tolist() == np.unique(v).tolist() and seen.all()
        lowest, highest = np.full(g.num_vertices, np.nan), np.full(g.num_vertices, -1)
        np.fmin.at(lowest, v, held["f"][u])
        np.maximum.at(highest, v, u)
        np.testing.assert_array_equal(least, lowest[ids])
        assert who.tolist() == highest[ids].tolist()

        if config is EVALUATED:  # no vectors
            continue
        ids, vec = here.collect(spread, state, frontier, config=config)
        pairs = np.zeros((g.num_vertices, 2), np.int64)
        np.add.at(pairs, v, held["pair"][u])
        assert vec.tolist() == pairs[ids].tolist()
    for name, array in state.fields.items():
        np.testing.assert_array_equal(array, held[name], name)


@pytest.mark.parametrize("name", AWKWARD)
def test_lists_hold_what_numpy_finds(name):
    g = AWKWARD[name]()
    check(g, np.arange(0, g.num_vertices, 3), "cpu", EVALUATED)
    check(g, np.arange(0), "cpu", EVALUATED)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("combine", [None, "radix"])
def test_devices_agree(device, combine):
    g = weft.generators.rmat(6, 5, seed=3, directed=True)
    config = weft.Config(combine=combine, compiled=True)
    check(g, np.array([1, 5, 9, 30]), device, config)


@given(g=graphs(min_vertices=1, weights=None), data=st.data())
@settings(max_examples=25, derandomize=True, deadline=None)
def test_drawn_graphs_and_frontiers(g, data):
    members = data.draw(st.sets(st.integers(0, g.num_vertices - 1)))
    check(g, np.array(sorted(members), np.int64), "cpu", EVALUATED)


@pytest.mark.parametrize("device", DEVICES)
def test_the_best_message_counts_though_the_field_held_a_better_one(device):
    g = weft.Graph.from_edges([0, 1, 1, 2], [3, 3, 4, 4]).to(device)
    ids, key, who = g.collect(nearest, state_of(g))
    assert (ids.tolist(), key.tolist(), who.tolist()) == ([3, 4], [-1.0, 0.0], [0, 2])


def test_what_cannot_be_collected():
    g = weft.generators.path(4)
    state = g.state(x=weft.full(0.0))
    own = weft.edge(lambda u, v, e: u.x + 1, into="x", reduce=weft.min)
    with pytest.raises(FieldError, match=r"reads 'x', which it sends into"):
        g.collect(own, state)
    with pytest.raises(TraceError, match=r"made by weft.edge\(into="):
        g.collect(weft.vertex(lambda v: setattr(v, "x", 1.0)), state)
