"""Every device primitive against plain Python."""

import numpy as np
import pytest

from weft.backends.cuda.emulator.build import Case, Launch

SANITIZERS = ("address", "thread")
SEEDS = (0, 1, 2)
TYPES = {
    "i32": np.int32,
    "u32": np.uint32,
    "i64": np.int64,
    "u64": np.uint64,
    "float": np.float32,
    "double": np.float64,
}
INTEGERS = ("i32", "u32", "i64", "u64")
KERNELS = (
    "indices",
    *(f"shuffles<{name}>" for name in TYPES),
    *(f"votes<{name}>" for name in INTEGERS),
    *(f"reduces<{name}>" for name in TYPES),
    *(f"bit_reduces<{name}>" for name in INTEGERS),
    *(f"atomics<{name}>" for name in INTEGERS),
    "float_atomics<float>",
    "float_atomics<double>",
    *(f"accesses<{name}>" for name in ("u8", "i32", "u64", "float", "double")),
    "block_votes",
    "bit_counts",
    "active_lanes",
    "clock_and_fault",
    "messages",
    "block_messages",
)
BLOCK = 64


@pytest.fixture(params=SANITIZERS)
def run(request, compile_cuda, run_cases):
    """Return a function that runs cases under one sanitizer and every seed."""
    program = compile_cuda("primitives", KERNELS, request.param)

    def run_with_seeds(cases):
        seeded = [Case(case.buffers, case.launches, seed) for seed in SEEDS for case in cases]
        outputs = run_cases(program, seeded)
        return [(case, out) for case, out in zip(seeded, outputs, strict=True)]

    return run_with_seeds


def values_of(name, count, seed=7):
    rng = np.random.default_rng(seed)
    dtype = TYPES[name]
    if name in INTEGERS:
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, count, dtype=dtype, endpoint=True)
    return rng.integers(-1000, 1000, count).astype(dtype) / dtype(8)


def lanes_of(mask):
    return [lane for lane in range(32) if mask >> lane & 1]


def test_indices(run):
    grid = 3
    buffers = {
        "out": np.zeros((grid, BLOCK, 8), np.uint32),
        "global": np.zeros(grid * BLOCK, np.int64),
    }
    for _, out in run([Case(buffers, [Launch("indices", ("out", "global"), grid, BLOCK)])]):
        assert (out["global"] == np.arange(grid * BLOCK)).all()
        for block in range(grid):
            for t in range(BLOCK):
                lane = t % 32
                expected = [t, block, BLOCK, grid, lane, t // 32, 2**lane - 1, grid * BLOCK]
                assert out["out"][block, t].tolist() == expected


def source_lane(kind, lane, operand, width):
    """The lane that a shuffle reads, by CUDA's rules."""
    first = lane // width * width
    if kind == 0:
        return first + (operand + lane) % width
    if kind == 1:
        return lane - operand if lane - operand >= first else lane
    if kind == 2:
        return lane + operand if lane + operand < first + width else lane
    return lane ^ operand if lane ^ operand < first + width else lane


def test_shuffles(run):
    cases = [
        Case(
            {"in": values_of(name, BLOCK), "out": np.zeros((4, BLOCK), TYPES[name])},
            [
                Launch(
                    f"shuffles<{name}>",
                    ("in", "out", np.uint32(operand), np.uint32(width)),
                    block=BLOCK,
                )
            ],
        )
        for name in TYPES
        for operand, width in ((1, 32), (5, 8), (16, 32), (3, 2), (31, 32), (0, 1))
    ]
    for case, out in run(cases):
        operand, width = (int(x) for x in case.launches[0].args[2:])
        for kind in range(4):
            for t in range(BLOCK):
                # Shuffle by index takes `operand + t`; t's warp does not matter modulo the width.
                source = t // 32 * 32 + source_lane(kind, t % 32, operand, width)
                assert out["out"][kind, t] == case.buffers["in"][source]


def test_votes_and_matches(run):
    cases = [
        Case(
            {"in": data.astype(TYPES[name]), "out": np.full((BLOCK, 5), 99, np.uint32)},
            [Launch(f"votes<{name}>", ("in", "out", np.uint32(mask)), block=BLOCK)],
        )
        for name in INTEGERS
        for mask in (0xFFFFFFFF, 0x00010000, 0xF0F01234)
        for data in (np.arange(BLOCK) % 5, np.ones(BLOCK), np.zeros(BLOCK))
    ]
    for case, out in run(cases):
        mask = int(case.launches[0].args[2])
        for t in range(BLOCK):
            if not mask >> t % 32 & 1:
                assert (out["out"][t] == 99).all()
                continue
            warp = case.buffers["in"][t // 32 * 32 :]
            odd = sum(1 << lane for lane in lanes_of(mask) if warp[lane] % 2)
            same = sum(1 << lane for lane in lanes_of(mask) if warp[lane] == warp[t % 32])
            first = t // 32 * 32 + lanes_of(mask)[0]
            assert out["out"][t].tolist() == [odd, odd != 0, odd == mask, same, first]


def test_warp_reductions(run):
    cases = []
    for mask in (0xFFFFFFFF, 0x80000000, 0x0F0F00F1):
        for name, dtype in TYPES.items():
            args = ("in", "out", np.uint32(mask))
            buffers = {"in": values_of(name, BLOCK), "out": np.zeros((BLOCK, 3), dtype)}
            cases.append(Case(buffers, [Launch(f"reduces<{name}>", args, block=BLOCK)]))
            if name in INTEGERS:
                buffers = {"in": values_of(name, BLOCK), "out": np.zeros((BLOCK, 2), dtype)}
                cases.append(Case(buffers, [Launch(f"bit_reduces<{name}>", args, block=BLOCK)]))
    for case, out in run(cases):
        mask = int(case.launches[0].args[2])
        data = case.buffers["in"]
        for t in range(BLOCK):
            if not mask >> t % 32 & 1:
                continue
            part = data[t // 32 * 32 :][lanes_of(mask)]
            if case.launches[0].kernel.startswith("bit"):
                expected = [np.bitwise_or.reduce(part), np.bitwise_and.reduce(part)]
            else:
                expected = [part.sum(dtype=data.dtype), part.min(), part.max()]
            assert out["out"][t].tolist() == expected


def test_nan_loses_in_reductions(run):
    data = np.array([np.nan, 3, -2, np.nan] * 8 + [np.nan] * 32, np.float32)
    buffers = {"in": data, "out": np.zeros((BLOCK, 3), np.float32)}
    launch = Launch("reduces<float>", ("in", "out", np.uint32(0xFFFFFFFF)), block=BLOCK)
    for _, out in run([Case(buffers, [launch])]):
        assert (out["out"][:32, 1] == -2).all() and (out["out"][:32, 2] == 3).all()
        assert np.isnan(out["out"][32:]).all()


def test_integer_atomics(run):
    grid = 2
    cases = []
    for name in INTEGERS:
        dtype = TYPES[name]
        start = np.array([1, np.iinfo(dtype).max, 0, 0, 0, 0, 5, 0], dtype)
        start[4] = ~start[4]
        data = values_of(name, grid * BLOCK)
        buffers = {"in": data, "words": start, "exchanged": np.zeros_like(data)}
        args = ("in", "words", "exchanged")
        cases.append(Case(buffers, [Launch(f"atomics<{name}>", args, grid, BLOCK)]))
    for case, out in run(cases):
        data, start = case.buffers["in"], case.buffers["words"]
        words = out["words"]
        assert words[0] == np.append(data, start[0]).sum(dtype=data.dtype)
        assert words[1] == data.min() and words[2] == max(data.max(), 0)
        assert words[3] == np.bitwise_or.reduce(data) and words[4] == np.bitwise_and.reduce(data)
        assert words[5] == np.bitwise_xor.reduce(data)
        assert words[7] == data.size
        # An exchange hands every value on once.
        assert sorted([*out["exchanged"], words[6]]) == sorted([*data, start[6]])


def test_float_atomics_ignore_nan(run):
    cases = []
    for name in ("float", "double"):
        data = values_of(name, 2 * BLOCK)
        data[::7] = np.nan
        for start in ([0, np.inf, -np.inf], [1, np.nan, np.nan]):
            buffers = {"in": data, "words": np.array(start, TYPES[name])}
            cases.append(
                Case(buffers, [Launch(f"float_atomics<{name}>", ("in", "words"), 2, BLOCK)])
            )
    for case, out in run(cases):
        data = case.buffers["in"]
        expected = [np.nansum(data) + case.buffers["words"][0], np.nanmin(data), np.nanmax(data)]
        assert out["words"].tolist() == expected


def test_loads_and_stores(run):
    dtypes = {**TYPES, "u8": np.uint8}
    cases = []
    for name in ("u8", "i32", "u64", "float", "double"):
        data = np.arange(BLOCK).astype(dtypes[name])
        buffers = {"in": data, "scratch": np.zeros((3, BLOCK), data.dtype)}
        buffers["out"] = np.zeros((3, BLOCK), data.dtype)
        launch = Launch(f"accesses<{name}>", ("in", "scratch", "out"), block=BLOCK)
        cases.append(Case(buffers, [launch]))
    for case, out in run(cases):
        assert (out["out"] == np.roll(case.buffers["in"], -1)).all()


def test_block_votes(run):
    data = np.random.default_rng(3).integers(0, 3, BLOCK).astype(np.int32)
    buffers = {"in": data, "out": np.zeros((4, BLOCK, 3), np.uint32)}
    for _, out in run([Case(buffers, [Launch("block_votes", ("in", "out"), block=BLOCK)])]):
        for limit in range(4):
            below = data < limit
            assert (out["out"][limit] == [below.any(), below.all(), below.sum()]).all()


def test_bit_counts(run):
    data = np.array([0, 1, 2**31, 2**32, 2**63, 2**64 - 1, 40, 12345678901234567890], np.uint64)
    buffers = {"in": np.resize(data, 32), "out": np.zeros((32, 6), np.uint32)}

    def counts(x, width):
        return [x.bit_count(), width - x.bit_length(), (x & -x).bit_length()]

    for _, out in run([Case(buffers, [Launch("bit_counts", ("in", "out"))])]):
        for x, found in zip(data.tolist(), out["out"].tolist(), strict=False):
            assert found == counts(x, 64) + counts(x % 2**32, 32)


def test_active_lanes(run):
    buffers = {name: np.zeros(BLOCK, np.uint32) for name in ("masks", "order")}
    buffers["count"] = np.zeros(1, np.uint32)
    launch = Launch("active_lanes", ("count", "masks", "order"), block=BLOCK)
    for _, out in run([Case(buffers, [launch])]):
        assert out["count"][0] == BLOCK
        assert sorted(out["order"]) == list(range(BLOCK))
        for t, mask in enumerate(out["masks"].tolist()):
            assert mask >> t % 32 & 1
            assert all(out["masks"][t // 32 * 32 + lane] == mask for lane in lanes_of(mask))


def test_clock_and_fault(run):
    buffers = {"advanced": np.zeros(BLOCK, np.uint32), "word": np.zeros(1, np.uint32)}
    for _, out in run(
        [Case(buffers, [Launch("clock_and_fault", ("advanced", "word"), block=BLOCK)])]
    ):
        assert out["advanced"].all()
        assert out["word"][0] % 2 == 1


def test_messages_between_blocks_and_threads(run):
    buffers = {"data": np.zeros(3, np.int32), "flags": np.zeros(3, np.uint32)}
    buffers["out"] = np.zeros(3, np.int32)
    cases = [
        Case(buffers, [Launch("messages", ("data", "flags", "out"), 2, 32)]),
        Case({"out": np.zeros(3, np.int32)}, [Launch("block_messages", ("out",), block=BLOCK)]),
    ]
    for case, out in run(cases):
        expected = [10, 11, 12] if "flags" in case.buffers else [42, 0, 0]
        assert out["out"].tolist() == expected
