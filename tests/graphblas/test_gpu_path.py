"""Whole operations through the driver of a GPU, whose launches run in the emulation."""

import numpy as np
import pytest

import fake_cuda
import weft.graphblas as gb
from graphblas_operands import FORMS, agree, from_rows, matrix
from weft.backends.cuda import drivers
from weft.graphblas.gpu import module


@pytest.fixture
def cuda(monkeypatch):
    module.kernels_of.cache_clear()
    with fake_cuda.installed(monkeypatch) as found:
        monkeypatch.setattr(drivers, "driver_of", lambda kind, index=0: found.driver)
        yield found
    module.kernels_of.cache_clear()


@pytest.mark.parametrize("form", FORMS)
def test_products_of_sparse_matrices(cuda, form):
    rng = np.random.default_rng(3)
    A, B = from_rows(rng, [0, 1, 3, 9, 70], 80), from_rows(rng, [*[10, 90] * 40], 9000)
    M = from_rows(rng, [4, 0, 20, 300, 5000], 9000)
    agree(lambda: gb.semiring.plus_times(A @ B).new(mask=FORMS[form](M)), "cuda")


@pytest.mark.parametrize("kernel", ["row", "merge"])
def test_products_with_dense_matrices(cuda, kernel):
    rng = np.random.default_rng(4)
    A = from_rows(rng, [0, 3, 150, 0, 1], 200, np.float32)
    F = gb.Matrix.from_dense(rng.integers(-3, 5, (200, 6)).astype(np.float32))
    M = matrix(rng, (5, 6), 0.5)
    for mask in (None, M.S, ~M.S):
        agree(lambda mask=mask: gb.semiring.min_plus(A @ F).new(mask=mask), "cuda", kernel=kernel)
