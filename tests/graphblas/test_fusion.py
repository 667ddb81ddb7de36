"""Several operations in one kernel give what they give one after another, in both modes."""

import itertools

import numpy as np
import pytest

import weft.graphblas as gb
from weft.graphblas.compiled import fused, multiply
from weft.graphblas.settings import execution


@pytest.fixture
def seen(monkeypatch):
    """Return the list of kernels that did several operations."""
    found = []
    for module, name in ((fused, "vector_into"), (multiply, "total_masked_by_itself")):
        kernel = getattr(module, name)

        def call(*args, kernel=kernel, name=name):
            made = kernel(*args)
            if made is not None:
                found.append(name)
            return made

        monkeypatch.setattr(module, name, call)
    return found


@pytest.fixture(scope="module")
def operands():
    rng = np.random.default_rng(2)
    places = np.nonzero(rng.random((30, 23)) < 0.2)
    A = gb.Matrix.from_coo(*places, rng.integers(-3, 5, len(places[0])), nrows=30, ncols=23)
    full = gb.Vector.from_dense(rng.integers(-3, 5, 23))
    part = gb.Vector.from_coo(np.arange(0, 23, 2), rng.integers(-3, 5, 12), size=23)
    m = gb.Vector.from_coo([0, 3, 7, 9, 28], [1, 0, 1, 1, 0], size=30)
    w = gb.Vector.from_coo(np.arange(0, 30, 3), rng.integers(1, 9, 10), size=30)
    return A, full, part, m, w


def variants(m):
    for accum, mask, replace in itertools.product(
        (None, gb.binary.plus), (None, m.S, ~m.V), (False, True)
    ):
        if mask is not None or not replace:
            keywords = {} if accum is None else {"accum": accum}
            yield keywords if mask is None else {**keywords, "mask": mask, "replace": replace}


@pytest.mark.parametrize("blocking", [True, False])
def test_products_are_written_by_their_kernel(operands, seen, blocking):
    A, full, part, m, w = operands
    for u, how in itertools.product((full, part), variants(m)):
        results = []
        for kernel in ("numpy", "compiled"):
            with gb.options(kernel=kernel, direction="pull"), execution(blocking):
                out = w.dup()
                out(**how) << gb.semiring.min_plus(A @ u)
                results.append(out.wait())
        assert results[0].isequal(results[1], check_dtype=True), how
    # All that accumulate.
    assert len(seen) == 10


def test_an_operator_follows_in_the_same_kernel(operands, seen):
    A, full, part, m, w = operands
    for u in (full, part):
        results = []
        for kernel in ("numpy", "compiled"):
            with gb.options(kernel=kernel, direction="pull"), execution(blocking=False):
                out = w.dup(float)
                out(~m.S, gb.binary.plus) << gb.unary.exp(
                    gb.semiring.min_times(A.dup(float) @ u).new()
                )
                results.append(out.wait())
        assert results[0].isclose(results[1])
    assert seen == ["vector_into"] * 2


def test_what_is_still_needed_is_stored(operands, seen):
    A, full, *_ = operands
    with gb.options(kernel="compiled", direction="pull"), execution(blocking=False):
        product = gb.semiring.min_plus(A @ full).new()
        negative = gb.unary.ainv(product).new().wait()
        assert gb.unary.ainv(negative).new().isequal(product)
    assert seen == []


@pytest.mark.parametrize("name", ["plus_pair"])
def test_a_sum_of_a_masked_product_is_never_stored(seen, name):
    rng = np.random.default_rng(4)
    places = np.nonzero(np.tril(rng.random((25, 25)) < 0.3, -1))
    L = gb.Matrix.from_coo(*places, rng.integers(1, 5, len(places[0])), nrows=25, ncols=25)
    semiring = getattr(gb.semiring, name)
    monoid = semiring.monoid

    def compute(x):
        return semiring(x @ x.T).new(mask=x.S).reduce_scalar(monoid).new().get()

    with gb.options(kernel="numpy"):
        expected = compute(L)
    with gb.options(kernel="compiled"), execution(blocking=False):
        assert compute(L) == expected
        assert seen == ["total_masked_by_itself"]
        assert compute(gb.select.tril(L, -20).new()) is None
        assert type(expected) is type(compute(L))


def test_errors_come_at_once(operands):
    A, full, *_ = operands
    with execution(blocking=False):
        with pytest.raises(gb.exceptions.DimensionMismatch):
            gb.semiring.min_plus(A.T @ full)
        out = gb.Vector(int, 29)
        with pytest.raises(gb.exceptions.DimensionMismatch):
            out << gb.semiring.min_plus(A @ full)
        assert out.nvals == 0
