"""Adjacency by sorted keys, as devices build it, against that by counting."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.topology import adjacency
from weft.topology import adjacency_gpu as device_adjacency
from weft.topology.adjacency import Adjacency

LISTS = st.integers(1, 9).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=40),
        st.sampled_from([np.int32, np.int64]),
    )
)


def ends_of(pairs, dtype):
    ends = np.array(pairs, dtype).reshape(-1, 2)
    return ends[:, 0].copy(), ends[:, 1].copy()


def same(left, right):
    assert (left is None) == (right is None)
    if left is not None:
        np.testing.assert_array_equal(left, right)
        assert left.dtype == right.dtype


@pytest.mark.parametrize("packed", [True, False])
@given(LISTS)
def test_adjacency_by_keys_is_that_by_counting(packed, drawn):
    n, pairs, dtype = drawn
    row, column = ends_of(pairs, dtype)
    limit = 1 << 31 if packed else 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device_adjacency, "_PACKED_VERTICES", limit)
        payload = np.arange(row.size, dtype=np.int32)
        for carried in (None, payload):
            before = row.copy(), column.copy()
            got = device_adjacency.sort_arcs(row, column, n, carried)
            for mine, expected in zip(
                got, adjacency.sort_arcs(row, column, n, carried), strict=True
            ):
                same(mine, expected)
            assert all(np.array_equal(a, b) for a, b in zip(before, (row, column), strict=True))
        arcs = Adjacency(*adjacency.sort_arcs(row, column, n)[:2])
        same(device_adjacency.row_of_slots(arcs.offsets, row.size, dtype), arcs.rows())
        for carried in (None, payload):
            turned, moved = adjacency.transpose(arcs, carried)
            got = device_adjacency.transpose(arcs.offsets, arcs.targets, carried)
            for mine, expected in zip(got, (turned.offsets, turned.targets, moved), strict=True):
                same(mine, expected)
        upper = Adjacency(
            *adjacency.sort_arcs(np.minimum(row, column), np.maximum(row, column), n)[:2]
        )
        both = adjacency.mirror(upper)
        got = device_adjacency.mirror(upper.offsets, upper.targets)
        same(got[0], both.offsets)
        same(got[1], both.targets)
        same(
            device_adjacency.spread_over_mirrored(both.offsets, both.targets, payload * 2.5),
            adjacency.spread_over_mirrored(both, payload * 2.5),
        )


@given(st.lists(st.integers(1, 20), min_size=1, max_size=8))
def test_runs_are_combined_pair_by_pair(lengths):
    starts = np.cumsum([0, *lengths[:-1]])
    values = np.random.default_rng(len(lengths)).integers(-9, 9, sum(lengths))
    for function in (np.add, np.minimum, np.maximum):
        got = device_adjacency.reduce_runs(values, starts, function)
        np.testing.assert_array_equal(got, function.reduceat(values, starts))
