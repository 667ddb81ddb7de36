"""Filter, uniquify and compute beside NumPy, and the heuristics against duplicates."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from operator_cases import arcs_of, cases, on_devices, passed
from weft.errors import ConfigError, TraceError
from weft.operators import Queue, Tables, compute, filter, uniquify
from weft.operators.dedup import without_duplicates

HEURISTICS = ("none", "bitmask", "history", "warp", "exact")


def keep_odd(v):
    v.y += 1
    return v.x % 2 == 1


def odd(v):
    return v.x % 2 == 1


def raise_y(v):
    v.y += 1


def check(g, given_to, members):
    n, on = g.num_vertices, np.isin(np.arange(g.num_vertices), members)
    state = g.state(x=np.arange(n) * 7 % 5, y=weft.full(0))
    want = on & (state.x.copy() % 2 == 1)
    found = filter(g, given_to, keep_odd, state)
    assert found.tolist() == np.flatnonzero(want).tolist() and not isinstance(found, Queue)
    assert state.y.tolist() == on.astype(int).tolist()
    assert filter(g, given_to, None, state, cond=odd, apply=raise_y).tolist() == found.tolist()
    assert state.y.tolist() == (on.astype(int) + want).tolist()
    same = compute(g, given_to, raise_y, state)
    assert set(same.tolist()) == set(members)
    assert state.y.tolist() == (2 * on + want).tolist()


@settings(max_examples=25)
@given(cases())
def test_filter_and_compute(case):
    edges, members, kind = case
    g = edges.build().to("reference")
    given_to = passed(g, members, kind)
    check(g, given_to, members)
    found = uniquify(g, given_to)
    assert found.tolist() == sorted(set(members)) and not isinstance(found, Queue)


@pytest.mark.parametrize("device", ["cpu", "emulated"])
def test_compiled(device):
    g = weft.generators.path(40).to(device)
    check(g, [1, 3, 5, 20], [1, 3, 5, 20])


def test_arcs(device="reference"):
    g = weft.generators.rmat(5, 4, seed=2, weights="int", directed=True).to(device)
    src, dst, weight = arcs_of(g)
    state = g.state(x=weft.full(0))
    some = np.arange(0, len(src), 3)
    found = filter(g, g.edge_frontier(some), lambda u, v, e: e.weight > 20, state)
    assert found.arcs and found.tolist() == some[weight[some] > 20].tolist()

    def add(u, v, e):
        v.x += 1

    same = compute(g, found, add, state)
    assert same is found
    assert state.x.tolist() == np.bincount(dst[found.items], minlength=g.num_vertices).tolist()


@settings(max_examples=60)
@given(st.lists(st.integers(0, 40), max_size=900), st.integers(1, 70), st.integers(1, 70))
def test_heuristics_drop_copies_only(items, history, warp):
    queue, tables = np.array(items, np.int64), Tables(history, warp)
    sizes = {}
    for name in HEURISTICS:
        left = without_duplicates(queue, name, tables)
        assert set(left.tolist()) == set(items)
        assert is_subsequence(left.tolist(), items)
        sizes[name] = len(left)
    assert sizes["none"] == len(items) and sizes["exact"] == len(set(items))


def is_subsequence(short, long):
    rest = iter(long)
    return all(item in rest for item in short)


def test_each_heuristic_beside_its_definition():
    items = np.random.default_rng(0).integers(0, 50, 700)
    tables = Tables(history=16, warp=8)
    slots = items.astype(np.int64) * 2654435761 % 2**32
    seen, bits = set(), []
    table, history = {}, []
    warps = []
    for begin in range(0, len(items), 32):
        if begin % 256 == 0:
            table = {}
        lanes = range(begin, min(begin + 32, len(items)))
        bits += [items[k] not in seen for k in lanes]
        seen |= {items[k] for k in lanes}
        history += [table.get(slots[k] % 16) != items[k] for k in lanes]
        table |= {slots[k] % 16: items[k] for k in lanes}
        own = {slots[k] % 8: k for k in lanes}
        warps += [items[own[slots[k] % 8]] != items[k] or own[slots[k] % 8] == k for k in lanes]
    for name, kept in (("bitmask", bits), ("history", history), ("warp", warps)):
        left = without_duplicates(items, name, tables)
        assert left.tolist() == items[np.array(kept)].tolist(), name


@on_devices
def test_a_queue_keeps_the_copies_that_a_heuristic_leaves(device):
    g = weft.generators.path(40).to(device)
    items = np.random.default_rng(1).integers(0, 40, 300)
    state = g.state(x=np.arange(40), y=weft.full(0))
    odd_ones = items[items % 2 == 1]
    for name in HEURISTICS:
        found = filter(g, Queue(g, items), keep_odd, state, dedup=name, tables=Tables(8, 4))
        if name == "exact":
            assert found.tolist() == np.unique(odd_ones).tolist()
        else:
            want = without_duplicates(odd_ones, name, Tables(8, 4))
            assert isinstance(found, Queue) and found.tolist() == want.tolist()
            assert len(found) == len(want)
    assert (state.y == 5).sum() == len(np.unique(items))
    assert repr(Queue(g, [1, 1])) == "Queue(2 items, 1 vertices)"
    assert len(Queue(g, [])) == 0 and not Queue(g, [])
    assert Queue(g, Queue(g, [2, 1, 2])).tolist() == [2, 1, 2]
    assert Queue(g, g.frontier([2, 1])).tolist() == [1, 2]


def test_misuse_is_told():
    g = weft.generators.path(4).to("reference")
    state = g.state(x=weft.full(0), y=weft.full(0))
    with pytest.raises(TraceError, match="raise_y returned nothing, but filter has output="):
        filter(g, None, raise_y, state)
    with pytest.raises(TraceError, match="odd returned a value, but compute keeps its frontier"):
        compute(g, None, odd, state)
    with pytest.raises(ConfigError, match="dedup='exactly' is not known"):
        filter(g, None, odd, state, dedup="exactly")
    with pytest.raises(ConfigError, match="history=0 is not possible"):
        Tables(history=0)
    with pytest.raises(TraceError, match="takes a function of v, but got <weft"):
        filter(g, None, weft.edge(lambda u, v, e: True), state)
    with pytest.raises(TraceError, match="Expected a plain Python function"):
        filter(g, None, 3, state)
