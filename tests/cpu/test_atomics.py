"""Atomics: values and old values alone, no lost update and no torn pair together."""

import os
import time

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from weft.backends.cpu.host import gang
from weft.backends.cpu.runtime.cas128 import has_cas128
from weft.backends.cpu.runtime.control import aligned, control
from weft.backends.cpu.runtime.names import (
    atomic_add,
    atomic_and,
    atomic_cas,
    atomic_load,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_store,
    atomic_xchg,
    atomic_xor,
    barrier,
    cas128,
    cycles,
    load_acquire,
    pause,
    store_release,
    sync_add,
    yield_thread,
)
from weft.backends.cpu.runtime.processor import clock_ns

INTEGERS = [np.dtype(f"{sign}int{8 << k}") for sign in ("", "u") for k in range(4)]
FLOATS = [np.dtype(np.float32), np.dtype(np.float64)]
CHUNK, ROUNDS = 500, 100_000  # threads meet after every chunk, lest they run one after the other


@njit
def _common_ops(a, x, y, old):
    """Every op that all numbers have, each on an element that holds x."""
    old[0] = atomic_add(a, 0, y)
    old[1] = sync_add(a, np.uint32(1), y)
    old[2] = atomic_min(a, np.int8(2), y)
    old[3] = atomic_max(a, np.uint64(3), y)
    old[4] = atomic_xchg(a, 4, y)
    old[5] = atomic_cas(a, 5, x, y)
    old[6] = atomic_cas(a, 6, y, y)
    old[7] = atomic_load(a, 7)
    atomic_store(a, 8, y)
    old[8] = load_acquire(a, 8)
    store_release(a, 9, y)
    old[9] = a[9]


@njit
def _bit_ops(a, y, old):
    old[0] = atomic_or(a, 0, y)
    old[1] = atomic_and(a, 1, y)
    old[2] = atomic_xor(a, 2, y)


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS, ids=str)
def test_each_op_updates_its_element_and_returns_the_old_value(dtype):
    for x, y in [(5, 3), (3, 100), (90, 90)] + ([(-7, 100)] if dtype.kind != "u" else []):
        x, y = dtype.type(x), dtype.type(y)
        a, old = np.full(10, x), np.zeros(10, dtype)
        _common_ops(a, x, y, old)
        with np.errstate(over="ignore"):
            total = x + y
        assert a.tolist() == [total, total, min(x, y), max(x, y), y, y, x, x, y, y]
        assert old.tolist() == [x, x, x, x, x, x, x, x, y, y]
        assert not np.array_equal(a, np.full(10, x)) or x == y


@pytest.mark.parametrize("dtype", [*INTEGERS, np.dtype(bool)], ids=str)
def test_bit_ops(dtype):
    x, y = (dtype.type(v) for v in ((0b1100, 0b1010) if dtype.kind != "b" else (True, False)))
    a, old = np.full(3, x), np.zeros(3, dtype)
    _bit_ops(a, y, old)
    assert a.tolist() == [x | y, x & y, x ^ y]
    assert old.tolist() == [x, x, x]


@njit
def _extrema(a, x, b, y):
    for i in range(a.size):
        atomic_min(a, i, x[i])
        atomic_max(b, i, y[i])


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS], ids=str)
def test_extrema_of_extreme_values(dtype):
    if dtype.kind == "f":
        values = np.array([-np.inf, -1.5, 0.0, 2.5, np.inf, np.nan], dtype)
    else:
        info = np.iinfo(dtype)
        values = np.array([info.min, info.min + 1, 0, 1, info.max - 1, info.max], dtype)
    low, x = (v.ravel().copy() for v in np.meshgrid(values, values))
    high, before = low.copy(), low.copy()
    _extrema(low, x, high, x)
    np.testing.assert_array_equal(low, np.fmin(before, x))
    np.testing.assert_array_equal(high, np.fmax(before, x))


@njit
def _cas_floats(a):
    nan = a[0]
    return atomic_cas(a, 0, nan, 1.0), atomic_cas(a, 1, 0.0, 1.0), atomic_cas(a, 1, -0.0, 2.0)


def test_floats_are_compared_by_their_bits():
    a = np.array([np.nan, -0.0])
    _cas_floats(a)
    assert a.tolist() == [1.0, 2.0]


@pytest.fixture
def spread():
    """Put the workers on processors of their own; a busy machine would let them share one."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    processors = sorted(os.sched_getaffinity(0))

    def pin(tid, nt, ctl):
        os.sched_setaffinity(0, {processors[tid % len(processors)]})

    def release(tid, nt, ctl):
        os.sched_setaffinity(0, processors)

    gang.run(pin, 2, control())
    yield
    gang.run(release, 2, control())


@njit(nogil=True)
def _updates(tid, nt, ctl, bytes_, words, singles, doubles, low, high, wins, rounds):
    """Every thread adds, claims and competes on the same elements."""
    for i in range(rounds):
        if i % CHUNK == 0 and barrier(ctl, nt):
            return
        atomic_add(bytes_, tid, 1)  # neighbours in one word
        atomic_add(bytes_, 2, 1)
        atomic_add(words, 0, 1)
        atomic_add(singles, 0, np.float32(1))
        atomic_add(doubles, 0, 1.0)
        atomic_min(low, 0, -(i * nt + tid))
        atomic_max(high, 0, np.float64(i * nt + tid))
        if atomic_cas(words, 2 + i, 0, 1) == 0:
            wins[16 * tid] += 1
        if not atomic_or(words, 1, 1 << (i & 31)) & (1 << (i & 31)):
            wins[16 * tid + 1] += 1


def test_no_update_is_lost_between_threads(spread):
    nt = 2
    bytes_, words = np.zeros(4, np.int8), np.zeros(2 + ROUNDS, np.int64)
    singles, doubles = np.zeros(1, np.float32), np.zeros(1)
    low, high, wins = np.zeros(1, np.int32), np.full(1, np.nan), np.zeros(16 * nt, np.int64)
    args = (bytes_, words, singles, doubles, low, high, wins, ROUNDS)
    gang.run(_updates, nt, control(), args)
    assert bytes_.tolist() == [np.int64(c).astype(np.int8) for c in (ROUNDS, ROUNDS, 2 * ROUNDS, 0)]
    assert words[0] == singles[0] == doubles[0] == nt * ROUNDS
    assert (low[0], high[0]) == (1 - nt * ROUNDS, nt * ROUNDS - 1)
    assert wins[::16].sum() == ROUNDS, "each element has one winner"
    assert wins[1::16].sum() == 32, "each bit is set first by one thread"


@njit(nogil=True)
def _tokens(tid, nt, ctl, slot, sums, rounds):
    """Exchange numbered tokens through one element: each comes out exactly once."""
    for i in range(rounds):
        if i % CHUNK == 0 and barrier(ctl, nt):
            return
        sums[16 * tid] += atomic_xchg(slot, 0, i * nt + tid)


def test_exchange_neither_loses_nor_doubles(spread):
    slot, sums = np.zeros(1, np.uint32), np.zeros(32, np.int64)
    gang.run(_tokens, 2, control(), (slot, sums, ROUNDS))
    assert sums.sum() + slot[0] == sum(range(2 * ROUNDS))


@njit(nogil=True)
def _messages(tid, nt, ctl, data, flag, wrong, rounds):
    """One thread writes plain data and a flag, the other reads them in turn."""
    for i in range(1, rounds + 1):
        if tid == 0:
            data[0] = i
            store_release(flag, 0, i)
            while load_acquire(flag, 16) != i:
                pause()
                yield_thread()
        else:
            while load_acquire(flag, 0) != i:
                pause()
                yield_thread()
            wrong[0] += data[0] != i
            store_release(flag, 16, i)


def test_release_publishes_what_was_written_before(spread):
    data, flag, wrong = np.zeros(1, np.int64), control(), np.zeros(1, np.int64)
    gang.run(_messages, 2, control(), (data, flag, wrong, 2000))
    assert wrong[0] == 0 and data[0] == 2000


@njit(nogil=True)
def _pairs(tid, nt, ctl, pairs, torn, rounds):
    """Keep hi == 3 * lo in one pair; a swap that sees anything else was torn."""
    lo, hi = pairs[2], pairs[3]
    for i in range(rounds):
        if i % CHUNK == 0 and barrier(ctl, nt):
            return
        while True:
            new = lo + np.uint64(1)
            ok, lo, hi = cas128(pairs, 1, lo, hi, new, new * np.uint64(3))
            if ok:
                break
            torn[16 * tid] += hi != lo * np.uint64(3)


@pytest.mark.skipif(not has_cas128(), reason="the processor has no 16-byte compare-and-swap")
def test_pairs_are_swapped_whole(spread):
    start = 2**63  # the product wraps: all bits of both words take part
    pairs = aligned(4, np.uint64, 16)
    assert pairs.ctypes.data % 16 == 0
    pairs[2:] = start, 3 * start % 2**64
    torn = np.zeros(32, np.int64)
    gang.run(_pairs, 2, control(), (pairs, torn, ROUNDS))
    end = start + 2 * ROUNDS
    assert pairs.tolist() == [0, 0, end, 3 * end % 2**64]
    assert not torn.any()


@njit
def _time_passes():
    start = cycles()
    pause()
    return cycles() - start


def test_cycles_go_forward():
    assert _time_passes() >= 0


@njit
def _now():
    return clock_ns()


def test_the_clock_counts_nanoseconds():
    before, began = time.monotonic(), _now()
    time.sleep(0.01)
    passed = _now() - began
    assert 1e7 <= passed <= 1e9 * (time.monotonic() - before)


@pytest.mark.parametrize(
    ("operands", "reason"),
    [
        ((np.zeros(4)[::2], 0, 1.0), "contiguous"),
        ((np.zeros((2, 2)), 0, 1.0), "one-dimensional"),
        ((np.zeros(2), 0.0, 1.0), "integer index"),
        ((np.zeros(2, np.int64), 0, 1.0), "convert it first"),
        ((np.zeros(2, complex), 0, 1.0), "elements"),
        ((np.zeros(2, bool), 0, True), "atomic_or"),
    ],
)
def test_unusable_operands_are_refused_at_compile_time(operands, reason):
    add = njit(lambda a, i, x: atomic_add(a, i, x))
    with pytest.raises(TypingError, match=reason):
        add(*operands)


def test_a_read_only_array_is_refused():
    a = np.zeros(2)
    a.flags.writeable = False
    assert njit(lambda a: atomic_load(a, 0))(a) == 0.0
    with pytest.raises(TypingError, match="writable"):
        njit(lambda a: atomic_store(a, 0, 1.0))(a)
