"""Products with vectors by the GPU's own kernels give what NumPy's give, in every form."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft.graphblas as gb
from graphblas_operands import FORMS, from_rows, matrix
from weft.graphblas.gpu import vectors

DEVICES = ["emulated", pytest.param("cuda", marks=pytest.mark.cuda)]
SEMIRINGS = [
    ("min_plus", np.float32), ("plus_times", np.float64), ("max_first", np.int16),
    ("any_pair", np.int64), ("lor_land", bool), ("land_lor", bool), ("plus_pair", np.uint8),
    ("times_second", np.int8), ("min_minus", np.uint32),
]  # fmt: skip
COMPLEMENTS = {**FORMS, "other values": lambda m: ~m.V}


def vector(rng, size, share, dtype):
    places = np.flatnonzero(rng.random(size) < share)
    return gb.Vector.from_coo(places, rng.integers(-3, 5, len(places)).astype(dtype), size=size)


def agree(compute, device, **choices):
    with gb.options(kernel="numpy"):
        expected = compute().wait()
    with gb.options(kernel="compiled", device=device, **choices):
        found = compute().wait()
        assert found._store.is_away
        assert found.nvals == expected.nvals
    assert found.isequal(expected, check_dtype=True)


@pytest.fixture(params=DEVICES)
def device(request, monkeypatch):
    monkeypatch.setattr(vectors, "LONGEST", 32)  # so that rows are cut into parts
    return request.param


@pytest.mark.parametrize("direction", ["push", "pull"])
@pytest.mark.parametrize(("name", "dtype"), SEMIRINGS)
def test_semirings_and_masks(name, dtype, direction, device):
    rng = np.random.default_rng(3)
    # Rows without entries, short ones, and such as a push and a pull cut into parts.
    A = from_rows(rng, [0, 3, 400, 1, 64, 65, 0, 33, 9, *([2] * 40)], 430, dtype)
    semiring = getattr(gb.semiring, name)
    m = vector(rng, 49, 0.5, np.int64)
    for share in (0.3, 1.0):
        u, v = vector(rng, 430, share, dtype), vector(rng, 49, share, dtype)
        for mask in (None, m.S, ~m.S):
            agree(lambda u=u, m=mask: semiring(A @ u).new(mask=m), device, direction=direction)
        if name in {"min_plus", "lor_land"}:
            agree(lambda v=v: semiring(v @ A).new(), device, direction=direction)
            agree(lambda u=u: semiring(u @ A.T).new(), device, direction=direction)


@pytest.mark.parametrize("direction", ["push", "pull"])
def test_writes(direction, device):
    rng = np.random.default_rng(4)
    A, u = matrix(rng, (40, 30), 0.2, np.int64), vector(rng, 30, 0.6, np.int64)
    w, m = vector(rng, 40, 0.5, np.float64), vector(rng, 40, 0.5, np.int64)
    full = gb.Vector.from_scalar(2.0, 40)

    def written(target, accum, replace, form):
        def compute():
            t = target.dup()
            mask = COMPLEMENTS[form](m)
            t(mask=mask, accum=accum, replace=replace and mask is not None) << gb.semiring.min_plus(
                A @ u
            )
            return t

        return compute

    for target in (w, full, gb.Vector(float, 40)):
        for accum in (None, gb.binary.plus):
            for form in ("plain", "inside", "other values"):
                for replace in (False, True)[: 1 + (form != "plain")]:
                    agree(written(target, accum, replace, form), device, direction=direction)


def test_own_operators_and_nan(device):
    rng = np.random.default_rng(5)
    own = gb.semiring.register_anonymous(
        gb.monoid.max, gb.binary.register_anonymous(lambda x, y: x * 2 - y)
    )
    A, u = matrix(rng, (50, 43), 0.2), vector(rng, 43, 0.5, np.float64)
    for direction in ("push", "pull"):
        agree(lambda: own(A @ u).new(), device, direction=direction)
    A[3, 4], u[4] = np.nan, np.inf
    for direction in ("push", "pull"):
        with gb.options(kernel="numpy"):
            expected = gb.semiring.min_plus(A @ u).new().to_coo()
        with gb.options(kernel="compiled", device=device, direction=direction):
            found = gb.semiring.min_plus(A @ u).new().to_coo()
        np.testing.assert_array_equal(found, expected)


def test_the_direction_is_a_matter_of_cost(device):
    rng = np.random.default_rng(6)
    A = from_rows(rng, [4] * 100, 100)
    A.T.new()
    with gb.options(kernel="compiled", device=device):
        for share, name in ((0.03, "_push"), (1.0, "_pull")):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(vectors, name, lambda *_: 1 / 0)
                with pytest.raises(ZeroDivisionError):
                    gb.semiring.min_plus(vector(rng, 100, share, np.float64) @ A).new().wait()


@settings(max_examples=4, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(["push", "pull"]))
def test_drawn_products(seed, direction):
    rng = np.random.default_rng(seed)
    shape = int(rng.integers(1, 90)), int(rng.integers(1, 90))
    A = matrix(rng, shape, rng.random() + 0.02, np.int64)
    if not A.nvals:
        return
    u, v = vector(rng, shape[1], rng.random(), np.int64), vector(rng, shape[0], 0.5, np.int64)
    for name in ("min_plus", "plus_times", "any_pair"):
        semiring = getattr(gb.semiring, name)
        agree(lambda s=semiring: s(A @ u).new(mask=~v.S), "emulated", direction=direction)
        agree(lambda s=semiring: s(v @ A).new(), "emulated", direction=direction)
