"""Products of matrices by the GPU's own kernels give what NumPy's give, in every bin and form."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft.graphblas as gb
from graphblas_operands import FORMS, agree, from_rows, matrix
from weft.graphblas.gpu import dense, sparse
from weft.graphblas.gpu.entries import resident

DEVICES = ["emulated", pytest.param("cuda", marks=pytest.mark.cuda)]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("form", FORMS)
def test_every_bin(form, device):
    rng = np.random.default_rng(5)
    B = from_rows(rng, [0, 3, *[20, 100] * 75], 20_000)
    # Products of rows: none, few, and for every bin; the last row has entries in several tiles.
    A = from_rows(rng, [0, 1, 1, 1, 2, 8, 30, 60, 0, 140, 0], 152)
    A[10, 1], A[10, 0] = 2, 3
    M = from_rows(rng, [5, 20, 10, 0, 100, 400, 600, 3000, 7, 9000, 4], 20_000)
    M[10, int(B[1, :].new().to_coo()[0][1])] = 1
    seen = set()
    launch = sparse.Kernels.launch

    def spy(self, name, *args, **kwargs):
        seen.add(name.rpartition("_")[2])
        launch(self, name, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparse.Kernels, "launch", spy)
        agree(lambda: gb.semiring.plus_times(A @ B).new(mask=FORMS[form](M)), device)
    assert {"list", "small", "warp", "wide", "block", "tile"} <= seen or form == "values"


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("form", FORMS)
def test_rows_that_are_all_short(form, device):
    rng = np.random.default_rng(12)
    A = from_rows(rng, [0, 3, 1, 2, 4, 0, 2] * 30, 210)
    B, M = from_rows(rng, [1, 0, 3, 4] * 52 + [2, 2], 300), from_rows(rng, [2, 0, 16] * 70, 300)
    agree(lambda: gb.semiring.min_plus(A @ B).new(mask=FORMS[form](M)), device)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("name", "dtype"),
    [("min_plus", np.float32), ("max_plus", np.int16), ("any_pair", np.int64), ("lor_land", bool),
     ("plus_pair", np.uint8), ("times_first", np.float64), ("bor_band", np.uint32)],
)  # fmt: skip
def test_semirings(name, dtype, device):
    rng = np.random.default_rng(6)
    A, B = matrix(rng, (30, 25), 0.3, dtype), matrix(rng, (25, 40), 0.3, dtype)
    M, F = matrix(rng, (30, 40), 0.4), gb.Matrix.from_dense(np.ones((25, 9), dtype))
    semiring = getattr(gb.semiring, name)
    if name == "any_pair":
        semiring = gb.semiring.any_pair
    for form in (None, M.S, ~M.S):
        agree(lambda form=form: semiring(A @ B).new(mask=form), device)
    agree(lambda: semiring(A @ F).new(), device)


@pytest.mark.parametrize("device", DEVICES)
def test_own_operators_and_nan(device):
    rng = np.random.default_rng(7)
    own = gb.semiring.register_anonymous(
        gb.monoid.max, gb.binary.register_anonymous(lambda x, y: x * 2 + y)
    )
    A, B = matrix(rng, (20, 20), 0.2), matrix(rng, (20, 20), 0.2)
    agree(lambda: own(A @ B).new(), device)
    A[3, 4] = np.nan
    B[4, 5] = np.inf
    with gb.options(kernel="numpy"):
        rows, cols, expected = gb.semiring.min_plus(A @ B).new().to_coo()
    with gb.options(kernel="compiled", device=device):
        *found, values = gb.semiring.min_plus(A @ B).new().to_coo()
    assert np.array_equal(found, (rows, cols))
    np.testing.assert_array_equal(values, expected)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("width", [1, 3, 64, 130])
@pytest.mark.parametrize("kernel", ["row", "merge"])
def test_dense_products(width, kernel, device, monkeypatch):
    rng = np.random.default_rng(8)
    # Rows without entries, short rows, and rows over several shares, which are cut into parts.
    monkeypatch.setattr(dense, "LONGEST", 128)
    if width > 3:
        monkeypatch.setattr(dense, "BUSY", 1)  # several rows for each warp
    A = from_rows(rng, [0, 300, 1, 2, 0, 0, 5, 500, 3, 128, 0], 600, np.float32)
    F = gb.Matrix.from_dense(rng.integers(-3, 5, (600, width)).astype(np.float32))
    M = matrix(rng, (11, width), 0.5)
    agree(lambda: gb.semiring.plus_times(A @ F).new(), device, kernel=kernel)
    agree(lambda: gb.semiring.min_plus(A @ F).new(mask=M.S), device, kernel=kernel)
    agree(lambda: gb.semiring.min_plus(A @ F).new(mask=~M.S), device, kernel=kernel)


def test_the_kernel_of_a_dense_product():
    rng = np.random.default_rng(9)
    short, long = (resident(from_rows(rng, [n] * 20, 50)._store, "emulated") for n in (9, 10))
    with gb.options(device="emulated"):
        assert dense.merges(short) and not dense.merges(long)
        with gb.options(kernel="row"):
            assert not dense.merges(short)
        with gb.options(kernel="merge"):
            assert dense.merges(long)
        with gb.config.set(merge_below=20):
            assert dense.merges(long)


def test_parts_of_long_rows():
    rng = np.random.default_rng(9)
    entries = resident(from_rows(rng, [3, 0, 21, 10, 11, 30], 50)._store, "emulated")
    rows, first, row, begin = entries.parts(10)
    assert rows.tolist() == [2, 4, 5] and first.tolist() == [0, 3, 5, 8]
    assert row.tolist() == [2, 2, 2, 4, 4, 5, 5, 5]
    assert begin.tolist() == [3, 13, 23, 34, 44, 45, 55, 65]
    assert entries.parts(10) is entries.parts(10) and entries.parts(30) is None


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [np.int16, np.float64])
def test_unions_and_intersections(dtype, device):
    rng = np.random.default_rng(11)
    A = from_rows(rng, [0, 30, 1, 500, 0, 9, 2], 600, dtype)
    B = from_rows(rng, [3, 40, 0, 400, 0, 9, 0], 600, np.float32)
    agree(lambda: gb.binary.minus(A | B).new(), device)
    agree(lambda: gb.binary.minus(A & B).new(), device)
    agree(lambda: gb.binary.minus(A | B, left_default=2, right_default=3).new(), device)
    agree(lambda: gb.binary.lt(A & A).new(), device)
    none = gb.Matrix(dtype, 7, 600)
    agree(lambda: gb.binary.plus(A | none).new(), device)
    assert agree(lambda: gb.binary.plus(A & none).new(), device) is None


@pytest.mark.parametrize("device", DEVICES)
def test_results_stay_on_the_device(device):
    rng = np.random.default_rng(10)
    A = matrix(rng, (30, 30), 0.2)
    with gb.options(kernel="compiled", device=device):
        squared = gb.semiring.plus_times(A @ A).new()
        assert squared.nvals and squared._store._values is None
        entries = A._store.resident[device]
        cubed = gb.semiring.plus_times(squared @ A).new()
        assert A._store.resident[device] is entries
        assert cubed.nvals and squared._store._values is None
    with gb.options(kernel="numpy"):
        assert cubed.isequal(gb.semiring.plus_times(A @ gb.semiring.plus_times(A @ A)).new())


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(list(FORMS)), st.booleans())
def test_drawn_products(seed, form, full):
    rng = np.random.default_rng(seed)
    n, m, k = rng.integers(1, 12, 3)
    A = matrix(rng, (n, m), rng.random(), np.int64)
    B = matrix(rng, (m, k), 2 if full else rng.random(), np.int64)
    M = matrix(rng, (n, k), rng.random())
    if not A.nvals or not B.nvals:
        return
    agree(lambda: gb.semiring.min_plus(A @ B).new(mask=FORMS[form](M)), "emulated")
