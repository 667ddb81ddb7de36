"""Casts to integers and casts of bits, for nopython code."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from weft.backends.cpu.runtime.processor import call


def _to(x, kind):
    """Return the signature and code of a cast by value to an integer type."""
    if not isinstance(x, types.Integer | types.Float | types.Boolean):
        raise TypingError(f"a cast to {kind} expects a number, got {x}")
    source = types.unliteral(x)
    target = ir.IntType(kind.bitwidth)

    def codegen(context, builder, sig, args):
        (value,) = args
        if isinstance(source, types.Float):
            sign = "s" if kind.signed else "u"
            name = f"llvm.fpto{sign}i.sat.i{kind.bitwidth}.f{source.bitwidth}"
            return call(builder, name, target, value)
        if value.type.width >= target.width:
            return builder.trunc(value, target) if value.type.width > target.width else value
        signed = isinstance(source, types.Integer) and source.signed
        return (builder.sext if signed else builder.zext)(value, target)

    return kind(source), codegen


@intrinsic
def to_int8(typingctx, x):
    """Cast a number to int8: floats saturate and NaN gives 0, integers wrap."""
    return _to(x, types.int8)


@intrinsic
def to_int16(typingctx, x):
    """Cast a number to int16: floats saturate and NaN gives 0, integers wrap."""
    return _to(x, types.int16)


@intrinsic
def to_int32(typingctx, x):
    """Cast a number to int32: floats saturate and NaN gives 0, integers wrap."""
    return _to(x, types.int32)


@intrinsic
def to_int64(typingctx, x):
    """Cast a number to int64: floats saturate and NaN gives 0, integers wrap."""
    return _to(x, types.int64)


@intrinsic
def to_uint8(typingctx, x):
    """Cast a number to uint8: floats saturate and NaN gives 0, integers wrap."""
    return _to(x, types.uint8)


@intrinsic
def to_uint16(typingctx, x):
    """Cast a number to uint16: floats saturate and NaN gives 0, integers wrap."""
    return _to(x, types.uint16)


@intrinsic
def to_uint32(typingctx, x):
    """Cast a number to uint32: floats saturate and NaN gives 0, integers wrap."""
    return _to(x, types.uint32)


@intrinsic
def to_uint64(typingctx, x):
    """Cast a number to uint64: floats saturate and NaN gives 0, integers wrap."""
    return _to(x, types.uint64)


def _as(x, kind):
    """Return the signature and code of a reading of the same bits as another type."""
    source = types.unliteral(x)
    if getattr(source, "bitwidth", None) != kind.bitwidth:
        raise TypingError(f"a bit cast to {kind} expects {kind.bitwidth} bits, got {x}")

    def codegen(context, builder, sig, args):
        return builder.bitcast(args[0], context.get_value_type(kind))

    return kind(source), codegen


@intrinsic
def as_int32(typingctx, x):
    """Return the bits of a 32-bit number read as int32."""
    return _as(x, types.int32)


@intrinsic
def as_uint32(typingctx, x):
    """Return the bits of a 32-bit number read as uint32."""
    return _as(x, types.uint32)


@intrinsic
def as_float32(typingctx, x):
    """Return the bits of a 32-bit number read as float32."""
    return _as(x, types.float32)


@intrinsic
def as_int64(typingctx, x):
    """Return the bits of a 64-bit number read as int64."""
    return _as(x, types.int64)


@intrinsic
def as_uint64(typingctx, x):
    """Return the bits of a 64-bit number read as uint64."""
    return _as(x, types.uint64)


@intrinsic
def as_float64(typingctx, x):
    """Return the bits of a 64-bit number read as float64."""
    return _as(x, types.float64)
