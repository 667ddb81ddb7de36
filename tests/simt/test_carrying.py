"""Fields of all sizes are carried into another order of the vertices, several at a time."""

import numpy as np
import pytest

from weft.arrays.device import parse_device
from weft.backends.cuda.host.reorder_fields import TOGETHER, can_carry, carry, source_and_headers

KINDS = ("bool", "int16", "float32", "int64", "uint8", "complex64")


@pytest.mark.parametrize("places", ["int32", "int64"])
def test_what_lies_at_a_place_comes_to_its_number(places, compile_cuda):
    rng = np.random.default_rng(3)
    for n in (1, 700):
        order = rng.permutation(n).astype(places)
        sources = [rng.integers(0, 99, n).astype(kind) for kind in KINDS]
        pairs = [(source, np.zeros_like(source)) for source in sources]
        assert len(pairs) > TOGETHER and all(can_carry(source) for source in sources)
        carry(parse_device("emulated"), order, pairs)
        for source, target in pairs:
            np.testing.assert_array_equal(target, source[order])


def test_it_compiles_for_a_gpu(compile_cubin):
    source, kernels, headers = source_and_headers()
    assert compile_cubin(source, kernels, headers, "sm_90").startswith(b"\x7fELF")


def test_rows_of_features_and_gaps_are_left_to_others():
    values = np.zeros((8, 2))
    assert not can_carry(values) and not can_carry(values[:, 0])
    assert not can_carry(np.zeros(8, complex)) and can_carry(np.zeros(8))
