"""Gathers by key: every device, the interpreter and dictionaries."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from agreement import agreed, on_device
from graphs import AWKWARD, edge_lists
from weft.errors import ConfigError, TraceError

devices = pytest.mark.parametrize("device", ["cpu", "emulated"])
FIXED = [weft.Config(deterministic=True, threads=threads) for threads in (1, 3)]
PLAIN = [weft.Config(threads=2), weft.Config(threads=2, reorder="random")]


@weft.vertex
def poll(v):
    votes = v.gather_by(lambda u, e: u.label, lambda u, e: weft.send(e.w, when=e.w > -1), weft.sum)
    v.best, v.score = votes.argmax()
    v.kinds, v.mixed = votes.reduce(lambda k, x: (1, k * 3 + weft.floor(x)), (weft.sum, weft.max))


@weft.vertex
def around(v):
    far = v.gather_by(lambda u, e: u.label - 3, 1, weft.sum, direction="both")
    v.own = far.get(v.label - 3)
    v.low, v.least = far.argmin(lambda key, value: value % 2)
    v.first = far.reduce(lambda key, value: weft.send(key, when=key != 0), weft.any)


@weft.vertex
def twice(v):
    paths = v.gather_by(
        lambda u, e, w, f: w.id, lambda u, e, w, f: e.w * f.w + u.label, weft.sum, direction="out"
    )
    v.far, v.most = paths.argmax(lambda key, value: weft.where(key == v.id, -100.0, value))
    v.kinds = paths.count()


INTEGERS = ("best", "kinds", "own", "low", "least", "first", "far")


def fields_of(g, labels=None):
    """Return a state of one signature for all graphs, and give the graph a column of quarters."""
    n = g.num_vertices
    g.edge["w"] = (np.arange(g.num_edges) * 5 % 13 - 6) / 4
    fields = {name: np.zeros(n, np.int64) for name in INTEGERS}
    fields |= {name: np.zeros(n) for name in ("score", "mixed", "most")}
    return fields | {"label": np.arange(n) * 7 % 5 if labels is None else labels}


def counted(g, fields):
    """Answer by dictionaries: the votes of every vertex, and the labels on both sides."""
    votes = [Counter() for _ in range(g.num_vertices)]
    both = [Counter() for _ in range(g.num_vertices)]
    label = fields["label"].tolist()
    sources, targets = (np.asarray(x).tolist() for x in g.topology.endpoints())
    ids = g.topology.edges("out")
    ids = range(len(sources)) if ids is None else np.asarray(ids).tolist()
    weight = np.asarray(g.edge["w"]).tolist()
    for u, v, edge in zip(sources, targets, ids, strict=True):
        if weight[edge] > -1:
            votes[v][label[u]] += weight[edge]
        both[v][label[u] - 3] += 1
        both[u][label[v] - 3] += 1
    return votes, both


def check(g, labels=None, configs=FIXED):
    fields = fields_of(g, labels)
    found = agreed(g, poll, fields, configs=configs)
    other = agreed(g, around, fields, configs=configs)
    votes, both = counted(g, fields)
    for v in range(g.num_vertices):
        best = min(votes[v], key=lambda k: (-votes[v][k], k), default=-1)
        assert found.best[v] == best
        assert found.kinds[v] == len(votes[v])
        assert other.own[v] == both[v][fields["label"][v] - 3]
        assert other.first[v] == min((k for k in both[v] if k != 0), default=0)


@devices
@pytest.mark.parametrize("name", [n for n in AWKWARD if not n.startswith("weights")])
def test_awkward_graphs(device, name):
    g = AWKWARD[name]()
    if device == "emulated" and g.num_edges > 300:
        pytest.skip("too slow in the emulation")
    with on_device(device):
        check(g)


@settings(max_examples=40, deadline=None)
@given(edge_lists(weights=None, min_vertices=1), st.data())
def test_drawn_graphs(edges, data):
    labels = st.lists(
        st.integers(-(2**40), 2**40) | st.integers(-2, 2),
        min_size=edges.num_vertices, max_size=edges.num_vertices,
    )  # fmt: skip
    check(edges.build(), np.array(data.draw(labels), np.int64))


@devices
@pytest.mark.parametrize("directed", [True, False])
def test_two_hops(device, directed):
    g = weft.generators.rmat(5, 5, seed=4, directed=directed)
    fields = fields_of(g)
    with on_device(device):
        found = agreed(g, twice, fields, configs=FIXED)
        agreed(g, twice, fields, range(0, g.num_vertices, 3), configs=PLAIN)
    reach = weft.Graph.to_scipy(g).astype(bool).astype(np.int64)
    assert found.kinds.tolist() == np.diff((reach @ reach).indptr).tolist()


@weft.vertex
def wide(v):
    v.kinds = v.gather_by(lambda u, e: u.id, 1, weft.sum).count()


@devices
def test_a_hub_with_many_keys(device):
    g = weft.generators.star(3000)
    with on_device(device):
        found = agreed(g, wide, {"kinds": np.zeros(3000, np.int64)}, configs=PLAIN)
    assert found.kinds.tolist() == [2999] + [1] * 2999


def test_a_loop_of_votes_ends_as_the_interpreter_says():
    @weft.vertex(wake="neighbors")
    def move(v):
        votes = v.gather_by(lambda u, e: u.label, lambda u, e: e.w, weft.sum)
        v.label = votes.argmax()[0]

    g = weft.generators.rmat(6, 4, seed=8, directed=True)
    g.edge["w"] = np.ones(g.num_edges)
    fields = {"label": np.arange(g.num_vertices)}
    agreed(g, move, fields, mode="iterate", max_iter=6)


def test_refusals_say_what_to_do():
    g = weft.generators.path(3)
    state = g.state(x=weft.full(0.5), n=weft.full(0))
    cases = {
        "must be an integer scalar": lambda v: v.gather_by(lambda u, e: u.x, 1, weft.sum).count(),
        "cannot combine the values": lambda v: v.gather_by(lambda u, e: u.n, 1, weft.any).count(),
        "two hops go in one": lambda v: v.gather_by(
            lambda u, e, w, f: w.id, 1, weft.sum, direction="both"
        ).count(),
        "direction='up' is not known": lambda v: v.gather_by(
            lambda u, e: u.n, 1, weft.sum, direction="up"
        ).count(),
    }
    for message, function in cases.items():

        def assign(v, function=function):
            v.n = function(v)

        with pytest.raises(TraceError, match=message):
            g.run(weft.vertex(assign), state)
    with pytest.raises(ConfigError, match="it gathers by key"):
        g.iterate(wide, g.state(kinds=weft.full(0)), change_driven=True)
