"""Vectors that stay on a GPU: operations place by place, masks, and whole algorithms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft.graphblas as gb
from graphblas_operands import matrix, operations, run
from weft.graphblas import algorithms

DEVICES = ["emulated", pytest.param("cuda", marks=pytest.mark.cuda)]


def vector(rng, size, share, dtype=np.int64):
    places = np.flatnonzero(rng.random(size) < share)
    return gb.Vector.from_coo(places, rng.integers(-3, 5, len(places)).astype(dtype), size=size)


@pytest.mark.parametrize("device", DEVICES)
def test_operations(device):
    rng = np.random.default_rng(12)
    A = matrix(rng, (40, 40), 0.08, np.int64)
    u, v, m = vector(rng, 40, 0.4), vector(rng, 40, 0.5), vector(rng, 40, 0.6)
    away = run(lambda: list(operations(A, u, v, m)), device)
    assert all(away)


@pytest.mark.parametrize("device", DEVICES)
def test_sums_and_counts(device):
    rng = np.random.default_rng(13)
    A, u = matrix(rng, (50, 30), 0.1), vector(rng, 30, 0.7, np.float64)

    def sums():
        t = gb.semiring.plus_times(A @ u).new()
        return [t.nvals, *(t.reduce(getattr(gb.monoid, n)).new().get() for n in ("plus", "max"))]

    with gb.options(kernel="numpy"):
        expected = sums()
    with gb.options(kernel="compiled", device=device):
        assert sums() == expected


@pytest.mark.parametrize("device", DEVICES)
def test_one_value_and_places_as_values(device):
    rng = np.random.default_rng(17)
    A, u, m = matrix(rng, (30, 30), 0.1), vector(rng, 30, 0.4), vector(rng, 30, 0.5)

    def computed():
        t = gb.semiring.min_plus(A @ u).new()
        yield gb.indexunary.rowindex(t).new()
        yield gb.indexunary.rowindex(t, 3).new()
        for mask in (t.S, ~t.S, t.V, ~t.V):
            w = m.dup()
            w(mask) << 7
            yield w
            w = t.dup()
            w(mask, gb.binary.plus) << 2
            yield w

    assert all(run(lambda: list(computed()), device))


@pytest.mark.parametrize("device", DEVICES)
def test_algorithms(device):
    rng = np.random.default_rng(14)
    A = matrix(rng, (30, 30), 0.1)
    A << gb.unary.abs(A)
    A << gb.select.valuegt(gb.binary.plus(A | A.T).new(), 0)
    for compute in (
        lambda: algorithms.bfs_levels(A, 0),
        lambda: algorithms.sssp(A, 0),
        lambda: algorithms.pagerank(A, max_iter=5),
    ):
        with gb.options(kernel="numpy"):
            expected = compute()
        with gb.options(kernel="compiled", device=device):
            found = compute()
        assert found.isclose(expected, rel_tol=1e-9)


@settings(max_examples=4, deadline=None)
@given(st.integers(0, 2**32))
def test_drawn_operations(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 40))
    A = matrix(rng, (size, size), rng.random(), np.int64)
    u, v, m = (vector(rng, size, rng.random()) for _ in range(3))
    run(lambda: list(operations(A, u, v, m)), "emulated")
