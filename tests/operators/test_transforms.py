"""Transforms beside NumPy: index spaces, scans, work lists, segments, compaction and sets."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from operator_cases import arcs_of, cases, passed
from weft.errors import ConfigError, GraphError, TraceError
from weft.operators import (
    compact_transform,
    lbs_transform,
    scan_transform,
    segments,
    segreduce_transform,
    set_transform,
    transform,
)
from weft.operators.set_transform import OPERATIONS, balanced_path

SCANS = {
    weft.sum: np.add, weft.prod: np.multiply, weft.min: np.minimum, weft.max: np.maximum,
    weft.or_: np.bitwise_or, weft.and_: np.bitwise_and,
}  # fmt: skip
SETS = {
    "union": np.union1d, "intersection": np.intersect1d, "difference": np.setdiff1d,
    "symmetric_difference": np.setxor1d,
}  # fmt: skip


def value(v, idx):
    return v.x * 100 + idx


def large(v, idx):
    return (v.x > 3) | (idx == 0)


def place(u, v, e, idx, segment, rank):
    return idx, segment, rank, v.id + e.weight


def weigh(u, v, e, idx, segment, rank):
    return (idx + 1) * e.weight


def check(g, given_to, members):
    items = np.unique(np.array(members, np.int64))
    x = np.arange(g.num_vertices) * 7 % 11
    state = g.state(x=x)
    want = x[items] * 100 + np.arange(len(items))
    assert transform(g, given_to, value, state).tolist() == want.tolist()
    kept = (x[items] > 3) | (np.arange(len(items)) == 0)
    assert compact_transform(g, given_to, large, state).tolist() == items[kept].tolist()
    values = compact_transform(g, given_to, large, state, value=value)
    assert values.tolist() == want[kept].tolist()
    src, dst, weight = arcs_of(g)
    rows = [np.flatnonzero(src == u) for u in items]
    arcs = np.concatenate([*rows, np.zeros(0, np.int64)]).astype(np.int64)
    found = lbs_transform(g, given_to, place, state)
    assert found[0].tolist() == list(range(len(arcs)))
    assert found[1].tolist() == [k for k, row in enumerate(rows) for _ in row]
    assert found[2].tolist() == [r for row in rows for r in range(len(row))]
    assert found[3].tolist() == (dst + weight)[arcs].tolist()
    begins = np.cumsum([0, *map(len, rows)])
    sums = [
        int(((begins[k] + np.arange(len(row)) + 1) * weight[row]).sum())
        for k, row in enumerate(rows)
    ]
    assert segreduce_transform(g, given_to, weigh, weft.sum, state).tolist() == sums
    return want


@settings(max_examples=25)
@given(cases(), st.sampled_from(list(SCANS)))
def test_transforms(case, monoid):
    edges, members, kind = case
    g = edges.build().to("reference")
    given_to = passed(g, members, kind)
    want = check(g, given_to, members)
    state = g.state(x=np.arange(g.num_vertices) * 7 % 11)
    found = scan_transform(g, given_to, value, state, monoid=monoid, inclusive=True)
    scanned = SCANS[monoid].accumulate(want) if want.size else want
    assert found.tolist() == scanned.tolist()
    shifted = scan_transform(g, given_to, value, state, monoid=monoid)
    assert shifted[1:].tolist() == scanned.tolist()
    if want.size:
        assert SCANS[monoid](shifted[0], want[0]) == want[0]


@pytest.mark.parametrize("device", [pytest.param("cpu", marks=pytest.mark.slow), "emulated"])
def test_compiled(device):
    g = weft.generators.rmat(4, 3, seed=4, weights="int", directed=True).to(device)
    state = g.state(x=np.arange(16))
    some = [1, 3, 5, 9]
    assert transform(g, some, value, state).tolist() == [100, 301, 502, 903]
    here = g.to("reference")
    want = lbs_transform(here, some, place, here.state(x=np.arange(16)))
    found = lbs_transform(g, some, place, state, schedule="auto")
    assert [part.tolist() for part in found] == [part.tolist() for part in want]


@settings(max_examples=100)
@given(
    st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30)), st.sampled_from(OPERATIONS),
    st.integers(1, 9),
)  # fmt: skip
def test_set_operations_and_any_partition(a, b, operation, partitions):
    g = weft.Graph.from_edges([], [], num_vertices=31)
    found = set_transform(g, sorted(a), sorted(b), operation, partitions=partitions)
    want = SETS[operation](np.array(sorted(a), int), np.array(sorted(b), int))
    assert found.tolist() == want.tolist()
    left, right = np.array(sorted(a), int), np.array(sorted(b), int)
    ends = balanced_path(left, right, partitions)
    assert ends[0] == (0, 0) and ends[-1] == (len(a), len(b))
    for share, (i, j) in enumerate(ends):
        assert abs(i + j - (len(a) + len(b)) * share // partitions) <= 1
        if i and j < len(b):
            assert left[i - 1] != right[j]


def test_scans_of_floats_and_truth_values():
    g = weft.generators.path(5).to("reference")
    state = g.state(x=[1.5, np.nan, -2.0, np.inf, 0.0])
    low = scan_transform(g, None, lambda v, idx: v.x, state, monoid=weft.min)
    assert low.tolist() == [np.inf, 1.5, 1.5, -2.0, -2.0, -2.0]
    some = scan_transform(g, None, lambda v, idx: v.x > 1, state, monoid=weft.or_)
    assert some.tolist() == [False, True, True, True, True, True]
    sums = scan_transform(g, [0, 2], lambda v, idx: v.x, state)
    assert sums.tolist() == [0.0, 1.5, -0.5]


def test_segments_balance_any_list_of_work():
    rows = segments([0, 3, 3, 4]).to("reference")
    values = np.array([5, 1, 2, 8])
    item = rows.edge_state(x=values)
    assert item.x.tolist() == values.tolist()
    found = lbs_transform(rows, None, lambda u, v, e, idx, segment, rank: (segment, rank),
                          rows.state())  # fmt: skip
    assert [part.tolist() for part in found] == [[0, 0, 0, 2], [0, 1, 2, 0]]
    assert segments([0]).num_vertices == 0


def test_misuse_is_told():
    g = weft.generators.path(3)
    state = g.state(x=weft.full(0))
    with pytest.raises(ConfigError, match="operation='join' is not known"):
        set_transform(g, [0], [1], "join")
    with pytest.raises(ConfigError, match="partitions=0 is not possible"):
        set_transform(g, [0], [1], partitions=0)
    with pytest.raises(TraceError, match=r"cannot combine by weft\.any"):
        scan_transform(g, None, value, state, monoid=weft.any)
    with pytest.raises(TraceError, match="got 2 values of an item"):
        scan_transform(g, None, lambda v, idx: (v.x, idx), state)
    with pytest.raises(TraceError, match="Expected 2: v, idx"):
        transform(g, None, lambda v: v.x, state)
    with pytest.raises(TraceError, match=r"returned nothing. Expected a value"):
        transform(g, None, lambda v, idx: None, state)
    with pytest.raises(TraceError, match=r"returned nothing. Expected a condition"):
        compact_transform(g, None, lambda v, idx: None, state)
    with pytest.raises(TraceError, match=r"returned nothing. Expected a message"):
        segreduce_transform(g, None, lambda u, v, e, idx, segment, rank: None, weft.sum, state)
    with pytest.raises(GraphError, match=r"begin with 0 and do not fall"):
        segments([0, 3, 2])
