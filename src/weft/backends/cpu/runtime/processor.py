"""Access to the processor and the operating system from nopython code."""

from __future__ import annotations

import os
import platform

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

X86 = platform.machine().lower() in ("x86_64", "amd64", "i686", "i386")
ARM = platform.machine().lower() in ("aarch64", "arm64")


def call(builder, name, result, *args):
    """Call a function by its name: one of LLVM's intrinsics or a symbol of the process."""
    signature = ir.FunctionType(result, [arg.type for arg in args])
    return builder.call(cgutils.get_or_insert_function(builder.module, signature, name), args)


def pointer_to(context, builder, kind, value):
    """Return the address of the first element of an array, or of what a pointer points to."""
    if isinstance(kind, types.CPointer):
        return value
    return context.make_array(kind)(context, builder, value).data


@intrinsic
def pointer(typingctx, arr):
    """Return a pointer to the elements of an array.

    A pointer is indexed like the array, but it is one word, its indices are not looked at, and
    its references are not counted: arrays that are handed to a function or swapped in a loop are
    counted by atomic additions, which threads would fight for.
    """

    def codegen(context, builder, sig, args):
        return context.make_array(sig.args[0])(context, builder, args[0]).data

    return types.CPointer(arr.dtype)(arr), codegen


@intrinsic
def pause(typingctx):
    """Hint to the processor that this is a spin loop (no effect where unsupported)."""

    def codegen(context, builder, sig, args):
        if X86:
            call(builder, "llvm.x86.sse2.pause", ir.VoidType())
        elif ARM:
            call(builder, "llvm.aarch64.hint", ir.VoidType(), ir.Constant(ir.IntType(32), 1))
        return context.get_dummy_value()

    return types.void(), codegen


@intrinsic
def yield_thread(typingctx):
    """Let the operating system run another thread (POSIX `sched_yield`)."""

    def codegen(context, builder, sig, args):
        if os.name == "posix":
            call(builder, "sched_yield", ir.IntType(32))
        return context.get_dummy_value()

    return types.void(), codegen


@intrinsic
def cycles(typingctx):
    """Return the processor's cycle or time-stamp counter as int64."""

    def codegen(context, builder, sig, args):
        return call(builder, "llvm.readcyclecounter", ir.IntType(64))

    return types.int64(), codegen


@intrinsic
def prefetch(typingctx, arr, i):
    """Ask for the cache line of arr[i] before it is read; any index will do."""

    def codegen(context, builder, sig, args):
        data = pointer_to(context, builder, sig.args[0], args[0])
        pointer = builder.bitcast(builder.gep(data, [args[1]]), ir.IntType(8).as_pointer())
        flags = [ir.Constant(ir.IntType(32), word) for word in (0, 3, 1)]  # read, keep, data
        call(builder, "llvm.prefetch.p0", ir.VoidType(), pointer, *flags)
        return context.get_dummy_value()

    return types.void(arr, types.uintp), codegen
