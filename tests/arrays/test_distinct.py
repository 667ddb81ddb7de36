import numpy as np
import pytest

from weft.arrays.distinct import distinct


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8, np.uint64])
@pytest.mark.parametrize("size", [0, 1, 2, 500])
def test_values_are_those_of_unique(dtype, size):
    values = np.random.default_rng(size).integers(0, 100, size).astype(dtype)
    before, found = values.copy(), distinct(values)
    assert found.dtype == dtype and (values == before).all()
    assert found.tolist() == np.unique(values).tolist() and not np.shares_memory(found, values)
