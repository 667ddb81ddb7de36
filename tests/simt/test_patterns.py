"""Kernels of the shapes that the engine generates, in every build of the emulation."""

import itertools

import numpy as np
import pytest

from weft.backends.cuda.emulator import build
from weft.backends.cuda.emulator.build import Case, Launch

KERNELS = (
    "scan_twice",
    "row_sums",
    "diffuse",
    "cluster_sums",
    "reverse_dynamic",
    "histogram",
    "locked_count",
    "last_block_sums",
)
SEEDS = (0, 1, 2)


def scan_cases(rng):
    for block in (32, 96, 256):
        data = rng.integers(-50, 50, 2 * block).astype(np.int32)
        once = data.reshape(2, block).cumsum(1, dtype=np.int32)
        buffers = {"in": data, "once": np.zeros_like(data), "twice": np.zeros_like(data)}
        expected = {"once": once.ravel(), "twice": once.cumsum(1, dtype=np.int32).ravel()}
        yield buffers, Launch("scan_twice", ("in", "once", "twice"), 2, block), expected


def row_cases(rng):
    degrees = np.array([0, 1, 31, 32, 33, 200, 0, 7])
    offsets = np.concatenate([[0], degrees.cumsum()])
    values = rng.integers(0, 100, offsets[-1]).astype(np.float64)
    sums = np.array([values[a:b].sum() for a, b in itertools.pairwise(offsets)])
    buffers = {"offsets": offsets, "values": values, "sums": np.zeros_like(sums)}
    args = ("offsets", "values", "sums", np.uint32(len(sums)))
    yield buffers, Launch("row_sums", args, 2, 64), {"sums": sums}


def persistent_cases(rng):
    for grid, n, rounds in ((1, 40, 3), (4, 300, 5), (7, 10, 4)):
        start = rng.integers(0, 9, n)
        now = start
        for _ in range(rounds):
            padded = np.pad(now, 1)
            now = padded[:-2] + padded[1:-1] + padded[2:]
        buffers = {"a": start, "b": np.zeros_like(start), "word": np.zeros(1, np.uint32)}
        args = ("a", "b", np.uint32(n), np.uint32(rounds), "word")
        launch = Launch("diffuse", args, grid, 32, cooperative=True)
        yield buffers, launch, {"b" if rounds % 2 else "a": now}


def cluster_cases(rng):
    for cluster in (1, 2, 4):
        data = rng.integers(0, 99, 4 * 64).astype(np.int32)
        sums = data.reshape(4 // cluster, cluster, 64).sum(1, dtype=np.int32)
        ranks = np.repeat(np.arange(4) % cluster, 64)
        buffers = {"in": data, "out": np.zeros_like(data), "ranks": np.zeros(4 * 64, np.uint32)}
        launch = Launch("cluster_sums", ("in", "out", "ranks"), 4, 64, cluster=cluster)
        expected = {"out": np.repeat(sums, cluster, axis=0).ravel(), "ranks": ranks}
        yield buffers, launch, expected


def shared_cases(rng):
    data = np.arange(3 * 64, dtype=np.int32)
    launch = Launch("reverse_dynamic", ("data",), 3, 64, shared_bytes=4 * 64)
    yield {"data": data}, launch, {"data": data.reshape(3, 64)[:, ::-1].ravel()}
    keys = rng.integers(0, 10, 1000).astype(np.uint32)
    buffers = {"in": keys, "bins": np.zeros(10, np.uint64)}
    args = ("in", np.uint32(keys.size), "bins", np.uint32(10))
    # More blocks than run together: they come in turn.
    launch = Launch("histogram", args, 40, 32, shared_bytes=40)
    yield buffers, launch, {"bins": np.bincount(keys, minlength=10)}


def lock_cases(rng):
    buffers = {"lock": np.zeros(1, np.uint32), "count": np.zeros(1, np.int32)}
    yield buffers, Launch("locked_count", ("lock", "count"), 2, 32), {"count": [64], "lock": [0]}
    data = rng.integers(-9, 9, 4 * 64).astype(np.int32)
    buffers = {"in": data, "partial": np.zeros(8, np.int32), "done": np.zeros(1, np.uint32)}
    buffers["total"] = np.zeros(1, np.int32)
    launch = Launch("last_block_sums", ("in", "partial", "done", "total"), 4, 64)
    yield buffers, launch, {"total": [data.sum()]}


FAMILIES = (scan_cases, row_cases, persistent_cases, cluster_cases, shared_cases, lock_cases)


@pytest.mark.parametrize("sanitizer", ["none", "address", "thread"])
def test_patterns(sanitizer, compile_cuda, run_cases):
    rng = np.random.default_rng(5)
    wanted = [case for family in FAMILIES for case in family(rng)]
    program = compile_cuda("patterns", KERNELS, sanitizer)
    cases = [Case(b, [launch], seed) for seed in SEEDS for b, launch, _ in wanted]
    outputs = run_cases(program, cases)
    for case, out, (_, launch, expected) in zip(cases, outputs, wanted * len(SEEDS), strict=True):
        for name, values in expected.items():
            assert (out[name] == values).all(), (launch, case.seed, name)


def test_launches_follow_each_other(compile_cuda, run_cases):
    program = compile_cuda("patterns", KERNELS, "thread")
    data = np.arange(64, dtype=np.int32)
    launch = Launch("reverse_dynamic", ("data",), 1, 64, shared_bytes=4 * 64)
    for seed in SEEDS:
        (out,) = run_cases(program, [Case({"data": data}, [launch] * 3, seed)])
        assert (out["data"] == data[::-1]).all()


def test_one_seed_gives_one_order(compile_cuda, run_cases):
    program = compile_cuda("primitives", ("active_lanes",), "none")
    buffers = {name: np.zeros(64, np.uint32) for name in ("masks", "order")}
    buffers["count"] = np.zeros(1, np.uint32)
    launch = Launch("active_lanes", ("count", "masks", "order"), block=64)
    cases = [Case(buffers, [launch], seed) for seed in (0, 0, 3, 3, 4)]
    orders = [out["order"].tolist() for out in run_cases(program, cases)]
    assert orders[0] == orders[1] and orders[2] == orders[3]
    assert len({tuple(order) for order in orders}) == 3


def test_fibres_without_machine_code(compile_cuda, run_cases):
    compile_cuda("patterns", KERNELS, "none")
    source = (build.Path(__file__).parent / "patterns.cu").read_text(encoding="utf-8")
    program = build.compile_program(
        source, KERNELS, label="patterns", runtime_defines=("-DWEFT_SIMT_UCONTEXT",)
    )
    wanted = list(persistent_cases(np.random.default_rng(1)))
    outputs = run_cases(program, [Case(b, [launch], 1) for b, launch, _ in wanted])
    for out, (_, launch, expected) in zip(outputs, wanted, strict=True):
        for name, values in expected.items():
            assert (out[name] == values).all(), launch
