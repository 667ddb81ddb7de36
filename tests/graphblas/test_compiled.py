"""Products in compiled kernels give what NumPy's give, on the processor and in the emulation."""

import numpy as np
import pytest

import weft.graphblas as gb


@pytest.fixture(scope="module")
def operands():
    rng = np.random.default_rng(7)
    rows, cols = np.nonzero(rng.random((30, 23)) < 0.2)
    A = gb.Matrix.from_coo(rows, cols, rng.integers(-3, 5, len(rows)), nrows=30, ncols=23)
    u = gb.Vector.from_coo(np.arange(0, 23, 2), rng.integers(-3, 5, 12), size=23)
    w = gb.Vector.from_dense(rng.integers(-3, 5, 23))
    m = gb.Vector.from_coo([0, 3, 7, 9, 28], [1, 0, 1, 1, 0], size=30)
    return A, u, w, m


def both(compute, **choices):
    """Return what a computation gives in NumPy and compiled."""
    with gb.options(kernel="numpy"):
        expected = compute()
    with gb.options(kernel="compiled", direction="pull", **choices):
        return compute(), expected


def check(compute, **choices):
    got, expected = both(compute, **choices)
    assert got.isequal(expected, check_dtype=True)


def test_matrix_by_vector(operands):
    A, u, w, m = operands
    check(lambda: gb.semiring.min_plus(A @ u).new())
    check(lambda: gb.semiring.min_plus(A @ w).new())
    check(lambda: gb.semiring.min_plus(A @ u).new(mask=~m.V))


def test_vector_by_matrix_of_a_user_defined_semiring(operands):
    A, _, _, m = operands
    half = gb.binary.register_anonymous(lambda x, y: 2 * x - y)
    own = gb.semiring.register_anonymous(gb.monoid.plus, half)
    check(lambda: own(m @ A).new())


def test_structure_only_products_of_booleans(operands):
    A, u, _, _ = operands
    check(lambda: gb.semiring.lor_land(A.dup(bool) @ u.dup(bool)).new())


def test_rows_of_a_matrix_by_rows_of_itself():
    rng = np.random.default_rng(3)
    rows, cols = np.nonzero(np.tril(rng.random((25, 25)) < 0.3, -1))
    L = gb.Matrix.from_coo(rows, cols, rng.random(len(rows)), nrows=25, ncols=25)
    check(lambda: gb.semiring.plus_pair(L @ L.T).new(mask=L.S))
    got, expected = both(lambda: gb.semiring.plus_times(L @ L.T).new(mask=L.S))
    assert got.isclose(expected)


def test_operators_that_cannot_be_traced_run_in_numpy(operands):
    A, u, _, _ = operands
    assert (
        gb.semiring.plus_cdiv(A @ u)
        .new()
        .isequal(both(lambda: gb.semiring.plus_cdiv(A @ u).new())[0])
    )


@pytest.mark.parametrize("name", ["plus_times", "plus_pair", "plus_first", "plus_second"])
@pytest.mark.parametrize("dtype", ["INT32", "FP64"])
def test_large_sums_keep_zeros(name, dtype, monkeypatch):
    rng = np.random.default_rng(5)
    rows, cols = np.nonzero(rng.random((40, 40)) < 0.3)
    A = gb.Matrix.from_coo(rows, cols, rng.integers(-2, 3, len(rows)), dtype, nrows=40, ncols=40)
    semiring = getattr(gb.semiring, name)
    expected = semiring(A @ A.T).new()
    assert name == "plus_pair" or 0 in expected.to_coo()[2]
    monkeypatch.setattr("weft.graphblas.kernels.multiply.WORTH_SCIPY", 0)
    assert semiring(A @ A.T).new().isequal(expected, check_dtype=True)


def test_push_and_pull_agree(operands):
    A, u, _, _ = operands
    with gb.options(direction="push"):
        pushed = gb.semiring.max_plus(A @ u).new()
    with gb.options(direction="pull"):
        assert gb.semiring.max_plus(A @ u).new().isequal(pushed)


def test_unknown_options_are_refused():
    with pytest.raises(ValueError, match="direction"), gb.options(direction="sideways"):
        pass
    with pytest.raises(ValueError, match="option"), gb.options(speed=9):
        pass


def test_memory_counts_kernels():
    assert gb.memory()["kernels"] >= 0


@pytest.mark.parametrize(
    ("size", "error"), [(-1, OverflowError), (1.5, TypeError), ("a", TypeError)]
)
def test_impossible_sizes_are_refused(size, error):
    for make in (
        lambda: gb.Vector(int, size),
        lambda: gb.Matrix(int, 2, size),
        lambda: gb.Vector.from_coo([0], [1], size=size),
        lambda: gb.Vector(int, 2).resize(size),
        lambda: gb.Matrix(int, 2, 2).resize(size, 2),
    ):
        with pytest.raises(error, match="must"):
            make()


def test_sums_of_booleans_by_row():
    A = gb.Matrix.from_coo([0, 0, 1], [0, 1, 1], [True, True, False])
    assert A.reduce_rowwise("+").new().to_dict() == {0: True, 1: False}
    with pytest.raises(TypeError, match="Monoid"):
        A.reduce_scalar("+")
