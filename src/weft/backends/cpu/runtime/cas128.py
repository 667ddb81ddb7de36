"""Compare-and-swap of 16 bytes, for nopython code."""

from __future__ import annotations

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.core import config
from numba.core.errors import TypingError
from numba.extending import intrinsic

from weft.backends.cpu.runtime.atomics import check, index
from weft.backends.cpu.runtime.processor import ARM, X86, pointer_to


def has_cas128() -> bool:
    """Return whether the compiled code may compare and swap 16 bytes at once."""
    if ARM:
        return True
    if not X86:
        return False
    if config.CPU_FEATURES is not None:
        return "+cx16" in config.CPU_FEATURES.split(",")
    if config.CPU_NAME not in (None, "", "host"):
        return False
    return bool(llvm.get_host_cpu_features().get("cx16", False))


@intrinsic
def cas128(typingctx, arr, pair, exp_lo, exp_hi, new_lo, new_hi):
    """Compare and swap the two words arr[2 * pair], arr[2 * pair + 1] as one; orders memory.

    `arr` is a uint64 array that starts at a multiple of 16 bytes (see `control.aligned`).
    Returns (swapped, lo, hi) with the words that were there before. A processor without a
    16-byte compare-and-swap (`has_cas128() == False`) is refused at compile time.
    """
    if check(arr, pair) != types.uint64:
        raise TypingError(f"cas128 expects an array of uint64, got {arr}")
    for word in (exp_lo, exp_hi, new_lo, new_hi):
        if not isinstance(word, types.Integer):
            raise TypingError(f"cas128 expects integer words, got {word}")
    if not has_cas128():
        raise TypingError("cas128 needs a 16-byte compare-and-swap (cx16), absent in this CPU")
    u64 = types.uint64
    wide = ir.IntType(128)

    def join(builder, lo, hi):
        high = builder.shl(builder.zext(hi, wide), ir.Constant(wide, 64))
        return builder.or_(builder.zext(lo, wide), high)

    def codegen(context, builder, sig, args):
        data = pointer_to(context, builder, sig.args[0], args[0])
        ptr = builder.gep(builder.bitcast(data, wide.as_pointer()), [args[1]], source_etype=wide)
        want, put = join(builder, *args[2:4]), join(builder, *args[4:6])
        result = builder.cmpxchg(ptr, want, put, "acq_rel", "acquire")
        old = builder.extract_value(result, 0)
        word = ir.IntType(64)
        lo = builder.trunc(old, word)
        hi = builder.trunc(builder.lshr(old, ir.Constant(wide, 64)), word)
        swapped = builder.extract_value(result, 1)
        return context.make_tuple(builder, sig.return_type, (swapped, lo, hi))

    result = types.Tuple((types.boolean, u64, u64))
    return result(arr, index(pair), u64, u64, u64, u64), codegen
