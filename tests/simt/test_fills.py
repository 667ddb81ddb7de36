"""First values of fields, several by one launch."""

import numpy as np
import pytest

from weft.arrays.device import parse_device
from weft.backends.cuda.host.initial_fields import (
    TOGETHER,
    can_fill,
    fill_fields,
    source_and_headers,
)

STARTS = [
    ("int32", -1, 0), ("float64", 0.1, np.inf), ("int64", -(2**40), 2**62 + 5), ("uint32", 7, None),
    ("float32", np.inf, -0.0), ("uint64", 2**64 - 1, 3), ("int64", -1, None),
]  # fmt: skip


@pytest.mark.parametrize("n", [1, 3, 4, 1025])
def test_every_value_comes_where_it_belongs(n, compile_cuda):
    for place in {0, n // 2, n - 1}:
        starts, want = [], []
        for kind, value, other in STARTS:
            others = [] if other is None else [(place, other)]
            starts.append((np.full(n, 99, kind), value, others))
            want.append(np.full(n, value, kind))
            if other is not None:
                want[-1][place] = other
        assert len(starts) > TOGETHER and all(can_fill(a, others) for a, _, others in starts)
        fill_fields(parse_device("emulated"), starts)
        for (got, _, _), values in zip(starts, want, strict=True):
            assert got.tobytes() == values.tobytes()


def test_it_compiles_for_a_gpu(compile_cubin):
    source, kernels, headers = source_and_headers()
    assert compile_cubin(source, kernels, headers, "sm_90").startswith(b"\x7fELF")


def test_other_fields_are_filled_one_by_one(compile_cuda):
    assert can_fill(np.zeros((8, 2)), ()) and not can_fill(np.zeros(8, np.int8), ())
    starts = [
        (np.zeros(5, np.int8), -1, [(1, 7)]), (np.zeros((3, 2)), 2.5, [(1, 4.0)]),
        (np.zeros(4), 1.5, [(0, 2.0), (3, 3.0)]), (np.zeros((3, 2), np.int32), 9, []),
    ]  # fmt: skip
    assert [can_fill(array, others) for array, _, others in starts] == [False] * 3 + [True]
    fill_fields(parse_device("emulated"), starts)
    assert starts[0][0].tolist() == [-1, 7, -1, -1, -1]
    assert starts[1][0].tolist() == [[2.5, 2.5], [4.0, 4.0], [2.5, 2.5]]
    assert starts[2][0].tolist() == [2.0, 1.5, 1.5, 3.0] and (starts[3][0] == 9).all()
