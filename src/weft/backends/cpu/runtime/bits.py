"""Bit counts and counter-based random numbers, for nopython code."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from weft.arrays.random import GAMMA, MIX_1, MIX_2, STEP


def _count(name, x, emit):
    if not isinstance(x, types.Integer):
        raise TypingError(f"{name} expects an integer, got {x}")
    result = ir.IntType(32)

    def codegen(context, builder, sig, args):
        count = emit(builder, args[0])
        if count.type.width == result.width:
            return count
        resize = builder.trunc if count.type.width > result.width else builder.zext
        return resize(count, result)

    return types.int32(types.unliteral(x)), codegen


@intrinsic
def popcount(typingctx, x):
    """Return the number of one bits of an integer, as int32."""
    return _count("popcount", x, lambda builder, value: builder.ctpop(value))


@intrinsic
def clz(typingctx, x):
    """Return the number of leading zero bits of an integer, its width for 0, as int32."""
    defined_for_zero = ir.Constant(ir.IntType(1), 0)
    return _count("clz", x, lambda builder, value: builder.ctlz(value, defined_for_zero))


@intrinsic
def ctz(typingctx, x):
    """Return the number of zero bits below the lowest one bit of an integer, as int32.

    Its width for 0.
    """
    defined_for_zero = ir.Constant(ir.IntType(1), 0)
    return _count("ctz", x, lambda builder, value: builder.cttz(value, defined_for_zero))


_WORD = ir.IntType(64)


def _mix(builder, z):
    """The finaliser of splitmix64, as in `weft.arrays.random`."""
    for shift, factor in ((30, MIX_1), (27, MIX_2)):
        z = builder.xor(z, builder.lshr(z, ir.Constant(_WORD, shift)))
        z = builder.mul(z, ir.Constant(_WORD, factor))
    return builder.xor(z, builder.lshr(z, ir.Constant(_WORD, 31)))


def _random(name, key, counter, kind, finish):
    words = []
    for word in (key, counter):
        if not isinstance(word, types.Integer):
            raise TypingError(f"{name} expects integers, got {key} and {counter}")
        words.append(types.int64 if word.signed else types.uint64)

    def codegen(context, builder, sig, args):
        state = _mix(builder, builder.add(args[0], ir.Constant(_WORD, GAMMA)))
        step = builder.mul(args[1], ir.Constant(_WORD, STEP))
        return finish(builder, _mix(builder, builder.xor(state, step)))

    return kind(*words), codegen


@intrinsic
def random_bits(typingctx, key, counter):
    """Return 64 random bits, uint64: mix(mix(key + GAMMA) ^ counter * STEP) modulo 2**64.

    mix is the finaliser of splitmix64; the constants are in `weft.arrays.random`, which gives the
    same bits in plain Python.
    """
    return _random("random_bits", key, counter, types.uint64, lambda builder, bits: bits)


@intrinsic
def random_unit(typingctx, key, counter):
    """Return a random number in [0, 1), float64: (random_bits(key, counter) >> 11) * 2**-53."""

    def finish(builder, bits):
        top = builder.lshr(bits, ir.Constant(_WORD, 11))
        scale = ir.Constant(ir.DoubleType(), 2.0**-53)
        return builder.fmul(builder.uitofp(top, ir.DoubleType()), scale)

    return _random("random_unit", key, counter, types.float64, finish)
