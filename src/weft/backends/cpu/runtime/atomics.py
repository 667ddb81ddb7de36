"""Atomic operations on array elements for nopython code, as LLVM instructions.

Every function takes a contiguous one-dimensional array and an index, signed or unsigned, that
is not checked. The value is converted to the element type. Data operations are relaxed
(monotonic): they never tear or lose an update, and order nothing else. The three that order
other memory say so: `load_acquire`, `store_release` and `sync_add`.

These are intrinsics rather than compiled functions: a call adds a few instructions to the
caller and no work to Numba's front end.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from weft.backends.cpu.runtime.processor import pointer_to


def check(arr, i, *, write=True):
    """Refuse what is not an element of a writable contiguous vector; return the element type."""
    if not isinstance(arr, types.CPointer):
        if not (isinstance(arr, types.Array) and arr.ndim == 1 and arr.layout == "C"):
            raise TypingError(f"atomics expect a contiguous one-dimensional array, got {arr}")
        if write and not arr.mutable:
            raise TypingError(f"atomics expect a writable array, got {arr}")
    if not isinstance(i, types.Integer):
        raise TypingError(f"atomics expect an integer index, got {i}")
    if not isinstance(arr.dtype, types.Integer | types.Float | types.Boolean):
        raise TypingError(f"atomics expect integer, float or bool elements, got {arr.dtype}")
    return arr.dtype


def _check_value(dtype, x):
    if isinstance(x, types.Float) and not isinstance(dtype, types.Float):
        raise TypingError(f"cannot put {x} into an element of type {dtype}: convert it first")


def index(i):
    """Return the machine word for an index; its signedness decides how it is widened."""
    return types.intp if i.signed else types.uintp


def _bits(dtype):
    """Return the integer type as wide as an element in memory."""
    return ir.IntType(max(getattr(dtype, "bitwidth", 8), 8))


class _Element:
    """The address of arr[i] and the conversions between its value and memory forms."""

    def __init__(self, context, builder, sig, args):
        arr = sig.args[0]
        self.builder = builder
        self.dtype = arr.dtype
        self.model = context.data_model_manager[arr.dtype]
        self.ptr = builder.gep(pointer_to(context, builder, arr, args[0]), [args[1]])
        self.bytes = _bits(arr.dtype).width // 8

    def to_memory(self, value):
        return self.model.as_data(self.builder, value)

    def to_value(self, data):
        return self.model.from_data(self.builder, data)

    def to_bits(self, value):
        return self.builder.bitcast(self.to_memory(value), _bits(self.dtype))

    def from_bits(self, bits):
        data = self.builder.bitcast(bits, self.model.get_data_type())
        return self.to_value(data)

    def bit_ptr(self):
        return self.builder.bitcast(self.ptr, _bits(self.dtype).as_pointer())


def _rmw(arr, i, x, op, ordering="monotonic"):
    """Return the signature and code of one atomicrmw instruction."""
    dtype = check(arr, i)
    _check_value(dtype, x)
    if isinstance(dtype, types.Float) and op not in ("add", "xchg"):
        raise TypingError(f"atomic {op} expects integer elements, got {dtype}")
    if isinstance(dtype, types.Boolean) and op == "add":
        raise TypingError("atomic add expects numbers, got bool elements: use atomic_or")
    name = "fadd" if op == "add" and isinstance(dtype, types.Float) else op

    def codegen(context, builder, sig, args):
        element = _Element(context, builder, sig, args)
        value = element.to_memory(args[2])
        return element.to_value(builder.atomic_rmw(name, element.ptr, value, ordering))

    return dtype(arr, index(i), dtype), codegen


@intrinsic
def atomic_add(typingctx, arr, i, x):
    """Add x to arr[i] and return the old value. Integers wrap."""
    return _rmw(arr, i, x, "add")


@intrinsic
def sync_add(typingctx, arr, i, x):
    """`atomic_add` that also orders the memory before and after it (acquire and release)."""
    return _rmw(arr, i, x, "add", "acq_rel")


@intrinsic
def sync_or(typingctx, arr, i, x):
    """`atomic_or` that also orders the memory before and after it (acquire and release)."""
    return _rmw(arr, i, x, "or", "acq_rel")


@intrinsic
def sync_and(typingctx, arr, i, x):
    """`atomic_and` that also orders the memory before and after it (acquire and release)."""
    return _rmw(arr, i, x, "and", "acq_rel")


@intrinsic
def sync_xchg(typingctx, arr, i, x):
    """`atomic_xchg` that also orders the memory before and after it (acquire and release)."""
    return _rmw(arr, i, x, "xchg", "acq_rel")


@intrinsic
def atomic_or(typingctx, arr, i, x):
    """Set the bits of x in arr[i] and return the old value."""
    return _rmw(arr, i, x, "or")


@intrinsic
def atomic_and(typingctx, arr, i, x):
    """Keep the bits of x in arr[i] and return the old value."""
    return _rmw(arr, i, x, "and")


@intrinsic
def atomic_xor(typingctx, arr, i, x):
    """Flip the bits of x in arr[i] and return the old value."""
    return _rmw(arr, i, x, "xor")


@intrinsic
def atomic_xchg(typingctx, arr, i, x):
    """Write x to arr[i] and return the old value."""
    return _rmw(arr, i, x, "xchg")


def _extremum(arr, i, x, symbol):
    """Return the signature and code of a minimum ("<") or maximum (">").

    A loop of compare-and-swap that writes only when x wins, so that the common case, no
    improvement, is one shared read; LLVM's own `atomicrmw min` always takes the cache line.
    """
    dtype = check(arr, i)
    _check_value(dtype, x)

    def wins(builder, value, old):
        if isinstance(dtype, types.Float):
            better = builder.fcmp_ordered(symbol, value, old)
            fills = builder.and_(
                builder.fcmp_unordered("uno", old, old), builder.fcmp_ordered("ord", value, value)
            )
            return builder.or_(better, fills)
        signed = isinstance(dtype, types.Integer) and dtype.signed
        compare = builder.icmp_signed if signed else builder.icmp_unsigned
        return compare(symbol, value, old)

    def codegen(context, builder, sig, args):
        element = _Element(context, builder, sig, args)
        ptr = element.bit_ptr()
        new = element.to_bits(args[2])
        first = builder.load_atomic(ptr, "monotonic", element.bytes, typ=_bits(dtype))
        before = builder.block
        test = builder.append_basic_block("extremum.test")
        swap = builder.append_basic_block("extremum.swap")
        done = builder.append_basic_block("extremum.done")
        builder.branch(test)

        builder.position_at_end(test)
        seen = builder.phi(_bits(dtype))
        seen.add_incoming(first, before)
        old = element.from_bits(seen)
        builder.cbranch(wins(builder, args[2], old), swap, done)

        builder.position_at_end(swap)
        result = builder.cmpxchg(ptr, seen, new, "monotonic")
        seen.add_incoming(builder.extract_value(result, 0), swap)
        builder.cbranch(builder.extract_value(result, 1), done, test)

        builder.position_at_end(done)
        return old

    return dtype(arr, index(i), dtype), codegen


@intrinsic
def atomic_min(typingctx, arr, i, x):
    """Lower arr[i] to x if x is less and return the old value.

    A NaN in x is ignored; a NaN in memory is replaced by any number.
    """
    return _extremum(arr, i, x, "<")


@intrinsic
def atomic_max(typingctx, arr, i, x):
    """Raise arr[i] to x if x is greater and return the old value. NaN as in `atomic_min`."""
    return _extremum(arr, i, x, ">")


@intrinsic
def atomic_cas(typingctx, arr, i, expected, new):
    """Write new to arr[i] if it holds expected, and return the old value.

    Floats are compared by their bits: a NaN equals itself and -0.0 differs from 0.0.
    """
    dtype = check(arr, i)
    _check_value(dtype, expected)
    _check_value(dtype, new)

    def codegen(context, builder, sig, args):
        element = _Element(context, builder, sig, args)
        want, put = element.to_bits(args[2]), element.to_bits(args[3])
        result = builder.cmpxchg(element.bit_ptr(), want, put, "acq_rel", "acquire")
        return element.from_bits(builder.extract_value(result, 0))

    return dtype(arr, index(i), dtype, dtype), codegen


def _load(arr, i, ordering):
    dtype = check(arr, i, write=False)

    def codegen(context, builder, sig, args):
        element = _Element(context, builder, sig, args)
        data = builder.load_atomic(
            element.ptr, ordering, element.bytes, typ=element.model.get_data_type()
        )
        return element.to_value(data)

    return dtype(arr, index(i)), codegen


def _store(arr, i, x, ordering):
    dtype = check(arr, i)
    _check_value(dtype, x)

    def codegen(context, builder, sig, args):
        element = _Element(context, builder, sig, args)
        builder.store_atomic(element.to_memory(args[2]), element.ptr, ordering, element.bytes)
        return context.get_dummy_value()

    return types.void(arr, index(i), dtype), codegen


@intrinsic
def atomic_load(typingctx, arr, i):
    """Return arr[i], read whole, and again at every call."""
    return _load(arr, i, "monotonic")


@intrinsic
def atomic_store(typingctx, arr, i, x):
    """Write x to arr[i] whole."""
    return _store(arr, i, x, "monotonic")


@intrinsic
def load_acquire(typingctx, arr, i):
    """Return arr[i]; what its writer wrote before `store_release` is visible after this."""
    return _load(arr, i, "acquire")


@intrinsic
def store_release(typingctx, arr, i, x):
    """Write x to arr[i]; a reader that uses `load_acquire` sees all writes before this."""
    return _store(arr, i, x, "release")
