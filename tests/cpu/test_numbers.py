"""The number rules of compiled code against plain Python integers and NumPy's floats."""

import struct

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from weft.arrays import random
from weft.backends.cpu.runtime import names as rt

INTEGERS = [np.dtype(f"{sign}int{8 << k}") for sign in ("", "u") for k in range(4)]
FLOATS = [np.dtype(np.float32), np.dtype(np.float64)]

floordiv, mod, power, shl, shr = rt.floordiv, rt.mod, rt.power, rt.shl, rt.shr
fmin, fmax, popcount, clz = rt.fmin, rt.fmax, rt.popcount, rt.clz


def wrap(value: int, dtype: np.dtype) -> int:
    """Return the integer modulo the width of the dtype."""
    value %= 1 << 8 * dtype.itemsize
    return value - (1 << 8 * dtype.itemsize) if value > np.iinfo(dtype).max else value


def samples(dtype: np.dtype) -> np.ndarray:
    """Return small and extreme values of a dtype and some in between."""
    if dtype.kind == "f":
        special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1e-30, 0.1, -0.1, 2.5]
        return np.array([*special, *np.arange(-3.0, 4.0)], dtype)
    info = np.iinfo(dtype)
    near = {info.min, info.min + 1, info.max - 1, info.max, info.max // 3}
    small = {v for v in (-9, -3, -2, -1, 0, 1, 2, 3, 7, 8, 31, 63) if v >= info.min}
    return np.array(sorted(near | small), dtype)


def pairs(dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Return all pairs of samples as two vectors."""
    values = samples(dtype)
    return np.repeat(values, len(values)), np.tile(values, len(values))


@njit
def _integer_ops(a, b, out, counts):
    for i in range(a.size):
        out[0, i] = floordiv(a[i], b[i])
        out[1, i] = mod(a[i], b[i])
        out[2, i] = power(a[i], b[i])
        out[3, i] = shl(a[i], b[i])
        out[4, i] = shr(a[i], b[i])
        out[5, i] = fmin(a[i], b[i])
        out[6, i] = fmax(a[i], b[i])
        counts[0, i] = popcount(a[i])
        counts[1, i] = clz(a[i])


def integer_power(a: int, b: int, dtype: np.dtype) -> int:
    if b < 0:
        return {1: 1, -1: -1 if b % 2 else 1}.get(a, 0)
    return pow(a, b, 1 << 8 * dtype.itemsize)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integer_ops(dtype):
    a, b = pairs(dtype)
    out, counts = np.zeros((7, a.size), dtype), np.zeros((2, a.size), np.int32)
    _integer_ops(a, b, out, counts)
    width = 8 * dtype.itemsize
    for i, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        expected = [
            x // y if y else 0,
            x % y if y else 0,
            integer_power(x, y, dtype),
            x << y % width,
            x >> y % width,
            min(x, y),
            max(x, y),
        ]
        assert out[:, i].tolist() == [wrap(v, dtype) for v in expected], (x, y)
        bits = x % (1 << width)
        assert counts[:, i].tolist() == [bits.bit_count(), width - bits.bit_length()], x


@njit
def _float_ops(a, b, out):
    for i in range(a.size):
        out[0, i] = floordiv(a[i], b[i])
        out[1, i] = mod(a[i], b[i])
        out[2, i] = power(a[i], b[i])
        out[3, i] = fmin(a[i], b[i])
        out[4, i] = fmax(a[i], b[i])


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_float_ops_are_numpys(dtype):
    a, b = pairs(dtype)
    out = np.zeros((5, a.size), dtype)
    _float_ops(a, b, out)
    with np.errstate(all="ignore"):
        quotient, rest = a // b, a % b
        np.testing.assert_allclose(out[2], a**b, rtol=4 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(out[0], quotient)
    np.testing.assert_array_equal(out[1], rest)
    for got, expected in ((out[0], quotient), (out[1], rest)):
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(got)[numbers], np.signbit(expected)[numbers])
    np.testing.assert_array_equal(out[3], np.fmin(a, b))
    np.testing.assert_array_equal(out[4], np.fmax(a, b))


to_int8, to_int16, to_int32, to_int64 = rt.to_int8, rt.to_int16, rt.to_int32, rt.to_int64
to_uint8, to_uint16, to_uint32, to_uint64 = rt.to_uint8, rt.to_uint16, rt.to_uint32, rt.to_uint64


@njit
def _casts(x, i8, i16, i32, i64, u8, u16, u32, u64):
    for i in range(x.size):
        i8[i], i16[i] = to_int8(x[i]), to_int16(x[i])
        i32[i], i64[i] = to_int32(x[i]), to_int64(x[i])
        u8[i], u16[i] = to_uint8(x[i]), to_uint16(x[i])
        u32[i], u64[i] = to_uint32(x[i]), to_uint64(x[i])


@pytest.mark.parametrize("source", [*INTEGERS, *FLOATS, np.dtype(bool)], ids=str)
def test_casts_saturate_floats_and_wrap_integers(source):
    if source.kind == "f":
        edges = [s * 2.0**k for k in (7, 8, 15, 16, 31, 32, 63, 64, 90) for s in (1, -1)]
        ends = [np.nextafter(source.type(e), source.type(0)) for e in edges]
        x = np.array([*samples(source), *edges, *ends, 0.99, -0.99, 254.5], source)
    else:
        x = samples(source) if source.kind != "b" else np.array([False, True])
    outs = [np.zeros(x.size, dtype) for dtype in INTEGERS]
    _casts(x, *outs)
    for out in outs:
        info = np.iinfo(out.dtype)
        for value, got in zip(x.tolist(), out.tolist(), strict=True):
            if source.kind != "f":
                expected = wrap(int(value), out.dtype)
            elif value != value:
                expected = 0
            else:
                expected = int(min(max(value, float(info.min)), float(info.max)))
                expected = min(expected, info.max)
            assert got == expected, (value, out.dtype)


as_int32, as_uint32, as_float32 = rt.as_int32, rt.as_uint32, rt.as_float32
as_int64, as_uint64, as_float64 = rt.as_int64, rt.as_uint64, rt.as_float64


@njit
def _bit_casts(x, y):
    narrow = as_int32(x), as_uint32(x), as_float32(as_int32(x)), as_float32(as_uint32(x))
    wide = as_int64(y), as_uint64(y), as_float64(as_int64(y)), as_float64(as_uint64(y))
    return narrow, wide


@pytest.mark.parametrize("value", [0.0, -0.0, 1.5, -2.25, float("inf"), float("-inf")])
def test_bit_casts_keep_the_bits(value):
    narrow, wide = _bit_casts(np.float32(value), value)
    assert narrow[:2] == (*struct.unpack("i", p := struct.pack("f", value)), *struct.unpack("I", p))
    assert wide[:2] == (*struct.unpack("q", p := struct.pack("d", value)), *struct.unpack("Q", p))
    for back in (*narrow[2:], *wide[2:]):
        assert back == value and np.signbit(back) == np.signbit(value)


random_bits, random_unit = rt.random_bits, rt.random_unit


@njit
def _random(keys, counters, bits, units):
    for i in range(keys.size):
        bits[i] = random_bits(keys[i], counters[i])
        units[i] = random_unit(keys[i], counters[i])


def draw(keys, counters):
    bits, units = np.zeros(len(keys), np.uint64), np.zeros(len(keys))
    _random(keys, counters, bits, units)
    return bits, units


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint64])
def test_random_numbers_are_those_of_plain_python(dtype):
    keys, counters = pairs(np.dtype(dtype))
    bits, units = draw(keys, counters)
    words = list(zip(keys.tolist(), counters.tolist(), strict=True))
    assert bits.tolist() == [random.random_bits(k, c) for k, c in words]
    assert units.tolist() == [random.random_unit(k, c) for k, c in words]


def test_random_numbers_keep_their_values():
    """They are part of results: a change of the formula must not go unseen."""
    assert random.random_bits(0, 0) == 0x48218226FF3CD4BF
    assert random.random_bits(1, 2) == 0xEC8991280680B330
    assert random.random_bits(-1, -1) == random.random_bits(2**64 - 1, 2**64 - 1)


def test_random_numbers_look_random():
    n = 1 << 17
    ids, zeros = np.arange(n), np.zeros(n, np.int64)
    streams = [draw(ids, zeros), draw(zeros, ids), draw(n + (ids >> 8), 1 + (ids & 255))]
    # Only (0, 0) is drawn twice.
    assert len(np.unique(np.concatenate([bits for bits, _ in streams]))) == 3 * n - 1
    for bits, units in streams:
        assert units.min() >= 0 and units.max() < 1
        assert abs(units.mean() - 0.5) < 5 * np.sqrt(1 / 12 / n)
        assert abs(np.corrcoef(units[1:], units[:-1])[0, 1]) < 5 / np.sqrt(n)
        ones = [np.count_nonzero(bits & np.uint64(1 << k)) for k in range(64)]
        assert np.abs(np.array(ones) - n / 2).max() < 5 * np.sqrt(n) / 2
        counts = np.bincount((units * 256).astype(int), minlength=256)
        assert abs(((counts - n / 256) ** 2).sum() / (n / 256) - 255) < 5 * np.sqrt(2 * 255)


@njit
def _literals(x):
    return floordiv(x, 3), mod(7, x), shl(x, 1), fmax(x, 100)


def test_a_literal_takes_the_type_of_the_other_operand():
    assert _literals(np.int8(90)) == (30, 7, -76, 100)
    (compiled,) = _literals.overloads.values()
    assert {str(kind) for kind in compiled.signature.return_type} == {"int8"}


def test_mixed_types_are_refused():
    with pytest.raises(TypingError, match="cast first"):
        njit(lambda a, b: floordiv(a, b))(np.int32(1), np.int64(1))
    with pytest.raises(TypingError, match="integers"):
        njit(lambda a, b: shl(a, b))(1.0, 1)
    with pytest.raises(TypingError, match="32 bits"):
        njit(lambda a: as_float32(a))(np.int64(1))
