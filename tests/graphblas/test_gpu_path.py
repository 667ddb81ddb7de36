"""Whole operations through the driver of a GPU, whose launches run in the emulation."""

import numpy as np
import pytest

import fake_cuda
import fake_cupy
import weft
import weft.graphblas as gb
from graphblas_operands import FORMS, agree, from_rows, matrix, operations, run
from weft.backends.cuda import drivers
from weft.graphblas import algorithms
from weft.graphblas.gpu import entries, module, places


@pytest.fixture
def cuda(monkeypatch):
    forget()
    with fake_cuda.installed(monkeypatch) as found:
        monkeypatch.setattr(drivers, "driver_of", lambda kind, index=0: found.driver)
        yield found
    forget()


def forget():
    entries.place_of.cache_clear()
    module.kernels_of.cache_clear()
    places.kernels.cache_clear()


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

    def as_operand_and_mask():
        some = gb.semiring.min_plus(A @ F).new()
        return gb.semiring.plus_first(some @ gb.Matrix.from_dense(np.ones((6, 6)))).new(mask=some.S)

    agree(as_operand_and_mask, "cuda")


def test_vectors(cuda):
    rng = np.random.default_rng(12)
    A = matrix(rng, (30, 30), 0.1, np.int64)
    u, v, m = (gb.Vector.from_coo(np.arange(0, 30, k), k, size=30) for k in (2, 3, 4))
    away = run(lambda: list(operations(A, u, v, m)), "cuda")
    assert all(away)


def test_one_operation_waits_for_nothing_and_copies_nothing(cuda):
    """A product or a place-by-place operation is one or two launches, and a few arrays."""
    rng = np.random.default_rng(16)
    A = from_rows(rng, [5, 0, 200, 1, 30] * 8, 400, np.float32)
    A.T.new()
    u, v, m, full = (
        gb.Vector.from_coo(np.arange(0, n, k), np.float32(k), size=n)
        for n, k in ((400, 2), (40, 3), (40, 4), (40, 1))
    )

    def step(direction, mask):
        return gb.semiring.min_plus(A @ u).new(mask=mask, direction=direction)

    def accumulated():
        w = full.dup()
        w(gb.binary.plus) << v
        return w

    costs = {
        "push": (lambda: step("push", None), ["push_start", "push_spread"], 4),
        "masked push": (lambda: step("push", ~m.V), ["push_start", "push_spread"], 4),
        "pull": (lambda: step("pull", None), ["pull_rows"], 3),
        "masked pull": (lambda: step("pull", m.S), ["pull_rows"], 3),
        "intersection": (lambda: gb.binary.ge(v & m).new(), ["combine_places"], 3),
        "full union": (lambda: gb.binary.plus(v | full).new(), ["combine_places"], 1),
        "bound": (lambda: gb.binary.times(full, 0.5).new(), ["bind_places"], 1),
        "masked copy": (lambda: v.dup(mask=~m.V), ["write_places"], 3),
        "accumulated": (accumulated, ["write_places"], 1),
        "other type": (lambda: full.dup(int), ["bind_places"], 1),
    }
    with gb.config.set(small=0), gb.options(kernel="compiled", device="cuda"):
        full, v, m, u = (gb.unary.identity(each).new().wait() for each in (full, v, m, u))
        for name, (compute, launches, arrays) in costs.items():
            compute().wait()
            counter = Counter()
            cuda.launches.clear()
            fake_cupy.READS.clear()
            with fake_cupy.using_allocator(counter.malloc):
                made = compute().wait()
            assert made._store.is_away, name
            assert [each.kernel for each in cuda.launches] == launches, name
            assert (counter.arrays, len(fake_cupy.READS)) == (arrays, 0), name
        made.reduce().new().get()
        assert cuda.launches[-1].kernel == "sum_places" and len(fake_cupy.READS) == 1


class Counter:
    """Counts the arrays that are made."""

    arrays = 0

    def malloc(self, size):
        self.arrays += 1
        return fake_cupy.POOL.malloc(size)


def test_algorithms(cuda):
    rng = np.random.default_rng(14)
    A = gb.unary.abs(matrix(rng, (30, 30), 0.2)).new()
    for compute in (algorithms.bfs_levels, algorithms.bfs_parents, algorithms.sssp):
        with gb.options(kernel="numpy"):
            expected = compute(A, 0)
        with gb.options(kernel="compiled", device="cuda"):
            found = compute(A, 0)
            assert found._store.is_away
        assert found.isclose(expected)


def test_transposes_and_graphs_stay(cuda):
    rng = np.random.default_rng(15)
    A = matrix(rng, (20, 30), 0.2)
    with gb.options(kernel="compiled", device="cuda"):
        product = gb.semiring.plus_times(A @ A.T).new()
        turned = gb.semiring.min_plus(product.T @ product).new().wait()
        assert product._store._cols is None
        L = gb.select.tril(product, -1).new()
        agree(lambda: gb.semiring.plus_pair(L @ L.T).new(mask=L.S), "cuda")
    with gb.options(kernel="numpy"):
        assert turned.isequal(gb.semiring.min_plus(product.T @ product).new())
    g = weft.generators.rmat(5, 4, seed=3, weights="int")
    B, C = gb.io.from_graph(g), gb.io.from_graph(g.to("cuda"))
    for select in (gb.select.tril, gb.select.triu, gb.select.diag, gb.select.offdiag):
        assert C._store.is_away and select(C, -1).new().isequal(select(B, -1).new())
    counts = C.reduce_rowwise(gb.agg.count).new()
    assert counts._store.is_away and counts.isequal(B.reduce_rowwise(gb.agg.count).new())
    for dtype in (np.float32, bool):
        turned = C.dup(dtype)
        assert turned._store.is_away and turned.isequal(B.dup(dtype), check_dtype=True)
    assert C._store.is_away and C.isequal(B)
    assert C.T.new().isequal(C)
