"""Products of weft.graphblas in kernels on the GPU give what NumPy's give."""

import numpy as np
import pytest

import weft.graphblas as gb

pytestmark = pytest.mark.cuda


@pytest.fixture(scope="module")
def operands():
    rng = np.random.default_rng(7)
    rows, cols = np.nonzero(rng.random((60, 43)) < 0.2)
    A = gb.Matrix.from_coo(rows, cols, rng.integers(-3, 5, len(rows)), nrows=60, ncols=43)
    u = gb.Vector.from_coo(np.arange(0, 43, 2), rng.integers(-3, 5, 22), size=43)
    mask = gb.Vector.from_coo([0, 3, 7, 9, 48], True, size=60)
    return A, u, mask


def check(device, compute):
    with gb.options(kernel="numpy"):
        expected = compute()
    with gb.options(kernel="compiled", direction="pull", device=device):
        assert compute().isequal(expected, check_dtype=True)


def test_matrix_by_vector(device, operands):
    A, u, _ = operands
    check(device, lambda: gb.semiring.min_plus(A @ u).new())


def test_masked_user_defined_semiring(device, operands):
    A, u, mask = operands
    own = gb.binary.register_anonymous(lambda x, y: 2 * x - y)
    semiring = gb.semiring.register_anonymous(gb.monoid.plus, own)
    check(device, lambda: semiring(A @ u).new(mask=mask.S))


def test_rows_by_rows_under_a_mask(device):
    rng = np.random.default_rng(3)
    rows, cols = np.nonzero(np.tril(rng.random((50, 50)) < 0.3, -1))
    L = gb.Matrix.from_coo(rows, cols, rng.integers(1, 9, len(rows)), nrows=50, ncols=50)
    check(device, lambda: gb.semiring.plus_times(L @ L.T).new(mask=L.S))
