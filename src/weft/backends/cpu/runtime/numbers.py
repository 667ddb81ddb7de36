"""The number rules of weft for nopython code: wrapping, division, powers, shifts, extrema.

Operands of one call have one type, which is that of the result (an integer literal takes the
other operand's); nothing is promoted. Nothing raises. Like the atomics these are intrinsics:
they cost the front end one call each and become a few instructions in place.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

from weft.backends.cpu.runtime.processor import call


def _common(name, a, b):
    """Return the one type of two operands."""
    left, right = types.unliteral(a), types.unliteral(b)
    if isinstance(a, types.IntegerLiteral) and isinstance(right, types.Number):
        left = right
    elif isinstance(b, types.IntegerLiteral) and isinstance(left, types.Number):
        right = left
    if left != right or not isinstance(left, types.Integer | types.Float):
        raise TypingError(f"{name} expects two numbers of one type, got {a} and {b}: cast first")
    return left


def _wrapping(operation, count):
    """Make an operation on integers of 64 bits that wraps.

    Numba declares to LLVM that signed numbers do not overflow, so LLVM assumes ``x + 1 > x``.
    """

    def codegen(context, builder, sig, args):
        return operation(builder, *args)

    return types.int64(*[types.int64] * count), codegen


@intrinsic
def plus(typingctx, a, b):
    """Return a + b of int64."""
    return _wrapping(ir.IRBuilder.add, 2)


@intrinsic
def minus(typingctx, a, b):
    """Return a - b of int64."""
    return _wrapping(ir.IRBuilder.sub, 2)


@intrinsic
def times(typingctx, a, b):
    """Return a * b of int64."""
    return _wrapping(ir.IRBuilder.mul, 2)


@intrinsic
def magnitude(typingctx, a):
    """Return the absolute value of an int64; that of the least is itself."""

    def absolute(builder, x):
        zero = ir.Constant(x.type, 0)
        return builder.select(builder.icmp_signed("<", x, zero), builder.sub(zero, x), x)

    return _wrapping(absolute, 1)


def _float_divmod(builder, a, b):
    """Return NumPy's floor quotient and remainder of two floats."""
    kind = a.type
    zero, half, one = (ir.Constant(kind, value) for value in (0.0, 0.5, 1.0))
    suffix = "f32" if isinstance(kind, ir.FloatType) else "f64"

    def signed_zero(like):
        return call(builder, f"llvm.copysign.{suffix}", kind, zero, like)

    true_quotient = builder.fdiv(a, b)
    rest = builder.frem(a, b)
    quotient = builder.fdiv(builder.fsub(a, rest), b)
    inexact = builder.fcmp_unordered("!=", rest, zero)
    opposite = builder.xor(
        builder.fcmp_ordered("<", b, zero), builder.fcmp_ordered("<", rest, zero)
    )
    fix = builder.and_(inexact, opposite)
    quotient = builder.select(fix, builder.fsub(quotient, one), quotient)
    mod = builder.select(inexact, builder.select(fix, builder.fadd(rest, b), rest), signed_zero(b))
    floor = call(builder, f"llvm.floor.{suffix}", kind, quotient)
    off = builder.fcmp_ordered(">", builder.fsub(quotient, floor), half)
    floor = builder.select(off, builder.fadd(floor, one), floor)
    is_zero = builder.fcmp_ordered("==", quotient, zero)
    floor = builder.select(is_zero, signed_zero(true_quotient), floor)
    by_zero = builder.fcmp_ordered("==", b, zero)
    return builder.select(by_zero, true_quotient, floor), builder.select(by_zero, rest, mod)


def _int_divmod(builder, a, b, signed):
    """Return quotient and remainder rounded down; both are 0 where b is.

    The hardware traps on a division by 0 and on the least number by -1: both divide by 1 instead.
    """
    zero, one, minus_one = (ir.Constant(a.type, value) for value in (0, 1, -1))
    by_zero = builder.icmp_unsigned("==", b, zero)
    if not signed:
        divisor = builder.select(by_zero, one, b)
        quotient = builder.select(by_zero, zero, builder.udiv(a, divisor))
        return quotient, builder.urem(a, divisor)
    by_minus = builder.icmp_unsigned("==", b, minus_one)
    divisor = builder.select(builder.or_(by_zero, by_minus), one, b)
    quotient, rest = builder.sdiv(a, divisor), builder.srem(a, divisor)
    inexact = builder.icmp_unsigned("!=", rest, zero)
    opposite = builder.icmp_signed("<", builder.xor(rest, divisor), zero)
    fix = builder.and_(inexact, opposite)
    quotient = builder.select(fix, builder.sub(quotient, one), quotient)
    rest = builder.select(fix, builder.add(rest, divisor), rest)
    quotient = builder.select(by_minus, builder.sub(zero, a), quotient)
    return builder.select(by_zero, zero, quotient), rest


def _divmod(name, a, b, part):
    kind = _common(name, a, b)

    def codegen(context, builder, sig, args):
        if isinstance(kind, types.Float):
            return _float_divmod(builder, *args)[part]
        return _int_divmod(builder, args[0], args[1], kind.signed)[part]

    return kind(kind, kind), codegen


@intrinsic
def floordiv(typingctx, a, b):
    """Return a // b rounded down. Integers wrap and give 0 for b = 0; floats are NumPy's."""
    return _divmod("floordiv", a, b, 0)


@intrinsic
def mod(typingctx, a, b):
    """Return a % b with the sign of b. Integers give 0 for b = 0; floats are NumPy's."""
    return _divmod("mod", a, b, 1)


def _int_power(builder, base, exponent, signed):
    """Call a function of the module that is made at first use: loops in place compile slowly."""
    kind = base.type
    signature = ir.FunctionType(kind, (kind, kind))
    name = f"weft.power.{'i' if signed else 'u'}{kind.width}"
    function = cgutils.get_or_insert_function(builder.module, signature, name)
    if function.is_declaration:
        function.linkage = "linkonce_odr"
        _int_power_body(function, signed)
    return builder.call(function, (base, exponent))


def _int_power_body(function, signed):
    """Multiply the squares of the base that the bits of the exponent name."""
    base, exponent = function.args
    kind = base.type
    zero, one, minus_one = (ir.Constant(kind, value) for value in (0, 1, -1))
    entry, loop, step, done = (
        function.append_basic_block(name) for name in ("entry", "loop", "step", "done")
    )
    builder = ir.IRBuilder(entry)
    negative = builder.icmp_signed("<", exponent, zero) if signed else ir.Constant(ir.IntType(1), 0)
    # The lowest bit of a negative exponent determines the power of +-1.
    count = builder.select(negative, builder.and_(exponent, one), exponent)
    builder.branch(loop)

    builder.position_at_end(loop)
    square, left, product = (builder.phi(kind) for _ in range(3))
    builder.cbranch(builder.icmp_unsigned("!=", left, zero), step, done)

    builder.position_at_end(step)
    odd = builder.trunc(left, ir.IntType(1))
    after = (
        builder.mul(square, square),
        builder.lshr(left, one),
        builder.select(odd, builder.mul(product, square), product),
    )
    builder.branch(loop)
    for phi, first, then in zip((square, left, product), (base, count, one), after, strict=True):
        phi.add_incoming(first, entry)
        phi.add_incoming(then, step)

    builder.position_at_end(done)
    unit = builder.or_(
        builder.icmp_unsigned("==", base, one), builder.icmp_unsigned("==", base, minus_one)
    )
    cut = builder.and_(negative, builder.not_(unit))
    builder.ret(builder.select(cut, zero, product))


@intrinsic
def power(typingctx, a, b):
    """Return a to the power b.

    Integers wrap. A negative integer exponent gives the reciprocal cut to an integer: 1 for the
    base 1, 1 or -1 for the base -1, and 0 for all others, 0 included.
    """
    kind = _common("power", a, b)

    def codegen(context, builder, sig, args):
        if isinstance(kind, types.Float):
            return call(builder, f"llvm.pow.f{kind.bitwidth}", args[0].type, *args)
        return _int_power(builder, args[0], args[1], kind.signed)

    return kind(kind, kind), codegen


def _shift(a, n, right):
    if not (isinstance(a, types.Integer) and isinstance(n, types.Integer)):
        raise TypingError(f"shifts expect integers, got {a} and {n}")
    kind = types.unliteral(a)

    def codegen(context, builder, sig, args):
        count = builder.and_(args[1], ir.Constant(args[1].type, kind.bitwidth - 1))
        if not right:
            return builder.shl(args[0], count)
        return (builder.ashr if kind.signed else builder.lshr)(args[0], count)

    return kind(kind, kind), codegen


@intrinsic
def shl(typingctx, a, n):
    """Return a << n in the type of a, with n taken modulo its width."""
    return _shift(a, n, right=False)


@intrinsic
def shr(typingctx, a, n):
    """Return a >> n in the type of a, with n taken modulo its width; signed numbers keep theirs."""
    return _shift(a, n, right=True)


def _extremum(name, a, b, symbol):
    kind = types.boolean if a == b == types.boolean else _common(name, a, b)

    def codegen(context, builder, sig, args):
        left, right = args
        if isinstance(kind, types.Float):
            # Of equal numbers the first: a minimum of 0.0 and -0.0 must not change what was there.
            replace = builder.or_(
                builder.fcmp_ordered(symbol, right, left),
                builder.fcmp_unordered("uno", left, left),
            )
            return builder.select(replace, right, left)
        signed = isinstance(kind, types.Integer) and kind.signed
        compare = builder.icmp_signed if signed else builder.icmp_unsigned
        return builder.select(compare(symbol, left, right), left, right)

    return kind(kind, kind), codegen


@intrinsic
def fmin(typingctx, a, b):
    """Return the lesser of two numbers; a NaN gives way to a number."""
    return _extremum("fmin", a, b, "<")


@intrinsic
def fmax(typingctx, a, b):
    """Return the greater of two numbers; a NaN gives way to a number."""
    return _extremum("fmax", a, b, ">")
