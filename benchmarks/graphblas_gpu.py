"""Time operations of GraphBLAS on a GPU: ``python benchmarks/graphblas_gpu.py``.

Single operations with vectors; SpMM with 64 columns of float32, by rows, by equal shares and by the
rule, beside cuSPARSE with rows in a row (its second algorithm) and with columns; SpGEMM inside of a
third matrix, alone and outside of it, beside cuSPARSE. A cell shows the median of several calls in
device time: milliseconds, and for operations on vectors microseconds. Products with dense matrices
are compared with cuSPARSE's. ``--device emulated --tiny`` shows that everything runs without a GPU.
"""

from __future__ import annotations

import argparse
import functools
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import weft
import weft.graphblas as gb
from benchmarks import graph_names
from benchmarks.gpu_timing import Clock
from weft.graphblas.gpu.entries import DeviceMatrix, resident
from weft.graphblas.gpu.places import vector_of
from weft.graphblas.storage.matrix import MatrixStore
from weft.graphblas.storage.vector import VectorStore

WIDTH = 64
CALLS = ("kron13", "kron21")
DENSE = ("kron21", "road4900", "banded21")
SPARSE = ("road4900", "rmat16", "rmat18")
TINY = ("rmat6", "road12", "banded6")
# Of a banded matrix: how many diagonals on either side.
BAND = 16
RUNS, SECONDS = 9, 1.5


def matrix(name: str, device: str) -> gb.Matrix:
    """Return the matrix of a graph, or a banded one, with float32 values on a device."""
    if name.startswith("banded"):
        return banded(1 << int(name.removeprefix("banded")), device)
    g = graph_names.generate(name, device, weights="float")
    rows, xp = g.topology.out, g.topology.xp
    values = g.topology.slot_values(g.edge["weight"], "out").astype(np.float32)
    size = g.num_vertices
    return held(DeviceMatrix(xp, (size, size), values, rows.offsets, rows.targets), device)


def held(entries: DeviceMatrix, device: str) -> gb.Matrix:
    """Return a matrix of entries that are on a device already."""
    dtype = gb.dtypes.lookup_dtype(np.dtype(entries.values.dtype))
    return gb.Matrix._from_store(MatrixStore.on_device(device, entries), dtype)


def banded(size: int, device: str) -> gb.Matrix:
    """Return a matrix with values on the diagonals next to the main one."""
    xp = weft.arrays.device.open_device(device).xp
    first = xp.maximum(xp.arange(size, dtype=np.int64) - BAND, 0)
    last = xp.minimum(xp.arange(size, dtype=np.int64) + BAND, size - 1)
    offsets = xp.zeros(size + 1, np.int64)
    xp.cumsum(last - first + 1, out=offsets[1:])
    entries = DeviceMatrix(xp, (size, size), xp.ones(int(offsets[-1]), np.float32), offsets, None)
    rows = entries.rows
    entries._cols = (xp.arange(entries.nvals, dtype=np.int64) - offsets[rows] + first[rows]).astype(
        np.int32
    )
    return held(entries, device)


def ms(clock: Clock, call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the median device time of a call, and its result."""
    clock.warm_up(call)
    times, result = clock.repeat(call, RUNS, SECONDS)
    return times.median_ms, result


class CuSparse:
    """cuSPARSE through CuPy, on the same arrays."""

    def __init__(self) -> None:
        import cupy
        from cupy_backends.cuda.libs import cusparse
        from cupyx import cusparse as calls
        from cupyx.scipy import sparse

        self.cupy, self.raw, self.calls, self.sparse = cupy, cusparse, calls, sparse

    def csr(self, entries: DeviceMatrix) -> Any:
        """Return a matrix of CuPy; offsets of 32 bits, as its products need."""
        made = self.sparse.csr_matrix(
            (entries.values, entries.cols, entries.offsets.astype(np.int32)), entries.shape
        )
        made.has_sorted_indices = made.has_canonical_format = True
        return made

    def by_columns(self, a: Any, dense: Any) -> Callable[[], Any]:
        """Return CuPy's own product, of a factor that lies column by column."""
        b = self.cupy.asfortranarray(dense)
        return lambda: self.calls.spmm(a, b)

    def by_rows(self, a: Any, dense: Any) -> Callable[[], Any]:
        """Return the product of factors that lie row by row, with the algorithm for those."""
        raw, calls = self.raw, self.calls
        width = dense.shape[1]
        out = self.cupy.zeros((a.shape[0], width), np.float32)
        one, zero = np.array(1, np.float32), np.array(0, np.float32)
        single, row_order, algorithm = 0, 2, 6  # CUDA_R_32F, ORDER_ROW, SPMM_CSR_ALG2
        left = calls.SpMatDescriptor.create(a)
        b, c = (
            raw.createDnMat(each.shape[0], width, width, each.data.ptr, single, row_order)
            for each in (dense, out)
        )
        handle = self.cupy.cuda.device.get_cusparse_handle()
        given = (handle, 0, 0, one.ctypes.data, left.desc, b, zero.ctypes.data, c, single)
        size = raw.spMM_bufferSize(*given, algorithm)
        buffer = self.cupy.empty(max(1, size), np.int8)
        kept = (left, one, zero, buffer)

        def call() -> Any:
            raw.spMM(*given, algorithm, kept[-1].data.ptr)
            return out

        return call

    def product(self, a: Any) -> Any:
        """Return the square of a sparse matrix."""
        return self.calls.spgemm(a, a)


def rival(call: Callable[[], float]) -> str:
    """Return a time as text, or why there is none."""
    try:
        return f"{call():.4g}"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:60]}"


DENSE_HEAD = (
    f"SpMM, {WIDTH} columns", "nvals", "mean row", "row", "merge", "rule", "cuSPARSE rows",
    "cuSPARSE columns", "equal",
)  # fmt: skip
SPARSE_HEAD = (
    "SpGEMM", "nvals", "inside of B", "cuSPARSE, then B", "A @ A", "cuSPARSE", "outside of B",
    "values of these",
)  # fmt: skip


def show(cells: Any) -> None:
    """Print one row of a table, each cell as soon as it is known."""
    print("|", end="", flush=True)
    for cell in cells:
        print(f" {cell} |", end="", flush=True)
    print(flush=True)


CALLS_HEAD = ("operation on vectors, µs", "1 % of places", "64 %", "all", "host")


def calls_rows(name: str, device: str, clock: Clock, theirs: Any) -> Iterator[Any]:
    """Yield the times of single operations by how many places have a value.

    The last column is host time alone: many calls without waiting for their results.
    """
    A = matrix(name, device)
    A.T.new()
    size, rng = A.nrows, np.random.default_rng(1)
    yield f"{name}, {size:,} places", "", "", "", ""
    vectors = []
    for share in (0.01, 0.64, 1.0):
        places = np.sort(rng.choice(size, max(1, int(size * share)), replace=False))
        vectors.append(away(gb.Vector.from_coo(places, np.float32(1), size=size), device))
    half = away(gb.Vector.from_coo(np.arange(0, size, 2), True, size=size), device)
    for label, compute in OPERATIONS.items():
        call = functools.partial(compute, A, half)
        with gb.config.set(small=0), gb.options(device=device, kernel="compiled"):
            took = [ms(clock, functools.partial(call, v))[0] * 1e3 for v in vectors]
            began, calls = time.perf_counter(), 1 if RUNS == 1 else 50
            for _ in range(calls):
                call(vectors[0])
            host = (time.perf_counter() - began) / calls * 1e6
        yield label, *(f"{each:.1f}" for each in took), f"{host:.1f}"


def away(vector: gb.Vector, device: str) -> gb.Vector:
    """Return a vector whose values the device alone has, as those of results are."""
    with gb.options(device=device):
        store = VectorStore.on_device(vector_of(vector._store))
    return gb.Vector._from_store(store, vector.dtype)


def accumulated(v: Any, half: Any) -> Any:
    """Return a vector after another one was added to it."""
    w = v.dup()
    w(half.S, gb.binary.plus) << v
    return w.wait()


MIN_PLUS, ANY_PAIR, PLUS_TIMES = (
    getattr(gb.semiring, name) for name in ("min_plus", "any_pair", "plus_times")
)
OPERATIONS: dict[str, Callable[..., Any]] = {
    "vxm min_plus, pushed": lambda A, m, v: MIN_PLUS(v @ A).new(direction="push").wait(),
    "vxm min_plus, pulled": lambda A, m, v: MIN_PLUS(v @ A).new(direction="pull").wait(),
    "vxm plus_times, pulled": lambda A, m, v: PLUS_TIMES(v @ A).new(direction="pull").wait(),
    "vxm any_pair, pushed, masked": lambda A, m, v: (
        ANY_PAIR(v @ A).new(bool, mask=~m.S, direction="push").wait()
    ),
    "vxm any_pair, pulled, masked": lambda A, m, v: (
        ANY_PAIR(v @ A).new(bool, mask=~m.S, direction="pull").wait()
    ),
    "intersection": lambda A, m, v: gb.binary.plus(v & v).new().wait(),
    "union": lambda A, m, v: gb.binary.plus(v | m).new().wait(),
    "copy through a mask": lambda A, m, v: v.dup(mask=~m.S).wait(),
    "accumulated under a mask": lambda A, m, v: accumulated(v, m),
    "times a number": lambda A, m, v: gb.binary.times(v, 2).new().wait(),
    "number of values of a product": lambda A, m, v: ANY_PAIR(v @ A).new(mask=~m.S).nvals,
    "sum": lambda A, m, v: v.reduce().new().get(),
}


def dense_cells(name: str, device: str, clock: Clock, theirs: Any) -> Iterator[Any]:
    """Yield the times of products with a dense matrix."""
    A = matrix(name, device)
    mine = resident(A._store, device)
    xp = mine.xp
    yield from (name, f"{mine.nvals:,}", f"{mine.nvals / A.nrows:.1f}")
    dense = xp.random.default_rng(1).random((A.ncols, WIDTH), dtype=np.float32)
    F = held(DeviceMatrix(xp, dense.shape, dense.reshape(-1), None, None), device)
    result: Any = None
    for kernel in ("row", "merge", "compiled"):
        with gb.options(device=device, kernel=kernel):
            took, result = ms(clock, lambda: gb.semiring.plus_times(A @ F).new().wait())
        yield f"{took:.3g}"
    if theirs is None:
        return
    a = theirs.csr(mine)
    for make in (theirs.by_rows, theirs.by_columns):
        yield rival(lambda make=make: ms(clock, make(a, dense))[0])
    found = resident(result._store, device).values
    expected = theirs.by_rows(a, dense)()[mine.offsets[1:] > mine.offsets[:-1]].reshape(-1)
    yield bool((xp.abs(expected - found) <= 1e-3 * (1 + found)).all())


def sparse_cells(name: str, device: str, clock: Clock, theirs: Any) -> Iterator[Any]:
    """Yield the times of products of sparse matrices."""
    A = matrix(name, device)
    mine = resident(A._store, device)
    xp = mine.xp
    yield from (name, f"{mine.nvals:,}")
    # The other matrix: the same places, moved by some rows.
    shift = 3
    offsets = xp.concatenate([mine.offsets[shift:], xp.full(shift, mine.nvals, np.int64)])
    start = int(offsets[0])
    named = DeviceMatrix(xp, A.shape, mine.values[start:], offsets - start, mine.cols[start:])
    B = held(named, device)
    counts: list[int] = []
    a = None if theirs is None else theirs.csr(mine)
    for mask in (B.S, None, ~B.S):
        with gb.options(device=device, kernel="compiled"):
            yield rival(lambda mask=mask: product_ms(clock, A, mask, counts))
        if a is not None and mask is not None and not mask.complement:
            yield rival(lambda: cut_down_ms(clock, theirs, a, named))
        elif a is not None and mask is None:
            yield rival(lambda: product_and_count(clock, theirs, a, counts))
    yield ", ".join(f"{each:,}" for each in counts)


def product_and_count(clock: Clock, theirs: Any, a: Any, counts: list[int]) -> float:
    """Return the time of cuSPARSE's A @ A; note how many values it has."""
    took, found = ms(clock, lambda: theirs.product(a))
    counts.append(int(found.nnz))
    return took


def product_ms(clock: Clock, A: Any, mask: Any, counts: list[int]) -> float:
    """Return the time of A @ A; note how many values it has."""
    took, found = ms(clock, lambda: gb.semiring.plus_times(A @ A).new(mask=mask).wait())
    counts.append(found.nvals)
    return took


def cut_down_ms(clock: Clock, theirs: Any, a: Any, named: DeviceMatrix) -> float:
    """Return the time of a product that is cut down to the places of a mask afterwards."""
    pattern = theirs.csr(named)
    pattern.data = theirs.cupy.ones_like(pattern.data)
    return ms(clock, lambda: theirs.product(a).multiply(pattern))[0]


def one_row(cells: Any) -> Callable[..., Iterator[Any]]:
    """Return what yields the cells of a single row."""
    return lambda *args: iter([cells(*args)])


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda", choices=["cuda", "emulated"])
    parser.add_argument("--budget", type=float, default=600.0, help="seconds to begin rows in")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--calls", default=",".join(CALLS), help="graphs, or banded<scale>")
    parser.add_argument("--dense", default=",".join(DENSE), help="graphs, or banded<scale>")
    parser.add_argument("--sparse", default=",".join(SPARSE), help="graphs, or banded<scale>")
    graph_names.add_file(parser)
    args = parser.parse_args()
    named = [tuple(n for n in t.split(",") if n) for t in (args.calls, args.dense, args.sparse)]
    if args.tiny:
        globals().update(RUNS=1, SECONDS=0.1)
        named = [TINY[:1], TINY, TINY[:2]]
    if "graph" in args:  # a file
        named = [(args.graph,)] * 3
    began = time.perf_counter()
    theirs = CuSparse() if args.device == "cuda" else None
    clock = Clock(args.device)
    tables = (CALLS_HEAD, calls_rows), (DENSE_HEAD, one_row(dense_cells)), (
        SPARSE_HEAD, one_row(sparse_cells)
    )  # fmt: skip
    for (head, table), names in zip(tables, named, strict=True):
        if not names:
            continue
        print()
        show(head)
        show("---" for _ in head)
        for name in names:
            if time.perf_counter() - began > args.budget:
                show((name, f"not begun within {args.budget:.0f} s"))
                continue
            for row in table(name, args.device, clock, theirs):
                show(row)
            clock.forget_memory()
    print(f"\n{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
